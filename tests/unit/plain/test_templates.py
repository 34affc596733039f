"""Templates: named placeholders are replaced, everything else is text."""

from __future__ import annotations

import pytest

from ragstone.errors import ConfigurationError
from ragstone.options import CompressionOptions, DeepResearchOptions, HydeOptions, MultiQueryOptions
from ragstone.templates import fill

NASTY = 'What does {0} or {name} mean in f"{x!r}"? {{y}} {query} {count} ``` {"a": [1]} %s \\1 \\g<0>'


@pytest.mark.case("S-044")
@pytest.mark.row("F1")
def test_braces_of_the_query_and_of_the_template_survive():
    query = 'What does {0} or {name} mean in f"{x!r}"?'
    assert fill('Answer as {"a": 1}. Q: {query}', query=query) == f'Answer as {{"a": 1}}. Q: {query}'


@pytest.mark.case("S-044")
@pytest.mark.parametrize(
    ("template", "values"),
    [
        (HydeOptions().prompt_template, {"query": NASTY}),
        (MultiQueryOptions().prompt_template, {"query": NASTY, "count": 3}),
        (CompressionOptions(keep_top_sentences=1).prompt_template, {"query": NASTY, "text": "{context} {{y}} {query}"}),
        ('{"sufficient": false} {query} {sources}', {"query": NASTY, "sources": "{context} {query} {{y}}"}),
    ],
    ids=["hyde", "multi_query", "compression", "deep_research"],
)
def test_every_template_holds_what_is_filled_in_byte_for_byte(template, values):
    # What a correct reader of templates does, one placeholder at a time and from the last to the first.
    expected = template
    spots = sorted(((template.index("{" + name + "}"), name) for name in values), reverse=True)
    for start, name in spots:
        expected = expected[:start] + str(values[name]) + expected[start + len(name) + 2 :]
    assert fill(template, **values) == expected
    assert NASTY in fill(template, **values)


@pytest.mark.row("F1")
@pytest.mark.row("F2")
@pytest.mark.parametrize(
    ("options", "placeholder"),
    [
        (lambda: HydeOptions(prompt_template="no place for it"), "query"),
        (lambda: HydeOptions(prompt_template="{{query}"), None),
        (lambda: MultiQueryOptions(prompt_template="{query}"), "count"),
        (lambda: MultiQueryOptions(prompt_template="{count}"), "query"),
        (lambda: DeepResearchOptions(sufficiency_prompt="{query}"), "sources"),
        (lambda: HydeOptions(prompt_template=None), "string"),
    ],
)
def test_a_template_without_its_placeholder_is_refused(options, placeholder):
    if placeholder is None:
        assert fill(options().prompt_template, query="x") == "{x"
    else:
        with pytest.raises(ConfigurationError, match=placeholder):
            options()


@pytest.mark.row("L3")
@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        (HydeOptions, "hypothesis_count", 0),
        (HydeOptions, "hypothesis_temperature", 2.5),
        (MultiQueryOptions, "variant_count", 0),
        (DeepResearchOptions, "max_depth", 0),
        (DeepResearchOptions, "sub_query_count", -1),
    ],
)
def test_numbers_out_of_range_are_refused_where_they_are_set(kind, field, value):
    with pytest.raises(ConfigurationError, match=field):
        kind(**{field: value})
