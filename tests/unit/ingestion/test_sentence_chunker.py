import pytest

from ragstone.ingestion import SentenceChunker
from support.documents import plain, texts


def cut(text: str, max_size: int, overlap: int = 0) -> list[str]:
    return texts(SentenceChunker(max_size=max_size, overlap_sentences=overlap).chunk(plain(text), "doc"))


@pytest.mark.row("H3")
def test_sentences_stay_whole() -> None:
    assert cut("One is here. Two is here. Three is here.", 26) == ["One is here. Two is here.", "Three is here."]


def test_sentences_overlap() -> None:
    assert cut("One. Two. Three. Four.", 16, overlap=1) == ["One. Two. Three.", "Three. Four."]


def test_the_overlap_makes_room_for_the_next_sentence() -> None:
    assert cut("Short. A sentence of thirty letters. Another of about thirty one.", 40, overlap=3) == [
        "Short. A sentence of thirty letters.",
        "Another of about thirty one.",
    ]


def test_an_overlap_of_more_sentences_than_a_chunk_has_still_advances() -> None:
    assert cut("One. Two. Three.", 9, overlap=9) == ["One. Two.", "Three."]


def test_a_sentence_over_the_cap_is_cut() -> None:
    pieces = cut("word " * 30 + ". Next one.", 40)
    assert max(map(len, pieces)) <= 40
    assert pieces[-1].endswith("Next one.")


def test_a_wrapped_line_does_not_end_a_sentence() -> None:
    assert cut("The sentence goes\non here. Another\r\n  one ends.\nHeading line\nLast.", 28) == [
        "The sentence goes\non here.",
        "Another\r\n  one ends.",
        "Heading line\nLast.",
    ]


def test_chinese_sentences() -> None:
    assert cut("今天下雨。明天晴天。", 5) == ["今天下雨。", "明天晴天。"]
