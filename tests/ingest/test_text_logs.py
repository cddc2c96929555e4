"""Logs as text: who reads which file, lines that belong together, and what Semantic Kernel and AutoGen write."""

import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from earwitness.ingest.layouts import recognise
from earwitness.ingest.limits import DEFAULT_LIMITS, Limits
from earwitness.ingest.loader import Loader
from earwitness.ingest.loglines import begins
from earwitness.ingest.record import Place, Record, Source
from earwitness.ingest.registry import find_adapters
from earwitness.ingest.stream import CountingStream
from earwitness.ingest.tale import named
from earwitness.ingest.textual import line_records
from earwitness.schema.case import Case

CANARY = "4000-1234-5678-9010"
GOLDEN = Path(__file__).parent.parent / "golden" / "ingest"
LOGS = sorted([*GOLDEN.glob("*-text-log/*.log"), GOLDEN / "crewai-log/lines.in.txt"])
READERS = [a for a in find_adapters() if hasattr(a, "sniff_text")]
Shared = Callable[[str], list[Path]]
_TOLD = """
    SELECT t.trace_id, e.channel, e.kind, e.sender, c.text,
           (SELECT list(d.recipient || '/' || d.grade ORDER BY d.recipient) FROM deliveries d
            WHERE d.event = e.event AND d.grade <> 'consumed')
    FROM events e JOIN traces t USING (trace) JOIN contents c USING (content) ORDER BY t.trace_id, e.seq
"""


def load(*paths: Path) -> tuple[list[Source], list[tuple[Any, ...]]]:
    """Sources, and events as trace, channel, kind, sender, text, recipients."""
    with Case() as case:
        sources = Loader(case).load(list(paths))
        told = case.rows(_TOLD)
        assert all(named(name) for (name,) in case.rows("SELECT actor FROM actors"))
    for source in sources:
        assert sum(source.outcomes.values()) == source.records > 0, source.name
    return sources, told


def write(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


# Who reads a file


@pytest.mark.parametrize("adapter", READERS, ids=lambda a: a.NAME)
def test_no_adapter_remembers_the_file_before(adapter: Any) -> None:
    for path in LOGS:
        adapter.sniff_text(path.read_text(encoding="utf-8"))
        assert not adapter.sniff({"_line": "any line of another text"})


def test_every_log_is_claimed_by_one_adapter() -> None:
    for path in LOGS:
        head = path.read_text(encoding="utf-8")
        assert [a.NAME for a in READERS if a.sniff_text(head)] == [path.parent.name], path.name


def test_logs_of_several_systems_in_one_import_are_read_as_each_alone() -> None:
    logs = [p for p in LOGS if p.name not in ("agentchat-events.in.log", "replies.in.log", "magentic.in.log")]
    together = load(*logs)[1]  # the others are of the same messages, or runs
    assert together == sorted((e for path in logs for e in load(path)[1]), key=lambda e: e[0])


def test_a_log_that_comes_twice_is_read_once(tmp_path: Path) -> None:
    path = GOLDEN / "sk-text-log" / "handoff.in.log"
    (tmp_path / "copy.log").write_bytes(path.read_bytes())
    sources, told = load(path, tmp_path / "copy.log")
    assert told == load(path)[1]
    assert sources[1].outcomes == {"duplicate": 31, "ignored": 2, "unknown": 1, "mapped": 0}


def test_a_log_that_quotes_json_stays_a_log() -> None:
    (source,), told = load(GOLDEN / "agent-text-log" / "appworld-json.in.log")
    assert (source.container, source.dialects) == ("text", {"agent-text-log": 23})
    assert [e[4] for e in told if e[1] == "C4"] == ['{\n "message": "sent"\n}', '{"token": "tok-881"}\n\n{}']


def test_a_log_that_shares_its_file_with_records_is_read_as_both(tmp_path: Path) -> None:
    called = "Calling message handler for desk/default with message type Note sent by Unknown"
    event = json.dumps({"type": "event", "trace": "t", "channel": "C2", "content": "x"})
    (source,), told = load(write(tmp_path / "mixed.log", called, event, "another line", event))
    assert source.container == "log"
    assert (source.dialects, source.outcomes["unknown"]) == ({"autogen-text-log": 1, "canonical": 2}, 1)
    assert [e[4] for e in told] == ["x", "x"]


def test_values_over_several_lines_behind_a_log_line_are_still_values(tmp_path: Path) -> None:
    called = "Calling message handler for desk/default with message type Note sent by Unknown"
    spans = (GOLDEN / "otel-console-spans" / "between-prints.in.txt").read_text(encoding="utf-8")
    (source,), _ = load(write(tmp_path / "spans.log", called, spans))
    assert source.container == "json-concatenated"
    assert set(source.dialects) == {"otel-console-spans"}


@pytest.mark.parametrize(("encoding", "end"), [("utf-8", "\r\n"), ("utf-16", "\r\n"), ("utf-8-sig", "\n")])
def test_logs_of_other_systems_are_recognised(tmp_path: Path, encoding: str, end: str) -> None:
    path = GOLDEN / "agent-text-log" / "appworld.in.log"
    (tmp_path / "appworld.in.log").write_text(path.read_text(encoding="utf-8"), encoding=encoding, newline=end)
    (source,), told = load(tmp_path / "appworld.in.log")
    assert source.container == "text"
    assert [e[1:] for e in told] == [e[1:] for e in load(path)[1]]


# Lines that belong together


@pytest.mark.parametrize("block", [1, 7, 1 << 20])
def test_blank_lines_come_with_the_line_below(tmp_path: Path, block: int) -> None:
    text = "\n  \nResponse from Supervisor Agent\r\n\r\n\n a\nb\n\n"
    (tmp_path / "x.log").write_bytes(text.encode())
    with (tmp_path / "x.log").open("rb") as file:
        container = recognise(CountingStream(file))
        limits = Limits(**{**DEFAULT_LIMITS.__dict__, "block": block}) if block < 1 << 20 else DEFAULT_LIMITS
        found = [r for r in line_records(container, limits) if isinstance(r, Record)]
    assert [r.value for r in found] == [
        {"_line": "Response from Supervisor Agent", "_above": ["", "  "]},
        {"_line": " a", "_above": ["", ""]},
        {"_line": "b"},
    ]
    assert [text.encode()[r.place.offset :][: r.place.length].decode().rstrip() for r in found] == [
        "Response from Supervisor Agent",
        " a",
        "b",
    ]


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("2026-05-04 08:00:00,100 a.b DEBUG said: x", ("a.b", "DEBUG", "2026-05-04T08:00:00.100", "said: x")),
        ("INFO:a.b:said: x", ("a.b", "INFO", None, "said: x")),
        ("[2026-05-04 08:00:00 - a.b:310 - INFO] said", ("a.b", "INFO", "2026-05-04T08:00:00", "said")),
        ("2026-05-04T08:00:00.1 [ERROR] a.b: said", ("a.b", "ERROR", "2026-05-04T08:00:00.1", "said")),
        ("2026-05-04 08:00:00,100 - a.b - WARNING - - x", ("a.b", "WARNING", "2026-05-04T08:00:00.100", "- x")),
        ("2026-05-04 08:00:00,100 a.b DEBUG Result: ", ("a.b", "DEBUG", "2026-05-04T08:00:00.100", "Result: ")),
        ('    "reason": "r",', None),
        ("We are at level INFO now", None),
        ("", None),
    ],
)
def test_lines_of_logging_come_apart(line: str, parts: tuple[Any, ...] | None) -> None:
    block = begins(Record({"_line": line}, Place(1, 0, 1)))
    assert (block and (block.logger, block.level, block.time, block.text)) == parts


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("sk-text-log/*.log")), ids=lambda p: p.stem)
@pytest.mark.parametrize("seed", range(12))
def test_damaged_logs_stop_nothing(path: Path, seed: int, tmp_path: Path) -> None:
    rng, lines = random.Random(seed), path.read_text(encoding="utf-8").splitlines()
    kept = [lines[0] if n == 0 else line for n, line in enumerate(lines) if n == 0 or rng.random() > 0.2]
    cut = [line[: rng.randrange(len(line) + 1)] if n and rng.random() < 0.2 else line for n, line in enumerate(kept)]
    rng.shuffle(cut)
    (source,), _ = load(write(tmp_path / "damaged.log", "INFO:semantic_kernel.kernel:", *cut))
    assert (source.container, source.problem) == ("text", None)
    assert not source.outcomes.get("unparseable")


def test_calls_that_are_numbered_anew_in_every_answer_are_told_apart(tmp_path: Path) -> None:
    """Histories repeat the first call and its result, before the second of the same id."""
    logger, history, lines = "semantic_kernel.utils.telemetry.model_diagnostics.decorators", [], []
    for given, result in (("Ada", "card 1"), ("Bo", "card 2")):
        call = {"id": "call_0", "function": {"name": "Crm-find", "arguments": json.dumps({"name": given})}}
        asked = {"role": "assistant", "tool_calls": [call], "name": "desk"}
        lines += [{"message": asked}, {"role": "system", "content": "You are the desk.", "name": "desk"}]
        history += [asked, {"role": "tool", "content": result, "tool_call_id": "call_0"}]
        lines += history
    _, told = load(write(tmp_path / "anew.log", *(f"INFO:{logger}:{json.dumps(line)}" for line in lines)))
    assert [(e[1], e[4]) for e in told] == [
        ("C3", '{"name": "Ada"}'),
        ("C4", "card 1"),
        ("C3", '{"name": "Bo"}'),
        ("C4", "card 2"),
    ]


# Recordings


@pytest.mark.real
def test_a_raw_log_says_what_the_corpus_says(shared: Shared, tmp_path: Path) -> None:
    """The text of a log alone, and inside of the object that the corpus has around it."""
    for path in shared("data/mast_human19/*.json"):
        raw = json.loads(path.read_text(encoding="utf-8"))["trace_text"]
        (tmp_path / path.stem).with_suffix(".log").write_text(raw, encoding="utf-8", newline="")
        (source,), told = load((tmp_path / path.stem).with_suffix(".log"))
        assert set(source.dialects) == {"mast-log" if raw.startswith("{") else "agent-text-log"}, path.name
        assert source.container == ("json" if raw.startswith("{") else "text")
        assert [e[1:] for e in told] == [e[1:] for e in load(path)[1]], path.name


# Semantic Kernel log -> events by channel, events with the canary by channel; from reading the logs.
KERNEL: dict[str, tuple[dict[str, int], dict[str, int]]] = {
    "handoff": ({"C1": 1, "C2": 4, "C3": 3, "C4": 3}, {"C3": 1, "C4": 2}),
    "groupchat": ({"C1": 1, "C2": 3, "C3": 1, "C4": 1, "C6": 5}, {"C2": 1, "C4": 1}),
    "magentic": ({"C1": 1, "C2": 5, "C3": 1, "C4": 1, "C6": 5}, {"C2": 1, "C4": 1}),
    "sequential": ({"C1": 1, "C2": 2, "C3": 1, "C4": 1}, {"C4": 1}),
    "legacy": ({"C1": 1, "C2": 3, "C3": 1, "C4": 1}, {"C2": 1, "C4": 1}),
    "plugin": ({"C1": 1, "C2": 4, "C3": 1, "C4": 1}, {"C2": 1, "C4": 1}),
    "plugin_nosens": ({"C2": 4, "C3": 1, "C4": 1}, {"C2": 1}),  # the log cut the result of the tool
}


@pytest.mark.real
@pytest.mark.parametrize("name", KERNEL)
def test_kernel_logs_give_the_events_that_happened(name: str, shared: Shared) -> None:
    (source,), told = load(*shared(f"samples/semantic_kernel/{name}.plain.log"))
    assert (source.container, set(source.dialects)) == ("text", {"sk-text-log"})
    assert set(source.outcomes) == {"mapped", "ignored"}
    assert (dict(Counter(e[1] for e in told)), dict(Counter(e[1] for e in told if CANARY in e[4]))) == KERNEL[name]


@pytest.mark.real
def test_kernel_log_says_who_got_what_in_the_group(shared: Shared) -> None:
    """The lines behind an answer name the members that it reached; a plugin's agent answers the one that called it."""
    group = load(*shared("samples/semantic_kernel/groupchat.plain.log"))[1]
    assert [e[5] for e in group if CANARY in e[4] and e[1] == "C2"] == [
        ["coordinator/declared", "sub_coordinator/declared"]
    ]
    plugin = load(*shared("samples/semantic_kernel/plugin.plain.log"))[1]
    assert [(e[3], e[5]) for e in plugin if CANARY in e[4] and e[1] == "C2"] == [
        ("worker", ["sub_coordinator/structural"])
    ]


@pytest.mark.real
def test_trace_logger_of_a_team_tells_ledgers(shared: Shared) -> None:
    _, told = load(*shared("samples/autogen/magentic_one.agentchat_trace.log"))
    assert [(e[1], e[3], e[5]) for e in told] == [("C6", "MagenticOneOrchestrator", None)] * 3
    (source,), told = load(*shared("samples/autogen/nested_team.agentchat_trace.log"))
    assert (source.outcomes, told) == ({"ignored": 6, "mapped": 0}, [])


@pytest.mark.real
def test_steps_of_a_crew_and_its_outputs(shared: Shared) -> None:
    """The worker's answer stands in its step only; what the coordinator was told stands in its chat."""
    (source,), told = load(*shared("samples/crewai/hierarchical.step_callback.txt"))
    assert source.outcomes == {"mapped": 3}
    assert [(e[1], e[2], e[3]) for e in told] == [
        ("C2", "task_output", None),
        ("C2", "delegation", "coordinator"),
        ("C2", "answer", "sub_coordinator"),
        ("C1", "result", "coordinator"),
    ]
    both = load(*shared("samples/crewai/hierarchical.events.to_json.jsonl"), *shared("samples/crewai/*callback.txt"))
    assert both[0][1].outcomes == {"duplicate": 3, "mapped": 0}


@pytest.mark.real
@pytest.mark.parametrize("folder", ["autogen", "ag2", "crewai", "llamaindex", "semantic_kernel"])
def test_nothing_of_these_frameworks_is_unknown(folder: str, shared: Shared) -> None:
    """What remains unread is a list of files, and lines that are no JSON in JSON lines."""
    for path in shared(f"samples/{folder}/*"):
        (source,), _ = load(path)
        assert not source.outcomes.get("unknown"), path.name
        assert source.dialects or path.name.endswith("disk_tree.txt"), path.name
