"""Span backends and dialects: problems that people report, each from a small input, and the public files."""

import base64
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
OTHER = "6c9f0008a9149214e37ac744924fd71d"
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
        "name": more.get("name", ""),
        "context": {"trace_id": "0x" + more.get("trace", TRACE), "span_id": "0x" + sid(n)},
        "parent_id": "0x" + sid(parent) if parent else None,
        "start_time": ISO.format(ms),
        "end_time": ISO.format(ms + 1),
        "status": more.get("status", {"status_code": "UNSET"}),
        "attributes": attributes,
        "events": more.get("events", []),
        "links": [],
        "resource": {"attributes": more.get("resource", {})},
    }


def observation(n: int, parent: int, kind: str, **more: Any) -> dict[str, Any]:
    base = {"id": sid(n), "traceId": TRACE, "parentObservationId": sid(parent) if parent else None, "type": kind}
    return base | {"name": f"o{n}", "startTime": ISO.format(n), "input": None, "output": None, "metadata": None} | more


def texts(items: list[Any], kind: type[Event] | type[Sighting] = Event) -> str:
    return "\n".join(i.content for i in items if isinstance(i, kind))


def events(items: list[Any], *channels: str) -> list[Event]:
    found = [i for i in items if isinstance(i, Event) and i.kind not in REST]
    return sorted((e for e in found if not channels or e.channel in channels), key=lambda e: e.seq or 0)


def losses(items: list[Any]) -> set[str]:
    return {i.kind for i in items if isinstance(i, Loss)}


AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "clerk"}
CHAT = {"gen_ai.operation.name": "chat"}


def said(text: str) -> str:
    return json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": text}]}])


def test_a_mask_of_the_sdk_does_not_clear_other_instrumentations(told: Any) -> None:  # 1, 2
    items = told(
        [
            observation(1, 0, "AGENT", output="<fully masked due to failed mask function>"),
            observation(2, 1, "GENERATION", output="IBAN DE00 1111", metadata={"scope": {"name": "third-party"}}),
        ]
    )
    assert [e.content for e in events(items) if "DE00" in e.content] == ["IBAN DE00 1111"]
    assert "masked" in losses(items)


def test_content_in_metadata_of_an_observation_without_input_is_found(told: Any) -> None:  # 3
    hidden = {"attributes": {"my.payload": {"note": "IBAN DE00 1111"}}}
    items = told([observation(1, 0, "GENERATION", output="ok", metadata=hidden)])
    assert "DE00 1111" in texts(items)


def test_cut_messages_are_kept_and_flagged(told: Any) -> None:  # 4
    cut = '[{"role":"user","content":"My IBAN is DE00 1111 and'
    attributes = {"ai.operationId": "ai.generateText.doGenerate", "ai.prompt.messages": cut, "ai.response.text": "ok"}
    items = told([span(1, 0, 1, attributes)])
    assert "DE00 1111" in texts(items, Sighting)
    assert "truncated" in losses(items)


def test_metadata_as_text_gives_the_same_as_an_object(told: Any, tmp_path: Path) -> None:  # 5
    metadata = {"attributes": {"gen_ai.tool.name": "find"}, "case": "Orr, box 12"}
    forms = (metadata, json.dumps(metadata), json.dumps(json.dumps(metadata)))
    got = [told([observation(1, 0, "TOOL", input="a", output="b", metadata=form)]) for form in forms]
    assert got[0] == got[1] == got[2]
    assert "box 12" in texts(got[0])


def test_orphans_are_kept_and_the_trace_says_that_it_is_incomplete(told: Any) -> None:  # 8
    items = told([span(1, 77, 1, CHAT | {"gen_ai.output.messages": said("kept")})])
    assert "kept" in texts(items)
    assert "orphan" in losses(items)


def test_traces_of_sub_agents_stay_apart_and_name_their_session(told: Any) -> None:  # 9, 25
    session = {"gen_ai.conversation.id": "conv-1"}
    items = told(
        [span(1, 0, 1, AGENT | session | {"gen_ai.output.messages": said("one")})],
        [span(2, 0, 2, AGENT | session | {"gen_ai.output.messages": said("two")}, trace=OTHER)],
    )
    traces = [i for i in items if isinstance(i, Trace)]
    assert {t.id for t in traces} == {TRACE, OTHER}
    assert all((t.attributes or {})["conversation"] == "conv-1" for t in traces)


def test_a_parent_in_another_trace_is_found_and_flagged(told: Any) -> None:  # 10
    items = told([span(1, 0, 1, AGENT), span(2, 1, 2, CHAT | {"gen_ai.output.messages": said("x")}, trace=OTHER)])
    assert "the parent span is in another trace" in {i.detail for i in items if isinstance(i, Loss)}


def test_hex_and_base64_ids_are_one_trace(told: Any) -> None:  # 11
    def envelope(trace: str, me: str, n: int) -> dict[str, Any]:
        attributes = [{"key": "gen_ai.output.messages", "value": {"stringValue": said(f"text {n}")}}]
        row = {"traceId": trace, "spanId": me, "attributes": attributes, "startTimeUnixNano": str(n)}
        return {"resourceSpans": [{"scopeSpans": [{"spans": [row]}]}]}

    trace, me = (base64.b64encode(bytes.fromhex(x)).decode() for x in (TRACE, sid(2)))
    items = told([envelope(TRACE.upper(), sid(1), 1)], [{"trace": envelope(trace, me, 2)}])
    assert {i.id for i in items if isinstance(i, Trace)} == {TRACE}
    assert len(events(items)) == 2


def test_content_that_should_be_off_is_found_in_traceloop_entities(told: Any) -> None:  # 12
    off = {"traceloop.span.kind": "tool", "traceloop.entity.name": "find", "traceloop.entity.output": "DE00 1111"}
    (event,) = events(told([span(1, 0, 1, off)]), "C4")
    assert (event.sender, event.content) == ("find", "DE00 1111")


def test_a_handoff_target_named_unknown_comes_from_the_next_agent(told: Any) -> None:  # 13
    kind = "traceloop.span.kind"
    items = told(
        [
            span(1, 0, 1, {kind: "workflow"}),
            span(2, 1, 2, {kind: "agent", "gen_ai.agent.name": "first", "gen_ai.operation.name": "invoke_agent"}),
            span(3, 2, 3, {"gen_ai.operation.name": "handoff", "gen_ai.handoff.to_agent": "unknown"}),
            span(4, 1, 4, {kind: "agent", "gen_ai.agent.name": "second", "gen_ai.operation.name": "invoke_agent"}),
        ]
    )
    (event,) = events(items, "C2")
    assert event.to == (Delivery("second", "structural"),)
    assert "unknown" not in {i.name for i in items if isinstance(i, Actor)}


SECRET = "DE00-{}-1111"
FIELDS = (
    "name",
    "metadata",
    "tag.tags",
    "llm.tools.0.tool.json_schema",
    "llm.invocation_parameters",
    "gen_ai.tool.definitions",
    "model_request_parameters",
    "user.id",
    "baggage.note",
    "retry.prompt",
    "status",
    "event",
    "exception",
    "resource",
    "plain span",
)


def test_a_secret_in_any_field_is_found(told: Any) -> None:  # 14, 27; section 13 item 10
    s = {field: SECRET.format(n) for n, field in enumerate(FIELDS)}
    attributes: dict[str, Any] = CHAT | {"gen_ai.output.messages": said("fine")}
    attributes |= {f: s[f] for f in ("user.id", "baggage.note")}
    attributes |= {"metadata": json.dumps({"a": json.dumps({"b": s["metadata"]})}), "tag.tags": [s["tag.tags"]]}
    attributes |= {"llm.tools.0.tool.json_schema": json.dumps({"description": s["llm.tools.0.tool.json_schema"]})}
    attributes |= {"llm.invocation_parameters": json.dumps({"stop": [s["llm.invocation_parameters"]]})}
    attributes |= {"gen_ai.tool.definitions": json.dumps([{"description": s["gen_ai.tool.definitions"]}])}
    attributes |= {"model_request_parameters": {"instructions": s["model_request_parameters"]}}
    attributes |= {"retry.prompt": [{"deep": {"er": s["retry.prompt"]}}]}
    noted = [
        {"name": "note", "timestamp": ISO.format(2), "attributes": {"text": s["event"]}},
        {"name": "exception", "timestamp": ISO.format(2), "attributes": {"exception.message": s["exception"]}},
    ]
    status = {"status_code": "ERROR", "description": s["status"]}
    resource = {"process.command_args": ["run", s["resource"]]}
    first = span(1, 0, 1, attributes, name=f"chat {s['name']}", events=noted, status=status, resource=resource)
    items = told([first, span(2, 1, 2, {"db.statement": f"SELECT '{s['plain span']}'"})])
    told_text = texts(items)
    assert [field for field in FIELDS if s[field] not in told_text] == []
    assert all(e.channel == "C6" for e in items if isinstance(e, Event) and "DE00" in e.content)


def test_a_marker_in_one_field_clears_no_other(told: Any) -> None:  # 15
    attributes = CHAT | {"gen_ai.output.messages": said("IBAN DE00 1111"), "note": "[Scrubbed due to 'cookie']"}
    items = told([span(1, 0, 1, attributes)])
    (event,) = [e for e in events(items) if "DE00" in e.content]
    assert event.flags == ()
    assert "masked" in losses(items)


def weave(**more: Any) -> dict[str, Any]:
    base = {"id": sid(1), "trace_id": TRACE, "op_name": "weave:///a/b/op/openai.chat:x", "started_at": ISO.format(1)}
    return base | {"parent_id": None, "inputs": {}, "output": None} | more


def test_a_secret_inside_text_in_a_message_and_in_the_dump_is_found(told: Any) -> None:  # 16
    inner = json.dumps({"password": "hunter-22"})
    dump = {"attributes": {"input": {"key": "tok-551"}}}
    call = weave(inputs={"messages": [{"role": "user", "content": inner}]}, output="fine", otel_dump=dump)
    items = told([call])
    assert "hunter-22" in texts(items, Sighting)
    assert "tok-551" in texts(items)


def test_a_dropped_payload_is_a_loss_and_no_clean_pass(told: Any) -> None:  # 17
    gone = "[This value has been dropped because this span's size exceeds the 5MB size limit.]"
    row = {"span_id": "1234567", "trace_id": TRACE, "span_kind": "llm", "start_ns": 1780000000000, "name": "m"}
    items = told([{"data": [{"attributes": row | {"input": {"value": gone}, "output": {"value": gone}}}]}])
    assert {"dropped", "content_missing"} <= losses(items)
    assert not events(items)


def test_tool_arguments_are_found_where_inputs_are_off(told: Any) -> None:  # 21
    tool = {"ai.operationId": "ai.toolCall", "ai.toolCall.name": "find", "ai.toolCall.args": '{"iban":"DE00 1111"}'}
    items = told([span(1, 0, 1, {"ai.operationId": "ai.generateText"}), span(2, 1, 2, tool)])
    (event,) = events(items, "C3")
    assert "DE00 1111" in event.content


def test_one_model_call_in_four_spans_is_one_disclosure(told: Any) -> None:  # 22
    word = "the code is DE00 1111"
    items = told(
        [
            span(1, 0, 1, {"openinference.span.kind": "CHAIN", "output.value": word}),
            span(2, 1, 2, {"openinference.span.kind": "LLM", "output.value": word}),
            span(3, 2, 3, CHAT | {"gen_ai.output.messages": said(word)}),
            span(4, 3, 4, {"traceloop.span.kind": "llm", "traceloop.entity.output": word}),
        ]
    )
    assert len([e for e in events(items) if word in e.content]) == 1
    assert len([i for i in items if isinstance(i, Sighting) and i.content == word and i.event]) == 3


def test_a_model_call_under_a_model_call_is_not_its_answer(told: Any) -> None:  # 23
    items = told(
        [
            span(1, 0, 1, CHAT | {"gen_ai.output.messages": said("first")}),
            span(2, 1, 2, CHAT | {"gen_ai.output.messages": said("second")}),
        ]
    )
    assert {e.content for e in events(items)} == {"first", "second"}
    assert not events(items, "C2")


def test_nan_and_lone_surrogates_are_imported(told: Any, tmp_path: Path) -> None:  # 24
    good = json.dumps(span(1, 0, 1, CHAT | {"score": 0, "gen_ai.output.messages": said("kept \ud800 text")}))
    path = tmp_path / "nan.jsonl"
    path.write_text(good.replace('"score": 0', '"score": NaN') + "\n", encoding="utf-8")
    items, _ = load(path)
    (event,) = events(items)
    assert event.content.startswith("kept ")
    assert event.content.endswith(" text")


def test_a_child_that_starts_before_its_parent_stays_below_it(told: Any) -> None:  # 28
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find", "gen_ai.tool.call.result": "r"}
    items = told([span(2, 1, 5, tool), span(1, 0, 900, AGENT)])
    (event,) = events(items, "C4")
    assert event.to == (Delivery("clerk", "structural"),)


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
