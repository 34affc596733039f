//! The collection at one moment: what a reader sees and a writer changes.

use std::ops::Range;

use super::postings::Postings;
use super::segment::Segment;
use crate::documents::Documents;
use crate::filter::{Columns, Metadata};
use crate::key::ChunkKey;
use crate::slots::SEGMENT;

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) segments: Vec<Segment>,
    pub(super) columns: Columns,
    /// The living chunks.
    pub(super) chunks: usize,
    /// What all slots weigh: one each, and one for each term held.
    weight: usize,
    /// What the dead ones among them weigh.
    dead_weight: usize,
}

/// What a write brings to life and what it ends, which may be a part of that.
#[derive(Debug, Default)]
pub(super) struct Change {
    pub(super) born: Range<u32>,
    /// Each slot once.
    pub(super) dying: Vec<u32>,
    /// What the dying slots weigh.
    pub(super) weight: usize,
}

impl State {
    /// How many slots are filled, dead ones included.
    pub(super) fn slots(&self) -> usize {
        self.segments.last().map_or(0, |last| (self.segments.len() - 1) * SEGMENT + last.len())
    }

    /// Fill the next slot with a chunk that is no hit until it is published.
    pub(super) fn stage(&mut self, key: ChunkKey, terms: &[u32], weights: &[f32], metadata: Option<&Metadata>) {
        let slot = self.append(key, terms.len() as u32);
        for (&term, &weight) in terms.iter().zip(weights) {
            self.post(slot, term, weight);
        }
        if let Some(metadata) = metadata {
            self.columns.insert(slot, metadata);
        }
    }

    /// What some slots weigh.
    pub(super) fn weigh(&self, slots: &[u32]) -> usize {
        slots
            .iter()
            .map(|&slot| 1 + self.segments[slot as usize / SEGMENT].size(slot as usize % SEGMENT) as usize)
            .sum()
    }

    /// Make a change, in one step: a bit a slot, which is all that there is to do.
    pub(super) fn publish(&mut self, change: &Change) {
        for slot in change.born.clone() {
            self.segments[slot as usize / SEGMENT].mark(slot as usize % SEGMENT);
        }
        // Their postings stay until the next compaction.
        for &slot in &change.dying {
            self.segments[slot as usize / SEGMENT].kill(slot as usize % SEGMENT);
        }
        self.chunks = self.chunks + change.born.len() - change.dying.len();
        self.dead_weight += change.weight;
    }

    /// Whether more than a quarter of what is held is dead.
    pub(super) fn is_sparse(&self) -> bool {
        self.dead_weight * 4 > self.weight
    }

    /// The last segment's lists laid down for good, where it has just become full.
    pub(super) fn sealed_last(&self) -> Option<Postings> {
        self.segments.last().and_then(Segment::sealed)
    }

    /// Take the lists of the last segment for its own and give back those that it had.
    pub(super) fn replace_last(&mut self, postings: Postings) -> Option<Postings> {
        self.segments.last_mut().map(|last| std::mem::replace(&mut last.postings, postings))
    }

    /// The same collection without what is dead.
    pub(super) fn compacted(&self) -> Self {
        let mut compacted = Self { columns: self.columns.clone(), ..Self::default() };
        let mut moved = Vec::with_capacity(self.slots());
        for segment in &self.segments {
            let first = moved.len();
            for slot in 0..segment.len() {
                let alive = segment.alive().contains(slot);
                moved.push(alive.then(|| compacted.append(segment.key(slot).clone(), segment.size(slot))));
            }
            for (term, list) in segment.postings.lists() {
                for (&slot, &weight) in list.slots.iter().zip(list.weights) {
                    if let Some(slot) = moved[first + usize::from(slot)] {
                        compacted.post(slot, term, weight);
                    }
                }
            }
            compacted.seal();
        }
        compacted.columns.renumber(&moved);
        compacted.publish(&Change { born: 0..compacted.slots() as u32, ..Change::default() });
        compacted
    }

    /// Where the chunks of each document are, when all slots are alive.
    pub(super) fn documents(&self) -> Documents {
        let mut documents = Documents::default();
        let keys = self.segments.iter().flat_map(|segment| (0..segment.len()).map(|slot| segment.key(slot).clone()));
        for (slot, mut key) in (0..).zip(keys) {
            documents.place(&mut key, slot);
        }
        documents
    }

    /// Lay down the lists of the segments that are full.
    fn seal(&mut self) {
        for segment in &mut self.segments {
            if let Some(sealed) = segment.sealed() {
                segment.postings = sealed;
            }
        }
    }

    fn append(&mut self, key: ChunkKey, size: u32) -> u32 {
        let slot = self.slots();
        if slot.is_multiple_of(SEGMENT) {
            self.segments.push(Segment::default());
        }
        if let Some(segment) = self.segments.last_mut() {
            segment.push(key, size);
        }
        self.weight += 1 + size as usize;
        slot as u32
    }

    fn post(&mut self, slot: u32, term: u32, weight: f32) {
        self.segments[slot as usize / SEGMENT].postings.push(term, (slot as usize % SEGMENT) as u16, weight);
    }
}
