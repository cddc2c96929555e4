"""Records put aside on disk, to be told in order of time."""

import tempfile
from collections.abc import Iterator
from typing import Any

import msgspec

from earwitness.ingest.record import Place, Record
from earwitness.schema.times import to_nanos


class TimeShelf:
    """Takes records in any order and gives them back by time; one without a time stays after the one before it."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the shelf
        self._index: list[tuple[int, int, int, int, Place]] = []
        self._latest = 0

    def add(self, value: Any, place: Place, time: Any) -> None:
        """Put a record aside.

        Raises:
            RecursionError: it is nested too deep.
        """
        data = msgspec.json.encode(value)
        self._latest = to_nanos(time) or self._latest
        self._index.append((self._latest, len(self._index), self._file.tell(), len(data), place))
        self._file.write(data)

    def records(self) -> Iterator[Record]:
        """All records, by time; the shelf is empty then."""
        for _, _, offset, length, place in sorted(self._index):
            self._file.seek(offset)
            yield Record(msgspec.json.decode(self._file.read(length)), place)
        self._file.close()
        self._index = []
