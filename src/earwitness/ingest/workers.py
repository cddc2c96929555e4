"""Runs told by several processes at once, and taken from them in the order in which one process would tell them.

A run is told from what lies on a shelf, and telling one changes nothing that another is told from. So copies of this
process, made when all has been read, tell some of the runs each, and send what they say through a pipe. What cannot be
sent, or was not sent because a copy came to grief, is told here. So is everything where the system cannot fork, where
there is but one processor, or where there is little to tell.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from typing import IO, TypeVar

from earwitness.ingest.ahead import Ahead
from earwitness.ingest.forking import copied, most
from earwitness.ingest.frames import Inbox, Told, send
from earwitness.ingest.record import Place

T = TypeVar("T")

# What a process must have to tell, in bytes on the shelf, to be worth its start.
_WORTH = 2 << 20
# Runs that one process tells before the next one's turn comes.
_TURN = 16
_PIPE = 1 << 20


def jobs_for(runs: int, held: int, jobs: int, ahead: Ahead | None = None) -> int:
    """How many processes tell what was put aside; below 2 this one does.

    Args:
        runs: how many there are at most.
        held: bytes of them.
        jobs: the most processes that there may be.
        ahead: runs that were told before.
    """
    left = runs - (len(ahead) if ahead else 0)
    return min(most(jobs), held * left // max(1, runs) // _WORTH, -(-left // _TURN))


def tell_all(
    runs: Iterator[T],
    tell: Callable[[T], Told],
    jobs: int,
    ahead: Ahead | None = None,
    name: Callable[[T], str] = str,
) -> Iterator[tuple[T, Told]]:
    """Each run with what is told of it.

    Args:
        runs: in order.
        tell: says the same of a run whoever calls it, raises nothing, and changes nothing outside.
        jobs: processes that tell.
        ahead: runs that were told before; it is closed when all were taken.
        name: the name of a run there; nothing where it was not such a one.
    """

    def late(run: T) -> bool:
        return ahead is None or name(run) not in ahead

    with _workers(runs, tell, late, jobs if jobs > 1 else 0) as workers:
        n = 0
        for run in runs:
            if ahead is not None and not late(run):
                yield run, ahead.told(name(run), lambda run=run: tell(run))  # type: ignore[misc]
            elif not workers:
                yield run, tell(run)
            else:
                yield run, workers[n // _TURN % jobs].told(run, tell)
                n += 1
    if ahead is not None:
        ahead.close()


@dataclass
class _Worker:
    """A process that tells, as the one sees it that asks; one that could not be started has no number."""

    process: int
    inbox: Inbox

    def told(self, run: T, tell: Callable[[T], Told]) -> Told:
        """What it says of its next run, which is `run`; what does not get here is told here."""
        keys: dict[str, Place] = {}
        return Told(self.inbox.told(lambda: tell(run), keys), keys)


@contextmanager
def _workers(
    runs: Iterator[T], tell: Callable[[T], Told], late: Callable[[T], bool], jobs: int
) -> Iterator[list[_Worker]]:
    """Copies of this process, each with its own share of what is left of `runs`; they go whatever happens here."""
    workers: list[_Worker] = []
    try:
        for number in range(jobs):
            workers.append(_started(lambda pipe, n=number: _work(pipe, filter(late, runs), tell, n, jobs)))  # type: ignore[misc]
        yield workers
    finally:
        for worker in workers:
            worker.inbox.file.close()
            if worker.process:
                os.kill(worker.process, signal.SIGKILL)  # it has nothing to save, and is there until it was waited for
                os.waitpid(worker.process, 0)


def _started(work: Callable[[IO[bytes]], None]) -> _Worker:
    ends: list[int] = []
    try:
        ends += os.pipe()
        here, there = ends
        process = copied(lambda: _write(work, here, there))
    except OSError:  # there is no room for one more: its share is told here
        for end in ends:
            os.close(end)
        return _Worker(0, Inbox(BytesIO(), gone=True))
    os.close(there)
    return _Worker(process, Inbox(os.fdopen(here, "rb", _PIPE)))


def _write(work: Callable[[IO[bytes]], None], here: int, there: int) -> None:
    """What a copy does, to its end."""
    os.close(here)
    _widen(there)
    with os.fdopen(there, "wb", _PIPE) as pipe:
        work(pipe)


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
            send(pipe, tell(run))
        pipe.flush()
        turn += 1
