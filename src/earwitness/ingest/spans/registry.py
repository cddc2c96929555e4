"""Dialects are found, not listed: every module of `earwitness.ingest.spans.dialects`."""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Protocol, cast

from earwitness.ingest.spans import dialects
from earwitness.ingest.spans.facts import Facts
from earwitness.ingest.spans.span import Span


class Dialect(Protocol):
    """A module of `earwitness.ingest.spans.dialects`.

    Attributes:
        NAME: what reports call it.
        PRIORITY: lower is asked first.
    """

    NAME: str
    PRIORITY: int

    def matches(self, span: Span) -> bool:
        """Whether the span's attributes are of this dialect; cheap, never raises."""
        ...

    def facts(self, span: Span) -> Facts:
        """What the span says."""
        ...


@cache
def find_dialects() -> tuple[Dialect, ...]:
    """All dialects, those of lower `PRIORITY` first."""
    modules = [import_module(f"{dialects.__name__}.{m.name}") for m in iter_modules(dialects.__path__)]
    found = [cast("Dialect", m) for m in modules]
    return tuple(sorted(found, key=lambda d: (d.PRIORITY, d.NAME)))


def facts_of(span: Span) -> Facts | None:
    """What the first dialect that knows a span says of it; None for a plain span."""
    return next((d.facts(span) for d in find_dialects() if d.matches(span)), None)
