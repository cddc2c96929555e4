"""LangGraph, LangChain, LangSmith: spellings of messages, sniffing, broken records, and the recorded runs.

The recordings are of three scripted cases (supervisor, swarm, blackboard) and a few single ones; what each agent said
and did is known from their scripts, against which the counts below were checked one by one.
"""

import io
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from earwitness.ingest.langchain.frames import sniff, sniff_update
from earwitness.ingest.langchain.messages import Call, Msg, read_message, read_messages
from earwitness.ingest.langchain.names import containers, handed, is_plumbing, of_metadata, owner
from earwitness.ingest.langchain.reprs import parse_repr
from earwitness.ingest.loader import Loader
from earwitness.ingest.record import Adapter, Place, Record, Source
from earwitness.ingest.registry import adapter_for, find_adapters
from earwitness.reports.canonical import export
from earwitness.schema.case import Case

CANARY = "ACCT-4417-ZX"
GOLDEN = Path(__file__).parent.parent / "golden" / "ingest"
NAMES = {
    "langgraph-stream",
    "langgraph-updates",
    "langgraph-checkpoints",
    "langgraph-sqlite",
    "langchain-events",
    "langchain-callbacks",
    "langchain-log",
    "langchain-messages",
    "langsmith-runs",
}
# Of other adapters, or bytes that were cut when they were written down.
FOREIGN = ("otlp_json", "console_spans", "sqlite_rows", "openai_format")
FILES = ("samples/langgraph/*.jsonl", "samples/langchain/*.jsonl", "samples/obs/langsmith_run/*.json")


def load(*paths: Path) -> tuple[list[dict[str, Any]], list[Source]]:
    with Case() as case:
        sources = Loader(case).load(list(paths))
        out = io.BytesIO()
        export(case, out)
    return [json.loads(line) for line in out.getvalue().splitlines()], sources


def of(items: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [i for i in items if i["type"] == kind]


def channels(items: list[dict[str, Any]]) -> dict[str, int]:
    return dict(sorted(Counter(e["channel"] for e in of(items, "event")).items()))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("content='a b' name='x' tool_calls=[]", {"content": "a b", "name": "x", "tool_calls": []}),
        ("content=\"it's (so\" id='1'", {"content": "it's (so", "id": "1"}),
        (r"content='a \' b' id='1'", {"content": "a ' b", "id": "1"}),
        ("content=[{'type': 'text', 'text': 'a'}] id='1'", {"content": [{"type": "text", "text": "a"}], "id": "1"}),
        ("content='cut off", None),
        ("content=<object at 0x1>", None),
        (
            "Command(goto='x', update={'a': [F(b=1)]})",
            {"__call__": "Command", "goto": "x", "update": {"a": [{"__call__": "F", "b": 1}]}},
        ),
        ("Send(node='w', arg=__import__('os').getcwd())", {"__call__": "Send", "node": "w", "arg": None}),
        ("Hello (you)", None),
        ("plain text", None),
    ],
)
def test_python_repr_is_read_as_data(text: str, expected: object) -> None:
    assert parse_repr(text) == expected


CALL = Call("find", '{"a":1}', "c1")
AI = Msg(role="ai", text="Hi", calls=(CALL,), id="m1", name="desk")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (
            {
                "type": "ai",
                "content": "Hi",
                "id": "m1",
                "name": "desk",
                "tool_calls": [{"name": "find", "args": {"a": 1}, "id": "c1"}],
            },
            AI,
        ),
        (
            {
                "type": "ai",
                "data": {
                    "content": "Hi",
                    "id": "m1",
                    "name": "desk",
                    "tool_calls": [{"name": "find", "args": {"a": 1}, "id": "c1"}],
                },
            },
            AI,
        ),
        (
            {
                "lc": 1,
                "type": "constructor",
                "id": ["langchain", "schema", "messages", "AIMessage"],
                "kwargs": {
                    "content": "Hi",
                    "type": "ai",
                    "id": "m1",
                    "name": "desk",
                    "tool_calls": [{"name": "find", "args": {"a": 1}, "id": "c1"}],
                },
            },
            AI,
        ),
        (
            {
                "role": "assistant",
                "content": "Hi",
                "id": "m1",
                "name": "desk",
                "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"a": 1}'}}],
            },
            AI,
        ),
        (
            "content='Hi' additional_kwargs={} response_metadata={} name='desk' id='m1' "
            "tool_calls=[{'name': 'find', 'args': {'a': 1}, 'id': 'c1', 'type': 'tool_call'}]",
            AI,
        ),
        (
            {"type": "ai", "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Hi"}]},
            Msg(role="ai", text="Hi", thoughts=("hm",)),
        ),
        (
            {"type": "ai", "content": [{"type": "tool_use", "id": "c1", "name": "find", "input": {"a": 1}}]},
            Msg(role="ai", calls=(CALL,)),
        ),
        (
            {"type": "ai", "content": "Hi", "additional_kwargs": {"reasoning_content": "hm"}},
            Msg(role="ai", text="Hi", thoughts=("hm",)),
        ),
        (
            {"type": "tool", "content": "r", "tool_call_id": "c1", "name": "find", "status": "error"},
            Msg(role="tool", text="r", name="find", call_id="c1", failed=True),
        ),
        ("content='r' name='find' tool_call_id='c1'", Msg(role="tool", text="r", name="find", call_id="c1")),
        ({"type": "unknown", "content": "r"}, None),
        ({"type": "text", "content": "r"}, None),
        ({"content": "r"}, None),
        ("a text", None),
        (None, None),
    ],
)
def test_messages_of_every_spelling_are_one_message(value: object, expected: Msg | None) -> None:
    assert read_message(value) == expected


def test_injected_state_is_no_argument_of_a_tool() -> None:
    args: dict[str, Any] = {"q": "x", "state": {"messages": []}, "tool_call_id": "c1", "runtime": "<R>", "store": None}
    found = read_messages({"type": "ai", "content": "", "tool_calls": [{"name": "t", "args": args, "id": "c1"}]})
    assert found[0].calls[0].arguments == '{"q":"x"}'


def test_a_state_that_is_an_argument_stays() -> None:
    found = read_messages({"type": "ai", "content": "", "tool_calls": [{"name": "t", "args": {"state": "Ohio"}}]})
    assert found[0].calls[0].arguments == '{"state":"Ohio"}'


def test_names_come_from_what_is_no_plumbing() -> None:
    assert owner("lead:1|worker:2|tools:3") == "worker"
    assert owner(["tools:1", "model:2"]) is None
    assert containers("lead:1|worker:2|tools:3") == [("lead", "worker")]
    assert of_metadata({"lc_agent_name": "a", "langgraph_checkpoint_ns": "b:1"}) == "a"
    assert of_metadata({"langgraph_checkpoint_ns": "b:1|agent:2", "langgraph_node": "agent"}) == "b"
    assert of_metadata({"langgraph_node": "model"}) is None
    assert is_plumbing("PatchToolCallsMiddleware.before_agent")
    assert not is_plumbing("booking_agent")
    assert handed("transfer_to_CRM Worker") == "crm_worker"
    assert handed("transfer_back_to_lead") == "lead"
    assert handed("transfer_money") is None


@pytest.mark.parametrize(
    "value",
    [
        {"event": "message_start", "data": {"type": "message_start"}, "id": None},
        {"event": "error", "data": {"type": "error"}, "id": None},
        {"event": "metadata", "data": {"model": "x"}},
        {"type": "updates", "data": {}},
        {"type": "debug", "message": "x"},
        {"type": "task", "payload": {}},
        {"ns": "x", "data": {}},
        {"type": "event", "method": "GET", "params": {}},
        ["a", "b"],
        ["2026-01-05", "INFO", "text"],
        [[], "text", {}],
        {"type": [], "ns": [], "data": {}},
        None,
        7,
    ],
)
def test_records_of_others_are_no_stream(value: object) -> None:
    assert not sniff(value)


def test_a_bare_update_is_one_node() -> None:
    assert sniff_update({"planner": None})
    assert not sniff_update({"a": 1})
    assert not sniff_update({"a": {}, "b": {}})
    assert not sniff_update({"https://x/y": {}})


def test_weak_updates_alone_are_unknown(tmp_path: Path) -> None:
    path = tmp_path / "counts.jsonl"
    path.write_text('{"totals": {"a": 1}}\n{"totals": {"a": 2}}\n', encoding="utf-8")
    items, [source] = load(path)
    assert source.outcomes == {"unknown": 2, "mapped": 0}
    assert items == []


def test_the_same_thread_in_two_files_is_two_traces(tmp_path: Path) -> None:
    text = (GOLDEN / "langgraph-stream" / "v1_subgraphs.in.jsonl").read_text(encoding="utf-8")
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text(text, encoding="utf-8")
    items, _ = load(tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    assert [t["id"] for t in of(items, "trace")] == ["trip-9", "trip-9@b.jsonl"]


def test_a_trace_of_runs_may_be_spread_over_files(tmp_path: Path) -> None:
    lines = (GOLDEN / "langsmith-runs" / "rows.in.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "a.jsonl").write_text("".join(lines[:3]), encoding="utf-8")
    (tmp_path / "b.jsonl").write_text("".join(lines[3:]), encoding="utf-8")
    whole, _ = load(GOLDEN / "langsmith-runs" / "rows.in.jsonl")
    parts, _ = load(tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    assert channels(parts) == channels(whole)
    assert len(of(parts, "trace")) == 1


def test_a_refused_handoff_was_not_delivered(tmp_path: Path) -> None:
    call = {"name": "transfer_to_vault", "args": {}, "id": "c1", "type": "tool_call"}
    ai = {"type": "ai", "content": "", "name": "desk", "id": "m1", "tool_calls": [call], "response_metadata": {}}
    no = {
        "type": "tool",
        "content": "Error: not allowed",
        "name": "transfer_to_vault",
        "id": "t1",
        "tool_call_id": "c1",
    }
    path = tmp_path / "u.jsonl"
    rows = [{"desk": {"messages": [ai]}}, {"tools": {"messages": [{**no, "status": "error"}]}}]
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    items, _ = load(path)
    [event] = of(items, "event")
    assert event["kind"] == "handoff_request"
    assert event["flags"] == ["not_delivered"]
    assert "to" not in event


JUNK: list[Any] = [
    None,
    1,
    True,
    "",
    "x",
    [],
    {},
    [1],
    [[]],
    {"a": 1},
    {"messages": 1},
    {"lc": 1, "id": []},
    "content='x",
]


def broken(value: Any, rng: random.Random) -> Any:
    if rng.random() < 0.06:
        return rng.choice(JUNK)
    if isinstance(value, dict):
        return {k: broken(v, rng) for k, v in value.items() if rng.random() > 0.02}
    return [broken(v, rng) for v in value] if isinstance(value, list) else value


class Lone:
    """A context that has seen nothing."""

    name, stem, jobs = "x.jsonl", "x", 1

    def __init__(self) -> None:
        self.seen: set[tuple[str | bytes, ...]] = set()

    def claim(self, *key: str | bytes) -> bool:
        fresh = key not in self.seen
        self.seen.add(key)
        return fresh


def mine() -> Iterator[Adapter]:
    return (a for a in find_adapters() if a.NAME in NAMES)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", sorted(NAMES))
def test_broken_records_are_reported_and_never_raise(name: str, seed: int) -> None:
    rng = random.Random(seed)
    adapter = next(a for a in mine() if name == a.NAME)
    for path in sorted((GOLDEN / name).glob("*.in.jsonl")):
        reader = adapter.open(Lone())
        for n, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
            value = broken(json.loads(line), rng)
            assert all(isinstance(other.sniff(value), bool) for other in mine())
            if adapter.sniff(value):
                list(reader.feed(Record(value, Place(n + 1, 0, 1))))
        list(reader.finish())


@pytest.mark.parametrize(
    "path", sorted(p for n in NAMES for p in (GOLDEN / n).glob("*.in.jsonl")), ids=lambda p: p.name
)
def test_no_other_adapter_takes_the_samples(path: Path) -> None:
    for line in path.read_text(encoding="utf-8").splitlines():
        adapter = adapter_for(json.loads(line))
        assert adapter is not None
        assert path.parent.name == adapter.NAME


SUPERVISOR = {"C1": 1, "C2": 6, "C3": 3, "C4": 3, "C6": 3}
SWARM = {"C1": 1, "C2": 2, "C3": 2, "C4": 2, "C6": 2}
SUBAGENTS = {"C1": 1, "C2": 4, "C3": 3, "C4": 3, "C6": 2}
BOARD_RUNS = {"C1": 1, "C2": 1, "C3": 1, "C4": 1, "C5": 2}
OUTER = {"C1": 1, "C2": 3, "C6": 1}
# File, events by channel, events that hold the canary. Of the supervisor these are five: the lookup's result, the
# note that was saved, the worker's answer, the note that was loaded, the lead's answer. A sixth, the write to the
# store itself, is in no recording.
EXPECTED: list[tuple[str, dict[str, int], int]] = [
    ("langgraph/supervisor.stream_v1_updates_messages_custom_values.jsonl", SUPERVISOR, 5),
    ("langgraph/supervisor.stream_v1_debug.jsonl", SUPERVISOR, 5),
    ("langgraph/supervisor.stream_v2_tasks_checkpoints.jsonl", SUPERVISOR, 5),
    ("langgraph/supervisor.langgraph_server_sse.jsonl", SUPERVISOR, 5),
    ("langgraph/supervisor.checkpoint_list.jsonl", SUPERVISOR, 5),
    ("langgraph/supervisor.astream_events_v1.jsonl", SUPERVISOR, 5),
    ("langgraph/supervisor.astream_events_v2.jsonl", SUPERVISOR, 5),
    ("langgraph/supervisor.callback_handler.jsonl", SUPERVISOR, 5),
    ("langgraph/supervisor.langsmith_list_runs_model_dump.jsonl", SUPERVISOR, 5),
    # In this one the lookup was called without arguments and failed.
    ("langgraph/supervisor.astream_events_v3.jsonl", SUPERVISOR, 4),
    ("langgraph/supervisor.stream_updates_only_defaultstr.jsonl", OUTER, 1),
    ("langgraph/supervisor.get_state_history.jsonl", OUTER, 1),
    ("langgraph/supervisor.langgraph_server_thread_history.jsonl", OUTER, 1),
    ("langgraph/supervisor.run_collector_nested.jsonl", OUTER, 1),
    ("langgraph/swarm.stream_v1_updates_messages_custom_values.jsonl", SWARM, 3),
    ("langgraph/swarm.stream_v1_debug.jsonl", SWARM, 3),
    ("langgraph/swarm.stream_v2_tasks_checkpoints.jsonl", SWARM, 3),
    ("langgraph/swarm.stream_updates_only_defaultstr.jsonl", SWARM, 3),
    ("langgraph/swarm.get_state_history.jsonl", SWARM, 3),
    ("langgraph/swarm.checkpoint_list.jsonl", SWARM, 3),
    ("langgraph/swarm.astream_events_v2.jsonl", SWARM, 3),
    ("langgraph/blackboard.langsmith_list_runs_model_dump.jsonl", BOARD_RUNS, 3),
    ("langgraph/blackboard.langsmith_multipart_wire.jsonl", BOARD_RUNS, 3),
    ("langgraph/blackboard.astream_events_v2.jsonl", BOARD_RUNS, 3),
    ("langgraph/blackboard.stream_v1_debug.jsonl", {"C1": 1, "C2": 2, "C5": 2}, 2),
    ("langgraph/blackboard.stream_v2_tasks_checkpoints.jsonl", {"C1": 1, "C2": 2, "C5": 2}, 2),
    ("langgraph/blackboard.checkpoint_list.jsonl", {"C1": 1, "C2": 2, "C5": 2}, 2),
    ("langgraph/blackboard.get_state_history.jsonl", {"C1": 1, "C2": 1, "C5": 2}, 2),
    ("langgraph/blackboard.stream_updates_only_defaultstr.jsonl", {"C1": 1, "C2": 1, "C5": 2}, 2),
    (
        "langgraph/blackboard.stream_v1_updates_messages_custom_values.jsonl",
        {"C1": 1, "C2": 1, "C5": 2, "C6": 1},
        2,
    ),
    (
        "langgraph/deepagents.stream_v1_updates_tasks.jsonl",
        {"C1": 1, "C2": 2, "C3": 4, "C4": 4, "C6": 1, "C7": 1},
        5,
    ),
    ("langgraph/parallel_interrupt.stream_v1_updates_tasks.jsonl", {"C1": 1, "C2": 2, "C5": 3}, 3),
    ("langchain/subagent_tools.callback_handler.jsonl", SUBAGENTS, 5),
    ("langchain/subagent_tools.langsmith_list_runs_model_dump.jsonl", SUBAGENTS, 5),
    ("langchain/subagent_tools.langsmith_multipart_wire.jsonl", SUBAGENTS, 5),
    ("langchain/subagent_tools.final_messages_model_dump.jsonl", {"C1": 1, "C3": 1, "C4": 1, "C6": 1}, 1),
    ("langchain/subagent_tools.final_messages_messages_to_dict.jsonl", {"C1": 1, "C3": 1, "C4": 1, "C6": 1}, 1),
    ("langchain/agent_executor_classic.callback_handler.jsonl", {"C1": 1, "C3": 1, "C4": 1, "C6": 1}, 2),
    ("langchain/agent_executor_classic.result.jsonl", {"C1": 1, "C3": 1, "C4": 1, "C6": 1}, 2),
]


@pytest.mark.real
@pytest.mark.parametrize(("name", "expected", "canaries"), EXPECTED, ids=lambda v: v if isinstance(v, str) else "")
def test_recorded_runs_give_what_was_said_and_done(
    name: str, expected: dict[str, int], canaries: int, shared: Callable[[str], list[Path]]
) -> None:
    items, _ = load(*shared(f"samples/{name}"))
    assert channels(items) == expected
    assert sum(CANARY in e["content"] for e in of(items, "event")) == canaries


@pytest.mark.real
@pytest.mark.parametrize("pattern", FILES)
def test_every_recording_is_accounted_for(pattern: str, shared: Callable[[str], list[Path]]) -> None:
    for path in shared(pattern):
        if any(word in path.name for word in FOREIGN):
            continue
        items, [source] = load(path)
        assert source.problem is None
        assert sum(source.outcomes.values()) == source.records > 0
        assert source.outcomes.keys() <= {"mapped", "ignored"}
        assert source.dialects.keys() <= NAMES
        assert of(items, "event")
        assert not {"unknown", "none", ""} & {a["name"].lower() for a in of(items, "actor")}


@pytest.mark.real
def test_every_recipient_of_the_supervisor_is_known(shared: Callable[[str], list[Path]]) -> None:
    items, _ = load(*shared("samples/langgraph/supervisor.astream_events_v2.jsonl"))
    names = {a["name"]: a for a in of(items, "actor")}
    assert names["research_lead"]["aliases"] == ["research_supervisor"]
    told = [(e["sender"], t["actor"]) for e in of(items, "event") if e["kind"] == "answer" for t in e["to"]]
    assert told == [("crm_worker", "research_lead"), ("research_lead", "coordinator")]
    handed_to = [(e["sender"], e["to"]) for e in of(items, "event") if e["kind"] == "handoff"]
    assert handed_to == [("coordinator", ["research_lead"]), ("research_lead", ["crm_worker"])]
    [final] = [e for e in of(items, "event") if e["channel"] == "C1"]
    assert CANARY not in final["content"]


@pytest.mark.real
@pytest.mark.parametrize("kind", ["stream_updates_only_defaultstr", "get_state_history"])
def test_what_a_recording_cannot_show_is_said(kind: str, shared: Callable[[str], list[Path]]) -> None:
    items, _ = load(*shared(f"samples/langgraph/supervisor.{kind}.jsonl"))
    [trace] = of(items, "trace")
    assert trace["observable"] == ["C1", "C2"]
    missing = {loss["channel"] for loss in of(items, "loss") if loss["kind"] == "content_missing"}
    assert missing == {"C3", "C4", "C5", "C6"}


def test_a_bulk_export_is_parquet_with_json_in_it(tmp_path: Path) -> None:
    rows = []
    for line in (GOLDEN / "langsmith-runs" / "rows.in.jsonl").read_text(encoding="utf-8").splitlines()[:8]:
        row = json.loads(line)
        texts = {key: json.dumps(row[key]) for key in ("inputs", "outputs", "extra", "events", "serialized")}
        start, end = (datetime.fromisoformat(row[key]) for key in ("start_time", "end_time"))
        rows.append({**row, **texts, "tags": None, "start_time": start, "end_time": end})
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "runs.parquet", compression="zstd")
    items, [source] = load(tmp_path / "runs.parquet")
    whole, _ = load(GOLDEN / "langsmith-runs" / "rows.in.jsonl")
    assert source.outcomes == {"mapped": 8}
    assert channels(items) == channels(whole)
    assert [e.get("time") for e in of(items, "event")] == [e.get("time") for e in of(whole, "event")]


def test_a_state_key_named_output_is_told_as_it_is(tmp_path: Path) -> None:
    node = {"langgraph_node": "writer", "langgraph_checkpoint_ns": "writer:1", "thread_id": "t"}
    base = {"name": "writer", "run_id": "r1", "parent_ids": ["r0"], "metadata": node}
    state = {"output": {"role": "user", "content": "P-1"}, "score": 3}
    rows = [
        {
            "event": "on_chain_start",
            "name": "g",
            "run_id": "r0",
            "parent_ids": [],
            "metadata": {},
            "data": {"input": {}},
        },
        {"event": "on_chain_start", **base, "data": {"input": {}}},
        {"event": "on_chain_end", **base, "data": {"output": state}},
    ]
    path = tmp_path / "e.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    items, _ = load(path)
    told = {e["to"][0]: e["content"] for e in of(items, "event") if e["channel"] == "C5"}
    assert told == {"output": '{"role":"user","content":"P-1"}', "score": "3"}


def human(text: str, name: str | None = None, message_id: str = "h1") -> dict[str, Any]:
    return {"type": "human", "content": text, "name": name, "id": message_id, "additional_kwargs": {}}


def write(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    return path


def test_a_human_message_that_an_agent_signs_is_the_agent_speaking(tmp_path: Path) -> None:
    said: dict[str, Any] = {
        "type": "ai",
        "content": "It is P-1.",
        "name": None,
        "id": "m1",
        "tool_calls": [],
        "response_metadata": {},
    }
    rows = [
        {"ns": ["finder:1"], "mode": "updates", "data": {"agent": {"messages": [said]}}},
        {"ns": [], "mode": "updates", "data": {"finder": {"messages": [human("It is P-1.", "finder", "m2")]}}},
        {"ns": [], "mode": "values", "data": {"messages": [human("Find it."), human("It is P-1.", "finder", "m2")]}},
    ]
    items, _ = load(write(tmp_path / "s.jsonl", rows))
    [event] = of(items, "event")
    assert (event["channel"], event["sender"], event["content"]) == ("C1", "finder", "It is P-1.")
    assert [s["content"] for s in of(items, "sighting")] == ["Find it."]


def test_partial_messages_of_a_server_grow_and_are_told_once(tmp_path: Path) -> None:
    meta = [{"event": "metadata", "data": {"run_id": "r1"}, "id": None}]
    parts = [
        {"event": "messages/partial", "id": None, "data": [{"type": "ai", "content": text, "id": "m1"}]}
        for text in ("It", "It is", "It is P-1.")
    ]
    items, _ = load(write(tmp_path / "s.jsonl", meta + parts))
    assert [e["content"] for e in of(items, "event")] == ["It is P-1."]


def test_a_task_that_starts_again_was_sent_once(tmp_path: Path) -> None:
    task = {"id": "t1", "name": "finder", "input": {"who": "Kim"}, "triggers": ["__pregel_push"]}
    items, _ = load(write(tmp_path / "s.jsonl", [{"ns": [], "mode": "tasks", "data": task}] * 2))
    assert [e["kind"] for e in of(items, "event")] == ["send"]


def test_a_delegating_tool_with_a_run_below_it_is_no_handoff(tmp_path: Path) -> None:
    text = (GOLDEN / "langsmith-runs" / "rows.in.jsonl").read_text(encoding="utf-8")
    path = tmp_path / "r.jsonl"
    path.write_text(text.replace("ask_booker", "delegate_to_booker"), encoding="utf-8")
    items, _ = load(path)
    kinds = [(e["kind"], e["sender"], e["to"][0]["actor"]) for e in of(items, "event") if e["channel"] == "C2"]
    assert kinds == [("delegation", "planner", "booker"), ("answer", "booker", "planner")]


@pytest.mark.real
def test_state_inside_of_framework_objects_is_seen(shared: Callable[[str], list[Path]]) -> None:
    items, _ = load(*shared("samples/langgraph/v0.3.supervisor.stream_v1_updates_debug.jsonl"))
    found = [s for s in of(items, "sighting") if CANARY in s["content"]]
    assert [(s["kind"], s.get("actor")) for s in found] == [("state", None)]


@pytest.mark.real
@pytest.mark.parametrize("name", ["supervisor", "swarm", "blackboard"])
def test_events_of_the_server_are_those_of_the_library(
    name: str, tmp_path: Path, shared: Callable[[str], list[Path]]
) -> None:
    [path] = shared(f"samples/langgraph/{name}.astream_events_v2.jsonl")
    [beside] = shared(f"samples/langgraph/{name}.stream_v1_updates_messages_custom_values.jsonl")
    events = [{"event": "events", "data": json.loads(line)} for line in path.read_text(encoding="utf-8").splitlines()]
    frames = [json.loads(line) for line in beside.read_text(encoding="utf-8").splitlines()]
    copies = [{"event": "|".join((f["mode"], *f["ns"])), "data": f["data"]} for f in frames]
    sse = "".join(f"event: {e['event']}\ndata: {json.dumps(e['data'])}\nid: {n}\n\n" for n, e in enumerate(events))
    (tmp_path / "x.txt").write_text(sse, encoding="utf-8")
    mixed = [{"id": None, **record} for record in (events[0], *copies, *events[1:])]
    (tmp_path / "y.jsonl").write_text("".join(json.dumps(r) + "\n" for r in mixed), encoding="utf-8")
    expected = Counter(told(load(path)[0]))
    assert Counter(told(load(tmp_path / "x.txt")[0])) == expected
    extra = Counter(told(load(tmp_path / "y.jsonl")[0])) - expected
    assert not expected - Counter(told(load(tmp_path / "y.jsonl")[0]))
    assert {channel for channel, *_ in extra} <= {"C6"}  # the custom stream


def told(items: list[dict[str, Any]]) -> Iterator[tuple[Any, ...]]:
    for e in of(items, "event"):
        yield e["channel"], e.get("kind"), e.get("sender"), json.dumps(e.get("to")), e["content"]


def test_settings_of_other_programs_are_no_updates(tmp_path: Path) -> None:
    """What might be a step of a graph, in a file without any message, is of no format that is known."""
    path = tmp_path / "settings.json"
    path.write_text('{"permissions": {"allow": ["read"], "deny": []}}')
    with Case() as case:
        (source,) = Loader(case).load([path])
    assert (source.dialects, source.outcomes) == ({}, {"unknown": 1, "mapped": 0})
