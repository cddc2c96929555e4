"""Python `repr` of LangChain objects, as `json.dumps(default=str)` leaves them. Parsed, never evaluated."""

import ast
import re
from typing import Any

from earwitness.ingest.pyrepr import evaluate, read_alike

_LIMIT = 1 << 20
_CALL = re.compile(r"[A-Z]\w*\(")
_FIELD = re.compile(r"(\w+)=")
# The first field of a message, or of what a model returned, which tells its `str` from ordinary text.
_MESSAGE = re.compile(r"(?:content=['\"\[]|generations=\[\[)")
# What most fields of a message hold.
_EMPTY: dict[str, type[dict[str, Any]] | type[list[Any]]] = {"{}": dict, "[]": list}
_OPEN, _CLOSE = "([{", ")]}"
# A quoted text that says what it holds: printable ASCII without escapes.
_PLAIN = re.compile(r"""'[ -&(-\[\]-~]*'|"[ !#-\[\]-~]*\"""")
# A field that holds such a text or nothing, with what follows it.
_EASY = re.compile(r"""(\w+)=(?:'([ -&(-\[\]-~]*+)'|"([ !#-\[\]-~]*+)"|(\{\}|\[\]))(?: |\Z)""")
# One that holds brackets, no more than three deep, without escapes in the texts between them.
_FLAT = r"""[^(\[{}\])'"]++|'[^'\\]*+'|"[^"\\]*+\""""
_ONE = rf"[(\[{{](?:{_FLAT})*+[}}\])]"
_TWO = rf"[(\[{{](?:{_FLAT}|{_ONE})*+[}}\])]"
_NESTED = re.compile(rf"(\w+)=([(\[{{](?:{_FLAT}|{_TWO})*+[}}\])])(?: |\Z)")
# A quoted text, which may lack its end; a bracket; a blank.
_MARK = re.compile(r"""'(?:[^'\\]++|\\.)*+\\?+(?:'|\Z)|"(?:[^"\\]++|\\.)*+\\?+(?:"|\Z)|[(\[{}\]) ]""", re.DOTALL)


def parse_repr(text: str) -> Any:
    """What `Name(key=value, ...)` or the `str` of a message says, as a dict; None for any other text.

    The name of a class is kept under `__call__`.
    """
    bare = text.strip()
    if len(bare) > _LIMIT:
        return None
    if _MESSAGE.match(bare):
        return _message(bare)
    return _expression(bare) if _CALL.match(bare) and bare.endswith(")") else None


def _message(text: str) -> dict[str, Any] | None:
    fields: dict[str, Any] = {}
    at = 0
    while at < len(text):
        if match := _EASY.match(text, at):
            name, single, double, brackets = match.groups()
            fields[name] = _EMPTY[brackets]() if brackets else double if single is None else single
            at = match.end()
        elif match := _NESTED.match(text, at):
            fields[match[1]] = _expression(match[2])
            at = match.end()
        elif match := _FIELD.match(text, at):
            end = _end(text, at)
            fields[match[1]] = _expression(text[match.end() : end])
            at = end + 1
        else:
            return None
    return fields if isinstance(fields.get("content", fields.get("generations")), str | list) else None


def _end(text: str, at: int) -> int:
    """Where a field ends: at a blank that stands outside of quotes and brackets, or with the text."""
    depth = 0
    for match in _MARK.finditer(text, at):
        mark = match[0]
        if mark in _OPEN:
            depth += 1
        elif mark in _CLOSE:
            depth -= 1
        elif mark == " " and depth == 0:
            return match.start()
    return len(text)


def _expression(text: str) -> Any:
    """What an expression says; most fields are texts without anything to parse in them."""
    if made := _EMPTY.get(text):
        return made()
    if _PLAIN.fullmatch(text):
        return text[1:-1]
    found = read_alike(text)
    return evaluate(text, _value) if found is None else found


def _value(node: ast.expr) -> Any:
    """Literals and calls with keywords as plain data; everything else is nothing."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str | int | float | bool) else None
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return [_value(item) for item in node.elts]
    if isinstance(node, ast.Dict):
        return {str(_value(k)): _value(v) for k, v in zip(node.keys, node.values, strict=True) if k is not None}
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        given = {word.arg: _value(word.value) for word in node.keywords if word.arg}
        return {
            "__call__": node.func.id,
            **given,
            **({"__args__": [_value(a) for a in node.args]} if node.args else {}),
        }
    return None
