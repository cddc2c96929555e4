"""Names are few and come again and again: what was made of one is remembered."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

_LONGEST, _MOST = 256, 4096


def of_names(clean: Callable[[str], str | None]) -> Callable[[Any], str | None]:
    """What tells names, or None of a value that names nobody.

    Args:
        clean: the name in a text, or None.
    """
    remembered = lru_cache(maxsize=_MOST)(clean)

    def name(value: Any) -> str | None:
        if not isinstance(value, str):
            return None
        return remembered(value) if len(value) <= _LONGEST else clean(value)

    name.__doc__ = clean.__doc__
    return name
