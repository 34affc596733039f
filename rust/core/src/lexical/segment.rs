//! 65,536 slots and all that is known about them.

use super::forward::Forward;
use super::postings::Postings;
use crate::key::ChunkKey;

/// Slots a segment, so that a posting's slot is a `u16`.
pub(super) const SLOTS: usize = 1 << 16;

/// Slots by number within the segment, filled in order, each written once.
#[derive(Debug, Default)]
pub(super) struct Segment {
    pub(super) postings: Postings,
    pub(super) forward: Forward,
    keys: Vec<ChunkKey>,
    lengths: Vec<u32>,
    /// One bit a slot, in words of 64.
    alive: Vec<u64>,
}

impl Segment {
    /// How many slots are filled, dead ones included.
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Fill the next slot.
    pub(super) fn push(&mut self, key: ChunkKey, length: u32, counts: impl Iterator<Item = (u32, u32)>) {
        let slot = self.len();
        let postings = &mut self.postings;
        self.forward.push(counts.inspect(|&(term, frequency)| postings.push(term, slot as u16, frequency)));
        self.keys.push(key);
        self.lengths.push(length);
        if slot.is_multiple_of(64) {
            self.alive.push(0);
        }
        self.alive[slot / 64] |= 1 << (slot % 64);
        if self.len() == SLOTS {
            self.postings.seal();
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
