"""Formats in which one object is one whole thing (a run, a scenario): read once, told at once."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from earwitness.ingest.record import Context, Emit, Made, Record, Skip
from earwitness.schema.model import Item

# The items of a value, each with the JSON pointer of the part it came from.
Tell = Callable[[dict[str, Any]], Iterator[tuple[Item, str]]]


class WholeReader:
    """A reader that tells each object by itself, and only the first of those with the same id.

    Args:
        context: of the import.
        kind: what is told, as duplicates are named and told apart by.
        key: the field that holds the id.
        tell: makes the items.
    """

    def __init__(self, context: Context, kind: str, key: str, tell: Tell) -> None:
        self.context, self.kind, self.key, self.tell = context, kind, key, tell

    def feed(self, record: Record) -> Iterable[Emit]:
        """The items of an object; a record of a shape that `tell` stumbles over gives none."""
        value, place = record
        if not self.context.claim(self.kind, str(value[self.key])):
            return [Skip("duplicate", f"the same {self.kind} was read before", place)]
        return [Made(item, place.at(pointer)) for item, pointer in self.tell(value)]

    def finish(self) -> Iterable[Emit]:
        """Nothing is held back."""
        return ()
