"""Files, folders, archives and compression: everything down to plain byte streams."""

import bz2
import lzma
import os
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import zstandard
from isal import igzip, isal_zlib

from earwitness.ingest.limits import Limits
from earwitness.ingest.stream import BombError, CountingStream, Readable
from earwitness.schema.errors import InputError

# What decompressors raise on damaged input.
DAMAGE = (
    OSError,
    EOFError,
    lzma.LZMAError,
    zlib.error,
    isal_zlib.error,
    zstandard.ZstdError,
    tarfile.TarError,
    zipfile.BadZipFile,
    NotImplementedError,
    RuntimeError,
    BombError,
)


@dataclass
class Opened:
    """A plain byte stream with a name, or the reason there is none.

    Attributes:
        name: path as given; members as `archive!member`.
        packing: gzip, zstd, xz, bzip2, tar, zip; joined by `+`, empty for a plain file.
        stream: the bytes; None where `problem` says why.
        archive: it holds members, which follow.
        depth: how many archives it lies in.
    """

    name: str
    packing: str = ""
    stream: CountingStream | None = None
    problem: str | None = None
    archive: bool = False
    depth: int = 0


def open_all(paths: list[Path], limits: Limits) -> Iterator[Opened]:
    """Every stream under `paths`, archives before their members. A stream must be read before the next is asked for.

    Raises:
        InputError: a path does not exist or cannot be opened.
    """
    for path in paths:
        if not path.exists():
            raise InputError(f"{path}: no such file or folder")
        yield from _open_folder(path, limits) if path.is_dir() else _open_file(path, limits)


def _open_folder(folder: Path, limits: Limits) -> Iterator[Opened]:
    """In name order. Links to folders are not followed: they may form a loop."""
    for root, folders, files in os.walk(folder, followlinks=False):
        folders.sort()
        for name in [f for f in folders if (Path(root) / f).is_symlink()]:
            yield Opened(str(Path(root) / name), problem="link to a folder, not followed")
        for name in sorted(files):
            path = Path(root) / name
            if path.is_file():
                yield from _open_file(path, limits)
            else:
                yield Opened(str(path), problem="not a regular file (broken link, pipe or device)")


def _open_file(path: Path, limits: Limits) -> Iterator[Opened]:
    try:
        handle = path.open("rb")
    except OSError as error:
        raise InputError(f"{path}: cannot be opened: {error.strerror}") from None
    with handle:
        yield from _unpack(Opened(str(path), "", CountingStream(handle, limits)), limits)


_MAGICS: tuple[tuple[bytes, str, Callable[[Any], Any]], ...] = (
    (b"\x1f\x8b", "gzip", lambda s: igzip.IGzipFile(fileobj=s, mode="rb")),
    (b"\x28\xb5\x2f\xfd", "zstd", lambda s: zstandard.ZstdDecompressor().stream_reader(s, read_across_frames=True)),
    (b"\xfd7zXZ\x00", "xz", lambda s: lzma.LZMAFile(s)),
    (b"BZh", "bzip2", lambda s: bz2.BZ2File(s)),
)


def _unpack(opened: Opened, limits: Limits) -> Iterator[Opened]:
    """Peel one layer after another."""
    stream = cast("CountingStream", opened.stream)
    try:
        head = stream.peek(512)
        for magic, name, opener in _MAGICS:
            if head.startswith(magic):
                inner = CountingStream(cast("Readable", opener(stream)), limits, lambda: stream.bytes)
                yield from _unpack(_layer(opened, name, inner), limits)
                return
        if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
            yield from _members(opened, "zip", _zip_members(opened, limits), limits)
        elif head[257:262] == b"ustar":
            yield from _members(opened, "tar", _tar_members(opened, limits), limits)
        else:
            yield opened
    except DAMAGE as error:
        opened.problem = f"{opened.packing or 'file'}: {cause(error)}"
        yield opened


def _layer(opened: Opened, packing: str, stream: CountingStream) -> Opened:
    return Opened(opened.name, f"{opened.packing}+{packing}".strip("+"), stream, depth=opened.depth)


def cause(error: BaseException) -> str:
    """What damaged input was found out by, in words that quote nothing of it."""
    if isinstance(error, BombError):
        return f"{error} (a decompression bomb is refused)"
    return f"the data is damaged or cut off ({type(error).__name__})"


def _members(opened: Opened, kind: str, members: Iterator[Opened], limits: Limits) -> Iterator[Opened]:
    stream = cast("CountingStream", opened.stream)
    packed = Opened(opened.name, f"{opened.packing}+{kind}".strip("+"), stream, archive=True, depth=opened.depth)
    if opened.depth >= limits.nesting:
        packed.problem = f"archives nested deeper than {limits.nesting}: not opened"
        yield packed
        return
    yield packed
    for member in members:
        yield from _unpack(member, limits) if member.stream else iter([member])


def _tar_members(opened: Opened, limits: Limits) -> Iterator[Opened]:
    stream = cast("CountingStream", opened.stream)
    try:
        with tarfile.open(fileobj=cast("IO[bytes]", stream), mode="r|") as archive:
            for info in archive:
                name = f"{opened.name}!{info.name}"
                if info.isfile():
                    inner = CountingStream(cast("Readable", archive.extractfile(info)), limits)
                    yield Opened(name, "", inner, depth=opened.depth + 1)
                elif not info.isdir():
                    yield Opened(name, problem="link or device in an archive, not followed", depth=opened.depth + 1)
    except DAMAGE as error:
        yield Opened(
            f"{opened.name}!(rest)", problem=f"tar: {cause(error)}; members after this are lost", depth=opened.depth + 1
        )


def _zip_members(opened: Opened, limits: Limits) -> Iterator[Opened]:
    stream = cast("CountingStream", opened.stream)
    with tempfile.TemporaryFile() as spool:
        while chunk := stream.read(1 << 20):
            spool.write(chunk)
        with zipfile.ZipFile(spool) as archive:
            for info in archive.infolist():
                if not info.is_dir():
                    yield _zip_member(opened, archive, info, limits)


def _zip_member(opened: Opened, archive: zipfile.ZipFile, info: zipfile.ZipInfo, limits: Limits) -> Opened:
    name = f"{opened.name}!{info.filename}"
    if info.flag_bits & 1:
        return Opened(name, problem="encrypted; decrypt it first", depth=opened.depth + 1)
    packed = max(info.compress_size, 1)
    stream = CountingStream(cast("Readable", archive.open(info)), limits, lambda: packed)
    return Opened(name, "", stream, depth=opened.depth + 1)
