"""From canonical items to the tables of a case, in Arrow batches; one thread decodes while another writes."""

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa

from earwitness.ingest.columns import Places, array
from earwitness.ingest.record import Made, Skip, Source
from earwitness.ingest.rows import Numbers, rows_of
from earwitness.schema.case import Case
from earwitness.schema.model import Line
from earwitness.schema.tables import arrow_schema

BATCH_ITEMS = 20_000
BATCH_BYTES = 16 << 20
# Tables whose batches go on at once; rows of the others are collected, for an insert costs more than they do.
_LARGE = frozenset({"contents", "events", "deliveries", "sightings"})
# Batches that may wait for the writing thread; each is as large as a block of input.
_WAITING = 8


class Writer:
    """Takes items in any order and appends them to the case.

    Args:
        case: with an open transaction; nobody else may use it until `flush`.
    """

    def __init__(self, case: Case) -> None:
        self.case = case
        self.numbers = Numbers.of(case)
        self._made: list[Made] = []
        self._sources: list[int] = []
        self._skips: list[tuple[int, Skip]] = []
        self._bytes = 0
        self._small: dict[tuple[str, ...], list[pa.Table]] = {}
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="earwitness-writer")
        self._pending: list[Future[Any]] = []

    def add(self, made: Made, source: Source) -> None:
        """Take one item."""
        self._made.append(made)
        self._sources.append(source.number)
        content = getattr(made[0], "content", None)
        if content:
            self._bytes += len(content)
        if len(self._made) >= BATCH_ITEMS or self._bytes >= BATCH_BYTES:
            self.write()

    def write(self) -> None:
        """Hand the buffer on."""
        made, sources = self._made, self._sources
        self._made, self._sources, self._bytes = [], [], 0
        if made:
            items, places = zip(*made, strict=True)
            self.add_many(items, Places.of(sources, places))
        if self._skips:
            skips, self._skips = self._skips, []
            self._write_skips(skips)

    def add_many(self, items: Sequence[Line], places: Places) -> None:
        """Take many items with their places at once."""
        types = list(map(type, items))
        kinds = list(dict.fromkeys(types))
        if len(kinds) == 1:
            self._add_kind(kinds[0], items, places)
            return
        code = {kind: n for n, kind in enumerate(kinds)}
        codes = np.fromiter(map(code.__getitem__, types), np.int64, len(items))
        for kind, n in code.items():
            at = np.flatnonzero(codes == n)
            self._add_kind(kind, [items[i] for i in at.tolist()], places.take(at))

    def _add_kind(self, kind: type, items: Sequence[Line], places: Places) -> None:
        for table, columns in rows_of(kind, items, places, self.numbers):
            self.insert(table, columns)

    def skip(self, skip: Skip, source: Source) -> None:
        """Take a record that was not mapped."""
        self._skips.append((source.number, skip))
        if len(self._skips) >= BATCH_ITEMS:
            self.write()

    def _write_skips(self, skips: list[tuple[int, Skip]]) -> None:
        outcomes, reasons, places = zip(*(skip for _, skip in skips), strict=True)
        lines, offsets, lengths, pointers, _ = zip(*places, strict=True)
        self.insert(
            "records",
            {
                "source": [number for number, _ in skips],
                "line": lines,
                "offset": offsets,
                "length": lengths,
                "pointer": [pointer or None for pointer in pointers],
                "outcome": outcomes,
                "reason": reasons,
            },
        )

    def insert(self, table: str, columns: dict[str, Any]) -> None:
        """Append columns to a table, in the background. Columns may be lists, numpy or Arrow arrays."""
        fields = [f for f in arrow_schema(table) if f.name in columns]
        batch = pa.table([array(columns[f.name], f.type) for f in fields], names=[f.name for f in fields])
        waiting = self._small.setdefault((table, *batch.column_names), [])
        waiting.append(batch)
        if table in _LARGE or sum(b.num_rows for b in waiting) >= BATCH_ITEMS:
            self._hand_on(table, waiting)

    def _hand_on(self, table: str, waiting: list[pa.Table]) -> None:
        batch = pa.concat_tables(waiting) if len(waiting) > 1 else waiting[0]
        waiting.clear()
        self._pending.append(self._pool.submit(self.case.insert, table, batch))
        while len(self._pending) > _WAITING:
            self._pending.pop(0).result()

    def flush(self) -> None:
        """Write what is buffered and wait until everything is in the case.

        Raises:
            Whatever writing raised.
        """
        self.write()
        for (table, *_), waiting in self._small.items():
            if waiting:
                self._hand_on(table, waiting)
        while self._pending:
            self._pending.pop(0).result()

    def close(self) -> None:
        """Stop the writing thread, whatever happened."""
        self._pool.shutdown(wait=True, cancel_futures=True)
