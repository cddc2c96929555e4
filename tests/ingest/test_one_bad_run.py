"""A run that cannot be told, between two that can: the others are told in full, and the accounts say what is lost."""

import importlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from earwitness.ingest.boundary import Guarded, together
from earwitness.ingest.loader import Loader
from earwitness.ingest.record import Adapter, Context, Emit, Made, Place, Record, Skip, Source
from earwitness.schema.case import Case
from earwitness.schema.model import Event, Loss, Trace

GOLDEN = Path(__file__).parent.parent / "golden" / "ingest"
SECRET = "MRN-55-102"
REASON = "of a run that could not be told: TypeError"


class Format(NamedTuple):
    """A format of which three runs are made from a sample of one.

    Attributes:
        sample: the run.
        tells: the module that tells run by run.
        keys: those whose values are other ones in each run.
        part: a part of ids that begins with another figure in each run.
        named: a key that every record is given, with the number of the run.
        files: each run has a file of its own.
        fed: some of a run is told as soon as it is fed; that stays.
    """

    sample: str
    tells: str
    keys: str = ""
    part: str = ""
    named: str = ""
    files: bool = False
    fed: bool = False


EVENTS = "event_id|parent_event_id|previous_event_id|started_event_id|triggered_by_event_id"
ADK = "id|invocation_id|invocationId|session_id|sessionId|event_id|insert_id"
FORMATS = (
    Format("ag2-event-log/one-agent.in.jsonl", "adapters.ag2_event_log", "created_at|id|parent_id", files=True),
    Format("ag2-hub/names.in.jsonl", "adapters.ag2_hub", "channel_id|envelope_id"),
    Format(
        "ag2-logger/group-chat-tables.in.jsonl", "adapters.ag2_logger", "session_id|agent_id|source_id|name|source_name"
    ),
    Format("autogen-core-log/team.in.jsonl", "adapters.autogen_core_log", "id|full_message_id", "1111-2222"),
    Format("autogen-stream/missing_tool.in.jsonl", "adapters.autogen_stream", "id", files=True),
    Format("autogen-text-log/replies.in.log", "adapters.autogen_text_log", files=True),
    Format("chat-messages/items.in.jsonl", "dialogue", named="session_id", fed=True),
    Format("claude-code/refused.in.jsonl", "claude_code.reader", "sessionId|uuid|parentUuid"),
    Format("claude-stream/run.in.jsonl", "claude_code.reader", "session_id|uuid"),
    Format("codex-exec/turn.in.jsonl", "codex.reader", "thread_id", files=True),
    Format("codex-rollout/thread.in.jsonl", "codex.reader", "id", files=True),
    Format("crewai-events/refused-calls.in.jsonl", "crewai.reader", EVENTS),
    Format("crewai-output/two-tasks.in.json", "crewai.outputs", "raw", files=True),
    Format("gemini-cli/session.in.jsonl", "adapters.gemini_cli", "sessionId|agentId"),
    Format("google-adk-bigquery/agent_tool.in.jsonl", "adk_row", ADK, fed=True),
    Format("google-adk-events/transfer.in.jsonl", "adk_session", ADK, fed=True),
    Format("langchain-callbacks/agent.in.jsonl", "langchain.runbook", "run_id|parent_run_id"),
    Format("langchain-messages/to_dict_and_dumps.in.jsonl", "adapters.langchain_messages"),
    Format("langgraph-checkpoints/checkpoint_list.in.jsonl", "langchain.checkpoints", "thread_id"),
    Format("langgraph-sqlite/postgres.in.jsonl", "langchain.saved", "thread_id"),
    Format("langgraph-stream/v2_tasks.in.jsonl", "langchain.threads", "thread_id", files=True),
    Format("langgraph-updates/human_answers.in.jsonl", "langchain.threads", files=True),
    Format("langsmith-runs/rows.in.jsonl", "langchain.runbook", "id|trace_id|parent_run_id|dotted_order"),
    Format(
        "llamaindex-instrumentation/events-and-spans.in.jsonl", "adapters.llamaindex_instrumentation", "id_", "RunQ"
    ),
    Format("openai-agents-session/rows.in.jsonl", "dialogue", "session_id", fed=True),
    Format("openai-agents-trace/handoff.in.jsonl", "adapters.openai_agents_trace", "id|trace_id|parent_id"),
    Format("otlp-spans/genai-delegation.in.jsonl", "spans.reader", "traceId|spanId|parentSpanId"),
    Format("pydantic-ai-history/history.in.json", "dialogue", "conversation_id|run_id", fed=True),
    Format("sk-messages/missing-function.in.jsonl", "kernelruns", files=True),
    Format("sk-runtime/group-chat.in.jsonl", "adapters.sk_runtime", part="0123456789abcdef012345"),
)


def _runs(form: Format, folder: Path) -> list[Path]:
    """Files with three runs; their order is that of their names."""
    text = (GOLDEN / form.sample).read_text("utf-8")
    name, suffix = form.tells.rpartition(".")[2], Path(form.sample).suffix
    runs = []
    for n in "123":
        run = re.sub(rf"""(\\?"(?:{form.keys or "-"})\\?": ?\\?"?)(?=\w)(?!null)""", rf"\g<1>{n}", text)
        run = run.replace(form.part, f"{n}{form.part[1:]}") if form.part else run
        run = re.sub(r"^\{", f'{{"{form.named}": "{n}", ', run, flags=re.MULTILINE) if form.named else run
        runs.append(run.strip() + "\n")
    paths = [folder / f"{name}-{n}{suffix}" for n in ("a", "b", "c")] if form.files else [folder / f"{name}{suffix}"]
    for path, told in zip(paths, runs if form.files else ["".join(runs)], strict=True):
        path.write_text(told, "utf-8")
    return paths


def _load(paths: list[Path]) -> tuple[list[Source], dict[str, list[tuple[Any, ...]]], list[tuple[Any, ...]]]:
    """Sources, rows by trace, and records that were not mapped."""
    with Case() as case:
        sources = Loader(case).load(paths)
        rows: dict[str, list[tuple[Any, ...]]] = {
            t: [] for (t,) in case.rows("SELECT trace_id FROM traces ORDER BY trace")
        }
        for sql in (
            "SELECT t.trace_id, 'event', e.seq, e.channel, e.kind, e.flags, c.text FROM events e "
            "JOIN traces t USING (trace) LEFT JOIN contents c USING (content) ORDER BY ALL",
            "SELECT t.trace_id, 'sighting', s.seq, s.kind, c.text FROM sightings s "
            "JOIN traces t USING (trace) LEFT JOIN contents c USING (content) ORDER BY ALL",
            "SELECT t.trace_id, 'loss', l.kind, l.channel, l.detail, l.n FROM losses l "
            "JOIN traces t USING (trace) ORDER BY ALL",
        ):
            for trace, *row in case.rows(sql):
                rows[trace].append(tuple(row))
        skipped = case.rows("SELECT source, line, outcome, reason FROM records ORDER BY ALL")
    return sources, rows, skipped


@pytest.mark.parametrize("form", FORMATS, ids=lambda f: f.sample.partition("/")[0])
def test_the_runs_before_and_after_are_told_in_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: Format
) -> None:
    paths = _runs(form, tmp_path)
    _, whole, skipped = _load(paths)
    traces = [trace for trace, rows in whole.items() if rows]
    assert len(traces) >= 3, traces
    bad = traces[1]
    module = importlib.import_module(f"earwitness.ingest.{form.tells}")
    monkeypatch.setattr(module, "together", _breaking(bad))
    sources, told, lost = _load(paths)
    for trace in traces:
        if trace != bad:
            assert told[trace] == whole[trace], trace
    assert len([row for row in told.get(bad, ()) if row[0] != "loss"]) < len(whole[bad])
    new = [row for row in lost if row not in skipped]
    assert form.fed or (new and {row[2] for row in new} == {"unparseable"})
    assert {row[3] for row in new} <= {REASON}
    for source in sources:
        assert sum(source.outcomes.values()) == source.records
        assert min(source.outcomes.values()) >= 0
        assert source.problem is None


def _breaking(bad: str) -> Any:
    """What tells runs, but for one at whose first item it stumbles."""

    def stumbling(emits: Iterable[Emit], trace: str | None) -> Iterator[Emit]:
        for emit in emits:
            item = emit.item if isinstance(emit, Made) else None
            if bad in (trace, item.id if isinstance(item, Trace) else getattr(item, "trace", None)):
                raise TypeError(SECRET)
            yield emit

    def brittle(emits: Iterable[Emit], places: Iterable[Place], trace: str | None = None) -> Iterator[Emit]:
        return together(stumbling(emits, trace), places, trace)

    return brittle


HEAD, AT = Trace(id="t"), [Place(n + 1, 50 * n, 50, "", 0) for n in range(4)]


def _said(text: str, place: Place) -> Made:
    return Made(Event(trace="t", channel="C6", content=text), place)


class Once:
    """A reader of one run that breaks over one of its records; what it tells when it is fed, it tells of no other."""

    def __init__(self) -> None:
        self.kept: list[Record] = []

    def feed(self, record: Record) -> Iterable[Emit]:
        if record.value == "end":
            yield from self.finish()
        else:
            self.kept.append(record)

    def finish(self) -> Iterator[Emit]:
        kept, self.kept = self.kept, []
        return together(self._told(kept), (record.place.at("/inner") for record in kept))

    def _told(self, kept: list[Record]) -> Iterator[Emit]:
        yield Made(HEAD, AT[0])
        for record in kept:
            if record.value == "break":
                raise TypeError(SECRET)
            if record.value != "mute":
                yield _said(record.value, record.place.at("/text"))


class OnceAdapter:
    NAME = "once"
    TITLE = "a format of one run"

    def sniff(self, value: Any) -> bool:
        return True

    def open(self, context: Context) -> Once:
        return Once()


def _fed(*values: str) -> tuple[list[Emit], list[Emit]]:
    """What comes when the values are fed, and what at the end."""
    adapter: Adapter = OnceAdapter()
    guarded = Guarded(Once())
    fed = [
        emit for place, value in zip(AT, values, strict=False) for emit in guarded.feed(adapter, Record(value, place))
    ]
    return fed, list(guarded.close({0: Source("s")}))


def test_what_was_told_of_a_run_stays_and_a_loss_says_that_there_was_more() -> None:
    _, told = _fed("a", "break", "c", "d")
    assert [e.place.line for e in told if isinstance(e, Skip)] == [2, 3, 4]
    assert [e.item.content for e in told if isinstance(e, Made) and isinstance(e.item, Event)] == ["a"]
    (loss,) = [e.item for e in told if isinstance(e, Made) and isinstance(e.item, Loss)]
    assert (loss.trace, loss.kind, loss.channel) == ("t", "dropped", None)
    assert SECRET not in str(told)


def test_a_run_of_which_nothing_was_told_but_its_name_loses_all_of_its_records() -> None:
    _, told = _fed("break", "b")
    assert [(e.outcome, e.reason, e.place.line) for e in told if isinstance(e, Skip)] == [
        ("unparseable", REASON, 1),
        ("unparseable", REASON, 2),
    ]


def test_a_run_that_fails_when_its_last_record_is_fed_loses_those_before() -> None:
    fed, told = _fed("a", "break", "end")
    assert not [e for e in fed if isinstance(e, Skip)]
    assert [e.place.line for e in told if isinstance(e, Skip)] == [2]


def test_a_run_that_can_be_told_has_neither_losses_nor_lost_records() -> None:
    _, told = _fed("a", "mute", "c")
    assert not [e for e in told if isinstance(e, Skip) or isinstance(e.item, Loss)]
