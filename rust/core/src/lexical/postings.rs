//! A segment's inverted lists: by term, the slots that hold it, ascending, and how often.

use rustc_hash::FxHashMap;

/// Stands for a frequency that does not fit a byte.
const OVERFLOW: u8 = u8::MAX;

/// One term's list.
#[derive(Debug, Clone, Copy)]
pub(super) struct List<'a> {
    pub(super) slots: &'a [u16],
    pub(super) frequencies: &'a [u8],
}

/// The lists of a segment: open while it fills, sealed when it is full.
#[derive(Debug, Default)]
pub(super) struct Postings {
    open: Open,
    sealed: Sealed,
    /// The frequencies that do not fit a byte.
    great: FxHashMap<(u32, u16), u32>,
}

/// Lists that grow.
#[derive(Debug, Default)]
struct Open {
    lists: Vec<OpenList>,
    /// By term, its place in `lists` plus 1, or 0.
    places: Vec<u32>,
}

#[derive(Debug)]
struct OpenList {
    term: u32,
    slots: Vec<u16>,
    frequencies: Vec<u8>,
}

/// The same lists one after the other, by ascending term.
#[derive(Debug, Default)]
struct Sealed {
    terms: Vec<u32>,
    /// Where each list ends.
    ends: Vec<usize>,
    slots: Vec<u16>,
    frequencies: Vec<u8>,
}

impl Postings {
    /// Append a posting; slots come in ascending order.
    pub(super) fn push(&mut self, term: u32, slot: u16, frequency: u32) {
        let list = self.open.list(term);
        list.slots.push(slot);
        list.frequencies.push(frequency.min(OVERFLOW.into()) as u8);
        if frequency >= OVERFLOW.into() {
            self.great.insert((term, slot), frequency);
        }
    }

    /// A term's list; empty where no slot holds it.
    pub(super) fn list(&self, term: u32) -> List<'_> {
        self.sealed.get(term).or_else(|| self.open.get(term)).unwrap_or(List { slots: &[], frequencies: &[] })
    }

    /// How often a slot holds a term, given the byte of its posting.
    #[inline]
    pub(super) fn frequency(&self, term: u32, slot: u16, byte: u8) -> u32 {
        if byte == OVERFLOW { self.great.get(&(term, slot)).copied().unwrap_or(OVERFLOW.into()) } else { byte.into() }
    }

    /// Lay the lists down for good; nothing is pushed after.
    pub(super) fn seal(&mut self) {
        let mut lists = std::mem::take(&mut self.open).lists;
        lists.sort_unstable_by_key(|list| list.term);
        let postings = lists.iter().map(|list| list.slots.len()).sum();
        let sealed = &mut self.sealed;
        sealed.slots.reserve_exact(postings);
        sealed.frequencies.reserve_exact(postings);
        for list in lists {
            sealed.slots.extend(list.slots);
            sealed.frequencies.extend(list.frequencies);
            sealed.terms.push(list.term);
            sealed.ends.push(sealed.slots.len());
        }
    }
}

impl Open {
    fn list(&mut self, term: u32) -> &mut OpenList {
        let term_index = term as usize;
        if self.places.len() <= term_index {
            self.places.resize(term_index + 1, 0);
        }
        let place = &mut self.places[term_index];
        if *place == 0 {
            self.lists.push(OpenList { term, slots: Vec::new(), frequencies: Vec::new() });
            *place = self.lists.len() as u32;
        }
        &mut self.lists[*place as usize - 1]
    }

    fn get(&self, term: u32) -> Option<List<'_>> {
        let place = (*self.places.get(term as usize)?).checked_sub(1)?;
        let list = &self.lists[place as usize];
        Some(List { slots: &list.slots, frequencies: &list.frequencies })
    }
}

impl Sealed {
    fn get(&self, term: u32) -> Option<List<'_>> {
        let place = self.terms.binary_search(&term).ok()?;
        let start = place.checked_sub(1).map_or(0, |previous| self.ends[previous]);
        let range = start..self.ends[place];
        Some(List { slots: &self.slots[range.clone()], frequencies: &self.frequencies[range] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sealing_changes_nothing_to_be_seen() {
        let mut postings = Postings::default();
        let pushed = [(7, 0, 1), (2, 0, 254), (7, 3, 255), (0, 5, 70_000), (7, 65_535, 2)];
        for (term, slot, frequency) in pushed {
            postings.push(term, slot, frequency);
        }
        let seen = |postings: &Postings| -> Vec<(u32, u16, u32)> {
            let mut seen = Vec::new();
            for term in 0..10 {
                let list = postings.list(term);
                for (&slot, &byte) in list.slots.iter().zip(list.frequencies) {
                    seen.push((term, slot, postings.frequency(term, slot, byte)));
                }
            }
            seen
        };
        let open = seen(&postings);
        postings.seal();
        assert_eq!(seen(&postings), open);
        assert_eq!(open, [(0, 5, 70_000), (2, 0, 254), (7, 0, 1), (7, 3, 255), (7, 65_535, 2)]);
    }
}
