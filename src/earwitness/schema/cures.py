"""What a file could have said where it says something that is not known: words for the end of an error message."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

import msgspec
from msgspec import inspect

_PATH = re.compile(r" - at `(?:key` in `)?(\$[^`]*)`")
_STEP = re.compile(r"\.([^.\[]+)|\[([^\]]*)\]")
_WORD = re.compile(r"`([^`]*)`")


def cure(kind: type, error: msgspec.ValidationError) -> str:
    """`; known: ...` with the words or keys that may stand where an error is; empty where no list helps.

    Args:
        kind: the type that was asked for.
        error: what msgspec raised.
    """
    message = str(error)
    found = _PATH.search(message)
    at = _walk(inspect.type_info(kind), found[1] if found else "$")
    if "Invalid enum value" in message:
        at = getattr(at, "key_type", at) if "`key` in" in message else at
        return _known(_words(at))
    if "unknown field" in message:
        fields = [f.encode_name for f in _fields(at)]
        meant = get_close_matches(_WORD.findall(message)[0], fields, 1)
        return f"; meant: `{meant[0]}`" if meant else _known(fields)
    return ""


def _known(words: Iterable[object]) -> str:
    listed = ", ".join(str(w) for w in words)
    return f"; known: {listed}" if listed else ""


def _walk(at: Any, path: str) -> Any:
    for name, _ in _STEP.findall(path):
        at = _of_kind(at, name)
        fields = {f.encode_name: f.type for f in _fields(at)}
        if name:
            at = fields.get(name, getattr(at, "value_type", None))
        else:
            at = getattr(at, "item_type", getattr(at, "value_type", None))
    return at


def _of_kind(at: Any, name: str) -> Any:
    """Of several types the one that can hold such a step."""
    types = at.types if isinstance(at, inspect.UnionType) else (at,)
    wanted = ("fields", "value_type") if name else ("item_type", "value_type")
    return next((t for t in types if any(hasattr(t, w) for w in wanted)), at)


def _fields(at: Any) -> tuple[Any, ...]:
    types = at.types if isinstance(at, inspect.UnionType) else (at,)
    return next((t.fields for t in types if hasattr(t, "fields")), ())


def _words(at: Any) -> list[object]:
    types = at.types if isinstance(at, inspect.UnionType) else (at,)
    return [v for t in types if isinstance(t, inspect.LiteralType) for v in t.values]
