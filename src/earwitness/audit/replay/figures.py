"""Figures of a replay: counts over its facts, Wilson intervals, a bootstrap over scenarios, McNemar's test."""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from earwitness.audit.replay.facts import ACTIONS, Bools, Facts, Groups, Ints, read_facts
from earwitness.audit.stats import mcnemar_corrected, mcnemar_exact, wilson
from earwitness.schema.case import Case
from earwitness.schema.tables import arrow_schema
from earwitness.schema.words import CAUSES

ROUNDS, SEED = 1_000, 20_260_101
MODES: dict[str, Callable[[Facts], Bools]] = {
    "independent": lambda f: f.found,
    "propagate": lambda f: f.downstream,
}
_REDACT = ACTIONS.index("redact")
# Actions that stand for a value rather than for nothing.
_TRANSFORMS = [ACTIONS.index(a) for a in ("fpe", "pseudonym", "mldp", "rewrite")]

# Which occurrences: of facts and of what is kept, a matrix of plans and occurrences.
Which = Callable[[Facts, Bools], Bools]


class Figure(NamedTuple):
    """A figure: what it says, which occurrences it counts, which of them, and by what.

    Attributes:
        share: it is a share of all that the plan counts, not of its cell.
    """

    name: str
    title: str
    among: Which
    counted: Which
    by: str | None = None
    share: bool = False


def _sanitize(f: Facts, kept: Bools) -> Bools:
    return np.broadcast_to(f.sanitize, kept.shape)


def _allow(f: Facts, kept: Bools) -> Bools:
    return np.broadcast_to(~f.sanitize, kept.shape)


def _kept(f: Facts, kept: Bools) -> Bools:
    return kept


def _detected(f: Facts, kept: Bools) -> Bools:
    return f.detected


def _all(f: Facts, kept: Bools) -> Bools:
    return np.ones(kept.shape, np.bool_)


def _introduced(f: Facts, kept: Bools) -> Bools:
    groups = f.groups["position"]
    cell = groups.names.index("introduced") if "introduced" in groups.names else -1
    return np.broadcast_to(f.sanitize & (groups.number == cell), kept.shape)


def _cause(name: str) -> Which:
    return lambda f, kept: f.causes[name]


def _residual(f: Facts, kept: Bools) -> Bools:
    return kept & f.found & f.sanitize


def _decided(which: Which) -> Which:
    """Those that were detected and whose recipient counts as known."""
    return lambda f, kept: f.detected & f.resolved & which(f, kept)


FIGURES: tuple[Figure, ...] = (
    Figure("residual", "occurrences that should be sanitized and remain", _sanitize, _kept),
    Figure("correct_allow", "occurrences that should be allowed and remain", _allow, _kept),
    *(
        Figure(f"residual_by_{name}", f"residual by {name}", _sanitize, _kept, column)
        for name, column in (
            ("type", "value_type"), ("channel", "channel"), ("attribute", "attribute"), ("topology", "topology"),
            ("hops", "hops"), ("distance", "distance"), ("position", "position"),
        )
    ),
    *(
        Figure(f"correct_allow_by_{name}", f"correct-allow by {name}", _allow, _kept, column)
        for name, column in (("type", "value_type"), ("channel", "channel"), ("topology", "topology"))
    ),
    *(
        Figure(f"cause_{cause}", f"residual occurrences whose cause is {cause}", _residual, _cause(cause))
        for cause in CAUSES
    ),
    Figure("new_agent_residual", "residual of topology-introduced recipients, by cell", _introduced, _kept,
           "topology"),
    Figure("detected", "occurrences that should be sanitized and were detected", _sanitize, _detected),
    Figure("under_sanitization", "detected and resolvable, should be sanitized, allowed", _decided(_sanitize),
           lambda f, kept: f.action == ACTIONS.index("allow")),
    Figure("over_sanitization", "detected and resolvable, should be allowed, sanitized", _decided(_allow),
           lambda f, kept: f.action > ACTIONS.index("allow")),
    Figure("operation", "decisions on detected occurrences that should be sanitized, by action",
           lambda f, kept: f.detected & f.sanitize, _all, "action", share=True),
    Figure("fallback", "decided transforms that were carried out as redaction instead",
           lambda f, kept: np.isin(f.action, _TRANSFORMS), lambda f, kept: f.done == _REDACT, "action"),
)  # fmt: skip

COSTS = {
    "collateral": "spans acted on, over all deliveries, that lie on no known value",
    "introduced": "changed texts of deliveries that hold a protected value they did not hold before",
    "content_kept": "words outside the values to be sanitized that are still there, in a sample of deliveries",
}


class Row(NamedTuple):
    """One row of `replay_figures` before its rate and interval."""

    condition: str
    setting: str
    mode: str
    measure: str
    grp: str
    k: int
    n: int
    drawn: tuple[float | None, float | None] = (None, None)


def count_figures(case: Case) -> int:
    """Fill `replay_figures` and `replay_pairs`, after `conclude`; gives the number of figures."""
    case.clear("replay_figures", "replay_pairs")
    facts = read_facts(case)
    rows: list[Row] = []
    for mode, kept in ((m, which(facts)) for m, which in MODES.items()):
        drawn = dict(_bootstrap(facts, kept))
        for figure in FIGURES:
            rows += _counted(facts, mode, figure, kept, drawn)
        _pairs(case, facts, mode, kept)
    for name in COSTS:
        cost = f"SELECT condition, setting, k, n FROM rp_cost JOIN rp_plan USING (plan) WHERE measure = '{name}'"
        told = case.rows(f"{cost} AND n > 0 ORDER BY plan")
        rows += [Row(condition, setting, "independent", name, "{}", k, n) for condition, setting, k, n in told]
    return _insert(case, rows)


def _counted(facts: Facts, mode: str, figure: Figure, kept: Bools, drawn: dict[Any, Any]) -> Iterator[Row]:
    """The figure of each plan and cell in which there is anything to count."""
    groups, among = _groups(facts, figure.by), figure.among(facts, kept)
    counted = among & figure.counted(facts, kept)
    number = np.broadcast_to(groups.number, kept.shape)
    for plan, (condition, setting) in enumerate(facts.plans):
        n, k = (np.bincount(number[plan, m[plan]], minlength=len(groups.names)) for m in (among, counted))
        interval = drawn.get((figure.name, plan), (None, None))
        for cell in np.flatnonzero(n):
            of = n.sum() if figure.share else n[cell]
            grp = msgspec.json.encode({figure.by: groups.names[cell]} if figure.by else {}).decode()
            yield Row(condition, setting, mode, figure.name, grp, int(k[cell]), int(of), interval)


def _groups(facts: Facts, by: str | None) -> Groups:
    if by is None:
        return Groups(np.zeros(len(facts.sanitize), np.int64), [""])
    if by == "action":
        return Groups(facts.action, [a or None for a in ACTIONS])
    return facts.groups[by]


def _insert(case: Case, rows: list[Row]) -> int:
    intervals = [_interval(r.k, r.n) for r in rows]
    columns: dict[str, Any] = {name: [getattr(r, name) for r in rows] for name in Row._fields[:7]}
    columns |= {
        "rate": [r.k / r.n for r in rows],
        "low": [low for low, _ in intervals],
        "high": [high for _, high in intervals],
        "boot_low": [r.drawn[0] for r in rows],
        "boot_high": [r.drawn[1] for r in rows],
    }
    return case.insert("replay_figures", pa.table(columns, schema=arrow_schema("replay_figures")))


_interval = lru_cache(maxsize=20_000)(wilson)


def _bootstrap(facts: Facts, kept: Bools) -> Iterator[tuple[tuple[str, int], tuple[float | None, float | None]]]:
    """Percentile intervals of the two headline figures, scenarios drawn with replacement; traces without one alone."""
    count = int(facts.scenario.max(initial=-1)) + 1
    if not count:
        return
    weights = np.random.default_rng(SEED).multinomial(count, np.full(count, 1 / count), ROUNDS).astype(np.float64)
    for name, among in (("residual", facts.sanitize), ("correct_allow", ~facts.sanitize)):
        scenario = facts.scenario[among]
        n = np.bincount(scenario, minlength=count)
        if np.count_nonzero(n) < 2:  # one scenario cannot be drawn again in another way
            continue
        for plan, left in enumerate(kept[:, among]):
            k = np.bincount(scenario[left], minlength=count)
            yield (name, plan), resampled(weights, k, n)


def resampled(weights: npt.NDArray[np.float64], k: Ints, n: Ints) -> tuple[float | None, float | None]:
    """The 95 % percentile interval of sum(k) / sum(n) over resamples of clusters.

    Args:
        weights: how often each cluster (column) was drawn in each resample (row).
        k: what is counted in each cluster, of
        n: so many.
    """
    total = weights @ n
    drawn = total > 0
    if not drawn.any():
        return None, None
    low, high = np.quantile((weights @ k)[drawn] / total[drawn], [0.025, 0.975])
    return float(low), float(high)


# Every condition is held against these; all pairs would be many and say little.
BASES = ("dynamic", "blanket")


def _pairs(case: Case, facts: Facts, mode: str, kept: Bools) -> None:
    """Occurrences are the same under each condition, so that each is its own control."""
    rows: list[tuple[Any, ...]] = []
    for setting in sorted({s for _, s in facts.plans}):
        for truth, among in (("allow", ~facts.sanitize), ("sanitize", facts.sanitize)):
            if among.any():
                of = {c: kept[n, among] for n, (c, s) in enumerate(facts.plans) if s == setting}
                rows += _compared(setting, mode, truth, of)
    if rows:
        schema = arrow_schema("replay_pairs")
        columns = dict(zip(schema.names, zip(*rows, strict=True), strict=True))
        case.insert("replay_pairs", pa.table({n: pa.array(c, schema.field(n).type) for n, c in columns.items()}))


def _compared(setting: str, mode: str, truth: str, of: dict[str, Bools]) -> Iterator[tuple[Any, ...]]:
    for base in (b for b in BASES if b in of):
        for other in of:
            if other != base:
                yield setting, mode, truth, base, other, *compared(of[base], of[other])


def compared(one: Bools, other: Bools) -> tuple[int, int, int, int, float | None]:
    """Occurrences that remain under both, the first alone, the second alone, neither; and McNemar's p-value."""
    both, first, second = int((one & other).sum()), int((one & ~other).sum()), int((other & ~one).sum())
    return both, first, second, len(one) - both - first - second, _p_value(first, second)


def _p_value(one: int, two: int) -> float | None:
    """Exact up to so many discordant pairs; from there on the approximation is as good and costs nothing."""
    test = mcnemar_exact if one + two <= _EXACT else mcnemar_corrected
    return test(one, two).p


_EXACT = 1_000
