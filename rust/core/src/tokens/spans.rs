//! Where the tokens of a text stand in it.

use super::Encoding;

/// The stretch of text that each token covers, in Unicode code points, from first to last.
///
/// The spans follow each other without a gap and cover the text. Tokens that share a character, as those of rare
/// characters do, make one span, so there may be fewer spans than tokens and each span is whole characters.
pub fn token_spans(encoding: Encoding, text: &str) -> Vec<(usize, usize)> {
    let (tokens, widths) = (encoding.encode(text), encoding.widths());
    let mut spans = Vec::with_capacity(tokens.len());
    let (mut byte, mut start_byte, mut start) = (0, 0, 0);
    for token in tokens {
        byte += usize::from(widths[token as usize]);
        if text.is_char_boundary(byte) {
            let end = start + text[start_byte..byte].chars().count();
            spans.push((start, end));
            (start_byte, start) = (byte, end);
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn spans_tile_the_text(text in "\\PC{0,40}|[ \\r\\na-c🤷\u{200d}é]{0,40}") {
            for encoding in [Encoding::Cl100kBase, Encoding::O200kBase] {
                let spans = token_spans(encoding, &text);
                let mut at = 0;
                for &(start, end) in &spans {
                    prop_assert!(start == at && end > start);
                    at = end;
                }
                prop_assert_eq!(at, text.chars().count());
                prop_assert!(spans.len() <= encoding.count(&text));
            }
        }
    }

    #[test]
    fn a_character_of_several_tokens_is_one_span() {
        assert!(Encoding::Cl100kBase.count("🦀") > 1);
        assert_eq!(token_spans(Encoding::Cl100kBase, "a🦀 b"), [(0, 1), (1, 2), (2, 4)]);
    }
}
