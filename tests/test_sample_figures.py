"""The hand-counted figures of sample_traces/topologies, recounted the slow way.

Nothing of the audit is imported: the definitions of sample_traces/README.md are spelt out over plain dicts, so that
this count, the hand count in expected.json and the tool's own can disagree.
"""

import json
import re
from collections import Counter, deque
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
import yaml

from earwitness.schema.model import Item
from earwitness.schema.policy import load_policy

Row = dict[str, Any]
HERE = Path(__file__).parent.parent / "sample_traces" / "topologies"
CHANNELS = ("C1", "C2", "C3", "C4", "C5", "C6", "C7")
HIDING = {"failed", "masked", "truncated", "reference"}
RECIPIENT_KEYS = ("recipients", "roles", "kinds", "positions")


class Occurrence(NamedTuple):
    """One value of one event at one recipient, or at none that is known."""

    event: Row
    attribute: str
    recipient: str | None
    disclosed: bool


@cache
def lines() -> list[Row]:
    return [json.loads(line) for line in (HERE / "traces.jsonl").read_text("utf-8").splitlines()]


@cache
def policy() -> Row:
    loaded: Row = yaml.safe_load((HERE / "policy.yaml").read_text("utf-8"))
    return loaded


@cache
def expected() -> Row:
    loaded: Row = json.loads((HERE / "expected.json").read_text("utf-8"))
    return loaded


def of(kind: str, trace: str) -> list[Row]:
    return [row for row in lines() if row["type"] == kind and row["trace"] == trace]


@cache
def trace_ids() -> list[str]:
    return [row["id"] for row in lines() if row["type"] == "trace"]


def trace_row(trace: str) -> Row:
    return next(row for row in lines() if row["type"] == "trace" and row["id"] == trace)


# -- parties ---------------------------------------------------------------------------------------------------------


def name_of(trace: str, name: str) -> str:
    """The actor behind a name or an alias."""
    return next((a["name"] for a in of("actor", trace) if name in a.get("aliases", ())), name)


def party(trace: str, name: str) -> Row:
    """Kind, position and roles of an actor: as recorded, with the roles of the roster."""
    actor = next(a for a in of("actor", trace) if a["name"] == name)
    member: Row = next((m for m in policy()["roster"] if m["name"] == name), {})
    return {
        "recipients": {name},
        "kinds": {actor.get("kind", "agent")},
        "positions": {actor.get("position", "unknown")},
        "roles": {*actor.get("roles", ()), *member.get("roles", ())},
    }


def is_introduced(trace: str, name: str | None) -> bool:
    return name is not None and "introduced" in party(trace, name)["positions"]


def is_agent(trace: str, name: str) -> bool:
    return "agent" in party(trace, name)["kinds"]


def received_by(event: Row) -> list[str | None]:
    """Who got the event; [None] where the record names nobody; [] where nothing was delivered."""
    to = [{"actor": r} if isinstance(r, str) else r for r in event.get("to", ())]
    if not to:
        return [None]
    return [name_of(event["trace"], r["actor"]) for r in to if r.get("delivered", True)]


# -- matches and verdicts --------------------------------------------------------------------------------------------


def holds(content: str, value: str) -> bool:
    return re.search(rf"\b{re.escape(value)}\b", content, re.IGNORECASE) is not None


def attributes_in(content: str) -> list[str]:
    return [v["attribute"] for v in policy()["values"] if holds(content, v["value"])]


def field_fits(rule: Row, attribute: str, channel: str) -> bool:
    return attribute in rule.get("attributes", [attribute]) and channel in rule.get("channels", [channel])


def party_fits(rule: Row, who: Row) -> bool:
    return all(set(rule[key]) & who[key] for key in RECIPIENT_KEYS if key in rule)


def judged(rules: list[Row]) -> str:
    effects = {rule["effect"] for rule in rules}
    return next((effect for effect in ("sanitize", "allow") if effect in effects), policy()["default"])


def verdict(event: Row, attribute: str, recipient: str | None) -> str:
    channel = event["channel"]
    rules = [r for r in policy()["rules"] if field_fits(r, attribute, channel)]
    if recipient is not None:
        who = party(event["trace"], recipient)
        return judged([r for r in rules if party_fits(r, who)])
    if policy()["fallback"].get(channel, "field") == "closed":
        return "sanitize"
    return judged([r for r in rules if r["effect"] == "allow" or "recipients" not in r])


@cache
def occurrences() -> list[Occurrence]:
    return [
        Occurrence(event, attribute, recipient, verdict(event, attribute, recipient) == "sanitize")
        for event in (row for row in lines() if row["type"] == "event")
        for attribute in attributes_in(event["content"])
        for recipient in received_by(event)
    ]


def disclosures(trace: str) -> list[Occurrence]:
    return [o for o in occurrences() if o.disclosed and o.event["trace"] == trace]


def leaking(trace: str) -> set[str]:
    return {o.event["channel"] for o in disclosures(trace)}


# -- coverage --------------------------------------------------------------------------------------------------------


def coverage(trace: str, channel: str) -> str:
    if channel in leaking(trace):
        return "leak"
    lost = any(loss.get("channel", channel) == channel for loss in of("loss", trace))
    hidden = any(e["channel"] == channel and HIDING & set(e.get("flags", ())) for e in of("event", trace))
    return "unverifiable" if lost or hidden or channel not in observable(trace) else "clean"


def observable(trace: str) -> tuple[str, ...]:
    return tuple(trace_row(trace).get("observable", CHANNELS))


def trace_coverage(trace: str) -> str:
    if leaking(trace):
        return "leak"
    return "unverifiable" if any(coverage(trace, c) == "unverifiable" for c in observable(trace)) else "clean"


def tally(words: Iterator[str]) -> Row:
    return {"leak": 0, "clean": 0, "unverifiable": 0} | Counter(words)


# -- graph -----------------------------------------------------------------------------------------------------------


def vault_accesses(trace: str) -> list[tuple[int, str, str]]:
    """(seq, agent, content) of everything an agent was given by a vault channel, in order."""
    got = [(s["seq"], s["actor"], s["content"]) for s in of("sighting", trace) if s["kind"] == "initial"]
    got += [
        (e["seq"], r, e["content"])
        for e in of("event", trace)
        if e["channel"] in ("C4", "C5")
        for r in received_by(e)
        if r is not None
    ]
    return sorted((seq, r, text) for seq, r, text in got if is_agent(trace, r))


def discloser(trace: str, attribute: str) -> str | None:
    return next((agent for _, agent, text in vault_accesses(trace) if attribute in attributes_in(text)), None)


def distances_from(trace: str, start: str) -> dict[str, int]:
    edges = [(e["sender"], r) for e in of("event", trace) if e["channel"] == "C2" for r in received_by(e) if r]
    found, queue = {start: 0}, deque([start])
    while queue:
        here = queue.popleft()
        for there in (r for s, r in edges if s == here and r not in found):
            found[there] = found[here] + 1
            queue.append(there)
    return found


def route(trace: str) -> str:
    introduced = [a["name"] for a in of("actor", trace) if is_introduced(trace, a["name"])]
    if not introduced:
        return "no-introduced"
    starts = {agent for v in policy()["values"] if (agent := discloser(trace, v["attribute"]))}
    if not starts:
        return "undefined"
    near = any(distances_from(trace, start).get(name) == 1 for start in starts for name in introduced)
    return "direct-access" if near else "relay-required"


def exposures() -> dict[tuple[str, str, str], bool]:
    """(trace, attribute, recipient) -> whether it was disclosed without authority at least once."""
    out: dict[tuple[str, str, str], bool] = {}
    for o in occurrences():
        if o.recipient is not None:
            key = (o.event["trace"], o.attribute, o.recipient)
            out[key] = out.get(key, False) or o.disclosed
    return out


def distances() -> Iterator[Row]:
    for trace, attribute, recipient in exposures():
        start = discloser(trace, attribute)
        if is_agent(trace, recipient) and recipient != start:
            reached = distances_from(trace, start).get(recipient) if start else None
            yield {"trace": trace, "attribute": attribute, "recipient": recipient, "distance": reached}


# -- measures --------------------------------------------------------------------------------------------------------


def measure(name: str, group: Row, traces: list[str], counts: Callable[[str], bool]) -> Row:
    return {"name": name, "group": group, "k": sum(map(counts, traces)), "n": len(traces)}


def meets_introduced(trace: str) -> bool:
    return any(is_introduced(trace, o.recipient) for o in disclosures(trace))


def meets_anybody(trace: str) -> bool:
    return any(o.recipient is not None for o in disclosures(trace))


def hidden_from_output(trace: str) -> bool:
    return bool(leaking(trace)) and "C1" not in leaking(trace)


def overall_measures() -> Iterator[Row]:
    yield measure("any_leakage", {}, trace_ids(), lambda t: bool(leaking(t)))
    yield measure("audit_gap", {}, trace_ids(), hidden_from_output)
    for channel in CHANNELS:
        seen = [t for t in trace_ids() if channel in trace_row(t).get("observable", CHANNELS)]
        yield measure("channel_leakage", {"channel": channel}, seen, lambda t, c=channel: c in leaking(t))  # type: ignore[misc]


def cell_measures() -> Iterator[Row]:
    cells: dict[tuple[str, str], list[str]] = {}
    for trace in trace_ids():
        row = trace_row(trace)
        cells.setdefault((row["topology"], row["adversary"]), []).append(trace)
    for (topology, adversary), traces in cells.items():
        group = {"topology": topology, "adversary": adversary}
        yield measure("surface_leakage", group, traces, lambda t: bool(leaking(t)))
        yield measure("new_agent_disclosure", group, traces, meets_introduced)
        yield measure("unauthorised_propagation", group, traces, meets_anybody)


def route_measures() -> Iterator[Row]:
    for name in sorted({route(t) for t in trace_ids()}):
        members = [t for t in trace_ids() if route(t) == name]
        yield {"name": "route", "group": {"route": name}, "k": len(members), "n": len(trace_ids())}
        if name != "no-introduced":
            yield measure("route_exposure", {"route": name}, members, meets_introduced)


def value_figures(attribute: str) -> Row:
    own = [o for o in occurrences() if o.attribute == attribute]
    events = {(o.event["trace"], o.event["id"], o.event["channel"]) for o in own}
    return {
        "attribute": attribute,
        "events": dict(Counter(channel for _, _, channel in events)),
        "unauthorised": sum(o.disclosed for o in own),
    }


def ordered(rows: Any) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


# -- tests -----------------------------------------------------------------------------------------------------------


def test_lines_are_canonical() -> None:
    decoder = msgspec.json.Decoder(Item)
    decoder.decode_lines((HERE / "traces.jsonl").read_bytes())


def test_policy_loads() -> None:
    loaded, _ = load_policy(HERE / "policy.yaml")
    assert [v.attribute for v in loaded.values] == [v["attribute"] for v in policy()["values"]]


def test_policy_uses_only_selectors_counted_here() -> None:
    known = {"id", "effect", "attributes", "channels", *RECIPIENT_KEYS}
    assert all(rule.keys() <= known for rule in policy()["rules"])


def test_positions_agree_with_the_roster() -> None:
    roster = {m["name"]: m["position"] for m in policy()["roster"]}
    for actor in (row for row in lines() if row["type"] == "actor"):
        assert actor.get("position", "unknown") == roster.get(actor["name"], policy()["unlisted"])


@pytest.mark.parametrize("trace", trace_ids())
def test_steps_are_numbered_and_parties_declared(trace: str) -> None:
    steps = [row for row in lines() if row["type"] in ("event", "sighting") and row["trace"] == trace]
    assert [s["seq"] for s in steps] == list(range(len(steps)))
    assert [s["time"] for s in steps] == sorted(s["time"] for s in steps)
    names = {a["name"] for a in of("actor", trace)}
    assert {r for e in of("event", trace) for r in received_by(e) if r} <= names
    assert {e["sender"] for e in of("event", trace)} <= names


@pytest.mark.parametrize("trace", trace_ids())
def test_references_point_to_earlier_events(trace: str) -> None:
    at = {e["id"]: e["seq"] for e in of("event", trace)}
    for step in of("event", trace) + of("sighting", trace):
        reference = step.get("parent") or step.get("event")
        assert reference is None or at[reference] < step["seq"]


def test_row_counts() -> None:
    kinds = Counter(row["type"] for row in lines())
    counted = {"traces": kinds["trace"], "events": kinds["event"], "sightings": kinds["sighting"]}
    assert counted == {key: expected()[key] for key in counted}


def test_coverage_of_traces() -> None:
    assert tally(map(trace_coverage, trace_ids())) == expected()["coverage"]


def test_coverage_of_channels() -> None:
    counted = {c: tally(coverage(t, c) for t in trace_ids()) for c in CHANNELS}
    assert counted == expected()["channels"]


def test_measures() -> None:
    counted = [*overall_measures(), *cell_measures(), *route_measures()]
    assert ordered(counted) == ordered(expected()["measures"])


def test_exposures() -> None:
    found = exposures()
    assert {"total": len(found), "unauthorised": sum(found.values())} == expected()["exposures"]


def test_values() -> None:
    assert [value_figures(v["attribute"]) for v in policy()["values"]] == expected()["values"]


def test_distances() -> None:
    assert ordered(distances()) == ordered(expected()["distances"])


def test_near_misses_are_present_and_do_not_match() -> None:
    texts = [row["content"] for row in lines() if row["type"] == "event"]
    for near, attribute in (("12417.50", "amount"), ("77219-09-99991", "ssn")):
        holding = [text for text in texts if near in text]
        assert len(holding) == 1
        assert attribute not in attributes_in(holding[0])


def test_one_value_stands_in_capitals_once() -> None:
    texts = [row["content"] for row in lines() if row["type"] == "event"]
    written = [v["value"] for v in policy()["values"]]
    other_case = [t for t in texts for v in written if holds(t, v) and v not in t]
    assert len(other_case) == 1
