"""LangGraph checkpointer tables: the database of `SqliteSaver`, or rows of it in a dump.

The file that `SqliteSaver.from_conn_string(...)` writes, as it is (with its `-wal` file checkpointed: close the program
or run `PRAGMA wal_checkpoint`), or rows of `checkpoints` and `writes` as JSON, whichever way bytes are spelled in it
(hex, Base64, Python). Rows of `PostgresSaver` (`checkpoints`, `checkpoint_blobs`, `checkpoint_writes`) are read too.
It is what `langgraph-checkpoints` reads from a checkpointer's `list()`, and gives the same events: the state of
every namespace, and what tasks wrote to it. Values are MessagePack; no class named in it is imported or built, and
what is pickled or encrypted stays closed. What was streamed or logged is not in it, nor is a store.

Obtained by: the file of `SqliteSaver`, or rows of the tables dumped.
Versions tried: langgraph-checkpoint-sqlite 3.1.2.
Order: steps of the checkpoints, with times.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from earwitness.ingest.langchain.saved import Saved, kind_of
from earwitness.ingest.langchain.threads import trace_id
from earwitness.ingest.record import Context, Emit, Record, Skip


class _LangGraphSqlite:
    NAME = "langgraph-sqlite"
    TITLE = "LangGraph checkpointer tables (SQLite, PostgreSQL)"

    def sniff(self, value: Any) -> bool:
        return kind_of(value) is not None

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


class _Reader:
    def __init__(self, context: Context) -> None:
        self.context = context
        self.threads: dict[str, Saved] = {}

    def feed(self, record: Record) -> Iterable[Emit]:
        kind = kind_of(record.value)
        if kind is None or kind == "version":
            yield Skip("ignored", "the version of the tables", record.place)
            return
        thread = record.value["thread_id"]
        if thread not in self.threads:
            self.threads[thread] = Saved(record.place)
        try:
            skip = self.threads[thread].add(kind, record)
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
            skip = Skip("unparseable", f"not a checkpoint as known: {type(error).__name__}", record.place)
        if skip:
            yield skip

    def finish(self) -> Iterator[Emit]:
        for name, saved in self.threads.items():
            yield from saved.told(trace_id(self.context, name), name)
            saved.close()


ADAPTER = _LangGraphSqlite()
