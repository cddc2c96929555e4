"""What an import made of each file: container, dialects, actors, channels, outcomes, losses. Never content."""

from collections.abc import Iterator
from typing import Any

from earwitness.reports.linked import link_counts_by_root, no_links
from earwitness.schema.case import Case
from earwitness.schema.words import CHANNELS

# Members of an archive count for the file that holds them.
_ROOTS = """
    CREATE OR REPLACE TEMP TABLE root AS
    WITH RECURSIVE up AS (
        SELECT source, source AS top, parent FROM sources
        UNION ALL SELECT up.source, s.source, s.parent FROM up JOIN sources s ON s.source = up.parent
    )
    SELECT source, top AS root FROM up WHERE parent IS NULL
"""
_FILES = """
    SELECT r.root, any_value(s.name) FILTER (s.source = r.root) AS file,
           string_agg(DISTINCT s.container, ', ' ORDER BY s.container) AS container,
           list_sort(list_distinct(flatten(list(s.dialects)))) AS dialects, sum(s.records)::BIGINT AS records,
           list(DISTINCT s.problem) FILTER (s.problem IS NOT NULL) AS problems, count(*) - 1 AS members
    FROM root r JOIN sources s USING (source) GROUP BY r.root ORDER BY r.root
"""
_COUNTS = {
    "outcomes": "SELECT root, outcome, sum(records)::BIGINT FROM outcomes JOIN root USING (source) "
    "GROUP BY ALL ORDER BY ALL",
    "channels": "SELECT root, channel, count(*) FROM events JOIN root USING (source) GROUP BY ALL ORDER BY ALL",
    "sightings": "SELECT root, 'n', count(*) FROM sightings JOIN root USING (source) GROUP BY ALL",
    "reasons": "SELECT root, reason, count(*) FROM records JOIN root USING (source) GROUP BY ALL ORDER BY 3 DESC, 2",
    "losses": """SELECT root, l.kind, sum(l.n)::BIGINT FROM losses l JOIN traces t USING (trace)
                 JOIN root ON root.source = t.source
                 GROUP BY ALL ORDER BY ALL""",
    "grades": """SELECT root, coalesce(d.grade, 'none'), count(*) FROM events e JOIN root USING (source)
                 LEFT JOIN deliveries d USING (event) GROUP BY ALL ORDER BY ALL""",
}
_ACTORS = """
    SELECT DISTINCT root, actor, kind, coalesce(evidence, 'declared') AS evidence, count(DISTINCT trace) FROM (
        SELECT DISTINCT root, trace FROM events JOIN root USING (source)
        UNION SELECT DISTINCT root, trace FROM sightings JOIN root USING (source)) JOIN actors USING (trace)
    GROUP BY ALL ORDER BY ALL
"""
_MANY_ACTORS = 200


def inspect(case: Case) -> Iterator[dict[str, Any]]:
    """One object a file; `outcomes` sums to `records`."""
    case.execute(_ROOTS)
    counts = {name: _by_root(case.rows(query)) for name, query in _COUNTS.items()}
    actors = _by_root_list(case.rows(_ACTORS))
    links = link_counts_by_root(case)
    for root, file, container, dialects, records, problems, members in case.rows(_FILES):
        channels = counts["channels"].get(root, {})
        yield {
            "file": file,
            "container": container,
            "members": members,
            "dialects": dialects or [],
            "records": records,
            "outcomes": counts["outcomes"].get(root, {}),
            "events": sum(channels.values()),
            "sightings": counts["sightings"].get(root, {}).get("n", 0),
            "channels": {c: channels.get(c, 0) for c in CHANNELS},
            "recipients": counts["grades"].get(root, {}),
            "actors": actors.get(root, [])[:_MANY_ACTORS],
            "losses": counts["losses"].get(root, {}),
            "links": links.get(root, no_links()),
            "not_mapped": counts["reasons"].get(root, {}),
            "problems": problems or [],
        }


def _by_root(rows: list[tuple[Any, ...]]) -> dict[int, dict[str, int]]:
    out: dict[int, dict[str, int]] = {}
    for root, key, n in rows:
        out.setdefault(root, {})[key] = n
    return out


def _by_root_list(rows: list[tuple[Any, ...]]) -> dict[int, list[dict[str, Any]]]:
    out: dict[int, list[dict[str, Any]]] = {}
    for root, actor, kind, evidence, traces in rows:
        out.setdefault(root, []).append({"actor": actor, "kind": kind, "evidence": evidence, "traces": traces})
    return out
