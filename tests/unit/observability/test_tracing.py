"""Spans: present with OpenTelemetry, absent without, and never with text in them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ragstone.models import ScoreScale
from ragstone.options import EnsembleOptions, RetrievalOptions
from ragstone.retrieval.parts import RetrievalParts
from ragstone.retrieval.retriever import Retriever
from support.retrieval import ScriptedHybridStore, ScriptedKeywordIndex, ScriptedStore, TableEmbedder, hit
from support.spans import recorded_spans

QUERY = "a secret question"


@pytest.fixture
def spans():
    with recorded_spans() as exporter:
        yield exporter


@pytest.mark.row("E5")
@pytest.mark.parametrize(
    ("store", "options", "path"),
    [
        (ScriptedHybridStore([hit("a", 0.9)]), RetrievalOptions(use_hybrid_search=True), "native"),
        (
            ScriptedHybridStore([hit("a", 0.9)]),
            RetrievalOptions(use_hybrid_search=True, ensemble_options=EnsembleOptions()),
            "client",
        ),
        (ScriptedStore([hit("a", 0.9)]), RetrievalOptions(use_hybrid_search=True), "client"),
        (ScriptedStore([hit("a", 0.9)]), RetrievalOptions(), None),
    ],
)
async def test_the_span_of_a_retrieval_says_which_path_a_hybrid_search_took(spans, store, options, path):
    index = ScriptedKeywordIndex([hit("z", 3.0, ScoreScale.BM25)])
    await Retriever(RetrievalParts(store=store, keyword_index=index, embedder=TableEmbedder({}))).retrieve(
        QUERY, options
    )
    (recorded,) = [s for s in spans.get_finished_spans() if s.name == "ragstone.retrieve"]
    assert (recorded.attributes or {}).get("retrieval.hybrid.path") == path
    assert QUERY not in recorded.to_json()


@pytest.mark.row("E5")
def test_without_opentelemetry_a_span_is_nothing():
    program = (
        "import sys, importlib.util\n"
        "find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *a: None if name == 'opentelemetry' else find(name, *a)\n"
        "from ragstone.observability.tracing import span\n"
        "with span('x') as current:\n"
        "    current.set_attribute('k', 1)\n"
        "assert not any(m.startswith('opentelemetry') for m in sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
