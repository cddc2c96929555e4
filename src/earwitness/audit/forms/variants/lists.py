"""Lists and records as one value: each of their items is a part of it."""

import ast
import json
from collections.abc import Iterator
from typing import Any

from earwitness.audit.forms.variant import Variant

_MOST = 64


def variants(attribute: str, text: str) -> Iterator[Variant]:
    """The items of a list or record that was written as JSON or as Python writes it."""
    text = text.strip()
    if text[:1] not in ("[", "{", "("):
        return
    items = list(dict.fromkeys(leaf for leaf in _leaves(_parse(text)) if leaf.strip()))
    if not 0 < len(items) <= _MOST:
        return
    for number, item in enumerate(items):
        yield Variant(item, "item", 0.5, "item", number, len(items))


def _parse(text: str) -> Any:
    for parse in (json.loads, ast.literal_eval):
        try:
            return parse(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return None


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item)
    elif value is not None and not isinstance(value, bool):
        yield str(value)
