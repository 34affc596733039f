//! Predicates over growing columns: one of ten values, one of a thousand, and an instant that is unique to each slot.
//!
//! Run with `cargo bench -p ragstone-core --bench filter`.
#![allow(missing_docs)]

use std::hint::black_box;
use std::ops::Bound;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ragstone_core::Result;
use ragstone_core::filter::{Columns, Metadata, Predicate, Range, Value};

const SIZES: [u32; 4] = [1_000, 10_000, 100_000, 1_000_000];

fn metadata(slot: u32) -> Metadata {
    vec![
        ("tenth".into(), Value::Number(f64::from(slot % 10))),
        ("thousandth".into(), Value::Text(format!("value {}", slot % 1_000).into())),
        ("at".into(), Value::Instant(i64::from(slot.wrapping_mul(2_654_435_761)))),
    ]
}

fn columns(size: u32) -> Columns {
    let mut columns = Columns::default();
    for slot in 0..size {
        columns.insert(slot, &metadata(slot));
    }
    columns
}

fn insert(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("filter/insert");
    for size in SIZES {
        let all: Vec<Metadata> = (0..size).map(metadata).collect();
        group.throughput(Throughput::Elements(size.into()));
        group.bench_with_input(BenchmarkId::from_parameter(size), &all, |bencher, all| {
            bencher.iter(|| {
                let mut columns = Columns::default();
                (0..).zip(all).for_each(|(slot, metadata)| columns.insert(slot, metadata));
                columns
            });
        });
    }
}

fn predicates() -> Result<Vec<(&'static str, Predicate)>> {
    let tenth = |number: f64| Predicate::Equal("tenth".into(), Value::Number(number));
    let within = |key: &str, lower, upper| Range::new(lower, upper).map(|range| Predicate::Within(key.into(), range));
    let recent = within("at", Bound::Included(Value::Instant(i64::from(u32::MAX / 10 * 9))), Bound::Unbounded)?;
    let texts = (0..20).map(|number| Value::Text(format!("value {number}").into())).collect();
    Ok(vec![
        ("equal", tenth(3.0)),
        (
            "and",
            Predicate::And(vec![tenth(3.0), Predicate::Equal("thousandth".into(), Value::Text("value 13".into()))]),
        ),
        ("not", Predicate::Not(Box::new(tenth(3.0)))),
        ("in 20 of 1000", Predicate::In("thousandth".into(), texts)),
        ("range of numbers", within("tenth", Bound::Included(Value::Number(5.0)), Bound::Unbounded)?),
        ("range of a tenth of unique instants", recent.clone()),
        ("range of instants and equal", Predicate::And(vec![recent, tenth(3.0)])),
        ("exists", Predicate::Exists("at".into())),
    ])
}

fn select(criterion: &mut Criterion) {
    let Ok(predicates) = predicates() else { return };
    for size in SIZES {
        let columns = columns(size);
        for (name, predicate) in &predicates {
            criterion.bench_function(&format!("filter/{name}/{size}"), |bencher| {
                bencher.iter(|| black_box(columns.select(predicate).is_empty()));
            });
        }
    }
}

fn quick() -> Criterion {
    Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(300))
}

criterion_group! { name = benches; config = quick(); targets = insert, select }
criterion_main!(benches);
