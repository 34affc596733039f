//! Counting tokens, finding their spans and keeping to a budget, at sizes growing by ten.
//!
//! Run: `cargo bench -p ragstone-core --bench tokens`.
#![allow(missing_docs)]

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ragstone_core::tokens::{Encoding, count_many, fit_budget, token_spans};

/// Text of about `bytes` bytes: words of several scripts, numbers, punctuation, line breaks, few repeats.
fn text(bytes: usize, seed: u64) -> String {
    const PARTS: [&str; 12] =
        ["the ", "retrieval ", "of ", "passages", ", ", "naïve ", "日本語", ".\n", "(see ", "Straßen", "’s ", "\n\n  "];
    let mut state = seed;
    let mut text = String::with_capacity(bytes + 16);
    while text.len() < bytes {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text.push_str(PARTS[(state >> 33) as usize % PARTS.len()]);
        if (state >> 40).is_multiple_of(5) {
            text.push_str(&(state >> 48).to_string());
        }
    }
    text
}

fn counting(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("count_chunks_of_2000_bytes");
    for chunks in [2, 20, 200] {
        let texts: Vec<String> = (0..chunks).map(|chunk| text(2_000, chunk)).collect();
        group.throughput(Throughput::Bytes(chunks * 2_000));
        for (name, encoding) in [("cl100k_base", Encoding::Cl100kBase), ("o200k_base", Encoding::O200kBase)] {
            group
                .bench_function(BenchmarkId::new(name, chunks), |b| b.iter(|| count_many(encoding, black_box(&texts))));
        }
    }
}

fn spans(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("spans");
    for bytes in [1_000, 10_000, 100_000] {
        let text = text(bytes, 1);
        group.throughput(Throughput::Bytes(bytes as u64));
        group.bench_function(BenchmarkId::from_parameter(bytes), |b| {
            b.iter(|| token_spans(Encoding::Cl100kBase, black_box(&text)));
        });
    }
}

fn budget(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("fit_budget");
    for texts in [100, 1_000, 10_000] {
        let counts: Vec<usize> = (0..texts).map(|text| text % 600).collect();
        group.throughput(Throughput::Elements(texts as u64));
        group.bench_function(BenchmarkId::from_parameter(texts), |b| {
            b.iter(|| fit_budget(black_box(&counts), usize::MAX));
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
    targets = counting, spans, budget
}
criterion_main!(benches);
