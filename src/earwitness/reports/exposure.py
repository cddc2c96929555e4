"""How far values got: agents by distance, exposure given the distance, routes, and relays that failed to pass on."""

from collections.abc import Sequence
from typing import Any

import polars as pl
from rich.console import Console

from earwitness.audit.relays import (
    Distant,
    Rate,
    exposure_by_route,
    exposure_curve,
    exposures_by_route,
    relay_failure,
    relay_operations,
)
from earwitness.graph.hops import COUNTS, find_distances
from earwitness.reports.printing import dim, head, many, section, share, value, where
from earwitness.reports.shown import Row, Shown

# What the columns of the table `distances` count.
TITLES = {
    "nominal": "in the graph that was meant",
    "realised": "over messages that occurred (C2)",
    "temporal": "over messages in their order (C2)",
    "carrying": "over messages that held the value (C2)",
    "realised_any": "over everything that occurred",
    "temporal_any": "over everything in its order",
    "carrying_any": "over everything that held the value",
}
_EXAMPLES = """
    SELECT d.{kind} AS hops, d.origin IS NULL AS undefined,
           arg_min((x.trace, x.value, x.recipient, x.event), (x.authorised IS DISTINCT FROM false, x.exposure))
    FROM distances d JOIN exposures x ON x.trace = d.trace AND x.value = d.value AND x.recipient = d.recipient
    JOIN parties p ON p.trace = d.trace AND p.actor = d.recipient AND p.kind = 'agent' {placed}
    GROUP BY ALL
"""
_AGENTS = """
    SELECT d.*, p.position FROM distances d
    JOIN parties p ON p.trace = d.trace AND p.actor = d.recipient AND p.kind = 'agent'
    ORDER BY d.trace, d.value, d.recipient
"""
_Key = tuple[int | None, bool]


def exposure(shown: Shown, position: str | None = None) -> Row:
    """Distances of an audited case, with rates.

    Args:
        shown: the case and what may be shown of it.
        position: only agents of this position, such as `introduced`.
    """
    case = shown.case
    find_distances(case)
    frame = case.frame(_AGENTS)
    if position is not None:
        frame = frame.filter(pl.col("position") == position)
    curves = {kind: _curve(shown, frame.drop("position"), kind, position) for kind in COUNTS}
    report = shown.stamp("exposure") | {"position": position, "totals": _totals(shown), "distances": curves}
    report |= {"evidence": _words(frame, "weakest"), "ordering": _counted(frame["ordering"])}
    report |= {"routes": _routes(shown), "relays": _relays(shown)}
    return report | {"case": str(case.path) if case.path else None}


def rate(found: Rate) -> Row:
    """A rate as an object; NULLs where there is nothing to count."""
    low, high = found.interval or (None, None)
    return {"k": found.k, "n": found.n, "rate": found.rate, "low": low, "high": high}


def _totals(shown: Shown) -> Row:
    row = shown.case.rows("""SELECT count(*), count(*) FILTER (authorised), count(*) FILTER (authorised IS FALSE),
                                    count(*) FILTER (authorised IS NULL) FROM exposures""")[0]
    return dict(zip(("total", "authorised", "unauthorised", "unruled"), row, strict=True))


def _curve(shown: Shown, frame: pl.DataFrame, kind: str, position: str | None) -> list[Row]:
    found = exposure_curve(shown.case, frame, kind, position=position)
    placed = "" if position is None else "AND p.position = ?"
    query = _EXAMPLES.format(kind=kind, placed=placed)
    rows = shown.case.rows(query, [] if position is None else [position])
    examples = _examples(shown, {(hops, undefined): tuple(x) for hops, undefined, x in rows})
    return [_distant(d, examples.get((d.hops, d.state == "undefined"))) for d in found]


def _distant(found: Distant, example: Row | None) -> Row:
    row = {"hops": found.hops, "state": found.state, "learned": rate(found.learned), "exposed": rate(found.exposed)}
    return row | {"kept": found.kept, "example": example}


def _examples(shown: Shown, found: dict[_Key, tuple[Any, ...]]) -> dict[_Key, Row]:
    """One exposure each, by trace, value, recipient and event."""
    ids = shown.traces(trace for trace, *_ in found.values())
    values = shown.values(value for _, value, *_ in found.values())
    places = shown.places((event, value) for _, value, _, event in found.values())
    return {
        key: {"trace_id": ids[trace], "value": values[number], "recipient": shown.mask(recipient)}
        | {"at": places[event, number]}
        for key, (trace, number, recipient, event) in found.items()
    }


def _words(frame: pl.DataFrame, suffix: str) -> Row:
    """How often each grade is the weakest of a way, by distance."""
    return {kind: _counted(frame[f"{kind}_{suffix}"]) for kind in COUNTS if kind != "nominal"}


def _counted(words: pl.Series) -> dict[str, int]:
    counts = words.drop_nulls().value_counts(sort=True)
    return dict(sorted(counts.iter_rows(), key=lambda pair: (-pair[1], pair[0])))


def _routes(shown: Shown) -> Row:
    """Executions and exposures of introduced agents by route."""
    executions = {route: rate(found) for (route,), found in exposure_by_route(shown.case).items() if route}
    return {"executions": executions, "exposures": {k: rate(r) for k, r in exposures_by_route(shown.case).items()}}


def _relays(shown: Shown) -> Row:
    operations = relay_operations(shown.case)
    found = relay_failure(operations)
    told = {"operations": rate(found.operations), "executions": rate(found.executions), "outcomes": found.outcomes}
    return told | {"failed": _failed(shown, operations)}


def _failed(shown: Shown, operations: pl.DataFrame) -> list[Row]:
    """Relays that held a value and spoke on the required way without it, by name, with one message that lacked it."""
    groups = (
        operations.filter(pl.col("outcome") == "failed")
        .group_by("relay", "next")
        .agg(
            pl.len().alias("n"),
            pl.col("trace").n_unique(),
            pl.col("event", "value").first(),
            pl.col("trace").first().alias("in"),
        )
        .sort(["n", "relay", "next"], descending=[True, False, False])
    )
    rows = list(groups.select("relay", "next", "n", "trace", "event", "value", "in").iter_rows())
    ids, values = shown.traces(row[6] for row in rows), shown.values(row[5] for row in rows)
    places = shown.places((row[4], None) for row in rows)
    return [
        {"relay": shown.mask(relay), "next": shown.mask(following), "n": n, "traces": traces}
        | {"example": {"trace_id": ids[trace], "value": values[number], "at": places[event, None]}}
        for relay, following, n, traces, event, number, trace in rows
    ]


def print_exposure(console: Console, report: Row, kinds: Sequence[str]) -> None:
    """Print distances, the curves of some kinds, routes and relays."""
    totals = report["totals"]
    told = f"{many(totals['total'], 'exposure')}, "
    told += f"{totals['unauthorised']:,} unauthorised, {totals['unruled']:,} unruled"
    of = f"; agents: {report['position']}" if report["position"] else ""
    head(console, report, "Earwitness exposure", told + of)
    _overview(console, report["distances"])
    for kind in kinds:
        _print_curve(console, kind, report["distances"][kind])
        weakest = report["evidence"].get(kind)
        if weakest:
            dim(console, f"weakest edge of these ways: {', '.join(f'{word} {n:,}' for word, n in weakest.items())}")
    if report["ordering"]:
        dim(console, f"order rests on: {', '.join(f'{word} {n:,}' for word, n in report['ordering'].items())}")
    _print_routes(console, report["routes"])
    _print_relays(console, report["relays"])


def _step(row: Row) -> str:
    return row["state"] if row["hops"] is None else f"{row['hops']:,}"


def _overview(console: Console, curves: dict[str, list[Row]]) -> None:
    """How many agents stand at each distance, whether they learned the value or not."""
    counts = {kind: {_step(row): row["learned"]["n"] for row in rows} for kind, rows in curves.items()}
    steps = {step: row["hops"] for rows in curves.values() for row in rows for step in [_step(row)]}
    order = sorted(steps, key=lambda s: (steps[s] is None, steps[s] or 0, s == "undefined"))
    rows = [(step, *(f"{counts[kind].get(step, 0):,}" for kind in curves)) for step in order]
    section(console, "Agents and values by hops from the disclosing agent", ("hops", *curves), rows)


def _print_curve(console: Console, kind: str, rows: Sequence[Row]) -> None:
    told = []
    for row in rows:
        e, (learned, *_), exposed = row["example"], share(row["learned"]), share(row["exposed"])
        kept = "-" if row["kept"] is None else f"{row['kept']:.2f}"
        example = f"{value(e['value'])} {e['recipient']} {where(e['at'])}" if e else "-"
        told.append((_step(row), example, learned, *exposed, kept))
    columns = ("hops", "example", "learned", "unauthorised", "%", "95 % interval", "kept")
    section(console, f"{kind}: {TITLES[kind]}", columns, told, left=2)


def _print_routes(console: Console, routes: Row) -> None:
    titles = {"executions": "Runs that expose an introduced agent, by route", "exposures": "Their exposures, by route"}
    for name, title in titles.items():
        rows = [(route, *share(found)) for route, found in routes[name].items()]
        section(console, title, ("route", "k of n", "%", "95 % interval"), rows)


def _print_relays(console: Console, relays: Row) -> None:
    rows = [(name, *share(relays[name])) for name in ("operations", "executions") if relays[name]["n"]]
    section(console, "Relays that held the value and spoke without it", ("", "failed", "%", "95 % interval"), rows)
    told = [
        (
            f["relay"],
            f["next"],
            value(e["value"]),
            where(e["at"]),
            f"{f['n']:,}",
            f"{f['traces']:,}",
        )
        for f in relays["failed"][:10]
        for e in [f["example"]]
    ]
    columns = ("relay", "next", "value", "spoke at", "n", "traces")
    section(console, f"Failed relays ({len(told)} of {len(relays['failed']):,})", columns, told, left=4)
