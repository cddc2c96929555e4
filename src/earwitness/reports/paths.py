"""The ways values took: patterns, and single ways hop by hop with sender, recipient, channel, evidence and place."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl
from rich.console import Console

from earwitness.graph.exposures import Step
from earwitness.graph.paths import Trail, find_paths
from earwitness.graph.ways import By, Pattern, Ways, find_ways, pattern_of, patterns, relayers
from earwitness.reports.printing import dim, head, many, section, unruled, value, where
from earwitness.reports.shown import VERDICTS, Row, Shown
from earwitness.schema.errors import CaseError

# How the source of a way had the value.
HELD = {
    "initial": "given it at the start",
    "tool": "a tool's own",
    "memory": "a memory's own",
    "artifact_store": "a store's own",
    "user": "a user's own",
    "log": "a log's own",
    "unseen": "it is not recorded how",
    "unknown": "a sender the record does not name",
}


@dataclass(frozen=True)
class Asked:
    """Which ways are asked for.

    Attributes:
        values: numbers of values; None for all.
        source: actor a way begins with or goes through.
        recipient: actor it ends at.
        trace: number of the trace.
        pattern: number of a pattern as listed, from 1, or its stations `a -> b -> *`.
        by: what stands for a station.
        unauthorised: only ways to those who may not have the value.
        limit: so many patterns and so many ways.
    """

    values: Sequence[int] | None = None
    source: str | None = None
    recipient: str | None = None
    trace: int | None = None
    pattern: str | None = None
    by: By = "name"
    unauthorised: bool = True
    limit: int = 20


def paths(shown: Shown, asked: Asked) -> Row:
    """Patterns of all ways of a case, and the longest of the ways that are asked for.

    Raises:
        CaseError: there is no such pattern.
    """
    case = shown.case
    ways = find_ways(case)
    number = _number(asked.pattern)
    limit = max(asked.limit, number or 0)
    every = patterns(case, ways, by=asked.by, unauthorised=asked.unauthorised, limit=limit)
    wanted = None if asked.pattern is None else _wanted(shown, ways, every, asked)
    found = find_paths(
        case,
        ways,
        values=asked.values,
        source=asked.source,
        recipient=asked.recipient,
        trace=asked.trace,
        pattern=wanted,
        by=asked.by,
        unauthorised=asked.unauthorised,
        limit=asked.limit,
    )
    report = shown.stamp("paths") | {"by": asked.by, "unauthorised_only": asked.unauthorised}
    report |= {"limit": asked.limit, "unruled": shown.unruled()}
    report |= {"totals": _totals(ways), "patterns": _patterns(shown, ways, every[: asked.limit])}
    report |= {"relayers": _relayers(shown, ways, asked.limit), "ways": _told(shown, ways, found)}
    return report | {"case": str(case.path) if case.path else None}


def _number(word: str | None) -> int | None:
    return int(word) if word and word.isascii() and word.isdecimal() and len(word) < 7 else None


def _wanted(shown: Shown, ways: Ways, every: Sequence[Pattern], asked: Asked) -> Pattern:
    """The pattern of a number, or of some stations by name."""
    number, word = _number(asked.pattern), asked.pattern or ""
    if number is not None and 0 < number <= len(every):
        return every[number - 1]
    found = None if number is not None or asked.by != "name" else _along(ways, word)
    if found is None:
        raise CaseError(
            f"{shown.case.path or 'case'}: no such pattern; give its number in the list of `earwitness paths` (made "
            "with the same --by and --all), or all stations by name: 'a -> b -> *'"
        )
    return found


def _along(ways: Ways, word: str) -> Pattern | None:
    """The pattern with these stations."""
    stations = tuple(part.strip() for part in word.replace("->", ">").split(">"))
    stations = stations[:-1] if stations[-1] == "*" else stations
    alike = ways.table.filter((pl.col("hops") == len(stations)) & (pl.col("source") == stations[0]))
    numbers = pattern_of(ways, "name").gather(alike["exposure"])
    for exposure in alike.group_by(numbers.alias("pattern")).agg(pl.col("exposure").min())["exposure"].sort():
        between = ways.table["recipient"].gather(ways.way(exposure)[:-1]).to_list()
        if (stations[0], *between) == stations:
            return Pattern(stations, 0, 0, 0, exposure, ())
    return None


def _totals(ways: Ways) -> Row:
    bad = ways.table.filter(pl.col("authorised") == False)  # noqa: E712 - NULL is no answer
    return {"ways": len(ways.table), "unauthorised": len(bad), "traces": bad["trace"].n_unique()}


def _patterns(shown: Shown, ways: Ways, every: Sequence[Pattern]) -> list[Row]:
    """Patterns with the way of one example."""
    rows = _examples(ways, [p.example for p in every])
    ids, places = shown.traces(rows["trace"]), shown.places(zip(rows["event"], rows["value"], strict=True))
    values = shown.values(rows["value"])
    out = []
    for number, (pattern, row) in enumerate(zip(every, rows.to_dicts(), strict=True), 1):
        told: Row = {"number": number, "stations": [shown.mask(s) for s in pattern.stations]}
        told |= {"label": shown.mask(pattern.label)}
        told |= {"exposures": pattern.exposures, "traces": pattern.traces, "values": pattern.values}
        example = {"exposure": pattern.example, "trace_id": ids[row["trace"]], "value": values[row["value"]]}
        example |= {"recipient": shown.mask(row["recipient"]), "at": places[row["event"], row["value"]]}
        out.append(told | {"example": example})
    return out


def _examples(ways: Ways, exposures: Sequence[int]) -> pl.DataFrame:
    # Row n of the table is exposure n.
    return ways.table[list(exposures)] if exposures else ways.table.clear()


def _relayers(shown: Shown, ways: Ways, limit: int) -> list[Row]:
    """Who stood on the ways, each with the first delivery by which it passed a value on, or else sent one."""
    sent = ways.table.filter((pl.col("authorised") == False) & pl.col("teacher").is_not_null())  # noqa: E712
    first = sent.sort(pl.col("parent") < 0, "exposure", maintain_order=True).group_by("teacher", maintain_order=True)
    example = first.agg(pl.col("event", "value").first())
    ranked = relayers(ways).head(limit)
    rows = ranked.join(example, left_on="actor", right_on="teacher", how="left", maintain_order="left")
    told = rows.filter(pl.col("event").is_not_null())
    places = shown.places(zip(told["event"], told["value"], strict=True))
    names = ("kind", "relayed", "taught", "sourced", "traces", "values")
    return [
        {"actor": shown.name(row["actor"])}
        | {name: row[name] for name in names}
        | {"example": places.get((row["event"], row["value"]))}
        for row in rows.to_dicts()
    ]


def _told(shown: Shown, ways: Ways, found: Sequence[Trail]) -> list[Row]:
    """Ways hop by hop."""
    ids, values = shown.traces(t.trace for t in found), shown.values(t.value for t in found)
    places = shown.places((step.event, t.value) for t in found for step in t.steps)
    rules = _rules(shown, found)
    out = []
    for trail in found:
        row: Row = {"exposure": trail.exposure, "trace": trail.trace, "trace_id": ids[trail.trace]}
        row |= {"value": values[trail.value], "source": shown.name(trail.source), "held": trail.held}
        row |= {"recipient": shown.mask(trail.recipient), "hops": trail.hops, "authorised": trail.authorised}
        row |= {"verdict": VERDICTS[trail.authorised], "rule": shown.name(rules.get(trail.exposure))}
        row |= {"weakest": trail.weakest, "weakest_hop": _weakest(trail)}
        out.append(row | {"way": [_hop(shown, step, places[step.event, trail.value]) for step in trail.steps]})
    return out


def _weakest(trail: Trail) -> int | None:
    """The first hop, from 1, whose evidence is the weakest of the way."""
    return next((n for n, step in enumerate(trail.steps, 1) if step.grade == trail.weakest), None)


def _hop(shown: Shown, step: Step, at: Row) -> Row:
    ends = {"sender": shown.name(step.sender), "recipient": shown.mask(step.recipient)}
    return ends | {"channel": step.channel, "grade": step.grade, "at": at}


def _rules(shown: Shown, found: Sequence[Trail]) -> dict[int, str]:
    """The rule that decided on each exposure."""
    query = """
        SELECT x.exposure, min(v.dynamic_rule) FROM exposures x
        JOIN verdicts v ON v.event = x.event AND v.value = x.value AND v.recipient = x.recipient
        WHERE x.exposure IN (SELECT unnest(?::BIGINT[])) GROUP BY x.exposure
    """
    return dict(shown.case.rows(query, [[t.exposure for t in found]]))


def print_paths(console: Console, report: Row, *, overview: bool = True) -> None:
    """Print patterns and relayers, unless some ways were asked for, then the ways."""
    totals, ways = report["totals"], report["ways"]
    told = f"{many(totals['ways'], 'way')}, "
    told += f"{totals['unauthorised']:,} unauthorised in {many(totals['traces'], 'trace')}"
    head(console, report, "Earwitness paths", told)
    if overview:
        _print_patterns(console, report["patterns"])
        _print_relayers(console, report["relayers"])
    for way in ways:
        _print_way(console, way)
    more = "; there may be more: --limit" if len(ways) == report["limit"] else ""
    dim(console, f"{many(len(ways), 'way')} shown, longest first{more}" if ways else "no way fits")
    if report["unauthorised_only"]:
        unruled(console, report, "--all shows their ways too")


def _print_patterns(console: Console, rows: Sequence[Row]) -> None:
    told = [
        (
            f"{p['number']}",
            p["label"],
            f"{value(p['example']['value'])} to {p['example']['recipient']} {where(p['example']['at'])}",
            f"{p['exposures']:,}",
            f"{p['traces']:,}",
            f"{p['values']:,}",
        )
        for p in rows
    ]
    columns = ("", "pattern", "example", "ways", "traces", "values")
    section(console, f"Patterns ({len(told)} shown)", columns, told, left=3)


def _print_relayers(console: Console, rows: Sequence[Row]) -> None:
    counts = ("relayed", "taught", "sourced", "traces", "values")
    told = [
        (r["actor"] or "(unknown sender)", r["kind"], where(r["example"]), *(f"{r[c]:,}" for c in counts))
        for r in rows[:10]
    ]
    columns = ("relayer", "kind", "example", *counts)
    section(console, "Who stood on unauthorised ways", columns, told, left=3)


def _print_way(console: Console, way: Row) -> None:
    mixed = len({hop["grade"] for hop in way["way"]}) > 1
    rows = [
        (
            f"{n}",
            hop["sender"] or "(unknown sender)",
            hop["recipient"],
            hop["channel"],
            (hop["grade"] or "-") + (" (weakest)" if n == way["weakest_hop"] and mixed else ""),
            where(hop["at"]),
        )
        for n, hop in enumerate(way["way"], 1)
    ]
    verdict = way["verdict"].replace("unauthorised", "UNAUTHORISED") + (f" by {way['rule']}" if way["rule"] else "")
    title = f"{value(way['value'])} reached {way['recipient']} in {way['trace_id']}, "
    title += f"{many(way['hops'], 'hop')}, {verdict}"
    section(console, title, ("", "sender", "recipient", "channel", "evidence", "at"), rows, left=6)
    held = HELD.get(way["held"], way["held"])
    dim(console, f"source: {way['source'] or '(unknown sender)'}, {held}; weakest evidence: {way['weakest']}")
