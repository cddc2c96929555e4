"""The findings: an overview of patterns, then one entry a finding with its way and its evidence."""

from itertools import groupby

from earwitness.reports.evidence import ORDER_OF_PATTERNS, Citation, Evidence, Finding, Hop, Pattern
from earwitness.reports.page.charts import count
from earwitness.reports.page.markup import DASH, NOTHING, Html, View, css, el, fill, join, own, table
from earwitness.reports.page.words import ACCESS, DEFAULTS, KINDS, POSITIONS, ROUTES, TYPES, WHOM
from earwitness.schema.words import CHANNEL_TITLES

MOST_FINDINGS, MOST_PATTERNS = 200, 40


def findings(view: View, evidence: Evidence, *, unruled: bool) -> Html:
    """The section, without its heading."""
    if not evidence.total:
        return el(
            "p", own("Nothing to list." if unruled else "No unauthorised exposure was found."), class_=css("none")
        )
    patterns = evidence.patterns(MOST_PATTERNS)
    shown = evidence.findings(MOST_FINDINGS // len(patterns), MOST_PATTERNS)
    groups = {key: list(group) for key, group in groupby(shown, key=lambda f: f.pattern)}
    entries = [_group(view, p, groups.get(p.pattern, []), unruled) for p in patterns]
    return join([_scope(evidence, patterns, len(shown)), _overview(view, patterns), _filter(len(shown)), *entries])


def _scope(evidence: Evidence, patterns: list[Pattern], shown: int) -> Html:
    """What is shown of what there is."""
    told = fill(
        "Showing {n} of {total} findings, from {p} of {all} patterns; the case holds all. Order: {order}.",
        n=count(shown),
        total=count(evidence.total),
        p=count(len(patterns)),
        all=count(evidence.pattern_total),
        order=own(ORDER_OF_PATTERNS),
    )
    return el("p", told)


def _overview(view: View, patterns: list[Pattern]) -> Html:
    head = [own(t) for t in ("Learned", "By", "Position", "On", "Findings", "Traces", "Values")]
    rows = [
        [
            el("a", view.text(p.attribute, 60), href=css(f"#pattern-{p.pattern}")),
            own(KINDS.get(p.kind, str(p.kind))),
            own(POSITIONS.get(p.position, p.position)) if p.kind == "agent" else DASH,
            _channel(p.channel),
            *(count(n) for n in (p.findings, p.traces, p.values)),
        ]
        for p in patterns
    ]
    return table(own("Patterns of findings"), head, rows, "numbers from-5")


def _channel(channel: str) -> Html:
    return own(f"{channel} {CHANNEL_TITLES.get(channel, '')}")  # type: ignore[call-overload]


def _filter(shown: int) -> Html:
    """Without script the box stays hidden and every finding is on the page."""
    box = el("input", type=css("search"), id=css("filter"), autocomplete=css("off"))
    label = el("label", own("Filter the findings shown"), for_=css("filter"))
    told = el("output", count(shown), own(" shown"), id=css("filtered"), for_=css("filter"))
    return el("div", label, box, told, class_=css("filter"), id=css("filter-box"), hidden=True)


def _group(view: View, pattern: Pattern, shown: list[Finding], unruled: bool) -> Html:
    title = fill(
        "{what} to {whom} on {channel}",
        what=el("span", view.text(pattern.attribute, 60), class_=css("what")),
        whom=own(_whom(pattern)),
        channel=_channel(pattern.channel),
    )
    scope = fill("{n} of {all} shown", n=count(len(shown)), all=count(pattern.findings))
    head = el("h3", title, own(" "), el("small", scope), id=css(f"pattern-{pattern.pattern}"))
    return el("section", head, *(_entry(view, f, unruled) for f in shown), class_=css("pattern"))


def _whom(pattern: Pattern) -> str:
    if pattern.kind != "agent":
        return WHOM.get(pattern.kind, str(pattern.kind))
    return f"agents {POSITIONS[pattern.position]}" if pattern.position != "unknown" else "agents of unknown position"


def _entry(view: View, finding: Finding, unruled: bool) -> Html:
    head = fill(
        "{value} reached {recipient} from {sender}",
        value=_value(view, finding),
        recipient=el("b", view.name(finding.recipient))
        if finding.recipient
        else el("b", own("an unresolved recipient")),
        sender=view.name(finding.sender) if finding.sender else own("an unrecorded sender"),
    )
    facts = el("dl", *_facts(view, finding, unruled), class_=css("facts"))
    parts = [el("p", head, class_=css("line")), _way(view, finding), facts, _citation(view, finding.citation)]
    return el("article", *parts, class_=css("finding"))


def _value(view: View, finding: Finding) -> Html:
    mark = el("code", own(f"#{finding.fingerprint}"))
    kind = TYPES.get(finding.value_type or "")
    note = el("span", own(f" {kind}"), class_=css("quiet")) if kind else NOTHING
    return join([el("b", view.text(finding.attribute, 60)), own(" "), mark, note])


def _facts(view: View, finding: Finding, unruled: bool) -> list[Html]:
    """What is known of the disclosure, term by term; what is not known is left out."""
    rule = own("no rule") if unruled else _rule(view, finding)
    first = join([view.text(finding.event_id, 60), own(_when(finding))])
    facts = [("Decided by", rule), ("First disclosure", first), ("Trace", view.name(finding.trace_id))]
    if finding.route:
        facts.append(("Route", own(f"{ROUTES.get(finding.route, finding.route)}{_hops(finding)}")))
    if finding.form and finding.form != "verbatim":
        facts.append(("Written as", own(finding.form)))
    return [el("div", el("dt", own(term)), el("dd", told)) for term, told in facts]


def _rule(view: View, finding: Finding) -> Html:
    if finding.rule in DEFAULTS:
        known = "" if finding.ruled else "; no rule mentions the value"
        return own(DEFAULTS[finding.rule] + known)
    return join([own("rule "), el("code", view.text(finding.rule))])


def _when(finding: Finding) -> str:
    return (f" (event no. {finding.seq})" if finding.seq is not None else "") + (
        f", {finding.time} UTC" if finding.time else ""
    )


def _hops(finding: Finding) -> str:
    if finding.distance is None:
        return ", out of reach by inter-agent messages" if finding.route == "relay-required" else ""
    return f", distance {finding.distance}"


def _way(view: View, finding: Finding) -> Html:
    """The relay path: who held it first, then hop by hop with channel and grade of evidence."""
    hops = finding.way or (_direct(finding),)
    chips = [_chip(view, hops[0].sender, "start")]
    for hop in hops:
        chips += [_hop(hop), _chip(view, hop.recipient, "end" if hop is hops[-1] else "relay")]
    access = ACCESS.get(finding.access or "") if hops[0].sender == finding.origin else None
    told = join([view.name(hops[0].sender, 40), own(f" {access}")])
    note = el("li", told, class_=css("note")) if access else NOTHING
    return el("ol", *chips, note, class_=css("way"), aria_label=css("Way of the value"))


def _direct(finding: Finding) -> Hop:
    """Where no recipient is resolved, the event itself is all there is of a way."""
    whom = finding.recipient or "unresolved"
    return Hop(finding.event, finding.sender, whom, finding.channel, finding.grade, "", finding.citation.line)


def _chip(view: View, name: str | None, kind: str) -> Html:
    return el("li", view.name(name, 40) if name else own("unrecorded"), class_=css(f"chip {kind}"))


def _hop(hop: Hop) -> Html:
    place = f"line {hop.line}" if hop.line is not None else None
    told = " · ".join(part for part in (hop.channel, hop.grade or "no evidence", place) if part)
    return el("li", el("span", own(told)), class_=css("hop"))


def _citation(view: View, at: Citation) -> Html:
    place = [f"line {at.line}" if at.line is not None else "", f"byte {at.offset:,}" if at.offset is not None else ""]
    span = f"span {at.start}–{at.stop}" if at.start is not None else ""
    parts = [view.name(at.source, 160), own(f"sha256 {at.sha256[:12]}…"), *(own(p) for p in place if p)]
    parts += [el("code", view.text(at.pointer, 120))] if at.pointer else []
    parts += [own(span)] if span else []
    return el("p", join(parts, " · "), class_=css("cite"))
