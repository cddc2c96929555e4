"""Text that no dialect reads: metadata, tags, tool schemas, invocation parameters, span names, resource attributes.

Content switches and masks forget these places, so every text in them that was not told before becomes a log event
(C6). Only the texts that are new are told: a copy in a parameter is no further disclosure.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import repeat
from typing import Any

from earwitness.ingest.spans.span import KINDS
from earwitness.ingest.spans.telling import Telling
from earwitness.ingest.spans.texts import as_text, escaped, loads, masked
from earwitness.ingest.spans.tree import Node
from earwitness.schema.words import Flag

# Contents of a trace beyond this size are looked through span by span only.
_JOINED = 1 << 18
_SHORT = 3
_LEAST, _MOST = 10**6, 10**19  # numbers as long as those of people, cards and accounts
_DEPTH = 12
_SPEAKERS = ("llm", "agent", "workflow")
_TOLD_KEYS = frozenset(("gen_ai.input.messages", "gen_ai.output.messages"))
_OPAQUE = re.compile(
    r"(?:0x)?[0-9a-fA-F]{16,}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
    r"|[\w.-]+:[0-9a-fA-F-]{32,36}(?:\|[\w.-]+:[0-9a-fA-F-]{32,36})*"
    r"|(?:call|chatcmpl|resp|msg|run|toolu|adk|tr)[_-][\w-]{1,}"
)
# What looks like a key may be one, unless it stands where an id does.
_ID = re.compile(r"(?:.*[._])?(?:id|ids|uuid|fingerprint|hash|ns|run)_?|.*(?:Id|ID|_key|Fingerprint)")
_FIELD = re.compile(r"[A-Za-z_$][\w.:/-]*")  # a name that a program gave, not a word of anybody
# A moment, a number, a word of the conventions.
_LITTLE = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"
    r"|[-+]?\d{1,2}|[-+]?\d*\.\d+(?:[eE][-+]?\d+)?|gen_ai\.[a-z_.]+"
)
# Words of the recorders themselves.
_RECORDERS_SAY = (
    "user assistant system tool developer text chat stop tool_call tool_calls tool_call_response function object",
    "string integer number boolean array true false none null auto json constructor human application/json",
    "text/plain length invoke_agent execute_tool generate_content invoke_workflow openinference opentelemetry",
    "python nodejs unset error llm agent chain retriever embedding guardrail evaluator reranker workflow task",
    "type role content name parts messages openai anthropic internal client server producer consumer span",
    "generation default output_text input_text message completed tool_use tool_result event.name visible thinking",
    "reasoning langchain schema humanmessage aimessage systemmessage toolmessage model tool-call tool-result",
    "error-text error-json execution-denied",
    "textmessage toolcallrequestevent toolcallexecutionevent tool.name tool.args message.role message.content",
)
_WORDS = frozenset(word for line in _RECORDERS_SAY for word in line.split())
# Machine identifiers and counters; ids of people and sessions are none of these.
_MACHINE = re.compile(
    r"(?:telemetry\.sdk\.\w+|service\.(?:instance\.id|version)|process\.(?:pid|runtime\.\w+)|os\.\w+|host\.arch"
    r"|.*\.mime_type|.*\.usage\..*|.*token_count.*|gen_ai\.operation\.name|gen_ai\.response\.(?:id|finish_reasons?)|gen_ai\.tool\.(?:call\.id|type)"
    r"|(?:.*\.)?span\.kind|mlflow\.spanType|langfuse\.observation\.type|weave\.kind|.*\.(?:invocation_id|event_id|checkpoint_ns|checkpoint_id)|code\.\w+(?:\.\w+)?"
    r"|logfire\.json_schema|logfire\.span_type|ai\.operationId|(?:sender|recipient)_agent_(?:type|class)|mlflow\.traceRequestId|thread\.\w+)"
)


def tell_rest(t: Telling) -> None:
    """Tell what is left of every span, once a trace."""
    known, nodes = _Known(t), t.tree.nodes
    for node in nodes:
        _log(t, node, _new_texts(known, node), "attributes", node.agent)
    names = [n.span.name for n in nodes if known.is_new(n.span.name, n)]
    _log(t, nodes[0], [("", name) for name in names], "span_names", None)
    last: dict[str, Any] = {}
    for node in nodes:
        resource = node.span.resource
        if resource != last:  # all spans of a process have the same, and what was told once is no longer new
            _log(t, node, known.rest(node, resource), "resource", None)
            last = resource


def _log(t: Telling, node: Node, told: list[tuple[str, str]], kind: str, sender: str | None) -> None:
    """Tell texts under their keys, if there are any; of many lines one that is masked masks the event."""
    if told:
        content = "\n".join(f"{key}: {text}" if key else text for key, text in told)
        flags: tuple[Flag, ...] = ("masked",) if any(masked(text) for _, text in told) else ()
        t.ledger.event(node, "C6", content, name=kind, kind=kind, sender=sender, flags=flags, time=node.span.end)


def _new_texts(known: "_Known", node: Node) -> list[tuple[str, str]]:
    attributes = node.span.attributes
    speaks = node.role in _SPEAKERS and node.facts is not None and not node.facts.silent
    if speaks and not _TOLD_KEYS.isdisjoint(attributes):
        attributes = {k: v for k, v in attributes.items() if k not in _TOLD_KEYS}
    return known.rest(node, attributes)


class _Known:
    """The texts that were told of a trace, and those seen since."""

    def __init__(self, t: Telling) -> None:
        self._own = t.ledger.own
        told = [n.facts for n in t.tree.nodes if n.facts]
        self._seen: set[str] = t.ledger.names | {n for f in told for n in (f.model, f.tool, f.call_id) if n}
        contents = {text for texts in self._own.values() for text in texts}
        self._seen |= contents
        self._joined = "\x00".join(contents) if sum(map(len, contents)) <= _JOINED else None

    def rest(self, node: Node, attributes: dict[str, Any]) -> list[tuple[str, str]]:
        """The new texts among attributes, each under its key."""
        seen, found = self._seen, list[tuple[str, str]]()
        for key in _of_words(tuple(attributes)):
            value = attributes[key]
            is_text = isinstance(value, str)
            if value in seen if is_text else _has_no_leaf(value):
                continue
            for inner, leaf in _leaves(key, value):
                if leaf in seen or (_is_id(inner) and _OPAQUE.fullmatch(leaf)):
                    continue
                if self.is_new(leaf, node):
                    found.append((key, leaf))
            if is_text:
                seen.add(value)
        return found

    def is_new(self, text: str, node: Node) -> bool:
        """Whether a text says something that was not told; from then on it is."""
        if text in self._seen:
            return False
        self._seen.add(text)
        return not (_says_little(text) or self._told(text, node))

    def _told(self, text: str, node: Node) -> bool:
        contents: Iterable[str] = (self._joined,) if self._joined is not None else self._own.get(node.index, ())
        for content in contents:
            if text in content:
                return True
        quoted = escaped(text)
        return quoted != text and any(quoted in content for content in contents)


# The same keys come with every span.
@lru_cache(maxsize=KINDS)
def _of_words(keys: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the attributes of a kind of span that may hold somebody's words."""
    return tuple(key for key in keys if not _is_machine(key))


@lru_cache(maxsize=4096)
def _is_machine(key: str) -> bool:
    return _MACHINE.fullmatch(key) is not None


@lru_cache(maxsize=4096)
def _is_id(key: str) -> bool:
    return _ID.fullmatch(key) is not None


@lru_cache(maxsize=4096)
def _is_field(key: str) -> bool:
    return _FIELD.fullmatch(key) is not None


def _has_no_leaf(value: Any) -> bool:
    """Whether a value that is no text holds none either."""
    if isinstance(value, int) and not isinstance(value, bool):
        return not _LEAST <= abs(value) < _MOST
    return value is None or isinstance(value, bool | float)


def _says_little(text: str) -> bool:
    bare = text.strip()
    if len(bare) < _SHORT or bare.lower() in _WORDS:
        return True
    return _LITTLE.fullmatch(bare) is not None


def _leaves(key: str, value: Any) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    _gather_all(((key, value),), 0, found)
    return found


def _gather(name: str, item: Any, depth: int, found: list[tuple[str, str]]) -> None:
    """The texts in a value under their own keys, also in JSON inside text. A map may be keyed by words: they count."""
    inner = _opened(item, depth) if isinstance(item, str) else item
    if depth < _DEPTH and isinstance(inner, dict):
        found += [("", key) for key in map(str, inner) if not _is_field(key)]
        _gather_all(zip(map(str, inner), inner.values(), strict=True), depth + 1, found)
    elif depth < _DEPTH and isinstance(inner, list):
        _gather_all(zip(repeat(name), inner, strict=False), depth + 1, found)
    elif text := _as_leaf(inner):
        found.append((name, text))


def _gather_all(items: Iterable[tuple[str, Any]], depth: int, found: list[tuple[str, str]]) -> None:
    for item in items:
        value = item[1]
        if type(value) is str and value[:1].isalnum():  # no JSON; not by a call, for there are many
            found.append(item)
        elif value is not None:
            _gather(item[0], value, depth, found)


def _opened(text: str, depth: int) -> Any:
    """What a text is the JSON of, else the text; no JSON begins as most texts do, which do not come here."""
    inner = None if depth >= _DEPTH else _inside(text)
    return text if inner is None else inner


def _as_leaf(value: Any) -> str:
    """The text of a value that is not taken apart further."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict | list):
        return as_text(value)  # deeper than anybody writes by hand
    return str(value) if isinstance(value, int) and not _has_no_leaf(value) else ""


def _inside(text: str) -> Any:
    """What a text is the JSON of, a text among others."""
    if text[:1] == '"' and text.endswith('"'):
        inner = loads(f"[{text}]")
        if isinstance(inner, list) and len(inner) == 1:
            return inner[0]
    return loads(text)
