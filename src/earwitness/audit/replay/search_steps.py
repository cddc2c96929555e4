"""A greedy sequence of changes: the best one is made, then all are tried again on what that leaves."""

from dataclasses import replace
from typing import Any, NamedTuple

from earwitness.audit.replay.search_standing import Standing
from earwitness.audit.replay.search_words import Change

Row = dict[str, Any]


class Step(NamedTuple):
    """A change that was made, and what was told of it."""

    change: Change
    row: Row


def entered(s: Standing, change: Change) -> Standing:
    """Where a search stands after a change. What no condition can say of it is put into the tables of the bench."""
    for channel, grade in change.state.named[len(s.state.named) :]:
        s.bench.resolve(channel, grade)
    for denial in change.state.denials[len(s.state.denials) :]:
        s.bench.deny(denial)
    truth = change.truth if change.truth is not None and change.state.denials else s.truth
    return replace(s, state=change.state, codes=change.codes, found=change.found, truth=truth)
