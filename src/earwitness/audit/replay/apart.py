"""A second case beside the one at hand, for texts that were never recorded; both have to do with less memory."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from earwitness.schema.case import Case

_MEMORY = "200MB"
_ROWS = 20_000


@contextmanager
def apart(case: Case, tables: Mapping[str, str]) -> Iterator[Case]:
    """An empty case in a file that is gone afterwards, its tables filled by queries over `case`."""
    with (
        case.confined(_MEMORY),
        tempfile.TemporaryDirectory(prefix="earwitness-") as folder,
        Case(Path(folder) / "apart.duckdb") as other,
        other.confined(_MEMORY),
    ):
        carry(case, other, tables)
        yield other


def carry(source: Case, target: Case, tables: Mapping[str, str]) -> None:
    """Append to tables of one case what queries over another give, a batch at a time."""
    for table, query in tables.items():
        for batch in source.con.sql(query).to_arrow_reader(_ROWS):
            target.insert(table, pa.Table.from_batches([batch]))
