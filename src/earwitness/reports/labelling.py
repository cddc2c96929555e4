"""What annotators get to see: a pair with the text around it, protected values hidden unless asked for.

Hidden are the values in scope in all their written forms, and the very span that was found. What a text says in other
words stays: somebody has to read it.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pyarrow as pa

from earwitness.audit.forms.finder import Finder
from earwitness.audit.forms.needles import Needles
from earwitness.audit.labelqueue import Shown, shown
from earwitness.audit.match_forms import find
from earwitness.reports.mask import SHORTEST, Mask
from earwitness.schema.case import Case

_AROUND, _WHOLE = 400, 4000
# A pass hides the first place of every form; a text repeats a value seldom more often.
_PASSES = 24


def cards(case: Case, items: Sequence[str], *, reveal: bool) -> list[dict[str, Any]]:
    """Pairs of the queue as annotators get them: no stratum, no finding, and no value unless revealed."""
    rows = shown(case, items)
    mask: Callable[[str], str] = str if reveal else Mask(case)
    texts = [_excerpt(r) for r in rows] if reveal else _hidden(case, rows, mask)
    return [
        {
            "item": row.item,
            "trace": mask(row.trace),
            "event": mask(row.event),
            "channel": row.channel,
            "attribute": mask(row.attribute),
            "fingerprint": row.fingerprint,
            "value_type": row.value_type,
            "source": mask(row.source) if row.source else None,
            "line": row.line,
            "pointer": mask(row.pointer) if row.pointer else None,
            **({"revealed": True, "value": row.written} if reveal else {}),
            "excerpt": text,
            "label": None,
            "reason": None,
        }
        for row, text in zip(rows, texts, strict=True)
    ]


def write_cards(path: Path, found: Sequence[dict[str, Any]]) -> None:
    """A file of pairs to be labelled, one a line."""
    path.write_bytes(b"".join(msgspec.json.encode(card) + b"\n" for card in found))


def _window(row: Shown) -> tuple[int, int]:
    """The part of the text that is shown: around what was found, or its beginning."""
    if row.start is None or row.stop is None:
        return 0, min(len(row.text), _WHOLE)
    return max(0, row.start - _AROUND), min(len(row.text), min(row.stop, row.start + _WHOLE) + _AROUND)


def _excerpt(row: Shown, inner: str | None = None) -> str:
    """The shown part; `inner` in place of what was found in it."""
    low, high = _window(row)
    cut = ("... " if low else "", " ..." if high < len(row.text) else "")
    if inner is None or row.start is None or row.stop is None:
        return cut[0] + row.text[low:high] + cut[1]
    return cut[0] + row.text[low : row.start] + inner + row.text[min(row.stop, high) : high] + cut[1]


def _hidden(case: Case, rows: Sequence[Shown], mask: Callable[[str], str]) -> list[str]:
    texts = [_excerpt(row, f"[{mask(row.attribute)} #{row.fingerprint}]") for row in rows]
    return [mask(text) for text in _without_forms(case, rows, texts)]


def _without_forms(case: Case, rows: Sequence[Shown], texts: list[str]) -> list[str]:
    """Every written form of every value of the runs in question taken out."""
    frame = case.frame(f"SELECT value, attribute, text, aliases FROM vault WHERE length(trim(text)) >= {SHORTEST}")
    wanted = _in_question(case, rows)
    frame = frame.filter(pl.col("value").is_in(list(wanted)))
    if frame.is_empty():
        return texts
    needles = Needles(frame)
    finder = Finder(needles)
    names = dict(needles.owners.select("needle", "value").unique("needle", keep="first").iter_rows())
    for _ in range(_PASSES):
        hits = find(finder, pa.array(texts, pa.large_string())).filter(pl.col("stop") - pl.col("start") >= SHORTEST)
        if hits.is_empty():
            break
        texts = list(_replaced(texts, hits, {n: wanted[v] for n, v in names.items()}))
    return texts


def _in_question(case: Case, rows: Sequence[Shown]) -> dict[int, str]:
    """The values that may stand in the texts, and what is shown in their place."""
    found = case.rows(
        """SELECT v.value, v.fingerprint FROM vault v WHERE v.scope = 'case'
           UNION SELECT v.value, v.fingerprint FROM vault v JOIN traces t USING (trace)
           WHERE t.trace_id IN (SELECT unnest(?::VARCHAR[]))
           UNION SELECT v.value, v.fingerprint FROM vault v JOIN traces t ON v.scenario = t.scenario
           WHERE v.scope = 'scenario' AND t.trace_id IN (SELECT unnest(?::VARCHAR[]))""",
        [[r.trace for r in rows]] * 2,
    )
    return {value: f"[#{mark}]" for value, mark in found}


def _replaced(texts: list[str], hits: pl.DataFrame, names: dict[int, str]) -> Iterator[str]:
    """Texts with what was found replaced, from the end of each to its beginning."""
    spans: dict[int, list[tuple[int, int, str]]] = {}
    for row, needle, start, stop in hits.select("row", "needle", "start", "stop").iter_rows():
        spans.setdefault(row, []).append((start, stop, names[needle]))
    for row, text in enumerate(texts):
        end = len(text)
        for start, stop, name in sorted(spans.get(row, ()), key=lambda s: (-s[1], s[0])):
            if stop <= end:
                text, end = text[:start] + name + text[stop:], start
        yield text
