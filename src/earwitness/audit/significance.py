"""Whether topologies, adversaries, frameworks, models or arms differ: tests over runs paired by scenario.

A block is the runs of one scenario that are alike in everything but the factor. Only blocks with a judged run at every
level are compared; the others are counted. A level at which the outcome cannot occur at all (no run of it has an
introduced agent) is a structural zero: it is left out, and the note says so.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from earwitness.audit.stats import Outcome, cochran_q, mcnemar_corrected, mcnemar_exact
from earwitness.schema.case import Case
from earwitness.schema.tables import TABLES, arrow_schema

FACTORS = ("topology", "adversary", "framework", "model", "arm")
# Alike within a block, and not varied in an experiment.
_FIXED = ("scenario", "horizon", "pair")
_LONGEST = 200


class _Outcome(NamedTuple):
    """An outcome of a run, the runs it is known of, and those in which it can occur."""

    name: str
    hit: str
    known: str
    possible: str


_OUTCOMES = (
    _Outcome("surface_leakage", "leaked", "judged", "judged"),
    _Outcome("new_agent_disclosure", "introduced", "positioned", "grown"),
    _Outcome("unauthorised_propagation", "propagated", "judged", "judged"),
)
_RUNS = f"""
    SELECT trace, {", ".join((*_FIXED, *FACTORS))}, judged, positioned, grown, leaked, introduced, propagated
    FROM fact WHERE judged AND scenario IS NOT NULL ORDER BY trace
"""


class Comparison(NamedTuple):
    """One row of `significance`."""

    name: str
    factor: str
    test: str
    grp: dict[str, Any]
    levels: list[str]
    outcome: Outcome
    blocks: int
    excluded: int
    note: str | None


def find_significance(case: Case) -> int:
    """Fill `significance`; needs `fact`. Gives the number of tests."""
    case.execute(TABLES["significance"].ddl)
    case.clear("significance")
    found = list(compared(case.frame(_RUNS)))
    if found:
        case.insert("significance", _rows(found))
    return len(found)


def compared(runs: pl.DataFrame) -> Iterator[Comparison]:
    """Every test that runs allow.

    Args:
        runs: one row a judged run: `trace`, scenario, horizon, pair, the factors, and the outcomes as Boolean columns.
    """
    varied = [f for f in FACTORS if runs[f].drop_nulls().n_unique() > 1]
    for outcome in _OUTCOMES:
        known = runs.filter(pl.col(outcome.known))
        for factor in varied:
            others = [f for f in varied if f != factor]
            for group, part in _groups(known.filter(pl.col(factor).is_not_null()), others):
                yield from _test(outcome, factor, group, part)


def _groups(runs: pl.DataFrame, others: Sequence[str]) -> Iterator[tuple[dict[str, Any], pl.DataFrame]]:
    """All runs together; then each cell of the other factors, where there is more than one."""
    yield {}, runs
    if others:
        parts = runs.partition_by(list(others), as_dict=True)
        if len(parts) > 1:
            for key in sorted(parts, key=str):
                yield {f: v for f, v in zip(others, key, strict=True) if v is not None}, parts[key]


def _test(outcome: _Outcome, factor: str, group: dict[str, Any], runs: pl.DataFrame) -> Iterator[Comparison]:
    possible = runs.group_by(factor).agg(pl.col(outcome.possible).any().alias("possible")).sort(factor)
    levels = possible.filter("possible")[factor].to_list()
    zeros = possible.filter(~pl.col("possible"))[factor].to_list()
    if len(levels) < 2:
        return
    kept = runs.filter(pl.col(factor).is_in(levels))
    bound = [f for f in FACTORS if f != factor and _bound(kept, f, factor)]
    key = [c for c in (*_FIXED, *FACTORS) if c not in (factor, *bound)]
    once = kept.unique([*key, factor], keep="first", maintain_order=True)
    full = once.filter(pl.len().over(key) == len(levels))
    blocks = len(full) // len(levels)
    note = _note(zeros, bound, len(kept) - len(once), dependent=full["scenario"].n_unique() < blocks)
    hits = full.sort([*key, factor])[outcome.hit].to_numpy().reshape(blocks, len(levels))
    for name, result in _results(hits):
        told = [note, "undefined: no block differs between the levels" if result.p is None else None]
        excluded = once.select(key).n_unique() - blocks
        text = "; ".join(filter(None, told)) or None
        yield Comparison(outcome.name, factor, name, group, levels, result, blocks, excluded, text)


def _bound(runs: pl.DataFrame, other: str, factor: str) -> bool:
    """Whether every level of another factor occurs at one level of this only: then no block could hold both."""
    known = runs.filter(pl.col(other).is_not_null())
    return not known.is_empty() and known.group_by(other).agg(pl.col(factor).n_unique())[factor].max() == 1


def _results(hits: NDArray[np.bool_]) -> Iterator[tuple[str, Outcome]]:
    """Two levels by McNemar's test, more by Cochran's."""
    if hits.shape[1] > 2:
        yield "cochran-q", cochran_q(hits)
        return
    first, second = hits[:, 0], hits[:, 1]
    counts = int((first & ~second).sum()), int((second & ~first).sum())
    yield "mcnemar-exact", mcnemar_exact(*counts)
    yield "mcnemar-corrected", mcnemar_corrected(*counts)


def _note(zeros: Sequence[str], bound: Sequence[str], repeated: int, *, dependent: bool) -> str | None:
    parts = []
    if zeros:
        parts.append(f"structural zero left out: {', '.join(zeros)} (no introduced agent)"[:_LONGEST])
    if bound:
        parts.append(f"the levels differ in {' and '.join(bound)}, too")
    if repeated:
        parts.append(f"repeated runs left out: {repeated} (the first of each counts)")
    if dependent:
        parts.append("blocks of one scenario are taken as independent")
    return "; ".join(parts) or None


def _rows(found: Sequence[Comparison]) -> pa.Table:
    columns = {
        "name": [t.name for t in found],
        "factor": [t.factor for t in found],
        "test": [t.test for t in found],
        "grp": [msgspec.json.encode(t.grp).decode() for t in found],
        "levels": [t.levels for t in found],
        "statistic": [t.outcome.statistic for t in found],
        "df": [t.outcome.df for t in found],
        "p": [t.outcome.p for t in found],
        "blocks": [t.blocks for t in found],
        "excluded": [t.excluded for t in found],
        "note": [t.note for t in found],
    }
    return pa.table(columns, schema=arrow_schema("significance"))
