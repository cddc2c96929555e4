"""The tests of significance as an audit's report tells them: every row of `significance`, masked."""

import msgspec

from earwitness.reports.shown import Row, Shown
from earwitness.schema.case import Case

_TESTS = """
    SELECT name, factor, test, grp, levels, statistic, df, p, blocks, excluded, note FROM significance
    ORDER BY length(grp) > 2, name, factor, grp, test DESC
"""
_TEST = ("name", "factor", "test", "group", "levels", "statistic", "df", "p", "blocks", "excluded", "note")


def tests(case: Case) -> list[Row]:
    """Tests over everything first, then those of single cells; empty if nothing could be compared."""
    # A case that is opened read-only may come from before the table.
    if not case.one("SELECT count(*) FROM duckdb_tables() WHERE table_name = 'significance'"):
        return []
    rows = case.rows(_TESTS)
    if not rows:
        return []
    shown = Shown(case)
    return [_told(shown, dict(zip(_TEST, row, strict=True))) for row in rows]


def _told(shown: Shown, row: Row) -> Row:
    """Names of topologies, models and arms are words of a trace."""
    cell = {name: shown.name(v) if isinstance(v, str) else v for name, v in msgspec.json.decode(row["group"]).items()}
    told = {"group": cell, "levels": [shown.name(level) for level in row["levels"]], "note": shown.name(row["note"])}
    return row | told
