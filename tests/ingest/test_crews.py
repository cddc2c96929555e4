"""CrewAI, LlamaIndex, Claude Code, Codex and managed sessions: public recordings, and counts made from them by hand.

The recorded cases: coordinator -> sub_coordinator -> worker; `lookup_customer` returns a card number (the canary), the
worker writes it into a shared memory, and the final answer does not hold it.
"""

import io
import json
import sqlite3
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from earwitness.ingest.chronicle import Chronicle, base_name, name_of, text_of
from earwitness.ingest.claude_code.entries import content_of, entry_of, kept_of, session_of
from earwitness.ingest.codex.items import items_of, says
from earwitness.ingest.crewai.facts import KEPT, unquote
from earwitness.ingest.crewai.telling import _Teller
from earwitness.ingest.loader import Loader
from earwitness.ingest.record import Place, Source
from earwitness.ingest.registry import find_adapters
from earwitness.ingest.toolkinds import tool_kind
from earwitness.reports.canonical import export
from earwitness.schema.case import Case
from earwitness.schema.model import Event, Sighting

CANARY = "4000-1234-5678-9010"
HERE = Place(1, 0, 10)
MINE = {
    "anthropic-managed",
    "claude-code",
    "codex-rollout",
    "crewai-checkpoint",
    "crewai-events",
    "crewai-log",
    "crewai-output",
    "crewai-tables",
    "llamaindex-context",
    "llamaindex-instrumentation",
    "llamaindex-stream",
}
Find = Callable[[str], list[Path]]


class Imported(NamedTuple):
    sources: list[Source]
    items: list[dict[str, Any]]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [i for i in self.items if i["type"] == kind]

    def channels(self) -> dict[str, int]:
        return dict(sorted(Counter(e["channel"] for e in self.of("event")).items()))

    def produced(self, text: str = CANARY) -> list[tuple[str, str | None, tuple[str, ...]]]:
        """Channel, sender and named recipients of the events that hold a text."""
        found = sorted((e for e in self.of("event") if text in e["content"]), key=lambda e: (e["trace"], e["seq"]))
        return [(e["channel"], e.get("sender"), _named(e)) for e in found]


def _named(event: dict[str, Any]) -> tuple[str, ...]:
    """Recipients but those that only consumed it later, which the core adds."""
    to = [(d, "declared") if isinstance(d, str) else (d["actor"], d.get("grade")) for d in event.get("to", [])]
    return tuple(name for name, grade in to if grade != "consumed")


def load(*paths: Path) -> Imported:
    with Case() as case:
        sources = Loader(case).load(list(paths))
        out = io.BytesIO()
        export(case, out)
    return Imported(sources, [json.loads(line) for line in out.getvalue().splitlines()])


def write(folder: Path, name: str, *lines: Any) -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_nobody_is_called_unknown() -> None:
    assert [name_of(n) for n in (None, 7, " ", "None", "unknown", " a ")] == [None, None, None, None, None, "a"]


def test_a_run_is_called_by_the_last_part_of_its_file() -> None:
    assert [base_name(n) for n in ("/a/b.json", "a.zip!c/d.jsonl", "c:\\x\\y.jsonl")] == [
        "b.json",
        "d.jsonl",
        "y.jsonl",
    ]


def test_content_of_any_type_is_text() -> None:
    assert [text_of(v) for v in ("a", None, {"k": "é"}, [1])] == ["a", "", '{"k":"é"}', "[1]"]


def test_a_copy_is_told_once_an_actor_and_never_to_its_author() -> None:
    book = Chronicle("t")
    made = [*book.event(HERE, "C2", "The pin is 4711.", sender="a", to=("b",), id="m")]
    made += [*book.shown(HERE, "a", "The pin  is 4711."), *book.shown(HERE, "b", "The pin is 4711.")]
    made += [*book.shown(HERE, "b", "the pin is 4711."), *book.event(HERE, "C2", "  ", sender="a")]
    steps = [m.item for m in made if isinstance(m.item, Event | Sighting)]
    assert [(type(s).__name__, s.seq) for s in steps] == [("Event", 0), ("Sighting", 1)]


@pytest.mark.parametrize(
    ("written", "meant"),
    [("'worker'", "worker"), ("worker", "worker"), ("'it''s", "'it''s"), ('"a\\nb"', "a\nb"), ("'", "'"), (None, "")],
)
def test_reprs_of_deep_leaves_are_unquoted(written: object, meant: str) -> None:
    assert unquote(written) == meant


@pytest.mark.parametrize(
    ("tool", "channels"),
    [
        ("shared_memory", ("C5", "C5")),
        ("memory_write", ("C5", "C5")),
        ("write_artifact", ("C7", "C4")),
        ("save_report", ("C7", "C4")),
        ("lookup_customer", ("C3", "C4")),
        ("memorise", ("C3", "C4")),
    ],
)
def test_memories_and_files_show_by_the_names_of_tools(tool: str, channels: tuple[str, str]) -> None:
    assert tool_kind(tool)[:2] == channels


JUNK: list[Any] = [
    None,
    7,
    "x",
    [],
    [1, 2],
    ["client.beta", {}],
    {},
    {"_line": "x"},
    {"type": 3},
    {"type": ["a"], "timestamp": 1, "payload": {}},
    {"data": [None]},
    {"data": []},
    {"result": 1, "type": {}},
    {"result": {"response": {}}},
    {"value": 1, "qualified_name": 2},
    {"state": [], "workers": 1, "version": 2},
    {"_table": ["a"]},
    {"event_record": 7, "crewai_version": "1"},
    {"tags": None, "id_": 1},
]


@pytest.mark.parametrize("value", JUNK, ids=repr)
def test_no_adapter_of_mine_takes_junk_or_raises(value: Any) -> None:
    mine = [a for a in find_adapters() if a.NAME in MINE]
    assert not any(a.sniff_text("plain\n") for a in mine if hasattr(a, "sniff_text"))
    assert not [a.NAME for a in mine if a.sniff(value)]


BROKEN: list[Any] = [
    {"type": "user", "isSidechain": True, "message": {"content": [7, None, {"type": "tool_result", "content": 5}]}},
    {"type": "assistant", "isSidechain": False, "sessionId": 5, "message": {"content": [{"type": "tool_use"}]}},
    {"type": "future", "isSidechain": False},
    {"type": "llm_call_started", "timestamp": 1, "event_id": "a", "emission_sequence": "x", "messages": [3, {}]},
    {"type": "tool_usage_started", "timestamp": None, "event_id": "b", "emission_sequence": 2, "tool_args": 3},
    {"type": "method_execution_started", "timestamp": 0, "event_id": "c", "emission_sequence": 3, "params": [1]},
    {"raw": 3, "tasks_output": [1, {"messages": [{"tool_calls": [{"function": 1}]}]}]},
    {"_table": "flow_states", "state_json": "{"},
    {"_table": "latest_kickoff_task_outputs", "output": 4},
    {"input": [1, {"blocks": 3}], "current_agent_name": None},
    {"response": {"blocks": [{"block_type": "tool_call"}]}, "current_agent_name": 3, "tool_calls": [1, {}]},
    {"tool_name": None, "tool_id": None, "tool_kwargs": None, "tool_output": None},
    {"class_name": "LLMChatEndEvent", "id_": 1, "span_id": 2, "tags": {}, "response": 4},
    {"id_": 5, "parent_id": 1, "start_time": 2, "tags": {"llamaindex.step.input_summary": "ToolCall(tool_name='a'"}},
    {"timestamp": 1, "type": "session_meta", "payload": {"source": {"subagent": "review"}}},
    {"timestamp": 1, "type": "response_item", "payload": {"type": "function_call", "arguments": "{"}},
    {"timestamp": 1, "type": "response_item", "payload": {"type": "message", "content": 4}},
    {"type": "agent.message", "id": "sevt_1", "content": 5},
    {"type": "agent.tool_result", "id": "sevt_2"},
    ["client.beta.sessions.events.send", ["s", {"events": 3}]],
    ["client.beta.sessions.create", None],
]


def test_broken_records_of_known_formats_do_not_stop_an_import(tmp_path: Path) -> None:
    got = load(write(tmp_path, "broken.jsonl", *BROKEN))
    assert sum(got.sources[0].outcomes.values()) == got.sources[0].records == len(BROKEN)
    assert not {i["name"] for i in got.of("actor")} & {"", "unknown", "None"}


def claude(uuid: str, kind: str, content: Any, parent: str | None = None, **more: Any) -> dict[str, Any]:
    return {
        "type": kind,
        "uuid": uuid,
        "parentUuid": parent,
        "isSidechain": False,
        "sessionId": "s-1",
        "message": {"role": kind, "content": content},
        **more,
    }


def test_a_claude_session_is_joined_with_the_files_of_its_sub_agents(tmp_path: Path) -> None:
    folder = tmp_path / "s-1" / "subagents"
    folder.mkdir(parents=True)
    call = {"type": "tool_use", "id": "t1", "name": "Agent", "input": {"prompt": "Read it.", "subagent_type": "x"}}
    done = {"type": "tool_result", "tool_use_id": "t1", "content": "It says 4711."}
    write(tmp_path, "s-1.jsonl", claude("a", "assistant", [call]), claude("b", "user", [done], "a"))
    side: dict[str, Any] = {"isSidechain": True, "agentId": "k9"}
    answer = [{"type": "text", "text": "It says 4711."}]
    write(folder, "agent-k9.jsonl", claude("c", "user", "Do.", **side), claude("d", "assistant", answer, "c", **side))
    write(folder, "agent-k9.meta.json", {"agentType": "x", "toolUseId": "t1"})
    got = load(tmp_path)
    assert {t["id"] for t in got.of("trace")} == {"s-1"}
    assert got.produced("4711") == [("C2", "agent-k9", ("main",))]
    assert got.produced("Read it.") == [("C2", "main", ("agent-k9",))]


def test_tools_that_the_server_runs_are_tools(tmp_path: Path) -> None:
    use = {"type": "server_tool_use", "id": "w", "name": "web_search", "input": {"query": "pin of Kai"}}
    found = {
        "type": "web_search_tool_result",
        "tool_use_id": "w",
        "content": [{"type": "web_search_result", "url": "u"}],
    }
    got = load(write(tmp_path, "s.jsonl", claude("a", "assistant", [use, found])))
    assert got.produced("pin of Kai") == [("C3", "main", ("web_search",))]
    assert got.produced('"url":"u"') == [("C4", "web_search", ("main",))]


def test_a_resumed_claude_session_is_read_once_and_loops_of_parents_end(tmp_path: Path) -> None:
    lines = [claude("a", "user", "One."), claude("b", "user", "Two.", "c"), claude("c", "user", "Three.", "b")]
    write(tmp_path, "1.jsonl", *lines)
    write(tmp_path, "2.jsonl", *lines, claude("d", "user", "Four.", "c"))
    got = load(tmp_path)
    assert [s.outcomes.get("duplicate", 0) for s in got.sources] == [0, 3]
    assert sorted(s["content"] for s in got.of("sighting")) == ["Four.", "One.", "Three.", "Two."]


def test_a_claude_line_without_session_is_named_by_its_folder_or_file() -> None:
    line = {"type": "user", "isSidechain": True, "message": {"content": "x"}}
    file = "/p/s-7/subagents/agent-k1.jsonl"
    content = content_of(line)
    assert content is not None
    assert (session_of(line, file), entry_of(kept_of(line, content, file), HERE).agent) == ("s-7", "k1")


@pytest.mark.parametrize("kind", ["compacted", "turn_context", "event_msg", "response_item", "session_state"])
def test_whether_a_codex_record_says_something_shows_without_taking_it_apart(kind: str) -> None:
    sorts = (
        "message",
        "reasoning",
        "function_call",
        "tool_search_output",
        "ghost_snapshot",
        "user_message",
        "error",
        "",
    )
    payloads = [{"type": sort, "content": "words"} for sort in sorts]
    payloads += [{"user_instructions": text} for text in ("", "be kind")]
    for payload in (*payloads, "no object"):
        items = items_of(kind, "2026-01-01", payload, HERE)
        assert says(kind, payload) == (None if items is None else bool(items))


def test_a_codex_sub_agent_joins_the_thread_that_spawned_it(tmp_path: Path) -> None:
    def record(second: int, kind: str, **payload: Any) -> dict[str, Any]:
        return {"timestamp": f"2026-01-01T00:00:{second:02d}Z", "type": kind, "payload": payload}

    spawn = record(
        3, "response_item", type="function_call", name="spawn_agent", call_id="c", arguments='{"message":"Read it."}'
    )
    secret = record(2, "response_item", type="function_call_output", call_id="b", output="The pin is 4711.")
    parent = {"source": {"subagent": {"thread_spawn": {"parent_thread_id": "p", "spawn_call_id": "c"}}}}
    answer = record(5, "event_msg", type="agent_message", message="It was read.")
    write(tmp_path, "1.jsonl", record(1, "session_meta", id="p", source="cli"), secret, spawn)
    write(
        tmp_path,
        "2.jsonl",
        record(4, "session_meta", id="k", timestamp="2026-01-01T00:00:04Z", **parent),
        secret,
        spawn,
        answer,
    )
    got = load(tmp_path)
    assert {t["id"] for t in got.of("trace")} == {"p"}
    assert got.produced("4711") == [("C4", None, ("main",))]
    assert got.produced("Read it.") == [("C2", "main", ("thread-k",))]
    assert [s["actor"] for s in got.of("sighting") if "4711" in s["content"]] == ["thread-k"]


def test_a_real_flow_database_is_read(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "flow_states.db") as con:
        con.execute("CREATE TABLE flow_states (id INTEGER PRIMARY KEY, flow_uuid, method_name, timestamp, state_json)")
        con.execute("INSERT INTO flow_states VALUES (1, 'f', 'look_up', '2026-01-01', '{\"note\": \"4711\"}')")
    con.close()
    got = load(tmp_path / "flow_states.db")
    assert got.sources[0].container == "sqlite"
    assert got.produced("4711") == [("C5", "look_up", ("flow state",))]


def test_every_kind_of_crewai_event_that_is_kept_is_told() -> None:
    told = {kind for kind in KEPT if not kind.endswith(("_failed", "_error"))}
    assert not [kind for kind in told if not callable(getattr(_Teller, kind, None))]


def test_events_of_old_crewai_versions_without_ids_are_cut_at_kickoffs(tmp_path: Path) -> None:
    base = {"timestamp": "2025-01-01T00:00:00", "source_fingerprint": None, "fingerprint_metadata": None}
    told = {**base, "type": "task_completed", "output": {"raw": "Done", "agent": "a"}}
    start, end = ({**base, "type": f"crew_kickoff_{k}", "output": {"raw": "Done"}} for k in ("started", "completed"))
    got = load(write(tmp_path, "old.jsonl", start, told, end, start, told, end))
    assert [t["id"] for t in got.of("trace")] == ["old.jsonl:1", "old.jsonl:4"]
    assert got.channels() == {"C1": 2}


PATTERNS = (
    "samples/crewai/*.events.*.jsonl",
    "samples/crewai/*.json",
    "samples/crewai/*sqlite.jsonl",
    "samples/crewai/*.output_log_file.*",
    "samples/crewai/*callback.txt",
    "samples/llamaindex/*.json",
    "samples/llamaindex/*.stream_events*.jsonl",
    "samples/llamaindex/*.instrumentation_*.jsonl",
    "samples/obs/claude_code_jsonl/*.jsonl",
    "samples/obs/codex_rollout_jsonl/*.jsonl",
    "samples/obs/anthropic_managed_session/*.jsonl",
)


@pytest.mark.real
@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_public_recording_is_read_by_these_adapters(pattern: str, shared: Find) -> None:
    for path in shared(pattern):
        got = load(path)
        source = got.sources[0]
        assert sum(source.outcomes.values()) == source.records > 0, path.name
        assert not {i["name"] for i in got.of("actor")} & {"", "unknown", "None"}, path.name
        assert MINE.issuperset(source.dialects), path.name
        assert source.outcomes.get("unknown", 0) <= 4, path.name


@pytest.mark.real
@pytest.mark.parametrize("encoding", ["to_json", "model_dump_json"])
def test_crewai_hierarchy_produces_the_card_three_times(encoding: str, shared: Find) -> None:
    got = load(*shared(f"samples/crewai/hierarchical.events.{encoding}.jsonl"))
    assert got.channels() == {"C1": 1, "C2": 4, "C3": 1, "C4": 1, "C5": 2, "C7": 1}
    assert got.produced() == [
        ("C4", "lookup_customer", ("worker",)),
        ("C5", "worker", ("shared_memory",)),
        ("C2", "worker", ("sub_coordinator",)),
    ]


@pytest.mark.real
def test_crewai_checkpoint_says_the_same_but_the_final_answer(shared: Find) -> None:
    got = load(*shared("samples/crewai/*.checkpoint.json"))
    assert got.channels() == {"C2": 5, "C3": 1, "C4": 1, "C5": 2, "C7": 1}
    assert [c for c, *_ in got.produced()] == ["C4", "C5", "C2"]


@pytest.mark.real
def test_crewai_memory_hands_the_card_to_two_later_agents(shared: Find) -> None:
    got = load(*shared("samples/crewai/sequential_memory.events.to_json.jsonl"))
    assert got.produced() == [
        ("C6", None, ()),  # the memory model, three times
        ("C5", "memory", ("worker",)),
        ("C4", "lookup_customer", ("worker",)),
        ("C5", "worker", ("shared_memory",)),
        ("C6", None, ()),
        ("C2", "worker", ("sub_coordinator",)),
        ("C5", "memory", ("sub_coordinator",)),
        ("C6", None, ()),
    ]
    assert Counter(i["kind"] for i in got.of("loss")) == {"content_missing": 3, "failed_call": 2}


@pytest.mark.real
def test_crewai_flow_hands_the_card_on_through_methods_and_state(shared: Find) -> None:
    got = load(*shared("samples/crewai/flow.events.to_json.jsonl"))
    assert got.produced() == [
        ("C2", "worker", ("lookup",)),
        ("C5", "lookup", ("flow state",)),
        ("C2", "lookup", ("write",)),
        ("C2", "write", ("sub_coordinator",)),
    ]


@pytest.mark.real
def test_all_crewai_files_of_one_run_are_one_trace(shared: Find) -> None:
    got = load(*shared("samples/crewai/sequential_memory.*"))
    alone = load(*shared("samples/crewai/sequential_memory.events.to_json.jsonl"))
    assert len(got.of("trace")) == 1
    assert got.channels() == alone.channels()
    assert sum(s.outcomes.get("duplicate", 0) for s in got.sources) == 91


@pytest.mark.real
@pytest.mark.parametrize("file", ["stream_events", "stream_events.json_serializer", "stream_events.envelope"])
def test_llamaindex_handoffs_show_the_card_to_the_coordinator(file: str, shared: Find) -> None:
    got = load(*shared(f"samples/llamaindex/agent_workflow.{file}.jsonl"))
    assert got.channels() == {"C1": 1, "C2": 4, "C3": 1, "C4": 2, "C5": 4, "C6": 1, "C7": 1}
    assert got.produced() == [
        ("C4", "lookup_customer", ("worker",)),
        ("C5", "worker", ("memory_write",)),
        ("C5", "memory_read", ("sub_coordinator",)),
    ]
    shown = Counter(s["actor"] for s in got.of("sighting") if CANARY in s["content"])
    assert shown == {"coordinator": 3, "sub_coordinator": 3, "worker": 1}


@pytest.mark.real
def test_llamaindex_instrumentation_says_what_the_stream_says(shared: Find) -> None:
    got = load(*shared("samples/llamaindex/agent_workflow.instrumentation_*.jsonl"))
    stream = load(*shared("samples/llamaindex/agent_workflow.stream_events.jsonl"))
    assert got.channels() == stream.channels()
    assert got.produced() == stream.produced()
    assert len(got.of("trace")) == 1


@pytest.mark.real
def test_llamaindex_agents_inside_tools_are_not_in_the_stream(shared: Find) -> None:
    got = load(*shared("samples/llamaindex/agents_as_tools.stream_events.jsonl"))
    assert got.channels() == {"C1": 1, "C3": 1, "C4": 1}
    assert got.produced() == []


@pytest.mark.real
def test_claude_code_recordings_by_channel(shared: Find) -> None:
    got = load(*shared("samples/obs/claude_code_jsonl/*.jsonl"))
    assert got.channels() == {"C1": 7, "C2": 7, "C3": 6, "C4": 7, "C5": 7, "C6": 11, "C7": 2}
    assert len(got.of("trace")) == 7


@pytest.mark.real
def test_codex_recordings_by_channel(shared: Find) -> None:
    got = load(*shared("samples/obs/codex_rollout_jsonl/*.jsonl"))
    assert got.channels() == {"C1": 1, "C2": 2, "C3": 2, "C4": 3, "C6": 1, "C7": 1}


@pytest.mark.real
def test_managed_sessions_by_channel(shared: Find) -> None:
    got = load(*shared("samples/obs/anthropic_managed_session/*.jsonl"))
    assert got.channels() == {"C1": 2, "C3": 2, "C4": 2}
