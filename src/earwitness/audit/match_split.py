"""Values that were sent in pieces: over the border of two messages, or as fragments in several."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import polars as pl
import pyarrow as pa

from earwitness.audit.forms.finder import SCHEMA, Finder
from earwitness.audit.forms.needles import Needles
from earwitness.audit.forms.skeleton import compact
from earwitness.audit.forms.tokens import Pieces
from earwitness.audit.forms.views import View
from earwitness.schema.case import Case
from earwitness.schema.progress import Progress

# Messages of one sender that follow each other on one channel: the end of the first, the beginning of the second.
_TAIL = 48
_BORDERS = f"""
    SELECT event, content, right(before, {_TAIL}) AS tail, left(text, {_TAIL}) AS head, length(before) > {_TAIL} AS cut
    FROM (
        SELECT e.event, e.content, c.text, lag(c.text) OVER w AS before, lag(e.content) OVER w AS prior
        FROM events e JOIN contents c USING (content)
        WINDOW w AS (PARTITION BY e.trace, e.sender, e.channel ORDER BY e.seq))
    WHERE before IS NOT NULL AND prior <> content
"""


def scan_borders(case: Case, finder: Finder, progress: Progress) -> None:
    """Values that begin in one message and end in the next."""
    progress("scanning borders", 0)
    with case.con.cursor() as reading:
        for batch in reading.sql(_BORDERS).to_arrow_reader(50_000):
            for piece in _crossing(finder, batch):
                case.insert("hit", piece)


def _crossing(finder: Finder, batch: pa.RecordBatch) -> Iterator[pa.Table]:
    rows = pl.DataFrame(pl.from_arrow(batch)).with_row_index("row").with_columns(pl.col("row").cast(pl.Int64))
    joined = rows.select(pl.col("tail") + " " + pl.col("head")).to_series()
    hits = finder.find(joined.to_arrow()).join(
        rows.drop("content").with_columns(pl.col("tail").str.len_chars().cast(pl.Int64).alias("border")), on="row"
    )
    over = hits.filter(
        (pl.col("start") < pl.col("border"))
        & (pl.col("stop") > pl.col("border") + 1)
        & ~(pl.col("cut") & (pl.col("start") == 0))
    )
    if over.is_empty():
        return
    told = over.with_columns(
        pl.lit(0, pl.Int64).alias("start"),
        (pl.col("stop") - pl.col("border") - 1).alias("stop"),
        pl.lit("split").alias("surface"),
        pl.col("sureness") * 0.85,
    )
    names = [c for c in SCHEMA if c != "row"]
    table = told.select(*names, "event").to_arrow()
    yield table.add_column(0, "content", batch.column("content").take(pa.array(told["row"])))


# Identifiers only: the pieces of a phrase are words, and words stand in every message.
_SHORTEST, _LONGEST, _DIGITS, _PIECE = 8, 32, 4, 3
_MOST_PIECES = 2_000_000
_AT_ONCE = 2000  # identifiers that are cut into pieces at a time
# So many steps of the sender's later the first fragment is no longer of the same telling.
_WINDOW = 16
_WHOLE_PIECE = 4
_SURE, _UNSURE = 0.8, 0.65

_FOUND = """
    SELECT e.trace, p.needle, e.sender, e.seq, k.nth, e.event, e.content, p.at, p.length, p.whole
    FROM fragment k JOIN events e USING (content) JOIN piece p USING (token) JOIN owned o USING (needle)
    JOIN vault v USING (value) JOIN traces t ON t.trace = e.trace
    WHERE v.scope = 'case' OR v.trace = e.trace OR (v.scope = 'scenario' AND v.scenario = t.scenario)
    GROUP BY ALL ORDER BY ALL
"""


class _Fragment(NamedTuple):
    """A piece of a needle: where it stands in the value, and in which event."""

    trace: int
    needle: int
    sender: str | None
    seq: int
    nth: int
    event: int
    content: object
    at: int
    length: int
    whole: int


class _Chain(NamedTuple):
    """Fragments so far, in order."""

    since: int
    events: tuple[int, ...]
    shortest: int


class Fragments:
    """Gathers words that are pieces of identifiers while contents are scanned."""

    def __init__(self, case: Case, needles: Needles) -> None:
        self.case, self.needles = case, needles
        found = identifiers(needles)
        self.complete = number_of_pieces(found["key"]) <= _MOST_PIECES
        self.pieces = pieces(found if self.complete else found.clear())
        self._words = Pieces(self.pieces["token"])
        case.execute("CREATE OR REPLACE TEMP TABLE fragment (content UUID, nth BIGINT, token VARCHAR)")

    def find(self, seen: Sequence[View]) -> list[tuple[int, int, str]]:
        """The pieces among the words of a batch: row, place and word."""
        if not self._words:
            return []
        return [(int(view.rows[at]), start, word) for view in seen for at, start, word in self._words.find(view)]

    def keep(self, found: list[tuple[int, int, str]], ids: pa.Array) -> None:
        """Keep what was found in a batch."""
        if found:
            rows, nth, words = zip(*found, strict=True)
            columns = [ids.take(pa.array(rows)), pa.array(nth, pa.int64()), pa.array(words, pa.string())]
            self.case.insert("fragment", pa.table(columns, names=["content", "nth", "token"]))

    def join(self) -> None:
        """Add what the pieces make whole to the hits."""
        owned = self.needles.owners.filter(pl.col("form") == "verbatim").select("needle", "value")
        self.case.con.register("piece", self.pieces.to_arrow())
        self.case.con.register("owned", owned.to_arrow())
        try:
            rows = [_Fragment(*row) for row in self.case.rows(_FOUND)]
        finally:
            self.case.con.unregister("piece")
            self.case.con.unregister("owned")
        for _, run in groupby(rows, key=lambda f: f[:3]):
            for last, sureness in _chained(list(run)):
                self.case.execute(
                    "INSERT INTO hit VALUES (?, ?, 0, 1, 1, 'fragments', ?, ?)",
                    [last.content, last.needle, sureness, last.event],
                )
        self.case.execute("DROP TABLE fragment")


def identifiers(needles: Needles) -> pl.DataFrame:
    """The letters and digits of every identifier, with the number of its needle."""
    base = needles.owners.filter(pl.col("form") == "verbatim")["needle"].unique().sort()
    found = [(n, key) for n in base if _is_identifier(key := compact(needles.needles[n].core))]
    return pl.DataFrame(found, {"needle": pl.Int64, "key": pl.String}, orient="row")


def number_of_pieces(keys: pl.Series) -> int:
    """How many pieces identifiers have: all that are long enough, less those without a digit and the whole."""
    runs = keys.str.extract_all(r"[^0-9]+").explode().drop_nulls()
    return sum(_cuts(keys.str.len_bytes())) - sum(_cuts(runs.str.len_bytes())) - len(keys)


def _cuts(lengths: pl.Series) -> pl.Series:
    """How many parts of at least the length of a piece are in texts of these lengths."""
    starts = (lengths.cast(pl.Int64) - _PIECE + 1).clip(0)
    return starts * (starts + 1) // 2


def pieces(found: pl.DataFrame) -> pl.DataFrame:
    """Every piece of every one of `identifiers`: token, needle, where it begins, how long it and the whole are."""
    sized = found.with_columns(whole=pl.col("key").str.len_bytes().cast(pl.Int64))
    if sized.is_empty():
        return _cut(pl.DataFrame({"needle": [0], "key": [""], "whole": [0]}))
    return pl.concat([_cut(some) for _, alike in sized.group_by("whole") for some in alike.iter_slices(_AT_ONCE)])


def _cut(alike: pl.DataFrame) -> pl.DataFrame:
    """The pieces of some identifiers of one length."""
    whole = int(alike["whole"][0])
    ways = [(at, n) for at in range(whole) for n in range(_PIECE, whole - at + 1) if n < whole]
    places = pl.DataFrame(ways, {"at": pl.Int64, "length": pl.Int64}, orient="row")
    cut = alike.join(places, how="cross").with_columns(token=pl.col("key").str.slice(pl.col("at"), pl.col("length")))
    return cut.filter(pl.col("token").str.contains("[0-9]")).select("token", "needle", "at", "length", "whole")


def _is_identifier(key: str) -> bool:
    return key.isascii() and _SHORTEST <= len(key) <= _LONGEST and sum(map(str.isdigit, key)) >= _DIGITS


def _chained(run: list[_Fragment]) -> Iterator[tuple[_Fragment, float]]:
    """Chains of fragments of one value by one sender that make it whole, over two events or more."""
    open_at: dict[int, _Chain] = {}
    for piece in run:
        before = _Chain(piece.seq, (), piece.length) if piece.at == 0 else open_at.get(piece.at)
        if before is None or piece.seq - before.since > _WINDOW:
            continue
        events = before.events if piece.event in before.events else (*before.events, piece.event)
        chain = _Chain(before.since, events, min(before.shortest, piece.length))
        if piece.at + piece.length < piece.whole:
            open_at[piece.at + piece.length] = chain
        elif len(events) > 1:
            yield piece, _SURE if len(events) == 2 and chain.shortest >= _WHOLE_PIECE else _UNSURE
