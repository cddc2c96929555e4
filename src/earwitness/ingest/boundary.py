"""The one boundary at which anything may be caught: between what others recorded and the case.

Records come from elsewhere, and one of a shape that nobody has seen must cost that record and not the import.
Reasons name the kind of error, for its text may quote content.

A reader may hold back what it makes of a record until its end. If it fails there, that is lost: records of which
nothing was told by then are not mapped, whatever was told stays. A reader of several runs tells each by `together`, so
that a run that cannot be told costs no other.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from earwitness.ingest.accounts import Accounts, pointers
from earwitness.ingest.record import Adapter, Cut, Emit, Lost, Made, Place, Reader, Record, Skip, Source
from earwitness.ingest.soundness import is_sound
from earwitness.schema.model import Item, Loss, Trace


class Guarded:
    """A reader whose failures cost no more than its records.

    Args:
        reader: the reader; adapters may share it.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._accounts = Accounts()
        self._lost: list[Lost] = []

    def feed(self, adapter: Adapter, record: Record) -> list[Emit]:
        """What an adapter makes of a record; a record over which it stumbles is `unparseable`.

        What an adapter splits off may be a `Skip` itself, which says why there is nothing to read.
        """
        value = record.value
        emits: list[Emit] = [value] if type(value) is Skip else self._fed(adapter, record)
        self._accounts.enter(adapter.NAME, record.place, emits)
        return emits

    def _fed(self, adapter: Adapter, record: Record) -> list[Emit]:
        try:
            emits = list(self._reader.feed(record))
        except Exception as error:
            return [_stumbled(adapter.NAME, error, record.place)]
        if not emits:  # put aside, as most are
            return emits
        lost = False
        for emit in emits:
            if type(emit) is Made:
                if not is_sound(emit[0]):  # not by a function: every item is asked
                    break
            elif type(emit) is Lost:
                lost = True
        else:
            return [e for e in emits if not self._is_lost(e)] if lost else emits
        skips: list[Emit] = [e for e in emits if isinstance(e, Skip) and not self._is_lost(e)]
        return skips or [Skip("unparseable", f"a field is not of the type that {adapter.NAME} needs", record.place)]

    def _is_lost(self, emit: Emit) -> bool:
        """Whether it is a record of a run that could not be told: what becomes of it shows at the end."""
        if isinstance(emit, Lost):
            self._lost.append(emit)
        return isinstance(emit, Lost)

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
                elif type(emit) is Lost:
                    self._lost.append(emit)
                    continue
                self._accounts.told(emit)
                yield emit
        except Exception as error:
            yield from self._failed(type(error).__name__, sources)
        else:
            yield from self._untold()

    def _untold(self) -> Iterator[Emit]:
        """Records of runs that could not be told, and of which nothing else was told."""
        reasons: dict[Place, str] = {}
        for lost in self._lost:
            for pointer in pointers(lost.place):
                reasons.setdefault(lost.place._replace(pointer=pointer, length=0), lost.reason)
        for _, place in self._accounts.untold() if reasons else ():
            reason = reasons.get(place._replace(length=0))
            if reason:
                yield Skip("unparseable", reason, place)

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


def together(emits: Iterable[Emit], places: Iterable[Place], trace: str | None = None) -> Iterator[Emit]:
    """What is told of a run. If that fails, no other run is lost: readers of several runs tell each of them so.

    What was told by then stays, with a loss that says that there was more. Of the records those are lost of which
    nothing is told.

    Args:
        emits: all that is told of it.
        places: its records, or parts of them; looked at only if it fails.
        trace: its id, if some of it was told before.
    """
    told: Made | None = None
    try:
        for emit in emits:
            if type(emit) is Made:
                told = emit
            yield emit
    except Exception as error:
        reason = f"of a run that could not be told: {type(error).__name__}"
        lost = [Lost("unparseable", reason, place) for place in places]
        yield from lost
        place = told.place if told else lost[0].place if lost else None
        trace = _trace(told.item) if told else trace
        if trace and place:
            detail = f"a run that could not be told to its end: {type(error).__name__}"
            yield Cut(Loss(trace=trace, kind="dropped", detail=detail), place)


def singly(tell: Callable[[Record], Iterable[Emit]], records: Iterable[Record], name: str) -> Iterator[Emit]:
    """What is told of records that were put aside: one over which `tell` stumbles is `unparseable`, as when it is fed.

    Args:
        tell: tells one.
        records: in order.
        name: of who tells.
    """
    for record in records:
        try:
            emits = list(tell(record))
        except Exception as error:
            emits = [_stumbled(name, error, record.place)]
        yield from emits


def _stumbled(name: str, error: Exception, place: Place) -> Skip:
    return Skip("unparseable", f"not of a shape that the adapter {name} knows: {type(error).__name__}", place)


def _trace(item: Item) -> str | None:
    return item.id if isinstance(item, Trace) else getattr(item, "trace", None)
