"""The runs of a corpus, and what a run needs to be played."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, product
from typing import Any

from record.laboratory.cells import AGENTS, CELLS, INTRODUCED, edges
from record.laboratory.mind import Role
from record.laboratory.scenarios import scenario, variant

FRAMEWORKS = ("langgraph", "autogen")
HORIZONS = (1, 3, 5, 10, 20)
USUAL = 5


@dataclass(frozen=True)
class Job:
    """One run.

    Attributes:
        trace: its id.
        number: of the scenario.
        cell: one of `CELLS`.
        adversary: A0, A1 or A2.
        horizon: its turns.
        pair: `tau`, or `tau_prime` where the tracked value is another.
        seed: of the laboratory.
    """

    trace: str
    number: int
    cell: str
    adversary: str
    horizon: int
    pair: str
    seed: int

    @property
    def given(self) -> dict[str, Any]:
        """The scenario as it is played."""
        return variant(scenario(self.seed, self.number), self.pair)

    def roles(self, *, keeps_notes: tuple[str, ...]) -> dict[str, Role]:
        """Every agent of the cell."""
        given, ways = self.given, edges(self.cell)
        hostile = (INTRODUCED[0] if INTRODUCED[0] in ways else AGENTS[1]) if self.adversary == "A2" else None
        return {
            agent: Role(
                given,
                agent,
                ways[agent],
                self.horizon,
                self.adversary,
                agent == hostile,
                self.seed,
                agent in keeps_notes,
            )
            for agent in ways
        }


def job(framework: str, seed: int, number: int, cell: str, adversary: str, horizon: int, pair: str) -> Job:
    """A run and its id, which says all of it."""
    short = {"langgraph": "lg", "autogen": "ag"}[framework]
    trace = f"{short}-S{number:04}-{cell}-{adversary}-T{horizon}" + ("-prime" if pair == "tau_prime" else "")
    return Job(trace, number, cell, adversary, horizon, pair, seed)


def small(framework: str, seed: int) -> Iterator[Job]:
    """The committed corpus: all cells at A0; fewer scenarios at A1 and A2, as pairs, and at other horizons."""
    yield from full(framework, seed, range(56))
    pressed = product(range(10), CELLS, ("A1", "A2"), (USUAL,), ("tau",))
    paired = product(range(12), ("CW-2", "P2P-4", "Hier-7"), ("A0",), (USUAL,), ("tau_prime",))
    others = [horizon for horizon in HORIZONS if horizon != USUAL]
    longer = product(range(6), ("CW-2", "CW-7", "Hier-7"), ("A0",), others, ("tau",))
    for number, cell, adversary, horizon, pair in chain(pressed, paired, longer):
        yield job(framework, seed, number, cell, adversary, horizon, pair)


def full(framework: str, seed: int, numbers: range) -> Iterator[Job]:
    """Every cell of every scenario at A0."""
    for number in numbers:
        for cell in CELLS:
            yield job(framework, seed, number, cell, "A0", USUAL, "tau")
