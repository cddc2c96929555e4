"""What stands between the letters and digits of a value, and whether a text that differs in it is still the value.

Both texts are skeletons with the same letters and digits; `12 345` may be 12345 or two numbers, `the rapist` is no
`therapist`, and 1.234 need not be 1234. The rules here decide; each way to differ has a confidence of its own.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from earwitness.audit.forms.variant import Fit


class Surface(NamedTuple):
    """How a text differs from the way a value is written."""

    form: str
    confidence: float


VERBATIM = Surface("verbatim", 1.0)
_SPACE = Surface("whitespace", 0.97)
_SEPARATORS = Surface("separators", 0.95)
_THOUSANDS = Surface("thousands", 0.95)
_POINTED = Surface("thousands", 0.6)
_DECIMAL = Surface("decimal", 0.9)
_JOINED = Surface("joined", 0.85)
_SPACED = Surface("spaced", 0.9)
_SPLIT = Surface("split-list", 0.75)

_PIECES = re.compile(r"([^\W_]|[^\x00-\x7f])([\x00-\x2f\x3a-\x60\x7b-\x7f]*)")
_MARKUP = str.maketrans("", "", "*_`~\"'<>|\\")
_LONGEST_GAP, _SHORTEST_SPLIT, _SHORTEST_JOINED, _ABBREVIATION = 80, 7, 6, 3
_LETTER_GAP = re.compile(r"[\s,_/&()\[\]+-]*")
_DIGIT_GAP = re.compile(r"\s?[-./_:()]{1,3}\s?|\s{1,2}|[)] ?|[ -]?[(]")
_BREAK = re.compile(r"[ \t]*-?\r?\n[ \t]*")
_LIST = re.compile(r"""["']\s*,\s*["']""")
_THOUSAND_SIGNS = frozenset(",.' _")


@lru_cache(maxsize=1 << 16)
def surface(written: str, found: str, fit: Fit) -> Surface | None:
    """How `found` writes `written`, or None if it is something else.

    Args:
        written: skeleton of the value, from its first letter or digit to its last.
        found: the same of the text.
        fit: how exactly it must stand.
    """
    if written == found:
        return VERBATIM
    if fit in ("exact", "cued"):
        return None
    return _compare(_pieces(written), _pieces(found), gapped=fit == "gapped")


def _pieces(text: str) -> list[tuple[str, str]]:
    """Each letter or digit with what follows it; nothing follows the last."""
    return [(m[1], m[2]) for m in _PIECES.finditer(text)]


def _compare(written: list[tuple[str, str]], found: list[tuple[str, str]], *, gapped: bool) -> Surface | None:
    if len(written) != len(found) or any(len(gap) > _LONGEST_GAP for _, gap in found):
        return None
    added = [n for n, (a, b) in enumerate(zip(written, found, strict=True)) if b[1] and not a[1]]
    dropped = [n for n, (a, b) in enumerate(zip(written, found, strict=True)) if a[1] and not b[1]]
    changed = [n for n, (a, b) in enumerate(zip(written, found, strict=True)) if a[1] and b[1] and a[1] != b[1]]
    if gapped and (dropped or any(not _is_break(found[n][1]) for n in added)):
        return None
    steps = (_changed(written, found, changed), _dropped(written, dropped), _added(written, found, added))
    if any(s is None for s in steps):
        return None
    return min((s for s in steps if s), key=lambda s: s.confidence)


def _is_break(gap: str) -> bool:
    return _BREAK.fullmatch(gap) is not None


def _changed(written: list[tuple[str, str]], found: list[tuple[str, str]], at: list[int]) -> Surface | None:
    """Other separators in the same places."""
    worst = VERBATIM
    for n in at:
        step = _other_gap(written, found, n)
        if step is None:
            return None
        worst = min(worst, step, key=lambda s: s.confidence)
    return worst


def _other_gap(written: list[tuple[str, str]], found: list[tuple[str, str]], n: int) -> Surface | None:
    old, new = written[n][1], found[n][1].translate(_MARKUP)
    if not old.strip() and not new.strip():
        return _SPACE
    if ("@" in old) != ("@" in new):
        return None
    left, right = written[n][0], written[n + 1][0]
    if left.isdigit() and right.isdigit():
        return _other_number_gap(old, new)
    if _LETTER_GAP.fullmatch(new) or set(new) <= set(old) | {" ", "\n"}:
        return _SEPARATORS
    return _SEPARATORS if new.strip() == "." and _after_abbreviation(written, n) else None


def _other_number_gap(old: str, new: str) -> Surface | None:
    if {old, new} <= {".", ","}:
        return _DECIMAL
    if old == ".":  # a decimal point is no separator
        return None
    return _SEPARATORS if _DIGIT_GAP.fullmatch(new) or (new == "," and old in _THOUSAND_SIGNS) or not new else None


def _after_abbreviation(written: list[tuple[str, str]], n: int) -> bool:
    """A point after a title or an initial ends no sentence."""
    start = n
    while start > 0 and not written[start - 1][1]:
        start -= 1
    return n - start < _ABBREVIATION


def _dropped(written: list[tuple[str, str]], at: list[int]) -> Surface | None:
    """Separators left out."""
    if not at:
        return VERBATIM
    if len(written) < _SHORTEST_JOINED or any("@" in written[n][1] for n in at):
        return None
    if any(written[n][1] == "." and written[n][0].isdigit() and written[n + 1][0].isdigit() for n in at):
        return None if sum(c.isdigit() for c, _ in written) < 10 or len(at) < 2 else _SEPARATORS
    numbered = all(written[n][0].isdigit() or written[n + 1][0].isdigit() for n in at)
    return _SEPARATORS if numbered else _JOINED


def _added(written: list[tuple[str, str]], found: list[tuple[str, str]], at: list[int]) -> Surface | None:
    """Separators where the value has none."""
    if not at:
        return VERBATIM
    if all(_is_break(found[n][1]) for n in at):
        return _SPACE
    gaps = {found[n][1] for n in at}
    if len(written) > 3 and len(at) == len(written) - 1 and len(gaps) == 1 and len(next(iter(gaps))) <= 2:
        return None if "," in next(iter(gaps)) else _SPACED
    if any(written[n][0].isalpha() and written[n + 1][0].isalpha() for n in at):
        return None
    if all(_LIST.fullmatch(g) for g in gaps):
        return _SPLIT if len(written) >= _SHORTEST_SPLIT else None
    return _split_number(written, found, at)


def _split_number(written: list[tuple[str, str]], found: list[tuple[str, str]], at: list[int]) -> Surface | None:
    inside = [n for n in at if written[n][0].isdigit() and written[n + 1][0].isdigit()]
    if not all(_DIGIT_GAP.fullmatch(found[n][1]) or found[n][1] == "," or found[n][1] == "'" for n in at):
        return None
    if not inside:
        return _SEPARATORS if len(written) >= 5 else None
    if thousands := _thousands(written, found, inside):
        return thousands
    groups = _groups(written, found, inside)
    signs = {found[n][1].strip() for n in inside}
    if "," in signs or "'" in signs or (len(signs) > 1 and not signs <= {"", "-", "(", ")", "."}):
        return None
    enough = len(written) >= _SHORTEST_SPLIT and min(groups[1:], default=0) >= 2
    return _SEPARATORS if enough else None


def _groups(written: list[tuple[str, str]], found: list[tuple[str, str]], inside: list[int]) -> list[int]:
    """Lengths of the groups of digits that the added separators make of the numbers they stand in."""
    lengths, run = [], 0
    for n, (char, gap) in enumerate(found):
        if not char.isdigit():
            run = 0
            continue
        run += 1
        if gap or n == len(found) - 1 or not found[n + 1][0].isdigit():
            lengths.append(run)
            run = 0
    return lengths if len(lengths) > 1 else [len(written)]


def _thousands(written: list[tuple[str, str]], found: list[tuple[str, str]], inside: list[int]) -> Surface | None:
    """Groups of three from the right, all with the same sign."""
    signs = {found[n][1] for n in inside}
    if len(signs) != 1 or not signs <= _THOUSAND_SIGNS:
        return None
    stop = next((n for n, (_, gap) in enumerate(written) if gap in (".", ",") and n >= inside[-1]), len(written) - 1)
    if any((stop - n) % 3 for n in inside) or not all(c.isdigit() for c, _ in written[: stop + 1]):
        return None
    wanted = {n for n in range(stop) if (stop - n) % 3 == 0}
    if wanted != set(inside):
        return None
    return _POINTED if signs == {"."} and len(inside) == 1 and stop == len(written) - 1 else _THOUSANDS
