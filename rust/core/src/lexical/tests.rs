//! The index against the formula, computed chunk by chunk from a plain map. Scores are compared bit for bit.
#![allow(clippy::float_cmp)]

mod pruning;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::collection::vec;
use proptest::prelude::*;

use super::{Bm25Index, Hit};
use crate::error::{Error, Result};
use crate::filter::{Metadata, Value};
use crate::key::{ChunkKey, DocumentId};
use crate::text::terms;

const K1: f64 = 1.5;
const B: f64 = 0.75;

/// What is indexed: text and, as the only metadata, a group.
type Chunks = BTreeMap<ChunkKey, (String, u32)>;

fn group(number: u32) -> Metadata {
    vec![("group".into(), Value::Number(number.into()))]
}

fn key(document: &str, chunk_index: u32) -> ChunkKey {
    ChunkKey::new(document, chunk_index)
}

fn index_of(chunks: &Chunks) -> Result<Bm25Index> {
    let index = Bm25Index::new(K1, B)?;
    let texts: Vec<&str> = chunks.values().map(|(text, _)| text.as_str()).collect();
    let metadata: Vec<Metadata> = chunks.values().map(|&(_, g)| group(g)).collect();
    index.upsert(chunks.keys().cloned().collect(), &texts, Some(&metadata.iter().collect::<Vec<_>>()))?;
    Ok(index)
}

/// BM25 from its definition. Takes the chunks in the order of their keys, so that a stable sort breaks ties by key.
fn defined(chunks: &Chunks, query: &str, top_k: usize, eligible: Option<u32>) -> Vec<Hit> {
    let held: Vec<Vec<String>> = chunks.values().map(|(text, _)| terms(text)).collect();
    let average = held.iter().map(Vec::len).sum::<usize>() as f64 / held.len() as f64;
    let all = terms(query);
    let mut distinct: Vec<&String> = Vec::new();
    for term in &all {
        if !distinct.contains(&term) {
            distinct.push(term);
        }
    }
    let count = |terms: &[String], term: &String| terms.iter().filter(|&other| other == term).count() as f64;
    let factors: Vec<(&String, f64)> = distinct
        .into_iter()
        .map(|term| {
            let holding = held.iter().filter(|terms| terms.contains(term)).count() as f64;
            (term, count(&all, term) * (1.0 + (held.len() as f64 - holding + 0.5) / (holding + 0.5)).ln())
        })
        .collect();
    let mut hits: Vec<Hit> = Vec::new();
    for ((key, (_, group)), terms) in chunks.iter().zip(&held) {
        let norm = K1 * (1.0 - B + B * terms.len() as f64 / average);
        let mut score = 0.0;
        for (term, factor) in &factors {
            let frequency = count(terms, term);
            if frequency > 0.0 {
                score += factor * (frequency / (frequency + norm));
            }
        }
        if score > 0.0 && eligible.is_none_or(|eligible| eligible == *group) {
            hits.push(Hit { key: key.clone(), score });
        }
    }
    hits.sort_by(|a, b| b.score.total_cmp(&a.score));
    hits.truncate(top_k);
    hits
}

fn filter(eligible: Option<u32>) -> Metadata {
    eligible.map(group).unwrap_or_default()
}

/// Words of unequal frequency, so that ties, common and rare terms all happen.
fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-c]",
        2 => "[d-h]",
        1 => "[a-h][a-h]",
        1 => Just("人工智".to_owned()),
    ]
}

fn text(most: usize) -> impl Strategy<Value = String> {
    vec(word(), 0..most).prop_map(|words| words.join(" "))
}

fn chunks() -> impl Strategy<Value = Chunks> {
    let key = ("[p-t]", 0_u32..4).prop_map(|(document, index)| key(&document, index));
    prop::collection::btree_map(key, (text(9), 0_u32..3), 0..20)
}

#[derive(Debug, Clone)]
enum Step {
    Upsert(Vec<(ChunkKey, String, u32)>),
    Replace(String, Vec<(String, u32)>),
    Remove(String),
    Clear,
}

fn step() -> impl Strategy<Value = Step> {
    let chunk = ("[p-z]", 0_u32..3, text(7), 0_u32..3).prop_map(|(d, i, text, group)| (key(&d, i), text, group));
    prop_oneof![
        200 => vec(chunk, 0..4).prop_map(Step::Upsert),
        150 => ("[p-z]", vec((text(7), 0_u32..3), 0..4)).prop_map(|(document, chunks)| Step::Replace(document, chunks)),
        150 => "[o-z]".prop_map(Step::Remove),
        1 => Just(Step::Clear),
    ]
}

fn apply(index: &Bm25Index, chunks: &mut Chunks, step: Step) -> Result<()> {
    match step {
        Step::Upsert(batch) => {
            let texts: Vec<&str> = batch.iter().map(|(_, text, _)| text.as_str()).collect();
            let keys = batch.iter().map(|(key, ..)| key.clone()).collect();
            let metadata: Vec<Metadata> = batch.iter().map(|&(.., g)| group(g)).collect();
            index.upsert(keys, &texts, Some(&metadata.iter().collect::<Vec<_>>()))?;
            chunks.extend(batch.into_iter().map(|(key, text, group)| (key, (text, group))));
        }
        Step::Replace(document, batch) => {
            let texts: Vec<&str> = batch.iter().map(|(text, _)| text.as_str()).collect();
            let indices: Vec<u32> = (0..texts.len() as u32).collect();
            let metadata: Vec<Metadata> = batch.iter().map(|&(_, g)| group(g)).collect();
            index.replace_document(
                &document.as_str().into(),
                &indices,
                &texts,
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
        chunks in chunks(), query in text(6), top_k in 0_usize..25, eligible in prop::option::of(0_u32..4),
    ) {
        let index = index_of(&chunks)?;
        prop_assert_eq!(index.search(&query, top_k, &filter(eligible)), defined(&chunks, &query, top_k, eligible));
    }

    #[test]
    fn contributions_add_up_to_the_score(chunks in chunks(), query in text(6)) {
        let index = index_of(&chunks)?;
        let hits = index.search(&query, usize::MAX, &Metadata::new());
        for key in chunks.keys() {
            let sum = index.explain(&query, key).iter().fold(0.0, |sum, term| sum + term.contribution);
            let score = hits.iter().find(|hit| hit.key == *key).map_or(0.0, |hit| hit.score);
            prop_assert_eq!(sum, score);
        }
        prop_assert!(index.explain(&query, &key("absent", 0)).is_empty());
    }

    #[test]
    fn many_queries_are_as_each_alone(chunks in chunks(), queries in vec(text(6), 0..9)) {
        let index = index_of(&chunks)?;
        let queries: Vec<&str> = queries.iter().map(String::as_str).collect();
        let alone: Vec<_> = queries.iter().map(|query| index.search(query, 5, &Metadata::new())).collect();
        prop_assert_eq!(index.search_many(&queries, 5, &Metadata::new()), alone);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 256, ..ProptestConfig::with_cases(6) })]

    #[test]
    fn after_a_thousand_steps_the_index_is_as_new(steps in vec(step(), 1000), query in text(6)) {
        let (index, mut chunks) = (Bm25Index::new(K1, B)?, Chunks::new());
        for (number, step) in steps.into_iter().enumerate() {
            apply(&index, &mut chunks, step)?;
            if number % 100 == 99 {
                let fresh = index_of(&chunks)?;
                for eligible in [None, Some(1)] {
                    let found = index.search(&query, 40, &filter(eligible));
                    prop_assert_eq!(&found, &fresh.search(&query, 40, &filter(eligible)));
                    prop_assert_eq!(found, defined(&chunks, &query, 40, eligible));
                }
            }
        }
    }
}

/// Chunk `number` of a collection larger than a segment, with terms of every frequency.
fn numbered(number: u32) -> (ChunkKey, (String, u32)) {
    let document = DocumentId::Int((number / 3).into());
    let often = "all ".repeat((number % 5) as usize + 1);
    let text = format!("{often} n{} m{} {}", number % 97, number % 9001, if number == 66_000 { "once" } else { "" });
    (ChunkKey::new(document, number % 3), (text, number % 2))
}

#[test]
fn a_collection_of_several_segments_is_as_one() -> Result<()> {
    let mut chunks: Chunks = (0..70_000).map(numbered).collect();
    let index = index_of(&chunks)?;
    let check = |chunks: &Chunks| {
        for (query, top_k) in [("all n5 m77", 12), ("once", 3), ("m8000 m123 n3", 70_000), ("all", 5)] {
            for eligible in [None, Some(1)] {
                let found = index.search(query, top_k, &filter(eligible));
                assert_eq!(found, defined(chunks, query, top_k, eligible), "{query}");
            }
        }
    };
    check(&chunks);
    for number in (0..23_000_i64).step_by(2) {
        assert_eq!(index.remove(&DocumentId::Int(number)), 3);
        (0..3).for_each(|chunk| drop(chunks.remove(&ChunkKey::new(DocumentId::Int(number), chunk))));
    }
    check(&chunks);
    Ok(())
}

#[test]
fn churn_leaves_nothing_behind() -> Result<()> {
    let index = Bm25Index::new(K1, B)?;
    for number in 0..5_000 {
        let text = format!("fresh{number} kept");
        let document = DocumentId::Int(number % 50);
        index.replace_document(&document, &[0], &[&text], Some(&[&group(number as u32)]))?;
    }
    let (slots, terms) = index.held();
    assert!(slots <= 67 && terms <= 68, "{slots} slots and {terms} terms for 50 chunks of 51 terms");
    for number in 0..50 {
        index.remove(&DocumentId::Int(number));
    }
    assert_eq!((index.held(), index.len()), ((0, 0), 0));
    Ok(())
}

#[test]
fn one_huge_chunk_does_not_outlive_its_removal_among_small_ones() -> Result<()> {
    let index = Bm25Index::new(K1, B)?;
    let huge = (0..10_000).map(|number| format!("w{number}")).collect::<Vec<_>>().join(" ");
    let keys = (0..100).map(|number| key("small", number)).chain([key("huge", 0)]).collect();
    let texts: Vec<&str> = std::iter::repeat_n("small", 100).chain([huge.as_str()]).collect();
    index.upsert(keys, &texts, None)?;
    index.remove(&"huge".into());
    assert_eq!(index.held(), (100, 1));
    Ok(())
}

#[test]
fn frequencies_beyond_a_byte_are_exact() -> Result<()> {
    let mut chunks = Chunks::new();
    for (number, frequency) in (0..).zip([1, 254, 255, 256, 70_000]) {
        chunks.insert(key("d", number), ("tea ".repeat(frequency) + "cup", 0));
    }
    let index = index_of(&chunks)?;
    assert_eq!(index.search("tea cup", 9, &Metadata::new()), defined(&chunks, "tea cup", 9, None));
    assert_eq!(index.explain("tea", &key("d", 4))[0].term_frequency, 70_000);
    Ok(())
}

#[test]
fn odd_parameters_and_arguments() -> Result<()> {
    for (k1, b) in [(-0.1, 0.5), (f64::NAN, 0.5), (f64::INFINITY, 0.5), (1.5, -0.1), (1.5, 1.1), (1.5, f64::NAN)] {
        assert!(matches!(Bm25Index::new(k1, b), Err(Error::Parameter { .. })));
    }
    let presence = Bm25Index::new(0.0, 0.0)?;
    presence.upsert(vec![key("d", 0), key("d", 1)], &["a a a", "b"], None)?;
    assert_eq!(presence.search("a", 2, &Metadata::new())[0].score, 2.0_f64.ln());
    assert_eq!(presence.explain("a", &key("d", 1))[0].contribution, 0.0);
    assert!(matches!(presence.upsert(vec![key("e", 0)], &[], None), Err(Error::Input(_))));
    assert!(matches!(presence.upsert(vec![key("e", 0)], &["a"], Some(&[&group(1), &group(2)])), Err(Error::Input(_))));
    assert_eq!(presence.len(), 2);
    Ok(())
}

#[test]
fn of_two_chunks_of_one_key_the_later_stays() -> Result<()> {
    let index = Bm25Index::new(K1, B)?;
    index.upsert(vec![key("d", 0), key("d", 0)], &["first", "second"], Some(&[&group(1), &group(2)]))?;
    assert_eq!(index.len(), 1);
    assert!(index.search("first", 9, &Metadata::new()).is_empty());
    assert!(index.search("second", 9, &group(1)).is_empty());
    assert_eq!(index.search("second", 9, &group(2)).len(), 1);
    Ok(())
}

#[test]
fn readers_see_a_document_whole_or_not_at_all() -> Result<()> {
    const CHUNKS: u32 = 9;
    let index = Bm25Index::new(K1, B)?;
    let stop = AtomicBool::new(false);
    let indices: Vec<u32> = (0..CHUNKS).collect();
    std::thread::scope(|scope| -> Result<()> {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut seen = [0_u64; 2];
                    loop {
                        let last = stop.load(Ordering::Acquire);
                        let hits = index.search("shared", 99, &Metadata::new());
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
        for round in 0..2_000 {
            let version = format!("shared version{round}");
            let texts = vec![version.as_str(); CHUNKS as usize];
            index.replace_document(&"d".into(), &indices, &texts, None)?;
            index.upsert(vec![key("other", round % 7)], &["noise noise"], None)?;
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
