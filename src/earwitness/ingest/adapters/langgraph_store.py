"""LangGraph store: rows of `SqliteStore` or `PostgresStore`, the long-term memory that threads share.

Rows of table `store`, from the database file or a dump with the table's name beside them, and items as `search` gives
them (`Item.dict()`). Each says what is kept under which name, and since when. Who wrote it, in which thread, and who
read it is not said: in traces a store shows only as the tool calls that used it. What was overwritten or deleted is
gone. Vectors are not read.

Obtained by: rows of the store's table, or items dumped.
Versions tried: none recorded; after the source of langgraph-checkpoint 4.3.2.
Order: time.
"""

from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import Any

from earwitness.ingest.langchain.unpack import UnpackError, unpack
from earwitness.ingest.record import Context, Emit, Record, Skip
from earwitness.ingest.spans.texts import as_text
from earwitness.ingest.steps import At, Steps
from earwitness.schema.model import Trace

_ITEM = {"namespace", "key", "value", "created_at", "updated_at"}
_SIDE = {"store_vectors": "vectors of what a store keeps"}


class _LangGraphStore:
    NAME = "langgraph-store"
    TITLE = "LangGraph store rows"

    def sniff(self, value: Any) -> bool:
        if not isinstance(value, dict) or not isinstance(value.get("key"), str):
            return False
        if isinstance(value.get("prefix"), str):
            return _table(value) in ("store", *_SIDE)
        return value.keys() >= _ITEM and isinstance(value["value"], dict) and _is_names(value["namespace"])

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(name, str) for name in value)


def _table(row: dict[str, Any]) -> Any:
    return row.get("_table", row.get("table"))


def _read(value: Any) -> Any:
    """What a column of JSON holds, be it text or bytes."""
    try:
        return unpack("json", value)
    except UnpackError:
        return value


class _Reader:
    def __init__(self, context: Context) -> None:
        self.context = context
        self.steps: Steps | None = None

    def feed(self, record: Record) -> Iterator[Emit]:
        row, place = record
        if _table(row) in _SIDE:
            yield Skip("ignored", _SIDE[_table(row)], place)
            return
        value = _read(row.get("value"))
        if value in (None, "", {}, []):
            yield Skip("ignored", "an item without content", place)
        else:
            yield from self._keep(as_text(value), record)

    def _keep(self, text: str, record: Record) -> Iterator[Emit]:
        row = record.value
        at = At(record.place, row.get("updated_at") or row.get("created_at"))
        if self.steps is None:
            trace = f"langgraph-store:{PurePath(self.context.name).name}"
            self.steps = Steps(Trace(id=trace, framework="langgraph", observable=("C5",)), at)
        prefix = row["prefix"] if "prefix" in row else ".".join(row["namespace"])
        store, rest = prefix or "store", {"key": row["key"]}
        self.steps.actor(store, "memory", "declared", record.place)
        name = f"{store}/{row['key']}"
        self.steps.event("C5", text, at, kind="memory_write", to=(store,), id=name, attributes=rest)
        yield from self.steps.drain()

    def finish(self) -> Iterable[Emit]:
        return ()


ADAPTER = _LangGraphStore()
