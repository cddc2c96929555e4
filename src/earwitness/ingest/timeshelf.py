"""Records put aside on disk, to be told in order of time."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

from earwitness.ingest.record import Place, Record
from earwitness.ingest.shelf import Key, Shelf
from earwitness.schema.times import to_nanos


class TimeShelf:
    """Takes records in any order and gives them back by time; one without a time stays after the one before it."""

    def __init__(self) -> None:
        self._shelf = Shelf()
        self._index: list[tuple[int, int, Key, Place]] = []
        self._latest = 0

    def add(self, value: Any, place: Place, time: Any) -> None:
        """Put a record aside.

        Raises:
            RecursionError: it is nested too deep.
        """
        key = self._shelf.put(value)
        self._latest = to_nanos(time) or self._latest
        self._index.append((self._latest, len(self._index), key, place))

    def records(self) -> Iterator[Record]:
        """All records, by time; the shelf is empty then."""
        with closing(self._shelf):
            for _, _, key, place in sorted(self._index):
                yield Record(self._shelf.get(key), place)
        self._index = []
