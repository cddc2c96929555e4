"""Finds needles in contents, in every form: one automaton over letters and digits, then a look at what stands between.

A content is searched once. Where the skeleton of a hit is the needle's own nothing more is asked; where separators
differ, `gaps` decides. Spans are code points of the original text, whatever was folded on the way.
"""

from collections.abc import Sequence
from typing import NamedTuple

import ahocorasick_rs
import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from earwitness.audit.forms.cues import is_cued
from earwitness.audit.forms.edges import Bools, open_edges
from earwitness.audit.forms.gaps import Surface, surface
from earwitness.audit.forms.needles import Needle, Needles
from earwitness.audit.forms.skeleton import Ints
from earwitness.audit.forms.tokens import LONGEST, Tokens
from earwitness.audit.forms.views import Bytes, View, views
from earwitness.audit.scan import Scanner

Floats = npt.NDArray[np.float64]

SCHEMA = {
    "row": pl.Int64,
    "needle": pl.Int64,
    "start": pl.Int64,
    "stop": pl.Int64,
    "hits": pl.Int64,
    "surface": pl.String,
    "sureness": pl.Float64,
}
# Values of fewer letters and digits must stand as they are written: anything else is too easily met by chance.
_SHORTEST_FREE = 4
_CUE_BYTES = 48
# What letters of other scripts or invisible characters cost.
_FOLDED = 0.98


class _Hits(NamedTuple):
    """Candidates: index of the content in the view, needle, and where its core stands in the skeletons."""

    at: Ints
    needle: Ints
    start: Ints
    stop: Ints

    def take(self, which: Ints) -> "_Hits":
        return _Hits(*(column[which] for column in self))


class Finder:
    """Finds needles in contents."""

    def __init__(self, needles: Needles) -> None:
        self.needles = needles
        keys = [k.encode("utf-8", "surrogatepass") for k in needles.keys]
        words = [n for n, key in enumerate(keys) if self._is_word(n, key)]
        self._tokens = Tokens(keys, words) if words else None
        self._long: Ints = np.delete(np.arange(len(keys)), words)
        long = [keys[n] for n in self._long.tolist()]
        self._automaton = ahocorasick_rs.BytesAhoCorasick(long) if long else None
        self._odd = Scanner([text.lower() for _, text in needles.odd], whole=False) if needles.odd else None
        cores = [n.core.encode("utf-8", "surrogatepass") for n in needles.needles]
        self._lengths: Ints = np.array([len(c) for c in cores], np.int64)
        self._offsets: Ints = np.cumsum(self._lengths) - self._lengths
        self._cores: Bytes = np.frombuffer(b"".join(cores) or b"\0", np.uint8)
        self._bare = pl.Series([n.bare for n in needles.needles], dtype=pl.String)
        self._plain = np.array([n.fit not in ("cued",) and not (n.lead or n.trail) for n in needles.needles], np.bool_)

    def _is_word(self, pattern: int, key: bytes) -> bool:
        """Whether a key only counts where it is a whole word."""
        if len(key) > LONGEST or not key.isascii():
            return False
        first, last = self.needles.first[pattern : pattern + 2].tolist()
        fits = {self.needles.needles[n].fit for n in self.needles.of_pattern[first:last].tolist()}
        cores = {self.needles.needles[n].core for n in self.needles.of_pattern[first:last].tolist()}
        whole = len(key) < _SHORTEST_FREE or fits <= {"cued"}
        return whole and all(c.isalnum() for c in cores)

    def find(self, texts: pa.Array, seen: Sequence[View] | None = None) -> pl.DataFrame:
        """Hits, one row a content and needle: columns as in `SCHEMA`, the first and surest place, number of places.

        Args:
            texts: contents.
            seen: their views, if they are at hand.
        """
        frames = [self._named(texts, self._find(view)) for view in seen or views(texts)]
        if self._odd:
            frames.append(self._find_odd(texts))
        return pl.concat(frames) if frames else pl.DataFrame(schema=SCHEMA)

    def _find(self, view: View) -> pl.DataFrame:
        hits = self._candidates(view)
        exact = self._equal(view, hits) & self._plain[hits.needle]
        rest = self._look(view, hits.take(np.flatnonzero(~exact)))
        sure = hits.take(np.flatnonzero(exact))
        frames = [_frame(view, sure, ["verbatim"] * len(sure.at), np.ones(len(sure.at))), rest]
        return _collect(pl.concat(frames))

    def _named(self, texts: pa.Array, hits: pl.DataFrame) -> pl.DataFrame:
        """Hits with the separators of their needle: as written, in other case, or in other characters."""
        if hits.is_empty():
            return hits
        shown = pl.Series(texts.cast(pa.large_string())).gather(hits["row"])
        frame = hits.with_columns(shown.alias("shown"), self._bare.gather(hits["needle"]).alias("bare"))
        found = pl.col("shown").str.slice(pl.col("start"), pl.col("stop") - pl.col("start"))
        plain = pl.col("surface") == "verbatim"
        cased = found.str.to_lowercase() == pl.col("bare").str.to_lowercase()
        how = pl.when(~plain).then("surface").when(found == pl.col("bare")).then(pl.lit("verbatim"))
        return frame.with_columns(
            how.when(cased).then(pl.lit("case")).otherwise(pl.lit("unicode")).alias("surface"),
            pl.when(plain & ~cased).then(_FOLDED).otherwise("sureness").alias("sureness"),
        ).select(list(SCHEMA))

    def _candidates(self, view: View) -> _Hits:
        pattern, start, stop = self._matches(view)
        at = np.searchsorted(view.bounds, start, side="right") - 1
        kept = np.flatnonzero((stop <= view.bounds[at + 1]) & open_edges(view, at, start, stop))
        pattern, start, stop, at = pattern[kept], start[kept], stop[kept], at[kept]
        counts = self.needles.first[pattern + 1] - self.needles.first[pattern]
        number = np.repeat(self.needles.first[pattern], counts) + _ramps(counts)
        spread = np.repeat(np.arange(len(pattern)), counts)
        return _Hits(at[spread], self.needles.of_pattern[number], start[spread], stop[spread])

    def _matches(self, view: View) -> tuple[Ints, Ints, Ints]:
        """Pattern, and where it starts and stops in the skeletons."""
        found = [np.empty((3, 0), np.int64)]
        if self._automaton and view.compact:
            raw = self._automaton.find_matches_as_indexes(view.compact, overlapping=True)
            pattern, first, last = np.array(raw, np.int64).reshape(-1, 3).T
            found.append(np.stack([self._long[pattern], view.kept[first], view.kept[last - 1] + np.int64(1)]))
        if self._tokens:
            found.append(np.stack(self._tokens.find(view)))
        pattern, start, stop = np.concatenate(found, axis=1)
        return pattern, start, stop

    def _equal(self, view: View, hits: _Hits) -> Bools:
        """Whether the skeleton of a hit is that of its needle."""
        lengths = self._lengths[hits.needle]
        same: Bools = (hits.stop - hits.start) == lengths
        at = np.flatnonzero(same)
        lengths = lengths[at]
        if len(at):
            step = _ramps(lengths)
            left = view.data[np.repeat(hits.start[at], lengths) + step]
            right = self._cores[np.repeat(self._offsets[hits.needle[at]], lengths) + step]
            same[at] = np.logical_and.reduceat(left == right, np.cumsum(lengths) - lengths)
        return same

    def _look(self, view: View, hits: _Hits) -> pl.DataFrame:
        """Candidates whose separators are not those of their needle, one by one."""
        kept: list[int] = []
        told: list[Surface] = []
        data = view.data.tobytes() if len(hits.at) else b""
        lows = view.bounds[hits.at]
        for n, (number, low, start, stop) in enumerate(
            zip(*(c.tolist() for c in (hits.needle, lows, hits.start, hits.stop)), strict=True)
        ):
            if how := _surface(self.needles.needles[number], data, low, start, stop):
                kept.append(n)
                told.append(how)
        sureness = np.array([t.confidence for t in told], np.float64)
        return _frame(view, hits.take(np.array(kept, np.int64)), [t.form for t in told], sureness)

    def _find_odd(self, texts: pa.Array) -> pl.DataFrame:
        """Values without letters and digits are looked for as they are."""
        assert self._odd is not None
        numbers = pl.Series([n for n, _ in self.needles.odd], dtype=pl.Int64)
        found = self._odd.scan(texts)
        return found.select(
            pl.col("row").cast(pl.Int64),
            numbers.gather(found["pattern"]).alias("needle"),
            pl.col("start").cast(pl.Int64),
            pl.col("stop").cast(pl.Int64),
            pl.col("hits").cast(pl.Int64),
            pl.lit("verbatim").alias("surface"),
            pl.lit(1.0).alias("sureness"),
        )


def _surface(wanted: Needle, data: bytes, low: int, start: int, stop: int) -> Surface | None:
    """How the skeleton from `start` to `stop` writes a needle, or None."""
    found = data[start:stop].decode("utf-8", "replace")
    if wanted.fit == "cued" and not is_cued(data[max(low, start - _CUE_BYTES) : start].decode("utf-8", "replace")):
        return None
    told = surface(wanted.core, found, wanted.fit)
    signs = len(wanted.lead) + len(wanted.trail)
    short, masked = (
        len(wanted.core) < _SHORTEST_FREE,
        wanted.fit != "cued" and signs > 1 and 2 * signs >= len(wanted.core),
    )
    if told is None or not (short or masked):
        return told
    return told if told.form == "verbatim" and _framed(wanted.lead, wanted.trail, data, start, stop) else None


def _framed(lead: str, trail: str, data: bytes, start: int, stop: int) -> bool:
    """Whether the signs around a short needle stand around the hit: `C++` is not every C."""
    before, after = lead.encode(), trail.encode()
    return data[max(0, start - len(before)) : start] == before and data[stop : stop + len(after)] == after


def _ramps(counts: Ints) -> Ints:
    """0, 1, ... for each count, end to end."""
    return np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)


def _frame(view: View, hits: _Hits, forms: list[str], sureness: Floats) -> pl.DataFrame:
    starts, stops = view.span(hits.at, hits.start, hits.stop)
    columns = {
        "row": view.rows[hits.at],
        "needle": hits.needle,
        "start": starts,
        "stop": stops,
        "hits": np.ones(len(hits.at), np.int64),
        "surface": pl.Series(forms, dtype=pl.String),
        "sureness": sureness,
    }
    return pl.DataFrame(columns, SCHEMA)


def _collect(found: pl.DataFrame) -> pl.DataFrame:
    """One row a content and needle: the surest place, of these the first."""
    if found.is_empty():
        return found
    best = found.sort("sureness", "start", descending=[True, False], maintain_order=True)
    firsts = [pl.col(c).first() for c in ("start", "stop", "surface", "sureness")]
    return best.group_by("row", "needle").agg(*firsts[:2], pl.col("hits").sum(), *firsts[2:]).select(list(SCHEMA))
