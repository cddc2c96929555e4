"""Google ADK events: what event files, sessions and databases have in common.

Adapters bring their records to a form: `{"event", "session", "hidden"}`, `{"state", "session", "owner"}`,
`{"state", "shared", "owner"}`, or an `{"entry", "session", "run"}` of a debug log, kept until all of it was read; one
reader tells them, so that a session may be spread over files.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from earwitness.ingest.adk_debug import DebugRuns, Shown
from earwitness.ingest.adk_session import Session
from earwitness.ingest.adk_words import MEANT, get, means, parts_of, spoken
from earwitness.ingest.boundary import singly, together
from earwitness.ingest.dialogue import At
from earwitness.ingest.frames import Told
from earwitness.ingest.record import Context, Emit, Place, Record, Skip
from earwitness.ingest.runlog import ToldLog

_NAME = "google-adk"


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
    """Events of all sessions of an import: put aside by session, told at the end."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self._log = ToldLog(self._told, context.jobs)  # of pairs: what it is, and the value
        self._owned: dict[str, list[str]] = {}
        self._debug = DebugRuns()

    def feed(self, record: Record) -> Iterable[Emit]:
        """Keep an event, a state or an entry of a debug log."""
        value, place = record
        if "event" in value:
            return self._event(value, place)
        if "entry" in value:
            skip = self._debug.keep(value, place)
            return (skip,) if skip else ()
        state = value.get("state")
        if "session" in value:
            self._own(value)
            self._begin(value["session"], place)
            if isinstance(state, dict):
                self._keep(value["session"], "state", state, place.at("/state"))
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
        at: int | None = None
        for trace in self._owned.get(value["owner"], ()):
            if at is None:
                at = self._keep(trace, "state", state, place.at("/state"))
            else:
                self._log.share(trace, at)

    def _keep(self, trace: str, kind: str, value: Any, place: Place) -> int:
        return self._log.add(trace, (kind, value), place)

    def _event(self, value: dict[str, Any], place: Place) -> Iterable[Emit]:
        event = spoken(value["event"])
        author, run = get(event, "author"), get(event, "invocationId")
        if not isinstance(author, str) or not isinstance(run, str):
            return (Skip("unparseable", "an event without author or invocation", place),)
        trace = str(value.get("session") or event.get("session_id") or event.get("sessionId") or run)
        if event.get("partial"):
            self._keep(trace, "piece", event, place)
            return ()
        self._begin(trace, place)
        if not self.context.claim("adk-event", str(event.get("id") or f"{run}/{event.get('timestamp')}")):
            return (Skip("duplicate", "the same event was read before", place),)
        if not parts_of(event.get("content")) and not any(means(get(event, key)) for key in MEANT[1:]):
            return (Skip("ignored", "an event without content", place),)
        self._keep(trace, "hidden" if value.get("hidden") else "event", event, place)
        return ()

    def _begin(self, trace: str, place: Place) -> None:
        """A session is known from here on, whatever is told of it."""
        if trace not in self._log:
            self._keep(trace, "begun", None, place)

    def _entry(self, form: Record) -> Iterable[Emit]:
        """An entry of a debug log, once the runs of all of them are known."""
        value, place = form
        if "event" not in value and "state" not in value:
            self._keep(value["session"], "debug", value, place)
            return ()
        if value.get("blurred"):
            self._keep(value["session"], "blurred", None, place)
        return self.feed(form)

    def finish(self) -> Iterator[Emit]:
        """All sessions, in order of appearance."""
        for form in self._debug.forms():
            yield from (form,) if isinstance(form, Skip) else singly(self._entry, (form,), _NAME)
        yield from self._log.told()

    def _told(self, trace: str) -> Told:
        return Told(together(self._tell(trace), self._log.places(trace), trace), {})

    def _tell(self, trace: str) -> Iterator[Emit]:
        records = self._log.of(trace)
        first = next(records)
        session, shown = Session(trace, At(first.place)), Shown() if self._debug else None

        def tell(record: Record) -> Iterable[Emit]:
            (kind, value), place = record
            if shown is None:
                return session.take(kind, value, place)
            if kind == "debug":
                shown.tell(session.dialogue, value, place)
                return shown.noted(session.dialogue.drain())
            return shown.noted(session.take(kind, value, place))

        yield from singly(tell, chain((first,), records), _NAME)
        yield from session.ended()
