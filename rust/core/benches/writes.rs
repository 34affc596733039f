//! What readers wait for beside a writer: BM25, sparse and dense, 50,000 chunks there and 50,000 more in one write, then
//! documents of 20 chunks replaced, then chunks removed one by one until the index compacts, and the rest.
//!
//! `cargo bench -p ragstone-core --bench writes`. One thread asks for the number of chunks, which takes nothing but the
//! readers' lock and so shows the wait for it, and then searches, which shows what a caller sees; a fifth of a
//! millisecond later it asks again. `RAYON_NUM_THREADS=1` leaves it a core of its own on a machine of two.
#![allow(missing_docs)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::hint::black_box;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ragstone_core::dense::{self, VectorIndex};
use ragstone_core::filter::{Metadata, Value};
use ragstone_core::lexical::Bm25Index;
use ragstone_core::sparse::{self, SparseIndex};
use ragstone_core::{ChunkKey, DocumentId, Result};

const CHUNKS: usize = 50_000;
const DOCUMENT: usize = 20;
const REPLACED: u32 = 1_000;
const PHASES: [&str; 4] = ["idle", "add 50,000", "replace", "remove, compact"];

/// A fixed sequence of numbers in [0, 1).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// An index with something to write into it: chunk `n` is chunk 0 of document `n`, until it is replaced.
trait Engine: Sync {
    fn add(&self, chunks: Range<usize>) -> Result<()>;
    fn replace(&self, document: u32) -> Result<()>;
    fn remove(&self, document: u32) -> usize;
    fn len(&self) -> usize;
    fn search(&self, number: usize) -> Result<usize>;
}

fn keys(chunks: Range<usize>) -> Vec<ChunkKey> {
    (0..).skip(chunks.start).take(chunks.len()).map(|number| ChunkKey::new(DocumentId::Int(number), 0)).collect()
}

fn metadata(chunks: Range<usize>) -> Vec<Metadata> {
    chunks.map(|number| vec![("tenth".into(), Value::Number((number % 10) as f64))]).collect()
}

fn indices() -> Vec<u32> {
    (0..DOCUMENT as u32).collect()
}

struct Lexical {
    index: Bm25Index,
    texts: Vec<String>,
}

impl Lexical {
    fn new() -> Result<Self> {
        let mut numbers = Numbers(1);
        let mut text = |_| {
            (0..100).fold(String::new(), |mut text, _| {
                let rank = 30_000_f64.powf(numbers.next()) as u64;
                write!(text, "w{rank} ").map_or_else(|_| String::new(), |()| text)
            })
        };
        Ok(Self { index: Bm25Index::new(1.5, 0.75)?, texts: (0..2 * CHUNKS).map(&mut text).collect() })
    }
}

impl Engine for Lexical {
    fn add(&self, chunks: Range<usize>) -> Result<()> {
        let texts: Vec<&str> = self.texts[chunks.clone()].iter().map(String::as_str).collect();
        let metadata = metadata(chunks.clone());
        self.index.upsert(keys(chunks), &texts, Some(&metadata.iter().collect::<Vec<_>>()))
    }

    fn replace(&self, document: u32) -> Result<()> {
        let texts: Vec<&str> =
            self.texts[document as usize * DOCUMENT..][..DOCUMENT].iter().map(String::as_str).collect();
        self.index.replace_document(&DocumentId::Int(document.into()), &indices(), &texts, None)
    }

    fn remove(&self, document: u32) -> usize {
        self.index.remove(&DocumentId::Int(document.into()))
    }

    fn len(&self) -> usize {
        self.index.len()
    }

    fn search(&self, number: usize) -> Result<usize> {
        let query = &self.texts[number % self.texts.len()];
        let query = query.split_inclusive(' ').take(8).collect::<String>();
        Ok(self.index.search(&query, 10, &Metadata::new()).len())
    }
}

#[derive(Default)]
struct Vectors {
    ends: Vec<usize>,
    terms: Vec<u32>,
    weights: Vec<f32>,
}

impl Vectors {
    fn new(count: usize, terms: usize, seed: u64) -> Self {
        let (mut numbers, mut vectors) = (Numbers(seed), Self::default());
        for _ in 0..count {
            let mut vector = BTreeMap::new();
            while vector.len() < terms {
                let rank = (1_000_f64.powf(numbers.next()) * 30.0) as u32;
                vector.insert(rank, (-(1.0 - numbers.next()).ln()) as f32 + 0.01);
            }
            vectors.terms.extend(vector.keys());
            vectors.weights.extend(vector.values());
            vectors.ends.push(vectors.terms.len());
        }
        vectors
    }

    /// Some of the vectors, as they would be handed in.
    fn some(&self, range: Range<usize>) -> Self {
        let start = range.start.checked_sub(1).map_or(0, |previous| self.ends[previous]);
        let ends = &self.ends[range];
        let places = start..ends.last().copied().unwrap_or(start);
        Self {
            ends: ends.iter().map(|end| end - start).collect(),
            terms: self.terms[places.clone()].to_vec(),
            weights: self.weights[places].to_vec(),
        }
    }

    fn rows(&self) -> Result<sparse::Rows<'_>> {
        sparse::Rows::new(&self.ends, &self.terms, &self.weights)
    }
}

struct Sparse {
    index: SparseIndex,
    vectors: Vectors,
    queries: Vec<Vectors>,
}

impl Engine for Sparse {
    fn add(&self, chunks: Range<usize>) -> Result<()> {
        let metadata = metadata(chunks.clone());
        let vectors = self.vectors.some(chunks.clone());
        self.index.upsert(keys(chunks), vectors.rows()?, Some(&metadata.iter().collect::<Vec<_>>()))
    }

    fn replace(&self, document: u32) -> Result<()> {
        let start = document as usize * DOCUMENT;
        let vectors = self.vectors.some(start..start + DOCUMENT);
        self.index.replace_document(&DocumentId::Int(document.into()), &indices(), vectors.rows()?, None)
    }

    fn remove(&self, document: u32) -> usize {
        self.index.remove(&DocumentId::Int(document.into()))
    }

    fn len(&self) -> usize {
        self.index.len()
    }

    fn search(&self, number: usize) -> Result<usize> {
        let query = &self.queries[number % self.queries.len()];
        Ok(self.index.search(query.rows()?, &sparse::Search::best(10))?.len())
    }
}

const DIMENSIONS: usize = 384;

struct Dense {
    index: VectorIndex,
    values: Vec<f32>,
}

impl Dense {
    fn rows(&self, chunks: Range<usize>) -> Result<dense::Rows<'_>> {
        dense::Rows::new(&self.values[chunks.start * DIMENSIONS..chunks.end * DIMENSIONS], DIMENSIONS)
    }
}

impl Engine for Dense {
    fn add(&self, chunks: Range<usize>) -> Result<()> {
        let metadata = metadata(chunks.clone());
        self.index.upsert(keys(chunks.clone()), self.rows(chunks)?, Some(&metadata)).map(drop)
    }

    fn replace(&self, document: u32) -> Result<()> {
        let start = document as usize * DOCUMENT;
        let rows = self.rows(start..start + DOCUMENT)?;
        self.index.replace_document(&DocumentId::Int(document.into()), &indices(), rows, None).map(drop)
    }

    fn remove(&self, document: u32) -> usize {
        self.index.remove(&DocumentId::Int(document.into()))
    }

    fn len(&self) -> usize {
        self.index.len()
    }

    fn search(&self, number: usize) -> Result<usize> {
        let query = &self.values[number % 1000 * DIMENSIONS..][..DIMENSIONS];
        Ok(self.index.search(query, &dense::Search::best(10))?.len())
    }
}

/// By phase, how long each look at the lock and each search took.
#[derive(Default)]
struct Seen([(Vec<Duration>, Vec<Duration>); PHASES.len()]);

impl Seen {
    /// Read on until the phases are over.
    fn read(engine: &impl Engine, phase: &AtomicUsize) -> Result<Self> {
        let mut seen = Self::default();
        for number in 0.. {
            let Some((waits, searches)) = seen.0.get_mut(phase.load(Ordering::Relaxed)) else { break };
            let start = Instant::now();
            black_box(engine.len());
            waits.push(start.elapsed());
            let start = Instant::now();
            black_box(engine.search(number)?);
            searches.push(start.elapsed());
            thread::sleep(Duration::from_micros(200));
        }
        Ok(seen)
    }
}

/// Write what each phase writes, and return how long each took.
fn write(engine: &impl Engine, phase: &AtomicUsize) -> Result<[Duration; PHASES.len()]> {
    let mut took = [Duration::ZERO; PHASES.len()];
    for (number, took) in took.iter_mut().enumerate() {
        phase.store(number, Ordering::Relaxed);
        let start = Instant::now();
        match number {
            0 => thread::sleep(Duration::from_secs(1)),
            1 => engine.add(CHUNKS..2 * CHUNKS)?,
            2 => (0..REPLACED).try_for_each(|document| engine.replace(document))?,
            _ => {
                let removed: usize = (0..2 * CHUNKS as u32).map(|document| engine.remove(document)).sum();
                black_box(removed);
                thread::sleep(Duration::from_millis(200));
            }
        }
        *took = start.elapsed();
    }
    phase.store(PHASES.len(), Ordering::Relaxed);
    Ok(took)
}

fn figures(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let at = |part: f64| times.get((times.len() as f64 * part) as usize).or(times.last()).copied().unwrap_or_default();
    let milliseconds = [0.5, 0.99, 1.0].map(|part| format!("{:>7.3}", at(part).as_secs_f64() * 1e3));
    milliseconds.join(" ")
}

fn measure(name: &str, engine: &impl Engine) -> Result<()> {
    engine.add(0..CHUNKS)?;
    let phase = AtomicUsize::new(0);
    let (took, seen) = thread::scope(|scope| {
        let reader = scope.spawn(|| Seen::read(engine, &phase));
        (write(engine, &phase), reader.join())
    });
    let (took, Ok(seen)) = (took?, seen) else { return Ok(()) };
    for ((phase, took), (waits, searches)) in PHASES.into_iter().zip(took).zip(seen?.0) {
        let (took, count) = (took.as_secs_f64(), waits.len());
        println!("{name:<8} {phase:<16} {took:>6.2} s {count:>6} {} {}", figures(waits), figures(searches));
    }
    Ok(())
}

fn main() -> Result<()> {
    let header = "    p50     p99     max";
    println!("{:<8} {:<16} {:>8} {:>6} {:>23} {:>23}", "", "", "", "", "wait, ms", "search, ms");
    println!("{:<8} {:<16} {:>8} {:>6} {header} {header}", "", "beside", "took", "looks");
    measure("lexical", &Lexical::new()?)?;
    let queries = (0..64).map(|seed| Vectors::new(1, 30, 100 + seed)).collect();
    let vectors = Vectors::new(2 * CHUNKS, 120, 1);
    measure("sparse", &Sparse { index: SparseIndex::new(), vectors, queries })?;
    let mut numbers = Numbers(1);
    let values = (0..2 * CHUNKS * DIMENSIONS).map(|_| numbers.next() as f32 - 0.5).collect();
    measure("dense", &Dense { index: VectorIndex::new(Some(DIMENSIONS))?, values })
}
