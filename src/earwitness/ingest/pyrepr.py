"""Python representations in logs, read as data: nothing in them is ever run."""

import ast
import io
import re
import tokenize
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import msgspec

_JSON = msgspec.json.Decoder()
_LIMIT = 1 << 20
_REMEMBERED = 4096
# Text that Python and, after a change of quotes, JSON read alike: no escapes, no signs, no tuples.
_ALIKE = re.compile(
    r"""(?:'[^'\\\x00-\x1f\x7f]*+'|"[^"\\\x00-\x1f\x7f]*+"|[\[\]{},: ]"""
    r"""|\b\d{1,15}(?:\.\d{1,15})?\b|\b(?:True|False|None)\b)*+"""
)
_TOKENS = re.compile(r"""'[^']*+'|"[^"]*+"|True|False|None""")
_JSON_OF = {"True": "true", "False": "false", "None": "null"}
_ENUM = re.compile(r"<\w+\.\w+: ('[^'\\]*'|\d+)>")
_OPEN, _CLOSE = "([{", ")]}"


def read_repr(text: str) -> Any:
    """The value of a `repr`; objects become dicts of their fields. None where it cannot be read."""
    if len(text) > _LIMIT:
        return None
    found = _parse(text.strip())
    return _parse(_ENUM.sub(r"\1", text.strip())) if found is None and "<" in text else found


def _parse(text: str) -> Any:
    found = read_alike(text)
    return evaluate(text, _value) if found is None else found


def read_alike(text: str) -> Any:
    """A list or dict of a `repr` that JSON can say, at the speed of a JSON parser; None for all else."""
    if not text.startswith(("{", "[")):
        return None
    raw = _remembered_json(text) if len(text) <= _REMEMBERED else _as_json(text)
    try:
        return None if raw is None else _JSON.decode(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def _as_json(text: str) -> str | None:
    if not _ALIKE.fullmatch(text):
        return None
    if '"' in text or "True" in text or "False" in text or "None" in text:
        return _TOKENS.sub(lambda m: _JSON_OF.get(m[0]) or _quoted(m[0]), text)
    return text.replace("'", '"')


# One text is read for several ends, each of which may change what it gets.
_remembered_json = lru_cache(maxsize=256)(_as_json)


def _quoted(text: str) -> str:
    """A text in quotes of either kind, in those of JSON."""
    return text if text[0] == '"' else '"' + text[1:-1].replace('"', '\\"') + '"'


def evaluate(text: str, value: Callable[[ast.expr], Any]) -> Any:
    """What `value` reads from the syntax tree of an expression, which is never run; None where it is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a stray backslash in a trace is no fault of ours
            return value(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        return None


def read_fields(text: str) -> dict[str, Any] | None:
    """The fields of a model printed as `a=1 b='x'`; None where it cannot be read."""
    if len(text) > _LIMIT:
        return None
    try:
        starts = _starts(text)
    except (tokenize.TokenError, SyntaxError, IndentationError):
        return None
    if not starts:
        return None
    ends = [at for at, _ in starts[1:]] + [len(text)]
    return {name: read_repr(text[at + len(name) + 1 : end]) for (at, name), end in zip(starts, ends, strict=True)}


def _starts(text: str) -> list[tuple[int, str]]:
    """Where fields begin: names before an equals sign outside of all brackets. One line only."""
    depth, found, before = 0, [], None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.OP:
            depth += (token.string in _OPEN) - (token.string in _CLOSE)
            if token.string == "=" and depth == 0 and before is not None and token.start[0] == 1:
                found.append((before.start[1], before.string))
        before = token if token.type == tokenize.NAME else None
    return found


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Dict):
        return {_value(k): _value(v) for k, v in zip(node.keys, node.values, strict=True) if k is not None}
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return [_value(item) for item in node.elts]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand)
    if isinstance(node, ast.Call):
        return _object(node)
    if isinstance(node, ast.Name | ast.Attribute):
        return ast.unparse(node)
    raise ValueError("no value")


def _object(node: ast.Call) -> Any:
    if ast.unparse(node.func) in ("datetime.datetime", "datetime"):
        numbers = [_value(arg) for arg in node.args]
        return datetime(*numbers).replace(tzinfo=UTC).isoformat() if all(type(n) is int for n in numbers) else None
    return {k.arg: _value(k.value) for k in node.keywords if k.arg}
