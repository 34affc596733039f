//! Top-k search: exact scores of all matching chunks, a segment at a time.

use std::cell::Cell;

use super::postings::List;
use super::segment::Segment;
use super::state::State;
use crate::filter::Selection;
use crate::key::ChunkKey;
use crate::rank::{Scored, TopK};
use crate::slots::SEGMENT;

/// Looking a slot up in one list costs as much as passing over so many postings.
const LOOKUP: usize = 96;

/// Where a filter wants fewer than one slot in so many, each posting is held against it before it is added.
const RARE: usize = 32;

/// Taking the sum of one posting's slot costs as much as passing over the sums of so many slots.
const TAKE: usize = 8;

/// No hit's score is lower, since a hit has a positive score.
const LEAST: f64 = f64::from_bits(1);

thread_local! {
    /// One segment's sums, all zero between searches: half a megabyte that stays in the second cache. Lists are added whole,
    /// because short pieces of them come from memory more slowly than the sums from the cache.
    static SUMS: Cell<Vec<f64>> = const { Cell::new(Vec::new()) };
}

/// The best chunks for a query of ascending terms, best first; equal scores by key. No hit scores below `floor`.
pub(super) fn search<'a>(
    state: &'a State,
    (terms, weights): (&[u32], &[f32]),
    top_k: usize,
    floor: f64,
    eligible: &Selection<'_>,
) -> Vec<Scored<&'a ChunkKey>> {
    let mut top = TopK::new(top_k);
    if top_k == 0 || terms.is_empty() {
        return top.into_sorted();
    }
    let mut buffer = SUMS.take();
    if buffer.is_empty() {
        buffer = vec![0.0; SEGMENT];
    }
    if let Some(sums) = buffer.first_chunk_mut() {
        let mut lists = Vec::with_capacity(terms.len());
        let mut least = floor.max(LEAST);
        for (number, segment) in state.segments.iter().enumerate() {
            let (first, len) = ((number * SEGMENT) as u32, segment.len() as u32);
            let wanted = eligible.count(first, first + (len - 1)) as usize;
            if wanted == 0 {
                continue;
            }
            let list = |(&term, &weight): (&u32, &f32)| (f64::from(weight), segment.postings.list(term));
            lists.clear();
            lists.extend(terms.iter().zip(weights).map(list).filter(|(_, list)| !list.slots.is_empty()));
            Scan { segment, first, eligible, sums, least: &mut least, top: &mut top }.run(&mut lists, wanted);
        }
    }
    SUMS.set(buffer);
    top.into_sorted()
}

/// The weight of a term in the query, and the term's postings.
type Weighted<'a> = (f64, List<'a>);

/// The pass over one segment.
struct Scan<'s, 'a> {
    segment: &'a Segment,
    /// The number of its first slot in the index.
    first: u32,
    eligible: &'s Selection<'s>,
    /// All zero before and after.
    sums: &'s mut [f64; SEGMENT],
    /// The score that a hit must reach.
    least: &'s mut f64,
    top: &'s mut TopK<&'a ChunkKey>,
}

impl Scan<'_, '_> {
    /// Lists stay in the query's order, so that each sum is that of the formula. `wanted` slots are eligible, dead ones
    /// included.
    fn run(&mut self, lists: &mut [Weighted<'_>], wanted: usize) {
        let postings: usize = lists.iter().map(|(_, list)| list.slots.len()).sum();
        let last = self.first + (self.segment.len() - 1) as u32;
        let rare = wanted * RARE < self.segment.len();
        if let Some(slots) = self.eligible.listed(self.first, last).filter(|_| rare) {
            let slots: Vec<u16> = slots.map(|slot| (slot - self.first) as u16).collect();
            if slots.len() * lists.len() * LOOKUP < postings {
                self.look_up(&slots, lists);
            } else {
                self.add_some(&slots, lists);
            }
        } else {
            self.add(lists);
            if postings * TAKE < self.segment.len() {
                self.take_postings(lists);
            } else {
                self.take_slots();
            }
        }
    }

    /// Score some slots one by one.
    fn look_up(&mut self, slots: &[u16], lists: &mut [Weighted<'_>]) {
        for &slot in slots {
            let mut score = 0.0;
            for (weight, list) in &mut *lists {
                list.drop_before(slot);
                if list.slots.first() == Some(&slot) {
                    score += *weight * f64::from(list.weights[0]);
                }
            }
            self.offer(slot.into(), score);
        }
    }

    /// Add up some slots only, and take their sums.
    fn add_some(&mut self, slots: &[u16], lists: &[Weighted<'_>]) {
        let mut mask = [0_u64; SEGMENT / 64];
        for &slot in slots {
            mask[usize::from(slot) / 64] |= 1 << (slot % 64);
        }
        for (weight, list) in lists {
            for (&slot, held) in list.slots.iter().zip(list.weights) {
                if mask[usize::from(slot) / 64] >> (slot % 64) & 1 == 1 {
                    self.sums[usize::from(slot)] += weight * f64::from(*held);
                }
            }
        }
        for &slot in slots {
            let score = std::mem::take(&mut self.sums[usize::from(slot)]);
            self.offer(slot.into(), score);
        }
    }

    fn add(&mut self, lists: &[Weighted<'_>]) {
        for (weight, list) in lists {
            for (&slot, &held) in list.slots.iter().zip(list.weights) {
                self.sums[usize::from(slot)] += weight * f64::from(held);
            }
        }
    }

    fn take_postings(&mut self, lists: &[Weighted<'_>]) {
        for slot in lists.iter().flat_map(|(_, list)| list.slots) {
            let score = std::mem::take(&mut self.sums[usize::from(*slot)]);
            self.offer((*slot).into(), score);
        }
    }

    fn take_slots(&mut self) {
        for (number, &alive) in self.segment.alive().words().iter().enumerate() {
            let group = number * 64..number * 64 + 64;
            if alive != 0 && greatest(&self.sums[group.clone()]) >= *self.least {
                for slot in group.clone() {
                    self.offer(slot, self.sums[slot]);
                }
            }
            self.sums[group].fill(0.0);
        }
    }

    #[inline]
    fn offer(&mut self, slot: usize, score: f64) {
        let enough = score >= *self.least;
        if enough && self.segment.alive().contains(slot) && self.eligible.contains(self.first + slot as u32) {
            self.top.push(score, self.segment.key(slot));
            *self.least = self.top.threshold().map_or(*self.least, |threshold| threshold.max(*self.least));
        }
    }
}

/// The greatest of some sums, in lanes that a compiler keeps in vector registers.
fn greatest(sums: &[f64]) -> f64 {
    const LANES: usize = 8;
    let mut lanes = [0.0_f64; LANES];
    for group in sums.chunks_exact(LANES) {
        for (lane, &sum) in lanes.iter_mut().zip(group) {
            *lane = if sum > *lane { sum } else { *lane };
        }
    }
    lanes.into_iter().fold(0.0, f64::max)
}
