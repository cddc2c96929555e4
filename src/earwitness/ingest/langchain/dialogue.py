"""A conversation of LangChain messages: each message told once, every later copy a sighting."""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import chain, pairwise
from typing import Any

from msgspec.structs import replace

from earwitness.ingest.langchain import hosted, names
from earwitness.ingest.langchain.book import Book
from earwitness.ingest.langchain.calls import Calls
from earwitness.ingest.langchain.changed import Changed
from earwitness.ingest.langchain.drafts import Asked, Said
from earwitness.ingest.langchain.index import Groups, Index
from earwitness.ingest.langchain.known import Known, early_key
from earwitness.ingest.langchain.ledger import USER, Ledger
from earwitness.ingest.langchain.messages import Msg
from earwitness.ingest.record import Place
from earwitness.ingest.shelf import Tape
from earwitness.ingest.spans.texts import fingerprint
from earwitness.schema.words import Flag, Grade, SightingKind

# Pages are put aside once in so many messages.
_EVERY = 64
# How a model is told that the call it made was its answer, in the form that was asked for.
_STRUCTURED = "Returning structured response: "
# So many viewers of a message are noted with it.
_VIEWERS = 8


class Dialogue:
    """The messages of one trace.

    Attributes:
        request: the first words of a person.
        said, known: what was told, by number, and as copies look for it.
        returned: who gave control back.
        changed: messages that say something else than they did, or were told before.
        structured: calls that were the answer itself, by the numbers of the messages that acknowledge them.

    Args:
        told: ids of messages that other traces told; those of this one are added. None where there are no others.
    """

    def __init__(self, told: Index | None = None) -> None:
        self.ledger = Ledger()
        self.calls = Calls(self.ledger)
        self.request: str | None = None
        self.said = Book(Said)
        self.known = Known(self.said, self.ledger.texts, self.calls.results)
        self.returned: set[str] = set()
        self._open = array("q")  # messages whose hearers may still show
        self._words = array("q")  # their events
        self._heard = bytearray()  # whether they did
        self._unsent = Groups()
        self._backs: Tape[tuple[int, str | None, str, int]] = Tape()
        self._crowd = Index()  # who else was shown a message that many were shown
        self._rests = 0
        self.changed = Changed(self.ledger, self.calls, told)
        self.structured: dict[int, Asked] = {}

    def _sendable(self) -> Iterator[tuple[bytes, int]]:
        return ((fingerprint(self.ledger.texts.text(self.said[n].kept)), n) for n in self._open)

    def rest(self) -> None:
        """Now and then, put aside what was not looked at lately; nobody may hold a row of what was told now."""
        self._rests += 1
        if self._rests % _EVERY:
            return
        self.ledger.rest()
        self.calls.all.rest()
        self.said.rest()

    def meet(
        self,
        msg: Msg,
        place: Place,
        *,
        agent: str | None = None,
        viewer: str | None = None,
        kind: SightingKind = "history",
        time: Any = None,
    ) -> None:
        """A message in a record: news the first time, a copy afterwards.

        Args:
            msg: the message.
            place: where it stands.
            agent: who produced it, unless it names its author.
            viewer: who was shown it by this record.
            kind: of the sighting it is to a viewer.
            time: of the record.
        """
        if msg.role == "remove":
            return
        self.rest()
        msg = self._as_spoken(msg, agent)
        number = self.known.find(msg)
        if number is None:
            number = self._news(msg, place, agent, viewer or agent, time)
        elif self.changed.is_other(self.said[number], msg):
            if msg.role != "ai":
                self.changed.show_other(number, msg, viewer, place, time)
                return
            number = self._revise(number, msg, place, time)
        else:
            self._enrich(self.said[number], number, msg, time)
        if viewer:
            self._show(number, viewer, kind, place, time)

    def _revise(self, number: int, msg: Msg, place: Place, time: Any) -> int:
        """Words of an agent that were replaced before anybody heard them reached nobody; the others are said."""
        known = self.known.version(msg)
        if known is not None:
            return known
        said, at = self.said[number], self._opened(number)
        self.known.keep_version(replace(msg, text=self.ledger.texts.text(said.kept)), number)
        if at is not None and not said.heard:
            self._heard[at] = True
            draft = self.ledger.drafts[self._words[at]]
            draft.channel, draft.kind = "C6", "replaced"
        number = self._news(replace(msg, thoughts=(), name=said.name), place, said.author, None, time, anew=True)
        self.known.keep_version(msg, number)
        return number

    def _as_spoken(self, msg: Msg, agent: str | None = None) -> Msg:
        """A "human" message that an agent signs is what that agent said, given to the others as input."""
        if msg.role != "human" or not msg.name or msg.name not in (agent, *self.ledger.agents):
            return msg
        return self.known.spoken(msg)

    def _news(
        self, msg: Msg, place: Place, agent: str | None, viewer: str | None, time: Any, *, anew: bool = False
    ) -> int:
        """A message that was not met before."""
        author = msg.name if msg.role == "ai" and msg.name else agent
        calls = tuple(call.id for call in msg.calls)
        says = bool(msg.text.strip() or calls or msg.call_id or msg.thoughts or msg.hosted)
        kept = self.ledger.texts.keep(msg.text)
        said = Said(msg.role, msg.name, bool(msg.id), calls, says, msg.back, author, place, kept, early_key(msg))
        said.source = msg.source == "summarization"
        said.spelt, said.before = hash(msg.text), not anew and self.changed.is_before(msg)
        number = self.said.append(said)
        self.known.add(msg, number)
        if said.before:
            self.changed.show_before(msg, author, viewer, place, time)
            return number
        if msg.references:
            self.ledger.lose("reference", None, "files inside messages", msg.references)
        if msg.role in ("human", "system"):
            self._given(said, number, msg, viewer, time)
        elif msg.role == "tool":
            self._answer(said, number, msg, time)
        else:
            self._speak(said, number, msg, time)
        return number

    def _given(self, said: Said, number: int, msg: Msg, viewer: str | None, time: Any) -> None:
        """What somebody was given: the words of a delegation, or what was there before anything was said."""
        if msg.role == "human" and not said.source and self.request is None and not self.calls.payload(msg.text):
            self.request = msg.text
        # A summary that the framework put in the place of what was said is no request.
        kind: SightingKind = "history" if said.source else "initial"
        if viewer:
            self._show(number, viewer, kind, said.place, time)
        else:
            said.unseen = self.ledger.sighting(None, kind, msg.text, said.place, time=time, kept=said.kept)

    def _is_shown(self, said: Said, number: int, viewer: str) -> bool:
        """Whether a message was shown to somebody before; from now on it was."""
        if viewer in said.shown or self._crowd.get((number, viewer)) is not None:
            return True
        said.heard = said.heard or viewer != said.author
        if len(said.shown) < _VIEWERS:
            said.shown = (*said.shown, viewer)
        else:
            self._crowd.put((number, viewer), 0)
        return False

    def _show(self, number: int, viewer: str, kind: SightingKind, place: Place, time: Any) -> None:
        """A message was shown to somebody; once is evidence enough."""
        said = self.said[number]
        if said.before or said.hidden or self._is_shown(said, number, viewer):
            return
        if said.unseen is not None:
            self.ledger.forget(said.unseen)
            said.unseen = None
        self.ledger.actor(viewer, "agent", "node")
        draft, text = said.draft, self.ledger.texts.text(said.kept)
        if said.role in ("human", "system"):
            payload = self.calls.payload(text)  # the "human" of a delegated run is the agent that asked
            draft = payload.draft if payload and payload.child == viewer else None
            kind = "input" if draft is not None else "history" if said.source else "initial"
        self.ledger.sighting(viewer, kind, text, place, time=time, draft=draft, kept=said.kept)
        asked = [self.calls.all[n] for call in said.calls if (n := self.calls.get(call)) is not None]
        for part in (*said.thoughts, *said.hosted, *(a.draft for a in asked if not a.program)):
            kept = self.ledger.drafts[part].kept
            text = self.ledger.texts.text(kept)
            self.ledger.sighting(viewer, kind, text, place, time=time, draft=part, kept=kept)

    def _speak(self, said: Said, number: int, msg: Msg, time: Any) -> None:
        author = said.author
        self.ledger.actor(author, "agent", "declared" if author == msg.name else "node")
        said.shown = (author,) if author else ()
        self._think(said, msg, time)
        if msg.back:
            self._hand_back(said, msg, time)
            return
        said.hosted = hosted.tell(self.ledger, self.calls, msg, author, said.place, time)
        if msg.text.strip():
            self._say_text(said, number, msg, time)
        for call in msg.calls:
            self.calls.ask(call, author, said.place, time)

    def _think(self, said: Said, msg: Msg, time: Any) -> None:
        if not msg.thoughts:
            return
        name = f"{self._name(msg)}:reasoning"
        rest: dict[str, Any] = {"place": said.place, "sender": said.author, "time": time}
        told = [self.ledger.event("C6", text, kind="reasoning", name=name, **rest) for text in msg.thoughts]
        said.thoughts = (*said.thoughts, *told)

    def _say_text(self, said: Said, number: int, msg: Msg, time: Any) -> None:
        """Text beside a call is thinking aloud; where other text goes shows at the end."""
        beside = bool(msg.calls)
        said.draft = self.ledger.event(
            "C6" if beside else "C2",
            msg.text,
            kind="intermediate" if beside else "message",
            name=f"{self._name(msg)}:text",
            place=said.place,
            sender=said.author,
            time=time,
            kept=said.kept,
        )
        if not beside:
            if self._unsent.asked:
                self._unsent.put(fingerprint(msg.text), number)
            self._open.append(number)
            self._words.append(said.draft)
            self._heard.append(False)

    def _name(self, msg: Msg) -> str:
        return msg.id or f"message{len(self.known)}"

    def _hand_back(self, said: Said, msg: Msg, time: Any) -> None:
        """The framework's own note; its text is boilerplate, no word of the worker."""
        if not msg.calls:
            return
        tool, author = msg.calls[0].name, said.author
        name = f"{msg.id or tool}:handoff"
        draft = self.ledger.event("C2", "", kind="handoff_back", name=name, place=said.place, sender=author, time=time)
        target = names.handed(tool) or ""
        self._backs.append((len(self._open), author, target, draft), len(target))
        if author:
            self.returned.add(author)
        self.calls.hand_back(msg.calls, name, author, draft)

    def _opened(self, number: int | None) -> int | None:
        """Where a message stands among the open ones, if it is one of which it does not show yet who heard it."""
        at = len(self._open) if number is None else bisect_left(self._open, number)
        return at if at < len(self._open) and self._open[at] == number and not self._heard[at] else None

    def _enrich(self, said: Said, number: int, msg: Msg, time: Any) -> None:
        """A fuller copy: some spellings drop the calls of a message, its name, or its reasoning."""
        if said.role != "ai" or msg.back or said.back or said.before:
            return
        if msg.name:
            self._sign(said, msg.name)
        if msg.calls and not said.calls:
            self._call_late(said, number, msg, time)
        elif msg.calls:
            self.changed.edit(msg, said.place, time)
        if msg.thoughts and not said.thoughts:
            self._think(said, msg, time)

    def _sign(self, said: Said, name: str) -> None:
        if said.author is None:
            said.author = name
            for number in (*(() if said.draft is None else (said.draft,)), *said.thoughts):
                self.ledger.sign(number, name)
        if said.author == name:
            self.ledger.actor(name, "agent", "declared")

    def _call_late(self, said: Said, number: int, msg: Msg, time: Any) -> None:
        at = self._opened(number)
        if at is not None:
            self._heard[at] = True
        said.calls, said.says = tuple(call.id for call in msg.calls), True
        if said.draft is not None:
            draft = self.ledger.drafts[said.draft]
            draft.channel, draft.kind = "C6", "intermediate"
        for call in msg.calls:
            self.calls.ask(call, said.author, said.place, time)

    def _answer(self, said: Said, number: int, msg: Msg, time: Any) -> None:
        call = self.calls.answered_by(msg)
        asked = None if call is None else self.calls.all[call]
        handing = asked.kind.startswith("handoff") if asked else bool(msg.name and names.handed(msg.name))
        if msg.back or handing:
            if asked:  # the result of a handoff tool is boilerplate, and confirms where control went
                asked.goto = msg.goto or asked.goto
        elif asked and asked.child:
            self._report(said, msg, asked, time)
        elif asked and not asked.running and msg.text.startswith(_STRUCTURED):
            self.structured[number] = asked
        else:
            self._result(said, msg, asked, time)
        if asked:
            asked.result, asked.failed = number, msg.failed

    def _report(self, said: Said, msg: Msg, asked: Asked, time: Any) -> None:
        """What an agent that was asked gives back: its own last words, or a text made of them."""
        at = self._last_words(msg.text, asked.child)
        if at is not None:
            found, self._heard[at] = self._words[at], True
        else:
            rest: dict[str, Any] = {"sender": asked.child, "time": time, "place": said.place}
            found = self.ledger.event("C2", msg.text, kind="answer", name=f"{msg.call_id or asked.tool}:answer", **rest)
        said.draft = found
        self.ledger.address(self.ledger.drafts[found], "answer", ((asked.agent, "structural"),) if asked.agent else ())

    def _last_words(self, text: str, author: str | None) -> int | None:
        """Where the latest message of an agent with this text stands among the open ones."""
        for number in reversed(self._unsent.of(fingerprint(text), self._sendable())):
            at = self._opened(number)
            if at is not None and self.said[number].author == author:
                return at
        return None

    def _result(self, said: Said, msg: Msg, asked: Asked | None, time: Any) -> None:
        tool = msg.name or (asked.tool if asked else None)
        refused = self.calls.refuse(asked, msg)
        self.ledger.actor(tool, "tool", "declared")
        grade: Grade = "declared" if msg.call_id and not msg.call_id.startswith("run:") else "structural"
        flags: tuple[Flag, ...] = ("failed",) if msg.failed else ()
        if msg.failed and not refused:
            self.ledger.lose("failed_call", "C4", "tool call that failed")
        name = msg.call_id or self._name(msg)
        rest: dict[str, Any] = {"sender": None if refused else tool, "time": time, "place": said.place}
        caller = asked.agent if asked else self.changed.callers.get(msg.call_id or "")
        to = ((caller, grade),) if caller else ()
        said.draft = self.ledger.event(
            "C4", msg.text, kind="tool_result", name=f"{name}:result", to=to, flags=flags, kept=said.kept, **rest
        )
        said.shown, said.hidden = (caller,) if caller else (), asked is not None and asked.program
        if msg.artifact:
            self.ledger.event("C7", msg.artifact, kind="artifact", name=f"{name}:artifact", **rest)

    def finish(self, final: Iterable[Msg], ends: Iterable[Msg] = ()) -> None:
        """Say where open words went, and which handoffs took effect.

        Args:
            final: the messages with which the outermost run ended.
            ends: the last messages of runs that ended before, from whose states others went on.
        """
        for ended in ends:
            self._finals((ended,))
        self._end_with(self._finals(final))
        self.calls.land()
        for opened, author, target, draft in self._backs:
            self.rest()
            agent = next((a for a in self.ledger.agents if names.slug(a) == target), None)
            if agent:
                self.ledger.settle(draft, "handoff_back", ((agent, "structural"),))
                self._hand_over(opened, author, agent)

    def _hand_over(self, opened: int, author: str | None, agent: str) -> None:
        """The last words before control was given back are the answer."""
        for at in range(opened - 1, -1, -1):
            if not self._heard[at] and self.ledger.is_same(self.said[self._open[at]].author, author):
                self._heard[at] = True
                self.ledger.settle(self._words[at], "answer", ((agent, "structural"),))
                return

    def _finals(self, final: Iterable[Msg]) -> Msg | None:
        """The last words of the outermost run, and those after which the user spoke again; gives the last message."""
        last = None
        for msg, following in pairwise(chain(map(self._as_spoken, final), (None,))):
            last = msg
            if msg is None or msg.role != "ai" or msg.calls or not (following is None or following.role == "human"):
                continue
            self.rest()
            version = self.known.version(msg)
            at = self._opened(self.known.find(msg) if version is None else version)
            if at is not None:
                self._heard[at] = True
                self.ledger.actor(USER, "user", "structural")
                self.ledger.settle(self._words[at], "final", ((USER, "structural"),), channel="C1")
        return last

    def _end_with(self, last: Msg | None) -> None:
        """An answer that is no text: a call that gives it a form, or the result of a tool as it stands."""
        ended = self.known.find(last) if last and last.role == "tool" else None
        self.changed.settle(self.structured, ended)
        if ended is not None and ended not in self.structured and last and not last.goto and not last.back:
            self.ledger.lose("content_missing", "C1", "the answer of a run that ended with the result of a tool")
