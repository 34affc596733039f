//! Where the vectors lie: rows in segments, what each slot is, and which slots are alive.

use std::ops::Range;

use roaring::RoaringBitmap;

use super::codes::Codes;
use super::documents::{Change, Documents};
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
    documents: Documents,
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
            documents: Documents::new(),
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
        self.documents.find(key, &self.alive)
    }

    /// The living slots whose metadata matches; `None` stands for all that are alive.
    pub(super) fn eligible(&self, filter: &Metadata) -> Option<RoaringBitmap> {
        self.columns.eligible(filter).map(|matching| matching & &self.alive)
    }

    /// Find the memory for so many more vectors, beside the readers: the system may take milliseconds for a huge page.
    pub(super) fn populate(&self, count: usize) {
        self.vectors.populate(count);
        if let Some(codes) = &self.codes {
            codes.populate(count);
        }
    }

    /// Append a chunk that no search sees until it is entered and the change is made.
    pub(super) fn stage(&mut self, key: ChunkKey, unit: &[f32], metadata: &Metadata, handle: u64) {
        self.columns.insert(self.slots() as u32, metadata);
        self.vectors.push(unit);
        if let Some(codes) = &mut self.codes {
            codes.push(unit);
        }
        self.keys.push(key);
        self.handles.push(handle);
    }

    /// Give the staged chunks of these slots their places; `change` is to bring them to life in the stead of older ones.
    pub(super) fn enter(&mut self, slots: Range<usize>, change: &mut Change) {
        for (slot, key) in (slots.start as u32..).zip(&self.keys[slots]) {
            self.documents.place(key, slot, &self.alive, change);
        }
    }

    /// The change that ends all living chunks of a document.
    pub(super) fn removal(&self, document_id: &DocumentId) -> Change {
        Change { dying: self.documents.slots(document_id, &self.alive), ..Change::default() }
    }

    /// Make a change, in one step and a time that hardly depends on its size: bitmaps are joined by the word.
    pub(super) fn publish(&mut self, change: &Change) {
        self.alive -= &change.dying;
        self.alive |= &change.born;
    }

    /// Forget the places of a document's dead chunks.
    pub(super) fn forget(&mut self, document_id: &DocumentId) {
        self.documents.forget(document_id, &self.alive);
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
            documents: Documents::new(),
        };
        let mut change = Change::default();
        compacted.enter(0..compacted.slots(), &mut change);
        compacted.publish(&change);
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
        let mut change = Change::default();
        chunks.enter(first..chunks.slots(), &mut change);
        chunks.publish(&change);
    }

    fn remove(chunks: &mut Chunks, document: i64) -> u64 {
        let change = chunks.removal(&DocumentId::Int(document));
        chunks.publish(&change);
        chunks.forget(&DocumentId::Int(document));
        change.dying.len()
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
        assert_eq!(remove(&mut chunks, 1), 43_694);
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
        assert_eq!(remove(&mut chunks, 7), 2000);
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
    fn what_is_staged_and_entered_is_not_there_yet() {
        let mut chunks = Chunks::new(2, Quantization::None);
        let metadata = vec![("even".into(), Value::Bool(true))];
        let (old, new) = (ChunkKey::new("a", 0), ChunkKey::new("a", 1));
        put(&mut chunks, 7, 0, 0);
        chunks.stage(old.clone(), &[1.0, 0.0], &metadata, 1);
        let mut first = Change::default();
        chunks.enter(1..2, &mut first);
        chunks.publish(&first);
        let seen = |chunks: &Chunks| {
            let eligible = chunks.eligible(&metadata).unwrap_or_default().iter().collect::<Vec<_>>();
            (chunks.len(), chunks.find(&old), chunks.find(&new), eligible)
        };
        let before = seen(&chunks);
        assert_eq!(before, (2, Some(1), None, vec![0, 1]));
        for (key, handle) in [(&new, 2), (&old, 3), (&old, 4)] {
            chunks.stage(key.clone(), &[0.0, 1.0], &metadata, handle);
        }
        assert_eq!(seen(&chunks), before);
        let mut change = Change::default();
        for slot in 2..5 {
            chunks.enter(slot..slot + 1, &mut change);
            assert_eq!(seen(&chunks), before);
        }
        chunks.publish(&change);
        assert_eq!(seen(&chunks), (3, Some(4), Some(2), vec![0, 2, 4]));
    }

    #[test]
    fn a_change_is_a_matter_of_words_not_of_chunks() {
        // Of a hundred thousand chunks, what is done in one step is joined containers, of which there are two.
        let mut chunks = Chunks::new(1, Quantization::None);
        for round in 0..2_u64 {
            let first = chunks.slots();
            for number in 0..100_000 {
                chunks.stage(ChunkKey::new(DocumentId::Int(number % 11), number as u32), &[1.0], &Vec::new(), round);
            }
            let mut change = Change::default();
            (first..chunks.slots()).step_by(1000).for_each(|slot| chunks.enter(slot..slot + 1000, &mut change));
            assert_eq!((change.born.len(), change.dying.len()), (100_000, round * 100_000));
            assert!(change.born.statistics().n_containers <= 3 && change.dying.statistics().n_containers <= 3);
            chunks.publish(&change);
            assert_eq!(chunks.len(), 100_000);
        }
    }
}
