"""All CrewAI recordings of an import, told at the end: events come out of order, and files repeat each other."""

from collections.abc import Iterable, Iterator
from typing import Any, cast

from earwitness.ingest.boundary import together
from earwitness.ingest.chronicle import base_name, name_of
from earwitness.ingest.crewai.facts import IGNORED, KEPT, Fact, fact_of, is_internal
from earwitness.ingest.crewai.outputs import Outputs
from earwitness.ingest.crewai.runs import Kept, Links, Run
from earwitness.ingest.crewai.telling import tell
from earwitness.ingest.record import Context, Emit, Place, Record, Skip
from earwitness.ingest.shelf import Shelf


class Reader:
    """Takes records of every CrewAI format; equal events, and outputs of known runs, count once.

    Args:
        context: of the import.
    """

    def __init__(self, context: Context) -> None:
        self.context = context
        self.facts: list[Kept] = []
        self.shelf = Shelf()
        self.links = Links()
        self.outputs = Outputs(context)
        self._last: dict[int, str] = {}

    def feed(self, record: Record) -> Iterable[Emit]:
        """Keep what a record says."""
        value, place = record
        if "type" in value:
            return self._event(value, place)
        return self.outputs.feed(value, place)

    def finish(self) -> Iterable[Emit]:
        """Every run, then outputs of which no run is known."""
        for root, group in self.links.group(self.facts):
            yield from together(self._told(root, group), (self._fact(kept).place for kept in group))
        self.shelf.close()
        yield from self.outputs.finish()

    def _told(self, root: str, group: list[Kept]) -> Iterator[Emit]:
        run = Run(root, list(map(self._fact, group)), self.links)
        yield from tell(run)
        self.outputs.know(run)

    def _fact(self, kept: Kept) -> Fact:
        return cast("Fact", self.shelf.get_whole((kept.offset, kept.size)))

    def _event(self, record: dict[str, Any], place: Place) -> Iterable[Emit]:
        kind = record["type"]
        own = name_of(record.get("event_id"))
        fallback = f"{base_name(self.context.name)}:{place.line}{place.pointer}"
        if own and not self.context.claim("crewai", own):
            yield Skip("duplicate", "the same event was read before", place)
            return
        self._link(record, place, own or fallback)
        if kind in KEPT and not is_internal(record):
            fact = fact_of(record, place, fallback)
            key = self.shelf.put_whole(fact)
            self.facts.append(Kept(fact.id, fact.type, fact.parent, place.source, place.line, *key))
        elif kind in IGNORED or is_internal(record):
            reason = f"CrewAI bookkeeping: {kind}" if kind in IGNORED else "a flow that CrewAI runs by itself"
            yield Skip("ignored", reason, place)
        else:
            yield Skip("unknown", "a CrewAI event of a type that is not read", place)

    def _link(self, record: dict[str, Any], place: Place, own: str) -> None:
        """Events of versions without ids follow one another in their file."""
        before = None if "event_id" in record else self._last.get(place.source)
        self.links.add(record, own, before)
        self._last[place.source] = own
