//! Chunks on their way into an index: analysed beside the readers, merged in short turns of whole documents.

use parking_lot::RwLockWriteGuard;
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::analysis::Analysis;
use super::index::Shared;
use super::portion::Portion;
use super::state::State;
use crate::error::{Error, Result};
use crate::filter::Metadata;
use crate::key::{ChunkKey, DocumentId};
use crate::pool;

/// What readers wait for at a time, unless a single document is more: so many chunks, or so many bytes of text.
const TURN: usize = 256;
const TURN_BYTES: usize = 1 << 17;

/// Turns that are analysed while those before them are merged: enough to divide, few enough to hold.
const BLOCK: usize = 16;

/// Chunks to be written.
pub(super) struct Batch<'a> {
    keys: Vec<ChunkKey>,
    texts: &'a [&'a str],
    metadata: Option<&'a [&'a Metadata]>,
    /// The chunks' places in the order in which they are written: document by document.
    order: Vec<usize>,
}

/// Whole documents, which readers see together: their chunks' places in the batch.
type Turn<'b> = &'b [usize];

impl<'a> Batch<'a> {
    /// # Errors
    /// [`Error::Input`] where the arguments differ in length.
    pub(super) fn new(keys: Vec<ChunkKey>, texts: &'a [&'a str], metadata: Option<&'a [&'a Metadata]>) -> Result<Self> {
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
        let turns = self.turns();
        let mut blocks = turns.chunks(BLOCK).peekable();
        let Some(&first) = blocks.peek() else {
            replaced.map(|document_id| shared.state.write().remove(document_id));
            return Ok(());
        };
        let mut analyses = self.analyses(first, || ());
        while let Some(block) = blocks.next() {
            let replaced = replaced.take();
            analyses = self.analyses(blocks.peek().copied().unwrap_or_default(), || {
                self.merge(shared, block, &analyses, replaced);
            });
        }
        Ok(())
    }

    /// The order in turns.
    fn turns(&self) -> Vec<Turn<'_>> {
        let mut turns = Vec::with_capacity(self.order.len() / TURN + 1);
        let (mut start, mut bytes) = (0, 0);
        for (end, &place) in self.order.iter().enumerate() {
            let is_new = end > start && self.keys[place].document_id != self.keys[self.order[end - 1]].document_id;
            if is_new && (end - start >= TURN || bytes >= TURN_BYTES) {
                turns.push(&self.order[start..end]);
                (start, bytes) = (end, 0);
            }
            bytes += self.texts[place].len();
        }
        turns.push(&self.order[start..]);
        turns.retain(|turn| !turn.is_empty());
        turns
    }

    /// The analyses of each turn's texts, [`TURN`] by [`TURN`], by all cores where there are several; but this thread does
    /// something else first.
    fn analyses(&self, turns: &[Turn<'_>], first: impl FnOnce()) -> Vec<Vec<Analysis>> {
        let parts: Vec<&[usize]> = turns.iter().flat_map(|turn| turn.chunks(TURN)).collect();
        let analyse = |part: usize| Analysis::of(parts[part].iter().map(|&place| self.texts[place]));
        let analyses = if let Some(threads) = pool::threads().filter(|_| parts.len() > 1) {
            pool::divided_beside(threads, parts.len(), analyse, first)
        } else {
            first();
            (0..parts.len()).map(analyse).collect()
        };
        let mut analyses = analyses.into_iter();
        turns.iter().map(|turn| analyses.by_ref().take(turn.len().div_ceil(TURN)).collect()).collect()
    }

    fn merge(&self, shared: &Shared, turns: &[Turn<'_>], analyses: &[Vec<Analysis>], replaced: Option<&DocumentId>) {
        let portion = |analysis: &Analysis| {
            let mut state = shared.state.write();
            let numbers: Vec<u32> =
                analysis.lexicon.terms().map(|(term, hash)| state.vocabulary.intern(term, hash)).collect();
            RwLockWriteGuard::unlock_fair(state);
            Portion::new(analysis.texts(), &numbers)
        };
        let mut replaced = replaced;
        for (turn, analyses) in turns.iter().zip(analyses) {
            let portions: Vec<Portion> = analyses.iter().map(portion).collect();
            let mut state = shared.state.write();
            if let Some(document_id) = replaced.take() {
                state.remove(document_id);
            }
            for (portion, places) in portions.iter().zip(turn.chunks(TURN)) {
                self.append(&mut state, portion, places);
            }
            RwLockWriteGuard::unlock_fair(state);
            shared.renew();
        }
    }

    fn append(&self, state: &mut State, portion: &Portion, places: &[usize]) {
        let first = state.append(portion, places.iter().map(|&place| self.keys[place].clone()).collect());
        if let Some(metadata) = self.metadata {
            for (slot, &place) in (first..).zip(places) {
                state.describe(slot, metadata[place]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_turn_is_whole_documents_and_no_more_than_it_must_be(
            documents in prop::collection::vec((0_i64..40, 0_usize..3000), 0..4000),
        ) {
            let text = "a".repeat(3000);
            let keys = (0..).zip(&documents).map(|(index, &(id, _))| ChunkKey::new(DocumentId::Int(id), index)).collect();
            let texts: Vec<&str> = documents.iter().map(|&(_, length)| &text[..length]).collect();
            let batch = Batch::new(keys, &texts, None)?;
            let turns = batch.turns();
            prop_assert_eq!(turns.concat(), batch.order.clone());
            let mut seen = BTreeSet::new();
            for turn in turns {
                let ids: BTreeSet<&DocumentId> = turn.iter().map(|&place| &batch.keys[place].document_id).collect();
                prop_assert!(!ids.is_empty() && ids.iter().all(|id| seen.insert((*id).clone())));
                // Without its last document it would go on.
                let last = turn.last().map(|&place| &batch.keys[place].document_id);
                let others = || turn.iter().filter(|&&place| Some(&batch.keys[place].document_id) != last);
                prop_assert!(others().count() < TURN);
                prop_assert!(others().map(|&place| texts[place].len()).sum::<usize>() < TURN_BYTES);
            }
        }
    }
}
