"""What stands behind the numbers: coverage, losses, records that were not read, sources and provenance."""

from typing import Any

from earwitness.reports.page.charts import count, stack
from earwitness.reports.page.markup import DASH, NOTHING, Html, View, css, el, fill, join, own, table
from earwitness.reports.page.words import GLOSSARY, LOSSES, OUTCOMES
from earwitness.reports.summary import VERDICTS
from earwitness.reports.text import percent
from earwitness.schema.words import CHANNEL_TITLES, CHANNELS

MOST_SOURCES, MOST_RECORDS, MOST_FORMS = 20, 50, 20


def coverage(view: View) -> Html:
    """The section, without its heading."""
    return join([_channels(view), _tiers(view), _forms(view), _losses(view), _records(view), _unmapped(view)])


def _channels(view: View) -> Html:
    covered = view.report["coverage"]
    rows = []
    for channel in (c for c in CHANNELS if c in covered["channels"]):
        counts = covered["channels"][channel]
        bar = stack([(v, counts[v]) for v in VERDICTS], own(f"{channel} by verdict"), 12)
        title = own(f"{channel} {CHANNEL_TITLES[channel]}")
        rows.append([title, bar, *(count(counts[v]) for v in VERDICTS), _reasons(view, channel)])
    head = [own(t) for t in ("Channel", "Traces", "Leak", "Clean", "Unverifiable", "Why unverifiable")]
    return table(own("What can be said of each channel"), head, rows, "numbers coverage-table")


def _reasons(view: View, channel: str) -> Html:
    found = [r for r in view.report["coverage"]["reasons"] if r["channel"] == channel]
    parts = [
        fill("{n} {why}", n=count(r["traces"]), why=view.text((r["reason"] or "").replace("_", " "))) for r in found
    ]
    return join(parts, "; ") if parts else DASH


def _tiers(view: View) -> Html:
    found = view.report["detection"]
    rows = []
    for tier in found["tiers"]:
        ran = own("yes") if tier["ran"] else el("b", own("no" if tier["asked"] else "not asked"), class_=css("alarm"))
        share = own(f"{percent(tier['share'])} %") if tier["ran"] else DASH
        note = view.text(tier["note"]) if tier["note"] else DASH
        rows.append([own(tier["tier"]), ran, share, count(tier["matches"]), own(f"{tier['seconds']:.1f} s"), note])
    head = [own(t) for t in ("Tier", "Ran", "Of all texts", "Matches of its own", "Time", "Note")]
    title = "How values were looked for" + (" (degraded: a tier did not run)" if found["degraded"] else "")
    return table(own(title), head, rows, "numbers second") if rows else NOTHING


def _forms(view: View) -> Html:
    rows = [
        [own(f["form"]), count(f["confirmed"]), count(f["possible"])]
        for f in view.report["detection"]["forms"][:MOST_FORMS]
    ]
    head = [own(t) for t in ("Written as", "Confirmed", "Possible")]
    return table(own("In which forms values stood in texts"), head, rows, "numbers second") if rows else NOTHING


def _losses(view: View) -> Html:
    lost = view.report["losses"]
    rows = [[own(kind.replace("_", " ")), count(n), own(LOSSES.get(kind, ""))] for kind, n in lost.items()]
    head = [own("Loss"), own("Times"), own("Meaning")]
    return table(own("What happened but is not on record"), head, rows, "numbers second") if rows else NOTHING


def _records(view: View) -> Html:
    found = view.report["records"]
    total = sum(found.values())
    rows = [[own(outcome), count(n), own(OUTCOMES.get(outcome, ""))] for outcome, n in found.items()]
    rows.append([el("b", own("read in all")), el("b", count(total)), own("the outcomes sum to the records read")])
    head = [own("Outcome"), own("Records"), own("Meaning")]
    return table(own("What became of the records"), head, rows, "numbers second")


_UNMAPPED = """
    SELECT r.outcome, r.reason, s.name, r.line, r."offset", r.pointer, r.length
    FROM records r JOIN sources s USING (source)
    ORDER BY r.outcome IN ('duplicate', 'ignored'), r.source, r."offset", r.line LIMIT ?
"""


def _unmapped(view: View) -> Html:
    """Records that hold something nobody looked at come first."""
    total = view.case.count("records")
    if not total:
        return NOTHING
    found = view.case.rows(_UNMAPPED, [MOST_RECORDS])
    rows = [
        [
            own(outcome),
            view.text(reason, 200),
            view.name(name, 120),
            _number(line),
            _number(offset),
            view.text(pointer, 80),
            _number(length),
        ]
        for outcome, reason, name, line, offset, pointer, length in found
    ]
    head = [own(t) for t in ("Outcome", "Reason", "Source", "Line", "Byte", "Pointer", "Bytes")]
    caption = fill("Records not mapped: showing {n} of {all}", n=count(len(rows)), all=count(total))
    return table(caption, head, rows, "records")


def _number(number: int | None) -> Html:
    return DASH if number is None else count(number)


_SOURCES = """
    SELECT s.name, s.sha256, s.bytes, s.container, s.dialects, s.records, s.problem
    FROM sources s ORDER BY s.parent IS NOT NULL, s.source LIMIT ?
"""


def sources(view: View) -> Html:
    """The manifest: what was read, with hashes."""
    found = view.case.rows(_SOURCES, [MOST_SOURCES])
    rows = [_source(view, row) for row in found]
    head = [own(t) for t in ("Source and SHA-256", "Bytes", "Records", "Read as")]
    total = view.case.count("sources")
    caption = fill("Sources: showing {n} of {all}", n=count(len(rows)), all=count(total))
    return table(caption, head, rows, "sources")


def _source(view: View, row: tuple[Any, ...]) -> list[Html]:
    name, sha, size, _, _, records, _ = row
    mark = el("code", own(sha or "not hashed"), class_=css("hash"))
    return [join([view.name(name, 160), mark]), count(size or 0), count(records or 0), _what(view, row)]


def _what(view: View, row: tuple[Any, ...]) -> Html:
    _, _, _, container, dialects, _, problem = row
    named = [str(d) for d in dialects] if isinstance(dialects, list) else []
    parts = [view.text(w, 60) for w in (container, *named) if w]
    if problem:
        parts.append(el("b", view.text(f"stopped: {problem}", 160), class_=css("alarm")))
    return join(parts, ", ") if parts else DASH


def provenance(view: View) -> Html:
    """What ran, on what, under which policy."""
    report, policy = view.report, view.report["policy"]
    rules = f"{policy['rules_from_file']:,} from the policy file, {policy['rules_from_traces']:,} from the traces"
    terms = (
        ("Audited", own(_date(view) or "not yet")),
        ("Case", view.name(view.case.path.name if view.case.path else "in memory")),
        ("Read", own(", ".join(_many(report[what], what) for what in ("sources", "traces", "events")))),
        ("Rule set", el("code", view.text(report["rules"]))),
        (
            "Policy",
            el("code", own(policy["sha256"]), class_=css("hash")) if policy["sha256"] else own("no policy file"),
        ),
        ("Rules in force", own(rules)),
        ("Made by", own(f"earwitness {report['version']}")),
    )
    return el("dl", *(el("div", el("dt", own(t)), el("dd", d)) for t, d in terms), class_=css("facts provenance"))


def _many(number: int, what: str) -> str:
    return f"{number:,} {what if number != 1 else what[:-1]}"


def _date(view: View) -> str | None:
    found = view.case.one("SELECT strftime(max(finished_at), '%-d %B %Y, %H:%M') FROM runs WHERE stage = 'measure'")
    return None if found is None else str(found)


def glossary() -> Html:
    """How to read the words of the page."""
    terms = [el("div", el("dt", own(term)), el("dd", own(meaning))) for term, meaning in GLOSSARY]
    return el("dl", *terms, class_=css("glossary"))
