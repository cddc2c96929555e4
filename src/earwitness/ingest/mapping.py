"""Mapping files: any other JSON trace, by one expression for each canonical field.

```toml
# JMESPath expressions over each record; a literal stands in backquotes or single quotes.
[records]
each = "events[]"              # optional: the part of a record that holds the events

[event]                        # evaluated on the event; `content` and `channel` are required
trace = "run_id"               # taken from the record where the event does not have it; else the file is one trace
channel = "type"
content = "payload.text"
sender = "from"
to = "to"                      # a name or a list of names
id = "id"
parent = "parent_id"
time = "timestamp"
kind = "type"

[channels]                     # what the channel expression gives -> C1 ... C7; "ignore" leaves the event out
message = "C2"
answer = "C1"

[trace]                        # optional, evaluated on the record: framework, scenario, topology, model, ...
framework = "'my framework'"
```
"""

import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import jmespath
import jmespath.exceptions
import msgspec
from jmespath.parser import ParsedResult

from earwitness.ingest.record import Context, Emit, Made, Place, Record, Skip
from earwitness.schema.errors import InputError
from earwitness.schema.model import Event, Trace
from earwitness.schema.times import as_time
from earwitness.schema.words import CHANNELS, Channel

_EVENT = ("trace", "channel", "content", "sender", "to", "id", "parent", "time", "kind", "seq", "turn", "archetype")
_TRACE = ("framework", "scenario", "domain", "topology", "model", "arm", "adversary", "pair", "request")
_SECTIONS = {"records": ("each",), "event": _EVENT, "trace": _TRACE}
_TEXTS = ("sender", "id", "parent", "kind", "archetype")
IGNORE = "ignore"


class Mapping(msgspec.Struct, frozen=True):
    """A mapping file, its expressions compiled."""

    event: dict[str, Any]
    channels: dict[str, str]
    each: Any = None
    trace: dict[str, Any] = {}


def load_mapping(path: Path) -> Mapping:
    """A mapping file.

    Raises:
        InputError: naming the file, the key and the cause.
    """
    try:
        data = tomllib.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not TOML: {str(error).splitlines()[0]}") from None
    return _checked(data, path)


def _checked(data: dict[str, Any], path: Path) -> Mapping:
    unknown = [k for k in data if k not in (*_SECTIONS, "channels")]
    unknown += [f"{s}.{k}" for s, keys in _SECTIONS.items() for k in data.get(s, {}) if k not in keys]
    if unknown:
        raise InputError(f"{path}: unknown key {', '.join(unknown)}")
    missing = [k for k in ("content", "channel") if k not in data.get("event", {})]
    if missing:
        raise InputError(f"{path}: [event] needs {' and '.join(missing)}")
    channels = {str(k): str(v) for k, v in data.get("channels", {}).items()}
    wrong = sorted({c for c in channels.values() if c not in (*CHANNELS, IGNORE)})
    if wrong:
        raise InputError(f"{path}: [channels] maps to {', '.join(wrong)}; known are {', '.join(CHANNELS)} and {IGNORE}")
    compiled = {s: {k: _compile(v, f"{s}.{k}", path) for k, v in data.get(s, {}).items()} for s in _SECTIONS}
    return Mapping(compiled["event"], channels, compiled["records"].get("each"), compiled["trace"])


def _compile(expression: Any, key: str, path: Path) -> ParsedResult:
    try:
        return jmespath.compile(expression)
    except (jmespath.exceptions.JMESPathError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: {key}: not a JMESPath expression: {str(error).splitlines()[0]}") from None


def _search(expression: ParsedResult | None, value: Any) -> Any:
    """What an expression finds; an expression that does not fit this record finds nothing."""
    try:
        return expression.search(value) if expression else None
    except jmespath.exceptions.JMESPathError:
        return None


class MappedAdapter:
    """An adapter made from a mapping file. It takes every object; what it cannot map is reported."""

    NAME = "mapped"
    TITLE = "any JSON, by a mapping file"

    def __init__(self, mapping: Mapping) -> None:
        self.mapping = mapping

    def sniff(self, value: Any) -> bool:
        """Any object, for the user said so."""
        return isinstance(value, dict)

    def open(self, context: Context) -> "_Reader":
        """A reader for one source."""
        return _Reader(self.mapping, context)


class _Reader:
    def __init__(self, mapping: Mapping, context: Context) -> None:
        self.mapping, self.context = mapping, context
        self.known: set[str] = set()

    def feed(self, record: Record) -> Iterable[Emit]:
        found = self._events(record)
        places = [record.place.at(f"#{n}") if self.mapping.each else record.place for n in range(len(found))]
        emits = [e for event, place in zip(found, places, strict=True) for e in self._event(event, record, place)]
        problems = [e for e in emits if isinstance(e, Skip)]
        # One outcome a record: it is mapped if something came of it, else its first problem tells.
        good = [e for e in emits if isinstance(e, Made)]
        return good or problems[:1] or [Skip("ignored", "the mapping finds no event in it", record.place)]

    def finish(self) -> Iterable[Emit]:
        return ()

    def _events(self, record: Record) -> list[Any]:
        found = _search(self.mapping.each, record.value) if self.mapping.each else record.value
        return found if isinstance(found, list) else [] if found is None else [found]

    def _event(self, value: Any, record: Record, place: Place) -> Iterator[Emit]:
        fields = {k: _search(e, value) for k, e in self.mapping.event.items()}
        channel = self._channel(fields["channel"])
        if channel == IGNORE:
            yield Skip("ignored", "the mapping says so", place)
        elif channel not in CHANNELS:
            yield Skip("unknown", "the mapping gives no channel for it", place)
        elif fields["content"] is None:
            yield Skip("unparseable", "the mapping finds no content in it", place)
        else:
            trace = self._trace(fields.get("trace"), record)
            if trace not in self.known:
                self.known.add(trace)
                yield Made(Trace(id=trace, **self._about(record)), place)
            yield Made(_made(trace, channel, fields), place)

    def _channel(self, found: Any) -> str:
        text = found if isinstance(found, str) else str(found).lower() if isinstance(found, bool) else str(found)
        return self.mapping.channels.get(text, text)

    def _trace(self, found: Any, record: Record) -> str:
        """The trace an event names, else the record, else the file."""
        if found is None:
            found = _search(self.mapping.event.get("trace"), record.value)
        return self.context.name if found is None else str(found)

    def _about(self, record: Record) -> dict[str, Any]:
        found = {k: _search(e, record.value) for k, e in self.mapping.trace.items()}
        return {k: str(v) for k, v in found.items() if v is not None}


def _made(trace: str, channel: Channel, fields: dict[str, Any]) -> Event:
    content, to = fields["content"], fields.get("to")
    names = to if isinstance(to, list) else [to]
    texts = {k: str(fields[k]) for k in _TEXTS if fields.get(k) not in (None, "")}
    numbers = {k: fields[k] for k in ("seq", "turn") if isinstance(fields.get(k), int) and 0 <= fields[k] < 2**31}
    known: dict[str, Any] = {**texts, **numbers}
    return Event(
        trace=trace,
        channel=channel,
        content=content if isinstance(content, str) else msgspec.json.encode(content, enc_hook=str).decode(),
        to=tuple(str(n) for n in names if n not in (None, "")),
        time=as_time(fields.get("time")),
        **known,
    )
