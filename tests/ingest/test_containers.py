"""Containers: what a stream is taken for, and records with their exact places."""

import bz2
import gzip
import io
import json
import lzma
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from earwitness.ingest.containers import Block, blocks, detect, lines_of, records
from earwitness.ingest.files import open_all
from earwitness.ingest.jsonpieces import Large
from earwitness.ingest.jsontext import DecodeError, decode, has_repeats, keys_written
from earwitness.ingest.limits import DEFAULT_LIMITS, Limits
from earwitness.ingest.record import Record, Skip
from earwitness.ingest.stream import CountingStream

_EDGES = st.sampled_from(
    [":", '":', '\\":', "a\\", '"', "{", "}\n{", "]", ",", "\u2028", "\ufeff", "\x7f", "é", "\U0001f600"]
)
TEXT = st.lists(st.text(max_size=5) | _EDGES, max_size=4).map("".join)
VALUE: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.lists(st.dictionaries(TEXT, VALUE, max_size=4), max_size=6)
Objects = list[dict[str, Any]]


def _dump(value: Any, **options: Any) -> str:
    return json.dumps(value, ensure_ascii=False, **options)


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


LAYOUTS: dict[str, Callable[[Objects], str]] = {
    "lines": lambda objects: "".join(_dump(o) + "\n" for o in objects),
    "lines, ascii": lambda objects: "\n".join(json.dumps(o) for o in objects),
    "lines, windows": lambda objects: "\r\n".join(_dump(o, separators=(",", ":")) for o in objects) + "\r\n\r\n",
    "array": _dump,
    "array, pretty": lambda objects: _dump(objects, indent=2),
    "array of lines": lambda objects: "[\n" + ",\n".join(map(_dump, objects)) + "\n]",
    "concatenated": lambda objects: "\n".join(_dump(o, indent=1) for o in objects),
    "on one line": lambda objects: " ".join(map(_dump, objects)),
    "byte order mark": lambda objects: "\ufeff" + "".join(_dump(o) + "\n" for o in objects),
}


def _tar(data: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        info = tarfile.TarInfo("in")
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def _zip(data: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("in", data)
    return out.getvalue()


PACKS: dict[str, Callable[[bytes], bytes]] = {
    "plain": lambda data: data,
    "gz": gzip.compress,
    "zst": zstandard.ZstdCompressor().compress,
    "xz": lambda data: lzma.compress(data, preset=0),
    "bz2": bz2.compress,
    "zip": _zip,
    "tar": _tar,
}


def read(stream: CountingStream, limits: Limits = DEFAULT_LIMITS) -> list[Record | Skip]:
    """The records of a stream, lines decoded."""
    container = detect(stream)
    assert not container.reason
    out: list[Record | Skip] = []
    for chunk in blocks(container, limits) if container.name == "jsonl" else records(container, limits):
        if isinstance(chunk, Block):
            out += [Record(decode(line), place) for line, place in lines_of(chunk)]
        else:
            assert not isinstance(chunk, Large)  # unless somebody names arrays that may be cut
            out.append(chunk)
    return out


@pytest.mark.parametrize("layout", LAYOUTS)
@settings(max_examples=60, deadline=None)
@given(objects=OBJECTS, size=st.sampled_from([1, 7, 64, 1 << 20]))
def test_every_layout_gives_the_records_back_with_their_places(layout: str, objects: Objects, size: int) -> None:
    data = _encode(LAYOUTS[layout](objects))
    found = read(CountingStream(io.BytesIO(data)), Limits(block=size))
    assert [r.value for r in found if isinstance(r, Record)] == objects
    for (value, (line, offset, length, *_)), given_ in zip(found, objects, strict=True):  # type: ignore[misc]
        assert json.loads(data[offset : offset + length]) == value == given_
        assert line == data[:offset].count(b"\n") + 1


@pytest.mark.parametrize("pack", PACKS)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(objects=OBJECTS.filter(bool), layout=st.sampled_from(sorted(LAYOUTS)))
def test_every_packing_gives_the_records_back(tmp_path: Path, pack: str, objects: Objects, layout: str) -> None:
    data = _encode(LAYOUTS[layout](objects))
    (tmp_path / "in").write_bytes(PACKS[pack](data))
    found = []
    for opened in open_all([tmp_path / "in"], DEFAULT_LIMITS):
        if opened.stream and not opened.archive:
            found.append([r.value for r in read(opened.stream) if isinstance(r, Record)])
    assert found == [objects]


KINDS: list[tuple[bytes, str]] = [
    (b"", "empty"),
    (b'{"a":1}', "json"),
    (b'{"a":1}\n{"a":2}', "jsonl"),
    (b'{"a":1\n{"a":2}', "jsonl"),
    (b'{"a":NaN}\n{"a":NaN}', "jsonl"),
    (b'{\n"list": [\n{"a":1}\n]}', "json-concatenated"),
    (b'[\n{"a":1},\n{"a":2}\n]', "json-array"),
    (b"[" + b'{"a":1},' * 60_000 + b"{}]", "json-array"),
    (b'{"a":"' + b"x" * 300_000 + b'"}\n{}', "jsonl"),
    (b'[INFO] up\n{"a":1}\n', "jsonl"),
    (b'up\n{\n"a":1}\n', "json-concatenated"),
    (b"int main()\n{\n  return 0;\n}\n", "text"),
    (b"PAR1....", "parquet"),
    (b"SQLite format 3\x00", "sqlite"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
]


@pytest.mark.parametrize(("data", "kind"), KINDS)
def test_kind(data: bytes, kind: str) -> None:
    assert detect(CountingStream(io.BytesIO(data))).name == kind


LINES = st.lists(st.integers(0, 30).map(lambda n: b"1" * n), max_size=8)


@settings(deadline=None)
@given(lines=LINES, limit=st.integers(1, 30), block=st.integers(1, 40))
def test_lines_over_the_limit(lines: list[bytes], limit: int, block: int) -> None:
    """Exactly those longer than the limit, line end included, are passed over; places stay right."""
    data = b"\n".join([b"[{}]", *lines])
    container = detect(CountingStream(io.BytesIO(data)))._replace(name="jsonl")
    said = []
    for chunk in blocks(container, Limits(block=block, line=limit)):
        if isinstance(chunk, Skip):
            said.append((chunk.place.offset, chunk.place.length, False))
        else:
            said += [
                (p.offset, p.length + data.startswith(b"\n", p.offset + p.length), True) for _, p in lines_of(chunk)
            ]
    at, due = 0, []
    for line in data.splitlines(keepends=True):
        if line.strip() or len(line) > limit:
            due.append((at, len(line), len(line) <= limit))
        at += len(line)
    assert said == due


@settings(deadline=None)
@given(value=st.dictionaries(TEXT, VALUE, max_size=4), spaced=st.booleans())
def test_keys_are_never_undercounted(value: dict[str, Any], spaced: bool) -> None:
    raw = json.dumps(value, separators=(", ", "\t : ") if spaced else (",", ":")).encode()
    assert keys_written(raw) >= _keys(value)
    try:
        decode(raw)
    except DecodeError:
        pytest.fail("a key that is not repeated was taken for one that is")


@settings(deadline=None)
@given(value=st.dictionaries(TEXT, VALUE, min_size=1, max_size=4), text=TEXT, data=st.data())
def test_a_repeated_key_is_never_missed(value: dict[str, Any], text: str, data: st.DataObject) -> None:
    """A repeat is put in at some depth; whatever else stands there must not hide it."""
    key = data.draw(st.sampled_from(sorted(value)))
    extra = f"{json.dumps(key)}:{json.dumps(text)}"
    inner = "{" + extra + "," + json.dumps(value)[1:]
    raw = data.draw(st.sampled_from([inner, f'{{"a":[{inner}]}}', f'{{"":{inner}}}'])).encode()
    assert has_repeats(raw, json.loads(raw))
    with pytest.raises(DecodeError, match="repeats a key"):
        decode(raw)


def _keys(value: Any) -> int:
    if isinstance(value, dict):
        return len(value) + sum(map(_keys, value.values()))
    return sum(map(_keys, value)) if isinstance(value, list) else 0
