"""Terms: what the analyzer makes of many scripts."""

import unicodedata

import pytest

from ragstone.engine.text import ANALYZER, tokenize
from ragstone.errors import InvalidInputError


@pytest.mark.row("A1")
@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("the quick brown fox", ["the", "quick", "brown", "fox"]),
        ("Running RUNS the the", ["running", "runs", "the", "the"]),  # no stemming, no stop words, repeats kept
        ("e-mail: a.b_c@d.org, 3.14", ["e", "mail", "a", "b", "c", "d", "org", "3", "14"]),
        ("Быстрая коричневая ЛИСА", ["быстрая", "коричневая", "лиса"]),
        ("Γρήγορη ΑΛΕΠΟΎ ΟΔΟΣ", ["γρήγορη", "αλεπού", "οδος"]),
        ("الثعلب البُنّي", ["الثعلب", "البُنّي"]),
        ("השועל הַחוּם", ["השועל", "הַחוּם"]),
        ("तेज़ भूरी लोमड़ी", [unicodedata.normalize("NFKC", word) for word in ("तेज़", "भूरी", "लोमड़ी")]),
        ("ไทย ㄅㄆㄇ", ["ไทย", "ㄅㄆㄇ"]),
        ("ＦＵＬＬ ｗｉｄｔｈ ﬁne x² ①", ["full", "width", "fine", "x2", "1"]),
        ("Straße İstanbul", ["straße", "i\u0307stanbul"]),  # lower-cased, not case-folded; İ grows by a mark
        ("ﷺ", ["صلى", "الله", "عليه", "وسلم"]),  # one character that NFKC makes four words
        ("don´t ½", ["don", "t", "1", "2"]),  # an accent by itself is a space with a mark, a fraction has a slash
        ("\u0301a\u0301 \u0301", ["á"]),  # a mark that follows no letter is no term
        ("😀 …—’ \u200b", []),
        ("", []),
    ],
)
def test_words(text: str, terms: list[str]) -> None:
    assert tokenize(text) == terms


@pytest.mark.row("A2")
@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("人工智能", ["人工", "工智", "智能"]),
        ("人工智能是未来", ["人工", "工智", "智能", "能是", "是未", "未来"]),
        ("猫", ["猫"]),
        ("猫。犬", ["猫", "犬"]),
        ("東京タワーへ行く", ["東京", "京タ", "タワ", "ワー", "ーへ", "へ行", "行く"]),  # the scripts mix in one run
        ("ｺｰﾋｰ ｶﾞｲﾄﾞ", ["コー", "ーヒ", "ヒー", "ガイ", "イド"]),
        ("時々 二〇二四年", ["時々", "二〇", "〇二", "二四", "四年"]),
        ("か゚き", ["か゚き"]),  # a mark is part of its character
        ("한국abc中文123かな", ["한국", "abc", "中文", "123", "かな"]),
        ("ㇰㇱ 𛀁𛀂", ["ㇰㇱ", "𛀁𛀂"]),
        ("naïve 12a", ["naïve", "12a"]),
    ],
)
def test_cjk_runs_become_pairs(text: str, terms: list[str]) -> None:
    assert tokenize(text) == terms


@pytest.mark.row("A2")
def test_every_named_cjk_character_pairs() -> None:
    names = ("CJK UNIFIED IDEOGRAPH", "HIRAGANA LETTER", "KATAKANA LETTER", "HANGUL SYLLABLE")
    for code in range(0x110000):
        character = chr(code)
        if unicodedata.name(character, "").startswith(names):
            assert tokenize(f"a{character}國{character}b") == ["a", f"{character}國", f"國{character}", "b"]


@pytest.mark.row("A1")
def test_every_letter_and_digit_is_in_a_term_and_nothing_else() -> None:
    for code in range(0x110000):
        character = chr(code)
        category = unicodedata.category(character)
        if category in {"Cs", "Cn", "Co"} or unicodedata.normalize("NFKC", character) != character:
            continue
        assert (tokenize(character) != []) == (category[0] in "LN"), hex(code)


@pytest.mark.row("A2")
@pytest.mark.case("S-010")
def test_a_clause_is_not_one_term() -> None:
    assert tokenize("人工智能是未来") == ["人工", "工智", "智能", "能是", "是未", "未来"]
    assert tokenize("人工降雨") == ["人工", "工降", "降雨"]


@pytest.mark.row("A1", "A2")
@pytest.mark.case("S-011")
def test_hangul_and_accents_are_letters() -> None:
    assert tokenize("한국어 검색") == ["한국", "국어", "검색"]
    assert tokenize("Déjà-vu naïveté") == ["déjà", "vu", "naïveté"]
    assert tokenize("Straße 12a") == ["straße", "12a"]


@pytest.mark.row("A2")
@pytest.mark.case("S-012")
def test_a_change_of_script_ends_a_run() -> None:
    assert tokenize("GPT模型训练v2") == ["gpt", "模型", "型训", "训练", "v2"]


@pytest.mark.row("A1")
@pytest.mark.case("S-013")
def test_composed_and_decomposed_are_one() -> None:
    assert tokenize("cafe\u0301") == tokenize("caf\u00e9") == ["caf\u00e9"]
    assert tokenize("Zu\u0308rich") == tokenize("Z\u00fcrich")
    assert tokenize("J\u030c") == tokenize("\u01f0")  # composes only after lower-casing


@pytest.mark.row("A2")
@pytest.mark.case("S-080")
def test_lone_and_astral_ideographs() -> None:
    assert tokenize("猫 dog") == ["猫", "dog"]
    assert tokenize("𠮷野家") == ["𠮷野", "野家"]


@pytest.mark.row("A2")
@pytest.mark.case("S-081")
def test_jamo_compose() -> None:
    assert tokenize(unicodedata.normalize("NFD", "감자 수프")) == tokenize("감자 수프") == ["감자", "수프"]


@pytest.mark.row("A1")
def test_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="position 4"):
        tokenize("text\ud83d secret")


@pytest.mark.row("A1")
def test_the_analyzer_names_its_unicode_versions() -> None:
    assert ANALYZER.startswith("words+cjk-bigrams/1; nfkc ")
    assert "categories" in ANALYZER
    assert "lower" in ANALYZER
