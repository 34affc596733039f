"""Token counts, spans, counters and the budget, alone."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest
import tiktoken
import tokenizers

from ragstone.engine.tokens import (
    EncodingCounter,
    TiktokenCounter,
    TokenizerJsonCounter,
    count_tokens,
    count_tokens_many,
    fit_budget,
    token_spans,
)
from ragstone.errors import ConfigurationError, InvalidInputError, MissingDependencyError
from ragstone.ports import TokenCounter
from support.vocabularies import cache_directory, tiktoken_encoding

ENCODINGS = ["cl100k_base", "o200k_base"]


def hello(tokens):
    """A text of so many tokens."""
    return "hello" + " hello" * (tokens - 1)


@pytest.mark.case("S-026")
@pytest.mark.row("C5")
def test_special_tokens_in_a_text_are_text():
    assert count_tokens("a <|endoftext|> b") == 8
    assert count_tokens("<|endoftext|>") == 7
    assert fit_budget(["a <|endoftext|> b"], 8).kept == 1
    assert fit_budget(["a <|endoftext|> b"], 7) == (0, [8], 0)
    for name in ENCODINGS:
        text = "<|endoftext|><|fim_prefix|> <|endofprompt|>"
        assert count_tokens(text, encoding=name) == len(tiktoken_encoding(name).encode_ordinary(text))


@pytest.mark.row("C5")
def test_many_are_counted_as_each():
    texts = ["", "hello world", "naïve café", "日本語のテキスト", "x" * 5000]
    for name in ENCODINGS:
        assert count_tokens_many(texts, encoding=name) == [count_tokens(text, encoding=name) for text in texts]
        assert EncodingCounter(name).count(texts) == count_tokens_many(texts, encoding=name)
    assert count_tokens_many([]) == []
    assert count_tokens_many(("hello", "hello")) == [1, 1]


@pytest.mark.row("C5")
def test_counts_do_not_depend_on_threads():
    texts = [f"{i} " + "Dies ist ein längerer Satz. " * (i % 60) for i in range(600)]
    assert sum(map(len, texts)) > 400_000
    assert count_tokens_many(texts) == [count_tokens(text) for text in texts]


@pytest.mark.row("C5")
def test_a_forked_child_counts_too():
    program = (
        "import os\n"
        "from ragstone.engine.tokens import count_tokens_many\n"
        "texts = ['one two three ' * 500] * 200\n"
        "expected = count_tokens_many(texts)\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    os._exit(0 if count_tokens_many(texts) == expected else 1)\n"
        "raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], env={"PYTHONPATH": ":".join(sys.path)}, check=True, timeout=60
    )


@pytest.mark.row("C5")
def test_other_threads_run_while_tokens_are_counted():
    count_tokens("", encoding="o200k_base")
    text = " ".join(f"wörd{i}" for i in range(400_000))
    worker = threading.Thread(target=count_tokens, args=(text,), kwargs={"encoding": "o200k_base"})
    worker.start()
    turns = 0
    while worker.is_alive():
        turns += 1
        time.sleep(0.001)
    assert turns > 3


@pytest.mark.row("C5")
@pytest.mark.parametrize("name", ENCODINGS)
def test_spans_are_the_tokens(name):
    text = "Tokens, naïve ones:\r\n\r\n  日本 🦀🦀 e\u0301 <|endoftext|>\t12345"
    encoding = tiktoken_encoding(name)
    pieces = encoding.decode_tokens_bytes(encoding.encode_ordinary(text))
    expected, start, pending = [], 0, b""
    for piece in pieces:
        pending += piece
        try:
            end = start + len(pending.decode())
        except UnicodeDecodeError:
            continue
        expected.append((start, end))
        start, pending = end, b""
    spans = token_spans(text, encoding=name)
    assert spans == expected
    assert "".join(text[start:end] for start, end in spans) == text
    assert len(spans) < len(pieces)
    assert token_spans("", encoding=name) == []


@pytest.mark.row("C5")
def test_an_unknown_encoding_is_refused_where_it_is_named():
    message = 'encoding must be cl100k_base or o200k_base .*TiktokenCounter.*not "p50k"'
    for call in (
        lambda: count_tokens("", encoding="p50k"),
        lambda: count_tokens_many([], encoding="p50k"),
        lambda: token_spans("", encoding="p50k"),
        lambda: EncodingCounter("p50k"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            call()


@pytest.mark.row("C5")
def test_half_a_surrogate_pair_is_refused_without_showing_the_text():
    with pytest.raises(InvalidInputError, match=r"texts\[1\] holds half of a surrogate pair") as caught:
        count_tokens_many(["fine", "secret \ud800"])
    assert "secret" not in str(caught.value)
    with pytest.raises(InvalidInputError, match="text holds half of a surrogate pair"):
        token_spans("\udfff")


@pytest.mark.row("C5")
def test_one_string_is_not_a_sequence_of_texts():
    for call in (
        lambda: count_tokens_many("hello"),
        lambda: EncodingCounter().count("hello"),
        lambda: fit_budget("hello", 5),
    ):
        with pytest.raises(InvalidInputError, match="texts must be a sequence of strings"):
            call()


@pytest.mark.case("S-027")
@pytest.mark.row("C5")
def test_rank_decides_what_fits_not_size():
    ranked = [hello(50), hello(80), hello(10)]
    assert fit_budget(ranked, 100) == (1, [50, 80, 10], 50)
    assert fit_budget(ranked, 130) == (2, [50, 80, 10], 130)
    assert fit_budget(ranked, 140) == (3, [50, 80, 10], 140)
    assert fit_budget(ranked, 49) == (0, [50, 80, 10], 0)
    assert fit_budget([], 100) == (0, [], 0)


@pytest.mark.row("C5")
def test_a_budget_takes_any_counter():
    class Words:
        def count(self, texts):
            return [len(text.split()) for text in texts]

    assert fit_budget(["one two", "three", "four"], 3, counter=Words()) == (2, [2, 1, 1], 3)


@pytest.mark.row("C5")
@pytest.mark.parametrize(
    ("counts", "message"), [([1], "gave 1 counts for 2 texts"), ([4, -1], "counted -1 tokens in a text")]
)
def test_a_counter_that_miscounts_is_refused(counts, message):
    class Wrong:
        def count(self, texts):
            return counts

    with pytest.raises(InvalidInputError, match=message):
        fit_budget(["one", "two"], 3, counter=Wrong())


@pytest.mark.row("C5")
@pytest.mark.parametrize("budget", [0, -5, 10.0, True])
def test_a_budget_must_be_a_positive_number_of_tokens(budget):
    with pytest.raises(ConfigurationError, match="max_tokens must be"):
        fit_budget(["one"], budget)


@pytest.mark.row("C5")
def test_tiktoken_counts_by_name_or_encoding(monkeypatch):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(cache_directory()))
    texts = ["hello <|endoftext|>", "日本語", ""]
    by_name, by_object = TiktokenCounter("cl100k_base"), TiktokenCounter(tiktoken_encoding("o200k_base"))
    assert isinstance(by_name, TokenCounter)
    assert by_name.count(texts) == count_tokens_many(texts)
    assert by_object.count(texts) == count_tokens_many(texts, encoding="o200k_base")
    tiny = tiktoken.Encoding(
        "tiny", pat_str=r"\w+|\W", mergeable_ranks={bytes([b]): b for b in range(256)}, special_tokens={}
    )
    assert TiktokenCounter(tiny).count(["abc", "é"]) == [3, 2]
    with pytest.raises(ConfigurationError, match="tiktoken cannot load the encoding 'no_such'"):
        TiktokenCounter("no_such")


@pytest.mark.row("C5")
def test_a_tokenizer_file_counts_the_bare_text(tmp_path):
    vocabulary = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "hello": 3, "world": 4, "[PAD]": 5}
    model = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    model.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    model.add_special_tokens(["[CLS]", "[SEP]"])
    model.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    model.enable_truncation(4)
    model.enable_padding(length=16, pad_token="[PAD]", pad_id=5)
    file = tmp_path / "tokenizer.json"
    model.save(str(file))
    assert len(model.encode("hello [SEP] world").ids) == 16
    counter = TokenizerJsonCounter(file)
    assert isinstance(counter, TokenCounter)
    assert counter.count(["hello world hello world hello", "hello [SEP] world", ""]) == [5, 5, 0]


@pytest.mark.row("C5")
def test_a_file_that_is_no_tokenizer_is_refused_by_its_path(tmp_path):
    broken = tmp_path / "broken.json"
    broken.write_text("{}")
    for path in (broken, tmp_path / "missing.json"):
        with pytest.raises(ConfigurationError, match=f"path must be a readable tokenizer.json, not '{path}'"):
            TokenizerJsonCounter(path)


@pytest.mark.row("C5")
@pytest.mark.parametrize(
    ("package", "extra", "make"),
    [
        ("tiktoken", "tiktoken", lambda: TiktokenCounter("gpt2")),
        ("tokenizers", "onnx", lambda: TokenizerJsonCounter("x")),
    ],
)
def test_a_missing_package_is_named_with_its_extra(monkeypatch, package, extra, make):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingDependencyError, match=rf"{package}.*pip install 'ragstone\[{extra}\]'"):
        make()
