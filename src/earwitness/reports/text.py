"""Trace text on a terminal: hostile until proven plain."""

import re

from rich.markup import escape

_DIGITS = re.compile(r"(\d+)")


def plain(text: object) -> str:
    """Text without control characters (a trace must not steer the terminal) and without rich markup."""
    shown = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in str(text))
    return escape(shown)


def percent(rate: float | None) -> str:
    """A fraction as percent with two decimals."""
    return "-" if rate is None else f"{100 * rate:.2f}"


def interval(low: float, high: float) -> str:
    """An interval of fractions as percent."""
    return f"[{100 * low:.2f}, {100 * high:.2f}]"


def natural(name: str) -> list[tuple[int, int, str]]:
    """A key that sorts `P2P-4` before `P2P-10`."""
    parts = _DIGITS.split(name)
    return [(0, int(p), "") if p.isdecimal() and p.isascii() else (1, 0, p) for p in parts if p]
