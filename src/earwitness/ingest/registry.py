"""Adapters are found, not listed: every module of `earwitness.ingest.adapters` that offers an `ADAPTER`."""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, cast

from earwitness.ingest import adapters
from earwitness.ingest.adapters import canonical
from earwitness.ingest.record import Adapter

# The priority of an adapter that names none.
ORDINARY = 50
# What a test may raise over a value of a strange shape.
_STUMBLES = (TypeError, ValueError, LookupError, AttributeError, RecursionError)


def priority(adapter: Adapter) -> int:
    """When an adapter is asked: lower is earlier."""
    return getattr(adapter, "PRIORITY", ORDINARY)


@cache
def find_adapters() -> tuple[Adapter, ...]:
    """All adapters, those of lower `PRIORITY` first."""
    modules = [import_module(f"{adapters.__name__}.{m.name}") for m in iter_modules(adapters.__path__)]
    found = [cast("Adapter", m.ADAPTER) for m in modules if hasattr(m, "ADAPTER")]
    return tuple(sorted(found, key=lambda a: (priority(a), a.NAME)))


@cache
def find_pieces() -> frozenset[str]:
    """The arrays that adapters take one element at a time, see `Adapter.PIECES`."""
    return frozenset(path for adapter in find_adapters() for path in getattr(adapter, "PIECES", ()))


def fits(adapter: Adapter, value: Any) -> bool:
    """Whether an adapter knows a record. A test that stumbles over a strange value does not know it."""
    try:
        return adapter.sniff(value)
    except _STUMBLES:
        return False


def adapter_for(value: Any) -> Adapter | None:
    """The first adapter that knows the record. The program's own format is asked before the others are even loaded."""
    if fits(canonical.ADAPTER, value):
        return canonical.ADAPTER
    for adapter in find_adapters():  # not by `fits`: where records of two adapters alternate, all are asked each time
        try:
            if adapter.sniff(value):
                return adapter
        except _STUMBLES:
            continue
    return None


def pieces_of(value: Any) -> frozenset[str]:
    """The arrays that the adapter of a record takes one element at a time."""
    return frozenset(getattr(adapter_for(value), "PIECES", ()))
