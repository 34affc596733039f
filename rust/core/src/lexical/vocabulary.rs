//! The terms of an index, their numbers and how many living chunks hold each.

use rustc_hash::FxHashMap;

#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    numbers: FxHashMap<Box<str>, u32>,
    holding: Vec<u32>,
}

impl Vocabulary {
    /// The number of a term that is or was held.
    pub(super) fn get(&self, term: &str) -> Option<u32> {
        self.numbers.get(term).copied()
    }

    /// The number of a term, new or known.
    pub(super) fn intern(&mut self, term: Box<str>) -> u32 {
        *self.numbers.entry(term).or_insert_with(|| {
            self.holding.push(0);
            self.holding.len() as u32 - 1
        })
    }

    /// How many living chunks hold a term.
    pub(super) fn document_frequency(&self, term: u32) -> u32 {
        self.holding[term as usize]
    }

    /// One more chunk holds the term.
    pub(super) fn hold(&mut self, term: u32) {
        self.holding[term as usize] += 1;
    }

    /// One chunk fewer holds the term.
    pub(super) fn release(&mut self, term: u32) {
        self.holding[term as usize] -= 1;
    }

    /// The terms that are held, numbered anew in the same order and held by none yet, and the new number of each old one;
    /// that of a term that is gone means nothing.
    pub(super) fn compacted(&self) -> (Self, Vec<u32>) {
        let mut next = 0;
        let renumbered: Vec<u32> = self
            .holding
            .iter()
            .map(|&holding| {
                let number = next;
                next += u32::from(holding > 0);
                number
            })
            .collect();
        let held = |number: u32| self.document_frequency(number) > 0;
        let kept = self.numbers.iter().filter(|&(_, &number)| held(number));
        let numbers = kept.map(|(term, &number)| (term.clone(), renumbered[number as usize])).collect();
        (Self { numbers, holding: vec![0; next as usize] }, renumbered)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }
}
