//! Top-k search: exact scores of all matching chunks, a window of slots at a time.

use std::borrow::Cow;

use roaring::RoaringBitmap;

use super::analysis::Analysis;
use super::postings::List;
use super::scoring::{Norms, Parameters, idf, saturation};
use super::segment::{SLOTS, Segment};
use super::state::State;
use crate::key::ChunkKey;
use crate::rank::{Scored, TopK};

/// Slots whose scores are added up at a time: as many as stay in the nearest cache.
const WINDOW: usize = 4096;

/// A window with fewer postings is read back posting by posting rather than slot by slot.
const FEW: usize = WINDOW / 8;

/// No hit's score is lower, since a hit has a positive score.
const LEAST: f64 = f64::from_bits(1);

/// The best chunks for an analysed query, best first; equal scores by key. `eligible` restricts the slots.
pub(super) fn search<'a>(
    state: &'a State,
    parameters: Parameters,
    query: &Analysis,
    top_k: usize,
    eligible: Option<&RoaringBitmap>,
) -> Vec<Scored<&'a ChunkKey>> {
    let terms: Vec<Term> = weighted(state, query).collect();
    if top_k == 0 || terms.is_empty() {
        return Vec::new();
    }
    let mut top = TopK::new(top_k);
    let norms = Norms::new(parameters, state.chunks, state.total_length, state.longest);
    let mut scores = vec![0.0; WINDOW];
    for (number, segment) in state.segments.iter().enumerate() {
        if let Some(mask) = mask(segment, number, eligible) {
            let mut windows = Windows { segment, mask: &mask, norms: &norms, scores: &mut scores, top: &mut top };
            windows.run(&terms);
        }
    }
    top.into_sorted()
}

/// A term of the query and its factor: frequency in the query times inverse document frequency.
struct Term {
    number: u32,
    weight: f64,
}

fn weighted<'a>(state: &'a State, query: &'a Analysis) -> impl Iterator<Item = Term> + 'a {
    query.frequencies().filter_map(|(term, frequency)| {
        let number = state.vocabulary.get(term)?;
        let holding = state.vocabulary.document_frequency(number);
        (holding > 0).then(|| Term { number, weight: f64::from(frequency) * idf(state.chunks, holding) })
    })
}

/// The slots of a segment that may be hits, one bit each; `None` where there is none.
fn mask<'a>(segment: &'a Segment, number: usize, eligible: Option<&RoaringBitmap>) -> Option<Cow<'a, [u64]>> {
    let Some(eligible) = eligible else { return Some(Cow::Borrowed(segment.alive())) };
    let first = (number * SLOTS) as u32;
    let mut mask = vec![0_u64; segment.alive().len()];
    let mut any = false;
    for slot in eligible.range(first..=first + (segment.len() - 1) as u32) {
        let slot = (slot - first) as usize;
        if segment.is_alive(slot) {
            mask[slot / 64] |= 1 << (slot % 64);
            any = true;
        }
    }
    any.then_some(Cow::Owned(mask))
}

/// A term's postings that have not been scored yet.
struct Cursor<'a> {
    term: &'a Term,
    list: List<'a>,
}

impl<'a> Cursor<'a> {
    /// Split off the postings before a slot.
    fn take_before(&mut self, end: usize) -> List<'a> {
        let count = self.list.slots.partition_point(|&slot| usize::from(slot) < end);
        let (slots, later_slots) = self.list.slots.split_at(count);
        let (frequencies, later_frequencies) = self.list.frequencies.split_at(count);
        self.list = List { slots: later_slots, frequencies: later_frequencies };
        List { slots, frequencies }
    }
}

/// The walk over one segment.
struct Windows<'s, 'a> {
    segment: &'a Segment,
    mask: &'s [u64],
    norms: &'s Norms,
    /// The sums of one window; all zero between windows.
    scores: &'s mut [f64],
    top: &'s mut TopK<&'a ChunkKey>,
}

impl Windows<'_, '_> {
    fn run<'t>(&mut self, terms: &'t [Term]) {
        let segment = self.segment;
        let cursor = |term: &'t Term| Cursor { term, list: segment.postings.list(term.number) };
        let mut cursors: Vec<Cursor> =
            terms.iter().map(cursor).filter(|cursor| !cursor.list.slots.is_empty()).collect();
        let mut lists = Vec::with_capacity(cursors.len());
        while let Some(next) = cursors.iter().filter_map(|cursor| cursor.list.slots.first()).min() {
            let start = usize::from(*next) / WINDOW * WINDOW;
            let end = (start + WINDOW).min(segment.len());
            let wanted = self.mask[start / 64..end.div_ceil(64)].iter().any(|&word| word != 0);
            lists.clear();
            for cursor in &mut cursors {
                let list = cursor.take_before(end);
                if wanted {
                    self.add(cursor.term, list);
                    lists.push(list);
                }
            }
            if lists.iter().map(|list| list.slots.len()).sum::<usize>() < FEW {
                self.collect_postings(&lists);
            } else {
                self.collect_slots(start, end);
            }
        }
    }

    /// Add a term's contributions. Terms come in the query's order, and so each chunk's sum is that of the formula.
    fn add(&mut self, term: &Term, list: List<'_>) {
        let Self { segment, norms, scores, .. } = self;
        let lengths = segment.lengths();
        for (&slot, &byte) in list.slots.iter().zip(list.frequencies) {
            let frequency = segment.postings.frequency(term.number, slot, byte);
            let norm = norms.of(lengths[usize::from(slot)]);
            scores[usize::from(slot) % WINDOW] += term.weight * saturation(frequency, norm);
        }
    }

    fn collect_postings(&mut self, lists: &[List<'_>]) {
        for slot in lists.iter().flat_map(|list| list.slots) {
            let slot = usize::from(*slot);
            let score = std::mem::take(&mut self.scores[slot % WINDOW]);
            self.offer(slot, score);
        }
    }

    fn collect_slots(&mut self, start: usize, end: usize) {
        const GROUP: usize = 64;
        for first in (start..end).step_by(GROUP) {
            let group = &self.scores[first % WINDOW..][..GROUP];
            let greatest = group.iter().fold(0.0, |a: f64, &b| if b > a { b } else { a });
            if greatest >= self.floor() {
                for slot in first..end.min(first + GROUP) {
                    self.offer(slot, self.scores[slot % WINDOW]);
                }
            }
        }
        self.scores.fill(0.0);
    }

    fn floor(&self) -> f64 {
        self.top.threshold().unwrap_or(LEAST).max(LEAST)
    }

    fn offer(&mut self, slot: usize, score: f64) {
        if score >= self.floor() && self.mask[slot / 64] >> (slot % 64) & 1 == 1 {
            self.top.push(score, self.segment.key(slot));
        }
    }
}
