"""Google ADK events: what event files, sessions and databases have in common.

Adapters bring their records to a form: `{"event", "session", "hidden"}`, `{"state", "session", "owner"}`,
`{"state", "shared", "owner"}`, or an `{"entry", "session", "run"}` of a debug log, kept until all of it was read; one
reader tells them, so that a session may be spread over files.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, cast

from earwitness.ingest.adk_debug import DebugRuns
from earwitness.ingest.adk_session import Session
from earwitness.ingest.adk_words import MEANT, get, means, parts_of, spoken
from earwitness.ingest.boundary import together
from earwitness.ingest.dialogue import At, Dialogue
from earwitness.ingest.record import Context, Emit, Place, Record, Skip
from earwitness.ingest.shelf import Key, Shelf

# Sessions of which all that was said is at hand.
_AWAKE = 200


def is_event(value: Any) -> bool:
    """Whether a value is an event as ADK writes it."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("author"), str)
        and isinstance(get(value, "invocationId"), str)
        and "table" not in value
        and "_table" not in value
        and any(get(value, key) is not None for key in MEANT)
    )


class AdkReader:
    """Events of all sessions of an import."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self._sessions: dict[str, Session | Key] = {}  # those that wait on disk as keys
        self._awake: dict[str, None] = {}
        self._latest: Session | None = None
        self._shelf = Shelf()
        self._owned: dict[str, list[str]] = {}
        self._debug = DebugRuns()

    def feed(self, record: Record) -> Iterable[Emit]:
        """Tell an event, or keep a state for the end."""
        value, place = record
        if "event" in value:
            return self._event(value, place)
        if "entry" in value:
            skip = self._debug.keep(value, place)
            return (skip,) if skip else ()
        state = value.get("state")
        if "session" in value:
            self._own(value)
            if isinstance(state, dict):
                self._session(value["session"], place).states.append((state, place.at("/state")))
            return ()
        if not state:
            return (Skip("ignored", "a row without content", place),)
        self._share(value, place)
        return ()

    def _own(self, value: dict[str, Any]) -> None:
        for owner in value.get("owner") or ():
            self._owned.setdefault(owner, []).append(value["session"])

    def _share(self, value: dict[str, Any], place: Place) -> None:
        """State of an app or a user: every session of theirs can read it."""
        state = {value["shared"] + key: inner for key, inner in value["state"].items()}
        for trace in self._owned.get(value["owner"], ()):
            self._session(trace, place).states.append((state, place.at("/state")))

    def _event(self, value: dict[str, Any], place: Place) -> Iterable[Emit]:
        event = spoken(value["event"])
        author, run = get(event, "author"), get(event, "invocationId")
        if not isinstance(author, str) or not isinstance(run, str):
            return (Skip("unparseable", "an event without author or invocation", place),)
        trace = value.get("session") or event.get("session_id") or event.get("sessionId") or run
        told = self._session(str(trace), place)
        if event.get("partial"):
            told.keep_piece(event, place)
            return ()
        if not self.context.claim("adk-event", str(event.get("id") or f"{run}/{event.get('timestamp')}")):
            return (Skip("duplicate", "the same event was read before", place),)
        if not parts_of(event.get("content")) and not any(means(get(event, key)) for key in MEANT[1:]):
            return (Skip("ignored", "an event without content", place),)
        if value.get("hidden"):
            told.hide_actions(place)
        skips = told.drop_pieces(event)
        told.tell(event, place)
        return [*skips, *told.dialogue.drain()]

    def _session(self, trace: str, place: Place) -> Session:
        if self._latest and trace == self._latest.dialogue.trace:  # mostly it goes on
            return self._latest
        if trace not in self._sessions:
            self._sessions[trace] = Session(trace, At(place))
        session = self._wake(trace)
        self._awake.pop(trace, None)
        self._awake[trace] = None
        if len(self._awake) > 2 * _AWAKE:
            for idle in list(self._awake)[:_AWAKE]:
                self._sleep(idle)
        self._latest = session
        return session

    def _sleep(self, trace: str) -> None:
        """A session that was not heard of for long waits on disk."""
        del self._awake[trace]
        with suppress(RecursionError):  # a state may be nested too deep to be written
            self._sessions[trace] = self._shelf.put_whole(self._sessions[trace])

    def _wake(self, trace: str) -> Session:
        found = self._sessions[trace]
        if isinstance(found, Session):
            return found
        self._sessions[trace] = session = cast("Session", self._shelf.get_whole(found))
        return session

    def _contained(self, form: Record) -> Iterator[Emit]:
        """A bad entry must not cost the others."""
        return together(self._of_debug(form.value, form.place), (form.place,), form.value["session"])

    def _of_debug(self, value: dict[str, Any], place: Place) -> Iterator[Emit]:
        """What only a debug log tells: whom a call called, and what a model was shown."""
        session = self._session(value["session"], place)
        if "called" in value:
            session.dialogue.delegate(value["call"], value["called"], "structural", place)
        elif "shown" in value:
            self._show(session.dialogue, value, At(place, value["time"]))
        else:
            if value.get("blurred"):
                session.dialogue.lose("content_missing", "C6", "thoughts are not told apart from words", place)
            yield from self.feed(Record(value, place))
            return
        yield from session.dialogue.drain()

    def _show(self, dialogue: Dialogue, value: dict[str, Any], at: At) -> None:
        """An input of a model, as far as nothing else tells that its agent was shown it."""
        agent = value["agent"] if isinstance(value["agent"], str) else None
        if value["request"]:
            dialogue.request(value["request"], at)
        if value["system"] and self._debug.is_new(dialogue.trace, agent, value["system"]):
            dialogue.instructions(agent, value["system"], at)
        for text in dict.fromkeys(value["shown"]):
            if self._debug.is_new(dialogue.trace, agent, text):
                dialogue.sighting(agent, text, "history", at)

    def finish(self) -> Iterator[Emit]:
        """What was held back."""
        for form in self._debug.forms():
            for emit in (form,) if isinstance(form, Skip) else self._contained(form):
                self._debug.note(emit)
                yield emit
        for trace in list(self._sessions):
            yield from self._wake(trace).ended()
            del self._sessions[trace]
        self._shelf.close()
