"""Hides protected values in strings that reports take from traces: names, ids, places.

A value is hidden in whatever form it stands there: case, separators, look-alikes, and inside encodings.
"""

from typing import NamedTuple

import ahocorasick_rs
import numpy as np
import pyarrow as pa

from earwitness.audit.forms.decode import decoded
from earwitness.audit.forms.skeleton import compact, fold, skeleton
from earwitness.schema.case import Case

# Shorter values are in half of all words: masking them would hide the report, not the secret.
SHORTEST = 4
# So many letters and digits are a value whatever stands between them; fewer must stand as they are written.
_SHORTEST_SPACED = 6
# Names come again and again; longer texts would fill the memory.
_LONGEST_KEPT = 1_000


class _Hit(NamedTuple):
    start: int
    stop: int
    number: int


class Mask:
    """Replaces every protected value inside a string by `[attribute #fingerprint]`."""

    def __init__(self, case: Case) -> None:
        rows = case.rows(
            """SELECT needle, min(attribute), min(fingerprint) FROM (
                   SELECT text AS needle, attribute, fingerprint FROM vault
                   UNION ALL SELECT unnest(aliases), attribute, fingerprint FROM vault)
               WHERE length(trim(needle)) >= ? GROUP BY needle ORDER BY needle""",
            [SHORTEST],
        )
        written = {fold(needle.strip()): (attribute, mark or "?") for needle, attribute, mark in rows}
        spaced = {compact(text): name for text, name in written.items()}
        self._written = _Names({t: n for t, n in written.items() if len(t) >= SHORTEST})
        self._spaced = _Names({t: n for t, n in spaced.items() if len(t) >= _SHORTEST_SPACED})
        self._names = [*self._written.names, *self._spaced.names]
        self._known: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        """`text` without any protected value of four characters or more."""
        if not self._names or len(text) < SHORTEST:
            return text
        if len(text) > _LONGEST_KEPT:
            return self._masked(text)
        found = self._known.get(text)
        if found is None:
            found = self._known[text] = self._masked(text)
        return found

    def _masked(self, text: str) -> str:
        for start, stop, number in reversed(_merged(self._hits(text) + self._hidden(text))):
            text = text[:start] + self._label(number) + text[stop:]
        return text

    def _hits(self, text: str) -> list[_Hit]:
        folded = skeleton(np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32))
        shown = "".join(map(chr, folded.codes.tolist()))
        kept = [n for n, c in enumerate(shown) if c.isalnum()]
        whole = [_Hit(int(folded.origin[a]), int(folded.origin[b - 1]) + 1, n) for n, a, b in self._written.find(shown)]
        solid = "".join(shown[n] for n in kept)
        first = len(self._written.names)
        return whole + [
            _Hit(int(folded.origin[kept[a]]), int(folded.origin[kept[b - 1]]) + 1, first + n)
            for n, a, b in self._spaced.find(solid)
        ]

    def _hidden(self, text: str) -> list[_Hit]:
        """Values inside encodings."""
        safe = text.encode("utf-8", "replace").decode()
        return [
            _Hit(int(inner.start[hit.start]), int(inner.stop[hit.stop - 1]), hit.number)
            for inner in decoded(pa.array([safe], pa.large_string()), everywhere=True)
            for hit in self._hits(inner.text)
        ]

    def _label(self, number: int) -> str:
        """The attribute may itself be named after a value: then the fingerprint stands alone."""
        attribute, mark = self._names[number]
        return f"[value #{mark}]" if self._hits(attribute) else f"[{attribute} #{mark}]"


class _Names:
    """Texts to hide and what to write instead."""

    def __init__(self, texts: dict[str, tuple[str, str]]) -> None:
        self.names = list(texts.values())
        self._automaton = ahocorasick_rs.AhoCorasick(list(texts)) if texts else None

    def find(self, text: str) -> list[tuple[int, int, int]]:
        """Number of the text, start and stop."""
        found: list[tuple[int, int, int]] = (
            self._automaton.find_matches_as_indexes(text, overlapping=True) if self._automaton else []
        )
        return found


def _merged(hits: list[_Hit]) -> list[_Hit]:
    """Spans in order; overlapping ones are one, so that no rest of one shows."""
    merged: list[_Hit] = []
    for hit in sorted(hits, key=lambda h: (h.start, -h.stop)):
        if merged and hit.start < merged[-1].stop:
            merged[-1] = merged[-1]._replace(stop=max(merged[-1].stop, hit.stop))
        else:
            merged.append(hit)
    return merged
