//! 65,536 slots and all that is known about them.

use super::bounds::{Ceilings, DRIFT};
use super::forward::Forward;
use super::postings::{Bounds, Postings, Sealed};
use super::scoring::Parameters;
use crate::key::ChunkKey;

/// Slots a segment, so that a posting's slot is a `u16`.
pub(super) const SLOTS: usize = 1 << 16;

/// Slots by number within the segment, filled in order, each written once.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) postings: Postings,
    pub(super) forward: Forward,
    keys: Vec<ChunkKey>,
    lengths: Vec<u32>,
    /// One bit a slot, in words of 64.
    alive: Vec<u64>,
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
            alive: Vec::new(),
        }
    }

    /// How many slots are filled, dead ones included.
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Fill the next slot with a chunk of (term, frequency) pairs, by ascending term.
    pub(super) fn push(&mut self, key: ChunkKey, length: u32, counts: &[(u32, u32)], parameters: Parameters) {
        let slot = self.len();
        let ceilings = Ceilings::new(parameters, length, self.postings.baseline());
        for &(term, frequency) in counts {
            self.postings.push(term, slot as u16, frequency, ceilings);
        }
        self.forward.push(counts);
        self.keys.push(key);
        self.lengths.push(length);
        if slot.is_multiple_of(64) {
            self.alive.push(0);
        }
        self.alive[slot / 64] |= 1 << (slot % 64);
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
        if self.len() < SLOTS {
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
        self.alive[slot / 64] &= !(1 << (slot % 64));
    }

    pub(super) fn is_alive(&self, slot: usize) -> bool {
        self.alive[slot / 64] >> (slot % 64) & 1 == 1
    }

    /// The living, one bit a slot.
    pub(super) fn alive(&self) -> &[u64] {
        &self.alive
    }

    pub(super) fn key(&self, slot: usize) -> &ChunkKey {
        &self.keys[slot]
    }

    /// By slot, how many terms its text has.
    pub(super) fn lengths(&self) -> &[u32] {
        &self.lengths
    }
}
