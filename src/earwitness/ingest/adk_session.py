"""One Google ADK session told: events to items.

A transfer counts when `actions.transferToAgent` says so, or, where actions are lost, when the named agent speaks
next: then its effect shows whom it went to, no record names him. A function call is of an agent (`AgentTool`) where
an agent of that name speaks in the session or stands in the path of one that does.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from earwitness.ingest.adk_words import (
    ASKED,
    CODE,
    MEMORY,
    MEMORY_TOOLS,
    RARE,
    SILENT,
    TRANSFER,
    WITHOUT_ACTIONS,
    WORK,
    agents_above,
    concludes,
    done,
    get,
    inner,
    name_of,
    parts_of,
    searched,
    store_of,
    text_of,
    words_of,
)
from earwitness.ingest.boundary import together
from earwitness.ingest.dialogue import USER, At, Dialogue
from earwitness.ingest.record import Emit, Place, Skip
from earwitness.ingest.refusals import is_refusal
from earwitness.ingest.scopes import Scopes
from earwitness.ingest.spans.identity import addressed
from earwitness.ingest.spans.texts import as_text
from earwitness.schema.model import Delivery, Trace
from earwitness.schema.words import Flag, Grade

# A part of an event with its number.
_Numbered = tuple[int, dict[str, Any]]


class _Moving(NamedTuple):
    """A transfer that was answered, without a word of its effect."""

    call_id: str | None
    target: str | None
    agent: str
    at: At


class Session:
    """One session while it is told.

    Args:
        trace: its id.
        at: where it begins.
    """

    def __init__(self, trace: str, at: At) -> None:
        self.dialogue = Dialogue(Trace(id=trace, framework="google-adk"), at)
        self._hidden: tuple[Place, int] | None = None
        self.states: list[tuple[dict[str, Any], Place]] = []
        self._turns: dict[str, int] = {}
        self._run: str | None = None
        self._pieces: dict[tuple[str, str], list[tuple[dict[str, Any], Place]]] = {}
        self._written: dict[tuple[str, str], str] = {}
        self._beside: tuple[str, At] | None = None
        self._moving: _Moving | None = None
        self._unconfirmed: dict[str, Any] = {}
        self._callers: dict[str, str] = {}
        self.dialogue.scopes = self._scopes = Scopes()

    def take(self, kind: str, value: Any, place: Place) -> list[Emit]:
        """Tell what was put aside of it, as far as it can be told at once.

        Args:
            kind: `event`, `hidden` for one whose actions cannot be read, `piece` of a stream, `state`, `blurred` where
                what follows does not tell thoughts from words, `begun`.
            value: an event or a state.
            place: where it stands.
        """
        if kind in ("event", "hidden"):
            skips = self._whole(value, place, hidden=kind == "hidden")
            return [*skips, *self.dialogue.drain()]
        if kind == "piece":
            self._keep_piece(value, place)
        elif kind == "state":
            self.states.append((value, place))
        elif kind == "blurred":
            self.dialogue.lose("content_missing", "C6", "thoughts are not told apart from words", place)
        return []

    def _whole(self, event: dict[str, Any], place: Place, *, hidden: bool) -> list[Emit]:
        if hidden:
            self._hide_actions(place)
        skips = self._drop_pieces(event)
        self.tell(event, place)
        return skips

    def _keep_piece(self, event: dict[str, Any], place: Place) -> None:
        """A streamed piece; the whole comes later, or never."""
        self._pieces.setdefault((get(event, "invocationId"), event["author"]), []).append((event, place))

    def _drop_pieces(self, event: dict[str, Any]) -> list[Emit]:
        """The whole has come."""
        if not self._pieces:
            return []
        pieces = self._pieces.pop((get(event, "invocationId"), event["author"]), ())
        return [Skip("duplicate", "a streamed piece of an event that is recorded whole", place) for _, place in pieces]

    def _hide_actions(self, place: Place) -> None:
        """An event whose actions cannot be read; counted, at the place of the first."""
        if self._hidden is None:
            self.dialogue.amend(Trace(id=self.dialogue.trace, observable=WITHOUT_ACTIONS), place)
        self._hidden = (self._hidden[0], self._hidden[1] + 1) if self._hidden else (place, 1)

    def held(self) -> Iterator[Place]:
        """Where all stands that was not told when it was met."""
        yield from (place for pieces in self._pieces.values() for _, place in pieces)
        yield from (self._beside[1].place,) if self._beside else ()
        yield from (place for _, place in self.states)
        yield from self.dialogue.held()

    def ended(self) -> Iterator[Emit]:
        """The same as `finish`; what fails here costs no other session."""
        return together(self.finish(), self.held(), self.dialogue.trace)

    def finish(self) -> Iterator[Emit]:
        """Pieces whose whole never came, the last words, and the final state."""
        for pieces in self._pieces.values():
            self.tell(*_joined(pieces))
        self._settle_move(None)
        self._say_beside(None)
        yield from self.dialogue.finish()
        if self._hidden:
            self.dialogue.lose("content_missing", "C5", "actions are a pickle, which is not opened", *self._hidden)
        for state, place in self.states:
            self._show_state(state, At(place))
        yield from self.dialogue.drain()

    def tell(self, event: dict[str, Any], place: Place) -> None:
        """Tell an event that is whole."""
        run, author, parts = get(event, "invocationId"), event["author"], parts_of(event.get("content"))
        rare, actions = not RARE.isdisjoint(event), done(event)
        if run != self._run:
            self.dialogue.settle(final=True)
            self._run = run
        for agent in agents_above(event) if rare else ():
            self.dialogue.knows(agent)
        self._enter(event, run, author if parts else USER, actions)
        at = At(place, event.get("timestamp"), self._turns.setdefault(run, len(self._turns) + 1))
        self._unconfirmed = inner(actions, "requestedToolConfirmations") if actions else {}
        if self._moving and author != USER:
            self._settle_move(author)
        self._say(author, event, parts, at)
        if actions:
            self._act(author, actions, at)
        if rare:
            self._trouble(author, event, at)

    def _enter(self, event: dict[str, Any], run: str, speaker: str, actions: dict[str, Any]) -> None:
        """Where in the session an event stands, for what others are shown of it."""
        if speaker != USER:
            self.dialogue.beside(speaker)
        branch = event.get("branch")
        self._scopes.enter(len(self.dialogue.history), run, branch if isinstance(branch, str) and branch else None)
        undone = get(actions, "rewindBeforeInvocationId") if actions else None
        if isinstance(undone, str) and undone:
            self._scopes.undo(undone, len(self.dialogue.history))

    def _say(self, author: str, event: dict[str, Any], parts: list[dict[str, Any]], at: At) -> None:
        """The parts of an event; words that stand behind work are told behind it."""
        words, thoughts = words_of(parts)
        if not parts and event.get("output") is not None:  # of a node of a workflow that is no agent
            words = as_text(event["output"])
        work = [(n, part) for n, part in enumerate(parts) if not WORK.isdisjoint(part)]
        if thoughts and author != USER:
            self.dialogue.think(author, thoughts, at)
        self._search(author, event, at)
        last = concludes(parts) if work else False
        if not last:
            self._speak(author, event, words, work, at)
        for n, part in work:
            self._part(author, part, At(at.place.at(f"/content/parts/{n}"), at.time, at.turn))
        if last:
            self._speak(author, event, words, work, at)

    def _search(self, author: str, event: dict[str, Any], at: At) -> None:
        """What the provider searched by itself."""
        search = searched(event)
        if search is None or author == USER:
            return
        tool, queries, found = search
        call_id = f"{event.get('id') or at.place.pointer}:search"
        where = at._replace(place=at.place.at("/groundingMetadata"))
        self.dialogue.call(author, tool, as_text(queries) if queries else "", where, call_id)
        if found:
            self.dialogue.result(call_id, as_text(found), where, agent=author, tool=tool)

    def _speak(self, author: str, event: dict[str, Any], text: str, work: list[_Numbered], at: At) -> None:
        if author == USER:
            self.dialogue.request(text, at)
        elif work and any(inner(part, "functionCall").get("name") == TRANSFER for _, part in work):
            self._beside = (text, at) if text else None
        elif text:
            self.dialogue.say(author, text, at, id=str(event.get("id") or "") or None)

    def _part(self, author: str, part: dict[str, Any], at: At) -> None:
        if call := inner(part, "functionCall"):
            self._call(author, call, at)
        elif answer := inner(part, "functionResponse"):
            self._answer(author, answer, at)
        elif data := inner(part, "inlineData"):
            self._file(author, as_text(data.get("data") or ""), at, reference=False)
        elif data := inner(part, "fileData"):
            self._file(author, str(get(data, "fileUri") or ""), at, reference=True)
        else:
            self._hosted(author, part, at)

    def _hosted(self, author: str, part: dict[str, Any], at: At) -> None:
        """Code that was run, and what a tool of the provider's own was given and gave back."""
        if code := inner(part, "executableCode"):
            self.dialogue.call(author, CODE, as_text(code.get("code", code)), at, name_of(code, "id"))
        elif outcome := inner(part, "codeExecutionResult"):
            text = as_text(outcome.get("output", outcome))
            self.dialogue.result(name_of(outcome, "id"), text, at, agent=author, tool=CODE)
        elif call := inner(part, "toolCall"):
            tool, given = str(get(call, "toolType") or "").lower() or None, as_text(call.get("args") or {})
            self.dialogue.call(author, tool, given, at, name_of(call, "id"), hold=True)
        elif answer := inner(part, "toolResponse"):
            tool, text = str(get(answer, "toolType") or "").lower() or None, as_text(answer.get("response"))
            self.dialogue.result(name_of(answer, "id"), text, at, agent=author, tool=tool)

    def _file(self, author: str, content: str, at: At, *, reference: bool) -> None:
        if author == USER:
            self.dialogue.sighting(None, content, "artifact", at)
            return
        self.dialogue.beside(author)
        self.dialogue.acts(author, at.place)
        flags: tuple[Flag, ...] = ("reference",) if reference else ()
        self.dialogue.event("C7", content, at, kind="file", sender=author, flags=flags)

    def _call(self, author: str, call: dict[str, Any], at: At) -> None:
        name, given, call_id = name_of(call, "name"), as_text(call.get("args") or {}), name_of(call, "id")
        if name in MEMORY_TOOLS:
            self._memory(author, given, at, query=True)
        elif name in ASKED:
            self._ask(author, given, at)
        else:  # its result says whether it was allowed, and a transfer took effect
            if call_id:
                self._callers[call_id] = author
            self.dialogue.call(author, name, given, at, call_id, hold=True)

    def _ask(self, author: str, given: str, at: At) -> None:
        """The user is shown a call and asked to allow it, or to log in, or is asked for words."""
        self.dialogue.settle(final=False, next_agent=author)
        self.dialogue.acts(author, at.place)
        self.dialogue.actor(USER, "user", "structural", at.place)
        to = (Delivery(USER, "structural"),)
        self.dialogue.event("C1", given, at, kind="confirmation", sender=author, to=to, remember=False)

    def _memory(self, author: str, text: str, at: At, *, query: bool) -> None:
        self.dialogue.settle(final=False, next_agent=author)
        self.dialogue.actor(MEMORY, "memory", "declared", at.place)
        self.dialogue.acts(author, at.place)
        kind, sender, to = ("memory_query", author, MEMORY) if query else ("memory_read", MEMORY, author)
        self.dialogue.event("C5", text, at, kind=kind, sender=sender, to=(to,))

    def _answer(self, author: str, answer: dict[str, Any], at: At) -> None:
        name, text, call_id = name_of(answer, "name"), as_text(answer.get("response")), name_of(answer, "id")
        if name in MEMORY_TOOLS:
            self._memory(author, text, at, query=False)
        elif name == TRANSFER:
            call = self.dialogue.open_call(call_id)
            self._moving = _Moving(call_id, _wanted(call.arguments if call else ""), author, at)
        elif name in SILENT:
            self.dialogue.settle(final=True)
            self.dialogue.sighting(None, text, "input", at)
        elif name in ASKED:
            self.dialogue.request(text, at)
        elif call_id in self._unconfirmed:
            self.dialogue.pause(call_id)
        else:
            # What a tool that takes long gives back later comes in the user's name.
            agent = self._callers.get(call_id or "") if author == USER else author
            self.dialogue.result(call_id, text, at, agent=agent, tool=name, denied=is_refusal(text))

    def _settle_move(self, speaker: str | None) -> None:
        """A transfer without recorded effect took place if its target speaks next."""
        moving, self._moving = self._moving, None
        if moving and moving.target and moving.target == speaker:
            self._move(moving.call_id, moving.target, moving.agent, None, moving.at, grade="structural")
        elif moving:
            self._say_beside(moving.agent)
            self.dialogue.result(moving.call_id, "", moving.at, agent=moving.agent, tool=TRANSFER, denied=True)

    def _move(
        self, call_id: str | None, target: str, agent: str, reason: Any, at: At, *, grade: Grade = "declared"
    ) -> None:
        beside, self._beside = self._beside, None
        words = beside[0] if beside else reason if isinstance(reason, str) and reason else None
        self.dialogue.handoff(call_id, target, at, agent=agent, words=words, grade=grade)

    def _say_beside(self, agent: str | None) -> None:
        """Words beside a transfer that did not take place."""
        beside, self._beside = self._beside, None
        if beside:
            self.dialogue.think(agent, beside[0], beside[1], kind="intermediate")

    def _act(self, author: str, actions: dict[str, Any], at: At) -> None:
        """State and artifacts written, control passed on, earlier events summed up."""
        self._write(author, inner(actions, "stateDelta"), at)
        for name in inner(actions, "artifactDelta"):
            self.dialogue.actor("artifacts", "artifact_store", "declared", at.place)
            self.dialogue.event(
                "C7", name, at, kind="artifact", sender=author, to=("artifacts",), flags=("reference",), remember=False
            )
        target = get(actions, "transferToAgent")
        if isinstance(target, str) and target:
            call_id = self._moving.call_id if self._moving else None
            self._moving = None
            self._move(call_id, target, author, get(actions, "transferReason"), at)
        if compaction := inner(actions, "compaction"):
            summary = text_of(get(compaction, "compactedContent"))
            self.dialogue.think(None if author == USER else author, summary, at, kind="compaction")

    def _write(self, author: str, delta: dict[str, Any], at: At) -> None:
        for key, value in delta.items():
            store, text = store_of(key), as_text(value)
            self.dialogue.actor(store, "memory", "declared", at.place)
            where = at._replace(place=at.place.at(f"/actions/stateDelta/{key}"))
            sender = None if author == USER else author
            self._written[(key, text)] = self.dialogue.event(
                "C5",
                text,
                where,
                kind="memory_write",
                sender=sender,
                to=(store,),
                attributes={"key": key},
                remember=False,
            )

    def _trouble(self, author: str, event: dict[str, Any], at: At) -> None:
        words = [str(w) for w in (get(event, "errorCode"), get(event, "errorMessage")) if w]
        if words:
            self.dialogue.think(None if author == USER else author, ": ".join(words), at, kind="error")
            self.dialogue.lose("failed_call", None, "an event with an error", at.place)

    def _show_state(self, state: dict[str, Any], at: At) -> None:
        """What a store holds at the end; what no event wrote was there from the start."""
        for key, value in state.items():
            store, text = store_of(key), as_text(value)
            self.dialogue.actor(store, "memory", "declared", at.place)
            self.dialogue.sighting(store, text, "state", at, self._written.get((key, text)))


def _joined(pieces: list[tuple[dict[str, Any], Place]]) -> tuple[dict[str, Any], Place]:
    """One event of the pieces of a stream."""
    events = [event for event, _ in pieces]
    first, place = pieces[0]
    parts: list[dict[str, Any]] = []
    for thought in (True, False):
        text = "".join(text_of(e.get("content"), thought=thought, glue="") for e in events)
        parts += [{"text": text, "thought": thought}] if text else []
    return {**first, "content": {"role": "model", "parts": parts}}, place


def _wanted(arguments: str) -> str | None:
    return addressed(TRANSFER, arguments)
