"""Trace text on a terminal: hostile until proven plain."""

from rich.markup import escape


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
