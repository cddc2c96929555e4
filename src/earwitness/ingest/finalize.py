"""What can only be said once everything is read: rows of traces, order, aliases, undeclared actors, duplicates."""

import pyarrow as pa

from earwitness.ingest import consumption, links, passed, samerun
from earwitness.ingest.columns import array
from earwitness.ingest.record import Source
from earwitness.schema.case import Case
from earwitness.schema.tables import arrow_schema

_FIRST = (
    "source",
    "framework",
    "scenario",
    "domain",
    "topology",
    "model",
    "arm",
    "adversary",
    "horizon",
    "pair",
    "started_at",
    "request",
    "attributes",
)

# A repeated event is the same trace, id, sender, channel and text: overlapping exports, resumed files.
_REPEATS = """
    SELECT event FROM events WHERE event_id IS NOT NULL
    QUALIFY row_number() OVER (PARTITION BY trace, event_id, channel, sender, content ORDER BY event) > 1
"""

_DUPLICATES = """
    INSERT INTO records (source, line, "offset", pointer, outcome, reason)
    SELECT source, line, "offset", pointer, 'duplicate', 'the same event was read before' FROM events
    WHERE event IN (SELECT event FROM repeats) AND list_contains(?, source)
"""

# Who an undeclared party is follows from the channel; whoever sends a message is an agent whatever else it does.
_PARTIES = """
    INSERT INTO actors
    WITH seen AS (
        SELECT e.trace, e.sender AS actor,
               CASE e.channel WHEN 'C4' THEN 'tool' ELSE 'agent' END AS kind,
               CASE WHEN e.channel IN ('C4', 'C5') THEN 1 ELSE 0 END AS weak
        FROM events e WHERE e.sender IS NOT NULL
        UNION ALL
        SELECT e.trace, d.recipient,
               CASE e.channel WHEN 'C1' THEN 'user' WHEN 'C3' THEN 'tool' WHEN 'C5' THEN 'memory'
                    WHEN 'C6' THEN 'log' WHEN 'C7' THEN 'artifact_store' ELSE 'agent' END,
               CASE WHEN e.channel IN ('C2', 'C4') THEN 0 ELSE 1 END
        FROM events e JOIN deliveries d USING (event)
        UNION ALL
        SELECT trace, actor, 'agent', 0 FROM sightings WHERE actor IS NOT NULL
    )
    SELECT trace, actor, min_by(kind, weak), 'unknown', [], [], 'channel'
    FROM seen
    WHERE NOT EXISTS (SELECT 1 FROM actors a WHERE a.trace = seen.trace AND a.actor = seen.actor)
    GROUP BY trace, actor
"""

_ALIASES = """
    CREATE OR REPLACE TEMP TABLE alias AS
    SELECT trace, alias, any_value(actor) AS actor
    FROM (SELECT trace, actor, unnest(aliases) AS alias FROM actors)
    WHERE alias <> actor GROUP BY trace, alias HAVING count(DISTINCT actor) = 1
"""

_RENAMES = (
    "UPDATE events SET sender = a.actor FROM alias a WHERE events.trace = a.trace AND events.sender = a.alias",
    "UPDATE sightings SET actor = a.actor FROM alias a WHERE sightings.trace = a.trace AND sightings.actor = a.alias",
    """UPDATE deliveries SET recipient = a.actor FROM alias a, events e
       WHERE deliveries.event = e.event AND e.trace = a.trace AND deliveries.recipient = a.alias""",
    "DELETE FROM actors USING alias a WHERE actors.trace = a.trace AND actors.actor = a.alias",
)

_ORDER = """
    CREATE OR REPLACE TEMP TABLE ranked AS
    WITH loose AS (
        SELECT DISTINCT trace FROM events WHERE seq IS NULL UNION SELECT trace FROM sightings WHERE seq IS NULL
    ), steps AS (
        SELECT trace, 0 AS is_event, rowid AS id, seq, time, source, line, pointer
        FROM sightings JOIN loose USING (trace)
        UNION ALL
        SELECT trace, 1, event, seq, time, source, line, pointer FROM events JOIN loose USING (trace)
    )
    SELECT is_event, id,
           row_number() OVER (
               PARTITION BY trace ORDER BY seq NULLS LAST, time NULLS LAST, source, line, is_event, id) - 1 AS seq
    FROM steps
"""


def run(case: Case, traces: dict[str, int], sources: list[Source]) -> None:
    """Settle a finished import."""
    links.fold(case, traces)
    _merge_traces(case, traces)
    _merge_actors(case)
    _drop_repeats(case, sources)
    _resolve_aliases(case)
    case.execute(_PARTIES)
    _order(case)
    _drop_repeated_contents(case)
    consumption.resolve(case)
    links.find(case)
    passed.settle(case)
    samerun.find(case, sources)
    _write_sources(case, sources)


def _merge_traces(case: Case, traces: dict[str, int]) -> None:
    """One row a trace: the first known of every column; traces that only events name get a row of their own.

    Of what can be seen the first word of each source counts, and what one source can show the trace can.
    """
    names = {number: name for name, number in reversed(traces.items())}  # an id that was joined comes after its run's
    known = pa.table({"trace": pa.array(list(names), pa.int32()), "trace_id": array(list(names.values()), pa.string())})
    case.con.register("named", known)
    firsts = ", ".join(f"first({c} ORDER BY n) FILTER ({c} IS NOT NULL) AS {c}" for c in _FIRST)
    case.execute(f"""
        CREATE OR REPLACE TEMP TABLE merged AS
        WITH rows AS (
            SELECT rowid AS n, * FROM traces UNION ALL BY NAME
            SELECT 9223372036854775807 AS n, trace, trace_id FROM named
        ), stated AS (
            SELECT trace, first(observable ORDER BY n) AS channels
            FROM rows WHERE observable IS NOT NULL GROUP BY trace, source
        ), shown AS (
            SELECT trace, list_sort(list_distinct(flatten(list(channels)))) AS observable FROM stated GROUP BY trace
        ), known AS (
            SELECT trace, any_value(trace_id) AS trace_id, {firsts} FROM rows GROUP BY trace
        )
        SELECT * FROM known LEFT JOIN shown USING (trace)
    """)
    case.con.unregister("named")
    case.execute("DELETE FROM traces")
    case.execute("INSERT INTO traces BY NAME SELECT * FROM merged")
    case.execute("DROP TABLE merged")


def _merge_actors(case: Case) -> None:
    if not case.one("SELECT count(*) - count(DISTINCT (trace, actor)) FROM actors"):
        return
    case.execute("""
        CREATE OR REPLACE TEMP TABLE merged AS
        SELECT trace, actor, first(kind ORDER BY rowid) AS kind,
               coalesce(first(position ORDER BY rowid) FILTER (position <> 'unknown'), 'unknown') AS position,
               list_distinct(flatten(list(roles))) AS roles, list_distinct(flatten(list(aliases))) AS aliases,
               first(evidence ORDER BY rowid) AS evidence
        FROM actors GROUP BY trace, actor
    """)
    case.execute("DELETE FROM actors")
    case.execute("INSERT INTO actors SELECT * FROM merged")
    case.execute("DROP TABLE merged")


def _drop_repeats(case: Case, sources: list[Source]) -> None:
    """Repeated events leave the tables; where all a record gave was a repeat, the record becomes a `duplicate`."""
    case.execute(f"CREATE OR REPLACE TEMP TABLE repeats AS {_REPEATS}")
    if case.one("SELECT count(*) FROM repeats"):
        _mark_duplicates(case, sources)
        case.execute("DELETE FROM deliveries WHERE event IN (SELECT event FROM repeats)")
        case.execute("DELETE FROM events WHERE event IN (SELECT event FROM repeats)")
    case.execute("DROP TABLE repeats")


def _mark_duplicates(case: Case, sources: list[Source]) -> None:
    """Only a canonical line is an event and nothing else, so that a repeated event makes a duplicate record."""
    canonical = [s.number for s in sources if "canonical" in s.dialects]
    case.execute(_DUPLICATES, [canonical])
    counts = dict(case.rows("SELECT source, count(*) FROM records WHERE outcome = 'duplicate' GROUP BY source"))
    for source in sources:
        if source.number in canonical and source.number in counts:
            source.outcomes["duplicate"] = counts[source.number]
            source.settle()


def _resolve_aliases(case: Case) -> None:
    case.execute(_ALIASES)
    if case.one("SELECT count(*) FROM alias"):
        for statement in _RENAMES:
            case.execute(statement)
    case.execute("DROP TABLE alias")


def _order(case: Case) -> None:
    """A trace in which some step has no number is ordered by time, then by place in the file."""
    case.execute(_ORDER)
    if case.one("SELECT count(*) FROM ranked"):
        case.execute("UPDATE events SET seq = r.seq FROM ranked r WHERE r.is_event = 1 AND r.id = events.event")
        case.execute("UPDATE sightings SET seq = r.seq FROM ranked r WHERE r.is_event = 0 AND r.id = sightings.rowid")
    case.execute("DROP TABLE ranked")


def _drop_repeated_contents(case: Case) -> None:
    if case.one("SELECT count(*) - count(DISTINCT content) FROM contents"):
        case.execute("DELETE FROM contents WHERE rowid NOT IN (SELECT min(rowid) FROM contents GROUP BY content)")


def _write_sources(case: Case, sources: list[Source]) -> None:
    columns = {
        "source": [s.number for s in sources],
        "parent": [s.parent for s in sources],
        "name": [s.name.encode("utf-8", "backslashreplace").decode() for s in sources],
        "sha256": [s.sha256 for s in sources],
        "bytes": [s.bytes for s in sources],
        "container": [s.container for s in sources],
        "dialects": [sorted(s.dialects) for s in sources],
        "records": [s.records for s in sources],
        "problem": [s.problem for s in sources],
    }
    case.insert("sources", pa.table(columns, schema=arrow_schema("sources")))
    counts = [(s.number, outcome, n) for s in sources for outcome, n in sorted(s.outcomes.items()) if n]
    table = {"source": [c[0] for c in counts], "outcome": [c[1] for c in counts], "records": [c[2] for c in counts]}
    case.insert("outcomes", pa.table(table, schema=arrow_schema("outcomes")))
