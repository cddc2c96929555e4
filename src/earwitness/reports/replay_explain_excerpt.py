"""The text around a place, as recorded and as it would have been delivered, with values and replacements named.

Nothing of a value is shown: whatever a registry or a recognizer knows stands as a name in brackets, replacements stand
as their kind and length, and what is left goes through the mask.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

Mask = Callable[[str], str]

# So much is read on either side, so that no value that begins in what is shown can be cut; so much of it is shown.
_FAR, _NEAR = 600, 60
# Of several values on one another so many are named.
_NAMES = 3
_SPACE = re.compile(r"\s+")


class Label(NamedTuple):
    """A span of the text as recorded, what to write in its place, and whether that names a known value."""

    start: int
    stop: int
    shown: str
    known: bool = False


class _Token(NamedTuple):
    start: int
    stop: int
    shown: str
    whole: bool


def around(text: str, focus: tuple[int, int], labels: Iterable[Label], mask: Mask) -> str:
    """The text around a span, labels in place of what they cover.

    Args:
        text: as recorded.
        focus: the span.
        labels: in order, none over another; see `settled` and `replaced`.
        mask: for the words between.
    """
    low, high = max(0, focus[0] - _FAR), min(len(text), focus[1] + _FAR)
    tokens = [
        token if token.whole else token._replace(shown=mask(token.shown))
        for token in _tokens(text, low, high, [k for k in labels if k.start < high and k.stop > low], focus)
    ]
    before = [t for t in tokens if t.stop <= focus[0]]
    behind = [t for t in tokens if t.start >= focus[1] and t not in before]
    inside = [t for t in tokens if t not in before and t not in behind]
    left = _cut([t._replace(shown=t.shown[::-1]) for t in reversed(before)], before[:1], 0)
    right = _cut(behind, behind[-1:], len(text))
    return _SPACE.sub(" ", left[::-1] + "".join(t.shown for t in inside) + right).strip()


def _tokens(text: str, low: int, high: int, labels: Sequence[Label], focus: tuple[int, int]) -> Iterator[_Token]:
    """Labels, and the text between them, which ends where the focus begins and where it ends."""
    at = low
    for start, stop, shown, _ in [*labels, Label(high, high, "")]:
        edges = [at, *(f for f in focus if at < f < start), start]
        yield from (_Token(a, b, text[a:b], False) for a, b in pairwise(edges) if a < b)
        if stop > start:
            yield _Token(start, stop, shown, True)
        at = max(at, stop)


def _cut(tokens: Sequence[_Token], last: Sequence[_Token], end: int) -> str:
    """So much of some tokens as is shown; dots where there is more. Labels are never cut."""
    out: list[str] = []
    size = 0
    for token in tokens:
        if size >= _NEAR:
            return "".join(out) + "..."
        if not token.whole and size + len(token.shown) > _NEAR:
            return "".join(out) + token.shown[: _NEAR - size] + "..."
        out.append(token.shown)
        size += len(token.shown)
    complete = not last or end in (last[0].start, last[0].stop)
    return "".join(out) + ("" if complete else "...")


def near(labels: Iterable[Label], focus: tuple[int, int]) -> list[Label]:
    """Labels that may be seen from a span."""
    return [k for k in labels if k.start < focus[1] + _FAR and k.stop > focus[0] - _FAR]


def settled(labels: Iterable[Label]) -> list[Label]:
    """Labels in order, none over another: known values, and what of other finds lies outside of them.

    Of several that overlap one is made, named after the widest of them.
    """
    every = set(labels)
    return replaced(_merged([k for k in every if not k.known]), _merged([k for k in every if k.known]))


def _merged(labels: Iterable[Label]) -> list[Label]:
    groups: list[list[Label]] = []
    stop = -1
    for label in sorted(labels, key=lambda k: (k.start, -k.stop, k.shown)):
        if groups and label.start < stop:
            groups[-1].append(label)
        else:
            groups.append([label])
        stop = max(stop, label.stop)
    return [_joined(group) for group in groups]


def _joined(group: Sequence[Label]) -> Label:
    names = list(dict.fromkeys(k.shown for k in sorted(group, key=lambda k: k.start - k.stop)))
    return Label(group[0].start, max(k.stop for k in group), "".join(names[:_NAMES]), group[0].known)


def replaced(labels: Sequence[Label], pieces: Sequence[Label]) -> list[Label]:
    """Labels of the text as it would have been delivered: pieces, and what of the labels lies outside of them."""
    out = list(pieces)
    for label in labels:
        at = label.start
        for piece in pieces:
            if piece.stop <= at or piece.start >= label.stop:
                continue
            if piece.start > at:
                out.append(_part(label, at, piece.start))
            at = max(at, piece.stop)
        if at < label.stop:
            out.append(_part(label, at, label.stop))
    return sorted(out, key=lambda k: k.start)


def _part(label: Label, start: int, stop: int) -> Label:
    whole = (start, stop) == (label.start, label.stop)
    shown = f"[part of {label.shown.strip('[]')}]" if label.known and not whole else label.shown
    return Label(start, stop, shown, label.known)
