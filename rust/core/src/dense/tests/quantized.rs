//! Quantised indexes against the model: the candidates by their definition, in plain loops, then their exact cosines.

use half::f16;

use super::super::Quantization;
use super::super::rotation::Rotation;
use super::*;

/// What a code promises, by the formulas alone.
fn estimate(quantization: Quantization, rotation: &Rotation, unit: &[f32], query: &[f32]) -> f32 {
    let largest = |vector: &[f32]| vector.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
    if let Quantization::Int8 { .. } = quantization {
        let (row_step, query_step) = (largest(unit) / 127.0, largest(query) / 127.0);
        let code = |x: f32, step: f32| if step > 0.0 { (x / step).round() as i32 } else { 0 };
        let product: i32 = unit.iter().zip(query).map(|(&a, &b)| code(a, row_step) * code(b, query_step)).sum();
        return product as f32 * row_step;
    }
    let (row, query) = (rotation.rotated(unit), rotation.rotated(query));
    let most = largest(&query);
    // From -15 to 15 in steps of 2.
    let level = |x: f32| if most > 0.0 { 2 * ((x / most + 1.0) * 7.5).round() as i32 - 15 } else { -15 };
    let product: i32 = row.iter().zip(&query).map(|(&a, &b)| if a > 0.0 { level(b) } else { -level(b) }).sum();
    let sum: f32 = row.iter().map(|x| x.abs()).sum();
    product as f32 * if sum > 0.0 { 1.0 / sum } else { 0.0 }
}

fn wanted(model: &Model, query: &[f32], search: &Search, quantization: Quantization) -> Vec<(ChunkKey, f64)> {
    let filter = (!search.filter.is_empty()).then(|| search.filter == kind(true));
    let (Quantization::Int8 { oversampling } | Quantization::Binary { oversampling }) = quantization else {
        return model.page(query, search.top_k, search.min_score, filter);
    };
    let mut candidates = Model(model.0.clone());
    candidates.0.retain(|_, (_, even)| filter.is_none_or(|wanted| wanted == *even));
    let limit = search.top_k * oversampling;
    if candidates.0.len() > limit {
        let single = Query::new(query, String::new).unwrap().single;
        let rotation = Rotation::new(query.len());
        let mut order: Vec<(ChunkKey, f32)> = candidates
            .0
            .iter()
            .map(|(key, (unit, _))| (key.clone(), estimate(quantization, &rotation, unit, &single)))
            .collect();
        order.sort_by(|a, b| b.1.partial_cmp(&a.1).unwrap());
        order.drain(limit..).for_each(drop);
        candidates.0.retain(|key, _| order.iter().any(|(kept, _)| kept == key));
    }
    candidates.page(query, search.top_k, search.min_score, None)
}

fn quantizations() -> impl Strategy<Value = Quantization> {
    prop_oneof![
        1 => Just(Quantization::Half),
        3 => (1_usize..4).prop_map(|oversampling| Quantization::Int8 { oversampling }),
        3 => (1_usize..4).prop_map(|oversampling| Quantization::Binary { oversampling }),
    ]
}

/// The model's vectors as an index of this kind keeps them.
fn rounded(model: &Model, quantization: Quantization) -> Model {
    let mut rounded = Model(model.0.clone());
    if quantization == Quantization::Half {
        rounded.0.values_mut().flat_map(|(unit, _)| unit).for_each(|x| *x = f16::from_f32(*x).to_f32());
    }
    rounded
}

proptest! {
    #[test]
    fn pages_are_the_candidates_scored_exactly(
        (dimensions, steps, queries) in prop_oneof![Just(1_usize), Just(5), Just(70), Just(300)]
            .prop_flat_map(|d| (Just(d), steps(d), vec((-2_i8..3).prop_map(f32::from), d * 5))),
        quantization in quantizations(),
        top_k in 0_usize..5,
        min_score in prop_oneof![Just(0.0), Just(0.2), Just(-0.5)],
        filter in any::<Option<bool>>(),
    ) {
        let (index, mut model) = (VectorIndex::quantized(None, quantization).unwrap(), Model::default());
        for step in &steps {
            apply(step, &index, &mut model, dimensions);
        }
        let model = rounded(&model, quantization);
        let search = Search { top_k, min_score, filter: filter.map(kind).unwrap_or_default() };
        let pages = index.search_many(rows(&queries, dimensions), &search).unwrap();
        for (query, hits) in queries.chunks(dimensions).zip(pages) {
            let wanted = wanted(&model, query, &search, quantization);
            prop_assert_eq!(&page(&index, query, &search), &wanted);
            prop_assert_eq!(hits.into_iter().map(|hit| (hit.key, hit.score)).collect::<Vec<_>>(), wanted);
        }
        let keys: Vec<ChunkKey> = model.0.keys().cloned().collect();
        let stored: Vec<f32> = model.0.values().flat_map(|(unit, _)| unit.clone()).collect();
        prop_assert_eq!(index.vectors(&keys).0, stored);
    }
}

#[test]
fn threads_segments_and_compactions_change_no_candidate() {
    const DIMENSIONS: usize = 10;
    const CHUNKS: u32 = 66_000;
    let values = noise(CHUNKS as usize * DIMENSIONS, 1);
    for quantization in
        [Quantization::Half, Quantization::Int8 { oversampling: 2 }, Quantization::Binary { oversampling: 9 }]
    {
        let (index, mut model) = (VectorIndex::quantized(None, quantization).unwrap(), Model::default());
        let keys: Vec<ChunkKey> = (0..CHUNKS).map(|n| key(i64::from(n % 3), n)).collect();
        let metadata: Vec<Metadata> = (0..CHUNKS).map(|n| kind(n.is_multiple_of(16))).collect();
        for (n, vector) in values.chunks(DIMENSIONS).enumerate() {
            model.put(keys[n].clone(), vector, n.is_multiple_of(16));
        }
        index.upsert(keys, rows(&values, DIMENSIONS), Some(&metadata)).unwrap();
        let mut model = rounded(&model, quantization);
        for filter in [None, Some(false), Some(true)] {
            let search = Search { top_k: 4, min_score: 0.0, filter: filter.map(kind).unwrap_or_default() };
            let query = noise(DIMENSIONS, 7);
            assert_eq!(page(&index, &query, &search), wanted(&model, &query, &search, quantization));
        }
        assert_eq!(index.remove(&DocumentId::Int(2)), model.remove(2));
        let queries = noise(5 * DIMENSIONS, 8);
        let pages = index.search_many(rows(&queries, DIMENSIONS), &Search::best(3)).unwrap();
        let last: Vec<_> = pages[4].iter().map(|hit| (hit.key.clone(), hit.score)).collect();
        assert_eq!(last, wanted(&model, &queries[4 * DIMENSIONS..], &Search::best(3), quantization));
    }
}
