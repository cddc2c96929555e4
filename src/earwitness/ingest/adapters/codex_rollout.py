"""Codex rollouts: one file a thread, as the Codex CLI writes it to `~/.codex/sessions`.

A line has `timestamp`, `type` and `payload`. Response items are what was said; event messages repeat some of it for the
terminal. Threads that spawned one another become one trace: import the folder. The rollout of a sub-agent begins with a
copy of its parent's history, which the sub-agent has seen, but did not say: it is cut at the call that spawned it.

The format cannot show encrypted reasoning, nor files that commands write; patches are artifacts.

Obtained by: the folder `~/.codex/sessions`.
Versions tried: samples of daaain/claude-code-log at commit 7745840, hand-written by their authors.
Order: file order, with times.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from earwitness.ingest.boundary import together
from earwitness.ingest.chronicle import run_name, text_of
from earwitness.ingest.codex.items import items_of, says
from earwitness.ingest.codex.telling import tell
from earwitness.ingest.codex.threads import Run, Thread, runs_of, thread_of
from earwitness.ingest.record import Context, Emit, Place, Record, Skip
from earwitness.ingest.shelf import Shelf

_TYPES = ("session_meta", "turn_context", "response_item", "event_msg", "compacted")


class _CodexRollout:
    NAME = "codex-rollout"
    TITLE = "Codex rollout"
    READER = "codex"
    PRIORITY = 60

    def sniff(self, value: Any) -> bool:
        if not isinstance(value, dict) or not isinstance(value.get("payload"), dict) or "timestamp" not in value:
            return False
        if not isinstance(value.get("type"), str):
            return False
        return value["type"] in _TYPES or value.keys() == {"timestamp", "type", "payload"}

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


class _Reader:
    def __init__(self, context: Context) -> None:
        self.context = context
        self.shelf = Shelf()
        self.by_source: dict[int, Thread] = {}
        self.threads: dict[str, Thread] = {}

    def feed(self, record: Record) -> Iterable[Emit]:
        value, place = record
        if value["type"] == "session_meta":
            return self._meta(value["payload"], place)
        return self._items(value, place)

    def finish(self) -> Iterable[Emit]:
        for run in runs_of(list(self.threads.values())):
            yield from together(self._told(run), run.places())
            for thread in run.threads:
                thread.items = []
        self.shelf.close()

    def _told(self, run: Run) -> Iterator[Emit]:
        for thread in run.threads:
            for key, place in thread.shelved:
                thread.items += items_of(self.shelf.get(key), place) or []
        yield from tell(run)

    def _meta(self, payload: dict[str, Any], place: Place) -> Iterator[Emit]:
        """The first of a file is its own; a copied history brings that of the parent along."""
        if place.source in self.by_source:
            yield Skip("ignored", "the head of a copied history", place)
            return
        thread = thread_of(payload, place, run_name(self.context))
        self.by_source[place.source] = self.threads.setdefault(thread.id, thread)

    def _items(self, value: dict[str, Any], place: Place) -> Iterator[Emit]:
        found = says(value)
        if found is None:
            yield Skip("unknown", "a Codex record of a type that is not read", place)
            return
        if not found:
            yield Skip("ignored", "a record of the terminal's own", place)
            return
        thread = self.by_source.get(place.source)
        if thread is None:
            thread = Thread(run_name(self.context), place)
            self.by_source[place.source] = self.threads[thread.id] = thread
        if self.context.claim("codex", thread.id, str(value["timestamp"]), text_of(value["payload"])):
            thread.shelved.append((self.shelf.put(value), place))
        else:
            yield Skip("duplicate", "the same record was read before", place)


ADAPTER = _CodexRollout()
