//! The collection at one moment: what a reader sees and a writer changes.

use std::sync::{Arc, OnceLock};

use super::compaction::Journal;
use super::mask::{Mask, Masks};
use super::memory::Memory;
use super::portion::Portion;
use super::scoring::{Parameters, Saturations};
use super::segment::{Renewal, Segment};
use super::vocabulary::Vocabulary;
use crate::documents::Documents;
use crate::filter::{Columns, Metadata};
use crate::key::{ChunkKey, DocumentId};
use crate::slots::SEGMENT;

#[derive(Debug)]
pub(super) struct State {
    parameters: Parameters,
    pub(super) vocabulary: Vocabulary,
    pub(super) segments: Vec<Segment>,
    pub(super) columns: Columns,
    /// The living chunks.
    pub(super) chunks: u64,
    /// The sum of their lengths.
    total_length: u64,
    /// No chunk is longer; not lowered by removals.
    longest: u32,
    documents: Documents,
    /// What all slots weigh: one each, and one for each distinct term held.
    pub(super) weight: usize,
    /// What the dead ones among them weigh.
    dead_weight: usize,
    /// What was written since a compaction began.
    pub(super) journal: Option<Journal>,
    /// Made by the first search after a write.
    saturations: OnceLock<Saturations>,
    masks: Masks,
}

impl State {
    pub(super) fn new(parameters: Parameters) -> Self {
        Self {
            parameters,
            vocabulary: Vocabulary::default(),
            segments: Vec::new(),
            columns: Columns::default(),
            chunks: 0,
            total_length: 0,
            longest: 0,
            documents: Documents::default(),
            weight: 0,
            dead_weight: 0,
            journal: None,
            saturations: OnceLock::new(),
            masks: Masks::default(),
        }
    }

    /// An empty state of the same parameters.
    pub(super) fn emptied(&self) -> Self {
        Self::new(self.parameters)
    }

    /// How many slots are filled, dead ones included.
    pub(super) fn slots(&self) -> usize {
        self.segments.last().map_or(0, |last| (self.segments.len() - 1) * SEGMENT + last.len())
    }

    /// A slot's segment and its number within that.
    pub(super) fn at(&self, slot: u32) -> (&Segment, usize) {
        (&self.segments[slot as usize / SEGMENT], slot as usize % SEGMENT)
    }

    /// The slot of a living chunk.
    pub(super) fn find(&self, key: &ChunkKey) -> Option<u32> {
        self.documents.find(key)
    }

    /// What everything takes.
    pub(super) fn memory(&self) -> Memory {
        let chunks = self.slots();
        let sum = |bytes: fn(&Segment) -> usize| self.segments.iter().map(bytes).sum::<usize>();
        Memory {
            chunks,
            postings: self.weight - chunks,
            lists: sum(|segment| segment.postings.bytes()),
            forward: sum(|segment| segment.forward.bytes()),
            documents: sum(Segment::bytes) + self.documents.bytes(),
            vocabulary: self.vocabulary.bytes(),
        }
    }

    /// The mean length of the living chunks.
    pub(super) fn average(&self) -> f64 {
        self.total_length as f64 / self.chunks as f64
    }

    /// The saturations of frequencies at this moment.
    pub(super) fn saturations(&self) -> &Saturations {
        self.saturations.get_or_init(|| Saturations::new(self.parameters, self.average(), self.longest))
    }

    /// The slots that a filter lets through; `None` stands for all that live (an empty filter).
    pub(super) fn mask(&self, filter: &Metadata) -> Option<Arc<Mask>> {
        let make = || {
            let mut mask = Mask::new(&self.columns.eligible(filter).unwrap_or_default(), self.slots());
            for (number, segment) in self.segments.iter().enumerate() {
                mask.restrict(number, segment.alive());
            }
            mask
        };
        (!filter.is_empty()).then(|| self.masks.of(filter, make))
    }

    /// Insert chunks, one key each, and return the first one's slot; living chunks of the same keys die, and of two new
    /// ones the earlier.
    pub(super) fn append(&mut self, portion: &Portion, mut keys: Vec<ChunkKey>) -> u32 {
        let first = self.slots() as u32;
        let place = |(slot, key)| self.documents.place(key, slot);
        let replaced: Vec<u32> = (first..).zip(&mut keys).filter_map(place).collect();
        self.chunks += portion.len() as u64;
        self.total_length += portion.lengths.iter().copied().map(u64::from).sum::<u64>();
        self.longest = portion.lengths.iter().copied().fold(self.longest, u32::max);
        self.weight += portion.len() + portion.postings();
        for (term, list) in portion.lists() {
            self.vocabulary.hold(term, list.len());
        }
        self.fill(portion, keys);
        for slot in replaced {
            self.kill(slot);
        }
        self.forget();
        first
    }

    /// Record the metadata of a chunk that was just appended.
    pub(super) fn describe(&mut self, slot: u32, metadata: &Metadata) {
        self.columns.insert(slot, metadata);
        if let Some(journal) = &mut self.journal {
            journal.note(slot, metadata);
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

    /// Remove a living chunk.
    pub(super) fn remove_at(&mut self, slot: u32) {
        let (segment, place) = (&self.segments[slot as usize / SEGMENT], slot as usize % SEGMENT);
        self.documents.remove_chunk(segment.key(place));
        self.kill(slot);
    }

    /// Whether more than a quarter of what is held is dead.
    pub(super) fn is_sparse(&self) -> bool {
        self.dead_weight * 4 > self.weight
    }

    /// The first segment that needs other postings, and these.
    pub(super) fn renewal(&self) -> Option<(usize, Renewal)> {
        let average = self.baseline();
        let renewals = self.segments.iter().map(|segment| segment.renewal(self.parameters, average));
        renewals.enumerate().find_map(|(number, renewal)| Some((number, renewal?)))
    }

    /// Give a segment its new postings; what they take the place of is returned to be dropped at leisure.
    pub(super) fn renew(&mut self, segment: usize, renewal: Renewal) -> Option<impl Send + use<>> {
        let segment = &mut self.segments[segment];
        match renewal {
            Renewal::Seal(sealed) => {
                segment.forward.shrink();
                Some(segment.postings.seal(sealed))
            }
            Renewal::Rebase(bounds) => {
                segment.postings.rebase(bounds);
                None
            }
        }
    }

    /// Put chunks into the next slots, in new segments where the last is full.
    fn fill(&mut self, portion: &Portion, keys: Vec<ChunkKey>) {
        let (parameters, baseline) = (self.parameters, self.baseline());
        let mut keys = keys.into_iter();
        let mut start = 0;
        while start < portion.len() {
            if self.segments.last().is_none_or(|last| last.len() == SEGMENT) {
                self.segments.push(Segment::new(baseline));
            }
            let Some(segment) = self.segments.last_mut() else { return };
            let former = segment.len();
            let end = portion.len().min(start + SEGMENT - former);
            segment.extend(portion, start..end, &mut keys, parameters);
            if former.checked_ilog2() != segment.len().checked_ilog2() {
                segment.follow(parameters, baseline);
            }
            start = end;
        }
    }

    /// The average length, or anything above 0 where all texts are empty.
    fn baseline(&self) -> f64 {
        self.average().max(1.0)
    }

    /// Take a chunk out of every count; its postings stay until the next compaction.
    fn kill(&mut self, slot: u32) {
        let (segment, slot) = (slot as usize / SEGMENT, slot as usize % SEGMENT);
        let Some(segment) = self.segments.get_mut(segment) else { return };
        segment.kill(slot);
        self.chunks -= 1;
        self.total_length -= u64::from(segment.lengths()[slot]);
        self.dead_weight += 1;
        for (term, _) in segment.forward.get(slot) {
            self.vocabulary.release(term);
            self.dead_weight += 1;
        }
        self.forget();
    }

    /// Drop what is valid until the next write only.
    fn forget(&mut self) {
        drop(self.saturations.take());
        self.masks.clear();
    }
}
