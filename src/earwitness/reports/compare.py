"""Two bodies of runs held against each other, as one plain object: what `compare --json` prints."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
import polars as pl

from earwitness.audit.compare import baselines
from earwitness.audit.compare.baselines import Applied, Baseline, Entry
from earwitness.audit.compare.differences import differences, spread, totals
from earwitness.audit.compare.exposures import WAY, Compared, compare_exposures, counts
from earwitness.audit.compare.pairing import Pairing, pair
from earwitness.audit.compare.sides import CELLS, Side
from earwitness.audit.compare.verdicts import changed, same_recordings
from earwitness.reports.compare_words import sentence
from earwitness.reports.printing import many
from earwitness.reports.shown import Row, Shown

FailOn = Literal["never", "new", "worse", "any"]
_KINDS = ("new", "moved", "gone")


@dataclass(frozen=True)
class Asked:
    """What is asked of a comparison.

    Attributes:
        paired: hold runs against their partners; else sides as if independent.
        by: column by which one case was cut up.
        reference: the group the others are held against; None for the first.
        baseline: file of accepted exposures, and its name.
        today: the day by which entries expire.
    """

    paired: bool = True
    by: str | None = None
    reference: str | None = None
    baseline: tuple[Path, Baseline] | None = None
    today: date = date.max


class Told(NamedTuple):
    """A side and what may be shown of the case it was read from."""

    side: Side
    shown: Shown


def compare(told: Sequence[Told], asked: Asked, silent: int = 0) -> Row:
    """Hold sides against the first of them.

    Args:
        told: the reference first.
        asked: how.
        silent: runs that tell nothing of the column they were cut up by.
    """
    without = (asked.by,) if asked.by else ()
    masked = _Words(told)
    comparisons = [_comparison(told[0], other, asked, without, masked) for other in told[1:]]
    report = told[0].shown.stamp("compare") | {"by": asked.by, "reference": masked(told[0].side.name)}
    report |= {"sides": [_side(one, masked) for one in told], "silent": silent, "comparisons": comparisons}
    sides, every = [t.side for t in told], pair([t.side for t in told], without)
    many = len(told) > 2
    report |= {"totals": _grouped(totals(sides, every), masked) if many else []}
    report |= {"tests": _grouped(spread(sides, every), masked) if many and asked.paired else []}
    return report | {"baseline": _baseline(asked, comparisons), "notes": _notes(report)}


def accepted(one: Told, path: Path, asked: Asked) -> Row:
    """Hold a case against a baseline alone: every unauthorised exposure of it is new, unless it was accepted."""
    masked = _Words([one])
    before = Told(_emptied(one.side, path.name), one.shown)
    found = _comparison(before, one, asked, (), masked) | {"measures": [], "verdicts": None}
    report = one.shown.stamp("compare") | {"by": None, "reference": masked(path.name)}
    report |= {"sides": [_side(one, masked)], "silent": 0, "comparisons": [found], "totals": [], "tests": []}
    return report | {"baseline": _baseline(asked, [found]), "notes": _notes(report)}


def _emptied(side: Side, name: str) -> Side:
    """The same runs, in which nothing was learned."""
    return Side(name, side.runs, side.units, side.exposures.clear(), side.verdicts, side.sources)


class _Words:
    """Hides the protected values of every case in a word of any."""

    def __init__(self, told: Sequence[Told]) -> None:
        self._masks: list[Callable[[str], str]] = list({id(t.shown): t.shown.mask for t in told}.values())

    def __call__(self, text: str) -> str:
        for mask in self._masks:
            text = mask(text)
        return text

    def name(self, text: str | None) -> str | None:
        return None if text is None else self(text)

    def cells(self, cells: Row) -> Row:
        return {k: self(v) if isinstance(v, str) else v for k, v in cells.items()}


def _side(one: Told, masked: _Words) -> Row:
    side, case = one.side, one.shown.case
    said = side.exposures["authorised"]
    last = case.rows(
        "SELECT parameters->>'rules', policy_sha256 FROM runs WHERE stage = 'decide' ORDER BY run DESC LIMIT 1"
    )
    rules, policy = last[0] if last else (None, None)
    row = {"name": masked(side.name), "case": str(case.path) if case.path else None, "rules": rules}
    row |= {"policy_sha256": policy, "runs": side.runs.height, "judged": int(side.runs["judged"].sum())}
    return row | {"unauthorised": int(said.eq_missing(False).sum()), "unruled": int(said.null_count())}


def _grouped(rows: list[Row], masked: _Words) -> list[Row]:
    return [row | {"group": masked.cells(row["group"])} for row in rows]


def _comparison(left: Told, right: Told, asked: Asked, without: Sequence[str], masked: _Words) -> Row:
    pairing = pair([left.side, right.side], without)
    names = masked(left.side.name), masked(right.side.name)
    rows = _grouped(differences(left.side, right.side, pairing, paired=asked.paired), masked)
    found = compare_exposures(left.side, right.side, pairing)
    states = _suppressed(left, right, found, asked)
    report: Row = {"left": names[0], "right": names[1], "paired_by": ["scenario", *pairing.columns]}
    report |= {
        "differs": {c: [[masked.name(v) for v in side] for side in sides] for c, sides in pairing.differs.items()}
    }
    report |= {"pairs": pairing.pairs, "alone": _alone(left, right, found, pairing, states)}
    report |= {"measures": [row | {"sentence": sentence(row, *names)} for row in rows]}
    report |= {"exposures": _exposures(left, right, found, states, masked)}
    if asked.baseline is not None:
        report |= {"_applied": {name: [_entry(e) for e in getattr(states, name)] for name in ("stale", "expired")}}
    same = same_recordings(left.side, right.side) and not asked.by
    return report | {"verdicts": _verdicts(left, right, pairing, masked) if same else None}


def _suppressed(left: Told, right: Told, found: Compared, asked: Asked) -> Applied:
    """What the baseline says of all unauthorised exposures of the right side: of paired runs, then of the others."""
    if asked.baseline is None:
        return Applied({}, {}, (), ())
    path, baseline = asked.baseline
    key = baselines.fitting(baseline, baselines.keys([right.shown.case, left.shown.case]), path)
    table = found.table.filter(pl.col("status") != "gone")
    paired = table.select(
        pl.col("trace_right").alias("trace"), pl.col("value_right").alias("value"), "attribute", "recipient",
        pl.col("ways_right").list.eval(pl.element().str.json_path_match("$.channel")).alias("channels"),
    )  # fmt: skip
    alone = found.alone[1].select(
        "trace", "value", "attribute", "recipient", pl.concat_list("channel").alias("channels")
    )
    rows = pl.concat([paired, alone])
    ids = baselines.identified(right.shown.case, right.side, rows, key)
    told = [(name, frozenset(channels)) for name, channels in zip(ids, rows["channels"].to_list(), strict=True)]
    return baselines.apply(baseline.entries, told, asked.today)


def _alone(left: Told, right: Told, found: Compared, pairing: Pairing, states: Applied) -> Row:
    """Runs that stand on one side only, and what was learned in them; part of that may have been accepted."""
    first = found.table.filter(pl.col("status") != "gone").height
    hidden = sum(row >= first for row in states.known)
    out: Row = {}
    for at, (name, one) in enumerate((("left", left), ("right", right))):
        exposures, accepted_ = found.alone[at].height, hidden if name == "right" else 0
        out[name] = {"runs": pairing.alone[at], "unauthorised": exposures - accepted_, "suppressed": accepted_}
        out[name]["scenarios"] = _scenarios(one, pairing.keys[at], pairing.keys[1 - at])
    return out


def _scenarios(one: Told, keys: pl.DataFrame, others: pl.DataFrame) -> list[str]:
    """Scenarios, or ids of runs without one, of the runs without partner."""
    lone = one.side.runs.join(keys, on="trace").join(others, on="key", how="anti")
    names = lone.select(pl.coalesce("scenario", "trace_id").alias("name"))["name"].unique().sort()
    return [one.shown.mask(n) for n in names]


def _exposures(left: Told, right: Told, found: Compared, states: Applied, masked: _Words) -> Row:
    """Counts, and a row for everything that is not the same on both sides."""
    rows, at = [], 0
    for one in found.table.to_dicts():
        row = _exposure(one, masked) | {"suppressed": None, "lapsed": None}
        if one["status"] != "gone":
            row |= {"suppressed": _entry(states.known.get(at)), "lapsed": _entry(states.lapsed.get(at))}
            at += 1
        rows.append((row, one))
    told = [(row, one) for row, one in rows if row["status"] != "same"]
    _cite(told, left, right)
    open_ = [row["status"] for row, _ in told if row["suppressed"] is None]
    number = {status: open_.count(status) for status in _KINDS} | {"same": counts(found.table)["same"]}
    number["suppressed"] = len(told) - len(open_)
    order = {status: n for n, status in enumerate(_KINDS)}
    listed = sorted((row for row, _ in told), key=lambda r: order[r["status"]])
    return {"counts": number, "rows": listed}


def _exposure(one: Row, masked: _Words) -> Row:
    key = msgspec.json.decode(one["key"])
    cells = {c: masked.name(key[c]) for c in CELLS if key.get(c) is not None}
    mark = one["fingerprint_right"] or one["fingerprint"]
    row = {"status": one["status"], "scenario": masked.name(key["scenario"] or key["id"]), "cells": cells}
    row |= {"attribute": masked(one["attribute"]), "fingerprint": mark, "recipient": masked.name(one["recipient"])}
    return row | {"was": one["was"], "left": _ways(one["ways"], masked), "right": _ways(one["ways_right"], masked)}


def _ways(ways: list[str] | None, masked: _Words) -> list[Row]:
    told = [msgspec.json.decode(way) for way in ways or ()]
    return [{name: masked.name(w[name]) if name == "sender" else w[name] for name in WAY} for w in told]


def _cite(told: list[tuple[Row, Row]], left: Told, right: Told) -> None:
    """Where an example of each stands: on the right side, of what is gone on the left."""
    for side, end, gone in ((left, "", True), (right, "_right", False)):
        rows = [(row, one) for row, one in told if (row["status"] == "gone") == gone]
        places = side.shown.places((one[f"event{end}"], one[f"value{end}"]) for _, one in rows)
        ids = side.shown.traces(one[f"trace{end}"] for _, one in rows)
        for row, one in rows:
            row["trace_id"] = ids[one[f"trace{end}"]]
            row["at"] = places[one[f"event{end}"], one[f"value{end}"]]
        if side.shown.revealed:
            _reveal(rows, side, end)


def _reveal(rows: list[tuple[Row, Row]], side: Told, end: str) -> None:
    values = side.shown.values(one[f"value{end}"] for _, one in rows)
    for row, one in rows:
        row["text"] = values[one[f"value{end}"]]["text"]


def _entry(entry: Entry | None) -> Row | None:
    if entry is None:
        return None
    told: Row = msgspec.to_builtins(entry)
    return told


def _verdicts(left: Told, right: Told, pairing: Pairing, masked: _Words) -> Row:
    found = changed(left.side, right.side, pairing)
    names = ("left_rule", "right_rule")
    found["rules"] = [row | {name: masked.name(row[name]) for name in names} for row in found["rules"]]
    return found


def _baseline(asked: Asked, comparisons: Sequence[Row]) -> Row | None:
    """What became of the entries of the baseline. An entry is stale if no right side shows it."""
    if asked.baseline is None:
        return None
    path, baseline = asked.baseline
    applied: Row = comparisons[0].pop("_applied")
    return {"file": str(path), "entries": len(baseline.entries)} | applied


def _notes(report: Row) -> list[str]:
    """What was not compared, and why."""
    notes = []
    if report["silent"]:
        notes.append(f"Runs that tell nothing of {report['by']}: {report['silent']:,}. They stand on no side.")
    for side in report["sides"]:
        if side["unruled"]:
            notes.append(f"{side['name']}: no policy rules on {many(side['unruled'], 'exposure')}: not compared.")
        if side["runs"] and not side["judged"]:
            notes.append(f"{side['name']}: no run could be judged; nothing in it can be new.")
    for one in report["comparisons"]:
        notes += _pair_notes(one)
    return notes


def _pair_notes(one: Row) -> list[str]:
    """What makes a comparison less than it seems."""
    names = f"{one['left']} and {one['right']}"
    notes = []
    if not one["pairs"]:
        notes.append(f"{names}: no run has a partner of the same scenario or id; exposures could not be compared.")
    if len(one["differs"]) > 1:
        notes.append(f"{names} differ in {', '.join(one['differs'])} together: a difference may come from any of them.")
    for side in ("left", "right"):
        alone = one["alone"][side]
        if alone["runs"]:
            exposed = alone["unauthorised"] + alone["suppressed"]
            told = many(exposed, "unauthorised exposure")
            notes.append(f"Runs that only {one[side]} has: {alone['runs']:,}, with {told}.")
    return notes


def has_findings(report: Row, fail_on: FailOn) -> bool:
    """Whether the comparison is one to fail on.

    `new`: an unauthorised exposure on the right that is neither on the left nor accepted; those of runs that only the
    right side has count, since else renaming a scenario would hide them. `worse`: that, or a leakage rate whose
    interval lies above 0. `any`: anything that is not the same on both sides, stale entries of the baseline too.
    """
    if fail_on == "never":
        return False
    return any(_failing(one, fail_on) for one in report["comparisons"]) or (
        fail_on == "any" and bool(report["baseline"] and report["baseline"]["stale"])
    )


def _failing(one: Row, fail_on: FailOn) -> bool:
    number, alone = one["exposures"]["counts"], one["alone"]
    if number["new"] or alone["right"]["unauthorised"]:
        return True
    if fail_on == "worse":
        return any(m["worse"] for m in one["measures"])
    moved = number["moved"] or number["gone"] or alone["left"]["runs"] or alone["right"]["runs"]
    return fail_on == "any" and bool(moved or any(m["difference"] for m in one["measures"]))
