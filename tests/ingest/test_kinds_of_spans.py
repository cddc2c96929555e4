"""What is found out once a kind of span holds for every span of the kind."""

from pathlib import Path
from typing import Any

import pytest

from earwitness.ingest.loader import Loader
from earwitness.ingest.pyrepr import read_alike
from earwitness.ingest.record import Place
from earwitness.ingest.registry import find_adapters
from earwitness.ingest.spans import tree
from earwitness.ingest.spans.evidence import (
    agents_of,
    contexts_of,
    conversation_of,
    makes_agent,
    may_tell,
    member_of,
)
from earwitness.ingest.spans.facts import Facts
from earwitness.ingest.spans.otlp import span_id
from earwitness.ingest.spans.registry import facts_of, find_dialects, of_kind
from earwitness.ingest.spans.span import Span, SpanEvent
from earwitness.schema.case import Case

GOLDEN = Path(__file__).parent.parent / "golden" / "ingest"
# What goes to the reader of spans, and the export that is told as spans.
SPANS = [a.NAME for a in find_adapters() if getattr(a, "READER", "") == "spans"] + ["openai-agents-trace"]
HERE = Place(1, 0, 1)
# Of LlamaIndex's integration there is no recording.
STEPS = [
    Span(trace_id="a" * 32, span_id="b" * 16, place=HERE, attributes={"llamaindex.step": "plan"}),
    Span(trace_id="a" * 32, span_id="c" * 16, place=HERE, events=(SpanEvent("step.output"),)),
]


@pytest.fixture(scope="module")
def spans() -> list[Span]:
    met: list[Span] = []

    def noted(span: Span) -> Facts | None:
        met.append(span)
        return facts_of(span)

    with pytest.MonkeyPatch.context() as patch, Case() as case:
        patch.setattr(tree, "facts_of", noted)
        Loader(case, jobs=1).load([GOLDEN / name for name in SPANS if (GOLDEN / name).is_dir()])
    return met + STEPS


def test_every_dialect_that_knows_a_span_is_asked(spans: list[Span]) -> None:
    heard: set[str] = set()
    for span in spans:
        knowing = [d.NAME for d in find_dialects() if d.matches(span)]
        asked = [d.NAME for d in of_kind(tuple(span.attributes), events=bool(span.events))]
        assert [name for name in asked if name in knowing] == knowing, span.place
        heard.update(knowing)
    assert heard == {d.NAME for d in find_dialects()}


def test_a_span_that_says_something_of_other_traces_is_asked(spans: list[Span]) -> None:
    silent = [s for s in spans if not may_tell(s)]
    assert 0 < len(silent) < len(spans)
    for span in silent:
        said: tuple[Any, ...] = (conversation_of(span), member_of(span), agents_of(span), list(contexts_of(span)))
        assert not any((*said, span.links, makes_agent(span))), span.place


@pytest.mark.parametrize("digits", ["0123456789abcdef0123456789abcdef", "0123456789abcdef"])
@pytest.mark.parametrize("size", [8, 16])
def test_an_id_reads_the_same_however_it_is_written(digits: str, size: int) -> None:
    wanted = digits.rjust(2 * size, "0")
    for text in (digits, f" {digits} ", digits):
        assert span_id(text, size) == wanted


def test_who_changes_what_was_read_changes_nothing_for_others() -> None:
    text = "[{'a': None, 'b': [1]}]"
    read_alike(text)[0]["b"].append(2)
    assert read_alike(text) == [{"a": None, "b": [1]}]
