//! What a character is to the analyzer.

use std::sync::LazyLock;

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// A character's part in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Ends a run.
    Separator,
    /// Belongs to the run that it follows.
    Mark,
    /// A letter or number of a script that writes words.
    Word,
    /// A letter or number of Han, Hiragana, Katakana or Hangul.
    Cjk,
}

/// Where the letters and numbers of Han, Hiragana, Katakana and Hangul stand, with the length, iteration and repetition
/// marks that they share (`Scripts.txt` and `ScriptExtensions.txt`; planes 2 and 3 are set aside for Han).
const CJK: [(u32, u32); 17] = [
    (0x1100, 0x11FF),     // Hangul jamo
    (0x3005, 0x3007),     // iteration mark, closing mark, ideographic zero
    (0x3021, 0x3029),     // Hangzhou numerals
    (0x3031, 0x303C),     // kana repeat marks, Hangzhou tens, iteration and masu marks
    (0x3041, 0x30FF),     // Hiragana, Katakana, prolonged sound mark
    (0x3131, 0x318E),     // Hangul compatibility jamo
    (0x31F0, 0x31FF),     // Katakana phonetic extensions
    (0x3400, 0x4DBF),     // Han extension A
    (0x4E00, 0x9FFF),     // Han
    (0xA960, 0xA97C),     // Hangul jamo extended A
    (0xAC00, 0xD7FB),     // Hangul syllables, jamo extended B
    (0xF900, 0xFAFF),     // Han compatibility ideographs
    (0xFF66, 0xFFDC),     // half-width Katakana and Hangul
    (0x1_6FE3, 0x1_6FE3), // old Chinese iteration mark
    (0x1_6FF2, 0x1_6FF6), // Chinese small numerals
    (0x1_AFF0, 0x1_B167), // Kana extensions B and A, Kana supplement, small Kana
    (0x2_0000, 0x3_FFFD), // Han extensions B and later
];

/// The classes of the basic plane, so that all but rare characters cost one load.
static BASIC_PLANE: LazyLock<Box<[Class]>> =
    LazyLock::new(|| (0..=0xFFFF).map(|code| char::from_u32(code).map_or(Class::Separator, derive)).collect());

/// Classes by table, for a loop over many characters.
#[derive(Clone, Copy)]
pub(super) struct Classes(&'static [Class]);

impl Classes {
    /// The table, made at the first call.
    pub(super) fn load() -> Self {
        Self(&BASIC_PLANE)
    }

    /// The class of a character.
    pub(super) fn of(self, character: char) -> Class {
        self.0.get(character as usize).copied().unwrap_or_else(|| derive(character))
    }
}

fn derive(character: char) -> Class {
    match character.general_category_group() {
        GeneralCategoryGroup::Mark => Class::Mark,
        GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number if is_cjk(character) => Class::Cjk,
        GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number => Class::Word,
        _ => Class::Separator,
    }
}

fn is_cjk(character: char) -> bool {
    let code = character as u32;
    let following = CJK.partition_point(|&(first, _)| first <= code);
    following.checked_sub(1).and_then(|at| CJK.get(at)).is_some_and(|&(_, last)| code <= last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_ascend() {
        assert!(CJK.iter().all(|(first, last)| first <= last));
        assert!(CJK.windows(2).all(|pair| pair[0].1 < pair[1].0));
    }

    #[test]
    fn table_and_definition_agree_everywhere() {
        let classes = Classes::load();
        assert!(('\0'..=char::MAX).all(|character| classes.of(character) == derive(character)));
    }

    #[test]
    fn every_script_has_its_class() {
        let classes = Classes::load();
        for (characters, class) in [
            ("aß9٣ѐΩשعकกㄅ", Class::Word),
            ("人々〇〆ひカーヽㇰ가ᄀᆨㄱｱ𠮷𛀀", Class::Cjk),
            ("\u{301}\u{5b0}\u{64b}\u{93f}\u{3099}\u{20e3}", Class::Mark),
            (" .,_-'’・「」。、😀\u{ad}\u{200d}\u{e000}", Class::Separator),
        ] {
            for character in characters.chars() {
                assert_eq!(classes.of(character), class, "{character:?}");
            }
        }
    }
}
