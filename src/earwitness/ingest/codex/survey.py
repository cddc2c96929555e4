"""What must be known of a thread before it is told: found out in a first pass over its records, and kept as numbers.

A thread may be as long as the import. So its records stay in the log and are taken apart whenever they are asked for;
only those of a short run are kept.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterator

from earwitness.ingest.codex.items import Item, items_of
from earwitness.ingest.codex.threads import Thread
from earwitness.ingest.record import Record
from earwitness.ingest.runlog import RunLog

REPEATED, CLOSING = 1, 2
_ASSISTANT, _CALL, _USER = 1, 2, 3
_TURNS = {"assistant": _ASSISTANT, "call": _CALL, "user": _USER}
_SPOKEN = frozenset(("assistant", "user", "reasoning"))
# Bytes of a run in the log of which the items are kept.
_SHORT = 8 << 20


def is_short(log: RunLog, threads: list[Thread]) -> bool:
    """Whether little lies between the first and the last record of the threads of a run."""
    numbers = (log.numbers(t.id) for t in threads)
    return sum(n[-1] - n[0] for n in numbers if n) < _SHORT


class Records:
    """The records of a thread; items are made of them when they are asked for.

    Args:
        log: where they lie.
        thread: the name of the thread there.
        keep: whether what was made is kept.
    """

    def __init__(self, log: RunLog, thread: str, *, keep: bool) -> None:
        self._log, self._thread = log, thread
        self._numbers = log.numbers(thread)
        self._kept = list(log.of(thread)) if keep else None
        self._items: dict[int, list[Item]] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[Record]:
        return self._log.of(self._thread) if self._kept is None else iter(self._kept)

    def items(self, n: int, record: Record) -> list[Item]:
        """What number `n` of them says."""
        found = self._items.get(n)
        if found is None:
            (kind, time, payload), place = record
            found = items_of(kind, time, payload, place) or []
            if self._kept is not None:
                self._items[n] = found
        return found

    def text(self, n: int) -> str:
        """The text of number `n`, which holds one item."""
        record = self._log.record(self._numbers[n]) if self._kept is None else self._kept[n]
        return self.items(n, record)[0].text


class Said:
    """What one kind of items of a thread says: numbers of records that hold one item each, and of their texts."""

    __slots__ = ("records", "texts")

    def __init__(self, records: "array[int] | None" = None, texts: "array[int] | None" = None) -> None:
        self.records = array("q") if records is None else records
        self.texts = array("q") if texts is None else texts

    def add(self, n: int, text: str) -> None:
        """Put one more behind the others."""
        self.records.append(n)
        self.texts.append(hash(text))

    def since(self, n: int) -> "Said":
        """Those from record `n` on."""
        at = bisect_left(self.records, n)
        return Said(self.records[at:], self.texts[at:]) if at else self


class Survey:
    """A thread, as far as it must be known before it is told.

    Args:
        thread: the thread.
        records: its records.

    Attributes:
        copied: how many of the first records are a copy of the parent's history.
        said: what was said by kind, apart for event messages.
    """

    def __init__(self, thread: Thread, records: Records) -> None:
        self.thread, self.records = thread, records
        self.copied = 0
        self._forked = thread.parent is not None
        self.said: dict[tuple[str, bool], Said] = {}
        self._turns = bytearray(len(records))

    def note(self, n: int, item: Item) -> None:
        """Take an item of record `n`; they come in order."""
        kind = item.kind
        if kind in _SPOKEN:
            said = self.said.get((kind, item.twin))
            if said is None:
                said = self.said[kind, item.twin] = Said()
            said.add(n, item.text)
        turn = _TURNS.get(kind)
        if turn:
            self._turns[n] = turn
        if self._forked and self._is_copied(n, item):
            self.copied = n + 1

    def _is_copied(self, n: int, item: Item) -> bool:
        """Whether all up to here is a copy of the parent's history.

        A sub-agent's rollout begins with what its parent said so far: up to the call that spawned it, and what that
        gave back, with times before its own start.
        """
        thread = self.thread
        if item.time and thread.time and item.time < thread.time:
            return True
        return item.call == thread.spawned_by and (item.kind == "call" or (item.kind == "output" and n == self.copied))

    def marks(self, repeated: Iterator[int]) -> bytearray:
        """What each record is: `REPEATED`, `CLOSING`, or neither.

        Args:
            repeated: numbers of those that repeat others.
        """
        marks = bytearray(len(self.records))
        for n in repeated:
            marks[n] = REPEATED
        for n in self._closing(marks):
            marks[n] = CLOSING
        return marks

    def _closing(self, marks: bytearray) -> Iterator[int]:
        """Answers after which no tool was called before the turn ended."""
        waiting: list[int] = []
        for n in range(self.copied, len(marks)):
            turn = self._turns[n]
            if not turn or marks[n]:
                continue
            if turn == _ASSISTANT:
                waiting.append(n)
                continue
            if turn == _USER:
                yield from waiting
            waiting = []
        yield from waiting


def answers(survey: Survey) -> Iterator[str]:
    """The texts of all that a thread answered."""
    for twin in (False, True):
        said = survey.said.get(("assistant", twin))
        for n in said.records if said else ():
            yield survey.records.text(n)
