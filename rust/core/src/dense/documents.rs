//! Which slots the chunks of each document have, before and after a write.

use std::hash::BuildHasher;

use roaring::RoaringBitmap;
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::key::{ChunkKey, DocumentId};

/// Tables that the documents are divided among: a table that grows moves all that it holds while readers wait.
const TABLES: usize = 64;

/// Where a chunk is: in `slot` when that is alive, otherwise in `before` when that is.
#[derive(Debug)]
struct Place {
    chunk_index: u32,
    slot: u32,
    before: u32,
}

impl Place {
    fn alive(&self, alive: &RoaringBitmap) -> Option<u32> {
        [self.slot, self.before].into_iter().find(|&slot| alive.contains(slot))
    }
}

/// The slots that a write brings to life and those that it ends.
#[derive(Debug, Default)]
pub(super) struct Change {
    pub(super) born: RoaringBitmap,
    pub(super) dying: RoaringBitmap,
}

/// The places of each document's chunks, in the order of their indices.
#[derive(Debug)]
pub(super) struct Documents {
    tables: Vec<FxHashMap<DocumentId, Vec<Place>>>,
}

impl Documents {
    pub(super) fn new() -> Self {
        Self { tables: (0..TABLES).map(|_| FxHashMap::default()).collect() }
    }

    /// The slot of a living chunk.
    pub(super) fn find(&self, key: &ChunkKey, alive: &RoaringBitmap) -> Option<u32> {
        let places = self.tables[table(&key.document_id)].get(&key.document_id)?;
        let place = places.binary_search_by_key(&key.chunk_index, |place| place.chunk_index).ok()?;
        places[place].alive(alive)
    }

    /// Give a chunk a slot. Until `change` is made it is found where it was.
    pub(super) fn place(&mut self, key: &ChunkKey, slot: u32, alive: &RoaringBitmap, change: &mut Change) {
        let table = &mut self.tables[table(&key.document_id)];
        let places = match table.get_mut(&key.document_id) {
            Some(places) => places,
            None => table.entry(key.document_id.clone()).or_default(),
        };
        match places.binary_search_by_key(&key.chunk_index, |place| place.chunk_index) {
            Ok(found) => {
                let place = &mut places[found];
                change.born.remove(place.slot);
                if let Some(before) = place.alive(alive) {
                    change.dying.insert(before);
                    place.before = before;
                }
                place.slot = slot;
            }
            Err(at) => places.insert(at, Place { chunk_index: key.chunk_index, slot, before: slot }),
        }
        change.born.insert(slot);
    }

    /// The living slots of a document.
    pub(super) fn slots(&self, document_id: &DocumentId, alive: &RoaringBitmap) -> RoaringBitmap {
        let places = self.tables[table(document_id)].get(document_id).into_iter().flatten();
        places.filter_map(|place| place.alive(alive)).collect()
    }

    /// Forget the chunks of a document that are no longer alive.
    pub(super) fn forget(&mut self, document_id: &DocumentId, alive: &RoaringBitmap) {
        let table = &mut self.tables[table(document_id)];
        if let Some(places) = table.get_mut(document_id) {
            places.retain(|place| place.alive(alive).is_some());
            if places.is_empty() {
                table.remove(document_id);
            }
        }
    }
}

fn table(document_id: &DocumentId) -> usize {
    // The tables themselves go by the lowest and the highest bits.
    (FxBuildHasher.hash_one(document_id) >> 32) as usize % TABLES
}
