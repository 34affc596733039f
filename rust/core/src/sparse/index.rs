//! The index that callers see: readers beside one writer, and every write as a whole or not at all.

use std::ops::Range;

use parking_lot::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};
use rayon::prelude::*;

use super::rows::Rows;
use super::search::search as best;
use super::state::{Change, State};
use crate::documents::Documents;
use crate::error::{Error, Result};
use crate::filter::{Metadata, Predicate};
use crate::key::{ChunkKey, DocumentId};
use crate::slots::SEGMENT;
use crate::{patience, pool};

/// Postings that a writer stages before readers have their turn, unless a single chunk has more: a fraction of a
/// millisecond's worth.
const PIECE: usize = 1 << 14;

/// A chunk that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Which chunk.
    pub key: ChunkKey,
    /// Its dot product with the query, above 0.
    pub score: f64,
}

/// What a search asks for.
#[derive(Debug, Clone)]
pub struct Search {
    /// At most this many hits a query.
    pub top_k: usize,
    /// The least score of a hit; at 0 and below every chunk that shares a term reaches it.
    pub min_score: f64,
    /// What the chunk's metadata must fulfil.
    pub filter: Predicate,
}

impl Search {
    /// The best `top_k` without threshold or filter.
    pub fn best(top_k: usize) -> Self {
        Self { top_k, min_score: 0.0, filter: Predicate::default() }
    }

    fn floor(&self) -> Result<f64> {
        if self.min_score.is_finite() {
            return Ok(self.min_score);
        }
        let value = self.min_score.to_string();
        Err(Error::Parameter { field: "min_score", value, limit: "a finite number" })
    }
}

/// A live index of sparse vectors, searched by exact dot product.
///
/// Every method may be called from many threads at once. A write is seen as a whole or not at all, by the next search: its
/// chunks are staged piece by piece, unseen, and come to life in one step.
#[derive(Debug, Default)]
pub struct SparseIndex {
    /// Where the chunks of each document are, which only writers ask; held for a whole write.
    documents: Mutex<Documents>,
    state: RwLock<State>,
}

impl SparseIndex {
    /// An empty index.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many chunks there are, those without a term included.
    pub fn len(&self) -> usize {
        self.read().chunks
    }

    /// Whether there is no chunk.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Insert chunks, or replace those of the same key, in one step; of two of one key the later stays.
    ///
    /// `metadata`, where there is some, has an entry for every chunk.
    ///
    /// # Errors
    /// [`Error::Input`] where the arguments differ in length; nothing is stored then.
    pub fn upsert(&self, keys: Vec<ChunkKey>, vectors: Rows<'_>, metadata: Option<&[&Metadata]>) -> Result<()> {
        self.write(keys, vectors, metadata, None)
    }

    /// Put these chunks in the place of all that the document has, in one step.
    ///
    /// # Errors
    /// As [`Self::upsert`]; the document is then as it was.
    pub fn replace_document(
        &self,
        document_id: &DocumentId,
        chunk_indices: &[u32],
        vectors: Rows<'_>,
        metadata: Option<&[&Metadata]>,
    ) -> Result<()> {
        let keys = chunk_indices.iter().map(|&index| ChunkKey::new(document_id.clone(), index)).collect();
        self.write(keys, vectors, metadata, Some(document_id))
    }

    /// Remove a document and return how many chunks it had.
    pub fn remove(&self, document_id: &DocumentId) -> usize {
        let mut documents = self.documents.lock();
        let dying = documents.remove(document_id);
        let removed = dying.len();
        self.publish(0..0, dying);
        self.compact(&mut documents);
        removed
    }

    /// Remove everything.
    pub fn clear(&self) {
        let mut documents = self.documents.lock();
        *documents = Documents::default();
        let cleared = std::mem::take(&mut *self.state.write());
        drop(cleared);
    }

    /// The best chunks for each query, best first, equal scores by key; all against the same state, by all cores.
    ///
    /// There is no hit without a term of the query, so that a page may be shorter than `top_k`.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a threshold that is not finite.
    pub fn search(&self, queries: Rows<'_>, search: &Search) -> Result<Vec<Vec<Hit>>> {
        let floor = search.floor()?;
        let state = self.read();
        let eligible = state.columns.select(&search.filter);
        let page = |query| -> Vec<Hit> {
            let found = best(&state, query, search.top_k, floor, &eligible);
            found.into_iter().map(|hit| Hit { key: hit.key.clone(), score: hit.score }).collect()
        };
        let queries: Vec<_> = queries.iter().collect();
        Ok(match pool::threads().filter(|_| queries.len() > 1) {
            Some(threads) => threads.install(|| queries.into_par_iter().map(page).collect()),
            None => queries.into_iter().map(page).collect(),
        })
    }

    /// How many slots are held, dead ones included.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.read().slots()
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        patience::read(&self.state)
    }

    fn write(
        &self,
        mut keys: Vec<ChunkKey>,
        vectors: Rows<'_>,
        metadata: Option<&[&Metadata]>,
        replaced: Option<&DocumentId>,
    ) -> Result<()> {
        let entries = metadata.map_or(keys.len(), <[_]>::len);
        if keys.len() != vectors.len() || entries != vectors.len() {
            let (keys, vectors) = (keys.len(), vectors.len());
            let message =
                format!("{keys} chunks, {vectors} vectors and metadata for {entries}: give one of each a chunk");
            return Err(Error::Input(message));
        }
        let mut documents = self.documents.lock();
        let first = self.read().slots();
        if first + keys.len() > u32::MAX as usize {
            return Err(Error::Input(format!("an index holds at most {} chunks: divide the collection", u32::MAX)));
        }
        let mut dying = replaced.map(|document_id| documents.remove(document_id)).unwrap_or_default();
        dying.extend((first as u32..).zip(&mut keys).filter_map(|(slot, key)| documents.place(key, slot)));
        let born = first as u32..(first + keys.len()) as u32;
        self.stage(keys, vectors, metadata);
        self.publish(born, dying);
        self.compact(&mut documents);
        Ok(())
    }

    /// Bring the chunks in, piece by piece, with a turn for the readers after each.
    fn stage(&self, keys: Vec<ChunkKey>, vectors: Rows<'_>, metadata: Option<&[&Metadata]>) {
        let first = self.read().slots();
        let mut metadata = metadata.unwrap_or_default().iter().copied();
        let mut chunks = keys.into_iter().zip(vectors.iter());
        for piece in pieces(first, vectors.iter().map(|(terms, _)| terms.len())) {
            let mut state = self.state.write();
            for (key, (terms, weights)) in chunks.by_ref().take(piece) {
                state.stage(key, terms, weights, metadata.next());
            }
            RwLockWriteGuard::unlock_fair(state);
            self.seal();
        }
    }

    /// Lay down the lists of a segment that has become full, beside the readers.
    fn seal(&self) {
        let Some(sealed) = self.read().sealed_last() else { return };
        let open = self.state.write().replace_last(sealed);
        drop(open);
    }

    /// Make a change; the writers' lock must be held.
    fn publish(&self, born: Range<u32>, dying: Vec<u32>) {
        let weight = self.read().weigh(&dying);
        self.state.write().publish(&Change { born, dying, weight });
    }

    /// Leave behind what is dead when that is much: the copy is made while readers read on, then put in place.
    fn compact(&self, documents: &mut Documents) {
        let compacted = {
            let state = self.read();
            if !state.is_sparse() {
                return;
            }
            state.compacted()
        };
        *documents = compacted.documents();
        let sparse = std::mem::replace(&mut *self.state.write(), compacted);
        drop(sparse);
    }
}

/// How many chunks of these numbers of terms are staged at a time, from a slot on: [`PIECE`] postings, and none across the
/// end of a segment.
fn pieces(first: usize, sizes: impl Iterator<Item = usize>) -> Vec<usize> {
    let (mut pieces, mut postings) = (Vec::new(), 0);
    for (slot, size) in (first..).zip(sizes) {
        postings += size + 1;
        match pieces.last_mut() {
            Some(piece) if postings <= PIECE && !slot.is_multiple_of(SEGMENT) => *piece += 1,
            _ => {
                pieces.push(1);
                postings = size + 1;
            }
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_piece_is_no_more_than_it_must_be(
            first in 0..2 * SEGMENT, sizes in prop::collection::vec(prop_oneof![9 => 0..900_usize, 1 => 0..2 * PIECE], 0..900),
        ) {
            let pieces = pieces(first, sizes.iter().copied());
            prop_assert_eq!(pieces.iter().sum::<usize>(), sizes.len());
            let mut start = 0;
            for piece in pieces {
                let sizes = &sizes[start..start + piece];
                prop_assert!(piece == 1 || sizes.iter().sum::<usize>() + piece <= PIECE);
                prop_assert_eq!((first + start) / SEGMENT, (first + start + piece - 1) / SEGMENT);
                start += piece;
            }
        }

        #[test]
        fn pieces_are_few(count in 1_usize..9000, size in 0_usize..300) {
            let fit = PIECE / (size + 1);
            prop_assert_eq!(pieces(0, std::iter::repeat_n(size, count)).len(), count.div_ceil(fit));
        }
    }
}
