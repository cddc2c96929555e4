"""All recognizers over a column of texts.

Nearly all recognizers look at one line at a time, and traces repeat their lines again and again: texts are cut into
lines, and every distinct line is looked at once. Prefilters run on the whole column; Python sees only what they
matched. In long lines it sees only the neighbourhood of the matches: a prefilter asserts nothing about its
surroundings and is searched leftmost first, so its matches stand where `str.index` finds them one after the other.
"""

from collections.abc import Iterator, Sequence

import polars as pl
import pyarrow as pa

from earwitness.audit.recognizers.base import Found, Recognizer
from earwitness.audit.recognizers.registry import find_recognizers

SPANS = {
    "row": pl.Int64,
    "start": pl.Int64,
    "stop": pl.Int64,
    "recognizer": pl.String,
    "entity": pl.String,
    "attribute": pl.String,
    "value_type": pl.String,
    "confidence": pl.Float64,
    "canonical": pl.String,
    "written": pl.String,
    "strong": pl.Boolean,
}
# Texts up to this length are looked at as a whole; in longer ones a region grows so much where a find touches its end.
_SHORT = 256


def recognize(texts: pa.Array, recognizers: Sequence[Recognizer] | None = None) -> pl.DataFrame:
    """What the recognizers find, one row a span.

    Args:
        texts: Arrow strings; NULLs hold nothing.
        recognizers: all of them, if not given.

    Returns:
        row (of the text), start and stop (code points), recognizer, entity, attribute, value_type, confidence,
        canonical, written (what stands there, where that is not the canonical), strong; by row and start.
    """
    column = pl.Series("text", texts, dtype=pl.String)
    wanted = find_recognizers() if recognizers is None else recognizers
    places, lines = _lines(column)
    found = pl.concat([pl.DataFrame(schema=SPANS), *(_one(lines, r) for r in wanted if not r.whole)])
    apart = [_one(column, r) for r in wanted if r.whole]
    return pl.concat([_placed(found, places), *apart]).sort("row", "start", "stop", "recognizer", "entity")


def _lines(column: pl.Series) -> tuple[pl.DataFrame, pl.Series]:
    """Where each line stands (row, code point, number of the line), and the distinct lines."""
    cut = column.to_frame().with_row_index("row").select("row", pl.col("text").str.split("\n")).explode("text")
    distinct = cut["text"].drop_nulls().unique(maintain_order=True)
    ends = cut.select("row", "text", end=(pl.col("text").str.len_chars() + 1).cast(pl.Int64).cum_sum())
    starts = ends.with_columns(start=pl.col("end").shift(1, fill_value=0))
    first = starts.group_by("row").agg(pl.col("start").first().alias("first"))
    numbered = pl.DataFrame({"text": distinct}).with_row_index("line")
    placed = starts.join(first, on="row").join(numbered, on="text")
    return placed.select("line", row=pl.col("row").cast(pl.Int64), base=pl.col("start") - pl.col("first")), distinct


def _placed(found: pl.DataFrame, places: pl.DataFrame) -> pl.DataFrame:
    """Finds in distinct lines as finds in texts."""
    moved = found.with_columns(line=pl.col("row").cast(pl.UInt32)).drop("row").join(places, on="line")
    return moved.with_columns(pl.col("start") + pl.col("base"), pl.col("stop") + pl.col("base")).select(*SPANS)


def _one(column: pl.Series, recognizer: Recognizer) -> pl.DataFrame:
    rows = column.str.contains(recognizer.prefilter).arg_true()
    held = column.gather(rows)
    long = held.str.len_bytes() > _SHORT
    found: list[tuple[int, str, Found]] = []
    for row, text in zip(rows.filter(~long).to_list(), held.filter(~long).to_list(), strict=True):
        found += [(row, text, f) for f in recognizer.look(text, 0, len(text))]
    held = held.filter(long)
    marks = held.str.extract_all(recognizer.prefilter).to_list()
    for row, text, anchors in zip(rows.filter(long).to_list(), held.to_list(), marks, strict=True):
        for start, stop in _regions(text, anchors, recognizer.reach):
            found += [(row, text, f) for f in _in_region(text, start, stop, recognizer)]
    return _frame(found, recognizer)


def _regions(text: str, marks: list[str], reach: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """Neighbourhoods of the matches, in order; those that touch are one."""
    before, behind = reach
    low, high, at = 0, -1, 0
    for mark in marks:
        at = text.index(mark, at)
        if at - before > high:
            if high >= 0:
                yield low, high
            low = max(at - before, 0)
        at += len(mark)
        high = min(at + behind, len(text))
    yield low, high


def _in_region(text: str, start: int, stop: int, recognizer: Recognizer) -> list[Found]:
    """What lies in a region. Where a find touches its end the region was too small."""
    while True:
        found = list(recognizer.look(text, start, stop))
        if stop >= len(text) or all(f.stop < stop for f in found):
            return found
        stop = min(stop + _SHORT, len(text))


def _frame(found: list[tuple[int, str, Found]], recognizer: Recognizer) -> pl.DataFrame:
    finds = [f for _, _, f in found]
    written = [text[f.start : f.stop] for _, text, f in found]
    columns = {
        "row": [row for row, _, _ in found],
        "start": [f.start for f in finds],
        "stop": [f.stop for f in finds],
        "recognizer": [recognizer.name] * len(finds),
        "entity": [f.entity or recognizer.entity for f in finds],
        "attribute": [f.attribute for f in finds],
        "value_type": [f.value_type or recognizer.value_type for f in finds],
        "confidence": [f.confidence for f in finds],
        "canonical": [f.canonical for f in finds],
        "written": [w if w != f.canonical else None for w, f in zip(written, finds, strict=True)],
        "strong": [f.strong for f in finds],
    }
    return pl.DataFrame(columns, schema=SPANS).unique(
        ("row", "start", "stop", "entity"), keep="first", maintain_order=True
    )
