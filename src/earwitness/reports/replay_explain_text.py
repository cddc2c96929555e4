"""One explained occurrence on a terminal: what was recorded, what should become of it, and what did, step by step."""

from collections.abc import Iterator

from rich.console import Console

from earwitness.reports.printing import dim, head, many, section, value, where
from earwitness.reports.replay_explain_words import (
    ACTIONS,
    CAUSES,
    DECISIONS,
    DETECTORS,
    EXCEPTIONS,
    FALLBACKS,
    GRADES,
    LEGEND,
    MEASURED,
    REASONS,
    SETTINGS,
    STARRED,
    TRUTHS,
    outcome,
)
from earwitness.reports.shown import Row
from earwitness.schema.words import CHANNEL_TITLES

_PLACES = 5
Line = tuple[str, str]


def print_explain(console: Console, report: Row) -> None:
    """Print `earwitness.reports.replay_explain.explain_report`."""
    told = report["record"]
    ends = f"{_sender(told)} to {_recipient(told)}"
    head(console, report, f"Earwitness replay explain {report['occurrence']}", f"{value(report['value'])}, {ends}")
    section(console, "What was recorded", ("", ""), _recorded(report), left=2)
    section(console, "What should become of it", ("", ""), _truth(report), left=2)
    _conditions(console, report)
    for step in report["steps"]:
        _step(console, report, step)
    _notes(console, report)


def _sender(told: Row) -> str:
    return str(told["sender"] or "a sender the record does not name")


def _recipient(told: Row) -> str:
    return str(told["recipient"] or "nobody the record names")


def _kinds(kind: str | None, position: str | None) -> str:
    words = [w for w in (kind, None if position in (None, "unknown") else position) if w]
    return f" ({', '.join(words)})" if words else ""


def _recorded(report: Row) -> Iterator[Line]:
    told, at, named = report["record"], report["record"]["at"], report["value"]
    cells = [f"{w} {told[k]}" for w, k in (("scenario", "scenario"), ("topology", "topology")) if told[k]]
    yield "run", told["trace_id"] + (f" ({', '.join(cells)})" if cells else "")
    time = f", {at['time']}" if at["time"] else ""
    yield "event", f"{at['event'] or 'without an id'}, number {at['seq']} in the run{time}, {where(at)}"
    yield "channel", f"{told['channel']}, {CHANNEL_TITLES[told['channel']]}"
    yield "from", _sender(told) + _kinds(told["sender_kind"], told["sender_position"])
    grade = f"; known because {GRADES[told['grade']]} ({told['grade']})" if told["grade"] else ""
    yield "to", _recipient(told) + _kinds(told["recipient_kind"], told["recipient_position"]) + grade
    subject = f", of {named['subject']}" if named["subject"] else ""
    yield "value", f"{value(named)}, {(named['value_type'] or 'of unknown type').replace('_', ' ')}{subject}"
    if told["recipient"]:
        yield "travelled", _travelled(told)


def _travelled(told: Row) -> str:
    """Hops of the value and distance of the recipient."""
    if not told["origin"]:
        return "not known: the record does not tell which agent had the value first"
    if told["origin"] == told["recipient"]:
        return f"to {told['origin']}, the first agent that had it (the disclosing agent)"
    hops = "over a number of deliveries that is not known" if told["hops"] is None else many(told["hops"], "hop")
    far = (
        "not reached by messages between agents alone"
        if told["distance"] is None
        else f"{many(told['distance'], 'message')} between agents away, by the shortest way"
    )
    return f"{hops} from {told['origin']}, the first agent that had it (the disclosing agent); the recipient is {far}"


def _rule(rule: Row | None, report: Row) -> str:
    """A rule in words, with its line in the policy file."""
    if rule is None:
        return "no rule"
    line = f", line {rule['line']} of the policy" if rule["line"] else ""
    if rule["effect"] is None:
        known = {
            "default": "no rule speaks for it, so the default of the policy holds",
            "fallback: closed": "nobody is named as recipient and the policy closes this channel (fallback)",
            "in-request": "the value stands in what the user asked, and is spared",
        }
        return known.get(rule["rule"], f"rule {rule['rule']}") + line
    says = "; ".join(f"{key.replace('_', ' ')}: {', '.join(cell)}" for key, cell in rule["selectors"].items())
    within = f"; scenario: {rule['scenario']}" if rule["scenario"] else ""
    own = ", brought by the trace" if rule["origin"] == "trace" else ""
    return f"rule {rule['rule']} ({rule['effect']}: {says or 'everything'}{within}){own}{line}"


def _truth(report: Row) -> Iterator[Line]:
    truth = report["truth"]
    yield "verdict", f"{TRUTHS[truth['verdict']]}: {_rule(truth['rule'], report)}"
    if truth["field_rule"] != truth["rule"]:
        said = "somebody may have it" if truth["by_field"] == "allow" else "nobody may have it"
        yield "whoever gets it", f"{said}: {_rule(truth['field_rule'], report)}"


def _conditions(console: Console, report: Row) -> None:
    """What became of it under every condition, a line a condition."""
    truth, rows = report["truth"]["verdict"], []
    for name in dict.fromkeys(f["condition"] for f in report["conditions"]):
        mine = {f["setting"]: f for f in report["conditions"] if f["condition"] == name}
        any_one = next(iter(mine.values()))
        cells = [cell for s in ("paper", "extended") for cell in _fate(mine.get(s), truth)]
        rows.append((name, "yes" if any_one["detected"] else "no", *cells))
    columns = ("condition", "found", "paper:\ndecided", "\noutcome", "extended:\ndecided", "\noutcome")
    section(console, "Under every condition that was replayed", columns, rows, left=6)
    starred = any(f["remains"] and not f["downstream"] for f in report["conditions"])
    section(console, "How to read it", ("", ""), [*LEGEND, STARRED] if starred else LEGEND, left=2)


def _fate(fate: Row | None, truth: str) -> tuple[str, str]:
    if fate is None:
        return "-", "-"
    done = fate["done"] if fate["done"] != fate["action"] else None
    decided = f"{fate['action'] or '-'}" + (f", done {done}" if done else "")
    return decided, outcome(truth, fate["remains"], fate["downstream"], fate["cause"])


def _step(console: Console, report: Row, step: Row) -> None:
    """Every step of one condition."""
    truth = report["truth"]["verdict"]
    told = outcome(truth, step["remains"], True, step["cause"])
    title = f"{step['condition']}, {step['setting']} setting: {told}"
    rows = [
        ("detector", DETECTORS[step["detector"]]),
        ("decision", f"{step['condition']} {DECISIONS[step['decision']]}"),
        ("recipient", _resolved(report, step)),
        *([("floor", floor)] if (floor := _floor(report, step)) else []),
        *(line for n, place in enumerate(step["places"][:_PLACES], 1) for line in _place(report, step, place, n)),
    ]
    if len(step["places"]) > _PLACES:
        rows.append(("places", f"{len(step['places']) - _PLACES:,} more; --json has them all"))
    rows += [("in the end", _measured(step)), ("outcome", _outcome(truth, step)), ("passed on", _passed(report, step))]
    section(console, title, ("", ""), rows, left=2)


def _resolved(report: Row, step: Row) -> str:
    """Whether the recipient counts as known, and what follows."""
    told = report["record"]
    if not step["by_recipient"]:
        return "not looked at by this condition"
    if step["resolved"]:
        return f"{told['recipient']} counts as known in the {step['setting']} setting"
    falls = "what is found is sanitized" if step["closed"] else "a rule for anybody counts"
    who = f"{told['recipient']} does not count as known" if told["recipient"] else "the record names nobody"
    setting = f" in the {step['setting']} setting ({SETTINGS[step['setting']]})" if told["recipient"] else ""
    return f"{who}{setting}; then, on {told['channel']}, {falls}"


def _floor(report: Row, step: Row) -> str:
    if not step["floor"] or not step["by_recipient"]:
        return ""
    then = "protected from everybody" if step["protect_uncertain"] else "judged like any other"
    asked = then if step["resolved"] else "not asked for, since the recipient does not count as known"
    return f"finds of less than {step['floor']:.2f} confidence on {report['record']['channel']} are uncertain: {asked}"


def _place(report: Row, step: Row, place: Row, number: int) -> Iterator[Line]:
    """Where the value stands, what was found there, what was decided and what came of it."""
    of = f" of {len(step['places'])}" if len(step["places"]) > 1 else ""
    form = f"written {place['form']}" if place["form"] else "in some form"
    stands = f"characters {place['span'][0]} to {place['span'][1]}, {form}"
    name = f"place {number}{of}"
    if not place["finds"]:
        found = "nobody looked" if step["detector"] == "none" else "nothing was found here, so nothing was decided"
        yield name, f"{stands}; {found}"
    else:
        yield name, f"{stands}"
    yield from _finds(report, step, place["finds"])
    for made in place["transforms"]:
        yield "  done", _done(made)
    yield "  recorded", place["before"]
    if place["after"] != place["before"]:
        yield "  delivered", place["after"]


def _finds(report: Row, step: Row, finds: list[Row]) -> Iterator[Line]:
    """What was found on a place and what was decided on each find; what holds for several is told once."""
    told: dict[tuple[str, str], list[str]] = {}
    for find in finds:
        told.setdefault((_reading(find), _decided(report, step, find)), []).append(_found(find))
    for (taken, decided), found in told.items():
        yield from (("  found", one) for one in found)
        yield "  taken for", taken
        yield "  decided", decided


def _found(find: Row) -> str:
    by = f" by the recognizer{'s' * (len(find['recognizers']) > 1)} {', '.join(find['recognizers'])}"
    what = f"as {find['entity']}" if find["entity"] else "as the value it is"
    sure = f", confidence {find['confidence']:.2f}"
    return f"{what}{by if find['recognizers'] else ''}{sure} (characters {find['span'][0]} to {find['span'][1]})"


def _reading(find: Row) -> str:
    known = [value(r["value"]) for r in find["readings"] if r["value"]]
    kind = (find["value_type"] or "unknown type").replace("_", " ")
    if not known:
        return f"{find['attribute'] or 'something unnamed'}, {kind}, as the detector calls it"
    if len(known) == 1:
        return f"{find['attribute']}, {kind}: {known[0]}, the known value it lies on"
    return f"{find['attribute']}, {kind}: the strictest of {len(known)} known values it fits alike: {', '.join(known)}"


def _decided(report: Row, step: Row, find: Row) -> str:
    why = str(REASONS.get(find["reason"], find["reason"]))
    if find["reason"] == "uncertain":
        why += f" ({find['confidence']:.2f} is below {step['floor']:.2f})"
    rule = f": {_rule(find['rule'], report)}" if find["rule"] else ""
    return f"{ACTIONS[find['action']]}; {why}{rule}"


def _done(made: Row) -> str:
    """What came of a transform."""
    told = made["done"] if made["done"] == made["asked"] else f"{made['done']} instead of {made['asked']}"
    told += ", and what came out is what stood there" if made["as_before"] else ""
    if made["cause"]:
        told += f", since {FALLBACKS.get(made['cause'], made['cause'])} ({made['cause']})"
    if made["exception"]:
        told += f"; exception {made['exception']}: {EXCEPTIONS.get(made['exception'], '')}"
    return told + (f"; {many(made['tries'], 'trial').replace('trials', 'tries')}" if made["tries"] > 1 else "")


def _measured(step: Row) -> str:
    """What the measuring detector finds in the text as delivered."""
    measured = step["measured"]
    told = f"the measuring detector, which knows the value, looks again: {MEASURED[measured['why']]}"
    hits = [
        f"{h['form']}, confidence {h['confidence']:.2f}"
        + ("" if h["confirmed"] else " (possible)")
        + (" (split over messages)" if h["split"] else "")
        for h in measured["hits"][:3]
    ]
    floor = f"; the policy asks for {measured['floor']:.2f}" if measured["floor"] else ""
    return told + (f" ({'; '.join(hits)}{floor})" if hits else "")


def _outcome(truth: str, step: Row) -> str:
    if truth == "allow":
        return "it is there, as it should be" if step["remains"] else "it is gone, although this recipient may have it"
    if not step["remains"]:
        return "it is gone, as it should be"
    return f"it is there and should not be: {CAUSES[step['cause']]} ({step['cause']})"


def _passed(report: Row, step: Row) -> str:
    """Whether the sender would still have had it to pass on."""
    sender = _sender(report["record"])
    if not step["remains"]:
        return "gone in its own text already"
    if step["given"]:
        return f"still there: {sender} had it from the start"
    if not step["tellers"]:
        return f"still there: the record does not tell where {sender} had it from"
    told = [f"{_teller(t)}, {'still there' if t['downstream'] else 'gone'}" for t in step["tellers"][:3]]
    more = f" and {len(step['tellers']) - 3:,} more" if len(step["tellers"]) > 3 else ""
    stays = "still there" if step["downstream"] else "not there any more, if what was sanitized is not passed on"
    return f"{stays}: {sender} had it from {'; '.join(told)}{more}"


def _teller(teller: Row) -> str:
    event = teller["at"]["event"] or where(teller["at"])
    return f"{_sender(teller)} in {event} ({teller['channel']}, occurrence {teller['occurrence'][:8]})"


def _notes(console: Console, report: Row) -> None:
    if report["replay"]["ephemeral"]:
        dim(console, "the key of this replay held for that run alone: ciphertexts in it cannot be undone")
    if report["policy"]["sha256"] and not report["policy"]["given"]:
        dim(console, "give --policy FILE, the policy of the audit, to have the lines of its rules")
