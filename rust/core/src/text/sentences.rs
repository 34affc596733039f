//! Sentence boundaries.

use unicode_segmentation::UnicodeSegmentation;

/// The sentences of a text (Unicode Standard Annex #29) as half-open spans of code points; they cover the text without a
/// gap, so that white space belongs to the sentence before it.
pub fn sentence_spans(text: &str) -> Vec<(usize, usize)> {
    let mut start = 0;
    text.split_sentence_bounds()
        .map(|sentence| {
            let end = start + sentence.chars().count();
            (std::mem::replace(&mut start, end), end)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sentences(text: &str) -> Vec<String> {
        let characters: Vec<char> = text.chars().collect();
        sentence_spans(text).into_iter().map(|(start, end)| characters[start..end].iter().collect()).collect()
    }

    #[test]
    fn offsets_count_code_points() {
        assert_eq!(sentences("𠮷野。次！ Mr. Ü said 3.5. Done?"), ["𠮷野。", "次！ ", "Mr. ", "Ü said 3.5. ", "Done?"]);
        assert_eq!(sentence_spans(""), []);
    }

    proptest! {
        #[test]
        fn spans_cover_the_text(text in "(\\PC|[.!?。\n ]){0,80}") {
            prop_assert_eq!(sentences(&text).concat(), text);
        }
    }
}
