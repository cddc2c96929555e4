"""Span backends and dialects: small inputs, and the public files; reported problems have a file of their own."""

import io
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from earwitness.ingest.loader import Loader
from earwitness.ingest.record import Source
from earwitness.reports.canonical import export
from earwitness.schema.case import Case
from earwitness.schema.model import Actor, Delivery, Event, Loss, Sighting, Trace

Find = Callable[[str], list[Path]]
TRACE = "5b8efff798038103d269b633813fc60c"
ISO = "2026-05-28T20:26:40.{:03d}Z"
REST = ("attributes", "span_names", "resource")


def sid(n: int) -> str:
    return f"eee19b7ec3c1b1{n:02x}"


def load(*paths: Path) -> tuple[list[Any], list[Source]]:
    with Case() as case:
        sources = Loader(case).load(list(paths))
        out = io.BytesIO()
        export(case, out)
    kinds = Actor | Event | Sighting | Loss | Trace
    names = (b"actor", b"event", b"sighting", b"loss", b"trace")
    lines = [x for x in out.getvalue().splitlines() if any(x.startswith(b'{"type":"%s"' % n) for n in names)]
    return [msgspec.json.decode(x, type=kinds) for x in lines], sources


@pytest.fixture
def told(tmp_path: Path) -> Callable[..., list[Any]]:
    """The items of records, each argument one file."""

    def tell(*files: list[Any]) -> list[Any]:
        paths = []
        for n, records in enumerate(files):
            path = tmp_path / f"{n}.jsonl"
            path.write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
            paths.append(path)
        items, sources = load(*paths)
        assert all(s.problem is None and sum(s.outcomes.values()) == s.records for s in sources)
        return items

    return tell


def span(n: int, parent: int, ms: int, attributes: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A span as the console exporter prints it."""
    return {
        "name": "",
        "context": {"trace_id": "0x" + TRACE, "span_id": "0x" + sid(n)},
        "parent_id": "0x" + sid(parent) if parent else None,
        "start_time": ISO.format(ms),
        "end_time": ISO.format(ms + 1),
        "status": {"status_code": "UNSET"},
        "attributes": attributes,
        "events": more.get("events", []),
        "links": [],
        "resource": {"attributes": {}},
    }


def observation(n: int, parent: int, kind: str, **more: Any) -> dict[str, Any]:
    base = {"id": sid(n), "traceId": TRACE, "parentObservationId": sid(parent) if parent else None, "type": kind}
    return base | {"name": f"o{n}", "startTime": ISO.format(n), "input": None, "output": None, "metadata": None} | more


def texts(items: list[Any]) -> str:
    return "\n".join(i.content for i in items if isinstance(i, Event))


def events(items: list[Any], *channels: str) -> list[Event]:
    found = [i for i in items if isinstance(i, Event) and i.kind not in REST]
    return sorted((e for e in found if not channels or e.channel in channels), key=lambda e: e.seq or 0)


def losses(items: list[Any]) -> set[str]:
    return {i.kind for i in items if isinstance(i, Loss)}


AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "clerk"}
CHAT = {"gen_ai.operation.name": "chat"}


def said(text: str) -> str:
    return json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": text}]}])


def test_log_records_join_the_span_they_were_written_in(told: Any) -> None:
    def log(ms: int, name: str, body: Any) -> dict[str, Any]:
        base = {"timestamp": ISO.format(ms), "trace_id": "0x" + TRACE, "span_id": "0x" + sid(2), "severity_number": 9}
        return base | {"body": body, "attributes": {"event.name": name}}

    logs = [
        log(1, "gen_ai.user.message", {"content": "question"}),
        log(2, "gen_ai.choice", {"message": {"role": "assistant", "content": "answer"}}),
    ]
    items = told(logs, [span(2, 1, 1, CHAT), span(1, 0, 0, AGENT)])
    (event,) = events(items)
    assert (event.channel, event.sender, event.content) == ("C1", "clerk", "answer")
    assert [(i.actor, i.content) for i in items if isinstance(i, Sighting)] == [("clerk", "question")]


def test_messages_on_a_span_and_in_its_log_are_told_once(told: Any) -> None:
    body = {
        "gen_ai.output.messages": json.loads(said("answer")),
        "event.name": "gen_ai.client.inference.operation.details",
    }
    log = {
        "trace_id": "0x" + TRACE,
        "span_id": "0x" + sid(1),
        "severity_number": None,
        "body": None,
        "attributes": body,
    }
    items = told([span(1, 0, 1, CHAT | {"gen_ai.output.messages": said("answer")})], [log])
    assert [e.content for e in events(items)] == ["answer"]


EVENTS_136 = (
    [
        {"name": "gen_ai.content.prompt", "attributes": {"gen_ai.prompt": '[{"role":"user","content":"q"}]'}},
        {
            "name": "gen_ai.content.completion",
            "attributes": {"gen_ai.completion": '[{"role":"assistant","content":"a"}]'},
        },
    ],
    [
        {"name": "gen_ai.user.message", "attributes": {"content": "q"}},
        {"name": "gen_ai.choice", "attributes": {"index": 0, "message": '{"role":"assistant","content":"a"}'}},
    ],
)


@pytest.mark.parametrize("noted", EVENTS_136, ids=["two strings", "one a message"])
def test_messages_of_older_conventions_in_span_events(told: Any, noted: list[Any]) -> None:
    items = told([span(1, 0, 1, {"gen_ai.system": "openai"}, events=noted)])
    assert [(e.channel, e.content) for e in events(items)] == [("C1", "a")]
    assert [i.content for i in items if isinstance(i, Sighting)] == ["q"]


def test_flattened_prompts_with_gaps_and_calls(told: Any) -> None:
    attributes = {
        "gen_ai.prompt.0.role": "system",
        "gen_ai.prompt.0.content": "Be kind.",
        "gen_ai.prompt.10.role": "user",
        "gen_ai.prompt.10.content": "second",
        "gen_ai.prompt.2.role": "user",
        "gen_ai.prompt.2.content": "first",
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.tool_calls.0.id": "c1",
        "gen_ai.completion.0.tool_calls.0.name": "find",
        "gen_ai.completion.0.tool_calls.0.arguments": '{"a":1}',
    }
    items = told([span(1, 0, 1, attributes)])
    seen = sorted((i for i in items if isinstance(i, Sighting)), key=lambda i: i.seq or 0)
    assert [i.content for i in seen] == ["Be kind.", "first", "second"]
    assert [(e.channel, e.to, e.content) for e in events(items)] == [("C3", ("find",), '{"a":1}')]


def test_integer_ids_beyond_double_precision_stay_apart(told: Any) -> None:
    def row(n: int, parent: int | None) -> dict[str, Any]:
        context = {"trace_id": 2**120 + 7, "span_id": 2**60 + n}
        up = {"trace_id": 2**120 + 7, "span_id": 2**60 + parent} if parent else None
        output = {"gen_ai.operation.name": "call_llm", "gen_ai.output": f"text {n}"}
        return {"name": "x", "context": context, "parent": up, "attributes": output, "start_time": n, "end_time": n}

    items = told([{"spans": [row(1, None), row(2, 1), row(3, 1)], "final_output": ""}])
    assert {e.content for e in events(items)} == {"text 1", "text 2", "text 3"}
    assert "orphan" not in losses(items)


REAL = (
    "samples/*/*.spans.jsonl",
    "samples/*/*otlp*.jsonl",
    "samples/*/*console*.jsonl",
    "samples/*/*otel_logs*.jsonl",
    "samples/obs/generated/*/*otlp*",
    "samples/obs/generated/console_exporter/*",
    "samples/obs/generated/phoenix/*",
    "samples/obs/generated/mlflow/*",
    "samples/obs/otlp_json/*",
    "samples/obs/jaeger_json/*",
    "samples/obs/langfuse_trace_download/*",
    "data/otel_genai/any_agent/*.json",
    "data/otel_genai/otlp_json/*.json",
)


@pytest.mark.real
@pytest.mark.parametrize("pattern", REAL)
def test_every_public_file_is_read_by_a_span_adapter(shared: Find, pattern: str) -> None:
    for path in shared(pattern):
        items, (source,) = load(path)
        assert source.problem is None, path
        assert sum(source.outcomes.values()) == source.records > 0, path
        assert not {"unknown", "unsupported"} & source.outcomes.keys(), path
        names = {i.name for i in items if isinstance(i, Actor)}
        names |= {d.actor for e in events(items) for d in e.to if isinstance(d, Delivery)}
        assert not {"unknown", "None", ""} & names, path
        ids = {(i.trace, i.id) for i in items if isinstance(i, Event)}
        assert all((i.trace, i.event) in ids for i in items if isinstance(i, Sighting) and i.event), path


CANARIES = ("ACCT-4417-ZX", "4000-1234-5678-9010", "4111111111111111")
# Events that hold the canary, by channel, counted by hand from what the runs did.
EMITTED = {
    "samples/langchain/subagent_tools.openinference.otlp_json.jsonl": {"C4": 2, "C3": 1, "C2": 2},
    "samples/langchain/subagent_tools.openinference.console_spans.jsonl": {"C4": 2, "C3": 1, "C2": 2},
    "samples/langchain/subagent_tools.openllmetry.otlp_json.jsonl": {"C4": 2, "C3": 1, "C2": 2},
    "samples/langchain/subagent_tools.langsmith_otel.otlp_json.jsonl": {"C4": 2, "C3": 1, "C2": 2},
    "samples/google_adk/transfer.native_semconv_latest.otlp_json.jsonl": {"C4": 2, "C3": 2},
    "samples/google_adk/transfer.native_schema1.otlp_json.jsonl": {"C4": 2, "C3": 2},
    "samples/google_adk/v1.18.transfer.native.console_spans.jsonl": {"C4": 2, "C3": 2},
    "samples/google_adk/transfer.otel_logs_event_only.otlp_json.jsonl": {"C4": 2, "C3": 2},
    "samples/google_adk/transfer.otel_logs_event_only.console.jsonl": {"C4": 2, "C3": 2},
    "samples/google_adk/transfer.otel_logs_schema1.console.jsonl": {"C4": 2, "C3": 2},
    "samples/google_adk/transfer.native.otlp_json.jsonl": {},
    "samples/obs/generated/phoenix/phoenix_rest_spans.json": {"C4": 1},
    "samples/obs/generated/phoenix/phoenix_rest_spans_otlpv1.json": {"C4": 1},
    "samples/obs/generated/phoenix/phoenix_spans_dataframe.jsonl": {"C4": 1},
    "samples/obs/generated/phoenix/phoenix_spans_dataframe.parquet": {"C4": 1},
}


@pytest.mark.real
@pytest.mark.parametrize("name", EMITTED)
def test_a_canary_is_an_event_where_it_was_emitted_only(shared: Find, name: str) -> None:
    items, _ = load(*shared(name))
    found = Counter(i.channel for i in items if isinstance(i, Event) and any(c in i.content for c in CANARIES))
    assert dict(found) == EMITTED[name]


@pytest.mark.real
def test_one_run_in_many_containers_is_told_alike(shared: Find) -> None:
    base = "samples/obs/generated/phoenix/"
    forms = ("phoenix_rest_spans.json", "phoenix_rest_spans_otlpv1.json", "phoenix_spans_dataframe.jsonl")
    runs = [events(load(*shared(base + form))[0]) for form in forms]
    told_alike = [[(e.channel, e.sender, e.to, e.content) for e in run] for run in runs]
    assert told_alike[0] == told_alike[1] == told_alike[2]
    assert Counter(e.channel for e in runs[0]) == {"C2": 1, "C3": 1, "C4": 1, "C1": 1}


@pytest.mark.real
def test_prompts_of_semantic_kernel_come_from_the_log_file(shared: Find) -> None:
    base = "samples/semantic_kernel/sequential."
    alone, _ = load(*shared(base + "native_otel.spans.jsonl"))
    both, _ = load(*shared(base + "native_otel.spans.jsonl"), *shared(base + "otel_logs.jsonl"))
    assert len([i for i in both if isinstance(i, Sighting)]) > len([i for i in alone if isinstance(i, Sighting)])
    assert {i.id for i in both if isinstance(i, Trace)} == {i.id for i in alone if isinstance(i, Trace)}


@pytest.mark.real
def test_the_jaeger_sample_by_hand(shared: Find) -> None:
    items, (source,) = load(*shared("samples/obs/jaeger_json/jaeger-ui-genaiTestTrace.json"))
    assert source.records == 57
    assert {i.name for i in items if isinstance(i, Actor) and i.kind == "agent"} == {"triage-agent", "summarizer"}
    assert Counter(e.channel for e in events(items)) == {"C3": 6, "C4": 6, "C6": 3, "C2": 1, "C1": 1}


def test_numbers_as_long_as_cards_are_found_and_endless_ones_do_no_harm(told: Any) -> None:
    attributes = CHAT | {"gen_ai.output.messages": said("fine"), "metadata": {"card": 4111111111111111, "pin": "4711"}}
    found = texts(told([span(1, 0, 1, attributes | {"api_token": "0123456789abcdef0123456789abcdef"})]))
    assert all(secret in found for secret in ("4111111111111111", "4711", "0123456789abcdef0123456789abcdef"))
    deep: Any = "tok-551"
    for _ in range(40):
        deep = {"a": [deep]}
    assert "tok-551" in texts(told([span(2, 0, 1, CHAT | {"gen_ai.output.messages": said("x"), "m": deep})]))


ODD: tuple[Any, ...] = (
    None,
    1,
    "",
    "x",
    "[",
    '{"a":',
    [],
    {},
    [None, 1, {"role": 3}],
    {"content": {"parts": [1]}},
    True,
)
ODD_KEYS = (
    "ai.operationId",
    "ai.prompt.messages",
    "ai.response.toolCalls",
    "gcp.vertex.agent.llm_request",
    "gcp.vertex.agent.llm_response",
    "gen_ai.prompt.0.content",
    "gen_ai.completion.0.tool_calls.0.name",
    "langfuse.observation.input",
    "mlflow.spanOutputs",
    "traceloop.entity.input",
    "meta.input",
    "gen_ai.prompt",
    "gen_ai.output",
    "all_messages_events",
    "events",
    "message",
    "recipient_agent_type",
    "metadata",
)


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_odd_values_anywhere_do_not_stop_an_import(told: Any, odd: Any) -> None:
    kinds = (
        "langfuse.observation.type",
        "mlflow.spanType",
        "traceloop.span.kind",
        "meta.span.kind",
        "langsmith.span.kind",
    )
    names = ("gen_ai.choice", "gen_ai.user.message", "gen_ai.content.prompt", "note")
    noted = [{"name": n, "attributes": {"message": odd, "content": odd, "gen_ai.prompt": odd}} for n in names]
    rows = []
    for n, (kind, role) in enumerate((k, r) for k in kinds for r in ("llm", "tool", "memory", "agent", "?")):
        rows.append(span(n + 1, 0, n, dict.fromkeys(ODD_KEYS, odd) | {kind: role}, events=noted))
    rows.append(span(200, 0, 1, dict.fromkeys(ODD_KEYS, odd) | {"ai.operationId": "ai.toolCall", "message": "x"}))
    assert any(isinstance(i, Trace) for i in told(rows))


@pytest.mark.parametrize("odd", ODD, ids=repr)
@pytest.mark.parametrize("key", ["input", "output", "metadata", "id", "name", "level", "startTime", "type"])
def test_odd_fields_of_a_row_do_not_stop_an_import(told: Any, odd: Any, key: str) -> None:
    told([observation(1, 0, "GENERATION") | {key: odd}, observation(2, 0, "TOOL", output="b")])
