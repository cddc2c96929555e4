"""Structural features of runs: how often, how long, who and when; never what. One row a trace, one query for all.

No feature reads a word of a text or anything of a value. Lengths are of texts, which may hold a value: a longer value
makes a longer text, and the length check of the study says how far that goes.
"""

from typing import NamedTuple

import polars as pl

from earwitness.schema.case import Case
from earwitness.schema.words import CHANNEL_TITLES

_EVENTS = """
    CREATE OR REPLACE TEMP TABLE ds_event AS
    SELECT e.event, e.trace, e.seq, e.channel, e.kind, coalesce(a.actor, e.sender) AS sender, e.turn, e.archetype,
           coalesce(list_contains(e.flags, 'failed'), false) AS failed, length(c.text) AS size,
           epoch_ns(e.time) / 1e9 AS second, p.position,
           row_number() OVER w AS place, lag(coalesce(a.actor, e.sender)) OVER w AS before,
           epoch_ns(e.time) / 1e9 - lag(epoch_ns(e.time) / 1e9) OVER w AS gap
    FROM events e JOIN contents c USING (content) LEFT JOIN aliases a ON a.alias = e.sender
    LEFT JOIN parties p ON p.trace = e.trace AND p.actor = coalesce(a.actor, e.sender)
    WINDOW w AS (PARTITION BY e.trace ORDER BY e.seq, e.event)
"""
_EDGES = """
    CREATE OR REPLACE TEMP TABLE ds_edge AS
    SELECT f.trace, f.sender, f.recipient, count(DISTINCT f.event) AS n, any_value(p.kind) AS kind
    FROM flows f LEFT JOIN parties p ON p.trace = f.trace AND p.actor = f.recipient
    WHERE f.sender IS NOT NULL AND f.recipient IS NOT NULL GROUP BY f.trace, f.sender, f.recipient
"""


class Feature(NamedTuple):
    """A feature: name, SQL over the events of a trace or over its edges, what it says."""

    name: str
    sql: str
    doc: str
    of: str = "event"


def _channels() -> list[Feature]:
    return [
        Feature(f"events_{c.lower()}", f"count(*) FILTER (channel = '{c}')", f"events on {c}, {title}")
        for c, title in CHANNEL_TITLES.items()
    ]


def _lengths() -> list[Feature]:
    return [
        Feature(f"length_{c.lower()}", f"avg(size) FILTER (channel = '{c}')", f"mean characters of a text on {c}")
        for c in ("C1", "C2", "C3", "C4", "C6")
    ]


def _archetypes() -> list[Feature]:
    return [
        Feature(
            f"archetype_{a.lower()}",
            f"count(*) FILTER (archetype = '{a}')",
            f"events annotated with archetype {a}",
        )
        for a in ("BASE", "A", "B", "C", "D", "E", "F", "G")
    ]


_CHANGED = "before IS NOT NULL AND before <> sender"
FEATURES: tuple[Feature, ...] = (
    Feature("events", "count(*)", "events"),
    *_channels(),
    Feature("failed", "count(*) FILTER (failed)", "events that failed"),
    Feature("kinds", "count(DISTINCT kind)", "distinct kinds of events"),
    Feature("kind_entropy", "entropy(kind)", "entropy of kinds, bits"),
    Feature("channel_entropy", "entropy(channel)", "entropy of channels, bits"),
    Feature("senders", "count(DISTINCT sender)", "distinct senders"),
    Feature("sender_entropy", "entropy(sender)", "entropy of senders, bits"),
    Feature("introduced", "count(*) FILTER (position = 'introduced')", "events by senders the topology introduced"),
    Feature("speaker_changes", f"count(*) FILTER ({_CHANGED})", "events whose sender is not that of the one before"),
    Feature("turns", "count(DISTINCT turn)", "distinct turns"),
    Feature("events_per_turn", "count(turn) / nullif(count(DISTINCT turn), 0)", "events of a turn, mean"),
    Feature("archetypes", "count(DISTINCT archetype)", "distinct archetypes"),
    *_archetypes(),
    Feature("tool_calls_annotated", "count(*) FILTER (channel = 'C3' AND archetype <> 'BASE')",
            "tool calls in turns of an archetype other than BASE"),
    Feature("length_total", "sum(size)", "characters of all texts"),
    Feature("length_mean", "avg(size)", "mean characters of a text"),
    Feature("length_median", "median(size)", "median characters of a text"),
    Feature("length_longest", "max(size)", "characters of the longest text"),
    Feature("length_spread", "stddev_pop(size)", "standard deviation of characters of a text"),
    *_lengths(),
    Feature("first_output", "min(place) FILTER (channel = 'C1') / count(*)", "place of the first output, 0 to 1"),
    Feature("first_tool_call", "min(place) FILTER (channel = 'C3') / count(*)", "place of the first tool call, 0 to 1"),
    Feature("duration", "max(second) - min(second)", "seconds from the first to the last event"),
    Feature("gap_mean", "avg(gap)", "seconds between events, mean"),
    Feature("gap_longest", "max(gap)", "seconds between events, most"),
    Feature("gap_spread", "stddev_pop(gap)", "standard deviation of seconds between events"),
    Feature("edges", "count(*)", "distinct pairs of sender and recipient", "edge"),
    Feature("deliveries", "sum(n)", "events delivered, once for each recipient", "edge"),
    Feature("recipients", "count(DISTINCT recipient)", "distinct recipients", "edge"),
    Feature("tools", "count(DISTINCT recipient) FILTER (kind = 'tool')", "distinct tools called", "edge"),
    Feature("edge_repeats", "max(n)", "events on the busiest edge", "edge"),
    Feature("edge_spread", "stddev_pop(n)", "standard deviation of events on an edge", "edge"),
    Feature("mutual", "count(*) FILTER (mutual)", "edges whose other direction occurred, too", "edge"),
)  # fmt: skip
NAMES = tuple(f.name for f in FEATURES)


def features(case: Case) -> pl.DataFrame:
    """One row a trace that has events: `trace`, and each feature as a float; what a trace has nothing of is 0."""
    case.execute(_EVENTS)
    case.execute(_EDGES)
    told = {of: ", ".join(f'{f.sql} AS "{f.name}"' for f in FEATURES if f.of == of) for of in ("event", "edge")}
    frame = case.frame(f"""
        WITH edge AS (
            SELECT e.*, b.sender IS NOT NULL AS mutual FROM ds_edge e LEFT JOIN ds_edge b
            ON b.trace = e.trace AND b.sender = e.recipient AND b.recipient = e.sender)
        SELECT * FROM (SELECT trace, {told["event"]} FROM ds_event GROUP BY trace)
        LEFT JOIN (SELECT trace, {told["edge"]} FROM edge GROUP BY trace) USING (trace) ORDER BY trace""")
    for name in ("ds_event", "ds_edge"):
        case.execute(f"DROP TABLE {name}")
    return frame.select("trace", *(pl.col(n).cast(pl.Float64).fill_null(0.0).fill_nan(0.0) for n in NAMES))
