"""Which channels a trace can show: by scope, by dialect, by what was met."""

import json
from pathlib import Path
from typing import Any

import pytest

from earwitness.audit.pipeline import Request, audit
from earwitness.ingest.loader import Loader
from earwitness.reports.summary import notes
from earwitness.schema.case import Case
from earwitness.schema.policy import Policy, PolicyValue

ALL = None
NO_STORES = ["C1", "C2", "C3", "C4", "C6"]
NO_MEMORY = ["C1", "C2", "C3", "C4", "C6", "C7"]
SAID = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "All is well."}]}])
CHAT = {"gen_ai.operation.name": "chat", "gen_ai.agent.name": "desk", "gen_ai.output.messages": SAID}
ASKED = {"openinference.span.kind": "LLM", "output.value": "All is well."}
TRACE = "7c3e5f8a90b14d26a1c2d3e4f5061728"


def span(number: int, attributes: dict[str, Any], **more: Any) -> dict[str, Any]:
    rows = [{"key": k, "value": {"stringValue": v}} for k, v in attributes.items()]
    start = {"startTimeUnixNano": str(1780000000000000000 + number), "endTimeUnixNano": str(1780000000000000900)}
    return {"traceId": TRACE, "spanId": f"a1b2c3d4e5f6010{number}", "attributes": rows, "name": "step", **start, **more}


def load(folder: Path, *spans: dict[str, Any], scope: str | None = None) -> Case:
    path = folder / "spans.jsonl"
    about = {"scope": {"name": scope}} if scope else {}
    path.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{**about, "spans": list(spans)}]}]}) + "\n")
    case = Case()
    assert [s.problem for s in Loader(case).load([path])] == [None]
    return case


def observable(case: Case) -> Any:
    return case.one("SELECT observable FROM traces")


@pytest.mark.parametrize(
    ("scope", "attributes", "channels"),
    [
        (None, CHAT, ALL),
        ("opentelemetry.instrumentation.openai_v2", CHAT, ALL),
        ("gcp.vertex.agent", CHAT, NO_STORES),
        ("openinference.instrumentation.google_adk", ASKED, NO_STORES),
        ("opentelemetry.instrumentation.openai_agents", CHAT, NO_STORES),
        ("openinference.instrumentation.langchain", ASKED, NO_STORES),
        ("autogen-core", CHAT, NO_STORES),
        ("autogen SingleThreadedAgentRuntime", CHAT, NO_STORES),
        ("openinference.instrumentation.autogen_agentchat", ASKED, NO_STORES),
        ("opentelemetry.instrumentation.ag2", CHAT, NO_STORES),
        ("semantic_kernel.utils.telemetry.agent_diagnostics.decorators", CHAT, NO_STORES),
        ("agent_runtime InProcessRuntime", CHAT, NO_STORES),
        ("openinference.instrumentation.llama_index", ASKED, NO_STORES),
        ("openinference.instrumentation.crewai", ASKED, NO_STORES),
        ("openinference.instrumentation.agno", ASKED, NO_MEMORY),
        (None, ASKED, NO_MEMORY),
        (None, {**ASKED, "crew_key": "k"}, NO_STORES),
        (None, {**ASKED, "gcp.vertex.agent.event_id": "e-1"}, NO_STORES),
        (None, {**CHAT, "gen_ai.system": "autogen"}, NO_STORES),
        (None, {"traceloop.span.kind": "agent", "traceloop.entity.output": "All is well."}, NO_STORES),
        (None, {"gen_ai.completion.0.content": "All is well."}, NO_STORES),
        (None, {"ai.operationId": "ai.generateText", "ai.response.text": "All is well."}, NO_MEMORY),
        (None, {"agent_name": "desk", "final_result": "All is well."}, NO_MEMORY),
        (None, {"langfuse.observation.type": "GENERATION", "langfuse.observation.output": "All is well."}, NO_MEMORY),
        (None, {"mlflow.spanType": "CHAT_MODEL", "mlflow.spanOutputs": "All is well."}, ALL),
    ],
)
def test_by_scope_and_dialect(
    tmp_path: Path, scope: str | None, attributes: dict[str, Any], channels: list[str] | None
) -> None:
    with load(tmp_path, span(1, attributes), scope=scope) as case:
        assert observable(case) == channels


def test_what_was_met_can_be_seen(tmp_path: Path) -> None:
    kept = {"gen_ai.operation.name": "upsert_memory", "gen_ai.memory.store.id": "notes", "gen_ai.memory.records": "x"}
    with load(tmp_path, span(1, CHAT), span(2, kept), scope="gcp.vertex.agent") as case:
        assert observable(case) == ["C1", "C2", "C3", "C4", "C5", "C6"]


def test_logs_alone_do_not_show_who_is_spoken_to(tmp_path: Path) -> None:
    body = {"kvlistValue": {"values": [{"key": "content", "value": {"stringValue": "All is well."}}]}}
    row = {"timeUnixNano": "1780000000000000000", "traceId": TRACE, "spanId": "a1b2c3d4e5f60101", "body": body}
    row["eventName"] = "gen_ai.choice"
    path = tmp_path / "logs.jsonl"
    path.write_text(json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": [row]}]}]}) + "\n")
    with Case() as case:
        Loader(case).load([path])
        assert case.rows("SELECT observable, kind FROM traces JOIN events USING (trace)") == [
            (["C1", "C3", "C4", "C6"], "final")
        ]


def test_what_one_source_can_show_its_trace_can(tmp_path: Path) -> None:
    lines = [{"type": "trace", "id": "t", "observable": [c]} for c in ("C4", "C1")]
    paths = [tmp_path / f"{n}.jsonl" for n in range(2)]
    for path, line in zip(paths, lines, strict=True):
        said = {"type": "event", "trace": "t", "channel": "C1", "content": path.name}
        path.write_text(json.dumps(line) + "\n" + json.dumps(said) + "\n")
    with Case() as case:
        Loader(case).load(paths)
        assert observable(case) == ["C1", "C4"]


def test_a_difference_of_clocks_is_reported(tmp_path: Path) -> None:
    late = {**span(1, CHAT), "startTimeUnixNano": "1780000090000000000"}
    early = span(2, CHAT, parentSpanId="a1b2c3d4e5f60101")
    with load(tmp_path, late, early) as case:
        assert case.one("SELECT attributes->>'$.clock_skew_ns' FROM traces") == "89999999998"
        audit(case, Request(policy=Policy(values=(PolicyValue(attribute="pass", value="NV-9931-XK"),))))
        assert any("clocks differ" in note and ": 1." in note for note in notes(case))


def test_what_rounding_can_do_is_no_difference_of_clocks(tmp_path: Path) -> None:
    late = {**span(1, CHAT), "startTimeUnixNano": "1780000000900000000"}
    with load(tmp_path, late, span(2, CHAT, parentSpanId="a1b2c3d4e5f60101")) as case:
        assert case.one("SELECT attributes->>'$.clock_skew_ns' FROM traces") is None
