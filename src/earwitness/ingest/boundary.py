"""The one boundary at which anything may be caught: between what others recorded and the case.

Records come from elsewhere, and one of a shape that nobody has seen must cost that record and not the import.
Reasons name the kind of error, for its text may quote content.
"""

from collections.abc import Iterator

import msgspec

from earwitness.ingest.record import Adapter, Emit, Made, Place, Reader, Record, Skip, Source


def contained(adapter: Adapter, reader: Reader, record: Record) -> list[Emit]:
    """What an adapter makes of a record; a record over which it stumbles is `unparseable`."""
    try:
        emits = list(reader.feed(record))
    except Exception as error:
        reason = f"not of a shape that the adapter {adapter.NAME} knows: {type(error).__name__}"
        return [Skip("unparseable", reason, record.place)]
    if all(_sound(e) for e in emits):
        return emits
    skips: list[Emit] = [e for e in emits if isinstance(e, Skip)]
    return skips or [Skip("unparseable", f"a field is not of the type that {adapter.NAME} needs", record.place)]


def closing(reader: Reader, source: Source) -> Iterator[Emit]:
    """What a reader says at the end; an item that cannot be one makes its record `unparseable`, once."""
    lost: set[Place] = set()
    try:
        for emit in reader.finish():
            record = emit.place._replace(pointer="")
            if _sound(emit):
                yield emit
            elif record not in lost:
                lost.add(record)
                yield Skip("unparseable", "a field is not of the type it needs", emit.place)
    except Exception as error:
        source.problem = f"what was held back for the end of the file is lost: {type(error).__name__}"


def _sound(emit: Emit) -> bool:
    """Whether the fields of an item are of their types: nothing checks that when an adapter makes one."""
    if not isinstance(emit, Made):
        return True
    try:
        msgspec.convert(msgspec.to_builtins(emit.item), type(emit.item))
    except (msgspec.ValidationError, TypeError, ValueError, RecursionError):
        return False
    return True
