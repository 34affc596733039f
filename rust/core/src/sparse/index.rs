//! The index that callers see: many readers or one writer, and every write as a whole or not at all.

use parking_lot::{RwLock, RwLockUpgradableReadGuard, RwLockWriteGuard};
use rayon::prelude::*;

use super::rows::Rows;
use super::search::search as best;
use super::state::State;
use crate::error::{Error, Result};
use crate::filter::{Metadata, Predicate};
use crate::key::{ChunkKey, DocumentId};
use crate::pool;

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
/// Every method may be called from many threads at once. A write is seen as a whole or not at all, by the next search.
#[derive(Debug, Default)]
pub struct SparseIndex {
    state: RwLock<State>,
}

impl SparseIndex {
    /// An empty index.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many chunks there are, those without a term included.
    pub fn len(&self) -> usize {
        self.state.read().chunks
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
        self.write(keys, vectors, metadata, |_| ())
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
        self.write(keys, vectors, metadata, |state| {
            state.remove(document_id);
        })
    }

    /// Remove a document and return how many chunks it had.
    pub fn remove(&self, document_id: &DocumentId) -> usize {
        let mut state = self.state.write();
        let removed = state.remove(document_id);
        finish(state);
        removed
    }

    /// Remove everything.
    pub fn clear(&self) {
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
        let state = self.state.read();
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
        self.state.read().slots()
    }

    fn write(
        &self,
        keys: Vec<ChunkKey>,
        vectors: Rows<'_>,
        metadata: Option<&[&Metadata]>,
        before: impl FnOnce(&mut State),
    ) -> Result<()> {
        let entries = metadata.map_or(keys.len(), <[_]>::len);
        if keys.len() != vectors.len() || entries != vectors.len() {
            let (keys, vectors) = (keys.len(), vectors.len());
            let message =
                format!("{keys} chunks, {vectors} vectors and metadata for {entries}: give one of each a chunk");
            return Err(Error::Input(message));
        }
        let mut state = self.state.write();
        if state.slots() + keys.len() > u32::MAX as usize {
            return Err(Error::Input(format!("an index holds at most {} chunks: divide the collection", u32::MAX)));
        }
        before(&mut state);
        let mut metadata = metadata.unwrap_or_default().iter();
        for (key, (terms, weights)) in keys.into_iter().zip(vectors.iter()) {
            state.put(key, terms, weights, metadata.next().copied());
        }
        finish(state);
        Ok(())
    }
}

/// End a write: compact or seal if need be, which other writers wait for while readers go on.
fn finish(state: RwLockWriteGuard<'_, State>) {
    if state.is_sparse() {
        let state = RwLockWriteGuard::downgrade_to_upgradable(state);
        let compacted = state.compacted();
        let mut state = RwLockUpgradableReadGuard::upgrade(state);
        let sparse = std::mem::replace(&mut *state, compacted);
        drop(state);
        drop(sparse);
    } else {
        let state = RwLockWriteGuard::downgrade_to_upgradable(state);
        let Some(sealed) = state.sealed_last() else { return };
        let mut state = RwLockUpgradableReadGuard::upgrade(state);
        let open = state.replace_last(sealed);
        drop(state);
        drop(open);
    }
}
