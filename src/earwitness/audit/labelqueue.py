"""What annotators are asked: (event, value) pairs drawn evenly over strata, channels and types of value.

The draw is fixed by its seed and by the ids of the pairs, so that a case that grew a little gives nearly the same
queue. Annotators see neither stratum nor finding.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa

from earwitness.audit.labelfile import EVENT_NAME
from earwitness.audit.strata import DETECTED, KNOWS, prepare, stratum
from earwitness.schema.case import Case
from earwitness.schema.tables_labels import LABELLED

# So many pairs nobody found anything in are looked through; of more, an evenly drawn part.
_MOST = 1_000_000

# Every event beside every value in its scope: one equi-join a scope.
_UNIVERSE = f"""
    CREATE OR REPLACE TEMP TABLE pair AS
    WITH placed AS (SELECT e.*, t.scenario FROM events e JOIN traces t USING (trace)),
    held AS (
        SELECT e.event, v.value FROM placed e JOIN vault v ON v.scope = 'trace' AND v.trace = e.trace
        UNION ALL
        SELECT e.event, v.value FROM placed e JOIN vault v ON v.scope = 'scenario' AND v.scenario = e.scenario
        UNION ALL
        SELECT e.event, v.value FROM placed e CROSS JOIN (SELECT value FROM vault WHERE scope = 'case') v
    ), hit AS (
        SELECT e.event, m.value, min(m.tier) AS tier, min(m.standing) AS standing
        FROM events e JOIN {DETECTED} m ON m.content = e.content AND (m.event IS NULL OR m.event = e.event) GROUP BY ALL
    )
    SELECT h.event, h.value, {stratum("i.tier", "i.standing", "a.kind", "k.seq")} AS stratum
    FROM held h JOIN events e USING (event) LEFT JOIN hit i ON i.event = h.event AND i.value = h.value
    LEFT JOIN aliases al ON al.alias = e.sender
    LEFT JOIN parties a ON a.trace = e.trace AND a.actor = coalesce(al.actor, e.sender)
    LEFT JOIN {KNOWS} k ON k.trace = e.trace AND k.value = h.value AND k.actor = coalesce(al.actor, e.sender)
        AND k.seq < e.seq
    WHERE i.event IS NOT NULL OR {{thin}} = 1 OR hash(h.event, h.value) % {{thin}} = 0
"""
_KEY = f"concat_ws('|', t.trace_id, {EVENT_NAME}, v.attribute, v.fingerprint)"
# Fingerprints differ from case to case; the lot is drawn by the value itself, and never shown.
_LOT = f"concat_ws('|', t.trace_id, {EVENT_NAME}, v.attribute, v.text)"
# The same value may stand in a vault twice; annotators get it once.
_DRAW = f"""
    SELECT DISTINCT ON (item) left(md5({_KEY}), 12) AS item, md5(? || '|' || {_LOT}) AS lot, t.trace_id,
           {EVENT_NAME} AS event, v.attribute, v.fingerprint, p.stratum, e.channel, v.value_type
    FROM pair p JOIN events e ON e.event = p.event JOIN traces t USING (trace) JOIN vault v ON v.value = p.value
    WHERE left(md5({_KEY}), 12) NOT IN (SELECT item FROM queue)
    QUALIFY row_number() OVER (PARTITION BY p.stratum, e.channel, v.value_type ORDER BY lot) <= ?
    ORDER BY item
"""


class Item(NamedTuple):
    """A pair an annotator is asked about."""

    item: str
    lot: str
    trace: str
    event: str
    attribute: str
    fingerprint: str
    stratum: str
    channel: str
    value_type: str


class Shown(NamedTuple):
    """What is needed to show a pair: the text, where the value was found in it if it was, and where it stands."""

    item: str
    channel: str
    attribute: str
    fingerprint: str
    value_type: str
    value: int
    written: str
    text: str
    start: int | None
    stop: int | None
    trace: str
    event: str
    source: str | None
    line: int | None
    pointer: str | None


def draw(case: Case, n: int, seed: str = "1") -> tuple[list[Item], dict[str, int]]:
    """Draw `n` pairs that are not in the queue yet and put them there; gives them, and the size of each stratum.

    Strata are of the pairs looked through: where the case holds more than a million without a finding, of a part.
    """
    prepare(case)
    case.execute(_UNIVERSE.format(thin=max(1, -(-_size(case) // _MOST))))
    sizes = dict(case.rows("SELECT stratum, count(*) FROM pair GROUP BY ALL ORDER BY ALL"))
    drawn = sorted(_evenly([Item(*row) for row in case.rows(_DRAW, [seed, n])], n), key=lambda i: i.lot)
    case.execute("DROP TABLE pair")
    _put(case, drawn)
    return drawn, sizes


def _size(case: Case) -> int:
    """Number of pairs of event and value in scope."""
    return int(
        case.one("""
        WITH per_trace AS (SELECT e.trace, any_value(t.scenario) AS scenario, count(*) AS n
                           FROM events e JOIN traces t USING (trace) GROUP BY e.trace),
        own AS (SELECT trace, count(*) AS n FROM vault WHERE scope = 'trace' GROUP BY trace),
        shared AS (SELECT scenario, count(*) AS n FROM vault WHERE scope = 'scenario' GROUP BY scenario)
        SELECT coalesce(sum(p.n * (coalesce(o.n, 0) + coalesce(s.n, 0)
               + (SELECT count(*) FROM vault WHERE scope = 'case'))), 0)::BIGINT
        FROM per_trace p LEFT JOIN own o USING (trace) LEFT JOIN shared s ON s.scenario = p.scenario""")
    )


def _evenly(items: Sequence[Item], n: int) -> Iterator[Item]:
    """One of each cell in turn, until there are enough or none are left."""
    cells: dict[tuple[str, str, str], list[Item]] = defaultdict(list)
    for item in sorted(items, key=lambda i: i.lot):
        cells[item.stratum, item.channel, item.value_type].append(item)
    rounds = max((len(c) for c in cells.values()), default=0)
    in_turn = (cells[key][turn] for turn in range(rounds) for key in sorted(cells) if turn < len(cells[key]))
    for _, item in zip(range(n), in_turn, strict=False):
        yield item


def _put(case: Case, drawn: Sequence[Item]) -> None:
    schema = next(t.arrow for t in LABELLED if t.name == "queue")
    first = int(case.one("SELECT coalesce(max(place), -1) + 1 FROM queue"))
    columns = {n: [getattr(i, n) for i in drawn] for n in schema.names if n != "place"}
    case.insert("queue", pa.table({**columns, "place": list(range(first, first + len(drawn)))}, schema=schema))


_SHOWN = f"""
    SELECT q.item, e.channel, q.attribute, q.fingerprint, q.value_type, v.value, v.text, c.text, m.start, m.stop,
           q.trace, q.event, s.name, e.line, e.pointer
    FROM queue q JOIN traces t ON t.trace_id = q.trace
    JOIN events e ON e.trace = t.trace AND {EVENT_NAME} = q.event
    JOIN vault v ON v.fingerprint = q.fingerprint AND v.attribute = q.attribute
        AND (v.scope = 'case' OR v.trace = e.trace OR (v.scope = 'scenario' AND v.scenario = t.scenario))
    JOIN contents c ON c.content = e.content LEFT JOIN sources s ON s.source = e.source
    LEFT JOIN {DETECTED} m ON m.content = e.content AND m.value = v.value AND (m.event IS NULL OR m.event = e.event)
    WHERE q.item IN (SELECT unnest(?::VARCHAR[]))
    QUALIFY row_number() OVER (PARTITION BY q.item ORDER BY m.standing, m.confidence DESC, v.value) = 1
    ORDER BY q.place
"""


def shown(case: Case, items: Sequence[str]) -> list[Shown]:
    """What is needed to show pairs of the queue, in its order. Texts and values are in clear: mask them."""
    prepare(case)
    return [Shown(*row) for row in case.rows(_SHOWN, [list(items)])]
