//! The index against the formula, computed chunk by chunk from a plain map. Scores are compared bit for bit.
#![allow(clippy::float_cmp)]

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use super::{Hit, Rows, Search, SparseIndex};
use crate::error::{Error, Result};
use crate::filter::{Metadata, Predicate, Range, Value};
use crate::key::{ChunkKey, DocumentId};

type Vector = BTreeMap<u32, f32>;

/// What is indexed: a vector and, as the only metadata, a group.
type Chunks = BTreeMap<ChunkKey, (Vector, u32)>;

/// Vectors in the form in which an index takes them.
#[derive(Default)]
struct Packed {
    ends: Vec<usize>,
    terms: Vec<u32>,
    weights: Vec<f32>,
}

impl Packed {
    fn of<'a>(vectors: impl IntoIterator<Item = &'a Vector>) -> Self {
        let mut packed = Self::default();
        for vector in vectors {
            packed.terms.extend(vector.keys());
            packed.weights.extend(vector.values());
            packed.ends.push(packed.terms.len());
        }
        packed
    }

    fn rows(&self) -> Result<Rows<'_>> {
        Rows::new(&self.ends, &self.terms, &self.weights)
    }
}

fn group(number: u32) -> Metadata {
    vec![("group".into(), Value::Number(number.into()))]
}

fn key(document: &str, chunk_index: u32) -> ChunkKey {
    ChunkKey::new(document, chunk_index)
}

fn put(index: &SparseIndex, chunks: &[(ChunkKey, Vector, u32)]) -> Result<()> {
    let metadata: Vec<Metadata> = chunks.iter().map(|&(.., g)| group(g)).collect();
    let keys = chunks.iter().map(|(key, ..)| key.clone()).collect();
    index.upsert(
        keys,
        Packed::of(chunks.iter().map(|(_, vector, _)| vector)).rows()?,
        Some(&metadata.iter().collect::<Vec<_>>()),
    )
}

fn index_of(chunks: &Chunks) -> Result<SparseIndex> {
    let index = SparseIndex::new();
    let all: Vec<_> = chunks.iter().map(|(key, (vector, g))| (key.clone(), vector.clone(), *g)).collect();
    put(&index, &all)?;
    Ok(index)
}

fn found(index: &SparseIndex, query: &Vector, search: &Search) -> Result<Vec<Hit>> {
    Ok(index.search(Packed::of([query]).rows()?, search)?.remove(0))
}

/// Dot products from their definition, best first; chunks come in the order of their keys, which breaks ties.
fn defined(chunks: &Chunks, query: &Vector, search: &Search, eligible: impl Fn(u32) -> bool) -> Vec<Hit> {
    let mut hits: Vec<Hit> = Vec::new();
    for (key, (vector, group)) in chunks {
        let mut score = 0.0;
        for (term, weight) in query {
            score += f64::from(*weight) * vector.get(term).copied().map_or(0.0, f64::from);
        }
        if score > 0.0 && score >= search.min_score && eligible(*group) {
            hits.push(Hit { key: key.clone(), score });
        }
    }
    hits.sort_by(|a, b| b.score.total_cmp(&a.score));
    hits.truncate(search.top_k);
    hits
}

/// Weights that tie, that round, and that lie at the ends of `f32`.
fn weight() -> impl Strategy<Value = f32> {
    prop_oneof![
        6 => prop::sample::select(vec![0.5_f32, 1.0, 1.5, 2.0]),
        4 => 1e-3_f32..10.0,
        1 => prop::sample::select(vec![f32::from_bits(1), f32::MIN_POSITIVE, 1e-30, 1e30, f32::MAX]),
    ]
}

fn vector(most: usize) -> impl Strategy<Value = Vector> {
    let term = prop_oneof![8 => 0_u32..8, 2 => 8_u32..60, 1 => prop::sample::select(vec![1 << 20, u32::MAX])];
    btree_map(term, weight(), 0..most)
}

fn chunks() -> impl Strategy<Value = Chunks> {
    let key = ("[p-t]", 0_u32..4).prop_map(|(document, index)| key(&document, index));
    btree_map(key, (vector(9), 0_u32..3), 0..20)
}

fn searches() -> impl Strategy<Value = (Search, Option<(u32, u32)>)> {
    let min_score = prop_oneof![3 => Just(0.0), 1 => Just(-1.0), 2 => 0.0..8.0, 1 => Just(2.0)];
    (0_usize..25, min_score, prop::option::of((0_u32..4, 0_u32..4))).prop_map(|(top_k, min_score, groups)| {
        let filter = groups.map_or_else(Predicate::default, |(from, to)| between(from, to));
        (Search { top_k, min_score, filter }, groups)
    })
}

fn between(from: u32, to: u32) -> Predicate {
    let end = |number: u32| Bound::Included(Value::Number(number.into()));
    Predicate::Within("group".into(), Range::new(end(from), end(to)).unwrap())
}

#[derive(Debug, Clone)]
enum Step {
    Upsert(Vec<(ChunkKey, Vector, u32)>),
    Replace(String, Vec<(Vector, u32)>),
    Remove(String),
    Clear,
}

fn step() -> impl Strategy<Value = Step> {
    let chunk = ("[p-z]", 0_u32..3, vector(7), 0_u32..3).prop_map(|(d, i, vector, group)| (key(&d, i), vector, group));
    prop_oneof![
        200 => vec(chunk, 0..4).prop_map(Step::Upsert),
        150 => ("[p-z]", vec((vector(7), 0_u32..3), 0..4)).prop_map(|(document, chunks)| Step::Replace(document, chunks)),
        150 => "[o-z]".prop_map(Step::Remove),
        1 => Just(Step::Clear),
    ]
}

fn apply(index: &SparseIndex, chunks: &mut Chunks, step: Step) -> Result<()> {
    match step {
        Step::Upsert(batch) => {
            put(index, &batch)?;
            chunks.extend(batch.into_iter().map(|(key, vector, group)| (key, (vector, group))));
        }
        Step::Replace(document, batch) => {
            let indices: Vec<u32> = (0..batch.len() as u32).collect();
            let metadata: Vec<Metadata> = batch.iter().map(|&(_, g)| group(g)).collect();
            let packed = Packed::of(batch.iter().map(|(vector, _)| vector));
            index.replace_document(
                &document.as_str().into(),
                &indices,
                packed.rows()?,
                Some(&metadata.iter().collect::<Vec<_>>()),
            )?;
            chunks.retain(|key, _| key.document_id != document.as_str().into());
            chunks.extend((0..).zip(batch).map(|(number, chunk)| (key(&document, number), chunk)));
        }
        Step::Remove(document) => {
            let before = chunks.len();
            chunks.retain(|key, _| key.document_id != document.as_str().into());
            assert_eq!(index.remove(&document.as_str().into()), before - chunks.len());
        }
        Step::Clear => {
            index.clear();
            chunks.clear();
        }
    }
    assert_eq!(index.len(), chunks.len());
    Ok(())
}

proptest! {
    #[test]
    fn ids_order_and_scores_are_those_of_the_formula(
        chunks in chunks(), query in vector(9), (search, groups) in searches(),
    ) {
        let index = index_of(&chunks)?;
        let eligible = |group| groups.is_none_or(|(from, to)| (from..=to).contains(&group));
        prop_assert_eq!(found(&index, &query, &search)?, defined(&chunks, &query, &search, eligible));
    }

    #[test]
    fn many_queries_are_as_each_alone(chunks in chunks(), queries in vec(vector(9), 0..9)) {
        let index = index_of(&chunks)?;
        let alone = queries.iter().map(|query| found(&index, query, &Search::best(5))).collect::<Result<Vec<_>>>()?;
        prop_assert_eq!(index.search(Packed::of(&queries).rows()?, &Search::best(5))?, alone);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 256, ..ProptestConfig::with_cases(6) })]

    #[test]
    fn after_a_thousand_steps_the_index_is_as_new(steps in vec(step(), 1000), query in vector(9)) {
        let (index, mut chunks) = (SparseIndex::new(), Chunks::new());
        for (number, step) in steps.into_iter().enumerate() {
            apply(&index, &mut chunks, step)?;
            if number % 100 == 99 {
                let fresh = index_of(&chunks)?;
                for group in [None, Some(1)] {
                    let filter = group.map_or_else(Predicate::default, |group| between(group, group));
                    let search = Search { top_k: 40, min_score: 0.0, filter };
                    let page = found(&index, &query, &search)?;
                    prop_assert_eq!(&page, &found(&fresh, &query, &search)?);
                    let eligible = |of| group.is_none_or(|group| group == of);
                    prop_assert_eq!(page, defined(&chunks, &query, &search, eligible));
                }
            }
        }
    }
}

/// Chunk `number` of a collection larger than a segment, with terms of every frequency.
fn numbered(number: u32) -> (ChunkKey, (Vector, u32)) {
    let mut vector: Vector =
        [(0, 1.0 + (number % 5) as f32 / 3.0), (1 + number % 97, 0.7), (1000 + number % 9001, 1.3)].into();
    if number == 66_000 {
        vector.insert(u32::MAX, 0.1);
    }
    (ChunkKey::new(DocumentId::Int((number / 3).into()), number % 3), (vector, number % 1000))
}

#[test]
fn a_collection_of_several_segments_is_as_one() -> Result<()> {
    let mut chunks: Chunks = (0..140_000).map(numbered).collect();
    let index = index_of(&chunks)?;
    let check = |chunks: &Chunks| -> Result<()> {
        let queries: [(Vector, usize); 4] = [
            ([(0, 1.0), (6, 1.0), (1077, 0.3)].into(), 12),
            ([(u32::MAX, 1.0)].into(), 3),
            ([(4, 1.1), (124, 0.9), (9000, 2.0)].into(), 70_000),
            ([(0, 0.1)].into(), 5),
        ];
        for (query, top_k) in queries {
            // All chunks; half of them; so few that postings are held against them; so few that they are looked up.
            for (from, to) in [(0, 999), (0, 499), (20, 29), (7, 7)] {
                let search = Search { top_k, min_score: 0.0, filter: between(from, to) };
                let page = found(&index, &query, &search)?;
                assert_eq!(page, defined(chunks, &query, &search, |group| (from..=to).contains(&group)), "{query:?}");
            }
        }
        Ok(())
    };
    check(&chunks)?;
    for number in (0..46_000_i64).step_by(2) {
        assert_eq!(index.remove(&DocumentId::Int(number)), 3);
        (0..3).for_each(|chunk| drop(chunks.remove(&ChunkKey::new(DocumentId::Int(number), chunk))));
    }
    assert!(index.held() < 100_000, "{} slots", index.held());
    check(&chunks)
}

#[test]
fn a_segment_filled_one_by_one_is_sealed_and_goes_on() -> Result<()> {
    let index = SparseIndex::new();
    for number in 0..65_540 {
        let (key, (vector, group)) = numbered(number);
        put(&index, &[(key, vector, group)])?;
    }
    let chunks: Chunks = (0..65_540).map(numbered).collect();
    let query: Vector = [(0, 1.0), (50, 2.0), (1003, 1.0)].into();
    let search = Search::best(100);
    assert_eq!(found(&index, &query, &search)?, defined(&chunks, &query, &search, |_| true));
    Ok(())
}

#[test]
fn churn_leaves_nothing_behind() -> Result<()> {
    let index = SparseIndex::new();
    for number in 0..5_000_u32 {
        let vector: Vector = [(number, 1.0), (u32::MAX, 1.0)].into();
        let document = DocumentId::Int((number % 50).into());
        index.replace_document(&document, &[0], Packed::of([&vector]).rows()?, Some(&[&group(number)]))?;
    }
    assert!(index.held() <= 67, "{} slots for 50 chunks", index.held());
    for number in 0..50 {
        index.remove(&DocumentId::Int(number));
    }
    assert_eq!((index.held(), index.len()), (0, 0));
    Ok(())
}

#[test]
fn arguments_that_do_not_fit_store_nothing() -> Result<()> {
    let index = SparseIndex::new();
    let one: Vector = [(1, 1.0)].into();
    let packed = Packed::of([&one]);
    let rows = packed.rows()?;
    assert!(matches!(index.upsert(vec![], rows, None), Err(Error::Input(_))));
    assert!(matches!(index.upsert(vec![key("d", 0)], rows, Some(&[&group(1), &group(2)])), Err(Error::Input(_))));
    assert!(matches!(index.replace_document(&"d".into(), &[0, 1], rows, None), Err(Error::Input(_))));
    assert!(index.is_empty());
    for min_score in [f64::NAN, f64::INFINITY] {
        let search = Search { min_score, ..Search::best(1) };
        assert!(matches!(index.search(rows, &search), Err(Error::Parameter { field: "min_score", .. })));
    }
    Ok(())
}

#[test]
fn readers_see_a_document_whole_or_not_at_all() -> Result<()> {
    const CHUNKS: u32 = 9;
    let index = SparseIndex::new();
    let stop = AtomicBool::new(false);
    let indices: Vec<u32> = (0..CHUNKS).collect();
    let query: Vector = [(7, 1.0)].into();
    std::thread::scope(|scope| -> Result<()> {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut seen = [0_u64; 2];
                    loop {
                        let last = stop.load(Ordering::Acquire);
                        let hits = found(&index, &query, &Search::best(99)).unwrap();
                        let whole = hits.len() == CHUNKS as usize && hits.windows(2).all(|p| p[0].score == p[1].score);
                        assert!(whole || hits.is_empty(), "{hits:?}");
                        seen[usize::from(whole)] += 1;
                        if last {
                            return seen;
                        }
                    }
                })
            })
            .collect();
        for round in 0..2_000_u32 {
            let vector: Vector = [(7, 1.0 + round as f32)].into();
            let packed = Packed::of(std::iter::repeat_n(&vector, CHUNKS as usize));
            index.replace_document(&"d".into(), &indices, packed.rows()?, None)?;
            put(&index, &[(key("other", round % 7), [(8, 1.0)].into(), 0)])?;
            // The last round leaves the document in place, for a reader that comes late to see.
            if round % 2 == 0 {
                index.remove(&"d".into());
            }
        }
        stop.store(true, Ordering::Release);
        let seen: Vec<[u64; 2]> = readers.into_iter().filter_map(|reader| reader.join().ok()).collect();
        assert!(seen.len() == 2 && seen.iter().all(|[_, whole]| *whole > 0), "{seen:?}");
        Ok(())
    })
}

#[test]
fn a_write_of_many_pieces_is_seen_as_a_whole() -> Result<()> {
    const CHUNKS: u32 = 300;
    let index = SparseIndex::new();
    let stop = AtomicBool::new(false);
    let indices: Vec<u32> = (0..CHUNKS).collect();
    // Sixty thousand postings a write: a search may come between any two pieces.
    let vector: Vector = (0..200).map(|term| (term, 1.0)).collect();
    let packed = Packed::of(std::iter::repeat_n(&vector, CHUNKS as usize));
    let rows = packed.rows()?;
    std::thread::scope(|scope| -> Result<()> {
        let reader = scope.spawn(|| {
            let query: Vector = [(7, 1.0)].into();
            while !stop.load(Ordering::Acquire) {
                let hits = found(&index, &query, &Search::best(999)).unwrap();
                assert!(hits.is_empty() || hits.len() == CHUNKS as usize, "{}", hits.len());
                assert!([0, CHUNKS as usize].contains(&index.len()));
            }
        });
        for round in 0..60_u32 {
            index.replace_document(&"d".into(), &indices, rows, None)?;
            let keys = indices.iter().map(|&index| key("d", index)).collect();
            index.upsert(keys, rows, None)?;
            if round % 3 == 0 {
                index.remove(&"d".into());
            }
        }
        stop.store(true, Ordering::Release);
        assert!(reader.join().is_ok());
        Ok(())
    })
}
