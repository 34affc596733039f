//! The index that callers see: readers beside one writer, who lets them in after a few hundred chunks.

use std::sync::Arc;

use parking_lot::{Mutex, RwLock, RwLockReadGuard};
use rayon::prelude::*;

use super::analysis::Analysis;
use super::batch::Batch;
use super::compaction::compact;
use super::memory::Memory;
use super::scoring::{Parameters, idf};
use super::search::search;
use super::state::State;
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::filter::Metadata;
use crate::key::{ChunkKey, DocumentId};
use crate::{patience, pool};

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
/// Every method may be called from many threads at once. The chunks that one write has for one document are seen together
/// or not at all, by the next search; the documents of a large write become visible in turns of whole documents.
#[derive(Debug)]
pub struct Bm25Index {
    parameters: Parameters,
    shared: Arc<Shared>,
}

/// What the threads share.
#[derive(Debug)]
pub(super) struct Shared {
    /// Held for a whole write. Who holds it alone may lock `state` for writing, and does so for a millisecond or two.
    pub(super) writer: Mutex<()>,
    pub(super) state: RwLock<State>,
}

impl Shared {
    pub(super) fn read(&self) -> RwLockReadGuard<'_, State> {
        patience::read(&self.state)
    }

    /// Give segments the postings that they need, made beside the readers; the writers' lock must be held.
    pub(super) fn renew(&self) {
        loop {
            let renewal = self.read().renewal();
            let Some((segment, renewal)) = renewal else { return };
            let former = self.state.write().renew(segment, renewal);
            drop(former);
        }
    }
}

impl Bm25Index {
    /// An empty index.
    ///
    /// # Errors
    /// [`Error::Parameter`] unless `k1` is finite and at least 0 and `b` between 0 and 1.
    pub fn new(k1: f64, b: f64) -> Result<Self> {
        let parameters = Parameters::new(k1, b)?;
        let shared = Shared { writer: Mutex::new(()), state: RwLock::new(State::new(parameters)) };
        Ok(Self { parameters, shared: Arc::new(shared) })
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
        self.shared.read().chunks as usize
    }

    /// Whether there is no chunk.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Insert chunks, or replace those of the same key; of two of one key the later stays.
    ///
    /// `metadata`, where there is some, has an entry for every chunk. The chunks of each document become visible in one
    /// step, the documents in turns, in the order in which they first appear.
    ///
    /// # Errors
    /// [`Error::Input`] where the arguments differ in length; nothing is stored then.
    pub fn upsert(&self, keys: Vec<ChunkKey>, texts: &[&str], metadata: Option<&[&Metadata]>) -> Result<()> {
        self.write(&Batch::new(keys, texts, metadata)?, None)
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
        metadata: Option<&[&Metadata]>,
    ) -> Result<()> {
        let keys = chunk_indices.iter().map(|&index| ChunkKey::new(document_id.clone(), index)).collect();
        self.write(&Batch::new(keys, texts, metadata)?, Some(document_id))
    }

    /// Remove a document and return how many chunks it had.
    pub fn remove(&self, document_id: &DocumentId) -> usize {
        let writer = self.shared.writer.lock();
        let removed = self.shared.state.write().remove(document_id);
        compact(&self.shared, writer);
        removed
    }

    /// Remove everything.
    pub fn clear(&self) {
        let _writer = self.shared.writer.lock();
        let cleared = std::mem::replace(&mut *self.shared.state.write(), State::new(self.parameters));
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
        let queries: Vec<Analysis> = queries.iter().map(|query| Analysis::of([*query])).collect();
        let state = self.shared.read();
        let mask = state.mask(filter);
        let page = |query: &Analysis| -> Vec<Hit> {
            let found = search(&state, query, top_k, mask.as_deref());
            found.into_iter().map(|hit| Hit { key: hit.key.clone(), score: hit.score }).collect()
        };
        match pool::threads().filter(|_| queries.len() > 1) {
            Some(threads) => threads.install(|| queries.par_iter().map(page).collect()),
            None => queries.iter().map(page).collect(),
        }
    }

    /// What each distinct term of the query adds to a chunk's score, in order; empty where there is no such chunk.
    pub fn explain(&self, query: &str, key: &ChunkKey) -> Vec<TermScore> {
        let query = Analysis::of([query]);
        let state = self.shared.read();
        let Some(slot) = state.find(key) else { return Vec::new() };
        let (segment, slot) = state.at(slot);
        let (saturations, length) = (state.saturations(), segment.lengths()[slot]);
        let score = |(term, query_frequency): (&str, u32)| {
            let number = state.vocabulary.get(term);
            let held = segment.forward.get(slot).find(|&(held, _)| Some(held) == number);
            let document_frequency = number.map_or(0, |number| state.vocabulary.document_frequency(number));
            let idf = idf(state.chunks, document_frequency);
            let weight = f64::from(query_frequency) * idf;
            let contribution = held.map_or(0.0, |(_, frequency)| weight * saturations.of(frequency, length));
            let term_frequency = held.map_or(0, |(_, frequency)| frequency);
            TermScore { term: term.into(), query_frequency, term_frequency, document_frequency, idf, contribution }
        };
        query.frequencies().map(score).collect()
    }

    /// What the index takes. It looks at every list, during which writers wait.
    pub fn memory(&self) -> Memory {
        self.shared.read().memory()
    }

    /// How many slots and terms are held, dead ones included.
    #[cfg(test)]
    pub(super) fn held(&self) -> (usize, usize) {
        let state = self.shared.read();
        (state.slots(), state.vocabulary.len())
    }

    fn write(&self, batch: &Batch<'_>, replaced: Option<&DocumentId>) -> Result<()> {
        let writer = self.shared.writer.lock();
        batch.write(&self.shared, replaced)?;
        compact(&self.shared, writer);
        Ok(())
    }
}
