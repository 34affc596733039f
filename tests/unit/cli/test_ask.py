"""`ragstone ask`, in process, against a double of a chat service on loopback."""

from __future__ import annotations

import json
import re

import pytest

from ragstone.cli import main
from ragstone.cli.arguments import build_parser
from ragstone.testing import HashEmbedder
from support.chat_service import Stream, event, running_chat_service
from support.embedding_service import KEY, refusal

LEAVE = "New parents take sixteen weeks of paid leave."


@pytest.fixture
def service(monkeypatch):
    for name in ("BASE_URL", "MODEL", "API_KEY"):
        monkeypatch.delenv(f"RAGSTONE_{name}", raising=False)
    with running_chat_service() as service:
        monkeypatch.setenv("RAGSTONE_API_KEY", KEY)
        yield service


@pytest.fixture
def ask(service, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("ragstone.cli.embedding.local_embedder", HashEmbedder)
    (tmp_path / "leave.md").write_text(LEAVE)
    index = str(tmp_path / "notes.rag")
    assert main(["ingest", "--index", index, str(tmp_path / "leave.md")]) == 0
    capsys.readouterr()

    def ask(*arguments, url=service.url, model="m", question="how long is paid leave?"):
        places = [*(("--base-url", url) if url else ()), *(("--model", model) if model else ())]
        try:
            code = main(["ask", "--index", index, *places, question, *map(str, arguments)])
        except SystemExit as end:
            code = int(end.code or 0)
        return code, *capsys.readouterr()

    return ask


def answering(service, text):
    service.replies = [Stream([*map(event, text), event(choice={"finish_reason": "stop"})])]


@pytest.mark.row("I1")
@pytest.mark.row("I5")
def test_the_answer_is_printed_and_its_sources_with_what_it_cites(ask, service):
    answering(service, "Sixteen weeks [Source 1].")
    code, out, err = ask("--top-k", 1)
    assert (code, err) == (0, "")
    answer, _, head, source = out.splitlines()
    assert answer == "Sixteen weeks [Source 1]."
    assert head == "Sources (* cited):"
    assert re.fullmatch(rf" 1\* \d\.\d{{4}} similarity  .*leave\.md#0  characters 0 to {len(LEAVE)}", source)
    (request,) = service.requests
    assert request["messages"][-1]["content"] == f"Context:\n[Source 1]\n{LEAVE}\n\nQuestion: how long is paid leave?"


def test_json_holds_everything(ask, service):
    code, out, err = ask("--json", "--hybrid", "--temperature", 0.5, "--system-prompt", "Be brief.")
    assert (code, err) == (0, "")
    data = json.loads(out)
    assert data["answer"].startswith("echo: Context:")
    assert data["usage"] == {"prompt_tokens": 3, "completion_tokens": 2}
    assert data["citations"][0]["document_end"] == len(LEAVE)
    assert data["page"]["results"][0]["score_scale"] == "rrf"
    (request,) = service.requests
    assert (request["temperature"], request["messages"][0]["content"]) == (0.5, "Be brief.")
    assert "stream" not in request


def test_the_environment_names_service_and_model(ask, service, monkeypatch):
    monkeypatch.setenv("RAGSTONE_BASE_URL", service.url)
    monkeypatch.setenv("RAGSTONE_MODEL", "from-the-environment")
    assert ask(url=None, model=None)[0] == 0
    assert ask(url=None, model="from-the-option")[0] == 0
    assert [request["model"] for request in service.requests] == ["from-the-environment", "from-the-option"]


@pytest.mark.parametrize(
    ("missing", "message"),
    [("model", "give --model, or set RAGSTONE_MODEL"), ("url", "give --base-url, .* or set RAGSTONE_BASE_URL")],
)
def test_a_missing_service_or_model_is_one_line(ask, missing, message):
    code, out, err = ask(**{missing: None})
    assert (code, out) == (2, "")
    assert re.fullmatch(f"ragstone: asking needs .*{message}\n", err)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--temperature", "3"), "temperature must be between 0 and 2"),
        (("--temperature", "hot"), "--temperature: invalid float value"),
        (("--timeout", "0"), "timeout must be between"),
        (("--top-k", "0"), "top_k must be at least 1"),
        (("--explain",), "unrecognized arguments: --explain"),
    ],
)
def test_wrong_usage_is_one_line_and_2(ask, service, arguments, message):
    code, out, err = ask(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("ragstone: ")
    assert message in err
    assert service.requests == []


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_service_that_refuses_is_one_line_without_the_question(ask, service, options):
    service.replies = [refusal(400, "no such model")]
    code, out, err = ask(*options, question="the salary of Jane Doe")
    assert (code, out) == (1, "")
    assert re.fullmatch(r"ragstone: openai:127\.0\.0\.1:\d+/m: HTTP 400: no such model\n", err)
    assert "Jane" not in err
    assert KEY not in err


def test_an_answer_that_breaks_off_ends_its_line_first(ask, service):
    service.replies = [Stream([event("Sixteen")])]
    code, out, err = ask()
    assert (code, out) == (1, "Sixteen\n")
    assert "the stream ended before the model did" in err


def test_warnings_are_told_and_control_characters_never_reach_the_terminal(ask, service):
    answering(service, "\x1b[31mred [Source 9]\x07")
    code, out, err = ask()
    assert code == 0
    assert out.startswith(" [31mred [Source 9] \n")
    assert err == "ragstone: warning: the answer cites sources that there are not: 9 of 1\n"


def test_the_help_names_the_environment(capsys):
    with pytest.raises(SystemExit):
        build_parser().parse_args(["ask", "--help"])
    assert "RAGSTONE_BASE_URL" in capsys.readouterr().out
