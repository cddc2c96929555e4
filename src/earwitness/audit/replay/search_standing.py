"""Where a search stands, and what a change of that leaves."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from earwitness.audit.replay.condition import Condition, Detector, Setting
from earwitness.audit.replay.search_bench import Bench
from earwitness.audit.replay.search_facts import ACTED, Bools, Codes, Facts, outcome_of
from earwitness.audit.replay.search_words import Added, Change, State, with_detector


@dataclass(frozen=True)
class Standing:
    """A sanitizer that changes are tried on.

    Attributes:
        bench: the case laid out; what no condition can say of the state holds there.
        facts: its occurrences.
        state: the sanitizer.
        codes: what it does at each place.
        found: what remains, each event by itself.
        truth: what should be sanitized by the policy with the rules of the state.
    """

    bench: Bench
    facts: Facts
    state: State
    codes: Codes
    found: Bools
    truth: Bools

    @property
    def condition(self) -> Condition:
        """The condition of the state."""
        return self.state.condition

    @property
    def passed(self) -> Bools:
        """What remains, should not, and is not acted on."""
        return self.facts.sanitize & self.found & (self.facts.least(self.codes) < ACTED)

    def codes_of(self, condition: Condition, setting: Setting | None = None) -> Codes:
        """What another condition would do, with all that no condition can say."""
        setting = setting or self.state.setting
        out = self.bench.codes(condition, setting, drop=self.state.dropped)
        for detector, name, mask in self.added():
            other = self.bench.codes(with_detector(condition, detector), setting, only=name)
            out = np.maximum(out, np.where(mask[self.facts.owner], other, 0))
        return out

    def added(self) -> Iterator[tuple[Detector, str | None, Bools]]:
        """Second detectors and the occurrences they are added on; each detector once."""
        masks: dict[tuple[Detector, str | None], Bools] = {}
        for added in self.state.added:
            mask = self.within(added)
            masks[added.detector, added.name] = masks.get((added.detector, added.name), mask) | mask
        for (detector, name), mask in masks.items():
            yield detector, name, mask

    def within(self, added: Added) -> Bools:
        """The occurrences that a second detector is added on."""
        if added.by is None:
            return np.ones(len(self.found), np.bool_)
        return np.asarray(self.facts.column(added.by) == added.cell, np.bool_)

    def cells(self, *by: str, among: Bools | None = None) -> Iterator[tuple[str, tuple[Any, ...], Bools]]:
        """Cells of occurrences by columns: their name, their cell, and which they are; those that meet `among`."""
        rows = self.facts.frame.select(by)
        seen = rows if among is None else rows.filter(among)
        columns = [self.facts.column(b) for b in by]
        for cell in sorted(seen.unique().rows()):
            mask = np.logical_and.reduce([c == v for c, v in zip(columns, cell, strict=True)])
            yield ", ".join(by), cell, mask

    def change(
        self,
        family: str,
        words: str,
        state: State,
        codes: Codes,
        *,
        cell: tuple[str, str] | None = None,
        mask: Bools | None = None,
        measured: bool = True,
        **more: Any,
    ) -> Change:
        """A change and what it leaves.

        Args:
            family: one of `FAMILIES`.
            words: what it is.
            state: the sanitizer after it.
            codes: what that does at each place; under `mask` only on these occurrences.
            cell: what the occurrences are restricted by, and to.
            mask: which these are.
            measured: what stored replays measured holds, see `outcome_of`.
            more: further fields of `Change`.
        """
        if mask is not None:
            codes = np.where(mask[self.facts.owner], codes, self.codes)
        found, assumed = outcome_of(self.facts, self.codes, self.found, codes, measured=measured)
        by, name = cell or (None, None)
        return Change(family, words, by, name, state, codes, found, assumed, **more)
