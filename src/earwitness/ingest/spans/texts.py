"""Text as recorders leave it: JSON, Python repr, masked, cut. Reading it, and telling copies of it apart."""

import ast
import json
import re
import warnings
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import msgspec

from earwitness.ingest.jsonout import encode_text, encoder
from earwitness.ingest.pyrepr import read_alike
from earwitness.ingest.spans.quoted import bare
from earwitness.schema.words import Flag

_LITERAL_LIMIT = 1 << 20
_STARTS = ('{"', "{'", "[{", '["', "['", "[[", "{\n", "[\n")
_OBJECT_REPR = re.compile(r"[A-Z]\w*\(\w+=")
_MASKS = ("__REDACTED__", "[Scrubbed due to ", "<fully masked due to failed mask function>", "[SECRET_DETECTED]")
_LONGEST_MASK = 64  # with white space around it
_WHOLE_MASKS = {"redacted", "[redacted]", "<redacted>", "***", "[masked]"}
# A mask that is the whole of a value inside a structure, written as JSON, as JSON in JSON, or as a literal; no key.
_INNER_MASK = re.compile(r"""(["'])(?:\[(?i:redacted|masked)\]|<(?i:redacted)>|\*\*\*|REDACTED)\\*\1(?!\s*:)""")
_INNER_MARKS = ("edacted", "EDACTED", "***", "asked]", "ASKED]")
_WRAPPERS = {"result", "output", "content", "response", "text", "raw", "answer"}
_DEPTH = 4
# Texts up to this length are remembered, because every model call repeats its history.
_REMEMBERED = 4096
_FAST = msgspec.json.Decoder()
_ENCODE = encoder(ensure_ascii=False, default=str, separators=(",", ":"))
_ENCODE_SORTED = encoder(sort_keys=True, default=str)
_SORTED = msgspec.json.Encoder(order="sorted", enc_hook=str)


def loads(text: str) -> Any:
    """The list or dict a text is the JSON or the Python literal of; None for any other text."""
    bare = text.strip()
    if not bare.startswith(("{", "[")):
        return None
    try:
        return _FAST.decode(bare)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return _tolerant(bare)


def _tolerant(bare: str) -> Any:
    """NaN, lone surrogates and numbers beyond a float are JSON to Python only."""
    try:
        return json.loads(bare)
    except (ValueError, RecursionError):
        return _literal(bare)


def _literal(text: str) -> Any:
    if len(text) > _LITERAL_LIMIT or text[-1] not in "]}":
        return None
    found = read_alike(text)
    if found is not None:
        return found
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a stray backslash in a trace is no fault of ours
            value = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def as_text(value: Any) -> str:
    """A value as the text of a content: text stays, everything else becomes JSON."""
    if isinstance(value, str):
        return value
    try:
        return _ENCODE(value)
    except (ValueError, TypeError, RecursionError):
        return str(value)


def word(value: Any) -> str | None:
    """A text that says something, such as a name or an id."""
    return value if isinstance(value, str) and value else None


def is_repr(text: str) -> bool:
    """Whether a text is the `repr` of an object that is no literal."""
    return _OBJECT_REPR.match(text) is not None


def fingerprint(text: str) -> bytes:
    """Equal for texts that say the same: white space, JSON layout, quotes, wrappers such as `{"result": ...}` aside."""
    return _remembered_fingerprint(text) if len(text) <= _REMEMBERED else _fingerprint(text)


def fingerprint_of(value: Any) -> bytes:
    """The same of a value, as of its text."""
    return fingerprint(value) if isinstance(value, str) else _digest(unwrap(value))


def _fingerprint(text: str) -> bytes:
    return _digest(unwrap(bare(text)))


def _digest(core: Any) -> bytes:
    plain = _sorted(core) if isinstance(core, dict | list) else core if isinstance(core, str) else _ENCODE_SORTED(core)
    words = b" ".join(plain.split()) if isinstance(plain, bytes) else _utf8(" ".join(plain.split()))
    return blake2b(words, digest_size=16).digest()


def _sorted(core: dict[str, Any] | list[Any]) -> bytes:
    """JSON with keys in order; it need only be the same for the same, and is made often."""
    try:
        return _SORTED.encode(core)
    except (UnicodeEncodeError, TypeError, ValueError):
        return _utf8(_ENCODE_SORTED(core))  # lone surrogates


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


_remembered_fingerprint = lru_cache(maxsize=4096)(_fingerprint)


def unwrap(text: str) -> Any:
    """What a text holds inside the wrappers that frameworks put around a result."""
    value: Any = text
    for _ in range(_DEPTH):
        inner = _inner(value)
        if inner is None:
            return value
        value = inner
    return value


def _inner(value: Any) -> Any:
    if isinstance(value, str):
        return loads(value)
    if not isinstance(value, dict):
        return None
    if value.get("type") == "tool" and isinstance(value.get("data"), dict):
        return value["data"].get("content")
    kwargs = value.get("kwargs")
    if value.get("lc") and isinstance(kwargs, dict) and isinstance(kwargs.get("content"), str):
        return kwargs["content"]
    if value.get("type") == "tool" and "tool_call_id" in value and isinstance(value.get("content"), str):
        return value["content"]
    if "output" in value and value.keys() <= {"output", "kwargs"}:
        return value["output"]
    if "response" in value and value.keys() <= {"id", "name", "response"}:
        return value["response"]
    (key, inner), *others = value.items() if value else [("", None)]
    return inner if not others and key in _WRAPPERS else None


def escaped(text: str) -> str:
    """A text as it looks inside a JSON string."""
    return encode_text(text)[1:-1]


def says_nothing(text: str | None) -> bool:
    """Nothing, or the JSON of nothing."""
    if text is None or not (start := text.lstrip()):
        return True
    if not start.startswith(("{", "[")):  # as most texts
        return text in ("null", "None")
    core = unwrap(text)
    return core in ({}, [], "null", "None", "") or core == {"result": None}


def masked(text: str) -> bool:
    """Whether something in the text was hidden before it was recorded."""
    if len(text) <= _LONGEST_MASK and text.strip().lower() in _WHOLE_MASKS:
        return True
    for mask in _MASKS:
        if mask in text:
            return True
    return text.startswith(("{", "[")) and _masked_inside(text)


def _masked_inside(text: str) -> bool:
    """Whether a value of a structure was hidden whole."""
    for mark in _INNER_MARKS:  # most texts have none of them
        if mark in text:
            return _INNER_MASK.search(text) is not None
    return False


def cut(text: str, limit: int | None) -> bool:
    """Whether a text was cut: it has exactly the length limit of its trace, or is JSON without an end."""
    if limit is not None and len(text) == limit:
        return True
    return text.startswith(_STARTS) and text.rstrip()[-1] not in "]}" and loads(text) is None


def flags_of(text: str, limit: int | None) -> tuple[Flag, ...]:
    """The flags of a content: masked, truncated."""
    found: list[Flag] = ["masked"] if masked(text) else []
    return (*found, "truncated") if text and cut(text, limit) else tuple(found)


def length_limit(values: list[str]) -> int | None:
    """The length at which an exporter cut: the largest one, if three different values have exactly it."""
    longest = max(map(len, values), default=0)
    return longest if longest >= 32 and len({v for v in values if len(v) == longest}) >= 3 else None
