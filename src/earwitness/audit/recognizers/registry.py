"""Recognizers are found, not listed: every module beside this one that offers a `RECOGNIZER`."""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import cast

from earwitness.audit import recognizers
from earwitness.audit.recognizers.base import Recognizer


@cache
def find_recognizers() -> tuple[Recognizer, ...]:
    """All recognizers, by name."""
    modules = [import_module(f"{recognizers.__name__}.{m.name}") for m in iter_modules(recognizers.__path__)]
    found = [cast("Recognizer", m.RECOGNIZER) for m in modules if hasattr(m, "RECOGNIZER")]
    return tuple(sorted(found, key=lambda r: r.name))
