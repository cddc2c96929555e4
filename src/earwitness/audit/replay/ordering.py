"""Joins in the order they are written.

Tables that a transaction has made are empty to DuckDB's optimizer until it is over, so that it may put the largest
where the smallest should stand.
"""

from contextlib import AbstractContextManager

from earwitness.schema.case import Case


def as_written(case: Case) -> AbstractContextManager[None]:
    """Joins stand as they are written: what is read through first, what is looked up behind it."""
    return case.setting("disabled_optimizers", "join_order", "")
