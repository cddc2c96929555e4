"""Dialects are found, not listed: every module of `earwitness.ingest.spans.dialects`."""

from functools import cache, lru_cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Protocol, cast

import msgspec

from earwitness.ingest.spans import dialects
from earwitness.ingest.spans.facts import Facts
from earwitness.ingest.spans.span import KINDS, Span


class Dialect(Protocol):
    """A module of `earwitness.ingest.spans.dialects`.

    Attributes:
        NAME: what reports call it.
        PRIORITY: lower is asked first.
        KEYS: a span of it has one of these attributes, or one that begins as one of `BEGINNINGS`; where `EVENTS` is
            true, it may have events instead. Spans of other kinds are not asked about. Without `KEYS` every span is.
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


@lru_cache(maxsize=KINDS)
def of_kind(keys: tuple[str, ...], *, events: bool) -> tuple[Dialect, ...]:
    """The dialects that spans with these attributes may speak, in order.

    Args:
        keys: names of the attributes.
        events: whether they have events, too.
    """
    return tuple(d for d in find_dialects() if _may_be(d, keys, events=events))


def _may_be(dialect: Dialect, keys: tuple[str, ...], *, events: bool) -> bool:
    known: frozenset[str] | None = getattr(dialect, "KEYS", None)
    if known is None or (events and getattr(dialect, "EVENTS", False)) or not known.isdisjoint(keys):
        return True
    begun: tuple[str, ...] = getattr(dialect, "BEGINNINGS", ())
    return any(key.startswith(begun) for key in keys)


def facts_of(span: Span) -> Facts | None:
    """What the dialects that know a span say of it; None for a plain span.

    One span may speak several: an instrumentation that is being migrated, a backend that adds its own words.
    The first word on anything stands, later dialects fill in what is missing.
    """
    told: Facts | None = None
    for dialect in of_kind(tuple(span.attributes), events=bool(span.events)):
        if dialect.matches(span):
            told = _filled(told, dialect.facts(span)) if told else dialect.facts(span)
    return told


def _filled(first: Facts, more: Facts) -> Facts:
    missing: dict[str, Any] = {"also": (*first.also, more.dialect)}
    for name in Facts.__struct_fields__:
        value = getattr(more, name)
        if value and name != "also" and not getattr(first, name):
            missing[name] = value
    if "agent" not in missing:
        missing.pop("rung", None)
    if first.role == "other":
        missing["role"] = more.role
    return msgspec.structs.replace(first, **missing)
