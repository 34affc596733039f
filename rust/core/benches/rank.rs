//! Fusing three rankings, MMR and the redundancy filter, at sizes growing by ten.
//!
//! Run: `cargo bench -p ragstone-core --bench rank`.
#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ragstone_core::rank::{Vectors, mmr, redundancy_filter, relative_score_fusion, rrf};

const DIMENSIONS: usize = 384;

/// Numbers in [0, 1) that are the same in every run.
fn numbers(seed: u64) -> impl Iterator<Item = f64> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    })
}

/// Three rankings that share about half of their ids.
fn rankings(length: usize) -> Vec<Vec<u32>> {
    let ids = |seed| {
        let mut keyed: Vec<(f64, u32)> = numbers(seed).zip(0..length as u32 * 2).collect();
        keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
        keyed.into_iter().take(length).map(|(_, id)| id).collect()
    };
    (1..=3).map(ids).collect()
}

/// Vectors around twelve centres, as the candidates of one query are.
fn vectors(rows: usize, dimensions: usize) -> Vec<f32> {
    let spread = |seed| numbers(seed).map(|x| (x - 0.5) as f32);
    let centres: Vec<f32> = spread(7).take(12 * dimensions).collect();
    let noise: Vec<f32> = spread(9).take(rows * dimensions).collect();
    let centre = |i: usize| centres[(i / dimensions * 5) % 12 * dimensions + i % dimensions];
    noise.iter().enumerate().map(|(i, noise)| 0.2 + centre(i) + 0.7 * noise).collect()
}

fn fusion(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("fuse_3_rankings");
    for length in [100, 1_000, 10_000] {
        let rankings = rankings(length);
        let scores: Vec<Vec<f64>> = (0..3).map(|list| numbers(list).take(length).collect()).collect();
        group.throughput(Throughput::Elements(3 * length as u64));
        group.bench_function(BenchmarkId::new("rrf", length), |b| {
            b.iter(|| rrf(black_box(&rankings), 60.0, &[1.0; 3], None).unwrap());
        });
        group.bench_function(BenchmarkId::new("relative", length), |b| {
            b.iter(|| relative_score_fusion(black_box(&rankings), &scores, &[1.0; 3], None).unwrap());
        });
    }
}

fn diversity(criterion: &mut Criterion) {
    for dimensions in [384, 1536] {
        let mut group = criterion.benchmark_group(format!("mmr_50_of_{dimensions}d"));
        let query: Vec<f32> = numbers(3).map(|x| x as f32).take(dimensions).collect();
        for rows in [100, 1_000, 10_000] {
            let values = vectors(rows, dimensions);
            group.throughput(Throughput::Elements(rows as u64));
            group.bench_function(BenchmarkId::from_parameter(rows), |b| {
                b.iter(|| mmr(&query, &Vectors::new(black_box(&values), dimensions).unwrap(), 50, 0.5).unwrap());
            });
        }
    }
}

fn redundancy(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("redundancy_384d");
    for rows in [10, 100, 1_000] {
        let values = vectors(rows, DIMENSIONS);
        group.throughput(Throughput::Elements(rows as u64));
        group.bench_function(BenchmarkId::from_parameter(rows), |b| {
            b.iter(|| redundancy_filter(&Vectors::new(black_box(&values), DIMENSIONS).unwrap(), 0.95).unwrap());
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
    targets = fusion, diversity, redundancy
}
criterion_main!(benches);
