//! Text analysis: from a text to the terms that an index counts, and to its sentences.
//!
//! # Terms
//!
//! A text is normalised to NFKC (Unicode Standard Annex #15). Its terms are then the maximal runs of letters and numbers
//! (general categories L and N); marks (M) belong to the run that they follow, so that words of Devanagari, Arabic or
//! Hebrew stay whole. Runs are lower-cased, not case-folded: `Straße` becomes `straße`. Nothing is stemmed and no word is
//! left out.
//!
//! Han, Hiragana, Katakana and Hangul are written without spaces, or inflect inside of the word: a run of their characters
//! becomes its overlapping pairs, and a lone character is a term by itself, as in Lucene's `CJKAnalyzer`. The four scripts
//! may mix in one run; a change between them and any other script ends it.
//!
//! # Sentences
//!
//! Unicode Standard Annex #29.

mod analyzer;
mod classes;
mod sentences;

pub use analyzer::for_each_term;
pub use sentences::sentence_spans;

/// The rules' version: a change of what [`for_each_term`] yields must change it.
const VERSION: u32 = 1;

/// Every term of a text, in order.
pub fn terms(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    for_each_term(text, |term| terms.push(term.to_owned()));
    terms
}

/// Names the analyzer and everything that decides its terms; two indexes agree on terms when their fingerprints do.
pub fn fingerprint() -> String {
    let (major, minor, patch) = unicode_normalization::UNICODE_VERSION;
    let categories = unicode_properties::UNICODE_VERSION;
    let lower = char::UNICODE_VERSION;
    format!(
        "words+cjk-bigrams/{VERSION}; nfkc {major}.{minor}.{patch}; categories {}.{}.{}; lower {}.{}.{}",
        categories.0, categories.1, categories.2, lower.0, lower.1, lower.2
    )
}
