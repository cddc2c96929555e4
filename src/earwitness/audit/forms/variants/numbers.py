"""The last four characters of a long number, and numbers of which all but these are masked."""

import re
from collections.abc import Iterator

from earwitness.audit.forms.variant import Variant

_LONG, _LAST = 8, 4
_NUMBERED = re.compile(r"[A-Za-z]{0,6}[-_ #]?[\dxX*+().,/ -]*\d{4}")
_MASKED = re.compile(r"[*xX•-]{2,}[ -]?(\d{4})")


def variants(attribute: str, text: str) -> Iterator[Variant]:
    """The end of a number that is long enough to be told by it."""
    text = text.strip()
    if m := _MASKED.fullmatch(text):
        yield from _masked(m[1], 0.9)
    elif _NUMBERED.fullmatch(text) and sum(c.isdigit() for c in text) >= _LONG:
        yield from _masked(text[-_LAST:], 0.5)


def _masked(last: str, confidence: float) -> Iterator[Variant]:
    yield Variant(last, "last-four", confidence, "cued")
    for stars in ("x", "xx", "xxxx", "xxxxxxxx", "xxxxxxxxxxxx"):
        yield Variant(f"{stars}{last}", "last-four", confidence, "free")
    yield Variant(f"xxx-xx-{last}", "last-four", confidence, "free")
    yield Variant(f"xxxx-xxxx-xxxx-{last}", "last-four", confidence, "free")
