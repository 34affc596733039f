//! Analysis of English, German, Russian and Chinese text of growing length: bytes a second.
//!
//! Run with `cargo bench -p ragstone-core --bench text`.
#![allow(missing_docs)]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ragstone_core::text::{for_each_term, sentence_spans};

const PASSAGES: [(&str, &str); 4] = [
    ("english", "The retrieval layer decides which passages an answer can rest on. It ranks 42 of them, then stops. "),
    ("german", "Über die Güte einer Antwort entscheidet, welche Stellen gefunden wurden: größtenteils die richtigen. "),
    ("russian", "Качество ответа зависит от того, какие отрывки были найдены и в каком порядке они стоят. "),
    ("chinese", "检索层决定了答案所依据的段落，排序之后只保留最好的几段。全文共有四十二段。"),
];

fn of_length(passage: &str, characters: usize) -> String {
    passage.chars().cycle().take(characters).collect()
}

fn terms(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("text/terms");
    for (language, passage) in PASSAGES {
        for characters in [100, 1_000, 10_000] {
            let text = of_length(passage, characters);
            group.throughput(Throughput::Bytes(text.len() as u64));
            group.bench_with_input(BenchmarkId::new(language, characters), &text, |bencher, text| {
                bencher.iter(|| {
                    let mut bytes = 0;
                    for_each_term(text, |term| bytes += term.len());
                    bytes
                });
            });
        }
    }
}

fn sentences(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("text/sentences");
    for characters in [100, 1_000, 10_000] {
        let text = of_length(PASSAGES[0].1, characters);
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_with_input(BenchmarkId::from_parameter(characters), &text, |bencher, text| {
            bencher.iter(|| sentence_spans(black_box(text)));
        });
    }
}

fn quick() -> Criterion {
    Criterion::default()
        .sample_size(10)
        .warm_up_time(std::time::Duration::from_millis(200))
        .measurement_time(std::time::Duration::from_millis(500))
}

criterion_group! { name = benches; config = quick(); targets = terms, sentences }
criterion_main!(benches);
