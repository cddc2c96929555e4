"""Every place of every known value in the texts of events: a match holds the surest place alone."""

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl
import pyarrow as pa

from earwitness.audit.forms.decode import decoded
from earwitness.audit.forms.finder import SCHEMA, Finder
from earwitness.audit.forms.needles import MOST_VARIED, Needles
from earwitness.audit.forms.variant import CONFIRMED
from earwitness.audit.forms.views import View, views
from earwitness.audit.registry import patterns
from earwitness.audit.rulesets import RuleSet
from earwitness.audit.scan import Scanner, batches
from earwitness.schema.case import Case
from earwitness.schema.progress import Progress

_BYTES = 4 << 20
Look = Callable[[pa.Array], pl.DataFrame]

_TEXTS = """
    SELECT content, text FROM contents WHERE content IN (
        SELECT e.content FROM events e JOIN matches m USING (content)
        WHERE m.standing = 'confirmed' AND m.event IS NULL)
"""
# Places of what the audit had found, in the texts it had found it in. Where none comes out it has the match's own.
_KEEP = f"""
    INSERT INTO replay_places
    WITH known AS (
        SELECT m.content, m.value, m.start, m.stop, m.event FROM matches m
        WHERE m.standing = 'confirmed' AND m.content IN (SELECT content FROM events)
    ), found AS (
        SELECT DISTINCT k.content, k.value, p.start, p.stop
        FROM known k JOIN place p USING (content) JOIN owners o ON o.needle = p.needle AND o.value = k.value
        WHERE k.event IS NULL AND (p.sureness * o.confidence >= {CONFIRMED} OR o.form LIKE 'item%')
    )
    SELECT content, value, start, stop, NULL FROM found
    UNION ALL
    SELECT k.content, k.value, k.start, k.stop, k.event FROM known k
    WHERE k.event IS NOT NULL OR (k.content, k.value) NOT IN (SELECT (content, value) FROM found)
"""


def find_places(case: Case, rules: RuleSet, progress: Progress) -> int:
    """Fill `replay_places`; gives their number. Nothing is done where detection has not changed since.

    Args:
        case: after an audit.
        rules: those of the audit.
        progress: told how many bytes were looked at.
    """
    state = f"{case.meta('detected')} {case.meta('annotated')} {case.count('matches')}"
    if case.meta("placed") == state:
        return case.count("replay_places")
    case.clear("replay_places")
    look, owners = _by_forms(case) if rules.forms else _as_written(case, rules)
    case.execute("CREATE OR REPLACE TEMP TABLE place (content UUID, needle BIGINT, start BIGINT, stop BIGINT, "
                 "sureness DOUBLE)")  # fmt: skip
    _look(case, look, progress)
    case.con.register("owners", owners.to_arrow())
    try:
        case.execute(_KEEP)
    finally:
        case.con.unregister("owners")
        case.execute("DROP TABLE place")
    case.set_meta("placed", state)
    return case.count("replay_places")


def _look(case: Case, look: Look, progress: Progress) -> None:
    with case.con.cursor() as reading:
        done = 0
        for ids, texts in batches(reading.sql(_TEXTS).to_arrow_reader(50_000), _BYTES):
            rows = look(texts).to_arrow()
            names = ["needle", "start", "stop", "sureness"]
            columns = [ids.take(rows.column("row")), *(rows.column(n) for n in names)]
            case.insert("place", pa.table(columns, names=["content", *names]))
            done += texts.nbytes
            progress("looking where known values stand", done)


def _as_written(case: Case, rules: RuleSet) -> tuple[Look, pl.DataFrame]:
    """The published rule."""
    needles = patterns(case, rules)
    scanner = Scanner(needles["needle"].to_list(), whole=rules.whole)
    owners = case.frame("SELECT pattern::BIGINT AS needle, value, form, 1.0::DOUBLE AS confidence FROM needles")

    def look(texts: pa.Array) -> pl.DataFrame:
        found = scanner.everywhere(texts).rename({"pattern": "needle"})
        return found.with_columns(pl.lit(1.0).alias("sureness"))

    return look, owners


def _by_forms(case: Case) -> tuple[Look, pl.DataFrame]:
    """Every form; of the values that were found alone."""
    frame = case.frame("""
        SELECT value, attribute, text, aliases FROM vault
        WHERE value IN (SELECT value FROM matches WHERE standing = 'confirmed') ORDER BY value
    """)
    needles = Needles(frame, varied=case.count("vault") <= MOST_VARIED)
    finder = _Everywhere(needles) if needles.needles else None

    def look(texts: pa.Array) -> pl.DataFrame:
        return _also_hidden(finder, texts) if finder else pl.DataFrame(schema=SCHEMA)

    return look, needles.owners


class _Everywhere(Finder):
    """Finds every place of a needle, not only the surest."""

    def _find(self, view: View) -> pl.DataFrame:
        """Hits of a view, one row a place: columns as in `SCHEMA`."""
        hits = self._candidates(view)
        exact = self._equal(view, hits) & self._plain[hits.needle]
        sure = hits.take(np.flatnonzero(exact))
        starts, stops = view.span(sure.at, sure.start, sure.stop)
        columns = {"row": view.rows[sure.at], "needle": sure.needle, "start": starts, "stop": stops}
        frame = pl.DataFrame(columns).with_columns(hits=pl.lit(1, pl.Int64), surface=pl.lit("verbatim"))
        plain = frame.with_columns(sureness=pl.lit(1.0)).cast(SCHEMA)  # type: ignore[arg-type]
        return pl.concat([plain, self._look(view, hits.take(np.flatnonzero(~exact)))])


def _also_hidden(finder: _Everywhere, texts: pa.Array) -> pl.DataFrame:
    """Places in texts and in what is encoded in them."""
    seen: Sequence[View] = list(views(texts))
    plain = finder.find(texts, seen)
    hidden = decoded(texts, everywhere=True)
    if not hidden:
        return plain
    inner = finder.find(pa.array([h.text for h in hidden], pa.large_string()))
    rows = [
        (hidden[row].row, needle, int(hidden[row].start[start]), int(hidden[row].stop[stop - 1]), hits, form, sureness)
        for row, needle, start, stop, hits, form, sureness in inner.iter_rows()
    ]
    return pl.concat([plain, pl.DataFrame(rows, SCHEMA, orient="row")])
