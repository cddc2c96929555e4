"""What the order of each trace rests on: how many events have no time, and where clocks or causes contradict it."""

import polars as pl

from earwitness.schema.case import Case

_ORDER = """
    WITH steps AS (
        SELECT trace, seq, time, max(time) OVER (
                   PARTITION BY trace ORDER BY seq, event ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS latest,
               count(*) OVER (PARTITION BY trace, seq) AS beside
        FROM events
    ), causes AS (
        SELECT e.trace, count(*) AS n FROM events e JOIN events p ON p.trace = e.trace AND p.event_id = e.parent_id
        WHERE p.seq > e.seq GROUP BY e.trace
    )
    SELECT t.trace, t.trace_id, count(s.seq) AS events,
           count(*) FILTER (s.seq IS NOT NULL AND s.time IS NULL) AS untimed,
           count(*) FILTER (s.beside > 1) AS beside, count(*) FILTER (s.time < s.latest) AS backwards,
           coalesce(max(epoch_ns(s.latest) - epoch_ns(s.time)) FILTER (s.time < s.latest), 0) / 1e9 AS skew,
           coalesce(any_value(c.n), 0) AS late_causes
    FROM traces t LEFT JOIN steps s USING (trace) LEFT JOIN causes c USING (trace)
    GROUP BY t.trace, t.trace_id ORDER BY t.trace
"""


def order_quality(case: Case) -> pl.DataFrame:
    """How far the order of each trace can be trusted.

    Returns:
        Columns trace, trace_id, events, untimed (events without a time: their order is that of the record's numbers,
        or of the place in the file), beside (events that share their number with another, so that neither comes
        first), backwards (events whose time is earlier than that of one before), skew (the largest step back, in
        seconds), late_causes (events whose recorded parent comes after them).
    """
    return case.frame(_ORDER)
