//! Where the chunks of each document are.

use std::collections::hash_map::Entry;
use std::hash::BuildHasher;

use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::key::{ChunkKey, DocumentId};
use crate::memory::{map as map_bytes, vector};

const MAPS: usize = 64;

/// The living chunks of each document, in many small maps, so that no write has to wait while a large one grows.
#[derive(Debug)]
pub(crate) struct Documents {
    maps: Vec<FxHashMap<DocumentId, Chunks>>,
}

/// A document's (`chunk_index`, slot) pairs, in order.
#[derive(Debug)]
enum Chunks {
    One((u32, u32)),
    Many(Vec<(u32, u32)>),
}

impl Chunks {
    fn pairs(&self) -> &[(u32, u32)] {
        match self {
            Self::One(pair) => std::slice::from_ref(pair),
            Self::Many(pairs) => pairs,
        }
    }

    /// What they take besides themselves.
    fn bytes(&self) -> usize {
        match self {
            Self::One(_) => 0,
            Self::Many(pairs) => vector(pairs),
        }
    }

    fn place(&self, chunk_index: u32) -> Result<usize, usize> {
        self.pairs().binary_search_by_key(&chunk_index, |&(index, _)| index)
    }
}

impl Default for Documents {
    fn default() -> Self {
        Self { maps: std::iter::repeat_with(FxHashMap::default).take(MAPS).collect() }
    }
}

impl Documents {
    /// The slot of a living chunk.
    pub(crate) fn find(&self, key: &ChunkKey) -> Option<u32> {
        let chunks = self.maps[map(&key.document_id)].get(&key.document_id)?;
        Some(chunks.pairs()[chunks.place(key.chunk_index).ok()?].1)
    }

    /// Note a chunk's slot and return the one that it had. The key takes the copy of its document id that all share.
    pub(crate) fn place(&mut self, key: &mut ChunkKey, slot: u32) -> Option<u32> {
        let pair = (key.chunk_index, slot);
        let mut entry = match self.maps[map(&key.document_id)].entry(key.document_id.clone()) {
            Entry::Occupied(entry) => entry,
            Entry::Vacant(entry) => {
                entry.insert(Chunks::One(pair));
                return None;
            }
        };
        key.document_id = entry.key().clone();
        let chunks = entry.get_mut();
        match (chunks.place(key.chunk_index), &mut *chunks) {
            (Ok(_), Chunks::One(only)) => Some(std::mem::replace(only, pair).1),
            (Ok(place), Chunks::Many(pairs)) => Some(std::mem::replace(&mut pairs[place], pair).1),
            (Err(place), Chunks::One(only)) => {
                let mut pairs = vec![*only];
                pairs.insert(place, pair);
                *chunks = Chunks::Many(pairs);
                None
            }
            (Err(place), Chunks::Many(pairs)) => {
                pairs.insert(place, pair);
                None
            }
        }
    }

    /// Forget a document and return the slots of its chunks.
    pub(crate) fn remove(&mut self, document_id: &DocumentId) -> Vec<u32> {
        let chunks = self.maps[map(document_id)].remove(document_id);
        chunks.iter().flat_map(Chunks::pairs).map(|&(_, slot)| slot).collect()
    }

    /// What they take, their ids included.
    pub(crate) fn bytes(&self) -> usize {
        let ids = self.maps.iter().flat_map(FxHashMap::keys).map(DocumentId::bytes).sum::<usize>();
        let chunks = self.maps.iter().flat_map(FxHashMap::values).map(Chunks::bytes).sum::<usize>();
        self.maps.iter().map(map_bytes).sum::<usize>() + ids + chunks
    }

    /// Forget one chunk.
    pub(crate) fn remove_chunk(&mut self, key: &ChunkKey) {
        let map = &mut self.maps[map(&key.document_id)];
        let Some(chunks) = map.get_mut(&key.document_id) else { return };
        if let (Ok(place), Chunks::Many(pairs)) = (chunks.place(key.chunk_index), &mut *chunks) {
            pairs.remove(place);
        }
        let is_gone = match chunks {
            Chunks::One((index, _)) => *index == key.chunk_index,
            Chunks::Many(pairs) => pairs.is_empty(),
        };
        if is_gone {
            map.remove(&key.document_id);
        }
    }
}

fn map(document_id: &DocumentId) -> usize {
    (FxBuildHasher.hash_one(document_id) >> 32) as usize % MAPS
}
