//! What no caller should hand over, and some will: any text, any numbers. Nothing panics, what is invalid is refused
//! before anything is stored, and what comes back keeps its promises.
#![allow(clippy::unwrap_used)]

use std::ops::Bound;

use proptest::collection::vec;
use proptest::prelude::*;
use ragstone_core::dense::{self, VectorIndex};
use ragstone_core::filter::{Columns, Predicate, Range, Value};
use ragstone_core::lexical::Bm25Index;
use ragstone_core::rank::{Vectors, mmr, redundancy_filter, relative_score_fusion, rrf};
use ragstone_core::sparse::{self, SparseIndex};
use ragstone_core::text::{sentence_spans, terms};
use ragstone_core::tokens::{Encoding, count_many, token_spans};
use ragstone_core::{ChunkKey, DocumentId};

/// Any scalar values, marks without a base and rare planes among them more often than by chance.
fn text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        any::<char>().prop_map(String::from),
        any::<String>(),
        "\\p{M}{1,4}",
        "[\0\u{fffd}\u{200d}\u{feff}\u{10ffff}]",
        "\\PC{0,9}"
    ];
    vec(part, 0..12).prop_map(|parts| parts.concat())
}

/// Any single-precision number: NaN, infinities and the smallest and largest among them.
fn single() -> impl Strategy<Value = f32> {
    prop_oneof![any::<u32>().prop_map(f32::from_bits), prop::num::f32::ANY, -1.0_f32..1.0, Just(0.0)]
}

fn double() -> impl Strategy<Value = f64> {
    prop_oneof![any::<u64>().prop_map(f64::from_bits), -2.0_f64..2.0, 0.0_f64..100.0]
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        text().prop_map(|text| Value::Text(text.as_str().into())),
        double().prop_map(Value::Number),
        any::<i64>().prop_map(Value::Instant),
        any::<bool>().prop_map(Value::Bool),
    ]
}

fn end() -> impl Strategy<Value = Bound<Value>> {
    prop_oneof![value().prop_map(Bound::Included), value().prop_map(Bound::Excluded), Just(Bound::Unbounded)]
}

fn keys(count: usize) -> Vec<ChunkKey> {
    (0..).take(count).map(|number| ChunkKey::new(DocumentId::Int(number), 0)).collect()
}

/// Whether spans follow one another within a text of so many characters.
fn in_order(spans: &[(usize, usize)], characters: usize) -> bool {
    let ends = spans.iter().flat_map(|&(start, end)| [start, end]).chain([characters]);
    ends.is_sorted() && spans.iter().all(|(start, end)| start < end)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_text_is_analysed(text in text()) {
        let characters = text.chars().count();
        prop_assert!(in_order(&sentence_spans(&text), characters));
        let found = terms(&text);
        prop_assert!(found.iter().all(|term| !term.is_empty()));
        let index = Bm25Index::new(1.5, 0.75).unwrap();
        index.upsert(keys(1), &[&text], None).unwrap();
        let hits = index.search(&text, 9, &Vec::new());
        prop_assert_eq!(hits.len(), usize::from(!found.is_empty()));
        prop_assert!(hits.iter().all(|hit| hit.score.is_finite() && hit.score > 0.0));
    }

    #[test]
    fn any_text_is_counted(text in text()) {
        for encoding in [Encoding::Cl100kBase, Encoding::O200kBase] {
            let tokens = encoding.encode(&text).len();
            prop_assert_eq!(count_many(encoding, &[text.as_str(), ""]), [tokens, 0]);
            prop_assert!(in_order(&token_spans(encoding, &text), text.chars().count()));
        }
    }

    #[test]
    fn any_numbers_make_a_sparse_vector_or_an_error(
        ends in vec(0_usize..12, 0..5), terms in vec(prop_oneof![0_u32..6, any::<u32>()], 0..12), weights in vec(single(), 0..12),
    ) {
        let ends: Vec<usize> = ends.into_iter().chain([terms.len()]).collect();
        let valid = ends.is_sorted() && terms.len() == weights.len() && {
            let starts = [0].into_iter().chain(ends.iter().copied());
            starts.zip(&ends).all(|(start, &end)| terms[start..end].windows(2).all(|pair| pair[0] < pair[1]))
        } && weights.iter().all(|weight| weight.is_finite() && *weight > 0.0);
        let rows = sparse::Rows::new(&ends, &terms, &weights);
        prop_assert_eq!(rows.is_ok(), valid);
        if let Ok(rows) = rows {
            let index = SparseIndex::new();
            index.upsert(keys(rows.len()), rows, None).unwrap();
            for page in index.search(rows, &sparse::Search::best(3)).unwrap() {
                prop_assert!(page.iter().all(|hit| hit.score > 0.0));
                prop_assert!(page.is_sorted_by(|a, b| a.score >= b.score));
            }
        }
    }

    #[test]
    fn any_numbers_make_dense_vectors_or_an_error(
        values in vec(single(), 0..24), query in vec(single(), 0..4), dimensions in 0_usize..4, min_score in double(),
    ) {
        let index = VectorIndex::new(None).unwrap();
        let Ok(rows) = dense::Rows::new(&values, dimensions) else {
            prop_assert!(dimensions == 0 || values.len() % dimensions != 0);
            return Ok(());
        };
        let stored = index.upsert(keys(rows.len()), rows, None);
        prop_assert_eq!(stored.is_ok(), values.iter().all(|x| x.is_finite()));
        prop_assert_eq!(index.len(), if stored.is_ok() { rows.len() } else { 0 });
        let search = dense::Search { min_score, ..dense::Search::best(9) };
        if let Ok(hits) = index.search(&query, &search) {
            prop_assert!(min_score.is_finite() && query.iter().all(|x| x.is_finite()));
            prop_assert!(hits.iter().all(|hit| (-1.0..=1.0).contains(&hit.score)));
            prop_assert!(hits.is_sorted_by(|a, b| a.score >= b.score));
        }
    }

    #[test]
    fn any_numbers_are_ranked_or_refused(
        values in vec(single(), 0..24), query in vec(single(), 0..4), dimensions in 0_usize..4,
        k in 0_usize..9, number in double(), threshold in double(),
    ) {
        if let Ok(vectors) = Vectors::new(&values, dimensions) {
            prop_assert!(values.iter().all(|x| x.is_finite()));
            if let Ok(picks) = mmr(&query, &vectors, k, number) {
                prop_assert_eq!(picks.len(), k.min(vectors.len()));
                prop_assert!(picks.iter().all(|pick| pick.value.is_finite()));
            }
            if let Ok((kept, dropped)) = redundancy_filter(&vectors, threshold) {
                prop_assert_eq!(kept.len() + dropped.len(), vectors.len());
            }
        }
    }

    #[test]
    fn any_rankings_are_fused_or_refused(
        lists in vec((vec((0_u32..40, double()), 0..6), double()), 0..4), k in double(), top_k in prop::option::of(0_usize..9),
    ) {
        let rankings: Vec<Vec<u32>> = lists.iter().map(|(list, _)| list.iter().map(|&(id, _)| id).collect()).collect();
        let scores: Vec<Vec<f64>> = lists.iter().map(|(list, _)| list.iter().map(|&(_, score)| score).collect()).collect();
        let weights: Vec<f64> = lists.iter().map(|&(_, weight)| weight).collect();
        for fusion in [rrf(&rankings, k, &weights, top_k), relative_score_fusion(&rankings, &scores, &weights, top_k)] {
            let Ok(fusion) = fusion else { continue };
            let fused: Vec<f64> = fusion.iter().map(|fused| fused.score).collect();
            prop_assert!(weights.iter().all(|weight| weight.is_finite() && *weight >= 0.0));
            prop_assert!(top_k.is_none_or(|top_k| fused.len() <= top_k));
            prop_assert!(fused.iter().all(|score| !score.is_nan()) && fused.is_sorted_by(|a, b| a >= b));
        }
    }

    #[test]
    fn any_ends_make_a_range_or_an_error(lower in end(), upper in end(), held in vec(value(), 0..9)) {
        let mut columns = Columns::default();
        for (slot, value) in (0..).zip(&held) {
            columns.insert(slot, &vec![("key".into(), value.clone())]);
        }
        for value in &held {
            let equal = columns.select(&Predicate::Equal("key".into(), value.clone()));
            prop_assert!((0..).zip(&held).all(|(slot, other)| equal.contains(slot) == (other == value)));
        }
        if let Ok(range) = Range::new(lower, upper) {
            let within = Predicate::Within("key".into(), range);
            let count = columns.select(&within).count(0, 99);
            let outside = columns.select(&Predicate::Not(Box::new(within))).count(0, 99);
            prop_assert_eq!(count + outside, 100);
        }
    }
}
