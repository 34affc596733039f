//! Leaving behind what is dead, beside readers and writers.
//!
//! The living chunks are copied slot by slot into a new state, under the readers' lock and in short turns, while writes go
//! on in the old one. Slots are written once, so that a copied slot can only have died since; those that came meanwhile are
//! copied as well, and their metadata is in the journal. When little is left the writers wait for the rest, those that
//! died are removed from the copy, and the states change places.

use std::sync::Arc;
use std::{process, thread};

use parking_lot::MutexGuard;
use rustc_hash::FxHashMap;

use super::index::Shared;
use super::lexicon::hash;
use super::portion::Portion;
use super::state::State;
use crate::filter::Metadata;

/// What weighs less is compacted at once, by the writer who finds it sparse: in a few milliseconds.
const LITTLE: usize = 1 << 15;

/// Slots that are copied at a turn.
const TURN: usize = 256;

/// A compaction under way and the metadata of what was written since it began.
#[derive(Debug)]
pub(super) struct Journal {
    /// Distinguishes this compaction from all others of the process.
    mark: Arc<()>,
    /// Threads do not survive `fork`: in a child the compaction of its parent is none.
    process: u32,
    entries: Vec<(u32, Metadata)>,
}

impl Journal {
    pub(super) fn note(&mut self, slot: u32, metadata: &Metadata) {
        self.entries.push((slot, metadata.clone()));
    }

    /// Whether the compaction is under way in this process.
    fn is_live(&self) -> bool {
        self.process == process::id()
    }
}

/// A compaction: what was copied so far.
struct Compaction {
    mark: Arc<()>,
    copy: State,
    /// By slot, the new one; `None` where it was dead.
    moved: Vec<Option<u32>>,
    /// By term number, the new one plus 1, or 0.
    renumbered: Vec<u32>,
}

/// Compact if there is need of it and no compaction is under way: a little at once, much in a thread of its own.
///
/// That is not one of the pool's, whose threads must not wait for locks: writers wait for the pool.
pub(super) fn compact(shared: &Arc<Shared>, writer: MutexGuard<'_, ()>) {
    let state = shared.read();
    if !state.is_sparse() || state.journal.as_ref().is_some_and(Journal::is_live) {
        return;
    }
    let is_little = state.weight < LITTLE;
    drop(state);
    let compaction = Compaction::begin(shared);
    if is_little {
        compaction.run_now(shared);
        return;
    }
    drop(writer);
    let theirs = Arc::clone(shared);
    // Where the system refuses a thread the next write tries again.
    let thread = thread::Builder::new().name("ragstone-compaction".into()).spawn(move || compaction.run(&theirs));
    if thread.is_err() {
        let _writer = shared.writer.lock();
        shared.state.write().journal = None;
    }
}

impl Compaction {
    /// Begin, with the writers' lock held.
    fn begin(shared: &Shared) -> Self {
        let mark = Arc::new(());
        let journal = Journal { mark: Arc::clone(&mark), process: process::id(), entries: Vec::new() };
        let mut state = shared.state.write();
        state.journal = Some(journal);
        let copy = state.emptied();
        Self { mark, copy, moved: Vec::new(), renumbered: Vec::new() }
    }

    /// Copy, change places. The writers' lock must not be held.
    fn run(mut self, shared: &Shared) {
        self.copy.columns = shared.read().columns.clone();
        loop {
            let state = shared.read();
            if !self.is_mine(&state) {
                return;
            }
            self.copy_turn(&state);
            let left = state.slots() - self.moved.len();
            drop(state);
            self.renew();
            if left <= TURN {
                break;
            }
        }
        self.copy.columns.renumber(&self.moved);
        let writer = shared.writer.lock();
        self.end(shared);
        drop(writer);
    }

    /// Copy all at once and change places, with the writers' lock held: for little.
    fn run_now(mut self, shared: &Shared) {
        let state = shared.read();
        self.copy.columns = state.columns.clone();
        while self.moved.len() < state.slots() {
            self.copy_turn(&state);
        }
        drop(state);
        self.copy.columns.renumber(&self.moved);
        self.end(shared);
    }

    /// Copy what is left and change places, with the writers' lock held.
    fn end(mut self, shared: &Shared) {
        let state = shared.read();
        if !self.is_mine(&state) {
            return;
        }
        while self.moved.len() < state.slots() {
            self.copy_turn(&state);
            self.renew();
        }
        for (slot, moved) in (0..).zip(&self.moved) {
            if let Some(moved) = *moved
                && !is_alive(&state, slot)
                && is_alive(&self.copy, moved)
            {
                self.copy.remove_at(moved);
            }
        }
        for (slot, metadata) in state.journal.iter().flat_map(|journal| &journal.entries) {
            if let Some(moved) = self.moved[*slot as usize] {
                self.copy.columns.insert(moved, metadata);
            }
        }
        drop(state);
        let sparse = std::mem::replace(&mut *shared.state.write(), self.copy);
        drop(sparse);
    }

    /// Whether the state is still the one that this compaction began with, and no other was begun.
    fn is_mine(&self, state: &State) -> bool {
        state.journal.as_ref().is_some_and(|journal| Arc::ptr_eq(&journal.mark, &self.mark))
    }

    fn copy_turn(&mut self, state: &State) {
        let slots = self.moved.len()..state.slots().min(self.moved.len() + TURN);
        let Self { copy, moved, renumbered, .. } = self;
        renumbered.resize(state.vocabulary.len(), 0);
        let (mut keys, mut sizes, mut counts) = (Vec::new(), Vec::new(), Vec::new());
        // The new numbers of these slots' terms, and by such a number its place among them.
        let (mut numbers, mut places) = (Vec::new(), FxHashMap::default());
        let mut next = copy.slots() as u32;
        for slot in slots {
            let (segment, place) = state.at(slot as u32);
            if !segment.is_alive(place) {
                moved.push(None);
                continue;
            }
            moved.push(Some(next));
            next += 1;
            let start = counts.len();
            counts.extend(segment.forward.get(place).map(|(term, frequency)| {
                let number = &mut renumbered[term as usize];
                if *number == 0 {
                    let term = state.vocabulary.term(term);
                    *number = copy.vocabulary.intern(term, hash(term)) + 1;
                }
                let place = *places.entry(*number).or_insert_with(|| {
                    numbers.push(*number - 1);
                    numbers.len() as u32 - 1
                });
                (place, frequency)
            }));
            keys.push(segment.key(place).clone());
            sizes.push((segment.lengths()[place], start..counts.len()));
        }
        let chunks = sizes.iter().map(|(length, range)| (*length, &counts[range.clone()]));
        copy.append(&Portion::new(chunks, &numbers), keys);
    }

    fn renew(&mut self) {
        if let Some((segment, renewal)) = self.copy.renewal() {
            drop(self.copy.renew(segment, renewal));
        }
    }
}

fn is_alive(state: &State, slot: u32) -> bool {
    let (segment, place) = state.at(slot);
    segment.is_alive(place)
}
