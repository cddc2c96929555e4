"""Files, folders, archives, compression: what is in them, and what became of what is damaged."""

import bz2
import gzip
import io
import lzma
import os
import random
import struct
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import zstandard

from earwitness.ingest.files import open_all
from earwitness.ingest.limits import DEFAULT_LIMITS, MIB, Limits
from earwitness.ingest.loader import Loader
from earwitness.ingest.stream import DamageError
from earwitness.schema.case import Case
from earwitness.schema.errors import InputError

LINE = b'{"type":"event","trace":"t","channel":"C2","content":"%d %s"}\n'
DATA = b"".join(LINE % (n, random.Random(n).randbytes(20).hex().encode()) for n in range(4000))
ZEROES = bytes(80 * MIB)
Pack = Callable[[bytes], bytes]


def _zip(data: bytes, name: str = "a.jsonl") -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
    return out.getvalue()


def _tar(data: bytes, *infos: tarfile.TarInfo) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for info in infos or (tarfile.TarInfo("a.jsonl"),):
            info.size = 0 if info.type != tarfile.REGTYPE else len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


PACKS: dict[str, Pack] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}
ARCHIVES: dict[str, Pack] = {"zip": _zip, "tar": _tar}


def read(path: Path, limits: Limits = DEFAULT_LIMITS) -> list[tuple[str, str, bytes, str]]:
    """Name, packing, bytes and problem of every stream that is no archive."""
    found = []
    for opened in open_all([path], limits):
        data, problem = b"", opened.problem or ""
        try:
            while opened.stream and not opened.archive and not problem and (more := opened.stream.read(MIB)):
                data += more
        except DamageError as error:
            problem = str(error)
        if not opened.archive or problem:
            found.append((opened.name.removeprefix(str(path)), opened.packing, data, problem))
    return found


@pytest.fixture
def written(tmp_path: Path) -> Callable[[bytes], Path]:
    def _written(data: bytes) -> Path:
        path = tmp_path / "in"
        path.write_bytes(data)
        return path

    return _written


Written = Callable[[bytes], Path]


@pytest.mark.parametrize("pack", PACKS)
def test_packed(written: Written, pack: str) -> None:
    assert read(written(PACKS[pack](DATA))) == [("", pack, DATA, "")]


@pytest.mark.parametrize("pack", ["gzip", "zstd", "xz", "bzip2"])
def test_frames_one_after_another(written: Written, pack: str) -> None:
    assert read(written(PACKS[pack](DATA[:999]) + PACKS[pack](b"") + PACKS[pack](DATA[999:]))) == [("", pack, DATA, "")]


def test_padding_behind_gzip(written: Written) -> None:
    assert read(written(gzip.compress(DATA) + bytes(700))) == [("", "gzip", DATA, "")]


@pytest.mark.parametrize("outer", PACKS)
@pytest.mark.parametrize("kind", ARCHIVES)
def test_archives(written: Written, kind: str, outer: str) -> None:
    inner = ARCHIVES[kind](PACKS[outer](DATA))
    assert read(written(inner)) == [("!a.jsonl", outer, DATA, "")]
    assert read(written(PACKS[outer](ARCHIVES[kind](DATA)))) == [("!a.jsonl", "", DATA, "")]


@pytest.mark.parametrize("pack", [*PACKS, "tar"])
@pytest.mark.parametrize("share", [0.4, 0.9])
def test_cut_off(written: Written, pack: str, share: float) -> None:
    """What stands before the cut is kept; but for bzip2, whose blocks are larger than this file."""
    packed = (PACKS | ARCHIVES)[pack](DATA)
    found = read(written(packed[: int(len(packed) * share)]))
    data = b"".join(f[2] for f in found)
    assert DATA.startswith(data)
    assert len(data) > len(DATA) * share * 0.6 or pack == "bzip2"
    assert any("damaged or cut off" in f[3] for f in found)


@pytest.mark.parametrize("pack", PACKS)
def test_cut_off_is_imported_up_to_the_cut(written: Written, pack: str) -> None:
    packed = PACKS[pack](DATA)
    with Case() as case:
        (source,) = Loader(case).load([written(packed[: len(packed) - 2])])
        assert "damaged or cut off" in (source.problem or "")
        assert sum(source.outcomes.values()) == source.records
        assert source.outcomes["mapped"] == case.count("events")
        assert case.count("events") >= (3000 if pack != "bzip2" else 0)


BOMBS: dict[str, bytes] = {
    "gzip": gzip.compress(ZEROES),
    "xz": lzma.compress(ZEROES, preset=0),
    "bzip2": bz2.compress(ZEROES),
    "zstd": zstandard.compress(ZEROES),
    "zip": _zip(ZEROES),
    "gzip twice": gzip.compress(gzip.compress(ZEROES)),
    "tar in gzip": gzip.compress(_tar(ZEROES)),
    "gzip in zip": _zip(gzip.compress(ZEROES)),
}


@pytest.mark.parametrize("kind", BOMBS)
def test_bomb(written: Written, kind: str) -> None:
    found = read(written(BOMBS[kind]))
    assert "bomb" in found[-1][3]
    assert sum(len(f[2]) for f in found) < 70 * MIB


def test_many_members_share_one_budget(written: Written) -> None:
    """Each member alone is below what is questioned; all together they are a bomb."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for n in range(5):
            archive.writestr(f"{n}", ZEROES[: 20 * MIB])
    found = read(written(out.getvalue()))
    assert [bool(f[3]) for f in found] == [False, False, False, True, True]


@pytest.mark.parametrize(("pack", "said"), [(gzip.compress, "packed more than 3"), (_zip, "nested deeper than 3")])
def test_nested_too_deep(written: Written, pack: Pack, said: str) -> None:
    data = DATA[:100]
    for _ in range(5):
        data = pack(data)
    found = read(written(data))
    assert said in found[-1][3]


LINKS = [
    ("../../up.jsonl", tarfile.REGTYPE, ""),
    ("/abs.jsonl", tarfile.REGTYPE, ""),
    ("soft", tarfile.SYMTYPE, "not followed"),
    ("hard", tarfile.LNKTYPE, "not followed"),
    ("pipe", tarfile.FIFOTYPE, "not followed"),
    ("device", tarfile.CHRTYPE, "not followed"),
]


def test_tar_with_paths_and_links_writes_nothing(written: Written, tmp_path: Path) -> None:
    infos = []
    for name, kind, _ in LINKS:
        infos.append(tarfile.TarInfo(name))
        infos[-1].type, infos[-1].linkname = kind, "/etc/passwd"
    found = read(written(_tar(DATA, *infos)))
    assert [f[0] for f in found] == [f"!{name}" for name, _, _ in LINKS]
    for (_, _, data, problem), (_, _, said) in zip(found, LINKS, strict=True):
        assert said in problem
        assert bool(data) != bool(problem)
    assert [p.name for p in tmp_path.iterdir()] == ["in"]


def test_sparse_file_in_tar_is_not_blown_up(written: Written) -> None:
    info = tarfile.TarInfo("holes")
    info.type = tarfile.GNUTYPE_SPARSE
    head = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    head[386:410] = b"00000000000\0" * 2
    head[483:495] = b"77777777777\0"  # 8 GiB of nothing
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    found = read(written(bytes(head) + bytes(1024)))
    assert (found[0][0], found[0][2]) == ("!holes", b"")
    assert "sparse" in found[0][3]


def test_zip_members_fail_one_by_one(written: Written) -> None:
    """An encrypted member and one of an unknown method do not keep the others from being read."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in ("locked", "method", "fine"):
            archive.writestr(name, DATA[:100])
    raw = bytearray(out.getvalue())
    entries = [n for n in range(len(raw)) if raw.startswith(b"PK\x01\x02", n)]
    raw[entries[0] + 8] |= 1
    raw[entries[1] + 10 : entries[1] + 12] = struct.pack("<H", 77)
    found = read(written(bytes(raw)))
    assert [f[0] for f in found] == ["!locked", "!method", "!fine"]
    assert "encrypted" in found[0][3]
    assert "NotImplementedError" in found[1][3]
    assert found[2][2] == DATA[:100]


@pytest.mark.parametrize("keep", [0.5, 0.99])
def test_zip_without_its_directory(written: Written, keep: float) -> None:
    packed = _zip(DATA)
    found = read(written(packed[: int(len(packed) * keep)]))
    assert [(f[0], "BadZipFile" in f[3]) for f in found] == [("!(rest)", True)]


def test_folder_with_loops_pipes_and_broken_links(tmp_path: Path) -> None:
    folder = tmp_path / "f"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "a.jsonl").write_bytes(DATA)
    (folder / "deep" / "loop").symlink_to(folder)
    (folder / "broken").symlink_to(folder / "nowhere")
    (folder / "self").symlink_to(folder / "self")
    os.mkfifo(folder / "pipe")
    with Case() as case:
        sources = {Path(s.name).name: s for s in Loader(case).load([folder])}
        assert sorted(sources) == ["a.jsonl", "broken", "loop", "pipe", "self"]
        assert {n for n, s in sources.items() if s.problem} == {"broken", "loop", "pipe", "self"}
        assert sources["a.jsonl"].outcomes == {"mapped": 4000}
        assert case.count("records") == 4


NAMES = [b"quote'\".jsonl", b"line\nend\x1b[31m.jsonl", b"\xff\xfe.jsonl", "\u202egnp.jsonl".encode(), b"n" * 255]


@pytest.mark.parametrize("name", NAMES)
def test_hostile_name(tmp_path: Path, name: bytes) -> None:
    path = tmp_path / os.fsdecode(name)
    path.write_bytes(DATA)
    with Case() as case:
        (source,) = Loader(case).load([path])
        assert source.outcomes == {"mapped": 4000}
        assert Path(case.one("SELECT name FROM sources")).name.encode() == (
            name if b"\xff" not in name else rb"\udcff\udcfe.jsonl"
        )


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("missing", "no such file or folder"),
        ("in/below", "Not a directory"),
        ("n" * 300, "File name too long"),
        ("nul\0", "not a path"),
        ("red\x1b[31m", "red\\x1b[31m: no such"),
    ],
)
def test_refused(written: Written, tmp_path: Path, name: str, said: str) -> None:
    path = written(DATA)
    with Case() as case:
        with pytest.raises(InputError) as caught:
            Loader(case).load([path, tmp_path / name])
        assert said in str(caught.value)
        assert case.count("events") == 0


@pytest.mark.parametrize("locked", ["f", "f/deep", "f/deep/a.jsonl"])
def test_no_permission(locked: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        (base / "f" / "deep").mkdir(parents=True)
        (base / "f" / "deep" / "a.jsonl").write_bytes(DATA)
        for path in (base, base / "f", base / "f" / "deep"):
            path.chmod(0o755)
        (base / locked).chmod(0)
        with _nobody(), pytest.raises(InputError, match="cannot be opened: Permission denied") as caught:
            list(open_all([base / "f"], DEFAULT_LIMITS))
        (base / locked).chmod(0o755)
        assert str(base / locked) in str(caught.value)


@contextmanager
def _nobody() -> Iterator[None]:
    """Root may read everything, so tests that run as root become somebody else."""
    me = os.geteuid()
    os.seteuid(me or 65534)
    try:
        yield
    finally:
        os.seteuid(me)
