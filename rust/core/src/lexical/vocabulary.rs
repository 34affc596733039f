//! The terms of an index, their numbers and how many living chunks hold each.

use super::lexicon::hash;
use crate::memory::vector;

const VACANT: u32 = u32::MAX;

/// Terms by number, one after the other in one string, and numbers by term, in open hash tables of numbers only.
#[derive(Debug)]
pub(super) struct Vocabulary {
    text: String,
    /// By number, where the term ends in `text`.
    ends: Vec<usize>,
    holding: Vec<u32>,
    /// Many small tables, so that no write has to wait while a large one grows.
    tables: Vec<Table>,
}

const TABLES: usize = 64;

#[derive(Debug, Default)]
struct Table {
    /// Numbers, each in the first vacant place from that of its hash on; a power of two of them, or none.
    places: Vec<u32>,
    taken: usize,
}

impl Default for Vocabulary {
    fn default() -> Self {
        let tables = std::iter::repeat_with(Table::default).take(TABLES).collect();
        Self { text: String::new(), ends: Vec::new(), holding: Vec::new(), tables }
    }
}

impl Vocabulary {
    /// The number of a term that is or was held.
    pub(super) fn get(&self, term: &str) -> Option<u32> {
        let hash = hash(term);
        self.tables[table(hash)].find(hash, |number| self.term(number) == term).ok()
    }

    /// The number of a term of this hash, new or known.
    pub(super) fn intern(&mut self, term: &str, hash: u64) -> u32 {
        let Self { text, ends, holding, tables } = self;
        let term_of = |number: u32| term_of(text, ends, number);
        let table = &mut tables[table(hash)];
        table.reserve(|number| super::lexicon::hash(term_of(number)));
        match table.find(hash, |number| term_of(number) == term) {
            Ok(number) => number,
            Err(place) => {
                let number = ends.len() as u32;
                table.places[place] = number;
                table.taken += 1;
                text.push_str(term);
                ends.push(text.len());
                holding.push(0);
                number
            }
        }
    }

    /// The term of a number.
    pub(super) fn term(&self, number: u32) -> &str {
        term_of(&self.text, &self.ends, number)
    }

    /// How many living chunks hold a term.
    pub(super) fn document_frequency(&self, term: u32) -> u32 {
        self.holding[term as usize]
    }

    /// So many more chunks hold the term.
    pub(super) fn hold(&mut self, term: u32, chunks: usize) {
        self.holding[term as usize] += chunks as u32;
    }

    /// One chunk fewer holds the term.
    pub(super) fn release(&mut self, term: u32) {
        self.holding[term as usize] -= 1;
    }

    /// What it takes.
    pub(super) fn bytes(&self) -> usize {
        let tables = self.tables.iter().map(|table| vector(&table.places)).sum::<usize>();
        self.text.capacity() + vector(&self.ends) + vector(&self.holding) + tables
    }

    /// How many numbers were given.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }
}

impl Table {
    /// A number of this hash that is the one, or the vacant place where it would stand.
    fn find(&self, hash: u64, is_it: impl Fn(u32) -> bool) -> Result<u32, usize> {
        let Some(mask) = self.places.len().checked_sub(1) else { return Err(0) };
        let mut place = hash as usize & mask;
        loop {
            match self.places[place] {
                VACANT => return Err(place),
                number if is_it(number) => return Ok(number),
                _ => place = (place + 1) & mask,
            }
        }
    }

    /// Make sure of a vacant place for one more, with at most two thirds taken.
    fn reserve(&mut self, hash_of: impl Fn(u32) -> u64) {
        if (self.taken + 1) * 3 > self.places.len() * 2 {
            let size = (self.places.len() * 2).max(16);
            let former = std::mem::replace(&mut self.places, vec![VACANT; size]);
            for number in former.into_iter().filter(|&number| number != VACANT) {
                if let Err(place) = self.find(hash_of(number), |_| false) {
                    self.places[place] = number;
                }
            }
        }
    }
}

fn term_of<'a>(text: &'a str, ends: &[usize], number: u32) -> &'a str {
    let number = number as usize;
    let start = number.checked_sub(1).map_or(0, |previous| ends[previous]);
    &text[start..ends[number]]
}

fn table(hash: u64) -> usize {
    (hash >> 32) as usize % TABLES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_in_order_and_stay() {
        let mut vocabulary = Vocabulary::default();
        assert_eq!(vocabulary.get("t0"), None);
        let terms: Vec<String> = (0..20_000).map(|number| format!("t{number}")).chain([String::new()]).collect();
        for _ in 0..2 {
            for (number, term) in (0..).zip(&terms) {
                assert_eq!(vocabulary.intern(term, hash(term)), number);
            }
        }
        for (number, term) in (0..).zip(&terms) {
            assert_eq!((vocabulary.get(term), vocabulary.term(number)), (Some(number), term.as_str()));
        }
        assert_eq!((vocabulary.len(), vocabulary.get("absent")), (20_001, None));
    }
}
