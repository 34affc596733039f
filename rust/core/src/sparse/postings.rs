//! A segment's inverted lists: by term, the slots that hold it, ascending, and with which weight.

use rustc_hash::FxHashMap;

/// One term's list.
#[derive(Debug, Clone, Copy)]
pub(super) struct List<'a> {
    pub(super) slots: &'a [u16],
    pub(super) weights: &'a [f32],
}

impl List<'_> {
    /// Pass over the postings before a slot.
    pub(super) fn drop_before(&mut self, slot: u16) {
        let count = self.slots.partition_point(|&held| held < slot);
        (self.slots, self.weights) = (&self.slots[count..], &self.weights[count..]);
    }
}

/// The lists of a segment: open while it fills, sealed when it is full.
#[derive(Debug)]
pub(super) enum Postings {
    Open(Open),
    Sealed(Sealed),
}

/// Lists that grow.
#[derive(Debug, Default)]
pub(super) struct Open {
    lists: Vec<OpenList>,
    /// By term, its place in `lists`.
    places: FxHashMap<u32, u32>,
}

#[derive(Debug)]
struct OpenList {
    term: u32,
    slots: Vec<u16>,
    weights: Vec<f32>,
}

/// The same lists one after the other, by ascending term.
#[derive(Debug)]
pub(super) struct Sealed {
    terms: Vec<u32>,
    /// Where each list ends.
    ends: Vec<usize>,
    slots: Vec<u16>,
    weights: Vec<f32>,
}

impl Default for Postings {
    fn default() -> Self {
        Self::Open(Open::default())
    }
}

impl Postings {
    /// A term's list; empty where no slot holds it.
    pub(super) fn list(&self, term: u32) -> List<'_> {
        let list = match self {
            Self::Open(open) => open.places.get(&term).map(|&place| open.lists[place as usize].list()),
            Self::Sealed(sealed) => sealed.terms.binary_search(&term).ok().map(|place| sealed.list(place)),
        };
        list.unwrap_or(List { slots: &[], weights: &[] })
    }

    /// All lists with their terms.
    pub(super) fn lists(&self) -> Vec<(u32, List<'_>)> {
        match self {
            Self::Open(open) => open.lists.iter().map(|list| (list.term, list.list())).collect(),
            Self::Sealed(sealed) => {
                sealed.terms.iter().enumerate().map(|(place, &term)| (term, sealed.list(place))).collect()
            }
        }
    }

    /// Append a posting; slots come in ascending order, and none after the lists are sealed.
    pub(super) fn push(&mut self, term: u32, slot: u16, weight: f32) {
        if let Self::Open(open) = self {
            let place = *open.places.entry(term).or_insert_with(|| {
                open.lists.push(OpenList { term, slots: Vec::new(), weights: Vec::new() });
                open.lists.len() as u32 - 1
            });
            let list = &mut open.lists[place as usize];
            list.slots.push(slot);
            list.weights.push(weight);
        }
    }

    /// The lists of a full segment laid down without gaps; `None` where they are already.
    pub(super) fn sealed(&self) -> Option<Self> {
        let Self::Open(open) = self else { return None };
        let mut lists: Vec<&OpenList> = open.lists.iter().collect();
        lists.sort_unstable_by_key(|list| list.term);
        let postings = lists.iter().map(|list| list.slots.len()).sum();
        let mut sealed = Sealed {
            terms: lists.iter().map(|list| list.term).collect(),
            ends: Vec::with_capacity(lists.len()),
            slots: Vec::with_capacity(postings),
            weights: Vec::with_capacity(postings),
        };
        for list in lists {
            sealed.slots.extend_from_slice(&list.slots);
            sealed.weights.extend_from_slice(&list.weights);
            sealed.ends.push(sealed.slots.len());
        }
        Some(Self::Sealed(sealed))
    }
}

impl OpenList {
    fn list(&self) -> List<'_> {
        List { slots: &self.slots, weights: &self.weights }
    }
}

impl Sealed {
    fn list(&self, place: usize) -> List<'_> {
        let start = place.checked_sub(1).map_or(0, |previous| self.ends[previous]);
        let range = start..self.ends[place];
        List { slots: &self.slots[range.clone()], weights: &self.weights[range] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sealing_changes_nothing_to_be_seen() {
        let mut postings = Postings::default();
        for (term, slot, weight) in [(7, 0, 1.0), (u32::MAX, 0, 0.5), (7, 3, 2.5), (0, 5, 1e-9), (7, 65_535, 2.0)] {
            postings.push(term, slot, weight);
        }
        let seen = |postings: &Postings| -> Vec<(u32, Vec<u16>, Vec<f32>)> {
            [0, 3, 7, u32::MAX]
                .into_iter()
                .map(|term| (term, postings.list(term).slots.to_vec(), postings.list(term).weights.to_vec()))
                .collect()
        };
        let sealed = postings.sealed().unwrap();
        assert_eq!(seen(&sealed), seen(&postings));
        assert_eq!(seen(&sealed)[2], (7, vec![0, 3, 65_535], vec![1.0, 2.5, 2.0]));
        assert_eq!((sealed.lists().len(), postings.lists().len()), (3, 3));
        assert!(sealed.sealed().is_none());
    }
}
