"""Byte streams that count, hash and refuse to explode."""

import codecs
import hashlib
import io
from collections.abc import Callable
from typing import Protocol

from earwitness.ingest.limits import Limits


class Readable(Protocol):
    """Anything with `read(n)`."""

    def read(self, size: int = -1, /) -> bytes:
        """Up to `size` bytes; empty at the end."""
        ...


class BombError(Exception):
    """Decompression gives far more than it was fed."""


class CountingStream(io.RawIOBase):
    """Passes bytes through, counting and hashing them.

    Args:
        inner: where bytes come from.
        limits: with `fed`, the bound on expansion.
        fed: compressed bytes consumed so far; None where nothing is decompressed.
    """

    def __init__(self, inner: Readable, limits: Limits, fed: Callable[[], int] | None = None) -> None:
        self.inner, self.limits, self.fed = inner, limits, fed
        self.bytes = 0
        self._hash = hashlib.sha256()
        self._kept = b""

    def readable(self) -> bool:
        """Always."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes.

        Raises:
            BombError: the stream expands beyond the limits.
        """
        kept, self._kept = self._kept[:size] if size >= 0 else self._kept, self._kept[size:] if size >= 0 else b""
        return kept or self._pull(size)

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        """Fill `buffer` as far as one read does."""
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def peek(self, size: int) -> bytes:
        """The next bytes without consuming them; fewer only at the end."""
        while len(self._kept) < size:
            more = self._pull(size - len(self._kept))
            if not more:
                break
            self._kept += more
        return self._kept[:size]

    def drain(self) -> None:
        """Read to the end, for the hash of the whole."""
        while self.read(1 << 20):
            pass

    @property
    def sha256(self) -> str:
        """Of everything read so far."""
        return self._hash.hexdigest()

    def _pull(self, size: int) -> bytes:
        data = self.inner.read(size)
        self.bytes += len(data)
        self._hash.update(data)
        if (
            self.fed
            and self.bytes > self.limits.expand_free
            and self.bytes > self.limits.expand_ratio * max(self.fed(), 1)
        ):
            raise BombError(f"expands more than {self.limits.expand_ratio} times")
        return data


class RecodedStream:
    """UTF-16 or UTF-32 text as UTF-8 bytes; what cannot be decoded becomes U+FFFD."""

    def __init__(self, inner: Readable, encoding: str) -> None:
        self.inner = inner
        self._decoder = codecs.getincrementaldecoder(encoding)(errors="replace")

    def read(self, size: int = -1, /) -> bytes:
        """Up to about `size` bytes."""
        while True:
            raw = self.inner.read(size)
            text = self._decoder.decode(raw, final=not raw)
            if text or not raw:
                return text.encode("utf-8", "surrogatepass")
