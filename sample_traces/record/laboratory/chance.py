"""Chance that is a function of words: the same words give the same number, in any process and on any machine."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import TypeVar

One = TypeVar("One")


def chance(*words: object) -> float:
    """A number from 0 up to 1."""
    raw = "\x1f".join(map(str, words)).encode()
    return int.from_bytes(blake2b(raw, digest_size=7).digest()) / 2.0**56


def pick(rows: Sequence[One], *words: object) -> One:
    """One of some rows."""
    return rows[int(chance(*words) * len(rows))]
