"""All threads of an import, told once their last file was read."""

from collections.abc import Iterable, Iterator
from typing import Any

from earwitness.ingest.boundary import together
from earwitness.ingest.chronicle import run_name
from earwitness.ingest.codex.items import says
from earwitness.ingest.codex.telling import tell
from earwitness.ingest.codex.threads import Run, Thread, runs_of, thread_of
from earwitness.ingest.frames import Told
from earwitness.ingest.record import Context, Emit, Place, Record, Skip
from earwitness.ingest.runlog import RunLog
from earwitness.ingest.shelf import packed
from earwitness.ingest.workers import jobs_for, tell_all


class Reader:
    """Collects records by thread, whatever file they come from.

    Args:
        context: of the import.
    """

    def __init__(self, context: Context) -> None:
        self.context = context
        self.log = RunLog()  # by thread: kind, time and payload
        self.by_source: dict[int, Thread] = {}
        self.threads: dict[str, Thread] = {}

    def feed(self, record: Record) -> Iterable[Emit]:
        """Keep a record for its thread."""
        value, place = record
        if value["type"] == "session_meta":
            return self._meta(value["payload"], place)
        return self._items(value, place)

    def finish(self) -> Iterable[Emit]:
        """Every run."""
        runs = runs_of(list(self.threads.values()))
        for _, told in tell_all(iter(runs), self._told, jobs_for(len(runs), self.log.size, self.context.jobs)):
            yield from told.emits
        self.log.close()

    def _told(self, run: Run) -> Told:
        return Told(together(tell(run, self.log), self._places(run)), {})

    def _places(self, run: Run) -> Iterator[Place]:
        for thread in run.threads:
            yield thread.place
            yield from self.log.places(thread.id)

    def _meta(self, payload: dict[str, Any], place: Place) -> tuple[Emit, ...]:
        """The first of a file is its own; a copied history brings that of the parent along, a stream none."""
        if place.source in self.by_source and not payload.get("stream"):
            return (Skip("ignored", "the head of a copied history", place),)
        thread = thread_of(payload, place, run_name(self.context))
        self.by_source[place.source] = self.threads.setdefault(thread.id, thread)
        return ()

    def _items(self, value: dict[str, Any], place: Place) -> tuple[Emit, ...]:
        kind, payload = value["type"], value.get("payload")
        found = says(kind, payload)
        if found is None:
            return (Skip("unknown", "a Codex record of a type that is not read", place),)
        if not found:
            return (Skip("ignored", "a record of the terminal's own", place),)
        thread = self.by_source.get(place.source)
        if thread is None:
            thread = Thread(run_name(self.context), place)
            self.by_source[place.source] = self.threads[thread.id] = thread
        raw = packed((kind, value.get("timestamp"), payload))
        if not self.context.claim("codex", thread.id, raw[0]):
            return (Skip("duplicate", "the same record was read before", place),)
        self.log.add_packed(thread.id, raw, place)
        return ()
