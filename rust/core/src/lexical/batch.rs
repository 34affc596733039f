//! Chunks on their way into an index: analysed beside the readers, merged in short turns of whole documents.

use std::iter::Peekable;
use std::time::{Duration, Instant};

use parking_lot::RwLockWriteGuard;
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::analysis::Analysis;
use super::index::Shared;
use super::state::State;
use crate::error::{Error, Result};
use crate::filter::Metadata;
use crate::key::{ChunkKey, DocumentId};
use crate::pool;

/// Texts that are analysed while those before them are merged: enough to divide, few enough to hold.
const BLOCK: usize = 4096;

/// How long readers are kept out, unless a single document takes longer.
const TURN: Duration = Duration::from_micros(500);

/// Chunks to be written.
pub(super) struct Batch<'a> {
    keys: Vec<ChunkKey>,
    texts: &'a [&'a str],
    metadata: Option<&'a [Metadata]>,
    /// The chunks' places in the order in which they are written: document by document.
    order: Vec<usize>,
}

/// One analysed text: its place in the batch, its length, its counts, and the number of each of its terms.
struct Chunk<'a> {
    place: usize,
    length: u32,
    counts: &'a [(u32, u32)],
    numbers: &'a [u32],
}

impl<'a> Batch<'a> {
    /// # Errors
    /// [`Error::Input`] where the arguments differ in length.
    pub(super) fn new(keys: Vec<ChunkKey>, texts: &'a [&'a str], metadata: Option<&'a [Metadata]>) -> Result<Self> {
        let entries = metadata.map_or(keys.len(), <[_]>::len);
        if keys.len() != texts.len() || entries != texts.len() {
            let (keys, texts) = (keys.len(), texts.len());
            let message = format!("{keys} chunks, {texts} texts and metadata for {entries}: give one of each a chunk");
            return Err(Error::Input(message));
        }
        let mut first: FxHashMap<&DocumentId, usize> = FxHashMap::with_capacity_and_hasher(keys.len(), FxBuildHasher);
        let firsts: Vec<usize> =
            (0..).zip(&keys).map(|(place, key)| *first.entry(&key.document_id).or_insert(place)).collect();
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_by_key(|&place| firsts[place]);
        Ok(Self { keys, texts, metadata, order })
    }

    /// Write, in the place of a document if one is given; the writers' lock must be held.
    ///
    /// # Errors
    /// [`Error::Input`] where the index would become too large; nothing is stored then.
    pub(super) fn write(&self, shared: &Shared, replaced: Option<&DocumentId>) -> Result<()> {
        if shared.read().slots() + self.keys.len() > u32::MAX as usize {
            return Err(Error::Input(format!("an index holds at most {} chunks: divide the collection", u32::MAX)));
        }
        let mut replaced = replaced;
        let mut blocks = self.blocks().peekable();
        let Some(&first) = blocks.peek() else {
            replaced.map(|document_id| shared.state.write().remove(document_id));
            return Ok(());
        };
        let mut analyses = self.analyses(first);
        while let Some(block) = blocks.next() {
            let next = blocks.peek().copied().unwrap_or_default();
            let replaced = replaced.take();
            let mut following = Vec::new();
            if let Some(threads) = pool::threads().filter(|_| !next.is_empty()) {
                threads.in_place_scope(|scope| {
                    scope.spawn(|_| following = self.analyses(next));
                    self.merge(shared, block, &analyses, replaced);
                });
            } else {
                self.merge(shared, block, &analyses, replaced);
                following = self.analyses(next);
            }
            analyses = following;
        }
        Ok(())
    }

    /// The order in pieces of whole documents.
    fn blocks(&self) -> impl Iterator<Item = &[usize]> {
        let mut rest = self.order.as_slice();
        std::iter::from_fn(move || {
            let mut end = rest.len().min(BLOCK);
            while end < rest.len() && self.document(rest[end]) == self.document(rest[end - 1]) {
                end += 1;
            }
            let (block, later) = rest.split_at(end);
            rest = later;
            (!block.is_empty()).then_some(block)
        })
    }

    fn document(&self, place: usize) -> &DocumentId {
        &self.keys[place].document_id
    }

    fn analyses(&self, block: &[usize]) -> Vec<Analysis> {
        let texts: Vec<&str> = block.iter().map(|&place| self.texts[place]).collect();
        Analysis::of_many(&texts)
    }

    fn merge(&self, shared: &Shared, block: &[usize], analyses: &[Analysis], replaced: Option<&DocumentId>) {
        let intern = |analysis: &Analysis| -> Vec<u32> {
            let mut state = shared.state.write();
            analysis.terms.iter().map(|term| state.vocabulary.intern(term)).collect()
        };
        let numbers: Vec<Vec<u32>> = analyses.iter().map(intern).collect();
        let texts = analyses.iter().zip(&numbers).flat_map(|(analysis, numbers)| {
            analysis.texts().map(move |(length, counts)| (length, counts, numbers.as_slice()))
        });
        let mut chunks = block
            .iter()
            .zip(texts)
            .map(|(&place, (length, counts, numbers))| Chunk { place, length, counts, numbers })
            .peekable();
        let mut replaced = replaced;
        while chunks.peek().is_some() {
            let mut state = shared.state.write();
            if let Some(document_id) = replaced.take() {
                state.remove(document_id);
            }
            self.merge_turn(&mut state, &mut chunks);
            RwLockWriteGuard::unlock_fair(state);
            shared.renew();
        }
    }

    /// Merge whole documents until the turn is over.
    fn merge_turn<'c>(&self, state: &mut State, chunks: &mut Peekable<impl Iterator<Item = Chunk<'c>>>) {
        let began = Instant::now();
        let mut counts = Vec::new();
        while let Some(chunk) = chunks.next() {
            counts.clear();
            counts.extend(chunk.counts.iter().map(|&(term, frequency)| (chunk.numbers[term as usize], frequency)));
            counts.sort_unstable_by_key(|&(term, _)| term);
            let slot = state.append(self.keys[chunk.place].clone(), chunk.length, &counts);
            if let Some(metadata) = self.metadata {
                state.describe(slot, &metadata[chunk.place]);
            }
            let goes_on = chunks.peek().is_some_and(|next| self.document(next.place) == self.document(chunk.place));
            if !goes_on && began.elapsed() > TURN {
                return;
            }
        }
    }
}
