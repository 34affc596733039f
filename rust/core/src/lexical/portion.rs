//! Chunks ready to be appended: what they hold by chunk, and the same by term, so that each list is reached for once.

use std::ops::Range;

use super::forward::Forward;

/// A few hundred chunks.
#[derive(Debug, Default)]
pub(super) struct Portion {
    /// By chunk, how many terms its text has.
    pub(super) lengths: Vec<u32>,
    pub(super) forward: Forward,
    /// The distinct terms, ascending.
    terms: Vec<u32>,
    /// By term, where its postings end.
    ends: Vec<usize>,
    /// (chunk, frequency) by term, ascending.
    postings: Vec<(u32, u32)>,
}

impl Portion {
    /// Chunks of so many terms each, given the (term, frequency) pairs of one after the other; the terms are places in
    /// `numbers`, of which none is vain or repeats.
    pub(super) fn new<'a>(chunks: impl Iterator<Item = (u32, &'a [(u32, u32)])> + Clone, numbers: &[u32]) -> Self {
        let mut order: Vec<(u32, u32)> = numbers.iter().copied().zip(0..).collect();
        order.sort_unstable();
        let mut holding = vec![0; numbers.len()];
        for &(term, _) in chunks.clone().flat_map(|(_, counts)| counts) {
            holding[term as usize] += 1;
        }
        // By place in `numbers`, where its next posting goes.
        let mut next = vec![0; numbers.len()];
        let mut total = 0;
        for &(_, term) in &order {
            next[term as usize] = total;
            total += holding[term as usize];
        }
        let mut postings = vec![(0, 0); total];
        let (mut lengths, mut sizes) = (Vec::new(), Vec::new());
        for (chunk, (length, counts)) in (0..).zip(chunks) {
            lengths.push(length);
            sizes.push(counts.len());
            for &(term, frequency) in counts {
                let place = &mut next[term as usize];
                postings[*place] = (chunk, frequency);
                *place += 1;
            }
        }
        let (terms, ends) = order.into_iter().map(|(number, term)| (number, next[term as usize])).unzip();
        let mut portion = Self { lengths, forward: Forward::default(), terms, ends, postings };
        portion.forward = portion.turned(&sizes);
        portion
    }

    /// How many chunks.
    pub(super) fn len(&self) -> usize {
        self.lengths.len()
    }

    /// How many postings.
    pub(super) fn postings(&self) -> usize {
        self.postings.len()
    }

    /// The postings of each term, by ascending term.
    pub(super) fn lists(&self) -> impl Iterator<Item = (u32, &[(u32, u32)])> {
        let mut start = 0;
        let ends = self.terms.iter().zip(&self.ends);
        ends.map(move |(&term, &end)| (term, &self.postings[std::mem::replace(&mut start, end)..end]))
    }

    /// The same of some of the chunks.
    pub(super) fn lists_of(&self, chunks: Range<usize>) -> impl Iterator<Item = (u32, &[(u32, u32)])> {
        let is_all = chunks == (0..self.len());
        self.lists().map(move |(term, list)| {
            let place = |end: usize| list.partition_point(|&(chunk, _)| (chunk as usize) < end);
            (term, if is_all { list } else { &list[place(chunks.start)..place(chunks.end)] })
        })
    }

    /// What each chunk holds, by ascending term without a sort, since the lists come so.
    fn turned(&self, sizes: &[usize]) -> Forward {
        let start = |end: &mut usize, size: &usize| {
            *end += size;
            Some(*end - size)
        };
        let mut next: Vec<usize> = sizes.iter().scan(0, start).collect();
        let mut counts = vec![(0, 0); self.postings.len()];
        for (term, list) in self.lists() {
            for &(chunk, frequency) in list {
                let place = &mut next[chunk as usize];
                counts[*place] = (term, frequency);
                *place += 1;
            }
        }
        let mut forward = Forward::default();
        let mut rest = counts.as_slice();
        for &size in sizes {
            let (held, later) = rest.split_at(size);
            forward.push(held);
            rest = later;
        }
        forward
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn both_views_hold_what_was_given(
            chunks in prop::collection::vec(prop::collection::btree_map(0_usize..9, 1_u32..300, 0..9), 0..9),
        ) {
            let numbers = [70, 2, 900, 4, 1_000_000, 0, 13, 5, 128];
            let counts: Vec<Vec<(u32, u32)>> = chunks
                .iter()
                .map(|held| held.iter().rev().map(|(&term, &frequency)| (term as u32, frequency)).collect())
                .collect();
            let given = (1..).zip(&counts).map(|(length, counts)| (length, counts.as_slice()));
            let portion = Portion::new(given, &numbers);
            prop_assert_eq!(&portion.lengths, &(1..=chunks.len() as u32).collect::<Vec<_>>());
            let mut by_term: BTreeMap<u32, Vec<(u32, u32)>> = BTreeMap::new();
            for (chunk, held) in chunks.iter().enumerate() {
                let held: BTreeMap<u32, u32> = held.iter().map(|(&term, &count)| (numbers[term], count)).collect();
                prop_assert_eq!(&portion.forward.get(chunk).collect::<BTreeMap<_, _>>(), &held);
                for (term, count) in held {
                    by_term.entry(term).or_default().push((chunk as u32, count));
                }
            }
            let lists: Vec<(u32, Vec<(u32, u32)>)> =
                portion.lists().filter(|(_, list)| !list.is_empty()).map(|(term, list)| (term, list.to_vec())).collect();
            prop_assert_eq!(lists, by_term.into_iter().collect::<Vec<_>>());
        }
    }
}
