//! 65,536 slots and all that is known about them.

use std::ops::Range;

use super::bounds::{Ceilings, DRIFT};
use super::forward::Forward;
use super::portion::Portion;
use super::postings::{Bounds, Postings, Sealed};
use super::scoring::Parameters;
use crate::key::ChunkKey;
use crate::memory::vector;
use crate::slots::{Alive, SEGMENT};

/// Slots by number within the segment, filled in order, each written once.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) postings: Postings,
    pub(super) forward: Forward,
    keys: Vec<ChunkKey>,
    lengths: Vec<u32>,
    alive: Alive,
}

/// What a segment's postings become, made beside them.
pub(super) enum Renewal {
    Seal(Sealed),
    Rebase(Bounds),
}

impl Segment {
    /// No slots yet; bounds are noted at an average length, the baseline.
    pub(super) fn new(baseline: f64) -> Self {
        Self {
            postings: Postings::new(baseline),
            forward: Forward::default(),
            keys: Vec::new(),
            lengths: Vec::new(),
            alive: Alive::default(),
        }
    }

    /// How many slots are filled, dead ones included.
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Fill the next slots with some chunks of a portion.
    pub(super) fn extend(
        &mut self,
        portion: &Portion,
        chunks: Range<usize>,
        keys: impl Iterator<Item = ChunkKey>,
        parameters: Parameters,
    ) {
        let start = self.len();
        self.lengths.extend(&portion.lengths[chunks.clone()]);
        let baseline = self.postings.baseline();
        let ceilings: Vec<Ceilings> =
            self.lengths[start..].iter().map(|&length| Ceilings::new(parameters, length, baseline)).collect();
        let slot_of = |chunk: u32| (start + chunk as usize - chunks.start) as u16;
        for (term, list) in portion.lists_of(chunks.clone()).filter(|(_, list)| !list.is_empty()) {
            let postings = list.iter().map(|&(chunk, frequency)| (slot_of(chunk), frequency));
            self.postings.extend(term, postings, |slot| ceilings[usize::from(slot) - start]);
        }
        self.forward.extend(&portion.forward, chunks.clone());
        self.keys.extend(keys.take(chunks.len()));
        for slot in start..self.len() {
            self.alive.add(slot);
            self.alive.mark(slot);
        }
    }

    /// Follow the average length while that is cheap: a young segment's first chunks say little about it.
    pub(super) fn follow(&mut self, parameters: Parameters, average: f64) {
        const YOUNG: usize = 4096;
        let drift = average / self.postings.baseline();
        if !(1.0 / DRIFT..=DRIFT).contains(&drift) && self.len() <= YOUNG {
            self.postings.rebase_open(parameters, &self.lengths, average);
        }
    }

    /// Better postings where there is need of them: sealed ones for a full segment, lower bounds after a drift.
    pub(super) fn renewal(&self, parameters: Parameters, average: f64) -> Option<Renewal> {
        if self.len() < SEGMENT {
            None
        } else if !self.postings.is_sealed() {
            self.postings.sealed(parameters, &self.lengths, average).map(Renewal::Seal)
        } else if average > self.postings.baseline() * DRIFT {
            self.postings.bounds(parameters, &self.lengths, average).map(Renewal::Rebase)
        } else {
            None
        }
    }

    /// Mark a slot dead.
    pub(super) fn kill(&mut self, slot: usize) {
        self.alive.kill(slot);
    }

    pub(super) fn is_alive(&self, slot: usize) -> bool {
        self.alive.contains(slot)
    }

    /// The living, one bit a slot.
    pub(super) fn alive(&self) -> &[u64] {
        self.alive.words()
    }

    pub(super) fn key(&self, slot: usize) -> &ChunkKey {
        &self.keys[slot]
    }

    /// What keys and lengths take.
    pub(super) fn bytes(&self) -> usize {
        vector(&self.keys) + vector(&self.lengths) + self.alive.bytes()
    }

    /// By slot, how many terms its text has.
    pub(super) fn lengths(&self) -> &[u32] {
        &self.lengths
    }
}
