//! What an index keeps of its slots apart from what it searches: which are alive, and whose they are.

use rustc_hash::FxHashMap;

use crate::key::{ChunkKey, DocumentId};

/// Slots a segment, so that a slot's number within it is a `u16`.
pub(crate) const SEGMENT: usize = 1 << 16;

/// One bit a slot, in words of 64.
#[derive(Debug, Default)]
pub(crate) struct Alive(Vec<u64>);

impl Alive {
    /// Mark a slot alive; slots are marked one after the other.
    pub(crate) fn mark(&mut self, slot: usize) {
        if slot.is_multiple_of(64) {
            self.0.push(0);
        }
        self.0[slot / 64] |= 1 << (slot % 64);
    }

    /// Mark a slot dead.
    pub(crate) fn kill(&mut self, slot: usize) {
        self.0[slot / 64] &= !(1 << (slot % 64));
    }

    pub(crate) fn contains(&self, slot: usize) -> bool {
        self.0[slot / 64] >> (slot % 64) & 1 == 1
    }

    pub(crate) fn words(&self) -> &[u64] {
        &self.0
    }
}

/// The living chunks of each document as (`chunk_index`, slot), in order.
#[derive(Debug, Default)]
pub(crate) struct Documents(FxHashMap<DocumentId, Vec<(u32, u32)>>);

impl Documents {
    /// Note a chunk's slot and return the one that it had. All chunks of a document share one copy of its id.
    pub(crate) fn place(&mut self, key: &mut ChunkKey, slot: u32) -> Option<u32> {
        if let Some((document_id, _)) = self.0.get_key_value(&key.document_id) {
            key.document_id = document_id.clone();
        }
        let chunks = self.0.entry(key.document_id.clone()).or_insert_with(|| Vec::with_capacity(1));
        match chunks.binary_search_by_key(&key.chunk_index, |&(index, _)| index) {
            Ok(place) => Some(std::mem::replace(&mut chunks[place].1, slot)),
            Err(place) => {
                chunks.insert(place, (key.chunk_index, slot));
                None
            }
        }
    }

    /// Forget a document and return the slots of its chunks.
    pub(crate) fn remove(&mut self, document_id: &DocumentId) -> Vec<u32> {
        self.0.remove(document_id).unwrap_or_default().into_iter().map(|(_, slot)| slot).collect()
    }
}
