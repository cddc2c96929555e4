"""LangGraph checkpoints: state histories and checkpoint lists, newest first.

`json.dumps` of `graph.get_state_history(config)` (snapshots become nameless arrays of eight), of a checkpointer's
`list()` (arrays of five, or dicts), and the answer of LangGraph Server at `/threads/{id}/history`. They show the
state and what tasks wrote to it, in steps. A history holds the outermost graph alone: what happened inside of nested
graphs is not in it; a checkpoint list holds every namespace. What was streamed or logged is in none.

Obtained by: `graph.get_state_history(...)`, a checkpointer's `list()`, or `/threads/{id}/history`.
Versions tried: langgraph 1.2.24, langgraph-api 0.16.7.
Order: steps of the checkpoints, with times.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from earwitness.ingest.langchain.checkpoints import Checkpoints, is_checkpoint, read
from earwitness.ingest.langchain.threads import trace_id
from earwitness.ingest.record import Context, Emit, Record, Skip


class _LangGraphCheckpoints:
    NAME = "langgraph-checkpoints"
    TITLE = "LangGraph checkpoints and state history"

    def sniff(self, value: Any) -> bool:
        return is_checkpoint(value)

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


class _Reader:
    def __init__(self, context: Context) -> None:
        self.context = context
        self.threads: dict[str, Checkpoints] = {}

    def feed(self, record: Record) -> Iterable[Emit]:
        try:
            checkpoint = read(record.value, record.place)
        except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
            yield Skip("unparseable", f"not a checkpoint as known: {type(error).__name__}", record.place)
            return
        if checkpoint.thread not in self.threads:
            self.threads[checkpoint.thread] = Checkpoints(record.place)
        thread = self.threads[checkpoint.thread]
        if not thread.add(record.value, checkpoint):
            yield Skip("duplicate", "the same checkpoint was read before", record.place)

    def finish(self) -> Iterator[Emit]:
        for name, thread in self.threads.items():
            yield from thread.told(trace_id(self.context, name), name)


ADAPTER = _LangGraphCheckpoints()
