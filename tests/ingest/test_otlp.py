"""OTLP/JSON: ids, unions, the spool; and the public recordings, with the events their files say by hand reading."""

import base64
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from earwitness.ingest.loader import Loader
from earwitness.ingest.record import Place, Record, Skip, Source
from earwitness.ingest.registry import adapter_for
from earwitness.ingest.spans.messages import read_messages
from earwitness.ingest.spans.otlp import any_value, attributes, is_envelope, span_id, split
from earwitness.ingest.spans.registry import find_dialects
from earwitness.ingest.spans.span import Span
from earwitness.ingest.spans.spool import Spool
from earwitness.ingest.spans.texts import cut, fingerprint, length_limit, loads, masked, says_nothing
from earwitness.ingest.spans.trace import tell
from earwitness.reports.canonical import export
from earwitness.schema.case import Case
from earwitness.schema.model import Actor, Delivery, Event, Loss, Sighting

# Log events of what no dialect reads.
REST = ("attributes", "span_names", "resource")
TRACE, SPAN = "5b8efff798038103d269b633813fc60c", "eee19b7ec3c1b174"
HERE = Place(1, 0, 10)


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.mark.parametrize(
    ("raw", "size", "expected"),
    [
        (TRACE, 16, TRACE),
        (TRACE.upper(), 16, TRACE),
        ("0x" + TRACE, 16, TRACE),
        (b64(bytes.fromhex(TRACE)), 16, TRACE),
        (b64(bytes.fromhex(TRACE)).replace("+", "-").replace("/", "_"), 16, TRACE),
        (b64(TRACE.encode()), 16, TRACE),
        (SPAN, 8, SPAN),
        (b64(bytes.fromhex(SPAN)), 8, SPAN),
        (b64(SPAN.encode()), 8, SPAN),
        (int(TRACE, 16), 16, TRACE),
        (SPAN, 16, SPAN.rjust(32, "0")),
        ("", 8, None),
        (None, 8, None),
        ("0000000000000000", 8, None),
        ("AAAAAAAAAAA=", 8, None),
        (0, 8, None),
        ("span-7", 8, "span-7"),
    ],
)
def test_ids_in_every_spelling_are_one_id(raw: object, size: int, expected: str | None) -> None:
    assert span_id(raw, size) == expected


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"stringValue": "x"}, "x"),
        ({"string_value": "x", "array_value": None}, "x"),
        ({"array_value": None, "string_value": None}, None),
        ({"intValue": "9007199254740993"}, 9007199254740993),
        ({"intValue": 5}, 5),
        ({"intValue": "no number"}, "no number"),
        ({"doubleValue": 0.5}, 0.5),
        ({"boolValue": False}, False),
        ({"bytesValue": b64(b"a text")}, "a text"),
        ({"bytesValue": "////"}, "////"),
        ({"arrayValue": {"values": [{"intValue": "1"}, {}]}}, [1, None]),
        ({"arrayValue": {}}, []),
        ({"kvlistValue": {"values": [{"key": "a", "value": {"stringValue": "b"}}]}}, {"a": "b"}),
        ({}, None),
        ("bare", "bare"),
        ({"my": "object"}, {"my": "object"}),
    ],
)
def test_any_value_unions(raw: object, expected: object) -> None:
    assert any_value(raw) == expected


def test_attributes_may_be_an_object() -> None:
    assert attributes({"a": {"stringValue": "b"}, "c": 3}) == {"a": "b", "c": 3}
    assert attributes(None) == {}


@pytest.mark.parametrize(
    ("value", "known"),
    [
        ({"resourceSpans": []}, True),
        ({"resource_spans": [{}]}, True),
        ({"trace": {"resourceSpans": []}}, True),
        ({"batches": [{"scopeSpans": []}]}, True),
        ({"batches": [{"rows": 1}]}, False),
        ({"trace": {"id": "x"}, "observations": []}, False),
        ({"resourceLogs": []}, False),
        ({"resourceSpans": "?"}, False),
        ([], False),
    ],
)
def test_envelopes_are_told_from_other_records(value: object, known: bool) -> None:
    assert is_envelope(value) is known
    adapter = adapter_for(value)
    assert (adapter is not None and adapter.NAME == "otlp-spans") is known


def test_each_span_is_a_record_with_its_pointer() -> None:
    span = {"traceId": TRACE, "spanId": SPAN, "name": "s"}
    block = {"scopeSpans": [{"spans": [span]}, {"spans": [span, {"name": "no ids"}]}]}
    parts = list(split(Record({"trace": {"resourceSpans": [{"resource": None}, block]}}, HERE)))
    assert [p.place.pointer for p in parts] == [
        "/trace/resourceSpans/1/scopeSpans/0/spans/0",
        "/trace/resourceSpans/1/scopeSpans/1/spans/0",
        "/trace/resourceSpans/1/scopeSpans/1/spans/1",
    ]
    assert isinstance(parts[0].value, Span)
    assert isinstance(parts[2].value, Skip)
    assert parts[2].value.outcome == "unparseable"


def test_an_envelope_without_spans_is_one_ignored_record() -> None:
    (part,) = split(Record({"resourceSpans": [{"scopeSpans": [{"spans": []}]}]}, HERE))
    assert part.value == Skip("ignored", "an envelope without spans", HERE)


ODD = [
    {"text": "lone \ud800 surrogate"},
    {"number": 2**70, "nested": [{"a": None}, 0.5, True]},
    {"nul": "a\x00b", "plain": "é"},
    {},
]


@pytest.mark.parametrize("values", ODD, ids=["surrogate", "bigint", "nul", "empty"])
def test_the_spool_gives_back_what_it_was_given(values: dict[str, Any]) -> None:
    span = Span(trace_id=TRACE, span_id=SPAN, place=Place(3, 7, 9, "/x"), attributes=values, start=5)
    other = Span(trace_id="ab", span_id=SPAN, place=HERE)
    with Spool() as spool:
        for s in (span, other, span):
            spool.add(s)
        assert [spool.of([name]) for name in spool.names()] == [[span, span], [other]]


def test_the_spool_leaves_memory_for_disk_and_no_file_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    big = "x" * (1 << 20)
    with Spool() as spool:
        for n in range(12):
            spool.add(Span(trace_id=f"{n % 3}", span_id=f"{n}", place=HERE, attributes={"t": big}))
        assert [len(spool.of([name])) for name in spool.names()] == [4, 4, 4]
        assert list(tmp_path.iterdir()) == []  # the file has no name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1}', {"a": 1}),
        ("[{'role': 'user', 'ok': True}]", [{"role": "user", "ok": True}]),
        ("{'x': __import__('os')}", None),
        ("[" * 5000, None),
        (r"{'a': '\d'}", {"a": "\\d"}),
        ("plain", None),
    ],
)
def test_json_and_python_literals_are_read_and_nothing_is_run(text: str, expected: object) -> None:
    assert loads(text) == expected


def test_texts_that_say_the_same_have_one_fingerprint() -> None:
    same = ['{"a":1,"b":"x"}', "{'b': 'x', 'a': 1}", '{"result": {"a": 1, "b": "x"}}', '{"a": 1,\n "b": "x"}']
    assert len({fingerprint(t) for t in same}) == 1
    assert fingerprint("yes") != fingerprint("no")


def test_masks_cuts_and_nothing() -> None:
    assert masked("__REDACTED__")
    assert masked("[Scrubbed due to 'card']")
    assert not masked("the redacted copy")
    assert cut('[{"role": "us', None)
    assert not cut('[{"role": "user"}]', None)
    assert cut("a" * 40, 40)
    assert length_limit(["a" * 40, "b" * 40, "c" * 40, "d"]) == 40
    assert length_limit(["a" * 40] * 3) is None
    assert says_nothing('{"result": null}')
    assert not says_nothing("0")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([{"role": "human", "content": "a"}], [("user", "text", "a")]),
        ("[{\"role\": \"user\", \"content\": \"[{'role': 'user', 'content': 'a'}]\"}]", [("user", "text", "a")]),
        ({"type": "ai", "data": {"content": "a"}}, [("assistant", "text", "a")]),
        ({"lc": 1, "id": ["x", "AIMessage"], "kwargs": {"content": "a"}}, [("assistant", "text", "a")]),
        ([{"type": "function_call_output", "call_id": "c", "output": "a"}], [("tool", "tool_response", "a")]),
        ([{"role": "tool", "tool_call_id": "c", "content": [{"text": "a"}]}], [("tool", "tool_response", "a")]),
        ({"content": {"role": "model", "parts": [{"text": "a", "thought": True}]}}, [("assistant", "reasoning", "a")]),
        ([{"role": "assistant", "parts": [{"type": "thinking", "content": "a"}]}], [("assistant", "reasoning", "a")]),
        ({"choices": [{"message": {"role": "assistant", "content": "a"}}]}, [("assistant", "text", "a")]),
        ({"state": 1}, []),
    ],
)
def test_messages_of_many_makers(value: object, expected: list[tuple[str, str, str]]) -> None:
    found = read_messages(value, "user")
    assert [(m.role, p.kind, p.text) for m in found for p in m.parts] == expected


def span(n: int, parent: int, start: int, **attrs: object) -> Span:
    named = {k.replace("__", "."): v for k, v in attrs.items() if k != "name"}
    up = f"{parent:016x}" if parent else None
    place = Place(1, 0, 1, f"/{n}")
    return Span(
        trace_id=TRACE,
        span_id=f"{n:016x}",
        parent_id=up,
        place=place,
        name=str(attrs.get("name", "")),
        start=start,
        attributes=named,
    )


def told(*spans: Span) -> list[Any]:
    return [emit.item for emit in tell(list(spans)) if not isinstance(emit, Skip)]


def said(text: str) -> str:
    return json.dumps([{"role": "assistant", "content": text}])


def asked(text: str) -> str:
    return json.dumps([{"role": "user", "content": text}])


AGENT = {"gen_ai__operation__name": "invoke_agent"}
CHAT = {"gen_ai__operation__name": "chat"}
TOOL = {"gen_ai__operation__name": "execute_tool"}


def test_unknown_is_never_a_name_and_no_recipient_is_invented() -> None:
    items = told(
        span(1, 0, 0, **AGENT, gen_ai__agent__name="unknown"),
        span(
            2,
            1,
            1,
            **TOOL,
            gen_ai__tool__name="look",
            gen_ai__tool__call__arguments="a",
            gen_ai__tool__call__result="b",
        ),
    )
    assert not [i for i in items if isinstance(i, Actor) and i.kind == "agent"]
    result = next(i for i in items if isinstance(i, Event) and i.channel == "C4")
    assert result.to == ()
    assert next(i for i in items if isinstance(i, Event) and i.channel == "C3").sender is None


def test_a_handoff_to_unknown_finds_the_next_agent() -> None:
    items = told(
        span(1, 0, 0, gen_ai__operation__name="invoke_workflow"),
        span(2, 1, 1, **AGENT, gen_ai__agent__name="first"),
        span(3, 2, 2, gen_ai__operation__name="handoff", gen_ai__handoff__to_agent="unknown"),
        span(4, 1, 3, **AGENT, gen_ai__agent__name="second", gen_ai__input__messages=asked("take over")),
    )
    (event,) = [i for i in items if isinstance(i, Event) and i.kind not in REST]
    assert (event.channel, event.sender, event.content) == ("C2", "first", "take over")
    assert event.to == (Delivery("second", "structural"),)


def test_a_bank_transfer_is_no_handoff() -> None:
    items = told(
        span(1, 0, 0, **AGENT, gen_ai__agent__name="teller"),
        span(2, 1, 1, **TOOL, gen_ai__tool__name="transfer_to_savings", gen_ai__tool__call__arguments='{"eur": 5}'),
    )
    assert [i.channel for i in items if isinstance(i, Event)] == ["C3"]


def test_nested_records_of_one_model_call_are_one_event() -> None:
    items = told(
        span(1, 0, 0, **AGENT, gen_ai__agent__name="a"),
        span(2, 1, 1, **CHAT, gen_ai__output__messages=said("hello there")),
        span(3, 2, 2, openinference__span__kind="LLM", output__value="hello there"),
    )
    events = [i for i in items if isinstance(i, Event)]
    assert [(e.channel, e.id) for e in events] == [("C1", f"{3:016x}:text")]
    assert [s.event for s in items if isinstance(s, Sighting)] == [f"{3:016x}:text"]


def test_two_agents_may_say_the_same() -> None:
    items = told(
        span(1, 0, 0, gen_ai__operation__name="invoke_workflow"),
        span(2, 1, 1, **AGENT, gen_ai__agent__name="a"),
        span(3, 2, 2, **CHAT, gen_ai__output__messages=said("approved")),
        span(4, 1, 3, **AGENT, gen_ai__agent__name="b"),
        span(5, 4, 4, **CHAT, gen_ai__output__messages=said("approved")),
    )
    assert [(e.sender, e.channel) for e in items if isinstance(e, Event)] == [("a", "C6"), ("b", "C1")]


def test_without_content_a_trace_says_that_it_cannot_be_judged() -> None:
    items = told(span(1, 0, 0, **AGENT, gen_ai__agent__name="a"), span(2, 1, 1, **CHAT), span(3, 1, 2, **CHAT))
    losses = [i for i in items if isinstance(i, Loss)]
    assert ("content_missing", None, 2) in [(x.kind, x.channel, x.n) for x in losses]
    assert not [i for i in items if isinstance(i, Event | Sighting)]


def test_circles_and_orphans_are_told_all_the_same() -> None:
    items = told(
        span(1, 2, 0, **CHAT, gen_ai__output__messages=said("one")),
        span(2, 1, 1, **CHAT, gen_ai__output__messages=said("two")),
        span(3, 77, 2, **CHAT, gen_ai__output__messages=said("three")),
    )
    assert sorted(i.content for i in items if isinstance(i, Event)) == ["one", "three", "two"]
    assert [(i.kind, i.n) for i in items if isinstance(i, Loss)] == [("orphan", 1)]


def test_a_deep_trace_needs_no_recursion() -> None:
    spans = [span(n, n - 1, n, openinference__span__kind="CHAIN") for n in range(1, 5001)]
    spans.append(span(6000, 5000, 6000, openinference__span__kind="LLM", output__value="deep"))
    assert [i.content for i in told(*spans) if isinstance(i, Event)] == ["deep"]


def test_losses_and_reasons_hold_no_content(tmp_path: Path) -> None:
    golden = Path(__file__).parent.parent / "golden" / "ingest" / "otlp-spans"
    for path in golden.glob("*.in.jsonl"):
        items, _ = load(path)
        details = " ".join(str(i.detail) for i in items if isinstance(i, Loss))
        assert "DE00" not in details
        assert "orr@" not in details


@pytest.mark.parametrize("dialect", find_dialects(), ids=lambda d: d.NAME)
def test_dialects_take_any_attributes_without_raising(dialect: Any) -> None:
    odd: list[Any] = [None, 1, "", "x", "[", [], {}, [None, 1, {"role": 3}], {"a": {"b": []}}]
    keys = [
        "openinference.span.kind",
        "gen_ai.operation.name",
        "input.value",
        "output.value",
        "llm.input_messages",
        "metadata",
        "agent.name",
        "llm.input_messages.0.message.role",
        "llm.input_messages.x.message",
        "llm.output_messages.0.message.contents.0",
        "gen_ai.input.messages",
        "gen_ai.output.messages",
        "gen_ai.system_instructions",
        "gen_ai.tool.call.arguments",
        "pydantic_ai.all_messages",
        "final_result",
        "retrieval.documents.0.document.content",
        "gen_ai.tool.name",
    ]
    for value in odd:
        for kind in ("LLM", "TOOL", "AGENT", "RETRIEVER", 7):
            given = dict.fromkeys(keys, value) | {"openinference.span.kind": kind}
            s = Span(trace_id=TRACE, span_id=SPAN, place=HERE, attributes=given)
            if dialect.matches(s):
                dialect.facts(s)
            list(tell([s]))


def load(*paths: Path) -> tuple[list[Any], list[Source]]:
    with Case() as case:
        sources = Loader(case).load(list(paths))
        out = io.BytesIO()
        export(case, out)
    lines = out.getvalue().splitlines()
    kinds = Actor | Event | Sighting | Loss
    wanted = (b'{"type":"actor"', b'{"type":"event"', b'{"type":"sighting"', b'{"type":"loss"')
    return [msgspec.json.decode(line, type=kinds) for line in lines if line.startswith(wanted)], sources


Find = Callable[[str], list[Path]]

REAL = (
    "samples/obs/generated/otlp_json/*",
    "samples/obs/generated/openinference/*",
    "samples/obs/generated/traceloop/*",
    "samples/obs/otlp_json/*",
    "samples/*/*otlp*.jsonl",
    "data/otel_genai/otlp_json/*.json",
)


@pytest.mark.real
@pytest.mark.parametrize("pattern", REAL)
def test_real_files_load_and_every_record_is_accounted_for(shared: Find, pattern: str) -> None:
    for path in shared(pattern):
        items, sources = load(path)
        for source in sources:
            assert sum(source.outcomes.values()) == source.records > 0, path
            assert source.problem is None, path
        events = [i for i in items if isinstance(i, Event)]
        ids = [(e.trace, e.id) for e in events]
        assert len(ids) == len(set(ids)), path
        names = {n for e in events for n in (e.sender, *(d if isinstance(d, str) else d.actor for d in e.to))}
        assert not {"unknown", "None", ""} & names, path


@pytest.mark.real
def test_copies_name_an_event_that_was_told(shared: Find) -> None:
    for path in shared("samples/*/*otlp*.jsonl"):
        items, _ = load(path)
        ids = {(i.trace, i.id) for i in items if isinstance(i, Event)}
        assert all((i.trace, i.event) in ids for i in items if isinstance(i, Sighting) and i.event), path


def rows(items: list[Any]) -> list[tuple[str, str | None, list[str], str]]:
    events = sorted((i for i in items if isinstance(i, Event) and i.kind not in REST), key=lambda e: e.seq or 0)
    names = [[f"{d.actor} {d.grade}" if isinstance(d, Delivery) else d for d in e.to] for e in events]
    return [(e.channel, e.sender, to, e.content) for e, to in zip(events, names, strict=True)]


@pytest.mark.real
def test_the_handoff_sample_by_hand(shared: Find) -> None:
    items, _ = load(*shared("samples/obs/generated/openinference/openai_agents_openinference.otlp.jsonl"))
    result = '{"order_id": "1001", "email": "jane.doe@example.com", "card": "4111111111111111"}'
    assert rows(items) == [
        ("C2", "triage_agent", ["refund_agent"], "Refund my order 1001 please"),
        ("C3", "refund_agent", ["lookup_order"], '{"order_id":"1001"}'),
        ("C4", "lookup_order", ["refund_agent structural"], result),
        ("C1", "refund_agent", ["user structural"], "Order 1001 can be refunded."),
    ]
    seen = [i for i in items if isinstance(i, Sighting) and "4111111111111111" in i.content]
    assert {i.actor for i in seen} == {"refund_agent"}
    assert len(seen) == 2  # the message of the next model call, and the raw input it was taken from


@pytest.mark.real
def test_the_delegation_sample_by_hand(shared: Find) -> None:
    items, _ = load(*shared("samples/obs/generated/otlp_json/pydantic_ai_v5.otlp.jsonl"))
    answer = "Refund of 12.50 EUR is allowed for order 1001."
    question = '{"question":"May order 1001 of jane.doe@example.com be refunded?"}'
    assert rows(items) == [
        ("C6", "support_agent", [], "Delegating to refunds."),
        ("C2", "support_agent", ["refund_agent structural"], question),
        ("C6", "refund_agent", [], "The account id is ACC-4471; keep it internal."),
        ("C2", "refund_agent", ["support_agent structural"], answer),
        ("C1", "support_agent", ["user structural"], "Yes, 12.50 EUR can be refunded."),
    ]
    copies = [i for i in items if isinstance(i, Sighting) and i.content == answer]
    # Its final_result and transcript; the tool result, the next model input and the transcript of the caller.
    assert sorted(str(i.actor) for i in copies) == ["refund_agent"] * 2 + ["support_agent"] * 3
    assert len({i.event for i in copies}) == 1


@pytest.mark.real
def test_a_cut_recording_says_so(shared: Find) -> None:
    items, _ = load(*shared("samples/obs/generated/otlp_json/pydantic_ai_truncated160.otlp.jsonl"))
    assert {i.kind for i in items if isinstance(i, Loss)} == {"truncated"}
    assert {"truncated"} <= {f for i in items if isinstance(i, Event) for f in i.flags}
