"""Export of a case as canonical JSONL: importing it again gives the same case."""

from collections.abc import Iterator
from typing import Any, BinaryIO

import msgspec

from earwitness.schema.case import Case
from earwitness.schema.model import Actor, Delivery, Event, Item, Label, Link, Loss, Rule, Sighting, Trace, Value
from earwitness.schema.times import to_iso

_CHUNK = 5_000

Queries = tuple[tuple[type, str], ...]
QUERIES: Queries = (
    (
        Trace,
        """SELECT trace_id AS id, framework, scenario, domain, topology, model, arm, adversary, horizon, pair,
                  epoch_ns(started_at) AS started_at, request, observable, attributes FROM traces ORDER BY trace""",
    ),
    (
        Actor,
        """SELECT trace_id AS trace, actor AS name, kind, position, roles, aliases, evidence
           FROM actors JOIN traces USING (trace) ORDER BY trace, name""",
    ),
    (
        Rule,
        """SELECT effect, rule_id AS id, trace_id AS trace, r.scenario, attributes, value_types, subjects, channels,
                  recipients, roles, kinds, positions
           FROM rules r LEFT JOIN traces t ON r.trace = t.trace WHERE r.origin = 'trace' ORDER BY rule""".replace(
            "attributes, value_types", "r.attributes, value_types"
        ),
    ),
    (
        Value,
        """SELECT attribute, text AS value, CASE type_origin WHEN 'given' THEN value_type END AS value_type, subject,
                  trace_id AS trace, v.scenario, aliases
           FROM vault v LEFT JOIN traces t ON v.trace = t.trace WHERE v.origin = 'trace' ORDER BY v.value""",
    ),
    (
        Sighting,
        """SELECT trace_id AS trace, text AS content, actor, kind, seq, epoch_ns(time) AS time, event_id AS event
           FROM sightings s JOIN traces t USING (trace) JOIN contents USING (content)
           ORDER BY t.trace, seq, s.source, line, pointer""",
    ),
    (
        Event,
        """SELECT trace_id AS trace, channel, text AS content, event_id AS id, seq,
                  epoch_ns(time) AS time, e.kind, sender,
                  d.to, parent_id AS parent, turn, archetype, flags, e.attributes
           FROM events e JOIN traces t USING (trace) JOIN contents USING (content)
           LEFT JOIN (SELECT event,
                             list({'actor': recipient, 'grade': grade, 'delivered': delivered} ORDER BY rowid) AS to
                      FROM deliveries GROUP BY event) d USING (event)
           ORDER BY t.trace, seq, event""",
    ),
    (Loss, "SELECT trace_id AS trace, kind, channel, n, detail FROM losses JOIN traces USING (trace) ORDER BY ALL"),
    (
        Link,
        """SELECT trace_id AS trace, other, kind, joined, n FROM links JOIN traces USING (trace)
           ORDER BY links.trace, other, kind, joined""",
    ),
    (
        Label,
        """SELECT trace_id AS trace, event_id AS event,
                  list(attribute ORDER BY attribute) FILTER (attribute IS NOT NULL) AS leaked
           FROM labels JOIN traces t USING (trace) GROUP BY trace, trace_id, event_id ORDER BY trace, event_id""",
    ),
)


def export(case: Case, out: BinaryIO) -> int:
    """Write a case as canonical JSONL; gives the number of lines. Protected values and texts are written in clear."""
    lines = 0
    for item in items(case):
        out.write(msgspec.json.encode(item) + b"\n")
        lines += 1
    return lines


def items(case: Case, queries: Queries = QUERIES) -> Iterator[Item]:
    """The items of a case: traces, actors, rules, values, sightings, events, losses, links, labels."""
    for kind, query in queries:
        relation = case.con.execute(query)
        names = [c[0] for c in relation.description]
        while rows := relation.fetchmany(_CHUNK):
            for row in rows:
                yield _item(kind, dict(zip(names, row, strict=True)))


def _item(kind: type, row: dict[str, Any]) -> Item:
    # An empty list of observable channels says something: nothing can be seen.
    given = {k: v for k, v in row.items() if v is not None and (v != [] or k == "observable")}
    for key in ("time", "started_at"):
        if key in given:
            given[key] = to_iso(given[key])
    if "attributes" in given and isinstance(given["attributes"], str):
        given["attributes"] = msgspec.json.decode(given["attributes"])
    if "to" in given:
        given["to"] = tuple(_delivery(d) for d in given["to"])
    return kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in given.items()})  # type: ignore[no-any-return]


def _delivery(row: dict[str, Any]) -> str | Delivery:
    """A recipient the record declared is written as its bare name."""
    plain = row["grade"] == "declared" and row["delivered"]
    return str(row["actor"]) if plain else Delivery(**row)
