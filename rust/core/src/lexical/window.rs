//! One window's scores: the lists that can lift a chunk to the threshold are added up, the others are only probed.
//!
//! As in `MaxScore` (Turtle and Flood, *Query evaluation: strategies and optimizations*, 1995) with the window's own bounds
//! (Ding and Suel, *Faster top-k document retrieval using block-max indexes*, 2011): lists whose bounds together stay below
//! the threshold cannot make a hit alone, so that only chunks of the other lists, the essential ones, are candidates. Sums of
//! a partial or another order than the query's may differ from the score in the last bits; the threshold is lowered by more
//! than that, and what passes is scored again in the query's order. Nothing is left out that could tie.

use std::cell::RefCell;

use super::bounds::{Dense, WINDOW, ones};
use super::scoring::Saturations;
use super::search::Cursor;
use super::segment::Segment;
use crate::key::ChunkKey;
use crate::rank::{Scored, TopK};

/// With fewer essential postings the sums are read back posting by posting rather than slot by slot.
const FEW: usize = WINDOW / 6;

/// So many postings are added up in the time in which one list is probed for one chunk.
const PROBE: usize = 6;

type Sums = [f64; WINDOW];

thread_local! {
    /// All zero between uses.
    static SUMS: RefCell<Box<Sums>> = RefCell::new(Box::new([0.0; WINDOW]));
}

/// Scores window after window and keeps the best.
pub(super) struct Scorer<'a> {
    saturations: &'a Saturations,
    top: TopK<&'a ChunkKey>,
    /// By what the threshold is lowered against sums that were rounded in another way.
    margin: f64,
    parts: Vec<Part<'a>>,
    /// The parts by ascending merit, the inessential ones first.
    order: Vec<usize>,
    /// By how many of these, the sum of their bounds.
    reach: Vec<f64>,
    /// The slots that may be hits and what is known of their scores.
    candidates: Vec<(u16, f64)>,
}

/// A list within a window.
#[derive(Debug, Clone, Copy)]
struct Part<'a> {
    term: u32,
    weight: f64,
    bound: f64,
    slots: &'a [u16],
    frequencies: &'a [u8],
    dense: Option<&'a Dense>,
    is_essential: bool,
}

impl Part<'_> {
    /// What the list adds to a slot of this length.
    #[inline]
    fn contribution(&self, slot: u16, segment: &Segment, length: u32, saturations: &Saturations) -> Option<f64> {
        let place = match self.dense {
            Some(dense) => dense.find(slot),
            None => self.slots.binary_search(&slot).ok(),
        };
        let frequency = segment.postings.frequency(self.term, slot, self.frequencies[place?]);
        Some(self.weight * saturations.of(frequency, length))
    }

    /// Add the contributions of all postings.
    fn add_all(&self, sums: &mut Sums, segment: &Segment, saturations: &Saturations, start: usize) {
        let lengths = &segment.lengths()[start..];
        for (&slot, &byte) in self.slots.iter().zip(self.frequencies) {
            let frequency = segment.postings.frequency(self.term, slot, byte);
            let place = usize::from(slot) % WINDOW;
            sums[place] += self.weight * saturations.of(frequency, lengths[place]);
        }
    }

    /// Add the contributions of the postings at these places.
    fn add_at(
        &self,
        sums: &mut Sums,
        segment: &Segment,
        saturations: &Saturations,
        places: impl Iterator<Item = usize>,
    ) {
        places.for_each(|place| {
            let slot = self.slots[place];
            let frequency = segment.postings.frequency(self.term, slot, self.frequencies[place]);
            let length = segment.lengths()[usize::from(slot)];
            sums[usize::from(slot) % WINDOW] += self.weight * saturations.of(frequency, length);
        });
    }

    /// The postings of slots that are set.
    fn among(&self, words: &[u64]) -> impl Iterator<Item = usize> {
        let is_set = |slot: usize| words[slot / 64] >> (slot % 64) & 1 == 1;
        (0..self.slots.len()).filter(move |&place| is_set(usize::from(self.slots[place]) % WINDOW))
    }
}

/// The slots of a window that a filter lets through, and how many.
type Allowed<'m> = Option<(&'m [u64], usize)>;

impl<'a> Scorer<'a> {
    pub(super) fn new(saturations: &'a Saturations, terms: usize, top_k: usize) -> Self {
        // Each of `terms` additions rounds by at most 2⁻⁵³ of the sum, and so does each product.
        let margin = 1.0 - (terms + 8) as f64 * 4.0 * f64::EPSILON;
        let (parts, order, reach) =
            (Vec::with_capacity(terms), Vec::with_capacity(terms), Vec::with_capacity(terms + 1));
        Self { saturations, top: TopK::new(top_k), margin, parts, order, reach, candidates: Vec::new() }
    }

    /// What cannot reach this cannot be a hit.
    pub(super) fn floor(&self) -> f64 {
        self.top.threshold().map_or(0.0, |threshold| threshold * self.margin)
    }

    pub(super) fn into_sorted(self) -> Vec<Scored<&'a ChunkKey>> {
        self.top.into_sorted()
    }

    /// Score a window of a segment.
    pub(super) fn score(&mut self, segment: &'a Segment, cursors: &[Cursor<'a>], window: usize, allowed: Allowed<'_>) {
        if allowed.is_some_and(|(_, count)| count == 0) {
            return;
        }
        let inessential = self.divide(cursors, window);
        let essential: usize = self.parts.iter().filter(|part| part.is_essential).map(|part| part.slots.len()).sum();
        let start = window * WINDOW;
        self.candidates.clear();
        match allowed {
            Some((words, count)) if count * PROBE < essential => {
                let slots = words
                    .iter()
                    .zip((start..).step_by(64))
                    .flat_map(|(&word, first)| ones(word).map(move |bit| (first + bit as usize) as u16));
                self.candidates.extend(slots.map(|slot| (slot, 0.0)));
                self.probe(segment, self.order.len());
                self.offer_again(segment);
            }
            _ => {
                self.add_up(segment, start, allowed, essential < FEW, self.reach[inessential]);
                if inessential == 0 {
                    self.offer(segment);
                } else {
                    self.probe(segment, inessential);
                    self.offer_again(segment);
                }
            }
        }
    }

    /// Cut the lists at the window and return how many of them, first in `order`, are inessential.
    fn divide(&mut self, cursors: &[Cursor<'a>], window: usize) -> usize {
        let floor = self.floor();
        let Self { parts, order, reach, .. } = self;
        parts.clear();
        order.clear();
        reach.clear();
        for cursor in cursors {
            let (start, end) = (cursor.starts[window] as usize, cursor.starts[window + 1] as usize);
            if start < end {
                order.push(parts.len());
                parts.push(Part {
                    term: cursor.term,
                    weight: cursor.weight,
                    bound: cursor.bounds[window],
                    slots: &cursor.list.slots[start..end],
                    frequencies: &cursor.list.frequencies[start..end],
                    dense: cursor.list.table.and_then(|table| table.dense[window].as_deref()),
                    is_essential: true,
                });
            }
        }
        let merit = |&part: &usize| parts[part].bound / parts[part].slots.len() as f64;
        order.sort_unstable_by(|a, b| merit(a).total_cmp(&merit(b)));
        let mut together = 0.0;
        reach.push(together);
        for &part in order.iter() {
            together += parts[part].bound;
            reach.push(together);
        }
        let inessential = reach[1..].partition_point(|&together| together < floor);
        order[..inessential].iter().for_each(|&part| parts[part].is_essential = false);
        inessential
    }

    /// Add up the essential parts in the query's order; what can reach the floor with `rest` more is a candidate.
    fn add_up(&mut self, segment: &Segment, start: usize, allowed: Allowed<'_>, are_few: bool, rest: f64) {
        let floor = self.floor();
        let words = allowed.map_or_else(|| &segment.alive()[start / 64..], |(words, _)| words);
        let Self { saturations, parts, candidates, .. } = self;
        let essential = || parts.iter().filter(|part| part.is_essential);
        let is_set = |slot: usize| words[slot / 64] >> (slot % 64) & 1 == 1;
        SUMS.with_borrow_mut(|sums| {
            for part in essential() {
                match (allowed, part.dense) {
                    (None, _) => part.add_all(sums, segment, saturations, start),
                    (Some(_), None) => part.add_at(sums, segment, saturations, part.among(words)),
                    (Some(_), Some(dense)) => part.add_at(sums, segment, saturations, dense.among(words)),
                }
            }
            let mut offer = |slot: usize, sum: f64| {
                if sum > 0.0 && sum + rest >= floor && is_set(slot) {
                    candidates.push(((start + slot) as u16, sum));
                }
            };
            if are_few {
                for &slot in essential().flat_map(|part| part.slots) {
                    let slot = usize::from(slot) % WINDOW;
                    offer(slot, std::mem::take(&mut sums[slot]));
                }
            } else {
                collect(sums, floor - rest, offer);
            }
        });
    }

    /// Add the first `count` parts of the order to the candidates, and drop those that cannot reach the floor any more.
    fn probe(&mut self, segment: &Segment, count: usize) {
        let floor = self.floor();
        let Self { saturations, parts, order, reach, candidates, .. } = self;
        let lengths = segment.lengths();
        for (&part, &rest) in order[..count].iter().zip(&*reach).rev() {
            let part = &parts[part];
            candidates.retain_mut(|(slot, sum)| {
                let length = lengths[usize::from(*slot)];
                *sum += part.contribution(*slot, segment, length, saturations).unwrap_or(0.0);
                *sum + rest > 0.0 && *sum + rest >= floor
            });
        }
    }

    /// Offer candidates whose sums are their scores.
    fn offer(&mut self, segment: &'a Segment) {
        let Self { top, candidates, .. } = self;
        for &(slot, score) in candidates.iter() {
            if top.threshold().is_none_or(|threshold| score >= threshold) {
                top.push(score, segment.key(usize::from(slot)));
            }
        }
    }

    /// Score candidates in the query's order and offer them.
    fn offer_again(&mut self, segment: &'a Segment) {
        for number in 0..self.candidates.len() {
            let (slot, sum) = self.candidates[number];
            if sum < self.floor() {
                continue;
            }
            let length = segment.lengths()[usize::from(slot)];
            let contributions =
                self.parts.iter().filter_map(|part| part.contribution(slot, segment, length, self.saturations));
            let score = contributions.fold(0.0, |sum, contribution| sum + contribution);
            self.top.push(score, segment.key(usize::from(slot)));
        }
    }
}

/// Hand over the sums of at least `floor`, by groups of slots, and clear them.
fn collect(sums: &mut Sums, floor: f64, mut offer: impl FnMut(usize, f64)) {
    const GROUP: usize = 64;
    for (number, group) in sums.chunks_exact_mut(GROUP).enumerate() {
        let mut greatest = [0.0_f64; 8];
        for eight in group.chunks_exact(8) {
            for (greatest, &sum) in greatest.iter_mut().zip(eight) {
                *greatest = if sum > *greatest { sum } else { *greatest };
            }
        }
        if greatest.into_iter().any(|sum| sum > 0.0 && sum >= floor) {
            group.iter().enumerate().for_each(|(slot, &sum)| offer(number * GROUP + slot, sum));
        }
        group.fill(0.0);
    }
}
