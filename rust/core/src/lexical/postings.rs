//! A segment's inverted lists: by term, the slots that hold it, ascending, and how often.

use rustc_hash::FxHashMap;

use super::bounds::{Ceilings, LONG, Table};
use super::open::OpenList;
use super::scoring::Parameters;
use crate::memory::{map, vector};

/// Stands for a frequency that does not fit a byte.
const OVERFLOW: u8 = u8::MAX;

/// One term's list.
#[derive(Debug, Clone, Copy)]
pub(super) struct List<'a> {
    pub(super) slots: &'a [u16],
    pub(super) frequencies: &'a [u8],
    /// What no posting's saturation exceeds, as in [`super::bounds`].
    pub(super) bound: u8,
    /// The same by window, where the list is long.
    pub(super) table: Option<&'a Table>,
}

impl List<'_> {
    const EMPTY: Self = List { slots: &[], frequencies: &[], bound: 0, table: None };
}

/// The lists of a segment: open while it fills, sealed when it is full.
#[derive(Debug)]
pub(super) struct Postings {
    lists: Lists,
    /// The frequencies that do not fit a byte.
    great: FxHashMap<(u32, u16), u32>,
    /// The average length at which the bounds were noted.
    baseline: f64,
}

#[derive(Debug)]
enum Lists {
    Open(Open),
    Sealed(Sealed),
}

/// Lists that grow.
#[derive(Debug, Default)]
struct Open {
    lists: Vec<OpenList>,
    /// By term, its place in `lists` plus 1, or 0.
    places: Vec<u32>,
}

/// The same lists one after the other, by ascending term, in arrays of exact size.
#[derive(Debug)]
pub(super) struct Sealed {
    terms: Vec<u32>,
    /// Where each list ends.
    ends: Vec<usize>,
    slots: Vec<u16>,
    frequencies: Vec<u8>,
    bounds: Bounds,
}

/// The bounds of sealed lists at one baseline.
#[derive(Debug)]
pub(super) struct Bounds {
    baseline: f64,
    lists: Vec<u8>,
    /// The long lists' places, ascending, and their tables.
    long: Vec<u32>,
    tables: Vec<Table>,
}

impl Postings {
    /// No postings, with bounds to be noted at an average length.
    pub(super) fn new(baseline: f64) -> Self {
        Self { lists: Lists::Open(Open::default()), great: FxHashMap::default(), baseline }
    }

    pub(super) fn baseline(&self) -> f64 {
        self.baseline
    }

    pub(super) fn is_sealed(&self) -> bool {
        matches!(self.lists, Lists::Sealed(_))
    }

    /// Append (slot, frequency) pairs to a term's list, slots ascending. Nothing is appended after sealing.
    pub(super) fn extend(
        &mut self,
        term: u32,
        postings: impl ExactSizeIterator<Item = (u16, u32)>,
        ceilings: impl Fn(u16) -> Ceilings,
    ) {
        let Lists::Open(open) = &mut self.lists else { return };
        let great = &mut self.great;
        open.list(term).extend(postings.map(|(slot, frequency)| {
            let byte = frequency.min(OVERFLOW.into()) as u8;
            if byte == OVERFLOW {
                great.insert((term, slot), frequency);
            }
            (slot, byte, ceilings(slot).of(frequency))
        }));
    }

    /// A term's list; empty where no slot holds it.
    pub(super) fn list(&self, term: u32) -> List<'_> {
        let list = match &self.lists {
            Lists::Open(open) => open.get(term),
            Lists::Sealed(sealed) => sealed.get(term),
        };
        list.unwrap_or(List::EMPTY)
    }

    /// How often a slot holds a term, given the byte of its posting.
    #[inline]
    pub(super) fn frequency(&self, term: u32, slot: u16, byte: u8) -> u32 {
        if byte == OVERFLOW { self.great.get(&(term, slot)).copied().unwrap_or(OVERFLOW.into()) } else { byte.into() }
    }

    /// The lists laid down for good, with bounds at `baseline`; `None` where they are.
    pub(super) fn sealed(&self, parameters: Parameters, lengths: &[u32], baseline: f64) -> Option<Sealed> {
        let Lists::Open(open) = &self.lists else { return None };
        let count = open.lists.iter().map(|list| list.slots().len()).sum();
        let mut sealed = Sealed {
            terms: Vec::with_capacity(open.lists.len()),
            ends: Vec::with_capacity(open.lists.len()),
            slots: Vec::with_capacity(count),
            frequencies: Vec::with_capacity(count),
            bounds: Bounds { baseline, lists: Vec::new(), long: Vec::new(), tables: Vec::new() },
        };
        for (term, place) in (0..).zip(&open.places) {
            let Some(place) = place.checked_sub(1) else { continue };
            let list = &open.lists[place as usize];
            sealed.slots.extend(list.slots());
            sealed.frequencies.extend(list.frequencies());
            sealed.terms.push(term);
            sealed.ends.push(sealed.slots.len());
        }
        sealed.bounds = self.measure(&sealed, parameters, lengths, baseline);
        Some(sealed)
    }

    /// Put the sealed lists in the place of the open ones, which are returned to be dropped at leisure.
    pub(super) fn seal(&mut self, sealed: Sealed) -> impl Send + use<> {
        self.baseline = sealed.bounds.baseline;
        std::mem::replace(&mut self.lists, Lists::Sealed(sealed))
    }

    /// The bounds of sealed lists at another baseline; `None` where they are open.
    pub(super) fn bounds(&self, parameters: Parameters, lengths: &[u32], baseline: f64) -> Option<Bounds> {
        match &self.lists {
            Lists::Sealed(sealed) => Some(self.measure(sealed, parameters, lengths, baseline)),
            Lists::Open(_) => None,
        }
    }

    /// Put other bounds in the place of those that sealed lists have.
    pub(super) fn rebase(&mut self, bounds: Bounds) {
        if let Lists::Sealed(sealed) = &mut self.lists {
            self.baseline = bounds.baseline;
            sealed.bounds = bounds;
        }
    }

    /// Note the bounds of open lists anew.
    pub(super) fn rebase_open(&mut self, parameters: Parameters, lengths: &[u32], baseline: f64) {
        let Self { lists: Lists::Open(open), great, .. } = self else { return };
        let ceilings: Vec<Ceilings> =
            lengths.iter().map(|&length| Ceilings::new(parameters, length, baseline)).collect();
        for (term, place) in (0..).zip(&open.places) {
            let Some(place) = place.checked_sub(1) else { continue };
            let former = std::mem::take(&mut open.lists[place as usize]);
            let postings = former.slots().iter().zip(former.frequencies());
            open.lists[place as usize].extend(postings.map(|(&slot, &byte)| {
                let frequency = great.get(&(term, slot)).copied().unwrap_or(byte.into());
                (slot, byte, ceilings[usize::from(slot)].of(frequency))
            }));
        }
        self.baseline = baseline;
    }

    /// What the lists take.
    pub(super) fn bytes(&self) -> usize {
        let lists = match &self.lists {
            Lists::Open(open) => {
                vector(&open.places) + vector(&open.lists) + open.lists.iter().map(OpenList::bytes).sum::<usize>()
            }
            Lists::Sealed(Sealed { terms, ends, slots, frequencies, bounds }) => {
                let tables = bounds.tables.iter().map(Table::bytes).sum::<usize>();
                let bounds = vector(&bounds.lists) + vector(&bounds.long) + tables;
                vector(terms) + vector(ends) + vector(slots) + vector(frequencies) + bounds
            }
        };
        lists + map(&self.great)
    }

    fn measure(&self, sealed: &Sealed, parameters: Parameters, lengths: &[u32], baseline: f64) -> Bounds {
        let ceilings: Vec<Ceilings> =
            lengths.iter().map(|&length| Ceilings::new(parameters, length, baseline)).collect();
        let long = sealed.places().filter(|range| range.len() >= LONG).count();
        let mut bounds = Bounds {
            baseline,
            lists: Vec::with_capacity(sealed.terms.len()),
            long: Vec::with_capacity(long),
            tables: Vec::with_capacity(long),
        };
        for ((place, range), &term) in (0..).zip(sealed.places()).zip(&sealed.terms) {
            let is_long = range.len() >= LONG;
            let (mut bound, mut table) = (0, Table::default());
            let slots = &sealed.slots[range.clone()];
            for ((count, &slot), &byte) in (1..).zip(slots).zip(&sealed.frequencies[range]) {
                let ceiling = ceilings[usize::from(slot)].of(self.frequency(term, slot, byte));
                bound = bound.max(ceiling);
                if is_long {
                    table.note(&slots[..count], ceiling);
                }
            }
            bounds.lists.push(bound);
            if is_long {
                bounds.long.push(place);
                bounds.tables.push(table);
            }
        }
        bounds
    }
}

impl Open {
    fn list(&mut self, term: u32) -> &mut OpenList {
        let term = term as usize;
        if self.places.len() <= term {
            self.places.resize(term + 1, 0);
        }
        let place = &mut self.places[term];
        if *place == 0 {
            self.lists.push(OpenList::default());
            *place = self.lists.len() as u32;
        }
        &mut self.lists[*place as usize - 1]
    }

    fn get(&self, term: u32) -> Option<List<'_>> {
        let place = (*self.places.get(term as usize)?).checked_sub(1)?;
        Some(self.lists[place as usize].list())
    }
}

impl Sealed {
    fn get(&self, term: u32) -> Option<List<'_>> {
        let place = self.terms.binary_search(&term).ok()?;
        let start = place.checked_sub(1).map_or(0, |previous| self.ends[previous]);
        let range = start..self.ends[place];
        let table = if range.len() < LONG { None } else { self.bounds.long.binary_search(&(place as u32)).ok() };
        Some(List {
            slots: &self.slots[range.clone()],
            frequencies: &self.frequencies[range],
            bound: self.bounds.lists[place],
            table: table.map(|table| &self.bounds.tables[table]),
        })
    }

    /// Where each list stands.
    fn places(&self) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| start..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Result;

    /// (term, slot, frequency) of every posting, after a check of its bounds.
    fn seen(postings: &Postings, ceilings: Ceilings) -> Vec<(u32, u16, u32)> {
        let mut seen = Vec::new();
        for term in 0..10 {
            let list = postings.list(term);
            for (&slot, &byte) in list.slots.iter().zip(list.frequencies) {
                let frequency = postings.frequency(term, slot, byte);
                assert!(ceilings.of(frequency) <= list.bound);
                if let Some(table) = list.table {
                    assert!(ceilings.of(frequency) <= table.bounds[usize::from(slot) / super::super::bounds::WINDOW]);
                }
                seen.push((term, slot, frequency));
            }
            let counted = list.table.map(|table| table.counts.iter().map(|&count| usize::from(count)).sum());
            assert_eq!(counted, (list.slots.len() >= LONG).then_some(list.slots.len()));
        }
        seen
    }

    #[test]
    fn sealing_and_rebasing_change_no_posting() -> Result<()> {
        let parameters = Parameters::new(1.5, 0.75)?;
        let lengths = vec![9; 65_536];
        let ceilings = |baseline| Ceilings::new(parameters, 9, baseline);
        let mut postings = Postings::new(4.0);
        let mut pushed = vec![(7, 0, 1), (2, 0, 254), (7, 3, 255), (0, 5, 70_000), (7, 65_535, 2)];
        pushed.extend((0..300).map(|number| (9, number * 200, u32::from(number) % 5 + 1)));
        for &(term, slot, frequency) in &pushed {
            postings.extend(term, [(slot, frequency)].into_iter(), |_| ceilings(4.0));
        }
        pushed.sort_unstable();
        assert_eq!(seen(&postings, ceilings(4.0)), pushed);
        postings.rebase_open(parameters, &lengths, 7.0);
        assert_eq!(seen(&postings, ceilings(7.0)), pushed);
        let sealed = postings.sealed(parameters, &lengths, 5.0);
        assert!(sealed.map(|sealed| postings.seal(sealed)).is_some() && postings.is_sealed());
        assert_eq!(seen(&postings, ceilings(5.0)), pushed);
        let bounds = postings.bounds(parameters, &lengths, 8.0);
        assert!(bounds.map(|bounds| postings.rebase(bounds)).is_some());
        assert_eq!(seen(&postings, ceilings(8.0)), pushed);
        assert_eq!(postings.baseline().to_bits(), 8.0_f64.to_bits());
        Ok(())
    }
}
