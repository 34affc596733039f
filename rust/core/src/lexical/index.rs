//! The index that callers see: many readers or one writer, and every write as a whole or not at all.

use parking_lot::{RwLock, RwLockUpgradableReadGuard, RwLockWriteGuard};
use rayon::prelude::*;

use super::analysis::Analysis;
use super::scoring::{Norms, Parameters, idf, saturation};
use super::search::search;
use super::segment::SLOTS;
use super::state::State;
use crate::error::{Error, Result};
use crate::filter::Metadata;
use crate::key::{ChunkKey, DocumentId};
use crate::pool;

/// A chunk that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Which chunk.
    pub key: ChunkKey,
    /// Its score, above 0.
    pub score: f64,
}

/// What one term of a query adds to one chunk's score.
#[derive(Debug, Clone, PartialEq)]
pub struct TermScore {
    /// The term.
    pub term: String,
    /// How often the query has it.
    pub query_frequency: u32,
    /// How often the chunk has it.
    pub term_frequency: u32,
    /// How many chunks have it.
    pub document_frequency: u32,
    /// Its inverse document frequency.
    pub idf: f64,
    /// Its part of the score; these add up to the score exactly, in this order from 0.
    pub contribution: f64,
}

/// A live index of texts, searched by BM25.
///
/// Every method may be called from many threads at once. A write is seen as a whole or not at all, by the next search.
#[derive(Debug)]
pub struct Bm25Index {
    parameters: Parameters,
    state: RwLock<State>,
}

impl Bm25Index {
    /// An empty index.
    ///
    /// # Errors
    /// [`Error::Parameter`] unless `k1` is finite and at least 0 and `b` between 0 and 1.
    pub fn new(k1: f64, b: f64) -> Result<Self> {
        Ok(Self { parameters: Parameters::new(k1, b)?, state: RwLock::default() })
    }

    /// How slowly repeated terms saturate.
    pub fn k1(&self) -> f64 {
        self.parameters.k1
    }

    /// How much length counts.
    pub fn b(&self) -> f64 {
        self.parameters.b
    }

    /// How many chunks there are, those without a term included.
    pub fn len(&self) -> usize {
        self.state.read().chunks as usize
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
    pub fn upsert(&self, keys: Vec<ChunkKey>, texts: &[&str], metadata: Option<&[Metadata]>) -> Result<()> {
        self.write(keys, texts, metadata, |_| ())
    }

    /// Put these chunks in the place of all that the document has, in one step.
    ///
    /// # Errors
    /// As [`Self::upsert`]; the document is then as it was.
    pub fn replace_document(
        &self,
        document_id: &DocumentId,
        chunk_indices: &[u32],
        texts: &[&str],
        metadata: Option<&[Metadata]>,
    ) -> Result<()> {
        let keys = chunk_indices.iter().map(|&index| ChunkKey::new(document_id.clone(), index)).collect();
        self.write(keys, texts, metadata, |state| {
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

    /// The best chunks for a query whose metadata equals every entry of `filter`, best first; equal scores by key.
    ///
    /// There is no hit without a term of the query, so that the page may be shorter than `top_k`.
    pub fn search(&self, query: &str, top_k: usize, filter: &Metadata) -> Vec<Hit> {
        self.search_many(&[query], top_k, filter).pop().unwrap_or_default()
    }

    /// As [`Self::search`] for each of many queries, all against the same state, by all cores.
    pub fn search_many(&self, queries: &[&str], top_k: usize, filter: &Metadata) -> Vec<Vec<Hit>> {
        let queries: Vec<Analysis> = queries.iter().map(|query| Analysis::of(&[query])).collect();
        let state = self.state.read();
        let eligible = state.columns.eligible(filter);
        let page = |query: &Analysis| -> Vec<Hit> {
            let found = search(&state, self.parameters, query, top_k, eligible.as_ref());
            found.into_iter().map(|hit| Hit { key: hit.key.clone(), score: hit.score }).collect()
        };
        match pool::threads().filter(|_| queries.len() > 1) {
            Some(threads) => threads.install(|| queries.par_iter().map(page).collect()),
            None => queries.iter().map(page).collect(),
        }
    }

    /// What each distinct term of the query adds to a chunk's score, in order; empty where there is no such chunk.
    pub fn explain(&self, query: &str, key: &ChunkKey) -> Vec<TermScore> {
        let query = Analysis::of(&[query]);
        let state = self.state.read();
        let Some(slot) = state.find(key) else { return Vec::new() };
        let (segment, slot) = (&state.segments[slot as usize / SLOTS], slot as usize % SLOTS);
        let norms = Norms::new(self.parameters, state.chunks, state.total_length, 0);
        let norm = norms.of(segment.lengths()[slot]);
        let score = |(term, query_frequency): (&str, u32)| {
            let number = state.vocabulary.get(term);
            let held = segment.forward.get(slot).find(|&(held, _)| Some(held) == number);
            let document_frequency = number.map_or(0, |number| state.vocabulary.document_frequency(number));
            let idf = idf(state.chunks, document_frequency);
            let contribution =
                held.map_or(0.0, |(_, frequency)| f64::from(query_frequency) * idf * saturation(frequency, norm));
            let term_frequency = held.map_or(0, |(_, frequency)| frequency);
            TermScore { term: term.into(), query_frequency, term_frequency, document_frequency, idf, contribution }
        };
        query.frequencies().map(score).collect()
    }

    /// How many slots and terms are held, dead ones included.
    #[cfg(test)]
    pub(super) fn held(&self) -> (usize, usize) {
        let state = self.state.read();
        (state.slots(), state.vocabulary.len())
    }

    fn write(
        &self,
        keys: Vec<ChunkKey>,
        texts: &[&str],
        metadata: Option<&[Metadata]>,
        before: impl FnOnce(&mut State),
    ) -> Result<()> {
        let entries = metadata.map_or(keys.len(), <[_]>::len);
        if keys.len() != texts.len() || entries != texts.len() {
            let (keys, texts) = (keys.len(), texts.len());
            let message = format!("{keys} chunks, {texts} texts and metadata for {entries}: give one of each a chunk");
            return Err(Error::Input(message));
        }
        let analyses = Analysis::of_many(texts);
        let mut state = self.state.write();
        if state.slots() + keys.len() > u32::MAX as usize {
            return Err(Error::Input(format!("an index holds at most {} chunks: divide the collection", u32::MAX)));
        }
        before(&mut state);
        let (mut keys, mut metadata) = (keys.into_iter(), metadata.unwrap_or_default().iter());
        for analysis in analyses {
            state.put(analysis, &mut keys, &mut metadata);
        }
        finish(state);
        Ok(())
    }
}

/// End a write: compact if need be, which other writers wait for while readers go on.
fn finish(state: RwLockWriteGuard<'_, State>) {
    if state.is_sparse() {
        let state = RwLockWriteGuard::downgrade_to_upgradable(state);
        let compacted = state.compacted();
        let mut state = RwLockUpgradableReadGuard::upgrade(state);
        let sparse = std::mem::replace(&mut *state, compacted);
        drop(state);
        drop(sparse);
    }
}
