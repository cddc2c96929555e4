"""Runs told while others are still read.

Whether a run is whole shows only when the last record was read, and until then one processor reads and the others have
nothing to do. But most runs stand together in a file: one of which nothing came for a while is told by a copy of this
process, which writes what it says to a file. That is taken at the end, unless something more of the run came.
"""

import os
import signal
import tempfile
import weakref
from array import array
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO

from earwitness.ingest.forking import copied, most
from earwitness.ingest.frames import Inbox, Told, send
from earwitness.ingest.record import Emit, Place

# So much is put aside between two copies: bytes at least, and a part of all.
_LEAST, _PART = 2 << 20, 16
# What is known of runs that were told takes memory, too: no more of them than this.
_MANY = 400_000
_BITS = 32
_FIRST = (1 << _BITS) - 1


class TooEarly(BaseException):
    """What is to be told of a run depends on what was not read yet."""


@dataclass
class _Batch:
    """Runs that one copy tells.

    Attributes:
        starts: where in the file each begins, -1 where it was too early; none where the copy came to grief.
    """

    process: int
    file: IO[bytes]
    starts: "array[int]" = field(default_factory=lambda: array("q"))
    ended: bool = False

    def end(self, *, now: bool = True) -> None:
        """See whether the copy has ended; else wait for it, if it is to be `now`."""
        if self.ended:
            return
        process, status = os.waitpid(self.process, 0 if now else os.WNOHANG)
        self.ended = process != 0
        if self.ended and status == 0:
            self.starts = _starts(self.file)

    def kill(self) -> None:
        """Let go of all of it."""
        if not self.ended:
            with suppress(ProcessLookupError):
                os.kill(self.process, signal.SIGKILL)
            self.end()
        self.file.close()


class Ahead:
    """What was told of the runs of a reader before the last record was read.

    Args:
        tell: says of a run by its name what it would say if nothing more came, or raises `TooEarly`; it changes
            nothing outside.
        jobs: processes that there may be, with this one.
    """

    def __init__(self, tell: Callable[[str], Told], jobs: int) -> None:
        self._tell, self._copies = tell, most(jobs) - 1
        self._mark = 0
        # Runs of which something came since the last mark, between the two before, and those that may be told.
        self._recent, self._before, self._idle = dict[str, None](), dict[str, None](), dict[str, None]()
        self._told: dict[str, int] = {}
        self._batches: list[_Batch] = []
        weakref.finalize(self, _kill, self._batches)

    def touch(self, run: str, size: int) -> None:
        """Something of a run was put aside, which makes `size` bytes in all: what was told of it is void."""
        if self._copies < 1:
            return
        self._recent[run] = None
        self._idle.pop(run, None)
        self._told.pop(run, None)
        if size - self._mark >= max(_LEAST, size // _PART):
            self._turn(size)

    def _turn(self, size: int) -> None:
        """Runs of which nothing came since the mark are told, if there is a process for it."""
        self._idle.update(dict.fromkeys(run for run in self._before if run not in self._recent))
        self._before, self._recent, self._mark = self._recent, {}, size
        running = 0
        for batch in self._batches:
            batch.end(now=False)
            running += not batch.ended
        if self._idle and running < self._copies and len(self._told) + len(self._idle) <= _MANY:
            self._start()

    def _start(self) -> None:
        runs, self._idle = list(self._idle), {}
        file = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the batch
        try:
            process = copied(lambda: self._work(file, runs))
        except OSError:  # there is no room for one more
            file.close()
            self._copies = 0
            return
        first = len(self._batches) << _BITS
        self._batches.append(_Batch(process, file))
        self._told.update(zip(runs, range(first, first + len(runs)), strict=True))

    def _work(self, file: IO[bytes], runs: list[str]) -> None:
        """What a copy does: each run, then where they begin."""
        starts = array("q")
        for run in runs:
            starts.append(file.tell())
            try:
                send(file, self._tell(run))
            except TooEarly:
                starts[-1] = -1
        starts.append(len(starts))
        file.write(starts.tobytes())
        file.flush()

    def __len__(self) -> int:
        """How many runs were told."""
        return len(self._told)

    def __contains__(self, run: str) -> bool:
        """Whether a run was told, and nothing more of it came."""
        return run in self._told

    def told(self, run: str, tell: Callable[[], Told]) -> Told:
        """What was told of it; where that was too early, or does not get here, `tell` says it."""
        keys: dict[str, Place] = {}
        return Told(self._emits(self._told[run], tell, keys), keys)

    def _emits(self, number: int, tell: Callable[[], Told], keys: dict[str, Place]) -> Iterator[Emit]:
        batch, n = self._batches[number >> _BITS], number & _FIRST
        batch.end()
        start = batch.starts[n] if n < len(batch.starts) else -1
        if start >= 0:
            batch.file.seek(start)
        yield from Inbox(batch.file, gone=start < 0).told(tell, keys)

    def close(self) -> None:
        """Let go of everything."""
        _kill(self._batches)
        self._told.clear()


def _starts(file: IO[bytes]) -> "array[int]":
    """Where in the file each run begins: that stands at its end, and how many there are."""
    size, width = file.seek(0, os.SEEK_END), array("q").itemsize
    file.seek(size - width)
    number = array("q", file.read(width))[0]
    file.seek(size - width * (number + 1))
    return array("q", file.read(width * number))


def _kill(batches: list[_Batch]) -> None:
    for batch in batches:
        batch.kill()
    batches.clear()
