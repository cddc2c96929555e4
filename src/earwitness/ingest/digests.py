"""Digests by the million: a set of them takes a third of what Python's takes, and says as surely what is in it."""

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

SIZE = 16
_NONE = bytes(SIZE)
# So many are an ordinary set: most sets hold few.
_FEW, _SHORT = 2000, 100
_SLOTS = 1 << 12
# Part of the slots that may be taken before there are twice as many.
_FULL = 0.6


def digest_of(text: str) -> bytes:
    """BLAKE2b-128 of a text."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=SIZE).digest()


class Digests:
    """A set of digests of 16 bytes: where they are many in one table, each at the slot that its first bytes say, or
    behind it.
    """

    def __init__(self) -> None:
        self._few = set[bytes]()
        self._slots, self._table = 0, bytearray()
        self._n = 0

    def __len__(self) -> int:
        return self._n or len(self._few)

    def __contains__(self, digest: bytes) -> bool:
        if not self._slots:
            return digest in self._few
        at = self._slot(digest)
        return self._table[at : at + SIZE] == digest

    def add(self, digest: bytes) -> bool:
        """Put one in; False says that it was there."""
        if self._slots or len(self._few) >= _FEW:
            return self._add_to_table(digest)
        known = len(self._few)
        self._few.add(digest)
        return len(self._few) > known

    def _add_to_table(self, digest: bytes) -> bool:
        if self._n >= self._slots * _FULL:
            self._make_room(1)
        table, last = self._table, self._slots - 1  # not by a function, for there are many
        at = (int.from_bytes(digest[:8], "little") & last) * SIZE
        while (found := table[at : at + SIZE]) != _NONE:
            if found == digest:
                return False
            at = at + SIZE if at < last * SIZE else 0
        table[at : at + SIZE] = digest
        self._n += 1
        return True

    def fresh(self, digests: Sequence[bytes]) -> list[int]:
        """Put some in; gives the positions of those that were not there before."""
        if not self._slots and len(self._few) + len(digests) <= _FEW:
            return [n for n, digest in enumerate(digests) if self.add(digest)]
        self._make_room(len(digests))
        table, last, number, new = self._table, self._slots - 1, int.from_bytes, list[int]()
        for n, digest in enumerate(digests):
            at = (number(digest[:8], "little") & last) * SIZE
            while (found := table[at : at + SIZE]) != digest:
                if found == _NONE:
                    table[at : at + SIZE] = digest
                    new.append(n)
                    break
                at = at + SIZE if at < last * SIZE else 0
        self._n += len(new)
        return new

    def clear(self) -> None:
        """Forget all."""
        self._few.clear()
        self._slots, self._table, self._n = 0, bytearray(), 0

    def _slot(self, digest: bytes) -> int:
        """Where it stands, or the free place where it would."""
        table, last = self._table, self._slots - 1
        at = (int.from_bytes(digest[:8], "little") & last) * SIZE
        while (found := table[at : at + SIZE]) != digest and found != _NONE:
            at = at + SIZE if at < last * SIZE else 0
        return at

    def _make_room(self, n: int) -> None:
        if not self._slots:
            self._n = len(self._few)
            self._table = bytearray().join(self._few)
            self._few.clear()
        slots = self._slots or _SLOTS
        while self._n + n > slots * _FULL:
            slots *= 2
        if slots > self._slots:
            self._grow(slots)

    def _grow(self, slots: int) -> None:
        """More slots: in the order of their slots each goes to its own, or behind the one before it."""
        rows = np.frombuffer(self._table, np.uint64).reshape(-1, 2)
        rows = rows[rows.any(axis=1)]
        self._slots, self._table = slots, bytearray()  # the old one goes before the new one comes
        home = (rows[:, 0] & np.uint64(slots - 1)).astype(np.int64)
        order = np.argsort(home, kind="stable")
        steps = np.arange(len(order))
        at = np.maximum.accumulate(home[order] - steps) + steps
        inside = at < slots
        self._table = bytearray(slots * SIZE)
        np.frombuffer(self._table, np.uint64).reshape(-1, 2)[at[inside]] = rows[order[inside]]
        for row in rows[order[~inside]]:  # past the end it goes on at the beginning
            digest = row.tobytes()
            free = self._slot(digest)
            self._table[free : free + SIZE] = digest


class Counts:
    """How often each of many names came: the first of them are kept as they are, if they are short."""

    def __init__(self) -> None:
        self._few: dict[str, int] = {}
        self._names = Digests()
        self._again: dict[str, int] = {}

    def nth(self, name: str) -> int:
        """Count a name; 1 says that it came for the first time."""
        n = self._few.get(name, 0)
        if n or (len(self._few) < _FEW and len(name) <= _SHORT):
            self._few[name] = n + 1
            return n + 1
        if self._names.add(digest_of(name)):
            return 1
        self._again[name] = n = self._again.get(name, 1) + 1
        return n

    def distinct(self, name: str) -> str:
        """A name of its own: the name itself where it comes for the first time."""
        n = self.nth(name)
        return name if n == 1 else f"{name}.{n}"
