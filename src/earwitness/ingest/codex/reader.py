"""All threads of an import, told once their last file was read."""

from collections.abc import Iterable, Iterator
from typing import Any

from earwitness.ingest.ahead import Ahead, TooEarly
from earwitness.ingest.boundary import together
from earwitness.ingest.chronicle import run_name
from earwitness.ingest.codex.items import says
from earwitness.ingest.codex.telling import tell
from earwitness.ingest.codex.threads import Run, Thread, root_of, runs_of, thread_of
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
        self._ahead = Ahead(self._early, context.jobs)
        self._awaited = set[str]()  # threads that were named as parents
        self._latest: Thread | None = None
        self._runs: dict[str, Run] = {}  # as they are when a copy of this process begins to tell

    def feed(self, record: Record) -> Iterable[Emit]:
        """Keep a record for its thread."""
        value, place = record
        if value["type"] == "session_meta":
            return self._meta(value["payload"], place)
        return self._items(value, place)

    def finish(self) -> Iterable[Emit]:
        """Every run."""
        runs = runs_of(self.threads)
        jobs = jobs_for(len(runs), self.log.size, self.context.jobs, self._ahead)
        for _, told in tell_all(iter(runs), self._told, jobs, self._ahead, lambda run: run.id):
            yield from told.emits
        self.log.close()

    def _early(self, name: str) -> Told:
        """What a copy of this process says of a run, as far as it was read."""
        self._runs = self._runs or {run.id: run for run in runs_of(self.threads)}
        if name not in self._runs:
            raise TooEarly
        return self._told(self._runs[name])

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
        if thread.id not in self.threads:
            self._begin(thread)
        self.by_source[place.source] = self.threads[thread.id]
        return ()

    def _begin(self, thread: Thread) -> None:
        """A thread may join those that it spawned to the run of its own parent."""
        self.threads[thread.id] = thread
        if thread.id in self._awaited:
            self._ahead.touch(thread.id, self.log.size)
        if thread.parent:
            self._awaited.add(thread.parent)
        self._touch(thread)

    def _touch(self, thread: Thread) -> None:
        """Something of a thread came. Of the latest nothing is told ahead until another is touched: once is enough."""
        self._latest = thread
        self._ahead.touch(root_of(thread, self.threads), self.log.size)

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
            self._begin(thread)
            self.by_source[place.source] = thread
        raw = packed((kind, value.get("timestamp"), payload))
        if not self.context.claim("codex", thread.id, raw[0]):
            return (Skip("duplicate", "the same record was read before", place),)
        self.log.add_packed(thread.id, raw, place)
        if thread is not self._latest:
            self._touch(thread)
        return ()
