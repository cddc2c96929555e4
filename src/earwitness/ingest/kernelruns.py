"""Semantic Kernel's messages and filter logs of an import by run, told at its end: each file sees a part of it."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from earwitness.ingest.boundary import together
from earwitness.ingest.kernelcalls import Call, Calls, call_of, is_call, is_handoff
from earwitness.ingest.kernelchat import (
    Heard,
    KernelChat,
    hear,
    identity,
    is_message,
    items,
    newest_first,
    time_of,
)
from earwitness.ingest.record import Context, Emit, Place, Record, Skip
from earwitness.ingest.shelf import Shelf
from earwitness.ingest.tale import Tale
from earwitness.schema.model import Trace
from earwitness.schema.words import Channel

T = TypeVar("T")
_HIDDEN = "what an agent used as a plugin did is not in the recording"


class Kept(NamedTuple):
    """A record, or a message of one, put aside."""

    key: tuple[int, int]
    place: Place
    whole: bool


@dataclass
class Run:
    """Messages and calls of one run, by file."""

    messages: dict[tuple[str, int], list[Kept]] = field(default_factory=dict)
    calls: dict[tuple[str, int], list[Kept]] = field(default_factory=dict)

    def places(self) -> Iterator[Place]:
        """Where all that it holds stands."""
        return (one.place for kept in (*self.messages.values(), *self.calls.values()) for one in kept)


class Reader:
    """Takes records of both kinds.

    Args:
        context: of the import.
    """

    def __init__(self, context: Context) -> None:
        self.context = context
        self.shelf = Shelf()
        self.runs: dict[str, Run] = {}
        self._file, self._run = ("", -1), Run()

    def feed(self, record: Record) -> Iterable[Emit]:
        """Keep what a record says."""
        value, place = record
        file = (self.context.name, place.source)
        if file != self._file:
            self._file, self._run = file, self.runs.setdefault(self.context.stem, Run())
        run = self._run
        if is_call(value):
            run.calls.setdefault(file, []).append(self._keep(value, place))
            if is_handoff(value):
                yield Skip("ignored", "a handoff, which passes no words", place)
        elif not is_message(value):
            for n, message in enumerate(value["messages"]):
                if is_message(message):
                    kept = self._keep(message, place.at(f"/messages/{n}"), whole=False)
                    run.messages.setdefault(file, []).append(kept)
        elif value.get("is_final") is not False and not value["items"]:
            yield Skip("ignored", "end of a streamed message", place)
        else:
            run.messages.setdefault(file, []).append(self._keep(value, place))

    def finish(self) -> Iterable[Emit]:
        """Every run."""
        try:
            for stem, run in self.runs.items():
                if run.messages or run.calls:
                    yield from together(self._tell(stem, run), run.places())
        finally:
            self.shelf.close()

    def _keep(self, value: dict[str, Any], place: Place, *, whole: bool = True) -> Kept:
        return Kept(self.shelf.put(value), place, whole)

    def _tell(self, stem: str, run: Run) -> Iterator[Emit]:
        heard, passed = whole_messages([self._heard(kept) for _, kept in sorted(run.messages.items())])
        calls, copies = merged([self._calls(kept) for _, kept in sorted(run.calls.items())], _call_identity)
        first = [h.place for h in heard] + [c.place for c in calls]
        if not first:
            yield from passed
            return
        tale = Tale(Trace(id=f"sk-{stem}", framework="semantic_kernel"), first[0])
        chat = KernelChat(tale, Calls(tale, calls))
        for one in heard:
            chat.know(one)
        repeated = [one for one in heard if not chat.take(one) and one.whole]
        chat.tell()
        _observe(tale, chat.messages, calls)
        if any(not call.handoff for call in calls) or chat.messages:
            yield from tale.items()
        yield from passed
        yield from (Skip("duplicate", "the same message was read before", one.place) for one in repeated)
        yield from (Skip("duplicate", "the same call was read before", c.place) for c in copies if not c.handoff)
        yield from (Skip("duplicate", "a call that a message told", c.place) for c in chat.calls.told_by_messages())

    def _heard(self, kept: list[Kept]) -> list[Heard]:
        found = [hear(self.shelf.get(k.key), k.place, whole=k.whole) for k in kept]
        return found[::-1] if newest_first([h.message["role"] for h in found]) else found

    def _calls(self, kept: list[Kept]) -> list[Call]:
        return [call_of(self.shelf.get(k.key), k.place) for k in kept]


def whole_messages(files: list[list[Heard]]) -> tuple[list[Heard], list[Skip]]:
    """The messages of all files of a run in one order, and the records that say nothing more."""
    whole = {str(h.id) for file in files for h in file if not _is_piece(h) and (h.text or h.calls)}
    passed: list[Skip] = []
    joined = [_joined(file, whole, passed) for file in files]
    heard, copies = merged(sorted(joined, key=_began), identity)
    passed += [Skip("duplicate", "the same message was read before", h.place) for h in copies if h.whole]
    return heard, passed


def merged(files: list[list[T]], key: Callable[[T], Hashable]) -> tuple[list[T], list[T]]:
    """One order of what several files tell of the same, and the copies: what is new stands after what it followed."""
    if len(files) == 1:  # as mostly
        return list(files[0]), []
    order: list[T] = []
    marks: list[Hashable] = []
    copies: list[T] = []
    for file in files:
        known = {mark: n for n, mark in enumerate(marks)}
        counts: Counter[Hashable] = Counter()
        fresh: dict[int, list[tuple[Hashable, T]]] = {}
        ahead: list[tuple[Hashable, T]] | None = []  # what stands before all that is known
        at = 0
        for item in file:
            own = key(item)
            mark = (own, counts[own])
            counts[own] += 1
            if mark not in known:
                (fresh.setdefault(at, []) if ahead is None else ahead).append((mark, item))
                continue
            copies.append(item)
            if ahead is not None:
                fresh[known[mark]], ahead = ahead, None
            at = max(at, known[mark] + 1)
        if ahead is not None:
            fresh[len(order)] = ahead
        old = list(zip(marks, order, strict=True))
        both = [pair for n in range(len(old) + 1) for pair in [*fresh.get(n, ()), *old[n : n + 1]]]
        marks, order = [mark for mark, _ in both], [item for _, item in both]
    return order, copies


def _is_piece(heard: Heard) -> bool:
    return heard.message.get("is_final") is False


def _joined(file: list[Heard], whole: set[str], passed: list[Skip]) -> list[Heard]:
    """Pieces of messages that never came in full as one message each; of all others they are passed over."""
    texts: dict[str, list[str]] = {}
    told: list[Heard] = []
    for heard in file:
        key = str(heard.id)
        if not _is_piece(heard):
            told.append(heard)
        elif key in whole:
            passed += [Skip("ignored", "piece of a message that stands there in full", heard.place)] * heard.whole
        else:
            if key not in texts:
                told.append(heard)
            texts.setdefault(key, []).extend(str(i.get("text", "")) for i in items(heard.message, "text"))
    return [_of_pieces(h, "".join(texts[str(h.id)])) if _is_piece(h) else h for h in told]


def _of_pieces(first: Heard, text: str) -> Heard:
    message = {**first.message, "items": [{"content_type": "text", "text": text}] if text.strip() else []}
    return hear(message, first.place, whole=first.whole)


def _began(file: list[Heard]) -> float:
    times = [time for h in file if isinstance(time := time_of(h.message), int | float)]
    return min(times, default=float("inf"))


def _call_identity(call: Call) -> Hashable:
    return call.caller, call.likeness


def _observe(tale: Tale, messages: list[Heard], calls: list[Call]) -> None:
    """What these files show. Histories without calls may be of a kind that holds none; callbacks may miss the end."""
    called = any(m.calls or m.results for m in messages)
    aside = called or any(map(_is_piece, messages))
    shown: dict[Channel, bool] = {
        "C1": any(draft.channel == "C1" for draft in tale.drafts.values()),
        "C2": True,
        "C3": called or bool(calls),
        "C4": called or bool(calls),
        "C6": aside,
    }
    tale.observe(*(channel for channel, seen in shown.items() if seen))
    authors = {m.name for m in messages if m.message["role"] == "assistant"}
    known = authors | {call.caller for call in calls}
    for request in [d for d in tale.drafts.values() if d.kind == "request" and d.to]:
        agent = request.to[0].actor
        inner: tuple[Channel, ...] = () if agent in known else ("C2", "C3", "C4")
        for channel in (*inner, *(("C6",) if aside and agent not in authors else ())):
            tale.lose("content_missing", channel, _HIDDEN, request.place)
