"""What a replay saw of one occurrence: where its value stands, what was found there, what is still found, who told it.

All of it is read from the temporary tables of a replay, filled for the run of the occurrence (see `explain`).
"""

from dataclasses import dataclass
from typing import Any

import polars as pl
import pyarrow as pa

from earwitness.audit.decide import floor, in_force
from earwitness.audit.forms.finder import Finder
from earwitness.audit.forms.needles import Needles
from earwitness.audit.match_forms import find
from earwitness.audit.replay.condition import Plan
from earwitness.audit.replay.explain_names import NAMES, Named
from earwitness.schema.case import Case


@dataclass(frozen=True)
class Reading:
    """What a find may be taken for, and what the rules say of that.

    Attributes:
        value: number of the known value it lies on; None: it goes by what the recognizer says.
        attribute: what it was judged under.
        by_field, field_rule: what anybody may have, and the rule.
        by_recipient, recipient_rule: what this recipient may have, and the rule.
        spared: the value stands in the request of the run.
        in_force: some policy is in force over the run.
        reachable: from the recipient messages lead to an agent that may not know it.
        forwarded: the recipient did pass it on to such an agent.
    """

    value: int | None
    attribute: str | None
    by_field: str
    field_rule: str
    by_recipient: str
    recipient_rule: str
    spared: bool
    in_force: bool
    reachable: bool
    forwarded: bool


@dataclass(frozen=True)
class Find:
    """What the replayed detector found on a place, and what was decided on it.

    Attributes:
        start, stop: the span.
        entity: what it is, as the detector calls it.
        recognizers: which recognizers found this very span; empty for detectors that have none.
        confidence: of the surest of them.
        attribute, value_type: what it was judged under in the end: of several readings the strictest.
        action, reason, rule: the decision.
        readings: what it may be taken for.
    """

    start: int
    stop: int
    entity: str | None
    recognizers: tuple[str, ...]
    confidence: float
    attribute: str | None
    value_type: str
    action: str
    reason: str
    rule: str | None
    readings: tuple[Reading, ...]


@dataclass(frozen=True)
class Place:
    """A place of the value in the text: span, form (None: not told apart), and the finds on it."""

    start: int
    stop: int
    form: str | None
    finds: tuple[Find, ...]


_SPOTS = "SELECT DISTINCT spot, stop FROM rp_spot WHERE occ = ? ORDER BY ALL"
_FINDS = """
    SELECT p.spot, p.stop, s.span, s.start, s.stop, s.entity, s.confidence, a.attribute, a.value_type, a.action,
           a.reason, a.rule
    FROM (SELECT DISTINCT spot, stop, class, span FROM rp_spot WHERE occ = ? AND span IS NOT NULL) p
    JOIN rp_span s USING (span) JOIN rp_act a ON a.class = p.class AND a.span = p.span
    ORDER BY p.spot, p.stop, s.start, s.stop, s.span
"""
_READINGS = """
    SELECT span, value, attribute, by_field, field_rule, by_recipient, recipient_rule, spared, in_force, reachable,
           forwarded
    FROM rp_judged WHERE class = ? ORDER BY span, value, attribute
"""
_RECOGNIZERS = """
    SELECT d.start, d.stop, list(DISTINCT d.recognizer ORDER BY d.recognizer) FROM detections d
    JOIN events e ON e.content = d.content WHERE e.event = ? AND (d.trace IS NULL OR d.trace = ?) GROUP BY ALL
"""


def places(case: Case, named: Named, plan: Plan, occ: int, number: int) -> tuple[Place, ...]:
    """Where the value of an occurrence stands, with the finds of a plan and its decisions, after `act`.

    Args:
        case: with the temporary tables of a replay.
        named: the occurrence.
        plan: the condition.
        occ: its number in `rp_occ`.
        number: of its delivery, in `rp_class`.
    """
    readings: dict[int, list[Reading]] = {}
    for span, *rest in case.rows(_READINGS, [number]):
        readings.setdefault(span, []).append(Reading(*rest))
    own = plan.condition.detector == "replayed"
    by = {(a, b): tuple(n) for a, b, n in case.rows(_RECOGNIZERS, [named.event, named.trace])} if own else {}
    found: dict[tuple[int, int], list[Find]] = {}
    for spot, end, span, start, stop, entity, sure, *decided in case.rows(_FINDS, [occ]):
        names = ("attribute", "value_type", "action", "reason", "rule")
        told = Find(start, stop, entity, by.get((start, stop), ()), sure, readings=tuple(readings.get(span, ())),
                    **dict(zip(names, decided, strict=True)))  # fmt: skip
        found.setdefault((spot, end), []).append(told)
    spots = [(spot, end) for spot, end in case.rows(_SPOTS, [occ]) if spot is not None]
    forms = _forms(case, named, spots)
    return tuple(Place(*spot, form, tuple(found.get(spot, ()))) for spot, form in zip(spots, forms, strict=True))


_MATCH = """
    SELECT m.start, m.stop, m.form, c.text, v.attribute, v.text, v.aliases
    FROM events e JOIN contents c ON c.content = e.content JOIN vault v ON v.value = ?
    LEFT JOIN matches m ON m.content = e.content AND m.value = v.value AND (m.event IS NULL OR m.event = e.event)
    WHERE e.event = ?
"""


def _forms(case: Case, named: Named, spots: list[tuple[int, int]]) -> list[str | None]:
    """How the value is written at each place: as the audit says of the surest, else as its detector reads the place."""
    rows = case.rows(_MATCH, [named.value, named.event])
    known = {(start, stop): form for start, stop, form, *_ in rows}
    text, attribute, value, aliases = rows[0][3:]
    pieces = [text[a:b] for a, b in spots]
    frame = pl.DataFrame(
        {"value": [named.value], "attribute": [attribute], "text": [value], "aliases": [aliases or []]},
        {"value": pl.Int64, "attribute": pl.String, "text": pl.String, "aliases": pl.List(pl.String)},
    )
    read = _read(frame, pieces)
    return [known.get(spot) or read.get(n) for n, spot in enumerate(spots)]


def _read(frame: pl.DataFrame, pieces: list[str]) -> dict[int, str]:
    """The surest form in which pieces of text are a value, by number of the piece."""
    needles = Needles(frame)
    if not needles.needles or not pieces:
        return {}
    hits = find(Finder(needles), pa.array(pieces, pa.large_string())).join(needles.owners, on="needle")
    best = hits.sort(pl.col("sureness") * pl.col("confidence"), descending=True).unique("row", keep="first")
    return {row: _form(form, surface) for row, form, surface in best.select("row", "form", "surface").iter_rows()}


def _form(form: str, surface: str) -> str:
    """A form of a value and how that is written, in one word, as `matches` has it."""
    if form == "verbatim":
        return surface
    return form if surface in ("verbatim", "case") else f"{form}+{surface}"


@dataclass(frozen=True)
class Hit:
    """The value found in a text: span, form, confidence, and whether that is confirmed."""

    start: int
    stop: int
    form: str
    confidence: float
    confirmed: bool
    split: bool


@dataclass(frozen=True)
class Measured:
    """What the measuring detector finds of the value in the text as delivered, and why it counts or not.

    Attributes:
        hits: the surest place of each kind.
        why: unchanged: the text, and what its sender sent before, is as recorded; same: what was put in its place is
            what stood there; found; vouched: a judge or a person
            had confirmed it and nothing on its place was changed; namesake: it is found but could now be another's;
            below_floor: found, with less confidence than the policy asks for on the channel; possible: found, but
            not surely; nothing: not found.
        floor: of the policy, on the channel.
    """

    hits: tuple[Hit, ...]
    why: str
    floor: float


_AS_RECORDED = """
    SELECT m.start, m.stop, m.form, m.confidence, m.standing = 'confirmed', m.event IS NOT NULL FROM matches m
    JOIN events e ON e.content = m.content WHERE e.event = ? AND m.value = ? AND (m.event IS NULL OR m.event = e.event)
    ORDER BY m.confidence DESC, m.start
"""
_AGAIN = """
    WITH delivered AS (
        SELECT coalesce(t.changed, c.content) AS content, s.stream
        FROM rp_occ o JOIN rp_class c USING (class) LEFT JOIN rp_sent x ON x.plan = $plan AND x.class = o.class
        LEFT JOIN replay_texts t ON t.variant = x.variant
        LEFT JOIN (SELECT DISTINCT event, coalesce(sender, '') AS sender FROM flows) f ON f.event = o.event
        LEFT JOIN rp_stream s ON s.plan = $plan AND s.trace = o.trace AND s.sender = f.sender
        WHERE o.event = $event AND o.value = $value AND o.recipient IS NOT DISTINCT FROM $recipient
    )
    SELECT m.start, m.stop, m.form, m.confidence, m.standing = 'confirmed', m.stream IS NOT NULL
    FROM replay_matches m JOIN delivered d ON d.content = m.content
    WHERE m.value = $value AND (m.stream IS NULL OR m.stream = d.stream AND m.event = $event)
    ORDER BY m.confidence DESC, m.start
"""
_SPLIT = """
    SELECT o.split AND s.stream IS NOT NULL FROM rp_occ o
    LEFT JOIN (SELECT DISTINCT event, coalesce(sender, '') AS sender FROM flows) f ON f.event = o.event
    LEFT JOIN rp_stream s ON s.plan = ? AND s.trace = o.trace AND s.sender = f.sender
    WHERE o.event = ? AND o.value = ? AND o.recipient IS NOT DISTINCT FROM ?
"""
_FLOOR = "SELECT {floor} FROM events e WHERE e.event = ?"


def measured(case: Case, named: Named, plan: Plan, *, changed: bool, acted: bool, remains: bool) -> Measured:
    """What is still found of the value, after `measure_again`.

    Args:
        case: with the temporary tables of a replay.
        named: the occurrence.
        plan: the condition.
        changed: the text as delivered is not the text as recorded.
        acted: something was done on a place of the value.
        remains: as `replays` says.
    """
    least = float(case.one(_FLOOR.format(floor=floor(in_force(case).confidence, "e.channel")), [named.event]))
    moved = case.one(_SPLIT, [plan.number, named.event, named.value, named.recipient])
    if not changed and not moved:
        hits = tuple(Hit(*row) for row in case.rows(_AS_RECORDED, [named.event, named.value]))
        return Measured(hits, "namesake" if not remains else "same" if acted else "unchanged", least)
    parameters = {"plan": plan.number, "event": named.event, "value": named.value, "recipient": named.recipient}
    hits = tuple(dict.fromkeys(Hit(*row) for row in case.rows(_AGAIN, parameters)))
    return Measured(hits, _why(hits, least, remains=remains), least)


def _why(hits: tuple[Hit, ...], least: float, *, remains: bool) -> str:
    sure = [h for h in hits if h.confirmed]
    counted = any(h.confidence >= least for h in sure)
    if remains:
        return "found" if counted else "vouched"
    if counted:
        return "namesake"
    return "below_floor" if sure else "possible" if hits else "nothing"


@dataclass(frozen=True)
class Teller:
    """An earlier delivery of the value to the sender, and whether it is still there."""

    name: str
    event: int
    channel: str
    sender: str | None
    remains: bool
    downstream: bool


_TELLERS = f"""
    SELECT n.name, r.event, r.channel, f.sender, r.remains, r.downstream
    FROM replays r JOIN {NAMES} n ON n.event = r.event AND n.value = r.value
         AND n.recipient IS NOT DISTINCT FROM r.recipient
    JOIN events e ON e.event = r.event JOIN (SELECT DISTINCT event, sender FROM flows) f ON f.event = r.event
    WHERE r.condition = $condition AND r.setting = $setting AND r.trace = $trace AND r.value = $value
      AND r.recipient = (SELECT any_value(sender) FROM flows WHERE event = $event)
      AND e.seq < (SELECT seq FROM events WHERE event = $event)
    ORDER BY e.seq, r.event
"""
_GIVEN = """
    SELECT count(*) > 0 FROM access a JOIN (SELECT DISTINCT event, sender, seq FROM flows WHERE event = ?) f
    ON a.agent = f.sender AND a.seq < f.seq WHERE a.trace = ? AND a.value = ? AND a.access = 'initial'
"""


def tellers(case: Case, named: Named, plan: Plan) -> tuple[tuple[Teller, ...], bool]:
    """Earlier deliveries of the value to its sender, and whether the sender had it from the start; after `conclude`."""
    parameters: dict[str, Any] = {
        "condition": plan.condition.name,
        "setting": plan.setting,
        "trace": named.trace,
        "value": named.value,
        "event": named.event,
    }
    told = tuple(Teller(*row) for row in case.rows(_TELLERS, parameters))
    return told, bool(case.one(_GIVEN, [named.event, named.trace, named.value]))
