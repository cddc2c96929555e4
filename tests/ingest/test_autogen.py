"""AutoGen, AG2, Semantic Kernel: what each recording says, counted by hand; broken records; runs of several files."""

import json
import random
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from earwitness.ingest.actorlog import party
from earwitness.ingest.loader import Loader
from earwitness.ingest.pyrepr import read_fields, read_repr
from earwitness.ingest.record import Place, Record, Skip, Source
from earwitness.ingest.registry import find_adapters
from earwitness.ingest.stems import file_stem
from earwitness.ingest.tale import named
from earwitness.schema.case import Case

CANARY = "4000-1234-5678-9010"
MINE = (
    "autogen-stream",
    "autogen-core-log",
    "autogen-state",
    "autogen-text-log",
    "ag2-logger",
    "ag2-chat",
    "ag2-run-events",
    "ag2-event-log",
    "ag2-hub",
    "sk-messages",
    "sk-function-filter",
    "sk-runtime",
)
ADAPTERS = [a for a in find_adapters() if a.NAME in MINE]
GOLDEN = Path(__file__).parent.parent / "golden" / "ingest"
ODD: list[Any] = [None, 0, -1.5, True, "", [], {}, [1], [None], {"a": 1}, [{}], "unknown", "None"]
Found = tuple[list[Source], Counter[str], Counter[str], int]


def load(*paths: Path) -> Found:
    """Sources, events by channel, events with the canary by channel, sightings."""
    with Case() as case:
        sources = Loader(case).load(list(paths))
        rows = case.rows("SELECT e.channel, c.text FROM events e JOIN contents c USING (content)")
        names = case.rows("SELECT actor FROM actors")
        sightings = case.one("SELECT count(*) FROM sightings")
    assert all(named(name) for (name,) in names)
    for source in sources:
        assert sum(source.outcomes.values()) == source.records
    return sources, Counter(r[0] for r in rows), Counter(r[0] for r in rows if CANARY in r[1]), sightings


@pytest.mark.parametrize(
    ("raw", "parts"),
    [
        ("worker_11111111-2222-3333-4444-555555555555/x", ("worker", "11111111-2222-3333-4444-555555555555", "x")),
        (
            "sub_worker_0123456789abcdef0123456789abcdef/default",
            ("sub_worker", "0123456789abcdef0123456789abcdef", "default"),
        ),
        ("coordinator/default", ("coordinator", None, "default")),
        (None, None),
        ("no id", None),
    ],
)
def test_runtime_ids_come_apart(raw: object, parts: object) -> None:
    assert party(raw) == parts


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("a/swarm.run_stream.jsonl", "swarm"),
        ("run.zip!logs/swarm.save_state.json", "swarm"),
        ("ag2_0.14.0_file.chat_messages.json", "ag2_0.14.0_file"),
        ("run_0.2.jsonl", "run_0.2"),
        ("plain.json", "plain"),
        ("nodot", "nodot"),
    ],
)
def test_files_of_one_run_share_a_stem(name: str, stem: str) -> None:
    assert file_stem(name) == stem


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{'a': [1, -2.5, None], 'b': Thing(x='y', n=3)}", {"a": [1, -2.5, None], "b": {"x": "y", "n": 3}}),
        ("datetime.datetime(2026, 5, 4, 8, 0, 1, 5, tzinfo=datetime.timezone.utc)", "2026-05-04T08:00:01.000005+00:00"),
        ("{'kind': <Mime.TEXT: 'text/plain'>}", {"kind": "text/plain"}),
        ("{'f': (lambda: 1)}", None),
        ("{'x': 1 + 1}", None),
        ("<object at 0x7f>", None),
        ("[" * 5000, None),
        ("{'a': 'cut o", None),
    ],
)
def test_representations_are_read_and_never_run(text: str, value: object) -> None:
    assert read_repr(text) == value


def test_calls_in_representations_are_only_names() -> None:
    assert read_repr("__import__('os').system(cmd='x')") == {"cmd": "x"}
    assert read_fields("id='a' content=[Call(id='b', note='x=1 y=2')] type='T'") == {
        "id": "a",
        "content": [{"id": "b", "note": "x=1 y=2"}],
        "type": "T",
    }
    assert read_fields("no fields here") is None


class Alone:
    """A context of one file."""

    name, stem, jobs = "run.some_kind.jsonl", "run", 1

    def __init__(self) -> None:
        self.claimed: set[tuple[str | bytes, ...]] = set()

    def claim(self, *key: str | bytes) -> bool:
        fresh = key not in self.claimed
        self.claimed.add(key)
        return fresh


def broken(value: Any, rng: random.Random) -> Any:
    """A value in which here and there something is of another kind, or gone."""
    if rng.random() < 0.08:
        return rng.choice(ODD)
    if isinstance(value, dict):
        return {k: broken(v, rng) for k, v in value.items() if rng.random() > 0.02}
    if isinstance(value, list):
        return [broken(v, rng) for v in value]
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.dumps(broken(json.loads(value), rng))
        except ValueError:
            return value
    return value


def golden_values(adapter: str) -> Iterator[Any]:
    for path in sorted((GOLDEN / adapter).glob("*.in.*")):
        text = path.read_text(encoding="utf-8")
        if path.suffix in (".json", ".log"):
            yield from [json.loads(text)] if path.suffix == ".json" else [{"_line": x} for x in text.splitlines()]
            continue
        yield from (json.loads(line) for line in text.splitlines() if line.startswith("{"))


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda a: a.NAME)
@pytest.mark.parametrize("seed", range(20))
def test_broken_records_stop_nothing_and_name_nobody(adapter: Any, seed: int) -> None:
    rng, context = random.Random(seed), Alone()
    reader = adapter.open(context)
    records = [broken(value, rng) for value in golden_values(adapter.NAME)]
    emits = []
    for n, value in enumerate(records):
        if adapter.sniff(value):
            emits += list(reader.feed(Record(value, Place(n + 1, 0, 1, "", 0))))
    emits += list(reader.finish())
    for emit in emits:
        if not isinstance(emit, Skip):
            names = [getattr(emit.item, key, None) for key in ("sender", "actor", "name")]
            names += [d if isinstance(d, str) else d.actor for d in getattr(emit.item, "to", ())]
            assert all(name is None or named(name) for name in names)


def test_agents_of_other_files_are_found_by_their_stream(tmp_path: Path) -> None:
    """AG2 1.x: the parent's log names the child's stream and agent; the child's words are told once."""

    def line(kind: str, **data: Any) -> str:
        return json.dumps({"type": f"ag2.events.{kind}", "data": data}) + "\n"

    def answer(text: str, at: float) -> str:
        return line("types.ModelResponse", created_at=at, message={"content": text}, tool_calls={"calls": []})

    child = "99999999-0000-4000-8000-000000000000"
    task = {"task_id": "t1", "agent_name": "seats", "parent_tool_call_id": "c1"}
    result = {"data": {"parts": [{"content": "Seat 12A."}]}}
    parent = (
        line("tool_events.ToolCallEvent", created_at=1.0, id="c1", name="task_seats", arguments='{"objective": "x"}')
        + line("task_events.TaskStarted", created_at=2.0, **task)
        + line("task_events.TaskCompleted", created_at=5.0, task_stream={"__uuid__": child}, **task)
        + line("tool_events.ToolResultEvent", created_at=6.0, parent_id="c1", name="task_seats", result=result)
        + answer("Done.", 7.0)
    )
    (tmp_path / "11111111-0000-4000-8000-000000000000.jsonl").write_text(parent)
    (tmp_path / f"{child}.jsonl").write_text(answer("Seat 12A.", 4.0))
    with Case() as case:
        Loader(case).load([tmp_path])
        assert case.one("SELECT count(*) FROM traces") == 1
        rows = case.rows(
            "SELECT e.channel, e.kind, e.sender, c.text FROM events e JOIN contents c USING (content) ORDER BY seq"
        )
    root = "agent 11111111-0000-4000-8000-000000000000"
    assert rows == [
        ("C2", "request", root, '{"objective": "x"}'),
        ("C2", "message", "seats", "Seat 12A."),
        ("C1", "final", root, "Done."),
    ]


def test_the_logger_database_itself_is_read(tmp_path: Path) -> None:
    """AG2: the SQLite file, not a dump of it; two sessions in it are two traces."""
    path = tmp_path / "logs.db"
    with closing(sqlite3.connect(path)) as base:
        base.execute("CREATE TABLE agents (id, agent_id, wrapper_id, session_id, name, class, init_args, timestamp)")
        base.execute(
            "CREATE TABLE events (event_name, source_id, source_name, agent_module, agent_class_name, id, json_state,"
            " timestamp)"
        )
        for n, session in enumerate(("s1", "s2")):
            agent = (n, n + 10, "", session, f"agent{n}", "ConversableAgent", "{}", f"2026-05-04 08:0{n}:00")
            base.execute("INSERT INTO agents VALUES (?, ?, ?, ?, ?, ?, ?, ?)", agent)
            state = json.dumps({"message": f"hello {n}", "sender": "boss", "valid": True})
            at = f"2026-05-04 08:0{n}:01"
            event = ("received_message", n + 10, f"agent{n}", "autogen", "ConversableAgent", n, state, at)
            base.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?)", event)
        base.commit()
    with Case() as case:
        (source,) = Loader(case).load([path])
        rows = case.rows(
            "SELECT t.trace_id, e.sender, d.recipient, c.text FROM events e JOIN traces t USING (trace)"
            " JOIN deliveries d USING (event) JOIN contents c USING (content) ORDER BY ALL"
        )
    assert source.container == "sqlite"
    assert rows == [("ag2-s1", "boss", "agent0", "hello 0"), ("ag2-s2", "boss", "agent1", "hello 1")]


# File under samples/ -> events by channel, events with the canary by channel; from the pages on formats and by reading.
COUNTS: dict[str, tuple[dict[str, int], dict[str, int]]] = {
    "autogen/swarm.run_stream.jsonl": (
        {"C1": 1, "C2": 8, "C3": 4, "C4": 4, "C5": 3, "C6": 1},
        {"C2": 2, "C3": 1, "C4": 2},
    ),
    "autogen/swarm.task_result.json": (
        {"C1": 1, "C2": 8, "C3": 4, "C4": 4, "C5": 3, "C6": 1},
        {"C2": 2, "C3": 1, "C4": 2},
    ),
    "autogen/swarm.core_events.jsonl": (
        {"C1": 1, "C2": 8, "C3": 4, "C4": 4, "C5": 3, "C6": 1},
        {"C2": 2, "C3": 1, "C4": 2},
    ),
    "autogen/swarm.core_trace.log": (
        {"C1": 1, "C2": 8, "C3": 4, "C4": 4, "C5": 3, "C6": 1},
        {"C2": 2, "C3": 1, "C4": 2},
    ),
    "autogen/swarm.save_state.json": ({"C2": 9, "C3": 4, "C4": 4, "C5": 3, "C6": 1}, {"C2": 2, "C3": 1, "C4": 2}),
    "autogen/swarm.agentchat_events.log": ({"C3": 8, "C4": 8}, {"C3": 1, "C4": 2}),
    "autogen/agent_tool.run_stream.jsonl": ({"C1": 1, "C2": 5, "C3": 1, "C4": 1}, {"C2": 2, "C4": 1}),
    "autogen/agent_tool_in_team.core_events.jsonl": ({"C1": 1, "C2": 3, "C3": 1, "C4": 1}, {"C2": 2, "C4": 1}),
    "autogen/graphflow.run_stream.jsonl": ({"C1": 1, "C2": 2, "C3": 1, "C4": 1}, {"C1": 1, "C4": 1}),
    "autogen/swarm_parallel_handoff.run_stream.jsonl": ({"C1": 1, "C2": 1, "C3": 1, "C4": 1, "C6": 1}, {"C4": 1}),
    "autogen/roundrobin_replay_streaming.run_stream.jsonl": (
        {"C1": 1, "C2": 3, "C3": 1, "C4": 1, "C6": 1},
        {"C4": 1},
    ),
    "autogen/core_routed.core_events.jsonl": ({"C2": 3, "C3": 1, "C4": 1}, {"C4": 1}),
    "autogen/core_routed.core_trace.log": ({"C1": 1, "C2": 5}, {"C1": 1, "C2": 2}),
    "ag2/ag2_0.14.0_sqlite.sqlite_tables.jsonl": ({"C1": 5, "C2": 9, "C3": 2, "C4": 2}, {"C1": 1, "C2": 2, "C4": 1}),
    "ag2/pyautogen_0.2.35_file.file_logger.jsonl": ({"C1": 5, "C2": 9, "C3": 2, "C4": 2}, {"C1": 1, "C2": 2, "C4": 1}),
    "ag2/ag2_0.14.0_file.chat_messages.json": ({"C1": 5, "C2": 9, "C3": 2, "C4": 2}, {"C1": 1, "C2": 2, "C4": 1}),
    "ag2/ag2_0.14.0_group_events.run_events.jsonl": (
        {"C1": 1, "C2": 4, "C3": 5, "C4": 5, "C5": 1},
        {"C3": 1, "C4": 2, "C5": 1},
    ),
    "semantic_kernel/handoff.agent_response_callback.jsonl": (
        {"C1": 1, "C2": 4, "C3": 3, "C4": 3, "C6": 1},
        {"C3": 1, "C4": 2},
    ),
    "semantic_kernel/handoff.streaming_callback.jsonl": (
        {"C1": 1, "C2": 4, "C3": 3, "C4": 3, "C6": 1},
        {"C3": 1, "C4": 2},
    ),
    "semantic_kernel/groupchat.runtime_events.jsonl": ({"C2": 4}, {"C2": 1}),
    "semantic_kernel/sequential.runtime_events.jsonl": ({"C1": 1, "C2": 2}, {}),
    "semantic_kernel/plugin.function_filter.jsonl": ({"C2": 4, "C3": 1, "C4": 1}, {"C2": 1}),
}
PATTERNS = (
    "samples/autogen/*.core_events.jsonl",
    "samples/autogen/*.run_stream.jsonl",
    "samples/autogen/*.task_result.json",
    "samples/autogen/*.save_state.json",
    "samples/autogen/*.core_trace.log",
    "samples/autogen/*.agentchat_events.log",
    "samples/ag2/*.file_logger.jsonl",
    "samples/ag2/*.sqlite_tables.jsonl",
    "samples/ag2/*.chat_*.json",
    "samples/ag2/*.groupchat_messages.json",
    "samples/ag2/*.run_*.json*",
    "samples/ag2/*event_log*.jsonl",
    "samples/ag2/*.stream_subscriber.jsonl",
    "samples/ag2/*hub.wal.jsonl",
    "samples/semantic_kernel/*callback.jsonl",
    "samples/semantic_kernel/*.runtime_events.jsonl",
    "samples/semantic_kernel/*.function_filter.jsonl",
    "samples/semantic_kernel/*serialize.json",
    "samples/semantic_kernel/*.chat_messages.json",
    "samples/semantic_kernel/*on_intermediate*.jsonl",
    "samples/semantic_kernel/*.result.json",
)


@pytest.mark.real
@pytest.mark.parametrize("name", COUNTS, ids=str)
def test_recordings_give_the_events_that_happened(name: str, shared: Callable[[str], list[Path]]) -> None:
    _, channels, canaries, _ = load(*shared(f"samples/{name}"))
    assert (dict(channels), dict(canaries)) == COUNTS[name]


@pytest.mark.real
@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_recording_is_read_by_its_adapter(pattern: str, shared: Callable[[str], list[Path]]) -> None:
    for path in shared(pattern):
        if path.name == "core_routed.save_state.json":
            continue  # empty states of agents without any
        (source,), channels, canaries, sightings = load(path)
        assert set(source.dialects) <= set(MINE), path.name
        assert source.dialects, path.name
        assert not source.problem
        assert sum(channels.values()) + sightings > 0, path.name
        assert sum(canaries.values()) <= 6, path.name


@pytest.mark.real
def test_all_recordings_of_one_run_are_told_once(shared: Callable[[str], list[Path]]) -> None:
    kinds = ("agentchat_events.log", "core_events.jsonl", "core_trace.log", "run_stream.jsonl", "save_state.json")
    paths = [p for kind in kinds for p in shared(f"samples/autogen/swarm.{kind}")]
    _, channels, canaries, _ = load(*paths)
    assert dict(channels) == {"C1": 1, "C2": 8, "C3": 4, "C4": 4, "C5": 3, "C6": 1}
    assert dict(canaries) == {"C2": 2, "C3": 1, "C4": 2}


@pytest.mark.real
def test_files_of_one_agent_run_each_are_one_trace(shared: Callable[[str], list[Path]]) -> None:
    paths = shared("samples/ag2/ag2_1.2.1_as_tool.*event_log*.jsonl")
    _, channels, canaries, _ = load(*paths, *shared("samples/ag2/ag2_1.2.1_as_tool.stream_subscriber.jsonl"))
    assert dict(channels) == {"C1": 1, "C2": 4, "C3": 1, "C4": 1, "C7": 4}
    assert dict(canaries) == {"C4": 1, "C7": 2}


@pytest.mark.real
def test_broadcasts_reach_the_members_that_the_log_names(shared: Callable[[str], list[Path]]) -> None:
    """The canary of the swarm reaches the coordinator by the worker's summary, which is a message to the team."""
    with Case() as case:
        Loader(case).load(shared("samples/autogen/swarm.core_events.jsonl"))
        reached = case.rows(
            "SELECT DISTINCT e.sender, d.recipient, d.grade FROM events e JOIN deliveries d USING (event)"
            " JOIN contents c USING (content) WHERE e.channel = 'C2' AND contains(c.text, ?)",
            [CANARY],
        )
    assert set(reached) == {
        ("worker", "coordinator", "broadcast"),
        ("worker", "sub_coordinator", "broadcast"),
        ("sub_coordinator", "coordinator", "broadcast"),
        ("sub_coordinator", "worker", "broadcast"),
    }


@pytest.mark.real
def test_lost_replies_are_losses(shared: Callable[[str], list[Path]]) -> None:
    with Case() as case:
        Loader(case).load(shared("samples/autogen/core_routed.core_events.jsonl"))
        losses = case.rows("SELECT kind, channel, n FROM losses ORDER BY ALL")
    assert losses == [("content_missing", "C1", 1), ("content_missing", "C2", 2)]


@pytest.mark.real
@pytest.mark.parametrize(
    ("name", "answers", "lost"),
    [
        ("swarm", 1, []),
        ("society_of_mind", 1, []),
        ("magentic_one", 1, []),
        ("agent_tool_in_team", 1, []),
        ("nested_team", 0, [("C1", "the log ends before the team does", 1)]),
    ],
)
def test_a_team_that_answered_lost_nothing(
    name: str, answers: int, lost: list[Any], shared: Callable[[str], list[Path]]
) -> None:
    with Case() as case:
        Loader(case).load(shared(f"samples/autogen/{name}.core_events.jsonl"))
        assert case.one("SELECT count(*) FROM events WHERE channel = 'C1'") == answers
        assert case.rows("SELECT channel, detail, n FROM losses WHERE kind = 'content_missing'") == lost


@pytest.mark.real
def test_hub_and_audit_are_read_together(shared: Callable[[str], list[Path]]) -> None:
    with Case() as case:
        Loader(case).load([*shared("samples/ag2/ag2_1.2.1_hub.wal.jsonl"), *shared("samples/ag2/*hub.audit.jsonl")])
        names = {name for (name,) in case.rows("SELECT actor FROM actors WHERE kind = 'agent'")}
        grades = dict(case.rows("SELECT grade, count(*) FROM deliveries GROUP BY grade"))
    assert names == {"coordinator", "sub_coordinator", "worker", "front_desk"}
    assert grades == {"broadcast": 33, "declared": 1}  # each handoff with its reason, and the end with its summary
