"""Inspect (UK AISI) evaluation logs: `.eval` files (a ZIP of JSON), JSON logs, and bare transcripts of events.

Written by `inspect eval` into `logs/`; `inspect log dump` turns `.eval` into JSON. Each sample is one record and one
trace (`log/sample/epoch`): model outputs, tool events (C3 and C4 in one), store changes (C5), reasoning and loggers
(C6), with sub-agents told by spans. Long texts stand in `attachments` and are put back. Without a transcript it is
read from its messages. Agents have the names of their spans; a run without agent spans has one, called `assistant`.

Cannot show: artifacts; model calls outside a transcript. Scores come after the run and are not told.

Obtained by: `inspect eval`, which writes to `logs/`.
Versions tried: logs in the tests of UKGovernmentBEIS/inspect_ai at commit 499e615.
Order: file order of the events, with times.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from earwitness.ingest.inspect_events import Sample, tell_events, tell_messages
from earwitness.ingest.jsonrpc import log_name
from earwitness.ingest.record import Context, Emit, Place, Record, Skip, is_array
from earwitness.ingest.script import MALFORMED, Script, digest, is_name

_EVENTS = frozenset(
    ("span_begin", "span_end", "sample_init", "model", "tool", "store", "state", "score", "step", "info", "logger")
)
_PLACEHOLDER = "..."


class _InspectAi:
    NAME = "inspect-ai"
    TITLE = "Inspect evaluation log"
    PRIORITY = 30
    # Members of an `.eval` file are sources of their own; the header of one names the samples of the others.
    READER = "inspect-ai"
    PIECES = ("/samples",)

    def sniff(self, value: Any) -> bool:
        if not isinstance(value, dict):
            return False
        return _is_log(value) or _is_sample(value) or _is_rest(value) or _is_transcript(value)

    def split(self, record: Record) -> Iterator[Record]:
        value, place = record
        if not _is_log(value):
            yield record
            return
        yield Record({**value, "samples": None}, place)
        samples = value.get("samples")
        for n, sample in enumerate(samples if is_array(samples) else ()):
            yield Record({"_sample": sample, "_eval": value["eval"]}, place.at(f"/samples/{n}"))

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


def _is_log(value: dict[str, Any]) -> bool:
    return isinstance(value.get("eval"), dict) and "task" in value["eval"] and "plan" in value


def _is_sample(value: dict[str, Any]) -> bool:
    return {"id", "epoch", "input", "target", "messages"} <= value.keys()


def _is_rest(value: dict[str, Any]) -> bool:
    """Summaries and reductions, which repeat the samples."""
    return {"id", "epoch", "input", "target"} <= value.keys() or value.keys() == {"scorer", "samples"}


def _is_transcript(value: dict[str, Any]) -> bool:
    events = value.get("events")
    first = events[0] if isinstance(events, list) and events else None
    return isinstance(first, dict) and str(first.get("event")) in _EVENTS and "run_id" not in value


class _Reader:
    def __init__(self, context: Context) -> None:
        self.context = context
        self.evals: dict[str, dict[str, Any]] = {}

    def feed(self, record: Record) -> Iterable[Emit]:
        value, place = record
        try:
            return self._feed(value, place)
        except MALFORMED as error:
            return [Skip("unparseable", f"no Inspect log as known: {type(error).__name__}", place)]

    def finish(self) -> Iterable[Emit]:
        return ()

    def _feed(self, value: dict[str, Any], place: Place) -> list[Emit]:
        archive = self.context.name.rpartition("!")[0] or self.context.name
        if _is_log(value):
            self.evals.setdefault(archive, value["eval"])
            return [Skip("ignored", "header of a log: settings and totals", place)]
        if "_sample" in value:
            return self._sample(value["_sample"], value["_eval"], place)
        if _is_sample(value):
            return self._sample(value, self.evals.get(archive, {}), place)
        if _is_rest(value):
            return [Skip("ignored", "summary of samples", place)]
        return self._told(Script(self._unnamed(value), place), {"events": value["events"]}, {})

    def _sample(self, sample: dict[str, Any], given: dict[str, Any], place: Place) -> list[Emit]:
        # One run may hold many tasks, so that its id names no log.
        known = (given.get(key) for key in ("eval_id", "task_id"))
        log = next((k for k in known if is_name(k) and k != _PLACEHOLDER), None) or self._unnamed(sample)
        return self._told(Script(f"{log}/{sample['id']}/{sample.get('epoch', 1)}", place), sample, given)

    def _unnamed(self, value: dict[str, Any]) -> str:
        archive = self.context.name.rpartition("!")[0] or self.context.name
        return f"{log_name(archive)}/{digest(value)}"

    def _told(self, script: Script, value: dict[str, Any], given: dict[str, Any]) -> list[Emit]:
        if not self.context.claim("inspect-ai", script.trace):
            return [Skip("duplicate", "the same sample was read before", script.place)]
        task = given.get("task")
        script.head(
            "inspect_ai",
            scenario=task if is_name(task) and task != _PLACEHOLDER else None,
            model=given.get("model"),
            started_at=given.get("created"),
            observable=("C1", "C2", "C3", "C4", "C5", "C6"),
        )
        transcript = value.get("transcript") or {}
        sample = Sample(script, value.get("attachments") or transcript.get("content") or {})
        events, at = (
            (value["events"], "/events") if value.get("events") else (transcript.get("events"), "/transcript/events")
        )
        if events:
            tell_events(sample, events, at)
        else:
            tell_messages(sample, value["messages"], "/messages")
        return script.made


ADAPTER = _InspectAi()
