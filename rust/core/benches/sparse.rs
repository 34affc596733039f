//! Sparse search over growing collections of synthetic chunks: build, search, filtered search, replacing a document.
//!
//! Chunks have 120 terms of a Zipf-like vocabulary of 30,000, queries 30. Run with
//! `cargo bench -p ragstone-core --bench sparse`.
#![allow(missing_docs)]

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Duration;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ragstone_core::filter::{Metadata, Predicate, Value};
use ragstone_core::sparse::{Rows, Search, SparseIndex};
use ragstone_core::{ChunkKey, DocumentId, Result};

const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

/// A fixed sequence of numbers in [0, 1).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Vectors one after the other.
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
                // Ranks from 30 on: no learned model gives one term to most texts.
                let rank = (1_000_f64.powf(numbers.next()) * 30.0) as u32;
                vector.insert(rank, (-(1.0 - numbers.next()).ln()) as f32 + 0.01);
            }
            vectors.terms.extend(vector.keys());
            vectors.weights.extend(vector.values());
            vectors.ends.push(vectors.terms.len());
        }
        vectors
    }

    fn rows(&self) -> Result<Rows<'_>> {
        Rows::new(&self.ends, &self.terms, &self.weights)
    }
}

fn fill(index: &SparseIndex, vectors: &Vectors) -> Result<()> {
    let keys = (0..).take(vectors.ends.len()).map(|number| ChunkKey::new(DocumentId::Int(number), 0)).collect();
    let entry = |key: &str, number: u32| (key.into(), Value::Number(number.into()));
    let metadata: Vec<Metadata> = (0..vectors.ends.len() as u32)
        .map(|number| vec![entry("tenth", number % 10), entry("thousandth", number % 1000)])
        .collect();
    index.upsert(keys, vectors.rows()?, Some(&metadata.iter().collect::<Vec<_>>()))
}

fn filled(size: usize) -> Result<SparseIndex> {
    let index = SparseIndex::new();
    fill(&index, &Vectors::new(size, 120, 1)).map(|()| index)
}

fn build(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sparse/build");
    for size in SIZES {
        let vectors = Vectors::new(size, 120, 1);
        group.throughput(Throughput::Elements(size as u64));
        group.bench_with_input(BenchmarkId::from_parameter(size), &vectors, |bencher, vectors| {
            bencher.iter_batched(SparseIndex::new, |index| fill(&index, vectors), BatchSize::PerIteration);
        });
    }
}

fn search(criterion: &mut Criterion) {
    let queries: Vec<Vectors> = (0..64).map(|seed| Vectors::new(1, 30, 100 + seed)).collect();
    let equal = |key: &str| Predicate::Equal(key.into(), Value::Number(3.0));
    for size in SIZES {
        let Ok(index) = filled(size) else { continue };
        for (name, filter) in
            [("all", Predicate::default()), ("tenth", equal("tenth")), ("thousandth", equal("thousandth"))]
        {
            let search = Search { filter, ..Search::best(10) };
            let mut group = criterion.benchmark_group(format!("sparse/search/{name}"));
            let mut queries = queries.iter().cycle();
            group.throughput(Throughput::Elements(1));
            group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
                bencher.iter(|| {
                    queries.next().map(|query| query.rows().map(|rows| black_box(index.search(rows, &search))))
                });
            });
        }
    }
}

fn replace(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sparse/replace");
    let fresh: Vec<Vectors> = (0..64).map(|seed| Vectors::new(1, 120, 200 + seed)).collect();
    for size in SIZES {
        let Ok(index) = filled(size) else { continue };
        let mut turns = fresh.iter().cycle().zip((0..1_000).cycle());
        group.throughput(Throughput::Elements(1));
        group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
            bencher.iter(|| {
                turns.next().map(|(vector, number)| {
                    vector.rows().and_then(|row| index.replace_document(&DocumentId::Int(number), &[0], row, None))
                })
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
