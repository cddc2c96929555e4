"""Google ADK events: what event files, sessions and databases have in common.

Adapters bring their records to one of three forms: `{"event", "session", "hidden"}`, `{"state", "session", "owner"}`
and `{"state", "shared", "owner"}`; one reader tells them, so that a session may be spread over files.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from earwitness.ingest.adk_session import Session
from earwitness.ingest.adk_words import MEANT, get, means, parts_of
from earwitness.ingest.dialogue import At
from earwitness.ingest.record import Context, Emit, Place, Record, Skip


def is_event(value: Any) -> bool:
    """Whether a value is an event as ADK writes it."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("author"), str)
        and isinstance(get(value, "invocationId"), str)
        and not {"table", "_table"} & value.keys()
        and any(get(value, key) is not None for key in MEANT)
    )


class AdkReader:
    """Events of all sessions of an import."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self._sessions: dict[str, Session] = {}
        self._owned: dict[str, list[str]] = {}

    def feed(self, record: Record) -> Iterable[Emit]:
        """Tell an event, or keep a state for the end."""
        value, place = record
        if "event" in value:
            return self._event(value, place)
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

    def _event(self, value: dict[str, Any], place: Place) -> Iterator[Emit]:
        event, hidden = value["event"], value.get("hidden", False)
        author, run = get(event, "author"), get(event, "invocationId")
        if not isinstance(author, str) or not isinstance(run, str):
            yield Skip("unparseable", "an event without author or invocation", place)
            return
        trace = value.get("session") or event.get("session_id") or event.get("sessionId") or run
        told = self._session(str(trace), place)
        if event.get("partial"):
            told.keep_piece(event, place)
        elif not self.context.claim("adk-event", str(event.get("id") or f"{run}/{event.get('timestamp')}")):
            yield Skip("duplicate", "the same event was read before", place)
        elif not parts_of(event.get("content")) and not any(means(get(event, key)) for key in MEANT[1:]):
            yield Skip("ignored", "an event without content", place)
        else:
            if hidden:
                told.hide_actions(place)
            yield from told.drop_pieces(event)
            told.tell(event, place)
            yield from told.dialogue.drain()

    def _session(self, trace: str, place: Place) -> Session:
        if trace not in self._sessions:
            self._sessions[trace] = Session(trace, At(place))
        return self._sessions[trace]

    def finish(self) -> Iterator[Emit]:
        """What was held back."""
        for session in self._sessions.values():
            yield from session.finish()
