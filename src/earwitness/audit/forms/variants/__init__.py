"""How values of one kind are written otherwise: one module a kind, each with `variants(attribute, text)`.

Adding a kind is adding a module here and a table in `tests/golden/forms`.
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from functools import cache

from earwitness.audit.forms.variant import Variant

Make = Callable[[str, str], Iterable[Variant]]


@cache
def makers() -> tuple[Make, ...]:
    """The functions of all modules here, by name of the module."""
    names = sorted(m.name for m in pkgutil.iter_modules(__path__))
    return tuple(importlib.import_module(f"{__name__}.{n}").variants for n in names)


def variants(attribute: str, text: str) -> Iterator[Variant]:
    """All ways to write a value but its own."""
    for make in makers():
        yield from make(attribute, text)
