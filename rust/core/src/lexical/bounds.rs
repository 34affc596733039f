//! How much a posting can count at most, by list and by window, in one byte.
//!
//! A bound is `⌈255 · tf / (tf + norm₀)⌉`, where `norm₀` is taken at the average length of the time when it was noted, the
//! baseline. It stays valid whatever the average becomes: where that grows by a factor `r`, `norm ≥ norm₀ / r`, and
//!
//! ```text
//! tf / (tf + norm) ≤ tf / (tf + norm₀ / r) = r · tf / (r · tf + norm₀) ≤ r · tf / (tf + norm₀)
//! ```
//!
//! so that `bound · max(1, r) / 255` is not exceeded; where the average falls, norms grow and the bound holds as it is.

use super::scoring::{Parameters, saturation};
use crate::slots::SEGMENT;

/// Slots that are scored together: as many as have their sums in the nearest cache.
pub(super) const WINDOW: usize = 4096;

/// Windows a segment.
pub(super) const WINDOWS: usize = SEGMENT / WINDOW;

/// A list of so many postings has a table; for a shorter one it would cost more than it saves.
pub(super) const LONG: usize = 128;

/// Bounds are noted anew where the average length has grown by more than this factor.
pub(super) const DRIFT: f64 = 1.1;

/// A long list by window: how many postings, the bound of their saturations, and where many are, which slots.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Table {
    pub(super) counts: [u16; WINDOWS],
    pub(super) bounds: [u8; WINDOWS],
    pub(super) dense: [Option<Box<Dense>>; WINDOWS],
}

impl Table {
    /// Note the last posting of the list that `slots` are so far.
    pub(super) fn note(&mut self, slots: &[u16], bound: u8) {
        const MANY: u16 = WINDOW as u16 / 16;
        let Some(&slot) = slots.last() else { return };
        let window = usize::from(slot) / WINDOW;
        self.counts[window] += 1;
        self.bounds[window] = self.bounds[window].max(bound);
        if let Some(dense) = &mut self.dense[window] {
            dense.note(slot, self.counts[window] - 1);
        } else if self.counts[window] == MANY {
            let mut dense = Box::<Dense>::default();
            (0..).zip(&slots[slots.len() - usize::from(MANY)..]).for_each(|(place, &slot)| dense.note(slot, place));
            self.dense[window] = Some(dense);
        }
    }

    /// What it takes, itself included.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.dense.iter().flatten().count() * size_of::<Dense>()
    }
}

/// The slots of a window that hold a term, one bit each, so that a posting is found at once.
#[derive(Debug, PartialEq)]
pub(super) struct Dense {
    words: [u64; WORDS],
    /// By word, how many postings of the window stand before it, where it has any.
    before: [u16; WORDS],
}

const WORDS: usize = WINDOW / 64;

impl Default for Dense {
    fn default() -> Self {
        Self { words: [0; WORDS], before: [0; WORDS] }
    }
}

impl Dense {
    /// A slot's place among the window's postings.
    #[inline]
    pub(super) fn find(&self, slot: u16) -> Option<usize> {
        let word = self.words[usize::from(slot) / 64 % WORDS];
        let bit = 1_u64 << (slot % 64);
        let place = usize::from(self.before[usize::from(slot) / 64 % WORDS]);
        (word & bit != 0).then(|| place + (word & (bit - 1)).count_ones() as usize)
    }

    /// The places of the postings whose slots are set in `words` too.
    pub(super) fn among(&self, words: &[u64]) -> impl Iterator<Item = usize> {
        self.words.iter().zip(&self.before).zip(words).flat_map(|((&held, &before), &wanted)| {
            let place = move |bit: u32| usize::from(before) + (held & ((1 << bit) - 1)).count_ones() as usize;
            ones(held & wanted).map(place)
        })
    }

    fn note(&mut self, slot: u16, place: u16) {
        let word = usize::from(slot) / 64 % WORDS;
        if self.words[word] == 0 {
            self.before[word] = place;
        }
        self.words[word] |= 1 << (slot % 64);
    }
}

/// The places of the bits that are set.
pub(super) fn ones(mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let place = (word != 0).then(|| word.trailing_zeros());
        word &= word.wrapping_sub(1);
        place
    })
}

/// The bound of a saturation.
pub(super) fn ceiling(saturation: f64) -> u8 {
    (saturation * 255.0).ceil() as u8
}

/// The bounds of one chunk's postings at a baseline.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ceilings {
    norm: f64,
    /// That of a term which occurs once, as most do.
    once: u8,
}

impl Ceilings {
    pub(super) fn new(parameters: Parameters, length: u32, baseline: f64) -> Self {
        let norm = parameters.norm(length, baseline);
        Self { norm, once: ceiling(saturation(1, norm)) }
    }

    #[inline]
    pub(super) fn of(self, frequency: u32) -> u8 {
        if frequency == 1 { self.once } else { ceiling(saturation(frequency, self.norm)) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn bounds_hold_under_any_average(
            (k1, b) in (0.0_f64..4.0, 0.0_f64..=1.0),
            frequency in 1_u32..400,
            length in 1_u32..5000,
            baseline in 1.0_f64..3000.0,
            average in 1.0_f64..3000.0,
        ) {
            let parameters = Parameters { k1, b };
            let bound = Ceilings::new(parameters, length, baseline).of(frequency);
            let greatest = f64::from(bound) / 255.0 * (average / baseline).max(1.0);
            prop_assert!(saturation(frequency, parameters.norm(length, average)) <= greatest * (1.0 + 1e-14));
        }
    }
}
