//! The index that callers see: many readers or one writer, and every write as a whole or not at all.

use std::borrow::Cow;

use parking_lot::{Mutex, RwLock, RwLockWriteGuard};

use super::chunks::Chunks;
use super::documents::Change;
use super::quantization::Quantization;
use super::scan::Scan;
use super::unit::{Query, Rows, norm, normalize};
use crate::error::{Error, Result};
use crate::filter::Metadata;
use crate::key::{ChunkKey, DocumentId};

/// Numbers that a writer stages before readers have their turn: about a tenth of a millisecond's worth.
const PIECE_NUMBERS: usize = 1 << 16;

/// Staged chunks that a writer gives their places before readers have their turn: about as long.
const PIECE_PLACES: usize = 1 << 9;

/// A chunk that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Which chunk.
    pub key: ChunkKey,
    /// Its cosine similarity to the query, in [-1, 1].
    pub score: f64,
    /// Which version of the chunk: the number that its insertion returned.
    pub handle: u64,
}

/// What a search asks for.
#[derive(Debug, Clone)]
pub struct Search {
    /// At most this many hits a query.
    pub top_k: usize,
    /// The least cosine of a hit; 0 is no threshold, so that chunks of negative cosine are hits too.
    pub min_score: f64,
    /// Every entry must equal the chunk's metadata; empty for no filter.
    pub filter: Metadata,
}

impl Search {
    /// The best `top_k` without threshold or filter.
    pub fn best(top_k: usize) -> Self {
        Self { top_k, min_score: 0.0, filter: Metadata::new() }
    }

    fn floor(&self) -> Result<f64> {
        if !self.min_score.is_finite() {
            let value = self.min_score.to_string();
            return Err(Error::Parameter { field: "min_score", value, limit: "a finite number" });
        }
        Ok(if self.min_score == 0.0 { f64::NEG_INFINITY } else { self.min_score })
    }
}

#[derive(Debug)]
struct State {
    chunks: Chunks,
    dimensions: Option<usize>,
    /// The handle of the next chunk; never goes back, so that a handle means one version of a chunk for ever.
    next_handle: u64,
}

impl State {
    fn new(dimensions: Option<usize>, quantization: Quantization, next_handle: u64) -> Self {
        Self { chunks: Chunks::new(dimensions.unwrap_or_default(), quantization), dimensions, next_handle }
    }

    /// Fails unless these vectors have the dimensions of those here.
    fn check_dimensions(&self, vectors: Rows<'_>, subject: impl FnOnce() -> String) -> Result<()> {
        let actual = vectors.dimensions();
        match self.dimensions {
            Some(expected) if expected != actual && !vectors.is_empty() => {
                Err(Error::Dimension { subject: subject(), expected, actual })
            }
            _ => Ok(()),
        }
    }

    /// Fails unless there is room for as many vectors.
    fn check_room(&self, vectors: Rows<'_>) -> Result<()> {
        if self.chunks.slots() + vectors.len() > u32::MAX as usize {
            return Err(Error::Input(format!("an index holds at most {} chunks: divide the collection", u32::MAX)));
        }
        Ok(())
    }
}

/// Chunks that have been checked and can be stored.
struct Batch<'a> {
    keys: Vec<ChunkKey>,
    vectors: Rows<'a>,
    norms: Vec<f64>,
    metadata: Option<&'a [Metadata]>,
}

impl<'a> Batch<'a> {
    fn checked(keys: Vec<ChunkKey>, vectors: Rows<'a>, metadata: Option<&'a [Metadata]>) -> Result<Self> {
        let (chunks, rows) = (keys.len(), vectors.len());
        if chunks != rows {
            return Err(Error::Input(format!("{chunks} chunks and {rows} vectors: there must be one vector a chunk")));
        }
        if let Some(entries) = metadata.map(<[_]>::len).filter(|&entries| entries != chunks) {
            return Err(Error::Input(format!("{chunks} chunks and metadata for {entries}: give one entry a chunk")));
        }
        let norms = keys.iter().zip(vectors.iter()).map(|(key, vector)| norm(vector, || key.to_string()));
        let norms = norms.collect::<Result<_>>()?;
        Ok(Self { keys, vectors, norms, metadata })
    }

    fn subject(&self) -> String {
        self.keys.first().map_or_else(|| "the batch".into(), ChunkKey::to_string)
    }
}

/// A live index of vectors: exact cosine top-k.
///
/// Every method may be called from many threads at once. A write is seen as a whole or not at all: its chunks are staged
/// and given their places piece by piece, unseen, and come to life in one step, so that searches go on while many come in
/// and never wait for longer than a piece.
#[derive(Debug)]
pub struct VectorIndex {
    dimensions: Option<usize>,
    quantization: Quantization,
    /// Held by a writer from its first look at the state to its last change; readers never take it.
    writing: Mutex<()>,
    state: RwLock<State>,
}

impl VectorIndex {
    /// An empty index; without `dimensions`, the first vectors decide them.
    ///
    /// # Errors
    /// [`Error::Parameter`] when `dimensions` is 0.
    pub fn new(dimensions: Option<usize>) -> Result<Self> {
        Self::quantized(dimensions, Quantization::None)
    }

    /// As [`Self::new`], with codes for a first pass or in half precision.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn quantized(dimensions: Option<usize>, quantization: Quantization) -> Result<Self> {
        if dimensions == Some(0) {
            return Err(Error::Parameter { field: "dimensions", value: "0".into(), limit: "at least 1" });
        }
        let state = RwLock::new(State::new(dimensions, quantization, 0));
        Ok(Self { dimensions, quantization, writing: Mutex::new(()), state })
    }

    /// Insert chunks, or replace those of the same key, and return the handle of each; of two of one key the later stays.
    ///
    /// `metadata`, if any, has an entry for every chunk.
    ///
    /// # Errors
    /// [`Error::Dimension`], [`Error::Vector`] or [`Error::Input`], each before anything is stored.
    pub fn upsert(&self, keys: Vec<ChunkKey>, vectors: Rows<'_>, metadata: Option<&[Metadata]>) -> Result<Vec<u64>> {
        self.write(keys, vectors, metadata, None)
    }

    /// Put these chunks in the place of all that the document has, in one step, and return their handles.
    ///
    /// # Errors
    /// As [`Self::upsert`]; the document is then as it was.
    pub fn replace_document(
        &self,
        document_id: &DocumentId,
        chunk_indices: &[u32],
        vectors: Rows<'_>,
        metadata: Option<&[Metadata]>,
    ) -> Result<Vec<u64>> {
        let keys = chunk_indices.iter().map(|&index| ChunkKey::new(document_id.clone(), index)).collect();
        self.write(keys, vectors, metadata, Some(document_id))
    }

    /// Remove a document and return how many chunks it had.
    pub fn remove(&self, document_id: &DocumentId) -> usize {
        let _writing = self.writing.lock();
        let change = self.state.read().chunks.removal(document_id);
        self.state.write().chunks.publish(&change);
        self.state.write().chunks.forget(document_id);
        self.compact_if_sparse();
        change.dying.len() as usize
    }

    /// The chunks nearest to `query`, best first.
    ///
    /// # Errors
    /// [`Error::Dimension`] or [`Error::Vector`] for the query, [`Error::Parameter`] for a threshold that is not finite.
    pub fn search(&self, query: &[f32], search: &Search) -> Result<Vec<Hit>> {
        Ok(self.search_many(Rows::new(query, query.len())?, search)?.pop().unwrap_or_default())
    }

    /// As [`Self::search`] for each of many queries, all against the same state; faster than one at a time.
    ///
    /// # Errors
    /// As [`Self::search`].
    pub fn search_many(&self, queries: Rows<'_>, search: &Search) -> Result<Vec<Vec<Hit>>> {
        let floor = search.floor()?;
        let subject = |number| if queries.len() == 1 { "the query".to_owned() } else { format!("query {number}") };
        let prepared: Vec<Query> =
            queries.iter().enumerate().map(|(n, query)| Query::new(query, || subject(n))).collect::<Result<_>>()?;
        let state = self.state.read();
        state.check_dimensions(queries, || subject(0))?;
        let chunks = &state.chunks;
        let eligible = chunks.eligible(&search.filter).map_or_else(|| Cow::Borrowed(chunks.alive()), Cow::Owned);
        let top_k = search.top_k.min(eligible.len() as usize);
        let scan = Scan { chunks, eligible: &eligible, queries: &prepared, top_k, floor };
        let hit = |(slot, score)| Hit { key: chunks.key(slot).clone(), score, handle: chunks.handle(slot) };
        Ok(scan.run().into_iter().map(|page| page.into_iter().map(hit).collect()).collect())
    }

    /// The stored unit vectors of the chunks that are there, one after the other, and which of the keys these are.
    pub fn vectors(&self, keys: &[ChunkKey]) -> (Vec<f32>, Vec<bool>) {
        let state = self.state.read();
        let slots: Vec<Option<u32>> = keys.iter().map(|key| state.chunks.find(key)).collect();
        let dimensions = state.dimensions.unwrap_or_default();
        let mut values = Vec::with_capacity(slots.iter().flatten().count() * dimensions);
        for &slot in slots.iter().flatten() {
            state.chunks.vectors().read(slot, &mut values);
        }
        (values, slots.iter().map(Option::is_some).collect())
    }

    /// Remove everything, dimensions that the first vectors decided included.
    pub fn clear(&self) {
        let _writing = self.writing.lock();
        let mut state = self.state.write();
        let empty = State::new(self.dimensions, self.quantization, state.next_handle);
        let old = std::mem::replace(&mut *state, empty);
        drop(state);
        drop(old);
    }

    /// How many chunks there are.
    pub fn len(&self) -> usize {
        self.state.read().chunks.len()
    }

    /// Whether there is no chunk.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The length of the vectors, once it is known.
    pub fn dimensions(&self) -> Option<usize> {
        self.state.read().dimensions
    }

    fn write(
        &self,
        keys: Vec<ChunkKey>,
        vectors: Rows<'_>,
        metadata: Option<&[Metadata]>,
        replaced: Option<&DocumentId>,
    ) -> Result<Vec<u64>> {
        let batch = Batch::checked(keys, vectors, metadata)?;
        let _writing = self.writing.lock();
        let (first_slot, first_handle) = {
            let state = self.state.read();
            state.check_dimensions(vectors, || batch.subject())?;
            state.check_room(vectors)?;
            (state.chunks.slots(), state.next_handle)
        };
        let handles = first_handle..first_handle + batch.keys.len() as u64;
        self.stage(batch, first_handle);
        let mut change = replaced.map(|id| self.state.read().chunks.removal(id)).unwrap_or_default();
        self.enter(first_slot, &mut change);
        let mut state = self.state.write();
        state.chunks.publish(&change);
        if !vectors.is_empty() {
            state.dimensions = Some(vectors.dimensions());
        }
        state.next_handle = handles.end;
        drop(state);
        if let Some(document_id) = replaced {
            self.state.write().chunks.forget(document_id);
        }
        self.compact_if_sparse();
        Ok(handles.collect())
    }

    /// Bring the chunks in, piece by piece, with a turn for the readers after each.
    fn stage(&self, batch: Batch<'_>, first_handle: u64) {
        let dimensions = batch.vectors.dimensions();
        let none = Metadata::new();
        let mut metadata = batch.metadata.unwrap_or_default().iter();
        let count = batch.keys.len();
        let mut chunks = batch.keys.into_iter().zip(batch.vectors.iter()).zip(batch.norms).zip(first_handle..);
        let mut unit = vec![0.0; dimensions];
        let piece = (PIECE_NUMBERS / dimensions).max(1);
        for start in (0..count).step_by(piece) {
            self.state.read().chunks.populate(piece.min(count - start));
            let mut state = self.state.write();
            if state.dimensions.is_none() && state.chunks.slots() == 0 {
                state.chunks = Chunks::new(dimensions, self.quantization);
            }
            for (((key, vector), norm), handle) in chunks.by_ref().take(piece) {
                normalize(vector, norm, &mut unit);
                state.chunks.stage(key, &unit, metadata.next().unwrap_or(&none), handle);
            }
            RwLockWriteGuard::unlock_fair(state);
        }
    }

    /// Give the staged chunks from a slot on their places, piece by piece as well.
    fn enter(&self, first_slot: usize, change: &mut Change) {
        let end = self.state.read().chunks.slots();
        for start in (first_slot..end).step_by(PIECE_PLACES) {
            let mut state = self.state.write();
            state.chunks.enter(start..end.min(start + PIECE_PLACES), change);
            RwLockWriteGuard::unlock_fair(state);
        }
    }

    /// Close the gaps when there are many: the copy is made while readers read on, then put in place.
    fn compact_if_sparse(&self) {
        let compacted = self.state.read().chunks.compacted_if_sparse();
        if let Some(compacted) = compacted {
            let old = std::mem::replace(&mut self.state.write().chunks, compacted);
            drop(old);
        }
    }
}

impl Default for VectorIndex {
    fn default() -> Self {
        let (dimensions, quantization) = (None, Quantization::None);
        let state = RwLock::new(State::new(dimensions, quantization, 0));
        Self { dimensions, quantization, writing: Mutex::new(()), state }
    }
}
