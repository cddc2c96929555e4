"""Byte streams that count, hash, and hand out everything that stands before damage."""

import codecs
import hashlib
import io
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, cast

import zstandard
from isal import isal_zlib

from earwitness.ingest.limits import MIB, Limits

# What the standard readers raise on damaged input. ValueError and struct.error: crafted archive headers.
_BROKEN: tuple[type[BaseException], ...] = (
    OSError,
    EOFError,
    ValueError,
    struct.error,
    lzma.LZMAError,
    zlib.error,
    cast("type[BaseException]", isal_zlib.error),
    zstandard.ZstdError,
    tarfile.TarError,
    zipfile.BadZipFile,
    NotImplementedError,
    RuntimeError,
)


class Readable(Protocol):
    """Anything with `read(n)`."""

    def read(self, size: int = -1, /) -> bytes:
        """Up to `size` bytes; empty at the end."""
        ...


class DamageError(Exception):
    """The data is damaged or cut off. The message says how that was found out and quotes nothing."""


class BombError(DamageError):
    """Decompression gives far more than it was fed."""


class damage_named:  # noqa: N801 - reads as a phrase: `with damage_named():`
    """Turns whatever a reader raises on damaged input into `DamageError`."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, _BROKEN):
            raise DamageError(f"the data is damaged or cut off ({type(error).__name__})") from None


class Budget:
    """How far one file may expand, with everything that is packed in it, layer upon layer.

    Args:
        limits: what is taken for a bomb.
        packed: bytes of the file itself that have been read.
    """

    def __init__(self, limits: Limits, packed: Callable[[], int]) -> None:
        self.limits, self.packed = limits, packed
        self.expanded = 0

    def spend(self, size: int) -> None:
        """Note decompressed bytes.

        Raises:
            BombError: there are too many by now.
        """
        self.expanded += size
        if self.expanded > self.limits.expand_free and self.expanded > self.limits.expand_ratio * self.packed():
            ratio = self.limits.expand_ratio
            raise BombError(f"expands more than {ratio} times (a decompression bomb is refused)")


class CountingStream(io.RawIOBase):
    """Passes bytes through, counting and hashing them. Damage is raised only when all bytes before it were handed out.

    Args:
        inner: where bytes come from.
        budget: charged with the bytes, if they come out of a decompressor.
    """

    def __init__(self, inner: Readable, budget: Budget | None = None) -> None:
        self.budget = budget
        self.bytes = 0
        # `read` of a buffered decompressor drops what it has when damage follows; `read1` does not.
        self._some: Callable[[int], bytes] = getattr(inner, "read1", inner.read)
        self._hash = hashlib.sha256()
        self._kept = b""
        self._damage: DamageError | None = None

    def readable(self) -> bool:
        """Always."""
        return True

    def read(self, size: int = -1) -> bytes:
        """`size` bytes; fewer only at the end or before damage.

        Raises:
            DamageError: the next bytes cannot be read.
        """
        if size < 0:
            return b"".join(iter(lambda: self.read(MIB), b""))
        if not self._kept:
            return self._pull(size)
        data, self._kept = self._kept[:size], self._kept[size:]
        return data

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        """Fill `buffer` as far as one read does."""
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def peek(self, size: int) -> bytes:
        """The next bytes without consuming them; fewer only at the end or before damage."""
        try:
            while len(self._kept) < size and (more := self._pull(size - len(self._kept))):
                self._kept += more
        except DamageError:
            if not self._kept:
                raise
        return self._kept[:size]

    def drain(self) -> None:
        """Read to the end, for the hash of the whole."""
        while self.read(MIB):
            pass

    @property
    def sha256(self) -> str:
        """Of everything read so far."""
        return self._hash.hexdigest()

    def _pull(self, size: int) -> bytes:
        if self._damage:
            raise self._damage
        parts: list[bytes] = []
        try:
            self._gather(parts, size)
        except DamageError as error:
            self._damage = error
            if not parts:
                raise
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _gather(self, parts: list[bytes], missing: int) -> None:
        while missing > 0:
            with damage_named():
                data = self._some(missing)
            if not data:
                return
            parts.append(data)
            missing -= len(data)
            self.bytes += len(data)
            self._hash.update(data)
            if self.budget:
                self.budget.spend(len(data))


class FrameStream:
    """Compressed frames one after another: gzip members or Zstandard frames.

    The libraries' own readers lose what they hold when damage follows (gzip), or take a frame that is cut off
    for a whole one (Zstandard).

    Args:
        inner: compressed bytes.
        begin: makes the decompressor of a frame.
        piece: bytes fed at once; times the largest ratio of the format, this bounds memory.
    """

    def __init__(self, inner: Readable, begin: Callable[[], Any], piece: int) -> None:
        self.inner, self.begin, self.piece = inner, begin, piece
        self._raw = memoryview(b"")
        self._out = memoryview(b"")
        self._frame: Any = None

    def read(self, size: int = -1, /) -> bytes:
        """Up to `size` bytes.

        Raises:
            EOFError: the last frame is cut off.
        """
        while not self._out:
            self._raw = self._raw or memoryview(self.inner.read(MIB))
            if not self._raw:
                if self._frame:
                    raise EOFError
                return b""
            self._out = memoryview(self._step())
        taken, self._out = self._out[:size], self._out[size:]
        return bytes(taken)

    def _step(self) -> bytes:
        piece, self._raw = self._raw[: self.piece], self._raw[self.piece :]
        if not self._frame:
            if not any(piece):  # padding between frames or behind the last
                return b""
            self._frame = self.begin()
        out = self._frame.decompress(piece)
        if self._frame.eof:
            self._raw = memoryview(self._frame.unused_data.lstrip(b"\0") + bytes(self._raw))
            self._frame = None
        return cast("bytes", out)


def gunzip(inner: Readable) -> FrameStream:
    """A gzip stream, decompressed (at most 1,032 times)."""
    return FrameStream(inner, partial(isal_zlib.decompressobj, 31), 16 << 10)


def unzstd(inner: Readable) -> FrameStream:
    """A Zstandard stream, decompressed (a block of 4 bytes may stand for 128 KiB)."""
    return FrameStream(inner, zstandard.ZstdDecompressor().decompressobj, 2 << 10)


class RecodedStream:
    """UTF-16 or UTF-32 text as UTF-8 bytes; what cannot be decoded becomes U+FFFD. Offsets then count UTF-8 bytes."""

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
