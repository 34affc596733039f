//! What each slot of a segment holds, in the order of the slots: variable-length integers, most of one to three bytes.

#[derive(Debug, Default)]
pub(super) struct Forward {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Forward {
    /// Append the next slot's (term, frequency) pairs.
    pub(super) fn push(&mut self, counts: impl Iterator<Item = (u32, u32)>) {
        for (term, frequency) in counts {
            self.write(term);
            self.write(frequency);
        }
        self.ends.push(self.bytes.len());
    }

    /// A slot's (term, frequency) pairs, as they were pushed.
    pub(super) fn get(&self, slot: usize) -> impl Iterator<Item = (u32, u32)> + '_ {
        let start = slot.checked_sub(1).map_or(0, |previous| self.ends[previous]);
        let mut bytes = self.bytes[start..self.ends[slot]].iter();
        std::iter::from_fn(move || Some((read(&mut bytes)?, read(&mut bytes)?)))
    }

    fn write(&mut self, mut value: u32) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }
}

fn read(bytes: &mut std::slice::Iter<'_, u8>) -> Option<u32> {
    let mut value = 0;
    let mut shift = 0;
    loop {
        let byte = *bytes.next()?;
        value |= u32::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some(value);
        }
        shift += 7;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn gives_back_what_was_pushed(slots in prop::collection::vec(prop::collection::vec((any::<u32>(), 0_u32..300), 0..9), 0..9)) {
            let mut forward = Forward::default();
            for counts in &slots {
                forward.push(counts.iter().copied());
            }
            for (slot, counts) in slots.iter().enumerate() {
                prop_assert_eq!(&forward.get(slot).collect::<Vec<_>>(), counts);
            }
        }
    }
}
