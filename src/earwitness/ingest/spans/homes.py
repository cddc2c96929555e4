"""In which traces the spans of an import stand, and which of them name a parent: columns, for there may be millions.

They are asked when all spans are there. An id is a number of 64 bits: its hex digits, or a digest of another text.
"""

from array import array
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

# Ids below this were counted, not drawn by lot: every process begins with them.
_COUNTED = 1 << 32
_DIGITS = 16


class Stray(NamedTuple):
    """A parent in one other trace: the trace of those that name it, its home, where the first of them is, how many."""

    trace: int
    home: int
    first: int
    n: int


class Homes:
    """Traces are numbers from 0 on; `settle` comes between the last `note` and the first question."""

    def __init__(self) -> None:
        self._ids, self._traces = array("Q"), array("i")
        self._parents, self._children, self._firsts = array("Q"), array("i"), array("q")
        self._short = set[int]()
        self._known: tuple[npt.NDArray[Any], npt.NDArray[Any]] = np.empty(0, np.uint64), np.empty(0, np.int32)
        self._counting = np.zeros(0, bool)

    def note(self, trace: int, span_id: str, parent_id: str | None, where: int) -> None:
        """A span; `where` is what a `Stray` tells it by."""
        self._ids.append(_number(span_id))
        self._traces.append(trace)
        if parent_id:
            number = _number(parent_id)
            self._parents.append(number)
            self._children.append(trace)
            self._firsts.append(where)
            if number >= _COUNTED and len(parent_id) < _DIGITS:
                self._short.add(number)

    def settle(self, traces: int) -> None:
        """All spans of so many traces were noted: put their ids in order."""
        ids, homes = np.array(self._ids, np.uint64), np.array(self._traces, np.int32)
        self._ids, self._traces = array("Q"), array("i")
        order = np.lexsort((homes, ids))
        ids, homes = ids[order], homes[order]
        again = np.zeros(len(ids), bool)
        again[1:] = (ids[1:] == ids[:-1]) & (homes[1:] == homes[:-1])
        ids, homes = self._known = ids[~again], homes[~again]
        shared = np.zeros(len(ids), bool)
        shared[1:] = ids[1:] == ids[:-1]
        shared[:-1] |= shared[1:]
        # Traces that share ids of spans come from processes that count them.
        self._counting = np.zeros(traces, bool)
        self._counting[homes[shared]] = True

    def knows(self, span_id: str) -> bool:
        """Whether a span of this id was recorded in any trace."""
        return len(self._of(span_id)) > 0

    def holds(self, trace: int, span_id: str) -> bool:
        """Whether it was in this one."""
        return trace in self._of(span_id)

    def home(self, trace: int, parent_id: str) -> int | None:
        """The one other trace in which the parent of a span was recorded."""
        number, homes = _number(parent_id), self._of(parent_id)
        if len(homes) != 1 or homes[0] == trace or number < _COUNTED or len(parent_id) < _DIGITS:
            return None
        return None if self._counting[[trace, homes[0]]].all() else int(homes[0])

    def strays(self) -> Iterator[Stray]:
        """Every parent that stands elsewhere, once a trace that names it, in order of appearance; told once."""
        parents, children, firsts = (np.array(c) for c in (self._parents, self._children, self._firsts))
        self._parents, self._children, self._firsts = array("Q"), array("i"), array("q")
        ids, homes = self._known
        at = np.searchsorted(ids, parents)
        one = np.searchsorted(ids, parents, "right") - at == 1
        home = homes[np.where(one, at, 0)] if len(homes) else children
        apart = ~(self._counting[home] & self._counting[children])
        rows = np.flatnonzero(one & (home != children) & (parents >= _COUNTED) & apart)
        found: dict[tuple[int, int], list[int]] = {}
        for row in rows.tolist():
            if int(parents[row]) not in self._short:
                found.setdefault((int(children[row]), int(parents[row])), []).append(row)
        for (trace, _), named in found.items():
            yield Stray(trace, int(home[named[0]]), int(firsts[named[0]]), len(named))

    def _of(self, span_id: str) -> npt.NDArray[Any]:
        """The traces of the spans with an id."""
        ids, homes = self._known
        number = np.uint64(_number(span_id))
        return homes[np.searchsorted(ids, number) : np.searchsorted(ids, number, "right")]


def _number(span_id: str) -> int:
    if len(span_id) == _DIGITS and span_id.isascii() and span_id.isalnum():
        try:
            return int(span_id, 16)
        except ValueError:
            pass
    return int.from_bytes(blake2b(span_id.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
