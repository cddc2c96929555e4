"""Values as LangGraph's checkpointers store them: a type and bytes, read as plain data.

MessagePack with extension types that name a class and what it is built from. The parts are kept, the class is not:
nothing is imported, built or run. What is pickled is not opened.
"""

import base64
import binascii
import re
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import msgspec

from earwitness.ingest.jsontext import DecodeError, decode
from earwitness.ingest.pyrepr import read_repr

# Extension types of `langgraph.checkpoint.serde.jsonplus`: of a class's module, name and parts, the parts.
_BUILT = range(6)
_ARRAY, _SNAPSHOT = 6, 7
_DEPTH = 32
# Of values that JSON has, too.
_SIMPLE = frozenset({str, int, float, bool, type(None)})
_NAMED_PARTS = {("langgraph.types", "Send"): ("node", "arg")}
_REPR = re.compile(r"""b(['"]).*\1""", re.DOTALL)
# How somebody shortened bytes when writing them down.
_CUT = re.compile(r"(?:\.\.\.|…)")


class UnpackError(Exception):
    """A stored value that cannot be read; the message quotes nothing of it."""


class CutError(UnpackError):
    """A stored value that was cut when it was written down."""


class ClosedError(UnpackError):
    """A stored value that is hidden, or of a kind that is never opened."""


def unpack(kind: Any, stored: Any) -> Any:
    """The plain data of a stored value.

    Args:
        kind: the type beside it: msgpack, json, bytes, null.
        stored: bytes, or whatever a dump made of them.

    Raises:
        UnpackError: it cannot be read, or is not opened.
    """
    if kind in ("null", "empty") or stored is None:
        return None
    if isinstance(stored, dict) and not _wrapped(stored):
        return stored  # a column of JSON
    reader = _READERS.get(kind) if isinstance(kind, str) else _READERS["msgpack"]
    if reader is None:
        raise ClosedError(_closed(str(kind)))
    return reader(stored)


def _closed(kind: str) -> str:
    if kind == "pickle":
        return "a pickled value: it is not opened"
    return "an encrypted value" if "+" in kind else "a value of a type that is not known"


def _json(stored: Any) -> Any:
    text = stored if isinstance(stored, str) and stored[:1] in '{["' else raw(stored)
    try:
        return decode(text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text)
    except DecodeError as error:
        raise UnpackError(str(error)) from None


def _text(stored: Any) -> Any:
    data = raw(stored)
    try:
        return data.decode()
    except UnicodeDecodeError:
        return base64.b64encode(data).decode()


def raw(stored: Any) -> bytes:
    """The bytes of a column: as they are, or from hex, Base64, a Python `repr` or an object of a dump.

    Raises:
        UnpackError: it is none of these.
    """
    if isinstance(stored, bytes):
        return stored
    if isinstance(stored, dict):
        stored = stored.get("encoded", stored.get("data"))
    if isinstance(stored, list):
        return _octets(stored)
    if not isinstance(stored, str):
        raise UnpackError("a stored value that is no bytes")
    return _spelled(stored)


def _wrapped(stored: dict[str, Any]) -> bool:
    return stored.keys() == {"type", "data"} or "$base64" in stored


def _octets(numbers: list[Any]) -> bytes:
    try:
        return bytes(numbers)
    except (TypeError, ValueError):
        raise UnpackError("a list that is no bytes") from None


def _of_hex(digits: str) -> bytes | None:
    if not digits.isalnum():  # what reads hex passes over white space
        return None
    try:
        return bytes.fromhex(digits)
    except ValueError:
        return None


def _spelled(text: str) -> bytes:
    if (found := _of_hex(text.removeprefix("\\x"))) is not None:
        return found
    if _REPR.fullmatch(text):
        found = read_repr(text)
        if isinstance(found, bytes):
            return found
    if _CUT.search(text):
        raise CutError("a stored value that was cut when it was written down")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise UnpackError("a stored value that is neither hex nor Base64") from None


def _msgpack(stored: Any) -> Any:
    data = raw(stored)
    try:
        return plain_data(_unpacked(data, _DEPTH))
    except (msgspec.DecodeError, ValueError, TypeError, RecursionError, OverflowError) as error:
        raise UnpackError(f"not MessagePack: {type(error).__name__}") from None


def _unpacked(data: Any, depth: int) -> Any:
    return _decoder(depth).decode(data)


@cache
def _decoder(depth: int) -> msgspec.msgpack.Decoder[Any]:
    return msgspec.msgpack.Decoder(ext_hook=partial(_extension, depth))


def _extension(depth: int, code: int, data: memoryview) -> Any:
    """The parts of an extension; one that is not known says so and no more."""
    if depth <= 0:
        raise ValueError("nested too deep")
    if code == _SNAPSHOT:
        return _unpacked(data, depth - 1)
    if code not in _BUILT and code != _ARRAY:
        return {"__ext__": code, "bytes": len(data)}
    parts = _unpacked(data, depth - 1)
    if not isinstance(parts, list) or len(parts) < 3:
        return parts
    return {"array": parts[0], "shape": parts[1]} if code == _ARRAY else _given(*parts[:3])


def _given(module: Any, name: Any, given: Any) -> Any:
    if module == "uuid" and isinstance(given, str) and len(given) == 32:
        return "-".join((given[:8], given[8:12], given[12:16], given[16:20], given[20:]))
    if module == "pathlib" and isinstance(given, list):
        return "/".join(map(str, given)).replace("//", "/", 1)
    keys = _NAMED_PARTS.get((module, name)) if isinstance(module, str) and isinstance(name, str) else None
    return dict(zip(keys, given, strict=False)) if keys and isinstance(given, list) else given


def plain_data(value: Any) -> Any:
    """As JSON would have it: keys are text, and so are bytes and moments."""
    if isinstance(value, dict):
        return {
            k if type(k) is str else str(k): v if type(v) in _SIMPLE else plain_data(v)  # most are
            for k, v in value.items()
        }
    if isinstance(value, list | tuple):
        return [v if type(v) in _SIMPLE else plain_data(v) for v in value]
    if isinstance(value, bytes):
        return _text(value)
    return value if type(value) in _SIMPLE else str(value)


_READERS: dict[str, Callable[[Any], Any]] = {
    "msgpack": _msgpack,
    "json": _json,
    "bytes": _text,
    "bytearray": _text,
}
