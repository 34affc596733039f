//! What a predicate selects: some slots, or all but some.

use std::borrow::Cow;

use roaring::RoaringBitmap;
use roaring::bitmap::Iter;

/// Slots that fulfil a predicate. A set that a column holds already is borrowed.
///
/// Dead slots, and slots that were never filled, may be among them: an index masks with the living.
#[derive(Debug, Clone, PartialEq)]
pub enum Selection<'a> {
    /// These.
    Only(Cow<'a, RoaringBitmap>),
    /// All others.
    AllBut(Cow<'a, RoaringBitmap>),
}

impl Selection<'_> {
    /// Every slot.
    pub fn all() -> Self {
        Self::AllBut(Cow::Owned(RoaringBitmap::new()))
    }

    /// Whether the slot is selected.
    pub fn contains(&self, slot: u32) -> bool {
        match self {
            Self::Only(slots) => slots.contains(slot),
            Self::AllBut(slots) => !slots.contains(slot),
        }
    }

    /// Whether no slot is selected.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Only(slots) if slots.is_empty())
    }

    /// The slots that are not selected.
    #[must_use]
    pub fn complement(self) -> Self {
        match self {
            Self::Only(slots) => Self::AllBut(slots),
            Self::AllBut(slots) => Self::Only(slots),
        }
    }

    /// The slots that both select.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Only(a), Self::Only(b)) => Self::Only(intersection(a, b)),
            (Self::Only(some), Self::AllBut(excluded)) | (Self::AllBut(excluded), Self::Only(some)) => {
                Self::Only(difference(some, &excluded))
            }
            (Self::AllBut(a), Self::AllBut(b)) => Self::AllBut(union(a, b)),
        }
    }

    /// The slots that at least one of them selects.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        self.complement().and(other.complement()).complement()
    }

    /// The selected among a stretch of slots, of which `alive` has one bit each from `first` on; `None` where there is
    /// none.
    pub fn among<'w>(&self, first: u32, alive: &'w [u64]) -> Option<Cow<'w, [u64]>> {
        let last = first.saturating_add((alive.len() as u32 * 64).saturating_sub(1));
        let mask = match self {
            Self::AllBut(excluded) if excluded.is_empty() => Cow::Borrowed(alive),
            Self::AllBut(excluded) => {
                let mut mask = alive.to_vec();
                each_place(excluded.range(first..=last), first, |word, bit| mask[word] &= !bit);
                Cow::Owned(mask)
            }
            Self::Only(selected) => {
                let mut mask = vec![0; alive.len()];
                each_place(selected.range(first..=last), first, |word, bit| mask[word] |= alive[word] & bit);
                Cow::Owned(mask)
            }
        };
        mask.iter().any(|&word| word != 0).then_some(mask)
    }
}

/// Visit the word and the bit of each slot.
fn each_place(mut slots: Iter<'_>, first: u32, mut visit: impl FnMut(usize, u64)) {
    let mut buffer = [0; 256];
    loop {
        let some = slots.next_many(&mut buffer);
        if some.is_empty() {
            return;
        }
        for &mut slot in some {
            let place = slot - first;
            visit(place as usize / 64, 1 << (place % 64));
        }
    }
}

fn intersection<'a>(a: Cow<'a, RoaringBitmap>, b: Cow<'a, RoaringBitmap>) -> Cow<'a, RoaringBitmap> {
    match (a, b) {
        (Cow::Borrowed(a), Cow::Borrowed(b)) => Cow::Owned(a & b),
        (Cow::Owned(mut own), other) | (other, Cow::Owned(mut own)) => {
            own &= &*other;
            Cow::Owned(own)
        }
    }
}

fn union<'a>(a: Cow<'a, RoaringBitmap>, b: Cow<'a, RoaringBitmap>) -> Cow<'a, RoaringBitmap> {
    match (a, b) {
        (set, empty) | (empty, set) if empty.is_empty() => set,
        (Cow::Borrowed(a), Cow::Borrowed(b)) => Cow::Owned(a | b),
        (Cow::Owned(mut own), other) | (other, Cow::Owned(mut own)) => {
            own |= &*other;
            Cow::Owned(own)
        }
    }
}

fn difference<'a>(a: Cow<'a, RoaringBitmap>, b: &RoaringBitmap) -> Cow<'a, RoaringBitmap> {
    match a {
        whole if b.is_empty() => whole,
        Cow::Borrowed(a) => Cow::Owned(a - b),
        Cow::Owned(mut own) => {
            own -= b;
            Cow::Owned(own)
        }
    }
}
