"""Rows of LangGraph's checkpointers, from their own tables or a dump of them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from earwitness.ingest.boundary import together
from earwitness.ingest.langchain.checkpoints import Checkpoints, read
from earwitness.ingest.langchain.unpack import ClosedError, CutError, UnpackError, unpack
from earwitness.ingest.record import Emit, Place, Record, Skip
from earwitness.ingest.shelf import Key, Shelf
from earwitness.schema.words import LossKind

# Tables beside those of checkpoints that hold nothing of a run.
_VERSIONS = ("checkpoint_migrations", "store_migrations", "vector_migrations")
_WHERE = ("thread_id", "checkpoint_ns")
_LOST: dict[LossKind, str] = {
    "truncated": "stored values that were cut when they were written down",
    "masked": "stored values that are encrypted or pickled",
    "dropped": "stored values that cannot be read",
}


def kind_of(row: Any) -> str | None:
    """Which table a row is of: `checkpoint`, `write`, `value` (PostgreSQL keeps values apart) or `version`."""
    if not isinstance(row, dict):
        return None
    if row.get("_table") in _VERSIONS and row.keys() <= {"_table", "v"}:
        return "version"
    if not all(isinstance(row.get(key), str) for key in _WHERE):
        return None
    if isinstance(row.get("checkpoint_id"), str):
        if "checkpoint" in row and "parent_checkpoint_id" in row:
            return "checkpoint"
        return "write" if "task_id" in row and isinstance(row.get("channel"), str) and "idx" in row else None
    return "value" if isinstance(row.get("channel"), str) and "version" in row and "blob" in row else None


class _Values:
    """Values that are kept apart from their checkpoints: by namespace, channel and version.

    It knows nothing of the rows, for what stands in a circle takes time and space to be found by the collector.
    """

    def __init__(self) -> None:
        self.shelf = Shelf()
        self._all: dict[tuple[str, str, str], tuple[Key, Place]] = {}

    def put(self, key: tuple[str, str, str], value: Any, place: Place) -> bool:
        """Put a value aside; False if it is there."""
        if key in self._all:
            return False
        self._all[key] = self.shelf.put(value), place
        return True

    def places(self) -> Iterator[Place]:
        """Where they stand."""
        return (place for _, place in self._all.values())

    def filled(self, value: Any) -> Any:
        """A checkpoint with its values put in, where they are kept apart."""
        ns, state = value["config"]["configurable"]["checkpoint_ns"], value["checkpoint"]
        versions = state.get("channel_versions")
        for channel, version in versions.items() if self._all and isinstance(versions, dict) else ():
            shelved = self._all.get((ns, channel, str(version)))
            if shelved and channel not in state["channel_values"]:
                found = self.shelf.get(shelved[0])
                if found is not None:
                    state["channel_values"][channel] = found
        return value


@dataclass
class Saved:
    """The rows of one thread.

    Attributes:
        lost: values that could not be read, by the kind of loss.
    """

    place: Place
    rows: Checkpoints = field(init=False)
    lost: dict[LossKind, int] = field(default_factory=dict)
    _values: _Values = field(default_factory=_Values)

    def __post_init__(self) -> None:
        self.rows = Checkpoints(self.place, self._values.filled)

    def add(self, kind: str, record: Record) -> Skip | None:
        """Put a row aside; what is said of one that cannot be."""
        row, place = record
        column = {"checkpoint": "checkpoint", "value": "blob"}.get(kind) or ("value" if "value" in row else "blob")
        try:
            value = unpack(row.get("type"), row.get(column))
        except UnpackError as error:
            return self._lose(error, place)
        adder = {"checkpoint": self._checkpoint, "write": self._write, "value": self._value}[kind]
        return None if adder(row, value, place) else Skip("duplicate", "the same row was read before", place)

    def _lose(self, error: UnpackError, place: Place) -> Skip:
        kind: LossKind = "dropped"
        if isinstance(error, CutError | ClosedError):
            kind = "truncated" if isinstance(error, CutError) else "masked"
        self.lost[kind] = self.lost.get(kind, 0) + 1
        return Skip("masked" if kind == "masked" else "unparseable", str(error), place)

    def _checkpoint(self, row: dict[str, Any], value: Any, place: Place) -> bool:
        names = (*_WHERE, "checkpoint_id")
        if isinstance(value, dict):  # values may be in a table of their own, and what is left out is empty
            value = {**value, "channel_values": value.get("channel_values") or {}}
        listed = {"config": {"configurable": {name: row[name] for name in names}}, "checkpoint": value}
        return self.rows.add(listed, read(listed, place))

    def _write(self, row: dict[str, Any], value: Any, place: Place) -> bool:
        number = row["idx"] if isinstance(row["idx"], int) else 0
        # Numbers below zero are of errors and interrupts.
        order = (str(row.get("task_path") or ""), str(row["task_id"]), number)
        key = (row["checkpoint_id"], row["checkpoint_ns"])
        return self.rows.add_write(key, order, row["channel"], value, place)

    def _value(self, row: dict[str, Any], value: Any, place: Place) -> bool:
        key = (row["checkpoint_ns"], row["channel"], str(row["version"]))
        return self._values.put(key, value, place)

    def told(self, trace: str, thread: str) -> Iterator[Emit]:
        """The trace; what fails here costs no other."""
        return together(self._tell(trace, thread), self._places())

    def _places(self) -> Iterator[Place]:
        yield from self.rows.places()
        yield from self._values.places()

    def _tell(self, trace: str, thread: str) -> Iterator[Emit]:
        """What could not be read is a part of the trace."""
        ledger = self.rows.graph.dialogue.ledger
        for kind, n in self.lost.items():
            ledger.lose(kind, None, _LOST[kind], n)
        yield from self.rows.tell(trace, thread)

    def close(self) -> None:
        """Give the space back."""
        self._values.shelf.close()
