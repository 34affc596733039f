//! The collection at one moment: what a reader sees and a writer changes.

use super::postings::Postings;
use super::segment::Segment;
use crate::documents::Documents;
use crate::filter::{Columns, Metadata};
use crate::key::{ChunkKey, DocumentId};
use crate::slots::SEGMENT;

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) segments: Vec<Segment>,
    pub(super) columns: Columns,
    /// The living chunks.
    pub(super) chunks: usize,
    documents: Documents,
    /// What all slots weigh: one each, and one for each term held.
    weight: usize,
    /// What the dead ones among them weigh.
    dead_weight: usize,
}

impl State {
    /// How many slots are filled, dead ones included.
    pub(super) fn slots(&self) -> usize {
        self.segments.last().map_or(0, |last| (self.segments.len() - 1) * SEGMENT + last.len())
    }

    /// Insert a chunk; a living one of the same key dies.
    pub(super) fn put(&mut self, key: ChunkKey, terms: &[u32], weights: &[f32], metadata: Option<&Metadata>) {
        self.seal();
        let slot = self.append(key, terms.len() as u32);
        for (&term, &weight) in terms.iter().zip(weights) {
            self.post(slot, term, weight);
        }
        if let Some(metadata) = metadata {
            self.columns.insert(slot, metadata);
        }
    }

    /// Remove a document and return how many chunks it had.
    pub(super) fn remove(&mut self, document_id: &DocumentId) -> usize {
        let slots = self.documents.remove(document_id);
        for &slot in &slots {
            self.kill(slot);
        }
        slots.len()
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
        compacted
    }

    /// Lay down the lists of the segments that are full.
    fn seal(&mut self) {
        for segment in &mut self.segments {
            if let Some(sealed) = segment.sealed() {
                segment.postings = sealed;
            }
        }
    }

    fn append(&mut self, mut key: ChunkKey, size: u32) -> u32 {
        let slot = self.slots();
        if let Some(replaced) = self.documents.place(&mut key, slot as u32) {
            self.kill(replaced);
        }
        if slot.is_multiple_of(SEGMENT) {
            self.segments.push(Segment::default());
        }
        if let Some(segment) = self.segments.last_mut() {
            segment.push(key, size);
        }
        self.chunks += 1;
        self.weight += 1 + size as usize;
        slot as u32
    }

    fn post(&mut self, slot: u32, term: u32, weight: f32) {
        self.segments[slot as usize / SEGMENT].postings.push(term, (slot as usize % SEGMENT) as u16, weight);
    }

    /// Take a chunk out of the living; its postings stay until the next compaction.
    fn kill(&mut self, slot: u32) {
        let size = self.segments[slot as usize / SEGMENT].kill(slot as usize % SEGMENT);
        self.chunks -= 1;
        self.dead_weight += 1 + size as usize;
    }
}
