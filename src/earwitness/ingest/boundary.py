"""The one boundary at which anything may be caught: between what others recorded and the case.

Records come from elsewhere, and one of a shape that nobody has seen must cost that record and not the import.
Reasons name the kind of error, for its text may quote content.

A reader may hold back what it makes of a record until its end. If it fails there, that is lost: records of which
nothing was told by then are not mapped, whatever was told stays.
"""

from collections.abc import Iterable, Iterator, Mapping

from earwitness.ingest.accounts import Accounts
from earwitness.ingest.record import Adapter, Emit, Made, Place, Reader, Record, Skip, Source
from earwitness.ingest.soundness import is_sound


class Guarded:
    """A reader whose failures cost no more than its records.

    Args:
        reader: the reader; adapters may share it.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._accounts = Accounts()

    def feed(self, adapter: Adapter, record: Record) -> list[Emit]:
        """What an adapter makes of a record; a record over which it stumbles is `unparseable`."""
        emits = self._fed(adapter, record)
        self._accounts.enter(adapter.NAME, record.place, emits)
        return emits

    def _fed(self, adapter: Adapter, record: Record) -> list[Emit]:
        try:
            emits = list(self._reader.feed(record))
        except Exception as error:
            reason = f"not of a shape that the adapter {adapter.NAME} knows: {type(error).__name__}"
            return [Skip("unparseable", reason, record.place)]
        for emit in emits:
            if type(emit) is Made and not is_sound(emit[0]):  # not by a function: every item is asked
                break
        else:
            return emits
        skips: list[Emit] = [e for e in emits if isinstance(e, Skip)]
        return skips or [Skip("unparseable", f"a field is not of the type that {adapter.NAME} needs", record.place)]

    def close(self, sources: Mapping[int, Source]) -> Iterator[Emit]:
        """What the reader says at the end; an item that cannot be one makes its record `unparseable`, once.

        Args:
            sources: those it read of, by number. Where it fails, their `problem` says so.
        """
        lost: set[Place] = set()
        try:
            for emit in self._reader.finish():
                if type(emit) is Made and not is_sound(emit[0]):
                    record = emit.place._replace(pointer="")
                    if record in lost:
                        continue
                    lost.add(record)
                    emit = Skip("unparseable", "a field is not of the type it needs", emit.place)
                self._accounts.told(emit)
                yield emit
        except Exception as error:
            yield from self._failed(type(error).__name__, sources)

    def _failed(self, error: str, sources: Mapping[int, Source]) -> Iterator[Emit]:
        """Every record of which nothing was told is lost, and every source the reader read of has a problem."""
        lost: dict[tuple[str, int], list[Place]] = {key: [] for key in self._accounts.readers}
        for name, place in self._accounts.untold():
            lost[name, place.source].append(place)
            yield Skip("unparseable", f"the adapter {name} failed at the end, before it was told: {error}", place)
        for (name, number), places in lost.items():
            where = f", {len(places)} records from line {places[0].line} on" if places else ""
            problem = f"the adapter {name} failed at the end: {error}; what it held back is lost{where}"
            source = sources[number]
            source.problem = f"{source.problem}; {problem}" if source.problem else problem


def together(emits: Iterator[Emit], places: Iterable[Place]) -> list[Emit]:
    """What is told of a run; if that fails none of it is, its records are lost, and no other run is.

    Args:
        emits: all that is told of it.
        places: its records.
    """
    try:
        return list(emits)
    except Exception as error:
        reason = f"of a run that could not be told: {type(error).__name__}"
        return [Skip("unparseable", reason, place) for place in places]
