"""How everybody first learned each value: one tree of exposures for every (trace, value), over all traces at once.

An exposure hangs below that of its teacher, if the teacher had learned before; else its teacher is the source of the
way. A tool or memory that was given the value before is a station like any other, so what an agent reads from a memory
leads back to whoever wrote it. (`exposures.via` stops at a memory read instead: there the reader counts as a holder.)
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from earwitness.graph.cite import cite
from earwitness.graph.distances import chase, roots
from earwitness.graph.exposures import Step
from earwitness.graph.parties import ints
from earwitness.graph.temporal import Ints
from earwitness.schema.case import Case

By = Literal["name", "role", "position"]

_LEARNED = """
    WITH taught AS (
        SELECT x.exposure, x.trace, x.value, x.recipient, x.learned AS event, x.learned_seq AS seq, x.position,
               x.authorised, f.sender AS teacher, f.grade, f.channel
        FROM exposures x JOIN flows f ON f.event = x.learned AND f.recipient = x.recipient
        QUALIFY row_number() OVER (PARTITION BY x.exposure ORDER BY f.sender, f.grade) = 1
    )
    SELECT t.*, coalesce(p.kind, 'agent') AS kind, p.roles[1] AS role,
           coalesce(q.kind, 'agent') AS teacher_kind, q.roles[1] AS teacher_role,
           coalesce(q.position, 'unknown') AS teacher_position,
           CASE WHEN a.seq < coalesce(u.learned_seq, t.seq) THEN 'initial' WHEN t.teacher IS NULL THEN 'unknown'
                WHEN q.kind <> 'agent' THEN q.kind ELSE 'unseen' END AS held,
           coalesce(CASE WHEN a.seq IS NULL OR a.seq >= u.learned_seq THEN u.exposure END, -1) AS parent
    FROM taught t
    LEFT JOIN exposures u ON u.trace = t.trace AND u.value = t.value AND u.recipient = t.teacher
         AND u.learned_seq < t.seq
    LEFT JOIN access a ON a.trace = t.trace AND a.value = t.value AND a.agent = t.teacher AND a.access = 'initial'
    LEFT JOIN parties p ON p.trace = t.trace AND p.actor = t.recipient
    LEFT JOIN parties q ON q.trace = t.trace AND q.actor = t.teacher
    ORDER BY t.exposure
"""


@dataclass(frozen=True)
class Ways:
    """First knowledge of every exposure, row n being exposure n.

    Attributes:
        table: columns exposure, trace, value, recipient, kind, role, position, event and seq (by which it learned),
            channel, grade, teacher, teacher_kind, teacher_role, teacher_position, parent (exposure of the teacher, -1
            where the teacher is the source), held (how the teacher had it, where it is the source: `initial`, `tool`,
            `memory`, `unseen` for an agent that was not seen to get it, `unknown` for a sender the record does not
            name), authorised, hops, source, source_held.
        parent: of each exposure.
    """

    table: pl.DataFrame
    parent: Ints

    def way(self, exposure: int) -> list[int]:
        """The exposures on the way to one, that one last."""
        found = [exposure]
        while self.parent[found[-1]] >= 0:
            found.append(int(self.parent[found[-1]]))
        return found[::-1]

    def steps(self, case: Case, exposure: int) -> list[Step]:
        """The way as hops with their evidence, first hop first."""
        way = self.table[self.way(exposure)]
        return cite(case, list(zip(way["event"], way["recipient"], strict=True)))

    def levels(self) -> list[Ints]:
        """Exposures by hops: those one hop from a source, two hops, and so on."""
        hops = ints(self.table, "hops")
        order = np.argsort(hops, kind="stable")
        return [order[a:b] for a, b in _runs(hops[order])]

    def below(self, weight: Ints) -> Ints:
        """For each exposure the sum of `weight` over the exposures that hang below it."""
        total = weight.copy()
        for level in self.levels()[:0:-1]:
            np.add.at(total, self.parent[level], total[level])
        return total - weight


def _runs(values: Ints) -> list[tuple[int, int]]:
    if not len(values):
        return []
    cuts = np.flatnonzero(np.diff(values)) + 1
    return list(zip([0, *cuts.tolist()], [*cuts.tolist(), len(values)], strict=True))


def find_ways(case: Case) -> Ways:
    """The trees of an audited case."""
    table = case.frame(_LEARNED)
    parent = ints(table, "parent")
    source = np.where(len(parent) > 0, roots(parent), 0)
    return Ways(
        table.with_columns(
            pl.Series("hops", chase(parent) + 1),
            table["teacher"].gather(source).alias("source"),
            table["held"].gather(source).alias("source_held"),
        ),
        parent,
    )


@dataclass(frozen=True)
class Pattern:
    """Ways that went through the same stations, whoever was reached at the end.

    Attributes:
        stations: source first; the end of the way is left open.
        exposures: how many ways.
        traces, values: in how many runs, of how many values.
        example: one of the exposures.
        steps: its way, with evidence.
    """

    stations: tuple[str, ...]
    exposures: int
    traces: int
    values: int
    example: int
    steps: tuple[Step, ...]

    @property
    def label(self) -> str:
        """`coordinator -> lead -> *`; of a long way the beginning and the end."""
        shown = list(self.stations)
        if len(shown) > 8:
            shown = [*shown[:4], f"... {len(shown) - 7} more ...", *shown[-3:]]
        return " -> ".join([*shown, "*"])


def patterns(
    case: Case, ways: Ways, *, by: By = "name", unauthorised: bool = True, limit: int | None = 20
) -> list[Pattern]:
    """Ways grouped by their stations, the most frequent pattern first.

    Args:
        case: after an audit.
        ways: of `find_ways`.
        by: what stands for a station: its name, its first role (else its name), or what it is: position of an agent,
            kind of anything else.
        unauthorised: only exposures that nobody allowed.
        limit: so many patterns.
    """
    prefix, trie = _prefixes(ways, by)
    table = ways.table.with_columns(pl.Series("pattern", prefix))
    if unauthorised:
        table = table.filter(pl.col("authorised") == False)  # noqa: E712 - NULL is no answer
    counted = table.group_by("pattern").agg(
        pl.len().alias("exposures"),
        pl.col("trace").n_unique().alias("traces"),
        pl.col("value").n_unique().alias("values"),
        pl.col("exposure").min().alias("example"),
    )
    top = counted.sort(["exposures", "example"], descending=[True, False])[slice(limit)]
    return [
        Pattern(trie.stations(p), n, traces, values, example, tuple(ways.steps(case, example)))
        for p, n, traces, values, example in top.iter_rows()
    ]


def pattern_of(ways: Ways, by: By = "name") -> pl.Series:
    """The number of the pattern of every exposure; equal numbers mean the same stations."""
    return pl.Series("pattern", _prefixes(ways, by)[0])


@dataclass(frozen=True)
class _Trie:
    """Prefixes of ways: a source is its label, any other prefix is a shorter one and a label."""

    labels: list[str]
    up: Ints
    label: Ints

    def stations(self, number: int) -> tuple[str, ...]:
        found = []
        while number >= len(self.labels):
            found.append(self.labels[int(self.label[number - len(self.labels)])])
            number = int(self.up[number - len(self.labels)])
        return (self.labels[number], *found[::-1])


def _prefixes(ways: Ways, by: By) -> tuple[Ints, _Trie]:
    """Number of the prefix of every exposure: the way to its teacher, the teacher being its last station."""
    own, source, labels = _labelled(ways, by)
    prefix, whole = np.zeros(len(own), np.int64), np.zeros(len(own), np.int64)
    ups: list[Ints] = [np.empty(0, np.int64)]
    lasts: list[Ints] = [np.empty(0, np.int64)]
    count = len(labels)
    for level in ways.levels():
        up = ways.parent[level]
        prefix[level] = np.where(up >= 0, whole[up], source[level])
        keys, number = np.unique(prefix[level] * len(labels) + own[level], return_inverse=True)
        whole[level] = count + number
        ups.append(keys // len(labels))
        lasts.append(keys % len(labels))
        count += len(keys)
    return prefix, _Trie(labels, np.concatenate(ups), np.concatenate(lasts))


def _labelled(ways: Ways, by: By) -> tuple[Ints, Ints, list[str]]:
    """Labels of recipients and of teachers, as numbers."""
    own = ways.table.select(_label(by, "recipient", "kind", "role", "position").alias("label"))["label"]
    source = ways.table.select(
        _label(by, "teacher", "teacher_kind", "teacher_role", "teacher_position").alias("label")
    )["label"]
    labels = pl.concat([own, source]).unique().sort().to_list()
    number = {label: n for n, label in enumerate(labels)}
    numbers = [s.replace_strict(number, return_dtype=pl.Int64).to_numpy() for s in (own, source)]
    return numbers[0], numbers[1], labels


def _label(by: By, name: str, kind: str, role: str, position: str) -> pl.Expr:
    named = pl.col(name).fill_null("(unknown sender)")
    if by == "name":
        return named
    if by == "role":
        return pl.coalesce(role, named)
    placed = pl.when(pl.col(position) == "unknown").then(pl.lit("agent")).otherwise(pl.col(position))
    return (
        pl.when(pl.col(name).is_null()).then(named).when(pl.col(kind) == "agent").then(placed).otherwise(pl.col(kind))
    )


def relayers(ways: Ways) -> pl.DataFrame:
    """Who stood on the ways of unauthorised exposures, the busiest relay first.

    Returns:
        Columns actor, kind, relayed (exposures it stood between source and recipient of), taught (exposures it was the
        last sender of, having learned the value itself), sourced (exposures whose way begins with it), traces and
        values (of those it relayed).
    """
    bad = (ways.table["authorised"] == False).fill_null(False).to_numpy()  # noqa: E712
    weight = bad.astype(np.int64)
    table = ways.table.with_columns(
        pl.Series("relayed", ways.below(weight)), pl.Series("taught", _taught(ways, weight)), pl.Series("bad", bad)
    )
    passing = table.filter(pl.col("relayed") > 0)
    stood = passing.group_by(actor="recipient").agg(
        pl.col("kind").first(),
        pl.col("relayed", "taught").sum(),
        pl.col("trace").n_unique().alias("traces"),
        pl.col("value").n_unique().alias("values"),
    )
    begun = table.filter("bad").group_by(actor="source").agg(pl.len().alias("sourced"), _source_kind())
    whole = stood.join(begun, on="actor", how="full", coalesce=True, nulls_equal=True)
    counts = [pl.col(c).fill_null(0).cast(pl.Int64) for c in ("relayed", "taught", "sourced", "traces", "values")]
    chosen = whole.select("actor", pl.coalesce("kind", "source_kind").alias("kind"), *counts)
    return chosen.sort(["relayed", "sourced", "actor"], descending=[True, True, False])


def _source_kind() -> pl.Expr:
    kinds = {"initial": "agent", "unseen": "agent"}
    return pl.col("source_held").replace(kinds).first().alias("source_kind")


def _taught(ways: Ways, weight: Ints) -> Ints:
    out = np.zeros(len(weight), np.int64)
    below = ways.parent >= 0
    np.add.at(out, ways.parent[below], weight[below])
    return out
