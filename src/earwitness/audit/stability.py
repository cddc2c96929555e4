"""Whether groups can be ranked: the difference between two of them against what a repetition alone moves a rate.

The corpus of record is the anchor; others repeat it. The drift of a group is how far its rate is from that of the
anchor, the noise floor is the largest drift of any group in any corpus. Neighbours in the order of the anchor are
`ordered` where the gap between them exceeds the floor, else `tied` (Ogundoyin and Ikram 2026, section 5.6.6).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from earwitness.audit.measure import Figure, figures
from earwitness.audit.measures.base import Measure
from earwitness.schema.case import Case


@dataclass(frozen=True)
class Drift:
    """A group over all corpora.

    Attributes:
        group: its name.
        rates: in each corpus, the anchor first; None where it has none.
        drift: difference to the anchor in each other corpus.
    """

    group: str
    rates: tuple[float | None, ...]

    @property
    def drift(self) -> tuple[float | None, ...]:
        """Difference to the anchor in each other corpus."""
        anchor = self.rates[0]
        return tuple(None if r is None or anchor is None else r - anchor for r in self.rates[1:])


@dataclass(frozen=True)
class Neighbours:
    """Two groups next to each other in the order of the anchor.

    Attributes:
        higher: the group with the higher rate.
        lower: the other.
        gap: difference of their rates.
        verdict: `ordered` or `tied`.
        inversions: corpora in which they stand the other way round.
    """

    higher: str
    lower: str
    gap: float
    verdict: str
    inversions: int


@dataclass(frozen=True)
class Stability:
    """Groups in order, the noise floor, and what of the order exceeds it.

    Attributes:
        corpora: names, the anchor first.
        groups: highest rate of the anchor first.
        floor: largest drift of any group; None where no group stands in two corpora.
        largest: the largest drift in each other corpus.
        neighbours: one fewer than groups of the anchor.
    """

    corpora: tuple[str, ...]
    groups: tuple[Drift, ...]
    floor: float | None
    largest: tuple[float | None, ...]
    neighbours: tuple[Neighbours, ...]


def stability(corpora: Sequence[str], rates: Mapping[str, Sequence[float | None]]) -> Stability:
    """Rank groups and say which ranks hold.

    Args:
        corpora: names, the anchor first.
        rates: of each group in each corpus.
    """
    groups = sorted((Drift(name, tuple(r)) for name, r in rates.items()), key=lambda d: (-(d.rates[0] or 0), d.group))
    drifts = [[abs(d) for g in groups if (d := g.drift[n]) is not None] for n in range(len(corpora) - 1)]
    largest = tuple(max(d, default=None) for d in drifts)
    floor = max((d for d in largest if d is not None), default=None)
    known = [g for g in groups if g.rates[0] is not None]
    pairs = tuple(_neighbours(a, b, floor) for a, b in pairwise(known))
    return Stability(tuple(corpora), tuple(groups), floor, largest, pairs)


def _neighbours(a: Drift, b: Drift, floor: float | None) -> Neighbours:
    gap = (a.rates[0] or 0) - (b.rates[0] or 0)
    # Rates are quotients: what differs by less than 1e-12 does not differ.
    verdict = "ordered" if floor is not None and gap > floor + 1e-12 else "tied"
    inverted = sum(x < y for x, y in zip(a.rates, b.rates, strict=True) if x is not None and y is not None)
    return Neighbours(a.group, b.group, gap, verdict, inverted)


def within(case: Case, one: Measure, corpus: str, by: Sequence[str] = ()) -> Stability:
    """Corpora inside one case, told apart by a cell (`repeat`, `attributes.temperature`); the first is the anchor.

    Args:
        case: after an audit.
        one: which measure.
        corpus: the cell that tells corpora apart.
        by: the groups; the first grouping of the measure where none is named.
    """
    groups = tuple(by) or one.splits[0]
    found = figures(case, [one], (corpus, *groups))
    names = sorted({f.group[corpus] for f in found if corpus in f.group})
    tables = [{_label(f, corpus): f.rate for f in found if f.group.get(corpus) == name} for name in names]
    return _joined([str(n) for n in names], tables)


def between(cases: Mapping[str, Case], one: Measure, by: Sequence[str] = ()) -> Stability:
    """Each case is a corpus; the first is the anchor."""
    tables = [{_label(f): f.rate for f in figures(case, [one], tuple(by) or one.splits[0])} for case in cases.values()]
    return _joined(list(cases), tables)


def _joined(names: Sequence[str], tables: Sequence[Mapping[str, float]]) -> Stability:
    groups: Iterable[str] = dict.fromkeys(g for t in tables for g in t)
    return stability(names, {g: [t.get(g) for t in tables] for g in groups})


def _label(figure: Figure, without: str | None = None) -> str:
    return " ".join(str(v) for c, v in figure.group.items() if c != without) or "all"
