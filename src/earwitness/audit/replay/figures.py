"""Figures of a replay: counts by SQL over `replays`, Wilson intervals, a bootstrap over scenarios, McNemar's test."""

from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from earwitness.audit.stats import mcnemar_corrected, mcnemar_exact, wilson
from earwitness.schema.case import Case
from earwitness.schema.tables import arrow_schema

ROUNDS, SEED = 1_000, 20_260_101
MODES = {"independent": "remains", "propagate": "downstream"}
CAUSES = ("detection_miss", "no_recipient", "policy_gap", "post_transform")

# What an occurrence is counted by, beside condition, setting and mode.
_FACT = """
    CREATE OR REPLACE TEMP TABLE rp_fact AS
    WITH steps AS (SELECT trace, value, recipient, any_value(carried) AS carried, any_value(distance) AS distance
                   FROM exposures GROUP BY ALL)
    SELECT r.* EXCLUDE (remains, downstream), {mode} AS kept, v.attribute, v.value_type, t.topology, t.scenario,
           coalesce(p.position, CASE WHEN r.recipient IS NULL THEN 'unresolved' ELSE 'unknown' END) AS position,
           coalesce(x.carried::VARCHAR, 'unknown') AS hops, coalesce(x.distance::VARCHAR, 'unknown') AS distance
    FROM replays r JOIN vault v USING (value) JOIN traces t ON t.trace = r.trace
    LEFT JOIN parties p ON p.trace = r.trace AND p.actor = r.recipient
    LEFT JOIN steps x ON x.trace = r.trace AND x.value = r.value AND x.recipient = r.recipient
"""


class Figure(NamedTuple):
    """A figure: what it says, which occurrences it counts, which of them, and by what."""

    name: str
    title: str
    among: str
    counted: str
    by: tuple[str, ...] = ()


_RESIDUAL = ("truth = 'sanitize'", "kept")
_ALLOWED = ("truth = 'allow'", "kept")
_DECIDED = "detected AND resolved"
_INTRODUCED = "truth = 'sanitize' AND position = 'introduced'"

FIGURES: tuple[Figure, ...] = (
    Figure("residual", "occurrences that should be sanitized and remain", *_RESIDUAL),
    Figure("correct_allow", "occurrences that should be allowed and remain", *_ALLOWED),
    *(
        Figure(f"residual_by_{name}", f"residual by {name}", *_RESIDUAL, (column,))
        for name, column in (
            ("type", "value_type"), ("channel", "channel"), ("attribute", "attribute"), ("topology", "topology"),
            ("hops", "hops"), ("distance", "distance"), ("position", "position"),
        )
    ),
    *(
        Figure(f"correct_allow_by_{name}", f"correct-allow by {name}", *_ALLOWED, (column,))
        for name, column in (("type", "value_type"), ("channel", "channel"), ("topology", "topology"))
    ),
    *(
        Figure(f"cause_{cause}", f"residual occurrences whose cause is {cause}", "cause IS NOT NULL AND kept",
               f"cause = '{cause}'")
        for cause in CAUSES
    ),
    Figure("new_agent_residual", "residual of topology-introduced recipients, by cell", _INTRODUCED, "kept",
           ("topology",)),
    Figure("detected", "occurrences that should be sanitized and were detected", "truth = 'sanitize'", "detected"),
    Figure("under_sanitization", "detected and resolvable, should be sanitized, allowed",
           f"{_DECIDED} AND truth = 'sanitize'", "action = 'allow'"),
    Figure("over_sanitization", "detected and resolvable, should be allowed, sanitized",
           f"{_DECIDED} AND truth = 'allow'", "action <> 'allow'"),
    Figure("operation", "decisions on detected occurrences that should be sanitized, by action",
           "detected AND truth = 'sanitize'", "true", ("action",)),
    Figure("fallback", "decided transforms that were carried out as redaction instead",
           "action NOT IN ('allow', 'redact', 'block')", "done = 'redact'", ("action",)),
)  # fmt: skip

COSTS = {
    "collateral": "spans acted on, over all deliveries, that lie on no known value",
    "introduced": "changed texts of deliveries that hold a protected value they did not hold before",
    "content_kept": "words outside the values to be sanitized that are still there, in a sample of deliveries",
}


def count_figures(case: Case) -> int:
    """Fill `replay_figures` and `replay_pairs`, after `conclude`; gives the number of figures."""
    case.clear("replay_figures", "replay_pairs")
    for mode, column in MODES.items():
        case.execute(_FACT.format(mode=column))
        for figure in FIGURES:
            _count(case, mode, figure)
        _bootstrap(case, mode)
        _pairs(case, mode)
        case.execute("DROP TABLE rp_fact")
    for name in COSTS:
        rows = case.frame(f"""
            SELECT condition, setting, k, n FROM rp_cost JOIN rp_plan USING (plan)
            WHERE measure = '{name}' AND n > 0 ORDER BY plan
        """)
        if len(rows):
            _insert(case, "independent", Figure(name, COSTS[name], "", ""), rows.to_dicts())
    return case.count("replay_figures")


def _count(case: Case, mode: str, figure: Figure) -> None:
    by = "".join(f", {c}" for c in figure.by)
    share = "sum(count(*)) OVER (PARTITION BY condition, setting)" if figure.name == "operation" else "count(*)"
    frame = case.frame(f"""
        SELECT condition, setting{by}, count(*) FILTER ({figure.counted}) AS k, {share}::BIGINT AS n
        FROM rp_fact WHERE {figure.among} GROUP BY condition, setting{by} ORDER BY ALL
    """)
    rows: list[dict[str, Any]] = frame.to_dicts()
    if rows:
        _insert(case, mode, figure, rows)


def _insert(case: Case, mode: str, figure: Figure, rows: list[dict[str, Any]]) -> None:
    intervals = [wilson(r["k"], r["n"]) for r in rows]
    columns = {
        "condition": [r["condition"] for r in rows],
        "setting": [r["setting"] for r in rows],
        "mode": [mode] * len(rows),
        "measure": [figure.name] * len(rows),
        "grp": [msgspec.json.encode({c: r[c] for c in figure.by}).decode() for r in rows],
        "k": [r["k"] for r in rows],
        "n": [r["n"] for r in rows],
        "rate": [r["k"] / r["n"] for r in rows],
        "low": [low for low, _ in intervals],
        "high": [high for _, high in intervals],
        "boot_low": [None] * len(rows),
        "boot_high": [None] * len(rows),
    }
    case.insert("replay_figures", pa.table(columns, schema=arrow_schema("replay_figures")))


_CLUSTERS = """
    SELECT condition, setting, '{name}' AS measure, coalesce(scenario, trace::VARCHAR) AS cluster,
           count(*) FILTER (kept) AS k, count(*) AS n
    FROM rp_fact WHERE truth = '{truth}' GROUP BY ALL
"""
_HEADLINES = (("residual", "sanitize"), ("correct_allow", "allow"))


def _bootstrap(case: Case, mode: str) -> None:
    """Percentile intervals of the two headline figures, scenarios drawn with replacement; traces without one alone."""
    clusters = " UNION ALL ".join(_CLUSTERS.format(name=name, truth=truth) for name, truth in _HEADLINES)
    frame = case.frame(f"SELECT *, dense_rank() OVER (ORDER BY cluster) - 1 AS place FROM ({clusters}) ORDER BY ALL")
    if frame.is_empty():
        return
    count = int(frame["place"].max()) + 1  # type: ignore[arg-type]
    weights = np.random.default_rng(SEED).multinomial(count, np.full(count, 1 / count), ROUNDS).astype(np.float64)
    for part in frame.partition_by("condition", "setting", "measure"):
        if len(part) < 2:  # one scenario cannot be drawn again in another way
            continue
        at, k, n = (part[c].to_numpy().astype(np.int64) for c in ("place", "k", "n"))
        low, high = resampled(weights[:, at], k, n)
        case.execute(
            "UPDATE replay_figures SET boot_low = ?, boot_high = ? "
            "WHERE condition = ? AND setting = ? AND mode = ? AND measure = ?",
            [low, high, part["condition"][0], part["setting"][0], mode, part["measure"][0]],
        )


def resampled(
    weights: npt.NDArray[np.float64], k: npt.NDArray[np.int64], n: npt.NDArray[np.int64]
) -> tuple[float | None, float | None]:
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


def _pairs(case: Case, mode: str) -> None:
    """Occurrences are the same under each condition, so that each is its own control."""
    frame = case.frame("""
        SELECT setting, truth, condition, kept FROM rp_fact ORDER BY setting, truth, condition, event, value, recipient
    """)
    rows: list[tuple[Any, ...]] = []
    for part in frame.partition_by("setting", "truth", maintain_order=True):
        setting, truth = part["setting"][0], part["truth"][0]
        kept = {name: one["kept"].to_numpy() for (name,), one in part.group_by("condition", maintain_order=True)}
        for base in (b for b in BASES if b in kept):
            rows += [
                (setting, mode, truth, base, other, *compared(kept[base], kept[other]))
                for other in kept
                if other != base
            ]
    if rows:
        schema = arrow_schema("replay_pairs")
        columns = dict(zip(schema.names, zip(*rows, strict=True), strict=True))
        case.insert("replay_pairs", pa.table({n: pa.array(c, schema.field(n).type) for n, c in columns.items()}))


def compared(one: npt.NDArray[np.bool_], other: npt.NDArray[np.bool_]) -> tuple[int, int, int, int, float | None]:
    """Occurrences that remain under both, the first alone, the second alone, neither; and McNemar's p-value."""
    both, first, second = int((one & other).sum()), int((one & ~other).sum()), int((other & ~one).sum())
    return both, first, second, len(one) - both - first - second, _p_value(first, second)


def _p_value(one: int, two: int) -> float | None:
    """Exact up to so many discordant pairs; from there on the approximation is as good and costs nothing."""
    test = mcnemar_exact if one + two <= _EXACT else mcnemar_corrected
    return test(one, two).p


_EXACT = 1_000
