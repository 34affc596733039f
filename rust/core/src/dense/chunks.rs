//! Where the vectors lie: rows in segments, what each slot is, and which slots are alive.

use roaring::RoaringBitmap;
use rustc_hash::FxHashMap;

use crate::filter::{Columns, Metadata};
use crate::key::{ChunkKey, DocumentId};

/// Slots of a segment.
pub(super) const SEGMENT: u32 = 65_536;

/// A compaction waits until there are this many dead slots, and until they are more than a quarter of all.
const FEWEST_DEAD: usize = 1024;

/// Chunks by slot. A slot is written once; a removed one stays, dead, until the next compaction.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    /// Unit vectors, `SEGMENT` rows a segment, so that growth never copies more than the first segment.
    segments: Vec<Vec<f32>>,
    keys: Vec<ChunkKey>,
    handles: Vec<u64>,
    alive: RoaringBitmap,
    columns: Columns,
    /// The living chunks of each document as (`chunk_index`, slot), in order.
    documents: FxHashMap<DocumentId, Vec<(u32, u32)>>,
}

impl Chunks {
    /// How many chunks are alive.
    pub(super) fn len(&self) -> usize {
        self.alive.len() as usize
    }

    /// How many slots there are, dead ones included.
    pub(super) fn slots(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn alive(&self) -> &RoaringBitmap {
        &self.alive
    }

    pub(super) fn segment(&self, segment: u32) -> &[f32] {
        &self.segments[segment as usize]
    }

    pub(super) fn key(&self, slot: u32) -> &ChunkKey {
        &self.keys[slot as usize]
    }

    pub(super) fn handle(&self, slot: u32) -> u64 {
        self.handles[slot as usize]
    }

    pub(super) fn row(&self, slot: u32, dimensions: usize) -> &[f32] {
        let start = (slot % SEGMENT) as usize * dimensions;
        &self.segment(slot / SEGMENT)[start..start + dimensions]
    }

    /// The slot of a living chunk.
    pub(super) fn find(&self, key: &ChunkKey) -> Option<u32> {
        let chunks = self.documents.get(&key.document_id)?;
        let place = chunks.binary_search_by_key(&key.chunk_index, |&(index, _)| index).ok()?;
        Some(chunks[place].1)
    }

    /// The living slots whose metadata matches; `None` stands for all that are alive.
    pub(super) fn eligible(&self, filter: &Metadata) -> Option<RoaringBitmap> {
        self.columns.eligible(filter).map(|matching| matching & &self.alive)
    }

    /// Append a chunk; a living one of the same key dies.
    pub(super) fn put(
        &mut self,
        key: ChunkKey,
        unit: impl ExactSizeIterator<Item = f32>,
        metadata: &Metadata,
        handle: u64,
    ) {
        let slot = self.keys.len() as u32;
        if slot.is_multiple_of(SEGMENT) {
            // The first segment grows as it fills, the others are allocated whole.
            let capacity = if slot == 0 { 0 } else { SEGMENT as usize * unit.len() };
            self.segments.push(Vec::with_capacity(capacity));
        }
        if let Some(segment) = self.segments.last_mut() {
            segment.extend(unit);
        }
        let chunks = self.documents.entry(key.document_id.clone()).or_default();
        match chunks.binary_search_by_key(&key.chunk_index, |&(index, _)| index) {
            Ok(place) => {
                self.alive.remove(chunks[place].1);
                chunks[place].1 = slot;
            }
            Err(place) => chunks.insert(place, (key.chunk_index, slot)),
        }
        self.keys.push(key);
        self.handles.push(handle);
        self.alive.insert(slot);
        self.columns.insert(slot, metadata);
    }

    /// Remove a document and return how many chunks it had.
    pub(super) fn remove(&mut self, document_id: &DocumentId) -> usize {
        let chunks = self.documents.remove(document_id).unwrap_or_default();
        for &(_, slot) in &chunks {
            self.alive.remove(slot);
        }
        chunks.len()
    }

    /// Close the gaps when more than a quarter of the slots are dead.
    pub(super) fn compact_if_sparse(&mut self, dimensions: usize) {
        let dead = self.slots() - self.len();
        if dead >= FEWEST_DEAD && dead * 4 > self.slots() {
            self.compact(dimensions);
        }
    }

    /// Move the living to the front, in place and in order.
    fn compact(&mut self, dimensions: usize) {
        let mut moved = vec![None; self.slots()];
        let alive = std::mem::take(&mut self.alive);
        let survivors = alive.len() as u32;
        for (to, from) in (0_u32..).zip(&alive) {
            moved[from as usize] = Some(to);
            if from != to {
                self.move_row(from, to, dimensions);
                self.keys.swap(from as usize, to as usize);
                self.handles[to as usize] = self.handles[from as usize];
            }
        }
        self.truncate(survivors, dimensions);
        self.columns.renumber(&moved);
        self.alive.insert_range(0..survivors);
        for (slot, key) in (0_u32..).zip(&self.keys) {
            if let Some(chunks) = self.documents.get_mut(&key.document_id)
                && let Ok(place) = chunks.binary_search_by_key(&key.chunk_index, |&(index, _)| index)
            {
                chunks[place].1 = slot;
            }
        }
    }

    /// Copy a row to a lower slot.
    fn move_row(&mut self, from: u32, to: u32, dimensions: usize) {
        let source = (from % SEGMENT) as usize * dimensions;
        let target = (to % SEGMENT) as usize * dimensions;
        let (before, rest) = self.segments.split_at_mut((from / SEGMENT) as usize);
        let Some(segment) = rest.first_mut() else { return };
        match before.get_mut((to / SEGMENT) as usize) {
            Some(lower) => lower[target..target + dimensions].copy_from_slice(&segment[source..source + dimensions]),
            None => segment.copy_within(source..source + dimensions, target),
        }
    }

    fn truncate(&mut self, slots: u32, dimensions: usize) {
        self.segments.truncate(slots.div_ceil(SEGMENT) as usize);
        if let Some(segment) = self.segments.last_mut() {
            let rows = slots - (slots - 1) / SEGMENT * SEGMENT;
            segment.truncate(rows as usize * dimensions);
        }
        self.keys.truncate(slots as usize);
        self.keys.shrink_to_fit();
        self.handles.truncate(slots as usize);
        self.handles.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::Value;

    fn put(chunks: &mut Chunks, document: i64, index: u32, number: u32) {
        let metadata = vec![("even".into(), Value::Bool(number.is_multiple_of(2)))];
        let unit = [number as f32, -(number as f32)];
        chunks.put(ChunkKey::new(DocumentId::Int(document), index), unit.into_iter(), &metadata, u64::from(number));
    }

    #[test]
    fn compaction_across_segments_keeps_every_survivor() {
        let mut chunks = Chunks::default();
        let total = SEGMENT * 2 + 10;
        for number in 0..total {
            put(&mut chunks, i64::from(number % 3), number, number);
        }
        assert_eq!(chunks.remove(&DocumentId::Int(1)), 43_694);
        chunks.compact_if_sparse(2);
        assert_eq!((chunks.slots(), chunks.len()), (87_388, 87_388));
        assert_eq!(chunks.segments.len(), 2);
        for number in 0..total {
            let key = ChunkKey::new(DocumentId::Int(i64::from(number % 3)), number);
            let slot = chunks.find(&key);
            assert_eq!(slot.is_none(), number % 3 == 1);
            if let Some(slot) = slot {
                assert_eq!(chunks.key(slot), &key);
                assert_eq!(chunks.handle(slot), u64::from(number));
                assert_eq!(chunks.row(slot, 2)[0].to_bits(), (number as f32).to_bits());
            }
        }
        let even = chunks.eligible(&vec![("even".into(), Value::Bool(true))]).unwrap();
        assert_eq!(even.len(), u64::from((0..total).filter(|n| n % 2 == 0 && n % 3 != 1).count() as u32));
        assert!(even.iter().all(|slot| chunks.handle(slot) % 2 == 0));
        put(&mut chunks, 9, 0, total);
        assert_eq!(chunks.find(&ChunkKey::new(DocumentId::Int(9), 0)), Some(87_388));
    }

    #[test]
    fn a_compaction_that_leaves_nothing() {
        let mut chunks = Chunks::default();
        for number in 0..2000 {
            put(&mut chunks, 7, number, number);
        }
        chunks.remove(&DocumentId::Int(7));
        chunks.compact_if_sparse(2);
        assert_eq!((chunks.slots(), chunks.len(), chunks.segments.len()), (0, 0, 0));
        put(&mut chunks, 7, 0, 5);
        assert_eq!(chunks.row(0, 2), [5.0, -5.0]);
    }

    #[test]
    fn few_or_rare_dead_slots_stay() {
        let mut chunks = Chunks::default();
        for number in 0..900 {
            put(&mut chunks, 1, 0, number);
        }
        chunks.compact_if_sparse(2);
        assert_eq!((chunks.slots(), chunks.len()), (900, 1));
    }
}
