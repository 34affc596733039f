//! The distinct terms of some texts, numbered in the order in which they first appear.

const VACANT: u32 = u32::MAX;

/// Terms by number, and numbers by term in an open hash table that holds each term's first eight bytes: most terms have
/// no more, and are found without a look at their text.
#[derive(Debug)]
pub(super) struct Lexicon {
    text: String,
    terms: Vec<Entry>,
    places: Vec<Place>,
}

#[derive(Debug)]
struct Entry {
    hash: u64,
    /// Where the term ends in `text`.
    end: usize,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    head: u64,
    length: u32,
    number: u32,
}

impl Place {
    const VACANT: Self = Self { head: 0, length: 0, number: VACANT };
}

impl Default for Lexicon {
    fn default() -> Self {
        Self { text: String::new(), terms: Vec::new(), places: vec![Place::VACANT; 16] }
    }
}

impl Lexicon {
    /// The number of a term, new or known.
    #[inline]
    pub(super) fn intern(&mut self, term: &str) -> u32 {
        let (hash, head, length) = (hash(term), head(term.as_bytes()), term.len() as u32);
        let mut at = hash as usize & (self.places.len() - 1);
        loop {
            let place = self.places[at];
            if place.number == VACANT {
                return self.add(term, hash, at);
            }
            if place.head == head && place.length == length && (length <= 8 || self.term(place.number) == term) {
                return place.number;
            }
            at = (at + 1) & (self.places.len() - 1);
        }
    }

    /// The terms with their hashes, by number.
    pub(super) fn terms(&self) -> impl Iterator<Item = (&str, u64)> {
        let mut start = 0;
        self.terms
            .iter()
            .map(move |entry| (&self.text[std::mem::replace(&mut start, entry.end)..entry.end], entry.hash))
    }

    /// The term of a number.
    pub(super) fn term(&self, number: u32) -> &str {
        let number = number as usize;
        let start = number.checked_sub(1).map_or(0, |previous| self.terms[previous].end);
        &self.text[start..self.terms[number].end]
    }

    #[cold]
    fn add(&mut self, term: &str, hash: u64, at: usize) -> u32 {
        let number = self.terms.len() as u32;
        self.places[at] = Place { head: head(term.as_bytes()), length: term.len() as u32, number };
        self.text.push_str(term);
        self.terms.push(Entry { hash, end: self.text.len() });
        if self.terms.len() * 2 > self.places.len() {
            self.grow();
        }
        number
    }

    fn grow(&mut self) {
        let size = self.places.len() * 4;
        for place in std::mem::replace(&mut self.places, vec![Place::VACANT; size]) {
            if place.number != VACANT {
                let mut at = self.terms[place.number as usize].hash as usize & (size - 1);
                while self.places[at].number != VACANT {
                    at = (at + 1) & (size - 1);
                }
                self.places[at] = place;
            }
        }
    }
}

/// A hash of a term, equally good in all its bits.
#[inline]
pub(super) fn hash(term: &str) -> u64 {
    const FIRST: u64 = 0x9E37_79B9_7F4A_7C15;
    const LATER: u64 = 0xD1B5_4A32_D192_ED03;
    let bytes = term.as_bytes();
    let mut hash = fold(head(bytes) ^ bytes.len() as u64, FIRST);
    if bytes.len() > 8 {
        // Whole words, then the last eight bytes, which may overlap them.
        let words = bytes[8..].as_chunks::<8>().0.iter().chain(bytes.last_chunk::<8>());
        hash = words.fold(hash, |hash, word| fold(hash ^ u64::from_le_bytes(*word), LATER));
    }
    hash
}

/// Both halves of the product, one over the other.
#[inline]
fn fold(value: u64, factor: u64) -> u64 {
    let product = u128::from(value ^ factor.rotate_left(32)) * u128::from(factor);
    product as u64 ^ (product >> 64) as u64
}

/// The first eight bytes, little end first, with zeros where there are fewer.
#[inline]
fn head(bytes: &[u8]) -> u64 {
    if let Some(eight) = bytes.first_chunk::<8>() {
        return u64::from_le_bytes(*eight);
    }
    // Two reads that may overlap in equal bytes.
    let shift = |width: usize| 8 * (bytes.len() - width);
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        return u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << shift(4);
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk::<2>(), bytes.last_chunk::<2>()) {
        return u64::from(u16::from_le_bytes(*first)) | u64::from(u16::from_le_bytes(*last)) << shift(2);
    }
    bytes.first().copied().unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_head_is_the_first_bytes() {
        for length in 0..12 {
            let bytes: Vec<u8> = (1..=length).collect();
            let mut padded = [0; 8];
            let count = bytes.len().min(8);
            padded[..count].copy_from_slice(&bytes[..count]);
            assert_eq!(head(&bytes).to_le_bytes(), padded);
        }
    }

    proptest! {
        #[test]
        fn a_term_has_one_number(terms in prop::collection::vec("[ab\0]{0,3}|[a-c]{7,10}|x{15,18}|[é人]{0,7}", 0..300)) {
            let mut lexicon = Lexicon::default();
            let mut expected = BTreeMap::new();
            for term in &terms {
                let next = expected.len() as u32;
                prop_assert_eq!(lexicon.intern(term), *expected.entry(term.as_str()).or_insert(next));
            }
            prop_assert_eq!(lexicon.terms().count(), expected.len());
            for (number, (term, hash)) in (0..).zip(lexicon.terms()) {
                prop_assert_eq!(expected.get(term), Some(&number));
                prop_assert_eq!(lexicon.term(number), term);
                prop_assert_eq!(hash, super::hash(term));
            }
        }
    }
}
