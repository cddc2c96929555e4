"""What would have been without some edges, actors or channels: each unauthorised exposure before and after."""

from collections.abc import Sequence

import polars as pl
from rich.console import Console

from earwitness.graph.whatif import UNNAMED, what_if
from earwitness.reports.printing import head, many, section, unruled, value, where
from earwitness.reports.shown import Row, Shown

_WORDS = {
    "stopped": "stopped",
    "unchanged": "unchanged",
    "another way": "survives by another way",
    "another source": "survives through another source",
}


def counterfactual(
    shown: Shown,
    *,
    edges: Sequence[tuple[str, str]] = (),
    actors: Sequence[str] = (),
    channels: Sequence[str] = (),
    trace: int | None = None,
    limit: int | None = None,
) -> Row:
    """Remove edges, actors or channels and recount the unauthorised exposures.

    Args:
        shown: an audited case and what may be shown of it.
        edges: (sender, recipient) by name.
        actors: with all they send and receive.
        channels: C1 to C7.
        trace: number of one trace; None for all.
        limit: give so many exposures of each outcome; None for all.
    """
    chosen = None if trace is None else [trace]
    found = what_if(shown.case, edges=edges, actors=actors, channels=channels, traces=chosen)
    removed: Row = {"edges": [[shown.mask(a), shown.mask(b)] for a, b in edges]}
    removed |= {"actors": [shown.mask(a) for a in actors], "channels": list(channels)}
    report = shown.stamp("what-if") | {"removed": removed, "before": found.before, "after": found.after}
    report |= {"outcomes": {name.replace(" ", "_"): n for name, n in found.outcomes.items()}}
    report |= {"allowed_before": found.allowed_before, "allowed_after": found.allowed_after}
    report |= {"unruled": shown.unruled(), "exposures": _exposures(shown, _few(found.table, limit))}
    return report | {"case": str(shown.case.path) if shown.case.path else None}


def _few(table: pl.DataFrame, limit: int | None) -> pl.DataFrame:
    return table if limit is None else table.group_by("outcome", maintain_order=True).head(limit)


def _exposures(shown: Shown, table: pl.DataFrame) -> list[Row]:
    """One row for every exposure there was: how it came, and how it would still come."""
    ids, values = shown.traces(table["trace"].unique()), shown.values(table["value"].unique())
    events = table.select("value", event=pl.concat_list("event", "event_after")).explode("event").drop_nulls()
    places = shown.places(zip(events["event"], events["value"], strict=True))
    return [
        {"trace": row["trace"], "trace_id": ids[row["trace"]], "value": values[row["value"]]}
        | {"recipient": shown.name(row["recipient"]), "outcome": row["outcome"]}
        | {"source": shown.name(row["source"]) or UNNAMED, "at": places.get((row["event"], row["value"]))}
        | {"source_after": _after(shown, row), "at_after": places.get((row["event_after"], row["value"]))}
        for row in table.to_dicts()
    ]


def _after(shown: Shown, row: Row) -> str | None:
    return None if row["event_after"] is None else shown.name(row["source_after"]) or UNNAMED


def print_counterfactual(console: Console, report: Row) -> None:
    """Print the counts, then what survives and what is stopped."""
    removed = report["removed"]
    names = [*(f"{a} -> {b}" for a, b in removed["edges"]), *removed["actors"], *removed["channels"]]
    told = f"without {', '.join(names)}: {report['before']:,} -> {many(report['after'], 'unauthorised exposure')}"
    head(console, report, "Earwitness what-if", told)
    outcomes = {word: report["outcomes"][word.replace(" ", "_")] for word in _WORDS}
    cost = f"{report['allowed_before']:,} -> {report['allowed_after']:,}"
    counts = [(_WORDS[word], f"{n:,}") for word, n in outcomes.items()]
    section(console, "Unauthorised exposures", ("", ""), [*counts, ("allowed deliveries of values", cost)])
    for word in ("another source", "another way", "stopped", "unchanged"):
        rows = [row for row in report["exposures"] if row["outcome"] == word]
        _print_rows(console, f"{_WORDS[word].capitalize()} ({len(rows):,} of {outcomes[word]:,})", rows)
    unruled(console, report)


def _print_rows(console: Console, title: str, rows: Sequence[Row]) -> None:
    told = [
        (
            row["trace_id"],
            value(row["value"]),
            row["recipient"] or "-",
            f"{row['source']} {where(row['at'])}",
            f"{row['source_after']} {where(row['at_after'])}" if row["at_after"] else "-",
        )
        for row in rows
    ]
    section(console, title, ("trace", "value", "recipient", "source, and where it arrived", "and then"), told, left=5)
