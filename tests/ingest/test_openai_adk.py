"""OpenAI Agents SDK, Google ADK, Pydantic-AI and chat messages: databases, spread files, and the public recordings.

The recordings tell one case: the CRM result holds the canary, the worker notes it, somebody reads the note. How often
it was really produced follows from the scripts that recorded them, whatever number of copies a format keeps.
"""

import io
import json
import sqlite3
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from earwitness.ingest.loader import Loader
from earwitness.ingest.record import Source
from earwitness.ingest.registry import adapter_for
from earwitness.reports.canonical import export
from earwitness.schema.case import Case

CANARY = "ACCT-4417-ZX"
Items = list[dict[str, Any]]
Shared = Callable[[str], list[Path]]


def load(*paths: Path) -> tuple[Items, list[Source]]:
    with Case() as case:
        sources = Loader(case).load(list(paths))
        out = io.BytesIO()
        export(case, out)
    for source in sources:
        assert sum(source.outcomes.values()) == source.records
        assert source.problem is None
    return [json.loads(line) for line in out.getvalue().splitlines()], sources


def of(items: Items, kind: str) -> Items:
    return [i for i in items if i["type"] == kind]


def channels(items: Items) -> dict[str, int]:
    return dict(sorted(Counter(e["channel"] for e in of(items, "event")).items()))


def canaries(items: Items) -> int:
    return sum(CANARY in e["content"] for e in of(items, "event"))


def lines(path: Path, *records: Any) -> Path:
    path.write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
    return path


FILES = [
    ("openai_agents", "*trace_processor*", "openai-agents-trace"),
    ("openai_agents", "*ingest_payload*", "openai-agents-trace"),
    ("openai_agents", "*new_items*", "openai-agents-items"),
    ("openai_agents", "*stream_events*", "openai-agents-items"),
    ("openai_agents", "*run_state*", "openai-agents-items"),
    ("openai_agents", "*sqlite*rows*", "openai-agents-session"),
    ("openai_agents", "*hooks*", "openai-agents-hooks"),
    ("openai_agents", "*to_input_list*", "chat-messages"),
    ("google_adk", "*events_*.jsonl", "google-adk-events"),
    ("google_adk", "*session.json", "google-adk-events"),
    ("google_adk", "*adk_run_jsonl*", "google-adk-events"),
    ("google_adk", "*api_server*", "google-adk-events"),
    ("google_adk", "*database_v*", "google-adk-database"),
    ("google_adk", "*sqlite_rows*", "google-adk-database"),
    ("google_adk", "*bigquery*", "google-adk-bigquery"),
    ("google_adk", "*debug_logging*", "google-adk-debug"),
    ("google_adk", "file_artifact*", "google-adk-artifacts"),
    ("obs/generated/pydantic_ai_messages", "*.json", "pydantic-ai-history"),
]


@pytest.mark.real
@pytest.mark.parametrize(("folder", "pattern", "dialect"), FILES, ids=lambda x: x)
def test_every_recording_is_read_by_its_adapter(shared: Shared, folder: str, pattern: str, dialect: str) -> None:
    for path in shared(f"samples/{folder}/{pattern}"):
        if "otlp" in path.name or "console" in path.name:
            continue
        items, (source,) = load(path)
        assert list(source.dialects) == [dialect], path.name
        lost = source.outcomes.get("unknown", 0) + source.outcomes.get("unparseable", 0)
        assert lost == (2 if "adk_run" in path.name else 0), path.name  # `adk run` begins with two lines of log
        names = {a["name"] for a in of(items, "actor")}
        assert not {n for n in names if n.lower() in ("", "unknown", "none", "null")}
        numbers = [i["seq"] for i in items if i["type"] in ("event", "sighting")]
        assert sorted(numbers) == list(range(len(numbers))), path.name


HANDOFF = {"C1": 1, "C2": 2, "C3": 2, "C4": 2, "C6": 3}
AS_TOOLS = {"C1": 1, "C2": 4, "C3": 3, "C4": 3, "C6": 3}
OUTER = {"C1": 1, "C3": 1, "C4": 1, "C6": 1}
TRANSFER = {"C1": 1, "C2": 4, "C3": 4, "C4": 4, "C5": 5, "C6": 2, "C7": 1}
WORKFLOW = {"C1": 1, "C2": 2, "C3": 1, "C4": 1, "C5": 2}
AGENT_TOOL = {"C1": 1, "C3": 1, "C4": 1, "C5": 2, "C6": 1, "C7": 1}

COUNTS = [
    # Handoffs: CRM result, note, final answer.
    ("openai_agents/handoff.chat.trace_processor_*", HANDOFF, 3),
    ("openai_agents/handoff.responses.trace_processor_with_response*", HANDOFF, 3),
    ("openai_agents/handoff.*.new_items*", HANDOFF, 3),
    ("openai_agents/handoff.*.hooks*", HANDOFF, 3),
    ("openai_agents/handoff.*.to_input_list*", HANDOFF, 3),
    ("openai_agents/handoff.*sqlite*", HANDOFF, 3),
    ("openai_agents/handoff.*.stream_events*", HANDOFF, 3),
    ("openai_agents/handoff.*.run_state*", HANDOFF, 3),
    ("openai_agents/handoff.chat.nest_history*", HANDOFF, 3),
    # What is sent to OpenAI lacks the reasoning.
    ("openai_agents/handoff.chat.backend*", {**HANDOFF, "C6": 2}, 3),
    ("openai_agents/handoff.responses.trace_processor_export*", {"C2": 2, "C3": 2, "C4": 2}, 2),
    ("openai_agents/handoff.responses.backend*", {"C2": 2, "C3": 2, "C4": 2}, 2),
    ("openai_agents/v0.3.3.handoff*", {"C2": 2, "C3": 2, "C4": 2}, 2),
    ("openai_agents/handoff.chat.no_sensitive*", {"C2": 2}, 0),
    # Agents as tools: CRM result, note, the worker's answer, the note read, the lead's answer.
    ("openai_agents/agents_as_tools.chat.trace_processor_*", AS_TOOLS, 5),
    ("openai_agents/agents_as_tools.responses.trace_processor_with_response*", AS_TOOLS, 5),
    ("openai_agents/agents_as_tools.responses.trace_processor_export*", {"C2": 4, "C3": 3, "C4": 3}, 5),
    ("openai_agents/v0.3.3.agents_as_tools*", {"C2": 4, "C3": 3, "C4": 3}, 5),
    # Only the outermost agent is in these.
    ("openai_agents/agents_as_tools.*.new_items*", OUTER, 1),
    ("openai_agents/agents_as_tools.*.hooks*", OUTER, 1),
    ("openai_agents/agents_as_tools.*sqlite*", OUTER, 1),
    # A run state says which tools are agents.
    ("openai_agents/agents_as_tools.*.run_state*", {"C1": 1, "C2": 2, "C6": 1}, 1),
    # Transfers: CRM result, note given to the tool, note in the state, report, note read.
    ("google_adk/transfer.events_*", TRANSFER, 5),
    ("google_adk/transfer.session.json", TRANSFER, 5),
    ("google_adk/transfer.adk_run*", TRANSFER, 5),
    ("google_adk/transfer.api_server_[gr]*.json", TRANSFER, 5),
    ("google_adk/transfer.database_v1*", TRANSFER, 5),
    ("google_adk/transfer.sqlite*", TRANSFER, 5),
    ("google_adk/v1.18.transfer.events*", {**TRANSFER, "C5": 3}, 5),
    ("google_adk/v1.18.transfer.database_v0*", {"C1": 1, "C2": 4, "C3": 4, "C4": 4, "C6": 2}, 4),
    ("google_adk/transfer.bigquery*", {"C1": 1, "C2": 4, "C3": 4, "C4": 4, "C5": 6, "C6": 2}, 5),
    # The debug log shows temporary state, and does not tell thoughts from words.
    ("google_adk/transfer.debug_logging*", {**TRANSFER, "C5": 6, "C6": 1}, 5),
    # The inside of an agent called as a tool: hidden in events, shown in rows.
    ("google_adk/agent_tool.[eds]*", AGENT_TOOL, 2),
    ("google_adk/agent_tool.bigquery*", {"C1": 1, "C2": 4, "C3": 4, "C4": 4, "C5": 3, "C6": 2}, 7),
    # CRM result, the worker's words, the same in the state.
    ("google_adk/workflow.[eds]*", WORKFLOW, 3),
]


@pytest.mark.real
@pytest.mark.parametrize(("pattern", "expected", "produced"), COUNTS, ids=lambda x: x if isinstance(x, str) else "")
def test_each_content_is_produced_once(shared: Shared, pattern: str, expected: dict[str, int], produced: int) -> None:
    for path in shared(f"samples/{pattern}"):
        items, _ = load(path)
        assert (channels(items), canaries(items)) == (expected, produced), path.name


@pytest.mark.real
def test_what_an_export_cannot_show_is_not_observable(shared: Shared) -> None:
    def observable(pattern: str) -> list[list[str]]:
        found = [of(load(p)[0], "trace") for p in shared(f"samples/openai_agents/{pattern}")]
        return [t.get("observable", []) for (t,) in found]

    assert observable("*responses.trace_processor_[es]*") == [["C3", "C4"]] * 6
    assert observable("handoff.chat.trace_processor_export*") == [["C1", "C2", "C3", "C4", "C6"]]
    assert observable("*no_sensitive*") == [[]]


@pytest.mark.real
@pytest.mark.parametrize(
    "name", ["openai_agents/handoff.chat.trace_processor_export", "google_adk/transfer.events_snake"]
)
def test_handoffs_name_their_target_and_show_it_the_history(shared: Shared, name: str) -> None:
    (path,) = shared(f"samples/{name}*")
    items, _ = load(path)
    moves = [(e["sender"], e["to"][0]) for e in of(items, "event") if e["channel"] == "C2"]
    assert moves[:2] in (
        [("Coordinator", "Research Lead"), ("Research Lead", "CRM Worker")],
        [("coordinator", "research_lead"), ("research_lead", "crm_worker")],
    )
    shown = {s["actor"] for s in of(items, "sighting") if CANARY in s["content"]}
    assert shown == ({"CRM Worker"} if "openai" in name else {"coordinator", "research_lead"})


@pytest.mark.real
def test_a_published_session_is_read(shared: Shared) -> None:
    items, (source,) = load(*shared("data/google_adk/customer-service/123.session.json"))
    assert source.outcomes == {"mapped": 35}
    assert channels(items) == {"C1": 11, "C3": 6, "C4": 6, "C6": 5}


@pytest.mark.real
def test_published_evaluation_sets_are_read(shared: Shared) -> None:
    for path in shared("data/google_adk/travel-concierge/*.test.json"):
        items, (source,) = load(path)
        assert list(source.dialects) == ["google-adk-evalset"]
        turns = [t for c in json.loads(path.read_text())["eval_cases"] for t in c["conversation"]]
        uses = [u["name"] for t in turns for u in t["intermediate_data"]["tool_uses"]]
        assert channels(items)["C1"] == len(turns)
        assert channels(items)["C2"] == uses.count("transfer_to_agent")
        assert channels(items)["C3"] == len(uses) - uses.count("transfer_to_agent")


@pytest.mark.real
def test_overlapping_exports_of_one_run_are_counted_once(shared: Shared) -> None:
    names = ("export", "start_end")
    paths = [shared(f"samples/openai_agents/handoff.chat.trace_processor_{n}.jsonl")[0] for n in names]
    items, sources = load(*paths)
    assert canaries(items) == 3
    assert sources[1].outcomes == {"duplicate": 38, "mapped": 0}


def adk_event(number: int, author: str, *parts: dict[str, Any], **actions: Any) -> dict[str, Any]:
    return {
        "id": f"ev-{number}",
        "invocation_id": "e-1",
        "author": author,
        "timestamp": 1772445600.0 + number,
        "content": {"parts": list(parts)},
        "actions": actions,
    }


def test_an_adk_database_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "session.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE sessions (app_name, user_id, id, state, create_time, update_time)")
        db.execute("CREATE TABLE events (id, app_name, user_id, session_id, invocation_id, timestamp, event_data)")
        db.execute("CREATE TABLE app_states (app_name, state, update_time)")
        db.execute("INSERT INTO sessions VALUES ('clinic', 'u', 's-9', '{\"note\": \"MRN-55\"}', 0, 0)")
        db.execute("INSERT INTO app_states VALUES ('clinic', '{\"site\": \"north\"}', 0)")
        rows = [
            adk_event(1, "user", {"text": "When?"}),
            adk_event(2, "desk", {"text": "Monday."}, state_delta={"note": "MRN-55"}),
        ]
        for row in rows:
            values = (row["id"], "clinic", "u", "s-9", "e-1", row["timestamp"], json.dumps(row))
            db.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)", values)
    db.close()
    items, (source,) = load(path)
    assert source.container == "sqlite"
    assert source.outcomes == {"mapped": 4}
    assert channels(items) == {"C1": 1, "C5": 1}
    assert [t["id"] for t in of(items, "trace")] == ["s-9"]
    assert {s["content"] for s in of(items, "sighting") if s["kind"] == "state"} == {"MRN-55", "north"}


ADK_DEBUG = Path(__file__).parent.parent / "golden" / "ingest" / "google-adk-debug" / "agent_tool.in.yaml"


def test_a_debug_log_tells_events_that_were_read_before_only_once(tmp_path: Path) -> None:
    call = {"functionCall": {"id": "adk-11", "name": "booker", "args": {"request": "Book R. Mori to Lisbon"}}}
    event = {"id": "ev-11", "invocationId": "e-1", "author": "concierge", "content": {"parts": [call]}}
    session = {"id": "s-4", "appName": "trips", "events": [event]}
    alone, _ = load(ADK_DEBUG)
    items, (_, source) = load(lines(tmp_path / "a.json", session), ADK_DEBUG)
    assert channels(items) == channels(alone)
    assert len(of(items, "trace")) == 1
    assert source.outcomes["duplicate"] == 3  # two of the called agent, as ever, and the call


def test_a_debug_log_shows_models_what_the_user_asked(tmp_path: Path) -> None:
    items, _ = load(ADK_DEBUG)
    shown = {(s["actor"], s["content"]) for s in of(items, "sighting") if s["kind"] == "initial"}
    assert shown == {("concierge", "Get me to Lisbon."), ("concierge", "You plan."), ("booker", "You book.")}


def test_runs_that_only_overlap_are_runs_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    text = ADK_DEBUG.read_text(encoding="utf-8")
    path.write_text(text.replace("tool_name: booker", "tool_name: other"), encoding="utf-8")
    items, _ = load(path)
    assert {t["id"] for t in of(items, "trace")} == {"s-4", "child-1"}


def test_an_openai_session_database_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "conversations.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE agent_sessions (session_id, created_at, updated_at)")
        db.execute("CREATE TABLE agent_messages (id INTEGER PRIMARY KEY, session_id, message_data, created_at)")
        db.execute("INSERT INTO agent_sessions VALUES ('v-3', '2026-03-02 10:00:00', '2026-03-02 10:00:01')")
        for item in ({"role": "user", "content": "When?"}, {"role": "assistant", "content": "Monday."}):
            row = (json.dumps(item), "2026-03-02 10:00:00")
            db.execute("INSERT INTO agent_messages (session_id, message_data, created_at) VALUES ('v-3', ?, ?)", row)
    db.close()
    items, (source,) = load(path)
    assert source.outcomes == {"mapped": 3}
    assert channels(items) == {"C1": 1}


def test_streamed_pieces_without_a_whole_are_joined(tmp_path: Path) -> None:
    pieces = [{**adk_event(n, "desk", {"text": t}), "partial": True} for n, t in enumerate(("Mon", "day."))]
    items, (source,) = load(lines(tmp_path / "live.jsonl", *pieces))
    assert source.outcomes == {"mapped": 2}
    assert [(e["channel"], e["content"]) for e in of(items, "event")] == [("C1", "Monday.")]


def test_a_session_may_be_spread_over_files(tmp_path: Path) -> None:
    first = lines(tmp_path / "a.jsonl", {**adk_event(1, "user", {"text": "When?"}), "session_id": "s-9"})
    second = lines(tmp_path / "b.jsonl", {**adk_event(2, "desk", {"text": "Monday."}), "session_id": "s-9"})
    items, _ = load(first, second, first)
    assert [s["actor"] for s in of(items, "sighting")] == ["desk"]
    assert channels(items) == {"C1": 1}


def test_a_stream_of_which_only_responses_were_logged_is_read(tmp_path: Path) -> None:
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Monday."}]}
    done = {"type": "raw_response_event", "data": {"type": "response.completed", "response": {"output": [said]}}}
    items, (source,) = load(lines(tmp_path / "stream.jsonl", done))
    assert source.outcomes == {"ignored": 1, "mapped": 0}
    assert channels(items) == {"C1": 1}


def test_files_of_one_name_are_traces_of_their_own(tmp_path: Path) -> None:
    paths = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        said = {"role": "assistant", "content": f"Monday, {folder}."}
        paths.append(lines(tmp_path / folder / "chat.jsonl", {"role": "user", "content": "When?"}, said))
    items, _ = load(*paths)
    assert [t["id"] for t in of(items, "trace")] == ["chat:chat.jsonl", "chat:chat.jsonl~2"]


FOREIGN = [
    {"role": "narrator", "content": "once"},
    {"object": "chat.completion", "id": "x"},
    {"event": "on_tool_start", "run_id": "r", "name": "t"},
    {"type": "trace", "id": "t"},
    {"events": [], "id": "x"},
    {"kind": "response", "parts": "none"},
    {"author": "me", "content": "text"},
    ["a list"],
    None,
]


@pytest.mark.parametrize("value", FOREIGN, ids=str)
def test_what_is_of_others_is_left_to_them(value: Any) -> None:
    mine = {d for _, _, d in FILES}
    found = adapter_for(value)
    assert found is None or found.NAME not in mine
