"""LangChain event streams: what `astream_events(...)` yields, v1 and v2, one event a line.

Written by users: `json.dumps` of each event, whatever encoder they used. An event has `event`, `name`, `run_id`,
`parent_ids`, `metadata` and `data`. There are no times; run ids of version 7 hold the start. v1 has no parents, so
the outermost run that is open is taken as the parent, or the only tool that is open for the runs of another agent.
What nested agents do shows in full. What an earlier run of the same import said is history
in a later one of its thread.

Obtained by: `async for event in graph.astream_events(...)`, each event dumped.
Versions tried: langchain-core 1.8.3, events v1 and v2.
Order: file order; starts from the ids of runs.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from earwitness.ingest.langchain.eventbook import EventBook, is_event
from earwitness.ingest.langchain.runbook import Runbook
from earwitness.ingest.record import Context, Emit, Record, Skip


class _LangChainEvents:
    NAME = "langchain-events"
    TITLE = "LangChain astream_events"

    def sniff(self, value: Any) -> bool:
        return is_event(value)

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


class _Reader:
    def __init__(self, context: Context) -> None:
        self.book = Runbook(context)
        self.events = EventBook(self.book)

    def feed(self, record: Record) -> Iterable[Emit]:
        nothing = self.events.take(record.value, record.place)
        if nothing:
            yield Skip("ignored", nothing, record.place)

    def finish(self) -> Iterator[Emit]:
        yield from self.book.tell()


ADAPTER = _LangChainEvents()
