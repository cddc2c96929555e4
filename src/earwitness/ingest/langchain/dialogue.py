"""A conversation of LangChain messages: each message told once, every later copy a sighting."""

from typing import Any

from earwitness.ingest.langchain import names
from earwitness.ingest.langchain.calls import Asked, Calls, Said
from earwitness.ingest.langchain.known import Known
from earwitness.ingest.langchain.ledger import USER, Draft, Ledger, Seen
from earwitness.ingest.langchain.messages import Msg
from earwitness.ingest.record import Place
from earwitness.ingest.spans.texts import fingerprint
from earwitness.schema.words import Flag, Grade, SightingKind


class Dialogue:
    """The messages of one trace.

    Attributes:
        request: the first words of a person.
        known: what was told.
    """

    def __init__(self) -> None:
        self.ledger = Ledger()
        self.calls = Calls(self.ledger)
        self.request: str | None = None
        self.known = Known(self.calls.results)
        self._open: list[Said] = []
        self._unsent: dict[bytes, list[Said]] = {}
        self._backs: list[tuple[int, str | None, str, Draft]] = []
        self._shown: set[tuple[str | None, int]] = set()
        self._unseen: dict[int, Seen] = {}

    @property
    def returned(self) -> set[str]:
        """Who gave control back."""
        return {author for _, author, _, _ in self._backs if author}

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
        msg = self._as_spoken(msg, agent)
        said = self.known.find(msg)
        if said is None:
            author = msg.name if msg.role == "ai" and msg.name else agent
            said = Said(msg, author, place, self.ledger.texts.keep(msg.text))
            self.known.add(said)
            self._tell(said, viewer or agent, time)
            said.put_aside()
        else:
            self._enrich(said, msg, time)
        if viewer:
            self._show(said, viewer, kind, place, time)

    def _as_spoken(self, msg: Msg, agent: str | None = None) -> Msg:
        """A "human" message that an agent signs is what that agent said, given to the others as input."""
        if msg.role != "human" or not msg.name or msg.name not in (agent, *self.ledger.agents):
            return msg
        return self.known.spoken(msg)

    def _tell(self, said: Said, viewer: str | None, time: Any) -> None:
        if said.msg.references:
            self.ledger.lose("reference", None, "files inside messages", said.msg.references)
        if said.msg.role in ("human", "system"):
            self._given(said, viewer, time)
        elif said.msg.role == "tool":
            self._answer(said, time)
        else:
            self._speak(said, time)

    def _given(self, said: Said, viewer: str | None, time: Any) -> None:
        """What somebody was given: the words of a delegation, or what was there before anything was said."""
        if said.msg.role == "human" and self.request is None and not self.calls.payload(said.msg.text):
            self.request = said.msg.text
        if viewer:
            self._show(said, viewer, "initial", said.place, time)
        else:
            rest = {"time": time, "kept": said.kept}
            self._unseen[id(said)] = self.ledger.sighting(None, "initial", said.msg.text, said.place, **rest)

    def _show(self, said: Said, viewer: str, kind: SightingKind, place: Place, time: Any) -> None:
        """A message was shown to somebody; once is evidence enough."""
        if (viewer, id(said)) in self._shown:
            return
        self._shown.add((viewer, id(said)))
        self.ledger.actor(viewer, "agent", "node")
        draft, text = said.draft, self.ledger.texts.text(said.kept)
        if said.msg.role in ("human", "system"):
            payload = self.calls.payload(text)  # the "human" of a delegated run is the agent that asked
            draft = payload.draft if payload and payload.child == viewer else None
            kind = "input" if draft else "initial"
        self.ledger.sighting(viewer, kind, text, place, time=time, draft=draft, kept=said.kept)
        asked = [self.calls.get(c.id) for c in said.msg.calls]
        for part in (*said.thoughts, *(a.draft for a in asked if a)):
            self.ledger.sighting(viewer, kind, part.content, place, time=time, draft=part, kept=part.kept)

    def _speak(self, said: Said, time: Any) -> None:
        msg, author = said.msg, said.author
        self.ledger.actor(author, "agent", "declared" if author == msg.name else "node")
        self._shown.add((author, id(said)))
        self._think(said, msg, time)
        if msg.back:
            self._hand_back(said, time)
            return
        if msg.text.strip():
            self._say_text(said, time)
        for call in msg.calls:
            self.calls.ask(call, author, said.place, time)

    def _think(self, said: Said, msg: Msg, time: Any) -> None:
        for text in msg.thoughts:
            name = f"{self._name(msg)}:reasoning"
            draft = self.ledger.event(
                "C6", text, kind="reasoning", name=name, place=said.place, sender=said.author, time=time
            )
            said.thoughts.append(draft)

    def _say_text(self, said: Said, time: Any) -> None:
        """Text beside a call is thinking aloud; where other text goes shows at the end."""
        beside = bool(said.msg.calls)
        said.draft = self.ledger.event(
            "C6" if beside else "C2",
            said.msg.text,
            kind="intermediate" if beside else "message",
            name=f"{self._name(said.msg)}:text",
            place=said.place,
            sender=said.author,
            time=time,
            kept=said.kept,
        )
        if not beside:
            self._open.append(said)
            self._unsent.setdefault(fingerprint(said.msg.text), []).append(said)

    def _name(self, msg: Msg) -> str:
        return msg.id or f"message{len(self.known)}"

    def _hand_back(self, said: Said, time: Any) -> None:
        """The framework's own note; its text is boilerplate, no word of the worker."""
        if not said.msg.calls:
            return
        tool = said.msg.calls[0].name
        name = f"{said.msg.id or tool}:handoff"
        draft = self.ledger.event(
            "C2", "", kind="handoff_back", name=name, place=said.place, sender=said.author, time=time
        )
        self._backs.append((len(self._open), said.author, names.handed(tool) or "", draft))
        for call in said.msg.calls:
            self.calls.adopt(Asked(call, said.author, draft), call.id or name)

    def _enrich(self, said: Said, msg: Msg, time: Any) -> None:
        """A fuller copy: some spellings drop the calls of a message, its name, or its reasoning."""
        if said.msg.role != "ai" or msg.back or said.msg.back:
            return
        if msg.name:
            self._sign(said, msg.name)
        if msg.calls and not said.msg.calls:
            self._call_late(said, msg, time)
        if msg.thoughts and not said.thoughts:
            self._think(said, msg, time)

    def _sign(self, said: Said, name: str) -> None:
        if said.author is None:
            said.author = name
            for draft in filter(None, (said.draft, *said.thoughts)):
                draft.sender = name
        if said.author == name:
            self.ledger.actor(name, "agent", "declared")

    def _call_late(self, said: Said, msg: Msg, time: Any) -> None:
        old = said.msg
        said.msg = Msg(role="ai", text=old.text, thoughts=old.thoughts, calls=msg.calls, id=old.id, name=old.name)
        if said.draft:
            said.draft.channel, said.draft.kind = "C6", "intermediate"
        for call in msg.calls:
            self.calls.ask(call, said.author, said.place, time)

    # What comes back from calls.

    def _answer(self, said: Said, time: Any) -> None:
        msg = said.msg
        asked = self.calls.answered_by(msg)
        handing = asked.draft.kind.startswith("handoff") if asked else bool(msg.name and names.handed(msg.name))
        if msg.back or handing:
            self._arrive(said, asked)
        elif asked and asked.child:
            self._report(said, asked, time)
        else:
            self._result(said, asked, time)
        if asked:
            self.calls.close(asked, said)

    def _arrive(self, said: Said, asked: Asked | None) -> None:
        """The result of a handoff tool is boilerplate, and confirms where control went."""
        if asked:
            asked.goto = said.msg.goto or asked.goto

    def _report(self, said: Said, asked: Asked, time: Any) -> None:
        """What an agent that was asked gives back: its own last words, or a text made of them."""
        told = fingerprint(said.msg.text)
        mine = (s.draft for s in reversed(self._unsent.get(told, ())) if s.author == asked.child)
        draft = next((d for d in mine if d and d.kind == "message"), None)
        if draft is None:
            name = f"{said.msg.call_id or asked.call.name}:answer"
            rest = {"sender": asked.child, "time": time, "place": said.place}
            draft = self.ledger.event("C2", said.msg.text, kind="answer", name=name, **rest)
        said.draft = draft
        draft.kind, draft.to = "answer", ((asked.agent, "structural"),) if asked.agent else ()

    def _result(self, said: Said, asked: Asked | None, time: Any) -> None:
        msg = said.msg
        tool = msg.name or (asked.call.name if asked else None)
        refused = self.calls.refuse(asked, msg)
        self.ledger.actor(tool, "tool", "declared")
        grade: Grade = "declared" if msg.call_id and not msg.call_id.startswith("run:") else "structural"
        flags: tuple[Flag, ...] = ("failed",) if msg.failed else ()
        if msg.failed and not refused:
            self.ledger.lose("failed_call", "C4", "tool call that failed")
        name = msg.call_id or self._name(msg)
        rest = {"sender": None if refused else tool, "time": time, "place": said.place}
        to = ((asked.agent, grade),) if asked and asked.agent else ()
        said.draft = self.ledger.event(
            "C4", msg.text, kind="tool_result", name=f"{name}:result", to=to, flags=flags, kept=said.kept, **rest
        )
        if asked and asked.agent:
            self._shown.add((asked.agent, id(said)))
        if msg.artifact:
            self.ledger.event("C7", msg.artifact, kind="artifact", name=f"{name}:artifact", **rest)

    # The end.

    def finish(self, final: list[Msg]) -> None:
        """Say where open words went, and which handoffs took effect.

        Args:
            final: the messages with which the outermost run ended.
        """
        self._finals(final)
        self.calls.land()
        for opened, author, target, draft in self._backs:
            agent = next((a for a in self.ledger.agents if names.slug(a) == target), None)
            if agent:
                draft.to = ((agent, "structural"),)
                self._hand_over(opened, author, agent)
        for _, said in self._shown:
            self.ledger.forget(self._unseen.get(said))

    def _hand_over(self, opened: int, author: str | None, agent: str) -> None:
        """The last words before control was given back are the answer."""
        real = self.ledger.aliases
        for n in range(opened - 1, -1, -1):
            said = self._open[n]
            if said.draft and said.draft.kind == "message" and _same(real, said.author, author):
                said.draft.kind, said.draft.to = "answer", ((agent, "structural"),)
                return

    def _finals(self, final: list[Msg]) -> None:
        """The last words of the outermost run, and those after which the user spoke again."""
        final = [self._as_spoken(msg) for msg in final]
        for msg, following in zip(final, [*final[1:], None], strict=False):
            if msg.role != "ai" or msg.calls or not (following is None or following.role == "human"):
                continue
            said = self.known.find(msg)
            if said and said.draft and said.draft.kind == "message":
                self.ledger.actor(USER, "user", "structural")
                said.draft.channel, said.draft.kind, said.draft.to = "C1", "final", ((USER, "structural"),)


def _same(aliases: dict[str, str], one: str | None, other: str | None) -> bool:
    return one is not None and other is not None and aliases.get(one, one) == aliases.get(other, other)
