"""How a table is declared: columns with their DuckDB and Arrow types, and what they mean."""

from dataclasses import dataclass

import pyarrow as pa

_ARROW: dict[str, pa.DataType] = {
    "BIGINT": pa.int64(),
    "INTEGER": pa.int32(),
    "DOUBLE": pa.float64(),
    "BOOLEAN": pa.bool_(),
    "VARCHAR": pa.string(),
    "VARCHAR[]": pa.list_(pa.string()),
    "TIMESTAMP_NS": pa.timestamp("ns"),
    "UUID": pa.uuid(),
    "JSON": pa.string(),
}


@dataclass(frozen=True)
class Column:
    """A column: name, DuckDB type, meaning."""

    name: str
    type: str
    doc: str
    compression: str | None = None

    @property
    def arrow(self) -> pa.DataType:
        """The Arrow type batches carry this column in."""
        return _ARROW[self.type]

    @property
    def ddl(self) -> str:
        """The column as DuckDB declares it."""
        packed = f" USING COMPRESSION {self.compression}" if self.compression else ""
        return f'"{self.name}" {"VARCHAR" if self.type == "JSON" else self.type}{packed}'


@dataclass(frozen=True)
class Table:
    """A table: name, meaning, the stage that writes it, columns."""

    name: str
    doc: str
    stage: str
    columns: tuple[Column, ...]

    @property
    def arrow(self) -> pa.Schema:
        """The Arrow schema of the table."""
        return pa.schema([(c.name, c.arrow) for c in self.columns])

    @property
    def ddl(self) -> str:
        """The statement that creates the table."""
        return f'CREATE TABLE IF NOT EXISTS "{self.name}" ({", ".join(c.ddl for c in self.columns)})'


def columns(text: str) -> tuple[Column, ...]:
    """`name TYPE meaning`, one a line; `!zstd` after the type sets the compression."""
    out = []
    for line in filter(str.strip, text.splitlines()):
        name, kind, doc = line.strip().split(maxsplit=2)
        kind, _, packed = kind.partition("!")
        out.append(Column(name, kind, doc, packed or None))
    return tuple(out)
