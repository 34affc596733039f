//! A list that grows: within itself while it is short, as most are.

use super::bounds::{LONG, Table};
use super::postings::List;

/// Postings that need no memory of their own.
const FEW: usize = 6;

/// One term's list in a segment that is not full.
#[derive(Debug, Default)]
pub(super) struct OpenList {
    bound: u8,
    postings: Postings,
}

#[derive(Debug)]
enum Postings {
    Few { count: u8, slots: [u16; FEW], frequencies: [u8; FEW] },
    Many(Box<Many>),
}

#[derive(Debug, Default)]
struct Many {
    slots: Vec<u16>,
    frequencies: Vec<u8>,
    table: Option<Box<Table>>,
}

impl Default for Postings {
    fn default() -> Self {
        Self::Few { count: 0, slots: [0; FEW], frequencies: [0; FEW] }
    }
}

impl OpenList {
    pub(super) fn slots(&self) -> &[u16] {
        match &self.postings {
            Postings::Few { count, slots, .. } => &slots[..usize::from(*count)],
            Postings::Many(many) => &many.slots,
        }
    }

    pub(super) fn frequencies(&self) -> &[u8] {
        match &self.postings {
            Postings::Few { count, frequencies, .. } => &frequencies[..usize::from(*count)],
            Postings::Many(many) => &many.frequencies,
        }
    }

    pub(super) fn list(&self) -> List<'_> {
        let table = match &self.postings {
            Postings::Few { .. } => None,
            Postings::Many(many) => many.table.as_deref(),
        };
        List { slots: self.slots(), frequencies: self.frequencies(), bound: self.bound, table }
    }

    /// Append (slot, frequency byte, bound) of each posting.
    pub(super) fn extend(&mut self, postings: impl ExactSizeIterator<Item = (u16, u8, u8)>) {
        let size = self.slots().len() + postings.len();
        if size > FEW && matches!(self.postings, Postings::Few { .. }) {
            let (mut slots, mut frequencies) = (Vec::with_capacity(size), Vec::with_capacity(size));
            slots.extend_from_slice(self.slots());
            frequencies.extend_from_slice(self.frequencies());
            self.postings = Postings::Many(Box::new(Many { slots, frequencies, table: None }));
        }
        match &mut self.postings {
            Postings::Few { count, slots, frequencies } => {
                for (slot, byte, bound) in postings {
                    (slots[usize::from(*count)], frequencies[usize::from(*count)]) = (slot, byte);
                    *count += 1;
                    self.bound = self.bound.max(bound);
                }
            }
            Postings::Many(many) => {
                many.slots.reserve(postings.len());
                many.frequencies.reserve(postings.len());
                for (slot, byte, bound) in postings {
                    self.bound = self.bound.max(bound);
                    many.push(slot, byte, bound, self.bound);
                }
            }
        }
    }

    /// What it takes besides itself.
    pub(super) fn bytes(&self) -> usize {
        match &self.postings {
            Postings::Few { .. } => 0,
            Postings::Many(many) => {
                let table = many.table.as_ref().map_or(0, |table| table.bytes());
                size_of::<Many>() + 2 * many.slots.capacity() + many.frequencies.capacity() + table
            }
        }
    }
}

impl Many {
    /// `greatest` is the bound of the list.
    fn push(&mut self, slot: u16, byte: u8, bound: u8, greatest: u8) {
        self.slots.push(slot);
        self.frequencies.push(byte);
        match &mut self.table {
            Some(table) => table.note(&self.slots, bound),
            None if self.slots.len() >= LONG => {
                // The bounds of single postings are gone; that of the list holds for all of them.
                let mut table = Box::<Table>::default();
                (1..=self.slots.len()).for_each(|count| table.note(&self.slots[..count], greatest));
                self.table = Some(table);
            }
            None => {}
        }
    }
}
