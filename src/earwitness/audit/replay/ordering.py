"""Joins in the order they are written.

Tables that a transaction has made are empty to DuckDB's optimizer until it is over, so that it may put the largest
where the smallest should stand.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import duckdb

from earwitness.schema.case import Case


@contextmanager
def as_written(case: Case) -> Iterator[None]:
    """Joins stand as they are written: what is read through first, what is looked up behind it."""
    case.execute("SET disabled_optimizers = 'join_order'")
    try:
        yield
    except BaseException:
        with suppress(duckdb.Error):  # a transaction that failed takes no statement any more
            case.execute(_RESET)
        raise
    case.execute(_RESET)


_RESET = "RESET disabled_optimizers"
