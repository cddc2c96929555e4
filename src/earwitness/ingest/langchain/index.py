"""Numbers found again by keys, of which there may be millions: what is looked for in all that comes later."""

from collections import deque
from collections.abc import Hashable, Iterable
from struct import Struct
from typing import Any

import numpy as np

# So many keys are an ordinary dict.
_RECENT = 20_000
_BUCKETS = 1 << 14
_LAST = _BUCKETS - 1
_BYTES = Struct("<q").pack
_KEY, _SIZE = 8, 12
_ROW = np.dtype([("key", "<i8"), ("number", "<u4")])


class Index:
    """A number for each key: but for the latest by the 64 bits of its hash, 12 bytes a key in one of many buckets.

    The hash is keyed anew in each process, so that nobody can make two keys look alike; of ten million that two do by
    chance is as likely as one in three hundred thousand.
    """

    def __init__(self) -> None:
        self._recent: dict[Hashable, int] = {}
        self._buckets: list[bytearray] = []

    def __bool__(self) -> bool:
        return bool(self._recent or self._buckets)

    def get(self, key: Hashable) -> int | None:
        """The number that was put last for a key."""
        number = self._recent.get(key)
        if number is not None or not self._buckets:
            return number
        hashed = hash(key)
        row, bucket = _BYTES(hashed), self._buckets[hashed & _LAST]
        at = bucket.rfind(row)
        while at > 0 and at % _SIZE:  # bytes of two rows that look like it
            at = bucket.rfind(row, 0, at + _KEY - 1)
        return int.from_bytes(bucket[at + _KEY : at + _SIZE], "little") if at >= 0 else None

    def put(self, key: Hashable, number: int) -> None:
        """Take the number of a key, from 0 to 2**32 - 1; it stands for any other of that key."""
        self._recent[key] = number
        if len(self._recent) >= _RECENT:
            self._put_aside()

    def _put_aside(self) -> None:
        """Put the recent ones behind the others, each in its bucket; the last of a key is the one that counts."""
        rows = np.empty(len(self._recent), _ROW)
        rows["key"] = list(map(hash, self._recent))
        rows["number"] = list(self._recent.values())
        self._recent = {}
        self._buckets = self._buckets or [bytearray() for _ in range(_BUCKETS)]
        homes: np.ndarray[Any, Any] = rows["key"] & _LAST
        order = np.argsort(homes, kind="stable")
        raw, homes = rows[order].tobytes(), homes[order]
        starts = np.flatnonzero(np.diff(homes, prepend=-1))
        ends = np.append(starts[1:], len(homes))
        for home, start, end in zip(homes[starts].tolist(), starts.tolist(), ends.tolist(), strict=True):
            self._buckets[home] += raw[start * _SIZE : end * _SIZE]


class Groups:
    """Numbers by key, in order, which nobody needs until those of a key are asked for; that may never be."""

    def __init__(self) -> None:
        self._known: dict[int, deque[int]] | None = None

    @property
    def asked(self) -> bool:
        """Whether any were asked for: until then none need be put."""
        return self._known is not None

    def put(self, key: Hashable, number: int) -> None:
        """Put a number behind the others of a key."""
        if self._known is not None:
            self._known.setdefault(hash(key), deque()).append(number)

    def of(self, key: Hashable, before: Iterable[tuple[Hashable, int]]) -> deque[int]:
        """The numbers of a key: who takes one out will not see it again.

        Args:
            key: of the numbers.
            before: all that were put by now, with their keys; read the first time.
        """
        if self._known is None:
            self._known = {}
            for known, number in before:
                self.put(known, number)
        return self._known.setdefault(hash(key), deque())
