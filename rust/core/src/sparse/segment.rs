//! 65,536 slots and all that is known about them.

use super::postings::Postings;
use crate::key::ChunkKey;
use crate::slots::{Alive, SEGMENT};

/// Slots by number within the segment, filled in order, each written once.
#[derive(Debug, Default)]
pub(super) struct Segment {
    pub(super) postings: Postings,
    keys: Vec<ChunkKey>,
    /// How many terms each slot holds.
    sizes: Vec<u32>,
    alive: Alive,
}

impl Segment {
    /// How many slots are filled, dead ones included.
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Fill the next slot with a chunk whose postings follow; it is no hit until it is marked alive.
    pub(super) fn push(&mut self, key: ChunkKey, size: u32) {
        self.alive.add(self.len());
        self.keys.push(key);
        self.sizes.push(size);
    }

    /// Mark a slot alive.
    pub(super) fn mark(&mut self, slot: usize) {
        self.alive.mark(slot);
    }

    /// Mark a slot dead.
    pub(super) fn kill(&mut self, slot: usize) {
        self.alive.kill(slot);
    }

    /// The lists laid down for good, where the segment is full and they are not yet.
    pub(super) fn sealed(&self) -> Option<Postings> {
        if self.len() == SEGMENT { self.postings.sealed() } else { None }
    }

    pub(super) fn alive(&self) -> &Alive {
        &self.alive
    }

    pub(super) fn key(&self, slot: usize) -> &ChunkKey {
        &self.keys[slot]
    }

    pub(super) fn size(&self, slot: usize) -> u32 {
        self.sizes[slot]
    }
}
