//! What each slot of a segment holds, in the order of the slots, in about one and a half bytes a term.
//!
//! A slot's terms ascend. Each is written as its distance from the one before, shifted left by one place, with the last
//! bit set where its frequency, above 1, follows; both as integers of variable length, seven bits a byte.

use crate::memory::vector;
use std::ops::Range;

#[derive(Debug, Default)]
pub(super) struct Forward {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Forward {
    /// Append the next slot's (term, frequency) pairs, by ascending term.
    pub(super) fn push(&mut self, counts: &[(u32, u32)]) {
        let mut next = 0;
        for &(term, frequency) in counts {
            self.write(u64::from(term - next) << 1 | u64::from(frequency > 1));
            if frequency > 1 {
                self.write(frequency.into());
            }
            next = term;
        }
        self.ends.push(self.bytes.len());
    }

    /// Append some slots of another.
    pub(super) fn extend(&mut self, other: &Self, slots: Range<usize>) {
        let (first, last) = (other.start(slots.start), other.start(slots.end));
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&other.bytes[first..last]);
        self.ends.extend(other.ends[slots].iter().map(|end| start + end - first));
    }

    /// A slot's (term, frequency) pairs.
    pub(super) fn get(&self, slot: usize) -> impl Iterator<Item = (u32, u32)> + '_ {
        let mut bytes = self.bytes[self.start(slot)..self.ends[slot]].iter();
        let mut term = 0;
        std::iter::from_fn(move || {
            let value = read(&mut bytes)?;
            term += (value >> 1) as u32;
            Some((term, if value & 1 == 1 { read(&mut bytes)? as u32 } else { 1 }))
        })
    }

    /// Give back what was reserved for slots that will not come.
    pub(super) fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
        self.ends.shrink_to_fit();
    }

    /// What it takes.
    pub(super) fn bytes(&self) -> usize {
        vector(&self.bytes) + vector(&self.ends)
    }

    /// Where a slot starts, or the one after the last would.
    fn start(&self, slot: usize) -> usize {
        slot.checked_sub(1).map_or(0, |previous| self.ends[previous])
    }

    fn write(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }
}

fn read(bytes: &mut std::slice::Iter<'_, u8>) -> Option<u64> {
    let mut value = 0;
    let mut shift = 0;
    loop {
        let byte = *bytes.next()?;
        value |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some(value);
        }
        shift += 7;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn gives_back_what_was_pushed(
            slots in prop::collection::vec(prop::collection::btree_map(any::<u32>(), 1_u32..300, 0..9), 0..9),
        ) {
            let mut forward = Forward::default();
            for counts in &slots {
                forward.push(&counts.iter().map(|(&term, &frequency)| (term, frequency)).collect::<Vec<_>>());
            }
            let former = forward;
            let mut forward = Forward::default();
            forward.push(&[(4, 300)]);
            forward.extend(&former, 0..slots.len() / 2);
            forward.extend(&former, slots.len() / 2..slots.len());
            for (slot, counts) in (1..).zip(&slots) {
                prop_assert_eq!(&forward.get(slot).collect::<BTreeMap<_, _>>(), counts);
            }
        }
    }
}
