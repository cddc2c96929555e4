"""Items as columns: what the writer hands to the case, built by whole columns and not row by row."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from earwitness.ingest.record import Place

Ints = npt.NDArray[np.int64]
_JSON = msgspec.json.Encoder(enc_hook=str)


class Places(NamedTuple):
    """Where items came from, column by column."""

    source: Ints
    line: Ints
    offset: Ints
    pointer: Sequence[str | None] | None

    @classmethod
    def of(cls, sources: Sequence[int], places: Sequence[Place]) -> "Places":
        """Columns of single places."""
        lines, offsets = (np.array([p[n] for p in places], np.int64) for n in (0, 1))
        return cls(np.array(sources, np.int64), lines, offsets, [p[3] or None for p in places])

    def take(self, at: Ints) -> "Places":
        """Those at the given positions."""
        pointer = self.pointer and [self.pointer[n] for n in at.tolist()]
        return Places(self.source[at], self.line[at], self.offset[at], pointer)

    def columns(self) -> dict[str, Any]:
        """As columns of `events` and `sightings`."""
        pointer = self.pointer or pa.nulls(len(self.line), pa.string())
        return {"source": self.source, "line": self.line, "offset": self.offset, "pointer": pointer}


def array(values: Any, kind: pa.DataType) -> pa.Array:
    """A column of the given type; text that UTF-8 cannot hold is escaped."""
    if isinstance(values, pa.Array):
        return values
    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:
        return pa.array([clean(v) for v in values], kind)


def clean(value: Any) -> Any:
    """Text, or a list of texts, with lone surrogates as visible `\\udXXX` escapes."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {clean(str(k)): clean(v) for k, v in value.items()}
    return [clean(v) for v in value] if isinstance(value, list | tuple) else value


def encode(texts: Sequence[str]) -> tuple[list[bytes], list[bool]]:
    """UTF-8 of texts, and which of them had to be escaped for it."""
    try:
        return [t.encode() for t in texts], [False] * len(texts)
    except UnicodeEncodeError:
        raw = [t.encode("utf-8", "backslashreplace") for t in texts]
        return raw, [any(0xD800 <= ord(c) < 0xE000 for c in t) for t in texts]


def content_ids(raw: Sequence[bytes]) -> list[bytes]:
    """BLAKE2b-128 of texts in UTF-8: no text can be made that hides behind another's id."""
    return [blake2b(r, digest_size=16).digest() for r in raw]


def uuids(ids: Sequence[bytes]) -> pa.Array:
    """Content ids as a column."""
    storage = pa.Array.from_buffers(pa.binary(16), len(ids), [None, pa.py_buffer(b"".join(ids))])
    return pa.ExtensionArray.from_storage(pa.uuid(), storage)


def strings(raw: Sequence[bytes]) -> pa.Array:
    """UTF-8 texts as a column, without decoding them."""
    offsets = np.zeros(len(raw) + 1, np.int64)
    np.cumsum([len(r) for r in raw], out=offsets[1:])
    data = pa.py_buffer(b"".join(raw))
    return pa.Array.from_buffers(pa.large_string(), len(raw), [None, pa.py_buffer(offsets), data])


def json_texts(values: Sequence[Any]) -> list[str | None]:
    """Attributes as JSON texts; nothing for none."""
    return [_json_text(v) if v else None for v in values]


def _json_text(value: Any) -> str:
    try:
        return _JSON.encode(value).decode()
    except UnicodeEncodeError:
        return _JSON.encode(clean(value)).decode()
