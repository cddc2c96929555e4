"""Runs of several traces while their records come in, in any order of start and end."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from earwitness.ingest.langchain.messages import Msg, holders, read_message
from earwitness.ingest.langchain.runs import Run
from earwitness.ingest.langchain.telling import tell
from earwitness.ingest.record import Context, Emit, Place, Skip


class Runbook:
    """Runs by id.

    Args:
        context: of the import.
        framework: what the traces say they are of.
    """

    def __init__(self, context: Context, framework: str = "langchain") -> None:
        self.context = context
        self.framework = framework
        self.runs: dict[str, Run] = {}
        self._pool: dict[Msg, Msg] = {}

    def run(self, run_id: str, place: Place) -> Run:
        """The run of an id; made when it is new, and then of the place where it was first seen."""
        if run_id not in self.runs:
            self.runs[run_id] = Run(run_id, place=place, order=f"{len(self.runs):09d}")
        return self.runs[run_id]

    def put(self, run: Run, key: str, value: Any) -> None:
        """Keep inputs or outputs: histories repeat their messages, so each message is kept once."""
        raw = run.kind == "tool" and key == "inputs"  # arguments are words, not messages
        merge(run, key, value if raw else self._compact(value))

    def _compact(self, value: Any, depth: int = 6) -> Any:
        """A value with its messages read, where messages have their places."""
        msg = read_message(value)
        if msg is not None:
            return self._pool.setdefault(msg, msg)
        if isinstance(value, list) and depth:
            return [self._compact(item, depth - 1) for item in value]
        if isinstance(value, dict) and depth:
            places = holders(value)
            return {k: self._compact(v, depth - 1) if k in places else v for k, v in value.items()}
        return value

    def tell(self) -> Iterator[Emit]:
        """All traces, in order of appearance."""
        traces: dict[str, list[Run]] = {}
        for run in self.runs.values():
            traces.setdefault(run.trace or self._root(run), []).append(run)
        for trace, runs in traces.items():
            graph = any("langgraph_node" in r.metadata for r in runs)
            framework = "langgraph" if graph else self.framework
            yield from safely(tell(runs, self._fresh(trace), framework), [r.place for r in runs])

    def _root(self, run: Run) -> str:
        seen = {run.id}
        at = run
        while at.parent in self.runs and at.parent not in seen:
            at = self.runs[at.parent]
            seen.add(at.id)
        return at.parent or at.id

    def _fresh(self, trace: str) -> str:
        """The same trace in two files of one import is told twice, under two names."""
        if self.context.claim("langchain-trace", trace):
            return trace
        return f"{trace}@{self.context.name.rpartition('/')[2]}"


def safely(items: Iterator[Emit], places: list[Place]) -> list[Emit]:
    """The items of a trace; if its records are of no shape known, they are reported as such and give no items."""
    try:
        return list(items)
    except (KeyError, TypeError, AttributeError, ValueError, IndexError, RecursionError) as error:
        reason = f"a trace of no known shape: {type(error).__name__}"
        records = {(p.source, p.line, p.offset): p for p in reversed(places)}  # a record may hold several runs
        return [Skip("unparseable", reason, place) for place in records.values()]


_TEXTS = ("kind", "name", "parent", "trace", "order", "call_id", "model")
_TIMES = ("start", "end")


def merge(run: Run, key: str, value: Any) -> None:
    """Keep what a record adds: later records fill in, they do not empty, and what is no text names nothing."""
    if value in (None, "", {}, []) or (key in _TEXTS and not isinstance(value, str)):
        return
    if isinstance(value, datetime):  # from a table
        value = value.isoformat()
    if key in _TIMES and (isinstance(value, bool) or not isinstance(value, str | int | float)):
        return
    setattr(run, key, value)
