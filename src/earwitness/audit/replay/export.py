"""Sanitized traces: what a replayed condition would have delivered, laid out for writing.

The sanitizer acts on what is sent. So each event gets the text of its recipients, and is split where they would have
had different ones. A later copy of a delivery gets the text that its actor received. What no sanitizer ever saw
(initial inputs, contexts that are no copy, messages that never arrived) is withheld where something sensitive stands
in it, or kept as recorded if that is asked for.

Temporary tables:

- `rx_sent` (event, recipient, content, shown): deliveries, the text as recorded and as delivered.
- `rx_cut` (shown, text): texts without what their senders would never have had.
- `rx_event` (copy, event, part, parts, id, shown): events to write; `shown` NULL is withheld.
- `rx_to` (event, part, actor, grade, delivered, nth): their recipients, as recorded.
- `rx_seen` (sighting, id, shown): sightings to write; `shown` NULL is withheld.
- `rx_found`, `rx_left`, `rx_new`: what an audit will find there (`introduced`).
"""

from dataclasses import dataclass
from typing import Any

from earwitness.audit.replay.condition import Mode, Setting
from earwitness.audit.replay.introduced import find_introduced, reasons
from earwitness.audit.replay.reread import hold_back_evidence
from earwitness.audit.replay.unpassed import cut_unpassed
from earwitness.audit.rulesets import RuleSet
from earwitness.schema.case import Case
from earwitness.schema.errors import CaseError

# What stands in the place of a text that nobody gets to see.
WITHHELD = "[withheld]"


@dataclass(frozen=True)
class Ask:
    """Which sanitized traces.

    Attributes:
        condition: name of a replayed condition.
        setting: which recipients counted as known.
        mode: each event by itself, or with what was sanitized not passed on.
        keep: what no sanitizer saw stays as recorded.
    """

    condition: str
    setting: Setting
    mode: Mode = "independent"
    keep: bool = False


@dataclass(frozen=True)
class LaidOut:
    """What was laid out, in numbers.

    An audit of it finds `remaining`, `allowed`, `introduced` and `introduced_allowed`, less `unconfirmed`.

    Attributes:
        events: events to write.
        split: recorded events of which several were made, since their recipients would have had different texts.
        changed: events to write whose text is not as recorded.
        withheld_events: events that were never delivered and whose text is withheld.
        sightings: sightings to write.
        withheld_sightings: those whose text is withheld.
        remaining: occurrences that should be sanitized and are still there.
        allowed: occurrences that should be allowed and are still there.
        introduced: occurrences that the record did not have and that should be sanitized, and
        introduced_allowed: those that should be allowed.
        introduced_by: how many of both there are, by why.
        unconfirmed: of what is still there, what only a judge or a person had confirmed and registry and forms do not.
        differing: occurrences on which the replay and an audit of what is laid out differ; none, or there is a fault.
    """

    events: int
    split: int
    changed: int
    withheld_events: int
    sightings: int
    withheld_sightings: int
    remaining: int
    allowed: int
    introduced: int
    introduced_allowed: int
    unconfirmed: int
    differing: int
    introduced_by: dict[str, int]


_PLAN = "d.condition = $condition AND d.setting = $setting"
_SENT = f"""
    CREATE OR REPLACE TEMP TABLE rx_sent AS
    SELECT DISTINCT f.event, f.recipient, f.content,
           CASE WHEN t.text IS NULL THEN f.content ELSE t.changed END AS shown
    FROM flows f
    LEFT JOIN replay_deliveries d ON d.event = f.event AND d.recipient IS NOT DISTINCT FROM f.recipient AND {_PLAN}
    LEFT JOIN replay_texts t ON t.variant = d.variant
"""
# Something stands in these texts that a registry or a recognizer knows, or that this condition acts on.
_SENSITIVE = """
    CREATE OR REPLACE TEMP TABLE rx_sensitive AS
    SELECT content FROM matches UNION SELECT content FROM detections UNION SELECT content FROM replay_found
    UNION SELECT content FROM rx_sent WHERE shown <> content
"""
# Order and numbers are those in which a replay reads the messages of a sender.
_EVENTS = """
    CREATE OR REPLACE TEMP TABLE rx_event AS
    WITH text AS (
        SELECT DISTINCT event, shown FROM rx_sent
        UNION ALL
        SELECT event, CASE WHEN $keep OR content NOT IN (SELECT content FROM rx_sensitive) THEN content END
        FROM events WHERE event NOT IN (SELECT event FROM rx_sent)
    ), part AS (
        SELECT event, shown, row_number() OVER (PARTITION BY event ORDER BY shown) AS part,
               count(*) OVER (PARTITION BY event) AS parts FROM text
    ), named AS (
        SELECT p.*, e.trace, e.seq,
               coalesce(e.event_id, 'event-' || p.event) || CASE WHEN part > 1 THEN '~' || part ELSE '' END AS id
        FROM part p JOIN events e USING (event)
    )
    SELECT row_number() OVER (ORDER BY trace, seq, event, part) - 1 AS copy, event, part, parts, shown,
           CASE WHEN row_number() OVER (PARTITION BY trace, id ORDER BY event, part) = 1 THEN id
                ELSE id || '~event-' || event || '-' || part END AS id
    FROM named
"""
# Who did not receive it, as the record says, stands beside the first text.
_TO = """
    CREATE OR REPLACE TEMP TABLE rx_to AS
    SELECT d.event, coalesce(v.part, 1) AS part, d.recipient AS actor, d.grade, d.delivered, d.rowid AS nth
    FROM deliveries d LEFT JOIN aliases a ON a.alias = d.recipient
    LEFT JOIN rx_sent s ON s.event = d.event AND s.recipient = coalesce(a.actor, d.recipient) AND d.delivered
    LEFT JOIN rx_event v ON v.event = s.event AND v.shown = s.shown
"""
# A copy of what its actor received is that text. Of several the one it names, then the latest.
_SEEN = """
    CREATE OR REPLACE TEMP TABLE rx_seen AS
    WITH seen AS (
        SELECT s.rowid AS sighting, s.trace, coalesce(a.actor, s.actor) AS actor, s.seq, s.content, s.event_id
        FROM sightings s LEFT JOIN aliases a ON a.alias = s.actor
    ), received AS (
        SELECT s.sighting, arg_max(struct_pack(event := e.event, shown := x.shown),
                       (coalesce(e.event_id = s.event_id, false), e.seq, e.event)) AS r
        FROM seen s JOIN events e ON e.trace = s.trace AND e.content = s.content AND e.seq <= s.seq
        JOIN rx_sent x ON x.event = e.event AND x.recipient = s.actor GROUP BY s.sighting
    ), meant AS (
        SELECT s.sighting, min(e.event) AS event,
               bool_or(e.event IN (SELECT event FROM rx_sent WHERE shown <> content)) AS changed
        FROM seen s JOIN events e ON e.trace = s.trace AND e.event_id = s.event_id GROUP BY s.sighting
    )
    SELECT s.sighting, coalesce(v.id, w.id, s.event_id) AS id,
           CASE WHEN r.r IS NOT NULL THEN r.r.shown
                WHEN $keep OR NOT coalesce(m.changed, false) AND s.content NOT IN (SELECT content FROM rx_sensitive)
                THEN s.content END AS shown
    FROM seen s LEFT JOIN received r USING (sighting) LEFT JOIN meant m USING (sighting)
    LEFT JOIN rx_event v ON v.event = r.r.event AND v.shown = r.r.shown AND s.event_id IS NOT NULL
    LEFT JOIN rx_event w ON w.event = m.event AND w.part = 1
"""
_REMAINING = f"""
    SELECT count(*) FILTER (truth = 'sanitize'), count(*) FILTER (truth = 'allow') FROM replays d
    WHERE {_PLAN} AND CASE WHEN $mode = 'propagate' THEN downstream ELSE remains END
"""
_COUNTS = """
    SELECT count(*), count(DISTINCT v.event) FILTER (parts > 1),
           count(*) FILTER (v.shown IS NOT NULL AND v.shown <> e.content), count(*) FILTER (v.shown IS NULL)
    FROM rx_event v JOIN events e USING (event)
"""
TABLES = ("rx_sent", "rx_cut", "rx_event", "rx_to", "rx_seen", "rx_found", "rx_left", "rx_new")


def lay_out(case: Case, ask: Ask, rules: RuleSet) -> LaidOut:
    """Leave the tables of sanitized traces; nothing of the case is changed.

    Args:
        case: after a replay of the condition.
        ask: what is wanted.
        rules: those of the audit.

    Raises:
        CaseError: that condition was not replayed, or not since the last audit.
    """
    check_replayed(case, ask.condition, ask.setting)
    plan = {"condition": ask.condition, "setting": ask.setting}
    case.execute(_SENT, plan)
    case.execute("CREATE OR REPLACE TEMP TABLE rx_cut (shown UUID, text VARCHAR)")
    if ask.mode == "propagate":
        cut_unpassed(case, ask.condition, ask.setting, rules)
    case.execute(_SENSITIVE)
    case.execute(_EVENTS, {"keep": ask.keep})
    case.execute(_TO)
    case.execute(_SEEN, {"keep": ask.keep})
    case.execute("DROP TABLE rx_sensitive")
    hold_back_evidence(case)
    told = find_introduced(case, plan | {"mode": ask.mode}, rules, WITHHELD)
    seen = case.rows("SELECT count(*), count(*) FILTER (shown IS NULL) FROM rx_seen")[0]
    left = case.rows(_REMAINING, plan | {"mode": ask.mode})[0]
    numbers: list[Any] = [*case.rows(_COUNTS)[0], *seen, *left, *told, reasons(case)]
    return LaidOut(*numbers)


def drop(case: Case) -> None:
    """Let go of what `lay_out` left."""
    for table in TABLES:
        case.execute(f"DROP TABLE IF EXISTS {table}")


_LAST = "SELECT coalesce(max(run), -1) FROM runs WHERE stage = ?"


def check_replayed(case: Case, condition: str | None = None, setting: str | None = None) -> None:
    """Refuse a case whose replay is missing, older than its audit, or of other conditions.

    Raises:
        CaseError: saying which, and what to run.
    """
    name = case.path or "case"
    if not case.count("replays") and case.one(_LAST, ["replay"]) < 0:
        raise CaseError(f"{name}: nothing was replayed; run `earwitness replay {name}`")
    if case.one(_LAST, ["replay"]) < case.one(_LAST, ["decide"]):
        raise CaseError(f"{name}: was audited anew since the last replay; run `earwitness replay {name}` again")
    if condition is None:
        return
    known = replayed(case)
    if not known:
        raise CaseError(f"{name}: the last replay has no occurrence on which a policy rules; nothing to go by")
    if (condition, setting or known[0][1]) not in known and not (setting is None and condition in dict(known)):
        told = ", ".join(f"{c} ({s})" for c, s in known)
        raise CaseError(f"{name}: that condition was not replayed with those recipients; there are: {told}")


def replayed(case: Case) -> list[tuple[str, str]]:
    """Condition and setting of what the last replay holds."""
    return [(c, s) for c, s in case.rows("SELECT DISTINCT condition, setting FROM replay_figures ORDER BY ALL")]
