//! Vector search: one query, a batch and a filtered query over collections that grow tenfold, 384 dimensions; then one
//! query by codes and in half precision, and writes.
//!
//! `cargo bench -p ragstone-core --bench dense`. The throughput of one query is the bytes of the vectors over the time of
//! a scan; beside it stands what the memory gives, to one thread and to two, when as many bytes are only added up.
//! `RAYON_NUM_THREADS=1` keeps to one thread.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use memmap2::MmapOptions;
use ragstone_core::ChunkKey;
use ragstone_core::dense::{Quantization, Rows, Search, VectorIndex};
use ragstone_core::filter::{Metadata, Value};

const DIMENSIONS: usize = 384;
const BATCH: usize = 32;

fn noise(count: usize) -> Vec<f32> {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1_u32 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn built(chunks: usize, quantization: Quantization) -> VectorIndex {
    let Ok(index) = VectorIndex::quantized(Some(DIMENSIONS), quantization) else { return VectorIndex::default() };
    let values = noise(chunks * DIMENSIONS);
    let keys = (0..chunks).map(|n| ChunkKey::new("document", n as u32)).collect();
    let metadata: Vec<Metadata> = (0..chunks).map(|n| vec![("tenth".into(), Value::Bool(n % 10 == 0))]).collect();
    let stored = Rows::new(&values, DIMENSIONS).and_then(|rows| index.upsert(keys, rows, Some(&metadata)));
    assert_eq!(stored.map(|handles| handles.len()), Ok(chunks));
    index
}

fn searches(c: &mut Criterion) {
    let queries = noise(BATCH * DIMENSIONS);
    let mut group = c.benchmark_group("dense");
    group.sample_size(20);
    for chunks in [1_000, 10_000, 100_000] {
        let index = built(chunks, Quantization::None);
        group.throughput(Throughput::Bytes((chunks * DIMENSIONS * size_of::<f32>()) as u64));
        group.bench_function(BenchmarkId::new("one query", chunks), |b| {
            b.iter(|| black_box(index.search(&queries[..DIMENSIONS], &Search::best(10))));
        });
        group.throughput(Throughput::Elements(BATCH as u64));
        group.bench_function(BenchmarkId::new("batch of 32", chunks), |b| {
            b.iter(|| black_box(Rows::new(&queries, DIMENSIONS).and_then(|q| index.search_many(q, &Search::best(10)))));
        });
        let filtered = Search { filter: vec![("tenth".into(), Value::Bool(true))], ..Search::best(10) };
        group.throughput(Throughput::Elements(1));
        group.bench_function(BenchmarkId::new("filter of a tenth", chunks), |b| {
            b.iter(|| black_box(index.search(&queries[..DIMENSIONS], &filtered)));
        });
    }
    group.finish();
}

/// Add up all numbers, so simply that the memory alone sets the pace.
fn sum(values: &[f32]) -> f32 {
    const LANES: usize = 128;
    let mut sums = [0.0_f32; LANES];
    for block in values.as_chunks::<LANES>().0 {
        sums.iter_mut().zip(block).for_each(|(sum, value)| *sum += value);
    }
    sums.iter().sum()
}

fn memory(c: &mut Criterion) {
    let mut group = c.benchmark_group("memory");
    group.sample_size(20);
    for chunks in [1_000, 10_000, 100_000] {
        let bytes = chunks * DIMENSIONS * size_of::<f32>();
        let Ok(mut map) = MmapOptions::new().len(bytes).map_anon() else { continue };
        #[cfg(target_os = "linux")]
        drop(map.advise(memmap2::Advice::HugePage));
        map.fill(1);
        let values: &[f32] = bytemuck::cast_slice(&map);
        let (first, second) = values.split_at(values.len() / 2);
        group.throughput(Throughput::Bytes(bytes as u64));
        group.bench_function(BenchmarkId::new("one thread", chunks), |b| b.iter(|| black_box(sum(black_box(values)))));
        group.bench_function(BenchmarkId::new("two threads", chunks), |b| {
            b.iter(|| black_box(rayon::join(|| sum(black_box(first)), || sum(black_box(second)))));
        });
    }
    group.finish();
}

fn writes(c: &mut Criterion) {
    let mut group = c.benchmark_group("dense writes");
    group.sample_size(10);
    for chunks in [1_000, 10_000, 100_000] {
        let values = noise(chunks * DIMENSIONS);
        let keys: Vec<ChunkKey> = (0..chunks).map(|n| ChunkKey::new("document", n as u32)).collect();
        group.throughput(Throughput::Elements(chunks as u64));
        group.bench_function(BenchmarkId::new("upsert", chunks), |b| {
            let index = VectorIndex::default();
            b.iter(|| Rows::new(&values, DIMENSIONS).and_then(|rows| index.upsert(keys.clone(), rows, None)));
        });
    }
    group.finish();
}

fn quantized(c: &mut Criterion) {
    let query = noise(DIMENSIONS);
    let mut group = c.benchmark_group("dense quantized");
    group.sample_size(20);
    for name in ["int8", "binary", "f16"] {
        let Ok(quantization) = Quantization::named(Some(name), None) else { continue };
        for chunks in [1_000, 10_000, 100_000] {
            let index = built(chunks, quantization);
            group.throughput(Throughput::Elements(chunks as u64));
            group.bench_function(BenchmarkId::new(name, chunks), |b| {
                b.iter(|| black_box(index.search(&query, &Search::best(10))));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, searches, memory, writes, quantized);
criterion_main!(benches);
