//! The index against a plain model: a map of chunks, every score in double precision, a sort.

mod quantized;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use proptest::collection::vec;
use proptest::prelude::*;

use super::unit::{Query, norm, normalize};
use super::{Hit, Rows, Search, VectorIndex, kernels};
use crate::error::{Error, Result};
use crate::filter::{Metadata, Value};
use crate::key::{ChunkKey, DocumentId};

fn key(document: i64, index: u32) -> ChunkKey {
    ChunkKey::new(DocumentId::Int(document), index)
}

fn rows(values: &[f32], dimensions: usize) -> Rows<'_> {
    Rows::new(values, dimensions).unwrap()
}

fn add(index: &VectorIndex, key: ChunkKey, vector: &[f32]) -> Result<Vec<u64>> {
    index.upsert(vec![key], rows(vector, vector.len()), None)
}

fn page(index: &VectorIndex, query: &[f32], search: &Search) -> Vec<(ChunkKey, f64)> {
    index.search(query, search).unwrap().into_iter().map(|hit| (hit.key, hit.score)).collect()
}

fn kind(value: bool) -> Metadata {
    vec![("kind".into(), Value::Bool(value))]
}

/// What the index should hold: unit vectors and kinds by key.
#[derive(Default)]
struct Model(BTreeMap<ChunkKey, (Vec<f32>, bool)>);

impl Model {
    fn put(&mut self, key: ChunkKey, vector: &[f32], even: bool) {
        let mut unit = vec![0.0; vector.len()];
        normalize(vector, norm(vector, String::new).unwrap(), &mut unit);
        self.0.insert(key, (unit, even));
    }

    fn remove(&mut self, document: i64) -> usize {
        let before = self.0.len();
        self.0.retain(|key, _| key.document_id != DocumentId::Int(document));
        before - self.0.len()
    }

    fn page(&self, query: &[f32], top_k: usize, min_score: f64, filter: Option<bool>) -> Vec<(ChunkKey, f64)> {
        let query = Query::new(query, String::new).unwrap().double;
        let mut all: Vec<(ChunkKey, f64)> = self
            .0
            .iter()
            .filter(|(_, (_, even))| filter.is_none_or(|wanted| wanted == *even))
            .map(|(key, (unit, _))| (key.clone(), kernels::exact(unit, &query).clamp(-1.0, 1.0)))
            .filter(|(_, score)| min_score == 0.0 || *score >= min_score)
            .collect();
        // The map's order is that of the keys and the sort is stable, so that ties stay in it.
        all.sort_by(|a, b| b.1.partial_cmp(&a.1).unwrap());
        all.truncate(top_k);
        all
    }
}

#[derive(Debug, Clone)]
enum Step {
    Put(Vec<(i64, u32, bool, Vec<f32>)>),
    Replace(i64, Vec<(u32, Vec<f32>)>),
    Remove(i64),
}

/// Few keys and small whole numbers, so that keys meet again and scores tie; now and then a zero vector.
fn steps(dimensions: usize) -> impl Strategy<Value = Vec<Step>> {
    let vector = vec((-2_i8..3).prop_map(f32::from), dimensions);
    let chunk = (0_i64..4, 0_u32..6, any::<bool>(), vector.clone());
    let step = prop_oneof![
        3 => vec(chunk, 0..8).prop_map(Step::Put),
        1 => (0_i64..4, vec((0_u32..6, vector), 0..4)).prop_map(|(document, chunks)| Step::Replace(document, chunks)),
        1 => (0_i64..4).prop_map(Step::Remove),
    ];
    vec(step, 0..12)
}

fn apply(step: &Step, index: &VectorIndex, model: &mut Model, dimensions: usize) {
    match step {
        Step::Put(chunks) => {
            let keys = chunks.iter().map(|chunk| key(chunk.0, chunk.1)).collect();
            let values: Vec<f32> = chunks.iter().flat_map(|chunk| chunk.3.clone()).collect();
            let metadata: Vec<Metadata> = chunks.iter().map(|chunk| kind(chunk.2)).collect();
            index.upsert(keys, rows(&values, dimensions), Some(&metadata)).unwrap();
            for (document, place, even, vector) in chunks {
                model.put(key(*document, *place), vector, *even);
            }
        }
        Step::Replace(document, chunks) => {
            let places: Vec<u32> = chunks.iter().map(|chunk| chunk.0).collect();
            let values: Vec<f32> = chunks.iter().flat_map(|chunk| chunk.1.clone()).collect();
            let metadata = vec![kind(true); chunks.len()];
            let id = DocumentId::Int(*document);
            index.replace_document(&id, &places, rows(&values, dimensions), Some(&metadata)).unwrap();
            model.remove(*document);
            for (place, vector) in chunks {
                model.put(key(*document, *place), vector, true);
            }
        }
        Step::Remove(document) => {
            assert_eq!(index.remove(&DocumentId::Int(*document)), model.remove(*document));
        }
    }
}

proptest! {
    #[test]
    fn pages_equal_those_of_the_model(
        (dimensions, steps, queries) in prop_oneof![Just(1_usize), Just(3), Just(40)]
            .prop_flat_map(|d| (Just(d), steps(d), vec((-2_i8..3).prop_map(f32::from), d * 3))),
        top_k in 0_usize..30,
        min_score in prop_oneof![Just(0.0), Just(0.5), Just(-0.5), Just(1.0)],
        filter in any::<Option<bool>>(),
    ) {
        let (index, mut model) = (VectorIndex::new(None).unwrap(), Model::default());
        for step in &steps {
            apply(step, &index, &mut model, dimensions);
        }
        prop_assert_eq!(index.len(), model.0.len());
        let search = Search { top_k, min_score, filter: filter.map(kind).unwrap_or_default() };
        let pages = index.search_many(rows(&queries, dimensions), &search).unwrap();
        for (query, hits) in queries.chunks(dimensions).zip(pages) {
            let wanted = model.page(query, top_k, min_score, filter);
            prop_assert_eq!(&page(&index, query, &search), &wanted);
            prop_assert_eq!(hits.into_iter().map(|hit| (hit.key, hit.score)).collect::<Vec<_>>(), wanted);
        }
    }

    #[test]
    fn near_ties_are_told_apart_in_double_precision(seed in any::<u64>(), top_k in 1_usize..40) {
        // Copies of one vector, each number moved by up to two units in the last place: their cosines differ by less than
        // the rounding errors of a sum in single precision.
        const DIMENSIONS: usize = 300;
        let numbers = noise(DIMENSIONS * 102, seed);
        let (base, rest) = numbers.split_at(DIMENSIONS);
        let (query, noise) = rest.split_at(DIMENSIONS);
        let values: Vec<f32> = noise.iter().zip(base.iter().cycle()).map(|(n, b)| b * (1.0 + n * 2.4e-7)).collect();
        let (index, mut model) = (VectorIndex::new(None).unwrap(), Model::default());
        let keys: Vec<ChunkKey> = (0..100).map(|place| key(1, place)).collect();
        keys.iter().zip(values.chunks(DIMENSIONS)).for_each(|(key, vector)| model.put(key.clone(), vector, false));
        index.upsert(keys, rows(&values, DIMENSIONS), None).unwrap();
        prop_assert_eq!(page(&index, query, &Search::best(top_k)), model.page(query, top_k, 0.0, None));
    }

    #[test]
    fn the_ends_of_the_scale_tie(seed in any::<u64>(), sign in prop_oneof![Just(1.0_f32), Just(-1.0)]) {
        // Multiples of one vector and its opposite: unclamped, their cosines with it miss 1 and -1 on either side.
        let base = noise(9, seed);
        let values: Vec<f32> = (1..40_u8).flat_map(|n| base.iter().map(move |x| x * sign * f32::from(n))).collect();
        let (index, mut model) = (VectorIndex::new(None).unwrap(), Model::default());
        let keys: Vec<ChunkKey> = (0..39).rev().map(|place| key(1, place)).collect();
        keys.iter().zip(values.chunks(9)).for_each(|(key, vector)| model.put(key.clone(), vector, false));
        index.upsert(keys, rows(&values, 9), None).unwrap();
        let found = page(&index, &base, &Search::best(3));
        prop_assert!(found.iter().all(|(_, score)| score.abs() <= 1.0));
        prop_assert_eq!(found, model.page(&base, 3, 0.0, None));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 256, ..ProptestConfig::with_cases(6) })]

    #[test]
    fn a_thousand_steps_later_pages_are_those_of_the_model(
        steps in vec(steps(3), 160), queries in vec((-2_i8..3).prop_map(f32::from), 9),
    ) {
        let (index, mut model) = (VectorIndex::new(None).unwrap(), Model::default());
        for (number, step) in steps.iter().flatten().enumerate() {
            apply(step, &index, &mut model, 3);
            if number % 50 == 0 {
                for (query, filter) in queries.chunks(3).zip([None, Some(true), Some(false)]) {
                    let search = Search { filter: filter.map(kind).unwrap_or_default(), ..Search::best(20) };
                    prop_assert_eq!(page(&index, query, &search), model.page(query, 20, 0.0, filter));
                }
            }
        }
        prop_assert_eq!(index.len(), model.0.len());
    }
}

/// Numbers from a linear congruential generator, in [-1, 1).
fn noise(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1_u32 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

#[test]
fn threads_segments_and_batches_change_nothing() {
    const DIMENSIONS: usize = 4;
    const CHUNKS: u32 = 66_000;
    let values = noise(CHUNKS as usize * DIMENSIONS, 1);
    let (index, mut model) = (VectorIndex::new(Some(DIMENSIONS)).unwrap(), Model::default());
    let keys: Vec<ChunkKey> = (0..CHUNKS).map(|n| key(i64::from(n % 9), n)).collect();
    let metadata: Vec<Metadata> = (0..CHUNKS).map(|n| kind(n % 16 == 0)).collect();
    for (n, vector) in values.chunks(DIMENSIONS).enumerate() {
        model.put(keys[n].clone(), vector, n % 16 == 0);
    }
    index.upsert(keys, rows(&values, DIMENSIONS), Some(&metadata)).unwrap();
    assert_eq!(index.remove(&DocumentId::Int(4)), model.remove(4));
    for (count, top_k, filter) in [(1, 7, None), (20, 7, Some(false)), (300, 2, Some(true))] {
        let queries = noise(count * DIMENSIONS, 7);
        let search = Search { top_k, min_score: 0.0, filter: filter.map(kind).unwrap_or_default() };
        let pages = index.search_many(rows(&queries, DIMENSIONS), &search).unwrap();
        assert_eq!(pages.len(), count);
        for (query, hits) in queries.chunks(DIMENSIONS).zip(pages).step_by(37) {
            let hits: Vec<_> = hits.into_iter().map(|hit| (hit.key, hit.score)).collect();
            assert_eq!(hits, model.page(query, top_k, 0.0, filter));
        }
    }
}

#[test]
fn a_bad_batch_stores_nothing() {
    let index = VectorIndex::new(None).unwrap();
    let keys = || vec![key(1, 0), key(1, 1)];
    let error = index.upsert(keys(), rows(&[1.0, 0.0, 0.0, f32::NAN], 2), None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "chunk 1 of document 1 holds NaN at position 1: every number of a vector must be finite"
    );
    assert!(matches!(index.upsert(keys(), rows(&[1.0, 0.0], 2), None), Err(Error::Input(_))));
    assert!(matches!(index.upsert(keys(), rows(&[1.0; 4], 2), Some(&[kind(true)])), Err(Error::Input(_))));
    assert_eq!((index.len(), index.dimensions()), (0, None));
    add(&index, key(1, 0), &[1.0, 0.0]).unwrap();
    let error = add(&index, key(1, 0), &[1.0, 0.0, 0.0]).unwrap_err();
    assert_eq!(error, Error::Dimension { subject: key(1, 0).to_string(), expected: 2, actual: 3 });
    let replaced = index.replace_document(&DocumentId::Int(1), &[5], rows(&[f32::INFINITY, 0.0], 2), None);
    assert!(matches!(replaced, Err(Error::Vector { .. })));
    assert_eq!(page(&index, &[1.0, 0.0], &Search::best(9)), [(key(1, 0), 1.0)]);
}

#[test]
fn a_bad_question_is_refused() {
    let index = VectorIndex::new(Some(2)).unwrap();
    assert!(matches!(index.search(&[1.0], &Search::best(1)), Err(Error::Dimension { expected: 2, actual: 1, .. })));
    let error = index.search(&[f32::NAN, 1.0], &Search::best(1)).unwrap_err();
    assert!(error.to_string().starts_with("the query holds NaN"));
    let error = index.search_many(rows(&[0.0, 1.0, 2.0, f32::INFINITY], 2), &Search::best(1)).unwrap_err();
    assert!(error.to_string().starts_with("query 1 holds inf"));
    let endless = Search { min_score: f64::NAN, ..Search::best(1) };
    assert!(matches!(index.search(&[1.0, 0.0], &endless), Err(Error::Parameter { field: "min_score", .. })));
    assert!(VectorIndex::new(Some(0)).is_err());
}

#[test]
fn handles_name_versions() {
    let index = VectorIndex::new(None).unwrap();
    assert_eq!(add(&index, key(1, 0), &[1.0]), Ok(vec![0]));
    assert_eq!(index.upsert(vec![key(1, 0), key(1, 0)], rows(&[1.0, -1.0], 1), None), Ok(vec![1, 2]));
    assert_eq!(index.search(&[1.0], &Search::best(9)), Ok(vec![Hit { key: key(1, 0), score: -1.0, handle: 2 }]));
    index.clear();
    assert_eq!((index.len(), index.dimensions()), (0, None));
    assert_eq!(add(&index, key(1, 0), &[1.0, 2.0]), Ok(vec![3]));
}

#[test]
fn vectors_come_back_at_unit_length() {
    let index = VectorIndex::new(None).unwrap();
    index.upsert(vec![key(1, 0), key(2, 0)], rows(&[3.0, 4.0, 0.0, 0.0], 2), None).unwrap();
    let (values, found) = index.vectors(&[key(2, 0), key(1, 1), key(1, 0)]);
    assert_eq!((values, found), (vec![0.0, 0.0, 0.6, 0.8], vec![true, false, true]));
}

#[test]
fn compaction_is_invisible() {
    let index = VectorIndex::new(None).unwrap();
    let (mut model, values) = (Model::default(), noise(3000 * 4, 3));
    for (n, vector) in (0_u32..).zip(values.chunks(4)) {
        let place = key(i64::from(n % 2), n % 400);
        model.put(place.clone(), vector, false);
        add(&index, place, vector).unwrap();
    }
    let query = noise(4, 9);
    assert_eq!(page(&index, &query, &Search::best(999)), model.page(&query, 999, 0.0, None));
    assert!(index.remove(&DocumentId::Int(0)) == 200 && index.len() == 200);
}

#[test]
fn readers_see_whole_documents() {
    let (index, done) = (VectorIndex::new(Some(2)).unwrap(), AtomicBool::new(false));
    let places: Vec<u32> = (0..50).collect();
    let version = |x: f32| [x, 1.0].repeat(50);
    index.replace_document(&DocumentId::Int(1), &places, rows(&version(0.0), 2), None).unwrap();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let hits = index.search(&[1.0, 0.0], &Search::best(99)).unwrap();
                    assert_eq!(hits.len(), 50);
                    assert!(hits.iter().all(|hit| hit.score.to_bits() == hits[0].score.to_bits()));
                }
            });
        }
        for n in 1..300_u16 {
            let values = version(f32::from(n));
            index.replace_document(&DocumentId::Int(1), &places, rows(&values, 2), None).unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
}
