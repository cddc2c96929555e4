"""Canonical JSONL: one trace, actor, event, sighting, value, rule, loss, link or label a line.

The JSON Schema: `earwitness schema --json-schema canonical`.

Obtained by: `earwitness export`, or a program of your own.
Versions tried: the schema of this version (`earwitness schema`).
Order: `seq`, else time, else file order.
"""

import json
from collections.abc import Iterable
from typing import Any

import msgspec

from earwitness.ingest.jsontext import has_repeats, keys_kept
from earwitness.ingest.record import Context, Emit, Made, Record, Skip
from earwitness.schema.model import ITEM_TYPES, Item

_DECODER = msgspec.json.Decoder(Item)
_FIELDS = {t.__struct_config__.tag: set(t.__struct_fields__) for t in ITEM_TYPES}
# The keys without which a line of a type is none; told apart from other formats that use `type`, too.
_NEEDED = {
    "trace": {"id"},
    "actor": {"trace", "name"},
    "event": {"trace", "channel"},
    "sighting": {"trace", "content"},
    "value": {"attribute", "value"},
    "rule": {"effect"},
    "loss": {"trace", "kind"},
    "link": {"trace", "other", "kind"},
    "label": {"trace", "event"},
}


class _Reader:
    def feed(self, record: Record) -> Iterable[Emit]:
        try:
            item = msgspec.convert(_tidy(record.value), Item)
        except (msgspec.ValidationError, RecursionError) as error:
            yield Skip("unparseable", f"not canonical: {_safe(error)}", record.place)
        else:
            yield Made(item, record.place)

    def finish(self) -> Iterable[Emit]:
        return ()


class _Canonical:
    NAME = "canonical"
    TITLE = "Earwitness canonical JSONL"
    PRIORITY = 10

    def sniff(self, value: Any) -> bool:
        if not isinstance(value, dict) or not isinstance(value.get("type"), str):
            return False
        needed = _NEEDED.get(value["type"])
        return needed is not None and needed <= value.keys()

    def open(self, context: Context) -> _Reader:
        return _Reader()

    def decode_lines(self, raw: bytes) -> list[Item] | None:
        """A block of lines at parser speed; None where some line needs a closer look."""
        try:
            items = _DECODER.decode_lines(raw)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            return None
        return None if has_repeats(raw, _keys(items)) else items


def _keys(items: list[Item]) -> int:
    """Keys that lines must have held for these items; only two fields of them hold objects."""
    lines: list[dict[str, Any]] = msgspec.to_builtins(items)
    inner = [v for line in lines for v in (line.get("attributes"), *line.get("to", ())) if type(v) is dict]
    return sum(map(len, lines)) + keys_kept(inner)


def _tidy(value: dict[str, Any]) -> dict[str, Any]:
    """Foreign keys move to `attributes`; content that is no text becomes JSON text; one recipient becomes a list."""
    known = _FIELDS[value["type"]] | {"type"}
    out = {k: v for k, v in value.items() if k in known}
    foreign = {k: v for k, v in value.items() if k not in known}
    if foreign and "attributes" in known:
        out["attributes"] = {**(out.get("attributes") or {}), **foreign}
    elif foreign:
        out.update(foreign)
    for key in ("content", "value"):
        if key in out and not isinstance(out[key], str):
            out[key] = json.dumps(out[key], ensure_ascii=False, separators=(",", ":"))  # takes any integer
    if isinstance(out.get("to"), str):
        out["to"] = [out["to"]]
    return out


def _safe(error: Exception) -> str:
    """The message without the text of an enum value, which is trace content."""
    cause, _, path = str(error).partition(" - at ")
    cause = "value outside the vocabulary" if cause.startswith("Invalid enum value") else cause
    return f"{cause} at {path}" if path else cause


ADAPTER = _Canonical()
