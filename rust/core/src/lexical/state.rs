//! The collection at one moment: what a reader sees and a writer changes.

use rustc_hash::FxHashMap;

use super::analysis::Analysis;
use super::segment::{SLOTS, Segment};
use super::vocabulary::Vocabulary;
use crate::filter::{Columns, Metadata};
use crate::key::{ChunkKey, DocumentId};

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) vocabulary: Vocabulary,
    pub(super) segments: Vec<Segment>,
    pub(super) columns: Columns,
    /// The living chunks.
    pub(super) chunks: u64,
    /// The sum of their lengths.
    pub(super) total_length: u64,
    /// No chunk is longer; not lowered by removals.
    pub(super) longest: u32,
    /// The living chunks of each document as (`chunk_index`, slot), in order.
    documents: FxHashMap<DocumentId, Vec<(u32, u32)>>,
    /// What all slots weigh: one each, and one for each distinct term held.
    weight: usize,
    /// What the dead ones among them weigh.
    dead_weight: usize,
}

impl State {
    /// How many slots are filled, dead ones included.
    pub(super) fn slots(&self) -> usize {
        self.segments.last().map_or(0, |last| (self.segments.len() - 1) * SLOTS + last.len())
    }

    /// The slot of a living chunk.
    pub(super) fn find(&self, key: &ChunkKey) -> Option<u32> {
        let chunks = self.documents.get(&key.document_id)?;
        let place = chunks.binary_search_by_key(&key.chunk_index, |&(index, _)| index).ok()?;
        Some(chunks[place].1)
    }

    /// Insert the analysed texts as the chunks of these keys; a living chunk of the same key dies.
    pub(super) fn put<'m>(
        &mut self,
        mut analysis: Analysis,
        keys: &mut impl Iterator<Item = ChunkKey>,
        metadata: &mut impl Iterator<Item = &'m Metadata>,
    ) {
        let terms = std::mem::take(&mut analysis.terms);
        let numbers: Vec<u32> = terms.into_iter().map(|term| self.vocabulary.intern(term)).collect();
        for ((length, counts), key) in analysis.texts().zip(keys) {
            let counts = counts.iter().map(|&(term, frequency)| (numbers[term as usize], frequency));
            let slot = self.append(key, length, counts);
            if let Some(metadata) = metadata.next() {
                self.columns.insert(slot, metadata);
            }
        }
    }

    /// Remove a document and return how many chunks it had.
    pub(super) fn remove(&mut self, document_id: &DocumentId) -> usize {
        let chunks = self.documents.remove(document_id).unwrap_or_default();
        for &(_, slot) in &chunks {
            self.kill(slot);
        }
        chunks.len()
    }

    /// Whether more than a quarter of what is held is dead.
    pub(super) fn is_sparse(&self) -> bool {
        self.dead_weight * 4 > self.weight
    }

    /// The same collection without what is dead.
    pub(super) fn compacted(&self) -> Self {
        let (vocabulary, renumbered) = self.vocabulary.compacted();
        let mut compacted = Self { vocabulary, columns: self.columns.clone(), ..Self::default() };
        let mut moved = Vec::with_capacity(self.slots());
        for segment in &self.segments {
            for slot in 0..segment.len() {
                moved.push(segment.is_alive(slot).then(|| {
                    let counts = segment.forward.get(slot);
                    let counts = counts.map(|(term, frequency)| (renumbered[term as usize], frequency));
                    compacted.append(segment.key(slot).clone(), segment.lengths()[slot], counts)
                }));
            }
        }
        compacted.columns.renumber(&moved);
        compacted
    }

    fn append(&mut self, mut key: ChunkKey, length: u32, counts: impl Iterator<Item = (u32, u32)>) -> u32 {
        let slot = self.slots() as u32;
        // All chunks of a document share one copy of its id.
        if let Some((document_id, _)) = self.documents.get_key_value(&key.document_id) {
            key.document_id = document_id.clone();
        }
        if let Some(replaced) = self.place(&key, slot) {
            self.kill(replaced);
        }
        if (slot as usize).is_multiple_of(SLOTS) {
            self.segments.push(Segment::default());
        }
        self.chunks += 1;
        self.total_length += u64::from(length);
        self.longest = self.longest.max(length);
        self.weight += 1;
        let Self { vocabulary, segments, weight, .. } = self;
        if let Some(segment) = segments.last_mut() {
            let held = counts.inspect(|&(term, _)| {
                vocabulary.hold(term);
                *weight += 1;
            });
            segment.push(key, length, held);
        }
        slot
    }

    /// Note a chunk's slot and return the one that it had.
    fn place(&mut self, key: &ChunkKey, slot: u32) -> Option<u32> {
        let chunks = self.documents.entry(key.document_id.clone()).or_default();
        match chunks.binary_search_by_key(&key.chunk_index, |&(index, _)| index) {
            Ok(place) => Some(std::mem::replace(&mut chunks[place].1, slot)),
            Err(place) => {
                chunks.insert(place, (key.chunk_index, slot));
                None
            }
        }
    }

    /// Take a chunk out of every count; its postings stay until the next compaction.
    fn kill(&mut self, slot: u32) {
        let (segment, slot) = (slot as usize / SLOTS, slot as usize % SLOTS);
        let Some(segment) = self.segments.get_mut(segment) else { return };
        segment.kill(slot);
        self.chunks -= 1;
        self.total_length -= u64::from(segment.lengths()[slot]);
        self.dead_weight += 1;
        for (term, _) in segment.forward.get(slot) {
            self.vocabulary.release(term);
            self.dead_weight += 1;
        }
    }
}
