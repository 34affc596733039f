//! The slots that chunks fill: how many make a segment, and which are alive.

use crate::memory::vector;

/// Slots a segment, so that a slot's number within it is a `u16`.
pub(crate) const SEGMENT: usize = 1 << 16;

/// One bit a slot, in words of 64.
#[derive(Debug, Default)]
pub(crate) struct Alive(Vec<u64>);

impl Alive {
    /// Take the next slot in, dead until it is marked; slots come one after the other.
    pub(crate) fn add(&mut self, slot: usize) {
        if slot.is_multiple_of(64) {
            self.0.push(0);
        }
    }

    /// Mark a slot alive.
    pub(crate) fn mark(&mut self, slot: usize) {
        self.0[slot / 64] |= 1 << (slot % 64);
    }

    /// Mark a slot dead.
    pub(crate) fn kill(&mut self, slot: usize) {
        self.0[slot / 64] &= !(1 << (slot % 64));
    }

    pub(crate) fn contains(&self, slot: usize) -> bool {
        self.0[slot / 64] >> (slot % 64) & 1 == 1
    }

    /// What they take.
    pub(crate) fn bytes(&self) -> usize {
        vector(&self.0)
    }

    pub(crate) fn words(&self) -> &[u64] {
        &self.0
    }
}
