//! Which slots may be hits under a filter, as words of bits; the latest are kept until the next write.

use std::sync::Arc;

use parking_lot::Mutex;
use roaring::RoaringBitmap;

use super::bounds::WINDOW;
use crate::filter::Metadata;
use crate::slots::SEGMENT;

/// Living slots that a filter lets through.
#[derive(Debug)]
pub(super) struct Mask {
    /// One bit a slot, 1,024 words a segment.
    words: Vec<u64>,
    /// How many by window.
    counts: Vec<u32>,
}

const WINDOW_WORDS: usize = WINDOW / 64;

impl Mask {
    /// The eligible slots among the first `slots`.
    pub(super) fn new(eligible: &RoaringBitmap, slots: usize) -> Self {
        let mut words = vec![0_u64; slots.div_ceil(SEGMENT) * SEGMENT / 64];
        for slot in eligible {
            if let Some(word) = words.get_mut(slot as usize / 64) {
                *word |= 1 << (slot % 64);
            }
        }
        Self { words, counts: Vec::new() }
    }

    /// Keep to the living of a segment.
    pub(super) fn restrict(&mut self, segment: usize, alive: &[u64]) {
        let words = &mut self.words[segment * SEGMENT / 64..][..SEGMENT / 64];
        let alive = alive.iter().copied().chain(std::iter::repeat(0));
        words.iter_mut().zip(alive).for_each(|(word, alive)| *word &= alive);
        let ones = |words: &[u64]| words.iter().map(|word| word.count_ones()).sum::<u32>();
        self.counts.extend(words.chunks(WINDOW_WORDS).map(ones));
    }

    /// The words of a window and how many bits are set in them.
    pub(super) fn window(&self, window: usize) -> (&[u64], usize) {
        (&self.words[window * WINDOW_WORDS..][..WINDOW_WORDS], self.counts[window] as usize)
    }
}

/// The masks of the latest filters, all of one state.
#[derive(Debug, Default)]
pub(super) struct Masks(Mutex<Vec<(Metadata, Arc<Mask>)>>);

impl Masks {
    /// The mask of a filter, made where it is not known.
    pub(super) fn of(&self, filter: &Metadata, make: impl FnOnce() -> Mask) -> Arc<Mask> {
        const KEPT: usize = 8;
        let find = |masks: &[(Metadata, Arc<Mask>)]| {
            masks.iter().find(|(known, _)| known == filter).map(|(_, mask)| Arc::clone(mask))
        };
        if let Some(mask) = find(&self.0.lock()) {
            return mask;
        }
        let mask = Arc::new(make());
        let mut masks = self.0.lock();
        if masks.len() == KEPT {
            masks.remove(0);
        }
        masks.push((filter.clone(), Arc::clone(&mask)));
        mask
    }

    /// Forget all.
    pub(super) fn clear(&mut self) {
        self.0.get_mut().clear();
    }
}
