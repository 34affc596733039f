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

/// Pairs of short stretches that are remembered: 2 MiB a thread and encoding, as it fills.
const SHORT_PAIRS: usize = 1 << 16;

/// And of long ones: 256 KiB.
const LONG_PAIRS: usize = 1 << 12;

/// Bytes of the longest short stretch: one more, its count, makes a block.
const SHORT: usize = 15;

/// Bytes of the longest stretch that is remembered: two blocks with its count.
const LONG: usize = 31;

const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

const EACH: u128 = 0x0101_0101_0101_0101_0101_0101_0101_0101;
const HIGH: u128 = EACH * 0x80;

/// The counts of stretches, in the pair that their hash names, the one asked for last in front.
///
/// An entry is the bytes of a stretch, zeros, and the count in the last byte.
pub(super) struct Memory {
    short: Box<[[u128; 2]]>,
    long: Box<[[[u128; 2]; 2]]>,
}

impl Memory {
    pub(super) fn new() -> Self {
        let (short, long) = (vec![[0; 2]; SHORT_PAIRS], vec![[[0; 2]; 2]; LONG_PAIRS]);
        Self { short: short.into_boxed_slice(), long: long.into_boxed_slice() }
    }

    /// The tokens of a short stretch, which stands in the first bytes; the others are 0.
    fn short(&mut self, stretch: u128, compute: impl FnOnce() -> usize) -> usize {
        let place = folded(folded(0, stretch as u64), (stretch >> 64) as u64) >> 48;
        let [newer, older] = &mut self.short[place as usize % SHORT_PAIRS];
        if *newer & mask(SHORT) == stretch {
            return last(*newer);
        }
        if *older & mask(SHORT) != stretch {
            *older = stretch | with_last(compute());
        }
        std::mem::swap(newer, older);
        last(*newer)
    }

    /// The tokens of a long stretch, in two blocks.
    fn long(&mut self, stretch: [u128; 2], compute: impl FnOnce() -> usize) -> usize {
        let words = stretch.iter().flat_map(|&block| [block as u64, (block >> 64) as u64]);
        let place = words.fold(0, folded) >> 52;
        let [newer, older] = &mut self.long[place as usize % LONG_PAIRS];
        let held = |entry: &[u128; 2]| [entry[0], entry[1] & mask(SHORT)] == stretch;
        if !held(newer) {
            if !held(older) {
                *older = [stretch[0], stretch[1] | with_last(compute())];
            }
            std::mem::swap(newer, older);
        }
        last(newer[1])
    }
}

fn folded(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(32) ^ word).wrapping_mul(FACTOR)
}

fn last(block: u128) -> usize {
    (block >> (8 * SHORT)) as usize
}

fn with_last(count: usize) -> u128 {
    (count as u128) << (8 * SHORT)
}

/// How many tokens the text has.
pub(super) fn count(tables: &CoreBpe, memory: &mut Memory, text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut tokens, mut at) = (0, 0);
    while at < bytes.len() {
        let first = block(&bytes[at..]);
        if is_single(first) {
            tokens += 1;
            at += 1;
            continue;
        }
        let length = word(first).unwrap_or_else(|| sure_end(&bytes[at..]));
        let stretch = &text[at..at + length];
        at += length;
        // A NUL could not be told from the padding.
        tokens += match length {
            _ if bytes[at - 1] == 0 => tables.count(stretch),
            ..=SHORT => memory.short(first & mask(length), || tables.count(stretch)),
            16..=LONG => memory.long([first, block(&stretch.as_bytes()[16..])], || tables.count(stretch)),
            _ => tables.count(stretch),
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
    (length <= SHORT && next.is_ascii() && !next.is_ascii_alphabetic() && next != b'\'').then_some(length)
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
                "[ -/]?[A-Za-z]{14,40}",
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
        fn counts_of_any_text(text: String) {
            check(&text)?;
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
    fn stretches_of_one_place_are_told_apart() {
        // Far more stretches than places, each asked for twice in a row and again at the end.
        let tables = tiktoken::get_encoding("cl100k_base").unwrap();
        let stretch = |n: usize| format!(" {}{n:07}", "Zq".repeat(n % 12));
        let mut memory = Memory::new();
        for n in (0..3 * SHORT_PAIRS).chain(0..1000) {
            let text = stretch(n);
            for _ in 0..2 {
                assert_eq!(count(tables, &mut memory, &text), tables.count(&text), "{text}");
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
