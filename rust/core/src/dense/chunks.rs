//! Where the vectors lie: rows in segments, what each slot is, and which slots are alive.

use roaring::RoaringBitmap;
use rustc_hash::FxHashMap;

use super::codes::Codes;
use super::quantization::Quantization;
use super::vectors::Vectors;
use crate::filter::{Columns, Metadata};
use crate::key::{ChunkKey, DocumentId};

/// A compaction waits until there are this many dead slots, and until they are more than a quarter of all.
const FEWEST_DEAD: usize = 1024;

/// Chunks by slot. A slot is written once; a removed one stays, dead, until the next compaction.
#[derive(Debug)]
pub(super) struct Chunks {
    quantization: Quantization,
    /// Unit vectors.
    vectors: Vectors,
    codes: Option<Codes>,
    keys: Vec<ChunkKey>,
    handles: Vec<u64>,
    alive: RoaringBitmap,
    columns: Columns,
    /// The living chunks of each document as (`chunk_index`, slot), in order.
    documents: FxHashMap<DocumentId, Vec<(u32, u32)>>,
}

impl Chunks {
    pub(super) fn new(dimensions: usize, quantization: Quantization) -> Self {
        Self {
            quantization,
            vectors: quantization.vectors(dimensions),
            codes: quantization.codes(dimensions),
            keys: Vec::new(),
            handles: Vec::new(),
            alive: RoaringBitmap::new(),
            columns: Columns::default(),
            documents: FxHashMap::default(),
        }
    }

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

    pub(super) fn quantization(&self) -> Quantization {
        self.quantization
    }

    pub(super) fn vectors(&self) -> &Vectors {
        &self.vectors
    }

    pub(super) fn codes(&self) -> Option<&Codes> {
        self.codes.as_ref()
    }

    pub(super) fn key(&self, slot: u32) -> &ChunkKey {
        &self.keys[slot as usize]
    }

    pub(super) fn handle(&self, slot: u32) -> u64 {
        self.handles[slot as usize]
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

    /// Append a chunk that no search sees until it is published.
    pub(super) fn stage(&mut self, key: ChunkKey, unit: &[f32], metadata: &Metadata, handle: u64) {
        self.columns.insert(self.slots() as u32, metadata);
        self.vectors.push(unit);
        if let Some(codes) = &mut self.codes {
            codes.push(unit);
        }
        self.keys.push(key);
        self.handles.push(handle);
    }

    /// Bring the chunks of the slots from `first` on to life; living ones of the same keys die.
    pub(super) fn publish(&mut self, first: usize) {
        for (slot, key) in (first as u32..).zip(&self.keys[first..]) {
            let chunks = self.documents.entry(key.document_id.clone()).or_default();
            match chunks.binary_search_by_key(&key.chunk_index, |&(index, _)| index) {
                Ok(place) => {
                    self.alive.remove(chunks[place].1);
                    chunks[place].1 = slot;
                }
                Err(place) => chunks.insert(place, (key.chunk_index, slot)),
            }
            self.alive.insert(slot);
        }
    }

    /// Remove a document and return how many chunks it had.
    pub(super) fn remove(&mut self, document_id: &DocumentId) -> usize {
        let chunks = self.documents.remove(document_id).unwrap_or_default();
        for &(_, slot) in &chunks {
            self.alive.remove(slot);
        }
        chunks.len()
    }

    /// The living without gaps, in order, when more than a quarter of the slots are dead.
    pub(super) fn compacted_if_sparse(&self) -> Option<Self> {
        let dead = self.slots() - self.len();
        (dead >= FEWEST_DEAD && dead * 4 > self.slots()).then(|| self.compacted())
    }

    fn compacted(&self) -> Self {
        let mut moved = vec![None; self.slots()];
        for (to, from) in (0_u32..).zip(&self.alive) {
            moved[from as usize] = Some(to);
        }
        let mut columns = self.columns.clone();
        columns.renumber(&moved);
        let mut compacted = Self {
            quantization: self.quantization,
            vectors: self.vectors.kept(&self.alive),
            codes: self.codes.as_ref().map(|codes| codes.kept(&self.alive)),
            keys: self.alive.iter().map(|slot| self.key(slot).clone()).collect(),
            handles: self.alive.iter().map(|slot| self.handle(slot)).collect(),
            alive: RoaringBitmap::new(),
            columns,
            documents: FxHashMap::default(),
        };
        compacted.publish(0);
        compacted
    }
}

#[cfg(test)]
mod tests {
    use super::super::segments::SEGMENT;
    use super::*;
    use crate::filter::Value;

    fn put(chunks: &mut Chunks, document: i64, index: u32, number: u32) {
        let metadata = vec![("even".into(), Value::Bool(number.is_multiple_of(2)))];
        let unit = [number as f32, -(number as f32)];
        let first = chunks.slots();
        chunks.stage(ChunkKey::new(DocumentId::Int(document), index), &unit, &metadata, u64::from(number));
        chunks.publish(first);
    }

    fn vector(chunks: &Chunks, slot: u32) -> Vec<f32> {
        let mut values = Vec::new();
        chunks.vectors().read(slot, &mut values);
        values
    }

    #[test]
    fn compaction_across_segments_keeps_every_survivor() {
        let mut chunks = Chunks::new(2, Quantization::None);
        let total = SEGMENT * 2 + 10;
        for number in 0..total {
            put(&mut chunks, i64::from(number % 3), number, number);
        }
        assert_eq!(chunks.remove(&DocumentId::Int(1)), 43_694);
        let mut chunks = chunks.compacted_if_sparse().unwrap();
        assert_eq!((chunks.slots(), chunks.len()), (87_388, 87_388));
        for number in 0..total {
            let key = ChunkKey::new(DocumentId::Int(i64::from(number % 3)), number);
            let slot = chunks.find(&key);
            assert_eq!(slot.is_none(), number % 3 == 1);
            if let Some(slot) = slot {
                assert_eq!(chunks.key(slot), &key);
                assert_eq!(chunks.handle(slot), u64::from(number));
                assert_eq!(vector(&chunks, slot), [number as f32, -(number as f32)]);
            }
        }
        let even = chunks.eligible(&vec![("even".into(), Value::Bool(true))]).unwrap();
        assert_eq!(even.len(), u64::from((0..total).filter(|n| n % 2 == 0 && n % 3 != 1).count() as u32));
        assert!(even.iter().all(|slot| chunks.handle(slot).is_multiple_of(2)));
        put(&mut chunks, 9, 0, total);
        assert_eq!(chunks.find(&ChunkKey::new(DocumentId::Int(9), 0)), Some(87_388));
    }

    #[test]
    fn a_compaction_that_leaves_nothing() {
        let mut chunks = Chunks::new(2, Quantization::None);
        for number in 0..2000 {
            put(&mut chunks, 7, number, number);
        }
        chunks.remove(&DocumentId::Int(7));
        let mut chunks = chunks.compacted_if_sparse().unwrap();
        assert_eq!((chunks.slots(), chunks.len()), (0, 0));
        put(&mut chunks, 7, 0, 5);
        assert_eq!(vector(&chunks, 0), [5.0, -5.0]);
    }

    #[test]
    fn few_or_rare_dead_slots_stay() {
        let mut chunks = Chunks::new(2, Quantization::None);
        for number in 0..900 {
            put(&mut chunks, 1, 0, number);
        }
        assert!(chunks.compacted_if_sparse().is_none());
        assert_eq!((chunks.slots(), chunks.len()), (900, 1));
    }

    #[test]
    fn what_is_staged_is_not_there_yet() {
        let mut chunks = Chunks::new(1, Quantization::None);
        let metadata = vec![("even".into(), Value::Bool(true))];
        chunks.stage(ChunkKey::new("a", 0), &[1.0], &metadata, 0);
        assert_eq!((chunks.len(), chunks.find(&ChunkKey::new("a", 0))), (0, None));
        assert_eq!(chunks.eligible(&metadata), Some(RoaringBitmap::new()));
        chunks.publish(0);
        assert_eq!((chunks.len(), chunks.find(&ChunkKey::new("a", 0))), (1, Some(0)));
    }
}
