//! BM25 over growing collections of synthetic chunks: build, search, search with filters, replacing a document.
//!
//! Chunks have 100 terms of a Zipf-like vocabulary of 30,000; queries have 8. Run with
//! `cargo bench -p ragstone-core --bench lexical`.
#![allow(missing_docs)]

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Duration;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ragstone_core::filter::{Metadata, Value};
use ragstone_core::lexical::Bm25Index;
use ragstone_core::{ChunkKey, DocumentId, Result};

const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

/// A fixed sequence of numbers in [0, 1).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn text(&mut self, terms: usize) -> String {
        (0..terms).fold(String::new(), |mut text, _| {
            let rank = 30_000_f64.powf(self.next()) as u64;
            write!(text, "w{rank} ").map_or_else(|_| String::new(), |()| text)
        })
    }
}

fn texts(count: usize, terms: usize, seed: u64) -> Vec<String> {
    let mut numbers = Numbers(seed);
    (0..count).map(|_| numbers.text(terms)).collect()
}

fn fill(index: &Bm25Index, texts: &[String]) -> Result<()> {
    let keys = (0..).take(texts.len()).map(|number| ChunkKey::new(DocumentId::Int(number), 0)).collect();
    let group = |number: u32, of: u32| Value::Number(f64::from(number % of));
    let metadata: Vec<Metadata> = (0..)
        .take(texts.len())
        .map(|number| vec![("tenth".into(), group(number, 10)), ("thousandth".into(), group(number, 1000))])
        .collect();
    index.upsert(
        keys,
        &texts.iter().map(String::as_str).collect::<Vec<_>>(),
        Some(&metadata.iter().collect::<Vec<_>>()),
    )
}

fn build(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("lexical/build");
    for size in SIZES {
        let texts = texts(size, 100, 1);
        group.throughput(Throughput::Elements(size as u64));
        group.bench_with_input(BenchmarkId::from_parameter(size), &texts, |bencher, texts| {
            let empty = || Bm25Index::new(1.5, 0.75);
            bencher.iter_batched(empty, |index| index.and_then(|index| fill(&index, texts)), BatchSize::PerIteration);
        });
    }
}

fn search(criterion: &mut Criterion) {
    let queries = texts(64, 8, 2);
    let tenth = || vec![("tenth".into(), Value::Number(3.0))];
    let thousandth = || vec![("thousandth".into(), Value::Number(3.0))];
    for (name, filter, top_k) in
        [("all", vec![], 10), ("all, 100 hits", vec![], 100), ("tenth", tenth(), 10), ("thousandth", thousandth(), 10)]
    {
        let mut group = criterion.benchmark_group(format!("lexical/search/{name}"));
        for size in SIZES {
            let Ok(index) = Bm25Index::new(1.5, 0.75) else { continue };
            if fill(&index, &texts(size, 100, 1)).is_err() {
                continue;
            }
            let mut queries = queries.iter().cycle();
            group.throughput(Throughput::Elements(1));
            group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
                bencher.iter(|| queries.next().map(|query| black_box(index.search(query, top_k, &filter))));
            });
        }
    }
}

fn replace(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("lexical/replace");
    let fresh = texts(256, 100, 3);
    for size in SIZES {
        let Ok(index) = Bm25Index::new(1.5, 0.75) else { continue };
        if fill(&index, &texts(size, 100, 1)).is_err() {
            continue;
        }
        let mut turns = fresh.iter().cycle().zip((0..1_000).cycle());
        group.throughput(Throughput::Elements(1));
        group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
            bencher.iter(|| {
                turns.next().map(|(text, number)| index.replace_document(&DocumentId::Int(number), &[0], &[text], None))
            });
        });
    }
}

fn quick() -> Criterion {
    Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(500))
}

criterion_group! { name = benches; config = quick(); targets = build, search, replace }
criterion_main!(benches);
