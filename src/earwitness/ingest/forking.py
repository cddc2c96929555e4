"""Copies of this process, on Linux only: elsewhere a process with threads is not safely copied, if at all."""

import gc
import os
import sys
import warnings
from collections.abc import Callable

# The most that are made at a time.
MOST = 8


def processors() -> int:
    """How many processors this process may use, where it can make use of several."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1


def most(jobs: int) -> int:
    """How many processes there may be where `jobs` are asked for."""
    return min(jobs, MOST) if sys.platform == "linux" else 1


def copied(work: Callable[[], None]) -> int:
    """Make a copy that does `work` and goes, with status 0 if nothing was raised; gives its number.

    Raises:
        OSError: there is no room for one more.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other threads hold nothing that the copy needs
        process = os.fork()
    if process == 0:
        _do(work)
    return process


def _do(work: Callable[[], None]) -> None:
    status = 1
    try:
        gc.disable()  # what the other one has not cleared yet is not to be closed by this one
        work()
        status = 0
    finally:
        os._exit(status)  # nothing of what it is a copy of is to be closed or written by it
