"""LangGraph streams: what `graph.stream(...)` yields, written down one record a line.

Written by users (`json.dumps` of each item, mostly as JSONL) and by LangGraph Server (SSE, or SDK chunks
`{"id", "event", "data"}`). Known: dicts and lists of namespace, mode and data (v1), `{"type", "ns", "data"}` (v2),
`{"method", "params"}` (events v3), debug records, and bare updates `{node: {...}}`. Mode `events` of the server tells
more than all others, which are copies beside it.

Which channels show depends on the modes: `updates` without `subgraphs=True` does not show what happens inside of
nested graphs (tool calls, results, thoughts), and no mode shows a store except as the tool calls that used it.

Obtained by: `graph.stream(...)` dumped, or the stream of LangGraph Server.
Versions tried: langgraph 1.2.24 and 0.3.34, langgraph-api 0.16.7.
Order: file order; times in some modes.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from earwitness.ingest.langchain import frames
from earwitness.ingest.langchain.frames import Frame
from earwitness.ingest.langchain.threads import Thread, trace_id
from earwitness.ingest.record import Context, Emit, Record, Skip


class _LangGraphStream:
    NAME = "langgraph-stream"
    TITLE = "LangGraph stream"

    def sniff(self, value: Any) -> bool:
        return frames.sniff(value)

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


class _Reader:
    def __init__(self, context: Context) -> None:
        self.context = context
        self.threads: list[Thread] = []

    def feed(self, record: Record) -> Iterable[Emit]:
        frame = frames.read(record.value)
        if frame is None:
            yield Skip("unknown", "a stream record of no known mode", record.place)
            return
        try:
            nothing = self._thread(frame, record).take(frame, record.place)
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
            yield Skip("unparseable", f"not a stream record as known: {type(error).__name__}", record.place)
            return
        if nothing:
            yield Skip("ignored", nothing, record.place)

    def _thread(self, frame: Frame, record: Record) -> Thread:
        """A record that names another thread begins one."""
        last = self.threads[-1] if self.threads else None
        if last is None or (frame.thread and last.name and frame.thread != last.name):
            last = Thread(record.place)
            self.threads.append(last)
        last.name = last.name or frame.thread
        last.run = last.run or frame.run
        return last

    def finish(self) -> Iterator[Emit]:
        for thread in self.threads:
            trace = trace_id(self.context, thread.name or thread.run)
            yield from thread.told(trace)


ADAPTER = _LangGraphStream()
