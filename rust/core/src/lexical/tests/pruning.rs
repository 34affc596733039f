//! What a search leaves out is never missed: every page is the beginning of the page of all hits, which leaves out nothing.

use super::*;

/// More chunks than a window, of few lengths and words, so that ties abound; some words are rare and some heap up in places.
fn heaped(number: u32, shift: u32) -> (ChunkKey, (String, u32)) {
    let mixed = (number + shift).wrapping_mul(2_654_435_761) >> 7;
    let mut text = "the ".repeat(mixed as usize % 4);
    for (divisor, word) in [(2, "of"), (3, "in"), (7, "red"), (61, "kite"), (997, "rare")] {
        if mixed.is_multiple_of(divisor) {
            text.push_str(word);
            text.push(' ');
        }
    }
    if (number / 512).is_multiple_of(5) {
        text.push_str(&"heap ".repeat(mixed as usize % 7));
    }
    (key(&format!("d{}", number / 2), number % 2), (text, mixed % 3 + u32::from(mixed.is_multiple_of(200)) * 10))
}

const QUERIES: [&str; 8] = [
    "the of in",
    "kite",
    "the red kite",
    "heap of the rare in the heap",
    "rare",
    "the",
    "what is the red kite of the heap in",
    "of of of in kite rare rare unknown",
];

fn check(index: &Bm25Index, queries: &[&str]) {
    for query in queries {
        for eligible in [None, Some(1), Some(11), Some(99)] {
            let all = index.search(query, usize::MAX, &filter(eligible));
            for top_k in [0, 1, 3, 10, 100, 5_000, all.len(), all.len() + 1] {
                let page = index.search(query, top_k, &filter(eligible));
                assert_eq!(page, all[..top_k.min(all.len())], "{query}, {top_k} of {eligible:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 64, ..ProptestConfig::with_cases(6) })]

    #[test]
    fn no_hit_is_missed_after_any_history(
        shift in any::<u16>(),
        steps in vec((0_u32..3, 0_u32..7_000, 1_u32..3_000), 1..8),
        long in vec(prop::sample::select(vec!["the", "of", "in", "red", "kite", "rare", "heap"]), 20..60),
    ) {
        let mut chunks: Chunks = (0..9_000).map(|number| heaped(number, shift.into())).collect();
        let index = index_of(&chunks)?;
        for (kind, first, count) in steps {
            let range = first..first + count;
            if kind == 0 {
                for document in range.map(|number| format!("d{}", number / 2)) {
                    index.remove(&document.as_str().into());
                    (0..2).for_each(|chunk| drop(chunks.remove(&key(&document, chunk))));
                }
            } else {
                // Longer texts than before, so that the average grows beyond what the bounds were noted at.
                let words = "long ".repeat(kind as usize * 9);
                let changed = range.map(|number| heaped(number, kind)).map(|(k, (t, g))| (k, (t + &words, g)));
                let changed: Vec<_> = changed.collect();
                apply(&index, &mut chunks, Step::Upsert(changed.into_iter().map(|(k, (t, g))| (k, t, g)).collect()))?;
            }
        }
        check(&index, &QUERIES);
        check(&index, &[&long.join(" ")]);
        let fresh = index_of(&chunks)?;
        for query in QUERIES {
            prop_assert_eq!(index.search(query, 50, &Metadata::new()), fresh.search(query, 50, &Metadata::new()));
        }
    }
}

#[test]
fn no_hit_is_missed_across_segments() -> Result<()> {
    let chunks: Chunks = (0..70_000).map(|number| heaped(number, 0)).collect();
    let index = index_of(&chunks)?;
    check(&index, &QUERIES[1..5]);
    // The full segment's bounds were noted at another average: once more after it has grown.
    let longer: Vec<_> =
        (70_000..74_000).map(|n| heaped(n, 0)).map(|(k, (t, g))| (k, t + &"long ".repeat(60), g)).collect();
    apply(&index, &mut chunks.clone(), Step::Upsert(longer))?;
    check(&index, &QUERIES[1..5]);
    Ok(())
}

#[test]
fn writes_during_a_compaction_are_kept() -> Result<()> {
    let mut chunks: Chunks = (0..40_000).map(|number| heaped(number, 0)).collect();
    let index = index_of(&chunks)?;
    let (slots, _) = index.held();
    for number in 0..20_000 {
        if number % 3 == 2 {
            continue;
        }
        let document = format!("d{number}");
        (0..2).for_each(|chunk| drop(chunks.remove(&key(&document, chunk))));
        if number % 3 == 0 {
            index.remove(&document.as_str().into());
        } else {
            index.replace_document(&document.as_str().into(), &[0], &["the new kite"], Some(&[&group(1)]))?;
            chunks.insert(key(&document, 0), ("the new kite".into(), 1));
        }
    }
    let deadline = std::time::Instant::now() + std::time::Duration::from_mins(1);
    while index.held().0 >= slots && std::time::Instant::now() < deadline {
        std::thread::yield_now();
    }
    assert!(index.held().0 < slots, "nothing was compacted");
    let fresh = index_of(&chunks)?;
    for query in QUERIES.into_iter().chain(["the new kite"]) {
        for eligible in [None, Some(1)] {
            assert_eq!(index.search(query, 500, &filter(eligible)), fresh.search(query, 500, &filter(eligible)));
        }
    }
    assert_eq!(index.remove(&"d1".into()), 1);
    Ok(())
}
