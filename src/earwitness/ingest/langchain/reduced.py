"""Keys of a state that grow: what a reducer (`Annotated[list, add]`, `dict | dict`) made of several writes.

Whoever is shown the whole was shown each write that it holds in full.
"""

from collections.abc import Hashable
from typing import Any

from earwitness.ingest.shelf import Tape, Texts
from earwitness.ingest.spans.texts import as_text, fingerprint

# What a part takes in memory.
_PART = 150

_Part = tuple[Hashable, bytes]
_Write = tuple[str | int, frozenset[_Part]]


class Reduced:
    """The writes to each key of one state, by their parts: items of a list, entries of a mapping."""

    def __init__(self) -> None:
        self._texts = Texts()
        self._waiting: Tape[tuple[str, list[_Part], str | int]] = Tape()  # until one is asked for, which may never be
        self._writes: dict[str, dict[_Part, list[_Write]]] | None = None

    def wrote(self, key: str, value: Any, text: str) -> None:
        """Keep a write that may become part of something bigger."""
        parts = _parts(value)
        if parts and self._writes is None:
            self._waiting.append((key, parts, self._texts.keep(text)), len(parts) * _PART)
        elif parts and self._writes is not None:
            _enter(self._writes, key, parts, self._texts.keep(text))

    def held(self, key: str, value: Any) -> tuple[list[str], bool]:
        """The writes that a list or mapping holds in full, in their order there, and whether they are all of it."""
        if self._writes is None:
            self._writes = {}
            for write in self._waiting:
                _enter(self._writes, *write)
            self._waiting = Tape()
        known = self._writes.get(key)
        if not known or not isinstance(value, list | dict):
            return [], False
        parts = dict.fromkeys(_parts(value))
        found = [w for part in parts for w in known.get(part, ()) if w[1] <= parts.keys()]
        told = frozenset().union(*(w[1] for w in found))
        return [self._texts.text(kept) for kept, _ in found], len(told) == len(parts)


def _enter(writes: dict[str, dict[_Part, list[_Write]]], key: str, parts: list[_Part], kept: str | int) -> None:
    """Keep a write under one of its parts; any will do, as the whole must hold them all."""
    whole = frozenset(parts)
    writes.setdefault(key, {}).setdefault(min(whole, key=repr), []).append((kept, whole))


def _parts(value: Any) -> list[_Part]:
    if isinstance(value, list):
        return [("", fingerprint(as_text(item))) for item in value]
    if isinstance(value, dict):
        return [(key, fingerprint(as_text(item))) for key, item in value.items()]
    return [("", fingerprint(as_text(value)))]
