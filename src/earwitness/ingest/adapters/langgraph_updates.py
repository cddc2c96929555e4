"""LangGraph updates, bare: `json.dumps` of what `graph.stream(..., stream_mode="updates")` yields.

One record a step: `{node: what it returned}`, without mode or namespace. It is the recording that shows least: what
happens inside of nested graphs is not in it (no tool calls, results or thoughts of a worker whose last message alone
comes back), nor who was sent what. A record is known by messages or an interrupt in it; records without them are
taken only where the file holds others with them.

Obtained by: `graph.stream(..., stream_mode="updates")` dumped.
Versions tried: langgraph 1.2.24.
Order: file order; no times.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from earwitness.ingest.fingerprints import name_foreign
from earwitness.ingest.langchain.frames import Frame, is_update, sniff_update
from earwitness.ingest.langchain.threads import Thread, trace_id
from earwitness.ingest.record import Context, Emit, Record, Skip


class _LangGraphUpdates:
    NAME = "langgraph-updates"
    TITLE = "LangGraph stream of updates, bare"
    PRIORITY = 99

    def sniff(self, value: Any) -> bool:
        return sniff_update(value)

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


class _Reader:
    def __init__(self, context: Context) -> None:
        self.context = context
        self.waiting: list[Record] = []
        self.thread: Thread | None = None

    def feed(self, record: Record) -> Iterable[Emit]:
        """Records that could be of any format wait for one that is of this."""
        if self.thread is None and not is_update(record.value):
            self.waiting.append(record)
            return
        self.thread = self.thread or Thread((self.waiting or [record])[0].place)
        for known in (*self.waiting, record):
            nothing = self.thread.take(Frame("updates", [], known.value, bare=True), known.place)
            if nothing:
                yield Skip("ignored", nothing, known.place)
        self.waiting.clear()

    def finish(self) -> Iterator[Emit]:
        for record in self.waiting:
            yield Skip("unknown", name_foreign(record.value), record.place)
        if self.thread:
            yield from self.thread.told(trace_id(self.context, None))


ADAPTER = _LangGraphUpdates()
