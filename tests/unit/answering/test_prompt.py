"""The prompt, byte for byte in every shape, and the order of its messages."""

from __future__ import annotations

import json

import pytest

from ragstone.answering import DEFAULT_SYSTEM_PROMPT, assemble_messages, format_sources

AWKWARD = [
    'What does {0} or {name} mean in f"{x!r}"?',
    "`code` ```fence``` {query} {{context}} %s ${HOME}",
    '{"a": [1, {"b": "\\n"}]}',
    "a\n\n---\n\n[Source 9]\nb",
    "ünïcödé 人工智能 \u2028 \u0000 🙂",
    "",
]


@pytest.mark.row("I2")
def test_the_prompt_byte_for_byte():
    messages = assemble_messages("Q", ["x", "y", "z"])
    assert messages == (
        {"role": "system", "content": DEFAULT_SYSTEM_PROMPT},
        {
            "role": "user",
            "content": "Context:\n[Source 1]\nx\n\n---\n\n[Source 2]\ny\n\n---\n\n[Source 3]\nz\n\nQuestion: Q",
        },
    )


@pytest.mark.row("I2")
def test_one_source_has_no_separator_and_no_source_leaves_the_context_empty():
    assert assemble_messages("Q", ["x"])[-1]["content"] == "Context:\n[Source 1]\nx\n\nQuestion: Q"
    assert assemble_messages("Q", [])[-1]["content"] == "Context:\n\n\nQuestion: Q"


@pytest.mark.row("I2")
def test_the_default_system_prompt_asks_for_citations_and_a_custom_one_replaces_it_whole():
    assert "[Source 1]" in DEFAULT_SYSTEM_PROMPT
    assert "nothing else" in DEFAULT_SYSTEM_PROMPT
    assert "say so" in DEFAULT_SYSTEM_PROMPT
    assert assemble_messages("Q", ["x"], system_prompt="S")[0] == {"role": "system", "content": "S"}
    assert assemble_messages("Q", ["x"], system_prompt="")[0] == {"role": "system", "content": ""}


@pytest.mark.row("I2")
@pytest.mark.case("S-044")
@pytest.mark.parametrize("query", AWKWARD)
@pytest.mark.parametrize("source", [*AWKWARD, "{context} and {{y}}"])
@pytest.mark.parametrize("as_tool_result", [False, True])
def test_braces_backticks_and_json_are_text(query, source, as_tool_result):
    messages = assemble_messages(query, [source], system_prompt="{query}", as_tool_result=as_tool_result)
    if as_tool_result:
        system, user, call, result = messages
        assert user["content"] == query
        assert json.loads(call["tool_calls"][0]["function"]["arguments"]) == {"query": query}
        assert result["content"] == f"[Source 1]\n{source}"
    else:
        system, user = messages
        assert user["content"] == f"Context:\n[Source 1]\n{source}\n\nQuestion: {query}"
    assert system["content"] == "{query}"


@pytest.mark.row("I3")
@pytest.mark.case("S-063")
def test_system_messages_that_lead_the_history_come_first_and_the_history_is_unchanged():
    history = [
        {"role": "system", "content": "H"},
        {"role": "user", "content": "u1"},
        {"role": "assistant", "content": "a1"},
    ]
    before = [dict(message) for message in history]
    messages = assemble_messages("Q", ["x", "y"], system_prompt="S", history=history)
    assert messages == (
        {"role": "system", "content": "H"},
        {"role": "system", "content": "S"},
        {"role": "user", "content": "u1"},
        {"role": "assistant", "content": "a1"},
        {"role": "user", "content": "Context:\n[Source 1]\nx\n\n---\n\n[Source 2]\ny\n\nQuestion: Q"},
    )
    messages[0]["content"] = messages[2]["content"] = "changed by the reader"
    assert history == before


@pytest.mark.row("I3")
def test_only_leading_system_messages_go_before_the_prompt():
    roles = ["system", "developer", "user", "system", "assistant"]
    history = [{"role": role, "content": str(place)} for place, role in enumerate(roles)]
    messages = assemble_messages("Q", [], system_prompt="S", history=history)
    assert [message["content"] for message in messages[:-1]] == ["0", "1", "S", "2", "3", "4"]


@pytest.mark.row("I4")
def test_the_shape_of_a_tool_result():
    history = [{"role": "system", "content": "H"}, {"role": "user", "content": "u1"}]
    messages = assemble_messages("Qu€", ["x", "y"], system_prompt="S", history=history, as_tool_result=True)
    call_id = messages[-1]["tool_call_id"]
    assert messages == (
        {"role": "system", "content": "H"},
        {"role": "system", "content": "S"},
        {"role": "user", "content": "u1"},
        {"role": "user", "content": "Qu€"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": call_id,
                    "type": "function",
                    "function": {"name": "search_documents", "arguments": '{"query": "Qu€"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": call_id, "content": "[Source 1]\nx\n\n---\n\n[Source 2]\ny"},
    )
    assert len(call_id) == 9
    assert call_id.isalnum()
    assert messages == assemble_messages("Qu€", ["x", "y"], system_prompt="S", history=history, as_tool_result=True)


def test_sources_are_numbered_from_one():
    assert format_sources([]) == ""
    assert format_sources(["a\n", "b"]) == "[Source 1]\na\n\n\n---\n\n[Source 2]\nb"
