//! Counting the tokens of a text stretch by stretch, with a memory of the stretches met before.
//!
//! A text in a Latin script is mostly words of plain letters, and a few thousand of them make up most of it. Such a word is
//! a piece of its own in every pattern here, so its count does not depend on what stands around it; nor does that of any
//! stretch between two places where pieces surely end.
//!
//! - A *word* is one or no character of [`lead`], a letter a-z or A-Z, and any number of a-z, before an ASCII character that
//!   is no letter and no apostrophe, or the end.
//! - A piece *surely ends* after an ASCII letter or digit before an ASCII character that is neither, nor an apostrophe; and
//!   after ASCII punctuation before a space. No pattern looks behind, and none looks ahead but from white space, so the
//!   pieces on either side are the same as in the whole text.

use tiktoken::CoreBpe;

/// Pairs of stretches that are remembered: 1 MiB a thread and encoding, as it fills.
const PAIRS: usize = 1 << 15;

/// Bytes of the longest stretch that is remembered; one more is its count.
const LONGEST: usize = 15;

const EACH: u128 = 0x0101_0101_0101_0101_0101_0101_0101_0101;
const HIGH: u128 = EACH * 0x80;

/// The counts of stretches, in the pair that their hash names: 15 bytes of text, the count in the last.
pub(super) struct Memory {
    pairs: Box<[[u128; 2]]>,
}

impl Memory {
    pub(super) fn new() -> Self {
        Self { pairs: vec![[0; 2]; PAIRS].into_boxed_slice() }
    }

    /// The tokens of a stretch, which stands in the first bytes; the others are 0.
    fn count(&mut self, stretch: u128, compute: impl FnOnce() -> usize) -> usize {
        const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
        let folded = (stretch as u64).wrapping_mul(FACTOR) ^ (stretch >> 64) as u64;
        let [newer, older] = &mut self.pairs[(folded.wrapping_mul(FACTOR) >> 49) as usize % PAIRS];
        if *newer & mask(LONGEST) == stretch {
            return (*newer >> (8 * LONGEST)) as usize;
        }
        if *older & mask(LONGEST) != stretch {
            *older = stretch | (compute() as u128) << (8 * LONGEST);
        }
        std::mem::swap(newer, older);
        (*newer >> (8 * LONGEST)) as usize
    }
}

/// How many tokens the text has.
pub(super) fn count(tables: &CoreBpe, memory: &mut Memory, text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut tokens, mut at) = (0, 0);
    while at < bytes.len() {
        let block = block(&bytes[at..]);
        if is_single(block) {
            tokens += 1;
            at += 1;
            continue;
        }
        let length = word(block).unwrap_or_else(|| sure_end(&bytes[at..]));
        let stretch = &text[at..at + length];
        at += length;
        // A NUL could not be told from the padding.
        tokens += if length <= LONGEST && bytes[at - 1] != 0 {
            memory.count(block & mask(length), || tables.count(stretch))
        } else {
            tables.count(stretch)
        };
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

/// The length of the stretch up to the next place at which a piece surely ends, at the latest the end.
fn sure_end(bytes: &[u8]) -> usize {
    let ends = |pair: &[u8]| {
        let (last, next) = (pair[0], pair[1]);
        (last.is_ascii_alphanumeric() && next.is_ascii() && !next.is_ascii_alphanumeric() && next != b'\'')
            || (last.is_ascii_punctuation() && next == b' ')
    };
    bytes.windows(2).position(ends).map_or(bytes.len(), |place| place + 1)
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
