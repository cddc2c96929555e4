"""Files, folders, archives and compression: everything down to plain byte streams."""

import bz2
import lzma
import os
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from earwitness.ingest.limits import MIB, Limits
from earwitness.ingest.stream import Budget, CountingStream, DamageError, Readable, damage_named, gunzip, unzstd
from earwitness.schema.errors import InputError

# What reading a stream raises on damaged input.
DAMAGE = (DamageError,)


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
        try:
            path.stat()
        except FileNotFoundError:
            raise InputError(f"{_shown(path)}: no such file or folder") from None
        except (OSError, ValueError) as error:
            raise _refusal(path, error) from None
        yield from _open_folder(path, limits) if path.is_dir() else _open_file(path, limits)


def cause(error: BaseException) -> str:
    """What damaged input was found out by, in words that quote nothing of it."""
    return str(error)


def _open_folder(folder: Path, limits: Limits) -> Iterator[Opened]:
    """In name order. Links to folders are not followed: they may form a loop."""

    def refuse(error: OSError) -> None:
        raise _refusal(error.filename or folder, error) from None

    for root, folders, files in os.walk(folder, onerror=refuse, followlinks=False):
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
        raise _refusal(path, error) from None
    with handle:
        stream = CountingStream(handle)
        unpacker = _Unpacker(limits, Budget(limits, lambda: stream.bytes))
        yield from unpacker.unpack(Opened(str(path), "", stream))


def _refusal(path: Path | str, error: Exception) -> InputError:
    reason = getattr(error, "strerror", None) or "not a path"
    return InputError(f"{_shown(path)}: cannot be opened: {reason}")


def _shown(path: Path | str) -> str:
    """A path whose control characters cannot drive a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(path))


_MAGICS: tuple[tuple[bytes, str, Callable[[Any], Any]], ...] = (
    (b"\x1f\x8b", "gzip", gunzip),
    (b"\x28\xb5\x2f\xfd", "zstd", unzstd),
    (b"\xfd7zXZ\x00", "xz", lzma.LZMAFile),
    (b"BZh", "bzip2", bz2.BZ2File),
)
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")


class _TarBody:
    """The bytes of a tar member up to where the tar may be cut off; `extractfile` keeps them back then."""

    def __init__(self, archive: tarfile.TarFile, info: tarfile.TarInfo) -> None:
        self.inner = cast("IO[bytes]", archive.fileobj)
        self.inner.seek(info.offset_data)
        self.left = info.size

    def read(self, size: int = -1, /) -> bytes:
        """Up to `size` bytes.

        Raises:
            EOFError: the tar ends here, the member does not.
        """
        data = self.inner.read(min(size, self.left))
        self.left -= len(data)
        if self.left and not data:
            raise EOFError
        return data


class _Unpacker:
    """Peels one file, layer by layer and member by member."""

    def __init__(self, limits: Limits, budget: Budget) -> None:
        self.limits, self.budget = limits, budget

    def unpack(self, opened: Opened) -> Iterator[Opened]:
        """The stream itself if it is plain, what is in it if it is packed."""
        try:
            head = cast("CountingStream", opened.stream).peek(512)
        except DamageError as error:
            opened.problem = f"{opened.packing or 'file'}: {cause(error)}"
            yield opened
            return
        layer = next(((name, opener) for magic, name, opener in _MAGICS if head.startswith(magic)), None)
        if layer:
            yield from self._peel(opened, *layer)
        elif head.startswith(_ZIP):
            yield from self._members(opened, "zip", self._zip_members)
        elif _is_tar(head):
            yield from self._members(opened, "tar", self._tar_members)
        else:
            yield opened

    def _peel(self, opened: Opened, name: str, opener: Callable[[Any], Any]) -> Iterator[Opened]:
        if opened.packing and opened.packing.count("+") + 1 >= self.limits.nesting:
            opened.problem = f"packed more than {self.limits.nesting} times over: not opened"
            yield opened
            return
        opened.packing = f"{opened.packing}+{name}".strip("+")
        opened.stream = CountingStream(cast("Readable", opener(opened.stream)), self.budget)
        yield from self.unpack(opened)

    def _members(self, opened: Opened, kind: str, reader: Callable[[Opened], Iterator[Opened]]) -> Iterator[Opened]:
        opened.packing, opened.archive = f"{opened.packing}+{kind}".strip("+"), True
        deep = opened.depth >= self.limits.nesting
        opened.problem = f"archives nested deeper than {self.limits.nesting}: not opened" if deep else None
        yield opened
        if deep:
            return
        try:
            for member in reader(opened):
                yield from self.unpack(member) if member.stream else iter([member])
        except DamageError as error:
            lost = f"{kind}: {cause(error)}; members that would follow are lost"
            yield Opened(f"{opened.name}!(rest)", problem=lost, depth=opened.depth + 1)

    def _tar_members(self, opened: Opened) -> Iterator[Opened]:
        with damage_named(), tarfile.open(fileobj=cast("IO[bytes]", opened.stream), mode="r|") as archive:
            for info in archive:
                archive.members = []  # type: ignore[attr-defined]  # else it remembers every header
                member = Opened(f"{opened.name}!{info.name}", depth=opened.depth + 1)
                if info.isfile() and not info.issparse():
                    member.stream = CountingStream(_TarBody(archive, info))
                elif info.isdir():
                    continue
                else:
                    member.problem = "link, device or sparse file in an archive, not followed"
                yield member

    def _zip_members(self, opened: Opened) -> Iterator[Opened]:
        stream = cast("CountingStream", opened.stream)
        with tempfile.TemporaryFile() as spool:
            while chunk := stream.read(MIB):
                spool.write(chunk)
            with damage_named():
                archive = zipfile.ZipFile(spool)
            for info in archive.infolist():
                if not info.is_dir():
                    yield self._zip_member(opened, archive, info)

    def _zip_member(self, opened: Opened, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Opened:
        member = Opened(f"{opened.name}!{info.filename}", depth=opened.depth + 1)
        if info.flag_bits & 1:
            member.problem = "encrypted; decrypt it first"
            return member
        try:
            with damage_named():
                member.stream = CountingStream(cast("Readable", archive.open(info)), self.budget)
        except DamageError as error:
            member.problem = f"zip: {cause(error)}"
        return member


def _is_tar(head: bytes) -> bool:
    """By the check sum of its first header, so that no text passes for one."""
    try:
        return head[257:262] == b"ustar" and bool(tarfile.TarInfo.frombuf(head, "utf-8", "surrogateescape"))
    except tarfile.TarError:
        return False
