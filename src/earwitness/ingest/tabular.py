"""Tables as records: Parquet files and SQLite databases, a row a record."""

import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from earwitness.ingest.record import Place, Record, Skip
from earwitness.ingest.stream import Readable

_ROWS = 256
_CHUNK = 1 << 20
_NAMES = """
    SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY rowid
"""


def parquet_rows(stream: Readable) -> Iterator[Record | Skip]:
    """Rows of a Parquet file as objects; `line` counts rows."""
    import pyarrow.parquet as pq

    with tempfile.TemporaryFile() as file:
        while chunk := stream.read(_CHUNK):
            file.write(chunk)
        file.seek(0)
        try:
            for number, row in enumerate(_batches(pq.ParquetFile(file)), start=1):
                yield Record(row, Place(number, 0, 0, f"/{number - 1}"))
        except (pa.ArrowException, OSError) as error:
            yield Skip("unparseable", f"not a readable Parquet file: {type(error).__name__}", Place(0, 0, 0))


def _batches(file: Any) -> Iterator[dict[str, Any]]:
    for batch in file.iter_batches(batch_size=_ROWS):
        yield from batch.to_pylist()


def sqlite_rows(stream: Readable) -> Iterator[Record | Skip]:
    """Rows of every table as objects with the table's name under `_table`; `line` counts rows of the table.

    Tables come in the order they were made, rows in theirs. The copy is opened read-only; nothing in it is run.
    """
    with tempfile.TemporaryDirectory(prefix="earwitness-") as folder:
        path = Path(folder) / "copy.db"
        with path.open("wb") as file:
            while chunk := stream.read(_CHUNK):
                file.write(chunk)
        connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
        try:
            yield from _tables(connection)
        except sqlite3.Error as error:
            yield Skip("unparseable", f"not a readable SQLite database: {type(error).__name__}", Place(0, 0, 0))
        finally:
            connection.close()


def _tables(connection: sqlite3.Connection) -> Iterator[Record]:
    connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    for (table,) in connection.execute(_NAMES).fetchall():
        quoted = table.replace('"', '""')
        cursor = connection.execute(f'SELECT * FROM "{quoted}"')
        names = [c[0] for c in cursor.description]
        for number, row in enumerate(cursor, start=1):
            value = {"_table": table, **dict(zip(names, row, strict=True))}
            yield Record(value, Place(number, 0, 0, f"/{table}/{number - 1}"))
