"""The rows of a case that a dossier is made of: who was told, who had the value anyhow, in which forms, how long."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from earwitness.reports.shown import ISO, Row, Shown
from earwitness.schema.words import GRADES

_CHOSEN = "CREATE OR REPLACE TEMP TABLE chosen AS SELECT unnest(?::BIGINT[]) AS value"
_TOLD = f"""
    CREATE OR REPLACE TEMP TABLE told AS
    SELECT v.trace, v.value, v.event, v.recipient, v.channel, v.dynamic, v.dynamic_rule AS rule, f.sender,
           coalesce(v.grade, f.grade) AS grade, e.seq, e.time, e.content, v.standing
    FROM verdicts v JOIN chosen USING (value) JOIN events e ON e.event = v.event
    LEFT JOIN flows f ON f.event = v.event AND f.recipient IS NOT DISTINCT FROM v.recipient
    QUALIFY row_number() OVER (PARTITION BY v.event, v.value, v.recipient
                               ORDER BY v.standing, list_position({list(GRADES)}, f.grade), f.sender) = 1
"""
_GIVEN = f"""
    CREATE OR REPLACE TEMP TABLE given AS
    SELECT s.trace, a.value, a.agent, coalesce(p.position, 'unknown') AS position, s.seq,
           strftime(s.time, {ISO}) AS time, c.name, c.sha256, s.line,
           s."offset" AS place, s.pointer, m.start, m.stop
    FROM access a JOIN chosen USING (value) JOIN sightings s ON s.trace = a.trace AND s.kind = 'initial'
    LEFT JOIN aliases o ON o.alias = s.actor
    JOIN matches m ON m.content = s.content AND m.value = a.value AND m.standing = 'confirmed'
    JOIN sources c ON c.source = s.source
    LEFT JOIN parties p ON p.trace = a.trace AND p.actor = a.agent
    WHERE a.access = 'initial' AND a.agent = coalesce(o.actor, s.actor)
    QUALIFY row_number() OVER (PARTITION BY s.trace, a.value, a.agent ORDER BY s.seq, m.start, m.stop) = 1
"""
_HOLDERS = """
    WITH sure AS (SELECT * FROM told WHERE standing = 'confirmed'), ends AS (
        SELECT trace, value, recipient, count(DISTINCT event) AS times, arg_max(event, (seq, event)) AS last,
               arg_min(event, (seq, event)) FILTER (dynamic = 'sanitize') AS crossed
        FROM sure WHERE recipient IS NOT NULL GROUP BY ALL
    )
    SELECT x.trace, x.value, x.recipient, p.kind, x.position, x.learned, l.sender, l.channel, l.grade, x.authorised,
           d.rule, n.times, n.last, n.crossed
    FROM exposures x JOIN chosen USING (value)
    JOIN sure l ON l.event = x.learned AND l.value = x.value AND l.recipient = x.recipient
    JOIN sure d ON d.event = x.event AND d.value = x.value AND d.recipient = x.recipient
    JOIN ends n ON n.trace = x.trace AND n.value = x.value AND n.recipient = x.recipient
    LEFT JOIN parties p ON p.trace = x.trace AND p.actor = x.recipient
    ORDER BY x.trace, x.learned_seq, x.recipient, x.value
"""
# Who sent the value although the record shows nobody giving it to them before.
_UNTAUGHT = """
    SELECT t.trace, t.value, t.sender, any_value(p.kind), coalesce(any_value(p.position), 'unknown'),
           arg_min(t.event, (t.seq, t.event))
    FROM told t LEFT JOIN parties p ON p.trace = t.trace AND p.actor = t.sender
    LEFT JOIN exposures x ON x.trace = t.trace AND x.value = t.value AND x.recipient = t.sender
         AND x.learned_seq < t.seq
    LEFT JOIN given g ON g.trace = t.trace AND g.value = t.value AND g.agent = t.sender AND g.seq < t.seq
    WHERE t.standing = 'confirmed' AND t.sender IS NOT NULL AND x.exposure IS NULL AND g.seq IS NULL
    GROUP BY t.trace, t.value, t.sender ORDER BY ALL
"""
_WINDOWS = """
    SELECT trace, dynamic = 'sanitize' AS bad, count(DISTINCT event), arg_min(event, (seq, event)),
           arg_min(value, (seq, event)), arg_max(event, (seq, event)), arg_max(value, (seq, event)),
           (epoch_ns(max(time)) - epoch_ns(min(time))) / 1e9
    FROM told WHERE standing = 'confirmed'
    GROUP BY GROUPING SETS ((trace, dynamic = 'sanitize'), (trace)) ORDER BY ALL
"""
_NOBODY = """
    SELECT trace, value, event, channel, sender, dynamic, rule FROM told
    WHERE standing = 'confirmed' AND recipient IS NULL ORDER BY trace, seq, event, value
"""
_FORMS = """
    SELECT m.form, m.tier, t.standing, count(DISTINCT t.event), count(DISTINCT t.trace), min(t.event),
           arg_min(t.value, t.event)
    FROM told t JOIN matches m ON m.content = t.content AND m.value = t.value AND (m.event IS NULL OR m.event = t.event)
    GROUP BY m.form, m.tier, t.standing ORDER BY count(DISTINCT t.event) DESC, m.form, m.tier, t.standing
"""
_COPIES = """
    SELECT count(*) FROM sightings s JOIN matches m USING (content) JOIN chosen USING (value) JOIN vault w USING (value)
    JOIN traces t ON t.trace = s.trace
    WHERE m.standing = 'confirmed' AND m.event IS NULL
      AND (w.scope = 'case' OR w.trace = s.trace OR (w.scope = 'scenario' AND w.scenario = t.scenario))
"""


def find_given(shown: Shown, values: Sequence[int]) -> list[Row]:
    """Who was given some values at the start: rows with `trace`, `value`, `holder`, `position` and `at`."""
    shown.case.execute(_CHOSEN, [list(values)])
    shown.case.execute(_GIVEN)
    rows = shown.case.rows("SELECT * FROM given ORDER BY trace, seq, agent, value")
    return [
        {"trace": trace, "value": value, "holder": agent, "position": position, "at": shown.place(*place)}
        for trace, value, agent, position, *place in rows
    ]


class Found:
    """The rows a dossier is made of, fetched at once and grouped by trace."""

    def __init__(self, shown: Shown, values: Sequence[int]) -> None:
        self.shown, case = shown, shown.case
        case.execute(_CHOSEN, [list(values)])
        case.execute(_TOLD)
        given = find_given(shown, values)
        rows = {name: case.rows(query) for name, query in _QUERIES.items()}
        self.possible = int(case.one("SELECT count(*) FROM told WHERE standing = 'possible'"))
        self.copies = int(case.one(_COPIES))
        self.forms, self.values = case.rows(_FORMS), shown.values(values)
        self.given = _by_trace([tuple(row.values()) for row in given])
        self.places = shown.places({*_events(rows), *((row[5], row[6]) for row in self.forms)})
        self.holders, self.untaught, self.windows, self.nobody = (_by_trace(rows[name]) for name in _QUERIES)
        self.ids = shown.traces([*self.windows, *self.given])

    def at(self, event: int | None, value: int) -> Row | None:
        """When and where; None for no event."""
        return None if event is None else self.places[event, value]


_QUERIES = {"holders": _HOLDERS, "untaught": _UNTAUGHT, "windows": _WINDOWS, "nobody": _NOBODY}


def _by_trace(rows: Iterable[tuple[Any, ...]]) -> dict[int, list[tuple[Any, ...]]]:
    out: dict[int, list[tuple[Any, ...]]] = {}
    for row in rows:
        out.setdefault(row[0], []).append(row)
    return out


# Which columns of each query are an event and its value.
_POINTS = {
    "holders": ((5, 1), (12, 1), (13, 1)),
    "untaught": ((5, 1),),
    "windows": ((3, 4), (5, 6)),
    "nobody": ((2, 1),),
}


def _events(rows: dict[str, list[tuple[Any, ...]]]) -> Iterator[tuple[int, int]]:
    """Every event a row points to, with the value."""
    for name, columns in _POINTS.items():
        yield from ((row[e], row[v]) for row in rows[name] for e, v in columns if row[e] is not None)
