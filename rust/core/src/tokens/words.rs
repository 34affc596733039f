//! Counting the tokens of a text word by word, with a memory of the words met before.
//!
//! Nearly all of a text in a Latin script is words of plain letters, and a few thousand of them make up most of it. Such a
//! word is a piece of its own in every pattern here, as are short numbers and lone punctuation; so its count does not
//! depend on what stands around it. What is not so simple, up to the next place where a piece surely ends, is left to the
//! tokenizer.
//!
//! - A *word* is one or no character of [`lead`], a letter a-z or A-Z, and any number of a-z, before an ASCII character that
//!   is no letter and no apostrophe, or the end.
//! - A piece *surely ends* after an ASCII letter or digit before an ASCII character that is neither, nor an apostrophe; and
//!   after ASCII punctuation before a space. No pattern looks behind, and none looks ahead but from white space, so the
//!   pieces on either side are the same as in the whole text.

use tiktoken::CoreBpe;

/// Words that are remembered: 128 KiB a thread and encoding.
const SLOTS: usize = 1 << 13;

/// Bytes of the longest word that is remembered; one more is its count.
const LONGEST: usize = 15;

const EACH: u128 = 0x0101_0101_0101_0101_0101_0101_0101_0101;
const HIGH: u128 = EACH * 0x80;

/// The counts of words, each in the slot that its hash names: 15 bytes of word, the count in the last.
pub(super) struct Memory {
    slots: Box<[u128]>,
}

impl Memory {
    pub(super) fn new() -> Self {
        Self { slots: vec![0; SLOTS].into_boxed_slice() }
    }

    /// The tokens of the word in the first bytes of `word`, the others 0.
    fn count(&mut self, word: u128, compute: impl FnOnce() -> usize) -> usize {
        const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
        let folded = (word as u64).wrapping_mul(FACTOR) ^ (word >> 64) as u64;
        let slot = &mut self.slots[(folded.wrapping_mul(FACTOR) >> 51) as usize % SLOTS];
        if *slot & mask(LONGEST) != word {
            *slot = word | (compute() as u128) << (8 * LONGEST);
        }
        (*slot >> (8 * LONGEST)) as usize
    }
}

/// How many tokens the text has.
pub(super) fn count(tables: &CoreBpe, memory: &mut Memory, text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut tokens, mut at) = (0, 0);
    while at < bytes.len() {
        let block = block(&bytes[at..]);
        let length = word(block).or_else(|| number(block));
        if let Some(length) = length {
            let piece = &text[at..at + length];
            tokens += memory.count(block & mask(length), || tables.count(piece));
            at += length;
        } else if is_single(block) {
            tokens += 1;
            at += 1;
        } else {
            let end = sure_end(bytes, at);
            tokens += tables.count(&text[at..end]);
            at = end;
        }
    }
    tokens
}

/// The first 16 bytes, the first lowest, zeros where there are fewer.
fn block(bytes: &[u8]) -> u128 {
    if let Some(first) = bytes.first_chunk::<16>() {
        return u128::from_le_bytes(*first);
    }
    let mut first = [0; 16];
    first[..bytes.len()].copy_from_slice(bytes);
    u128::from_le_bytes(first)
}

fn mask(bytes: usize) -> u128 {
    (1 << (8 * bytes)) - 1
}

/// The length of the word that the block begins with.
fn word(block: u128) -> Option<usize> {
    let leads = usize::from(lead(block as u8));
    let rest = block >> (8 * leads);
    if !(rest as u8).is_ascii_alphabetic() {
        return None;
    }
    let length = leads + 1 + (!lowercase(rest >> 8) & HIGH).trailing_zeros() as usize / 8;
    let next = (block.checked_shr(8 * length as u32)?) as u8;
    (length <= LONGEST && next.is_ascii() && !next.is_ascii_alphabetic() && next != b'\'').then_some(length)
}

/// The length of the number of up to three digits that the block begins with, where the next character is ASCII.
fn number(block: u128) -> Option<usize> {
    let is_digit = |place: usize| ((block >> (8 * place)) as u8).is_ascii_digit();
    if !is_digit(0) {
        return None;
    }
    let length = (1..3).find(|&place| !is_digit(place)).unwrap_or(3);
    ((block >> (8 * length)) as u8).is_ascii().then_some(length)
}

/// Whether the first byte is a piece of its own: punctuation before a space or the end, or a space before a digit.
fn is_single(block: u128) -> bool {
    let (first, next) = (block as u8, (block >> 8) as u8);
    (first.is_ascii_punctuation() && next == b' ') || (first == b' ' && next.is_ascii_digit())
}

/// Whether a letter run may have this character before it: printable ASCII but letters, digits and the apostrophe.
fn lead(byte: u8) -> bool {
    (byte == b' ' || byte.is_ascii_punctuation()) && byte != b'\''
}

/// The high bit of each byte that is one of a-z.
fn lowercase(block: u128) -> u128 {
    // What takes a letter to the high bit and beyond. Neither sum carries into the next byte: 0x7f + 0x1f is below 0x100.
    const FROM_A: u128 = EACH * (0x80 - 0x61);
    const BEYOND_Z: u128 = EACH * (0x80 - 0x7b);
    let low = block & !HIGH;
    let (from_a, beyond_z) = (low + FROM_A, low + BEYOND_Z);
    from_a & !beyond_z & !block & HIGH
}

/// The next place at which a piece surely ends, at the latest the end.
fn sure_end(bytes: &[u8], start: usize) -> usize {
    let ends = |pair: &[u8]| {
        let (last, next) = (pair[0], pair[1]);
        (last.is_ascii_alphanumeric() && next.is_ascii() && !next.is_ascii_alphanumeric() && next != b'\'')
            || (last.is_ascii_punctuation() && next == b' ')
    };
    bytes[start..].windows(2).position(ends).map_or(bytes.len(), |place| start + place + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str) -> Result<(), TestCaseError> {
        for tables in [tiktoken::get_encoding("cl100k_base").unwrap(), tiktoken::get_encoding("o200k_base").unwrap()] {
            let mut memory = Memory::new();
            for _ in 0..2 {
                prop_assert_eq!(count(tables, &mut memory, text), tables.encode(text).len(), "{:?}", text);
            }
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn counts_are_those_of_the_tokenizer(
            parts in proptest::collection::vec(prop_oneof![
                "[ ]?[A-Za-z]{1,18}",
                "[ -~]{0,6}",
                "[ \t\r\n]{1,4}",
                "[0-9]{1,5}",
                "'(s|t|re|ve|m|ll|d|S|LL|x)",
                "[ -/]{1,3}[a-zA-Z]{1,4}",
                "[éßÉ\u{301}ſK\u{660}\u{a0}\u{2028}日本ーǅʰ𝐀𝟙]{1,3}",
                "\\PC{0,4}",
                Just("\0".to_owned()),
            ], 0..12),
        ) {
            check(&parts.concat())?;
        }

        #[test]
        fn counts_of_dense_edge_cases(text in "[ aZ'1.,/\r\n\té\u{660}]{0,12}") {
            check(&text)?;
        }
    }

    #[test]
    fn lengths_around_a_block_are_counted() {
        for length in 1..40 {
            for ending in ["", " ", "'", "'s", "é", "A", "1", ",", "\n"] {
                for lead in ["", " ", "(", "'", "  "] {
                    check(&format!("{lead}{}{ending}", "a".repeat(length))).unwrap();
                }
            }
        }
    }

    #[test]
    fn lowercase_letters_are_marked() {
        for byte in 0..=u8::MAX {
            let marks = lowercase(u128::from(byte) * EACH);
            assert_eq!(marks, if byte.is_ascii_lowercase() { HIGH } else { 0 }, "{byte}");
        }
    }
}
