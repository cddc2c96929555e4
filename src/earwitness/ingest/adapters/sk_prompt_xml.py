"""Semantic Kernel chat history as a prompt: `<chat_history><message role="user"><text>...` in one XML text.

`ChatHistory.to_prompt()` gives it, Python 1.x; people print it, or write it to a file to see what a prompt holds.
Messages name their author and never a recipient; there are no times and no id of the run. Agents inside of agents that
are used as plugins, memory and artifacts are not in it.

Obtained by: `ChatHistory.to_prompt()`, written to a file.
Versions tried: semantic-kernel 1.45.0 for Python.
Order: position in the prompt; no times.
"""

from collections.abc import Iterable, Iterator
from typing import Any
from xml.etree import ElementTree as ET

from earwitness.ingest.kernelparts import Calls
from earwitness.ingest.record import Context, Emit, Place, Record, Skip
from earwitness.ingest.spans.texts import fingerprint
from earwitness.ingest.tale import USER, Draft, Tale, named, said
from earwitness.schema.model import Trace

_START = "<chat_history>"
_LONGEST = 1 << 24


class _KernelPrompt:
    NAME = "sk-prompt-xml"
    TITLE = "Semantic Kernel chat history as a prompt"

    def sniff(self, value: Any) -> bool:
        """No line by itself: the text is one element."""
        return False

    def sniff_text(self, head: str) -> bool:
        """Whether text begins with a history that holds a message."""
        return head.lstrip().startswith(_START) and "<message" in head

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


class _Reader:
    def __init__(self, context: Context) -> None:
        self.stem = context.stem
        self.lines: list[str] = []
        self.places: list[Place] = []
        self.size = 0

    def feed(self, record: Record) -> Iterable[Emit]:
        """A line of the one element."""
        lines = [*record.value.get("_above", ()), record.value["_line"]]
        self.size += sum(map(len, lines))
        self.places.append(record.place)
        self.lines += lines if self.size <= _LONGEST else ()
        return ()

    def finish(self) -> Iterable[Emit]:
        """The whole history."""
        root = _parsed("\n".join(self.lines)) if 0 < self.size <= _LONGEST else None
        if root is None:
            yield from (Skip("unparseable", "a chat history that is no XML as known", p) for p in self.places)
            return
        trace = Trace(
            id=f"sk-prompt-{self.stem}", framework="semantic_kernel", observable=("C1", "C2", "C3", "C4", "C6")
        )
        tale = Tale(trace, self.places[0])
        _tell(tale, [m for m in root if m.tag == "message"])
        yield from tale.items()


def _parsed(text: str) -> ET.Element | None:
    """The element; a text that declares entities is not read, for they could grow without bound."""
    if "<!" in text:
        return None
    try:
        return ET.fromstring(text)  # noqa: S314 - nothing is declared in it
    except ET.ParseError:
        return None


def _tell(tale: Tale, messages: list[ET.Element]) -> None:
    calls, last = Calls(tale), None
    for n, message in enumerate(messages):
        place, name = tale.place.at(f"/_line/message/{n}"), named(message.get("name"))
        text = said("\n".join(part.text or "" for part in message if part.tag == "text"))
        asked = [part for part in message if part.tag == "function_call"]
        if message.get("role") == "assistant":
            if text is not None:
                draft = _say(tale, n, text, name, place, aside=bool(asked))
                last = last if asked else draft
            for call in asked:
                calls.ask(_key(call, n), str(call.get("name")), said(call.text) or "{}", name, place)
        elif message.get("role") != "tool" and text is not None:
            tale.sighting(place, text, tale.actor(_next(messages[n:])), "initial")
        for result in (part for part in message if part.tag == "function_result"):
            _answer(tale, calls, result, n, place)
    if last is not None and messages[-1].get("role") == "assistant":
        last.channel = "C1"
        last.reach([tale.actor(USER, "user", "structural") or USER], "structural")


def _next(messages: list[ET.Element]) -> str | None:
    """Who answers."""
    return next(_names(messages), None)


def _names(messages: list[ET.Element]) -> Iterator[str]:
    return (name for m in messages if m.get("role") == "assistant" and (name := named(m.get("name"))))


def _key(part: ET.Element, n: int) -> str:
    return part.get("id") or f"{n}:{part.get('name')}"


def _say(tale: Tale, n: int, text: str, name: str | None, place: Place, *, aside: bool) -> Draft:
    """Words beside a call are thoughts."""
    key, kind = f"m{n}:{fingerprint(text).hex()[:12]}", "thought" if aside else "message"
    return tale.event(place, "C6" if aside else "C2", text, key=key, kind=kind, sender=tale.actor(name))


def _answer(tale: Tale, calls: Calls, result: ET.Element, n: int, place: Place) -> None:
    text = said(result.text)
    call = calls.of(_key(result, n), text) if text is not None else None
    if text is not None and call is not None:
        calls.answer(call, text, place, None, whole=True)
    elif text is not None:
        tale.event(place, "C4", text, key=f"{_key(result, n)}:result", kind="tool_result")


ADAPTER = _KernelPrompt()
