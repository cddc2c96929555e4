"""Which pieces of a text were replaced, and what stands in their place in the text as it would have been delivered.

A replay keeps changed texts and not their pieces. What was cut out follows from the tasks alone and is found anew, by
the function that cuts, without a key; between the pieces the changed text is the text as recorded. Where that fits in
several ways (two replacements with nothing unmistakable between them) the pieces are told as one.
"""

from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from earwitness.audit.transform.shapes import Spot, look
from earwitness.audit.transform.splice import transform
from earwitness.audit.transform.words import Outcome, Piece, Task


class Cut(NamedTuple):
    """A piece that was replaced.

    Attributes:
        start: first code point in the text as recorded, and
        stop: one past its last.
        asked: the action that was asked for.
        span: the first and last code point of the tasks it answers, as `replay_exceptions` has them.
    """

    start: int
    stop: int
    asked: str
    span: tuple[int, int]


class Stretch(NamedTuple):
    """One cut or several beside each other, and where in the changed text stands what replaced them.

    Attributes:
        cuts: in order.
        low: first code point in the changed text, and
        high: one past its last.
    """

    cuts: tuple[Cut, ...]
    low: int
    high: int


class _Outline:
    """Replaces nothing: where pieces begin and end does not depend on what replaces them."""

    def outcome(self, shown: str, task: Task, spot: Spot) -> Outcome:
        """The text itself."""
        return Outcome(shown, "fpe")


def cuts(text: str, tasks: Sequence[Task]) -> list[Cut]:
    """The pieces of a text that its tasks replace, in order."""
    made = transform(text, tasks, _Outline()).pieces
    if made and made[0].asked == "block":
        return [Cut(0, len(text), "block", (min(t.start for t in tasks), max(t.stop for t in tasks)))]
    shape, found = look(text), []
    for numbers, some in groupby(made, key=lambda piece: piece.tasks):
        mine, group = [tasks[n] for n in numbers], list(some)
        wide = [shape.widen(max(t.start, 0), min(t.stop, len(text))) for t in mine]
        spots = shape.spots(min(a for a, _ in wide), max(b for _, b in wide))
        span = min(t.start for t in mine), max(t.stop for t in mine)
        found += [Cut(spot.start, spot.stop, piece.asked, span) for spot, piece in _paired(spots, group)]
    return found


def joined_cuts(text: str, tasks: Sequence[Task]) -> list[Cut]:
    """The pieces that another program replaces, of whose way with finds that meet nothing is assumed.

    Finds that overlap, or have nothing but blanks between them, are one piece, whatever comes to stand there.
    """
    found: list[Cut] = []
    for task in sorted(tasks, key=lambda t: (t.start, t.stop)):
        last = found[-1] if found else None
        if last and not text[last.stop : task.start].strip():
            stop = max(last.stop, task.stop)
            found[-1] = last._replace(stop=stop, span=(last.start, stop))
        else:
            found.append(Cut(task.start, task.stop, task.action, (task.start, task.stop)))
    return found


def _paired(spots: Sequence[Spot], pieces: Sequence[Piece]) -> list[tuple[Spot, Piece]]:
    return list(zip(spots, pieces, strict=True))


def stretches(text: str, changed: str, found: Sequence[Cut]) -> list[Stretch] | None:
    """Where in a changed text stands what replaced each cut; None if it cannot have been made from these cuts."""
    if not found:
        return [] if text == changed else None
    edges = [0, *(edge for cut in found for edge in (cut.start, cut.stop)), len(text)]
    gaps = [text[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True)]
    first, last = _from_left(changed, gaps), _from_right(changed, gaps)
    if first is None or last is None:
        return None
    # A gap whose place is certain closes a stretch.
    ends = [n for n, gap in enumerate(gaps) if first[n] == last[n] and (gap or n in (0, len(gaps) - 1))]
    return [Stretch(tuple(found[a:b]), first[a] + len(gaps[a]), first[b]) for a, b in pairwise(ends)]


def _from_left(changed: str, gaps: Sequence[str]) -> list[int] | None:
    """Where each gap stands at the earliest; the first at the beginning, the last at the end."""
    if not changed.startswith(gaps[0]) or not changed.endswith(gaps[-1]):
        return None
    places, at = [0], len(gaps[0])
    for gap in gaps[1:-1]:
        found = changed.find(gap, at)
        if found < 0:
            return None
        places.append(found)
        at = found + len(gap)
    end = len(changed) - len(gaps[-1])
    return [*places, end] if at <= end else None


def _from_right(changed: str, gaps: Sequence[str]) -> list[int] | None:
    """Where each gap stands at the latest."""
    places, at = [len(changed) - len(gaps[-1])], len(changed) - len(gaps[-1])
    for gap in reversed(gaps[1:-1]):
        at = changed.rfind(gap, 0, max(at, 0))
        if at < 0:
            return None
        places.append(at)
    return [0, *reversed(places)] if at >= len(gaps[0]) else None
