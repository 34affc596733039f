//! The one walk over a text that yields its terms.

use std::ops::Range;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

use super::classes::{Class, Classes};

/// Call `emit` with every term of a text, in order.
///
/// The text is cut at ASCII separators first. None of them changes under NFKC, none combines with what stands before it,
/// and a mark behind one belongs to no run, so that each piece can be normalised by itself, and a piece that is ASCII,
/// the common case, needs no normalisation at all: it is a slice of the text with all its ASCII letters lowered at once.
///
/// ```
/// let mut terms = Vec::new();
/// ragstone_core::text::for_each_term("Déjà-vu 人工智能 v2", |term| terms.push(term.to_owned()));
/// assert_eq!(terms, ["déjà", "vu", "人工", "工智", "智能", "v2"]);
/// ```
pub fn for_each_term(text: &str, mut emit: impl FnMut(&str)) {
    let lowered = text.bytes().any(|byte| byte.is_ascii_uppercase()).then(|| text.to_ascii_lowercase());
    let ascii = lowered.as_deref().unwrap_or(text);
    let mut run = None;
    let mut take = |piece: Range<usize>, is_ascii: bool| {
        if piece.is_empty() {
            return;
        }
        if is_ascii {
            emit(&ascii[piece]);
        } else {
            run.get_or_insert_with(Run::new).walk(&text[piece], &mut emit);
        }
    };
    let (mut start, mut is_ascii) = (0, true);
    for (place, &byte) in text.as_bytes().iter().enumerate() {
        if SEPARATES[usize::from(byte)] {
            take(start..place, is_ascii);
            (start, is_ascii) = (place + 1, true);
        } else {
            is_ascii &= byte.is_ascii();
        }
    }
    take(start..text.len(), is_ascii);
}

/// By byte, whether it is an ASCII separator.
const SEPARATES: [bool; 256] = {
    let mut separates = [false; 256];
    let mut byte = 0_u8;
    while byte.is_ascii() {
        separates[byte as usize] = !byte.is_ascii_alphanumeric();
        byte += 1;
    }
    separates
};

/// A run of word characters, or the last one or two characters of a CJK run.
struct Run {
    classes: Classes,
    class: Class,
    text: String,
    /// Where the second character of a CJK pair begins, its first having the marks before it.
    second: Option<usize>,
    lowered: String,
}

impl Run {
    fn new() -> Self {
        Self {
            classes: Classes::load(),
            class: Class::Separator,
            text: String::new(),
            second: None,
            lowered: String::new(),
        }
    }

    fn walk(&mut self, piece: &str, emit: &mut impl FnMut(&str)) {
        if is_nfkc_quick(piece.chars()) == IsNormalized::Yes {
            piece.chars().for_each(|character| self.step(character, emit));
        } else {
            piece.nfkc().for_each(|character| self.step(character, emit));
        }
        self.end(emit);
    }

    fn step(&mut self, character: char, emit: &mut impl FnMut(&str)) {
        let class = self.classes.of(character);
        match class {
            Class::Separator => self.end(emit),
            Class::Mark if self.class == Class::Separator => {}
            Class::Mark => self.text.push(character),
            Class::Word | Class::Cjk => {
                if self.class != class {
                    self.end(emit);
                    self.class = class;
                } else if class == Class::Cjk {
                    if let Some(second) = self.second {
                        emit(&self.text);
                        self.text.drain(..second);
                    }
                    self.second = Some(self.text.len());
                }
                self.text.push(character);
            }
        }
    }

    fn end(&mut self, emit: &mut impl FnMut(&str)) {
        match self.class {
            Class::Word => emit(self.lower()),
            Class::Cjk => emit(&self.text),
            Class::Separator | Class::Mark => {}
        }
        self.class = Class::Separator;
        self.second = None;
        self.text.clear();
    }

    /// The run in lower case, normalised again where lower-casing made a pair that composes: J̌ becomes ǰ.
    fn lower(&mut self) -> &str {
        if self.text.is_ascii() {
            self.text.make_ascii_lowercase();
            return &self.text;
        }
        self.lowered.clear();
        if self.text.contains('Σ') {
            self.lowered.push_str(&self.text.to_lowercase());
        } else {
            self.lowered.extend(self.text.chars().flat_map(char::to_lowercase));
        }
        if self.lowered != self.text && is_nfkc_quick(self.lowered.chars()) != IsNormalized::Yes {
            self.lowered = self.lowered.nfkc().collect();
        }
        &self.lowered
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

    use super::*;
    use crate::text::terms;

    /// The definition, word for word, over the whole text at once.
    fn defined(text: &str) -> Vec<String> {
        let classes = Classes::load();
        let mut runs: Vec<(Class, Vec<String>)> = vec![(Class::Separator, Vec::new())];
        for character in text.nfkc() {
            let (open, units) = runs.last_mut().map_or((Class::Separator, 0), |(class, units)| (*class, units.len()));
            match classes.of(character) {
                Class::Separator => runs.push((Class::Separator, Vec::new())),
                Class::Mark => {
                    if let Some((_, units)) = runs.last_mut().filter(|_| units > 0)
                        && let Some(unit) = units.last_mut()
                    {
                        unit.push(character);
                    }
                }
                class => {
                    if class != open {
                        runs.push((class, Vec::new()));
                    }
                    if let Some((_, units)) = runs.last_mut() {
                        units.push(character.to_string());
                    }
                }
            }
        }
        let lower = |text: String| text.to_lowercase().nfkc().collect::<String>();
        runs.into_iter()
            .flat_map(|(class, units)| match (class, units.len()) {
                (_, 0) => vec![],
                (Class::Cjk, 2..) => units.windows(2).map(<[String]>::concat).collect(),
                _ => vec![lower(units.concat())],
            })
            .collect()
    }

    #[test]
    fn words_are_runs_of_letters_and_numbers() {
        assert_eq!(terms("the quick brown fox"), ["the", "quick", "brown", "fox"]);
        assert_eq!(
            terms("Déjà-vu naïveté, Straße 12a; snake_case"),
            ["déjà", "vu", "naïveté", "straße", "12a", "snake", "case"]
        );
        assert_eq!(terms("Быстрая ΛΙΣ سَلَام שָׁלוֹם किताबें ไทย"), ["быстрая", "λις", "سَلَام", "שָׁלוֹם", "किताबें", "ไทย"]);
        assert!(terms("").is_empty() && terms(" ?!… ---\u{301}\u{200b}").is_empty());
    }

    #[test]
    fn cjk_runs_become_pairs() {
        assert_eq!(terms("人工智能是未来"), ["人工", "工智", "智能", "能是", "是未", "未来"]);
        assert_eq!(terms("한국어 검색"), ["한국", "국어", "검색"]);
        assert_eq!(terms("GPT模型训练v2"), ["gpt", "模型", "型训", "训练", "v2"]);
        assert_eq!(terms("猫 dog。𠮷野家"), ["猫", "dog", "𠮷野", "野家"]);
        assert_eq!(
            terms("ラーメン屋のコーヒー"),
            ["ラー", "ーメ", "メン", "ン屋", "屋の", "のコ", "コー", "ーヒ", "ヒー"]
        );
        assert_eq!(terms("二〇二四年、時々"), ["二〇", "〇二", "二四", "四年", "時々"]);
    }

    #[test]
    fn a_mark_stays_with_its_character_in_a_pair() {
        assert_eq!(terms("か\u{309a}きく"), ["か\u{309a}き", "きく"]);
        assert_eq!(terms("あか\u{309a}"), ["あか\u{309a}"]);
        assert_eq!(terms("か\u{309a}"), ["か\u{309a}"]);
    }

    #[test]
    fn spellings_of_one_text_are_one() {
        for (a, b) in [
            ("café Zürich", "cafe\u{301} Zu\u{308}rich"),
            ("감자", "\u{1100}\u{1161}\u{11b7}\u{110c}\u{1161}"),
            ("ガイド", "ｶﾞｲﾄﾞ"),
            ("ＡＢＣ１２３", "abc123"),
            ("ﬁnance ℡ x²", "finance TEL x2"),
            ("J\u{30c}", "\u{1f0}"),
            ("ΟΔΟΣ", "οδος"),
        ] {
            assert_eq!(terms(a), terms(b));
        }
    }

    #[test]
    fn expansion_and_lower_casing_may_change_lengths() {
        assert_eq!(terms("İstanbul"), ["i\u{307}stanbul"]);
        assert_eq!(terms("ﷺ"), ["صلى", "الله", "عليه", "وسلم"]);
        assert_eq!(terms("don´t ½ ㍿"), ["don", "t", "1", "2", "株式", "式会", "会社"]);
    }

    #[test]
    fn every_character_alone_follows_the_definition() {
        let assigned = |character: &char| {
            !matches!(character.general_category(), GeneralCategory::Unassigned | GeneralCategory::PrivateUse)
        };
        for character in ('\0'..=char::MAX).filter(assigned) {
            let text = format!("a{character}人");
            assert_eq!(terms(&text), defined(&text), "{character:?}");
        }
    }

    proptest! {
        #[test]
        fn the_walk_follows_the_definition(text in "(\\PC|[a-zA-Z0-9 <=.]|\\p{M}|[Σσİ]|[ぁ-ヿ一-十가-각ｦ-ﾟ]){0,60}") {
            prop_assert_eq!(terms(&text), defined(&text));
        }

        #[test]
        fn terms_are_their_own_terms(text in "([a-zA-Z0-9 ]|\\p{L}|\\p{M}|\\p{N}|[ぁ-ヿ一-十가-각ｦ-ﾟ]){0,60}") {
            for term in terms(&text) {
                prop_assert_eq!(terms(&term), vec![term]);
            }
        }

        #[test]
        fn terms_hold_letters_numbers_and_marks_only(text in "\\PC{0,60}") {
            for character in terms(&text).concat().chars() {
                prop_assert!(matches!(
                    character.general_category_group(),
                    GeneralCategoryGroup::Letter | GeneralCategoryGroup::Mark | GeneralCategoryGroup::Number
                ));
            }
        }
    }
}
