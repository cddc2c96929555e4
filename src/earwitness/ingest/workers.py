"""Runs told by several processes at once, and taken from them in the order in which one process would tell them.

A run is told from what lies on a shelf, and telling one changes nothing that another is told from. So copies of this
process, made when all has been read, tell some of the runs each, and send what they say through a pipe. What cannot be
sent, or was not sent because a copy came to grief, is told here. So is everything where the system cannot fork, where
there is but one processor, or where there is little to tell.
"""

import os
import signal
import struct
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from itertools import islice
from typing import IO, NamedTuple, TypeVar

import msgspec

from earwitness.ingest.record import Cut, Emit, Lost, Made, Place, Sent, Skip
from earwitness.schema.model import Item
from earwitness.schema.words import Outcome

T = TypeVar("T")

# What a process must have to tell, in bytes on the shelf, to be worth its start; and the most that are started.
_WORTH = 2 << 20
_MOST = 8
# Runs that one process tells before the next one's turn comes.
_TURN = 16
_PIPE = 1 << 20
# What is said of a run goes in parts of about this many bytes, of which an emit takes some whatever it says.
_PART, _LEAST = 1 << 20, 100
# The length of a frame, 0 where there is no form for it, and whether more of the same run follows.
_HEAD = struct.Struct(">q?")
# Of an item that was decoded the types are right.
_MADE, _CUT, _SKIP, _LOST = range(4)
_CODES: dict[type[Emit], int] = {Made: _MADE, Cut: _CUT, Skip: _SKIP, Lost: _LOST}
_sent = partial(tuple.__new__, Sent)  # without a call of Python: there are many of them


class Told(NamedTuple):
    """What is told of a run, and what its reader keeps of it: keys, with the places where they were met first.

    The keys are there when the last emit was taken.
    """

    emits: Iterable[Emit]
    keys: dict[str, Place]


class _Frame(NamedTuple):
    """A part of it on its way: of each emit its kind and place, and in order the items and the words of skips."""

    kinds: bytes
    places: list[Place]
    items: list[Item]
    words: list[tuple[Outcome, str]]
    keys: dict[str, Place]


_ENCODE = msgspec.msgpack.Encoder().encode
_DECODE = msgspec.msgpack.Decoder(_Frame).decode


def processors() -> int:
    """How many processors this process may use, where it can make use of several."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1


def jobs_for(runs: int, held: int, jobs: int) -> int:
    """How many processes tell what was put aside; below 2 this one does.

    Args:
        runs: how many there are at most.
        held: bytes of them.
        jobs: the most processes that there may be.
    """
    most = _MOST if sys.platform == "linux" else 1  # elsewhere a process with threads is not safely copied, if at all
    return min(jobs, most, held // _WORTH, -(-runs // _TURN))


def tell_all(runs: Iterator[T], tell: Callable[[T], Told], jobs: int) -> Iterator[tuple[T, Told]]:
    """Each run with what is told of it.

    Args:
        runs: in order.
        tell: says the same of a run whoever calls it, raises nothing, and changes nothing outside.
        jobs: processes that tell.
    """
    if jobs < 2:
        yield from ((run, tell(run)) for run in runs)
        return
    with _workers(runs, tell, jobs) as workers:
        for n, run in enumerate(runs):
            keys: dict[str, Place] = {}
            yield run, Told(workers[n // _TURN % jobs].told(run, tell, keys), keys)


@dataclass
class _Worker:
    """A process that tells, as the one sees it that asks; one that could not be started is gone from the beginning."""

    process: int
    pipe: IO[bytes]
    gone: bool = False

    def told(self, run: T, tell: Callable[[T], Told], keys: dict[str, Place]) -> Iterator[Emit]:
        """What it says of its next run, which is `run`; what does not get here is told here."""
        known, more = 0, True
        while more:
            frame, more = self._next()
            if frame is None:
                yield from self._rest(tell(run), known, keys, more=more)
                return
            yield from _unpacked(frame)
            keys.update(frame.keys)
            known += len(frame.kinds)

    def _rest(self, told: Told, known: int, keys: dict[str, Place], *, more: bool) -> Iterator[Emit]:
        """All but the first `known` emits; what is still sent of the run is left aside."""
        yield from islice(told.emits, known, None)
        keys.update(told.keys)
        while more:
            _, more = self._next()

    def _next(self) -> tuple[_Frame | None, bool]:
        """The next frame, if it gets here, and whether there are more of the same run."""
        head = b"" if self.gone else self.pipe.read(_HEAD.size)
        size, more = _HEAD.unpack(head) if len(head) == _HEAD.size else (0, False)
        data = self.pipe.read(size)
        self.gone = self.gone or len(head) < _HEAD.size or len(data) < size
        if self.gone or not data:
            return None, False
        try:
            return _DECODE(data), more
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return None, more  # an item that is not of its types: who tells it here sees why


@contextmanager
def _workers(runs: Iterator[T], tell: Callable[[T], Told], jobs: int) -> Iterator[list[_Worker]]:
    """Copies of this process, each with its own share of what is left of `runs`; they go whatever happens here."""
    workers: list[_Worker] = []
    try:
        for number in range(jobs):
            workers.append(_started(lambda pipe, n=number: _work(pipe, runs, tell, n, jobs)))  # type: ignore[misc]
        yield workers
    finally:
        for worker in workers:
            worker.pipe.close()
            if worker.process:
                os.kill(worker.process, signal.SIGKILL)  # it has nothing to save, and is there until it was waited for
                os.waitpid(worker.process, 0)


def _started(work: Callable[[IO[bytes]], None]) -> _Worker:
    ends: list[int] = []
    try:
        ends += os.pipe()
        process = _forked()
    except OSError:  # there is no room for one more: its share is told here
        for end in ends:
            os.close(end)
        return _Worker(0, BytesIO(), gone=True)
    here, there = ends
    if process == 0:
        _do(work, here, there)
    os.close(there)
    return _Worker(process, os.fdopen(here, "rb", _PIPE))


def _forked() -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other threads hold nothing that the copy needs
        return os.fork()


def _do(work: Callable[[IO[bytes]], None], here: int, there: int) -> None:
    """What a copy does, to its end."""
    try:
        os.close(here)
        _widen(there)
        with os.fdopen(there, "wb", _PIPE) as pipe:
            work(pipe)
    finally:
        os._exit(0)  # nothing of what it is a copy of is to be closed or written by it


def _widen(pipe: int) -> None:
    """So that a process need not wait for the one that asks."""
    if sys.platform == "linux":
        import fcntl

        with suppress(OSError):  # all that a user's pipes may hold is in use
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE)


def _work(pipe: IO[bytes], runs: Iterator[T], tell: Callable[[T], Told], number: int, jobs: int) -> None:
    turn = 0
    while part := list(islice(runs, _TURN)):
        for run in part if turn % jobs == number else ():
            _send(pipe, tell(run))
        pipe.flush()
        turn += 1


def _send(pipe: IO[bytes], told: Told) -> None:
    for emits, more in _parts(told.emits):
        data = _packed(emits, {} if more else told.keys)
        more = more and data != b""
        pipe.write(_HEAD.pack(len(data), more))
        pipe.write(data)
        if not more:
            return


def _parts(emits: Iterable[Emit]) -> Iterator[tuple[list[Emit], bool]]:
    """Parts that are held at once, each with whether another one follows: the last one may be empty."""
    part, size = list[Emit](), 0
    for emit in emits:
        part.append(emit)
        size += _LEAST + len(getattr(emit[0], "content", ""))
        if size >= _PART:
            yield part, True
            part, size = [], 0
    yield part, False


def _packed(emits: list[Emit], keys: dict[str, Place]) -> bytes:
    """Empty where there is no form for something, such as a lone surrogate or an integer above 64 bits."""
    kinds = bytes(_CODES[type(e)] for e in emits)
    items = [e.item for e in emits if isinstance(e, Made)]
    words = [(e.outcome, e.reason) for e in emits if isinstance(e, Skip)]
    try:
        return _ENCODE(_Frame(kinds, [e.place for e in emits], items, words, keys))
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError):
        return b""


def _unpacked(frame: _Frame) -> Iterator[Emit]:
    if not any(frame.kinds):
        yield from map(_sent, zip(frame.items, frame.places, strict=True))
        return
    items, words = iter(frame.items), iter(frame.words)
    for code, place in zip(frame.kinds, frame.places, strict=True):
        if code in (_MADE, _CUT):
            yield Cut(next(items), place) if code == _CUT else Sent(next(items), place)
        else:
            yield Lost(*next(words), place) if code == _LOST else Skip(*next(words), place)
