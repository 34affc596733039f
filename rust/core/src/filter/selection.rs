//! What a predicate selects: some slots, or all but some.

use std::borrow::Cow;

use roaring::RoaringBitmap;

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

    /// How many slots from `first` to `last`, both included, are selected.
    pub fn count(&self, first: u32, last: u32) -> u64 {
        match self {
            Self::Only(slots) => slots.range_cardinality(first..=last),
            Self::AllBut(slots) => u64::from(last - first) + 1 - slots.range_cardinality(first..=last),
        }
    }

    /// The selected slots from `first` to `last`, ascending, where these are listed; `None` for all but some.
    pub fn listed(&self, first: u32, last: u32) -> Option<impl Iterator<Item = u32>> {
        match self {
            Self::Only(slots) => Some(slots.range(first..=last)),
            Self::AllBut(_) => None,
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
