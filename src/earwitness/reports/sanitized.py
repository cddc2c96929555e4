"""Sanitized traces as canonical JSONL: written whole or not at all.

What remains in their texts is masked like in any other output, unless it is to be revealed.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from earwitness.audit.replay.export import WITHHELD, Ask, LaidOut
from earwitness.reports.canonical import QUERIES, Queries, items
from earwitness.reports.mask import Mask
from earwitness.reports.printing import many
from earwitness.reports.text import plain
from earwitness.schema.case import Case
from earwitness.schema.errors import InputError
from earwitness.schema.model import Delivery, Event, Item, Label, Rule, Sighting, Value

GATE = "--with-values writes protected values in clear; add --reveal if that is meant"
_WHY = {
    "recognized": "found by recognizers in traces that bring no values",
    "split": "pieces that make a split value",
    "uncertain": "only possible before",
    "replacement": "a replacement that equals a value",
}
Row = dict[str, Any]

_TEXT = f"coalesce(c.text, y.text, z.text, '{WITHHELD}') AS content"
_TEXTS = """
    LEFT JOIN contents c ON c.content = v.shown
    LEFT JOIN (SELECT DISTINCT ON (changed) changed, text FROM replay_texts WHERE text IS NOT NULL) y
         ON y.changed = v.shown
    LEFT JOIN rx_cut z ON z.shown = v.shown
"""
_EVENTS = f"""
    SELECT trace_id AS trace, channel, {_TEXT}, v.id, seq, epoch_ns(time) AS time, e.kind, sender, d.to,
           parent_id AS parent, turn, archetype, flags,
           CASE WHEN parts > 1 THEN to_json(struct_pack(original := coalesce(e.event_id, 'event-' || e.event),
                                                        part := part, parts := parts)) END AS attributes
    FROM rx_event v JOIN events e USING (event) JOIN traces t USING (trace) {_TEXTS}
    LEFT JOIN (SELECT event, part, list({{'actor': actor, 'grade': grade, 'delivered': delivered}} ORDER BY nth) AS to
               FROM rx_to GROUP BY event, part) d USING (event, part)
    ORDER BY copy
"""
_SIGHTINGS = f"""
    SELECT trace_id AS trace, {_TEXT}, actor, kind, seq, epoch_ns(time) AS time, v.id AS event
    FROM rx_seen v JOIN sightings s ON s.rowid = v.sighting JOIN traces t USING (trace) {_TEXTS}
    ORDER BY t.trace, seq, s.source, line, pointer
"""
# What the recognizers found in traces without values was measured, too: an audit of the file needs it again.
_VALUES = """
    SELECT attribute, text AS value, CASE WHEN type_origin = 'given' OR v.origin = 'recognized' THEN value_type END
           AS value_type, subject, trace_id AS trace, v.scenario, aliases
    FROM vault v LEFT JOIN traces t ON v.trace = t.trace WHERE v.origin IN ('trace', 'recognized') ORDER BY v.value
"""
_OURS: dict[type, str] = {Event: _EVENTS, Sighting: _SIGHTINGS, Value: _VALUES}


def write_sanitized(case: Case, path: Path, *, values: bool, reveal: bool, replace: bool) -> int:
    """Write what `lay_out` left; gives the number of lines.

    Args:
        case: after `lay_out`.
        path: of the file; it appears when it is complete.
        values: write values and rules of the traces in clear; they are to be revealed for that.
        reveal: write texts as they would have been delivered, and names as recorded; else whatever protected value is
            known stands masked in them.
        replace: an existing file may be written over.

    Raises:
        InputError: the file exists, or cannot be written, or values are asked for that are not to be revealed.
    """
    if values and not reveal:
        raise InputError(GATE)
    check_output(path, replace=replace)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        lines = _write(case, part, queries(values=values), None if reveal else Mask(case))
        part.replace(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}; give another -o") from None
    finally:
        part.unlink(missing_ok=True)
    return lines


def check_output(path: Path, *, replace: bool) -> None:
    """Refuse to write over what is there.

    Raises:
        InputError: the file exists, or its folder does not.
    """
    if path.is_dir() or (path.exists() and not replace):
        raise InputError(f"{path}: exists already; give another -o, or --replace to write it anew")
    if not path.parent.is_dir():
        raise InputError(f"{path}: the folder {path.parent} does not exist; make it first")


def _write(case: Case, path: Path, asked: Queries, mask: Mask | None) -> int:
    lines = 0
    found = items(case, asked)
    with path.open("xb") as out:
        for item in found if mask is None else _masked(mask, found):
            out.write(msgspec.json.encode(item) + b"\n")
            lines += 1
    return lines


def queries(*, values: bool) -> Queries:
    """What is written, in order. Labels are of the recorded texts, and true of no others."""
    left_out = (Label,) if values else (Label, Value, Rule)
    return tuple((kind, _OURS.get(kind, query)) for kind, query in QUERIES if kind not in left_out)


def _masked(mask: Mask, found: Iterator[Item]) -> Iterator[Item]:
    """Items whose fields hold no protected value, names and ids included."""
    for item in found:
        names = (f for f in item.__struct_fields__ if f != "observable")
        yield msgspec.structs.replace(item, **{f: _hide(mask, getattr(item, f)) for f in names})


def _hide(mask: Mask, cell: Any) -> Any:
    """A field without protected values, whatever it is made of."""
    if isinstance(cell, str):
        return mask(cell)
    if isinstance(cell, Delivery):
        return msgspec.structs.replace(cell, actor=mask(cell.actor))
    if isinstance(cell, dict):
        return {mask(key): _hide(mask, inner) for key, inner in cell.items()}
    return type(cell)(_hide(mask, inner) for inner in cell) if isinstance(cell, list | tuple) else cell


def export_report(ask: Ask, told: LaidOut, lines: int, path: Path, *, values: bool, reveal: bool) -> Row:
    """What was written, as one object."""
    head = {"format": "earwitness.sanitized/1", "file": str(path), "lines": lines, "condition": ask.condition}
    asked = {"recipients": ask.setting, "mode": ask.mode, "values": values, "revealed": reveal}
    return head | asked | {"kept_unsent": ask.keep} | {f: getattr(told, f) for f in told.__dataclass_fields__}


def print_export(console: Console, report: Row) -> None:
    """Say what was written, and what a reader of the file will still find in it."""
    how = f"{report['condition']}, recipients {report['recipients']}, {report['mode']}"
    say = [f"{report['file']}: {many(report['lines'], 'line')}; {how}{' (REVEALED)' if report['revealed'] else ''}"]
    say.append(f"{many(report['events'], 'event')}, {report['changed']:,} of them with another text than recorded")
    if report["split"]:
        say.append(f"{many(report['split'], 'recorded event')} stand as several: their recipients got different texts")
    say += [_unsent(report), *_left(report), _values(report)]
    for line in say:
        console.print(plain(line), highlight=False, soft_wrap=True)


def _unsent(report: Row) -> str:
    """Of what no sanitizer saw."""
    if report["kept_unsent"]:
        return "what no sanitizer saw (initial inputs, contexts, messages that never arrived) stands as it was recorded"
    hidden = many(report["withheld_sightings"], "sighting")
    return f"withheld, since no sanitizer saw them: the texts of {hidden}, {report['withheld_events']:,} undelivered"


def _left(report: Row) -> Iterator[str]:
    """Of what an audit of the file finds."""
    yield f"{many(report['remaining'], 'occurrence')} that should be sanitized and {report['allowed']:,} allowed remain"
    new = report["introduced"] + report["introduced_allowed"]
    if new:
        why = ", ".join(f"{n:,} {_WHY[w]}" for w, n in report["introduced_by"].items())
        yield f"{many(new, 'occurrence')} that the record did not have ({report['introduced']:,} to sanitize): {why}"
    if report["unconfirmed"]:
        yield f"{report['unconfirmed']:,} of what remains only a judge or a person confirmed; an audit has to ask again"
    if report["differing"]:
        yield f"FAULT: replay and audit of the file differ on {many(report['differing'], 'occurrence')}"


def _values(report: Row) -> str:
    if report["values"]:
        return "values and rules of the traces are in it; an audit by the same policy finds what is told here, no more"
    if report["revealed"]:
        return "values and rules of the traces are left out; an audit needs them, by --with-values or from a vault file"
    return "protected values are masked, in texts, too; --reveal leaves texts as delivered, --with-values adds values"


def warning(report: Row) -> str | None:
    """What has to be said of a file in clear, whatever else is printed."""
    if not report["revealed"]:
        return None
    kept = "; what no sanitizer saw is in it, too" if report["kept_unsent"] else ""
    held = report["remaining"] + report["allowed"] + report["introduced"] + report["introduced_allowed"]
    values = ", and all values of the traces" if report["values"] else ""
    return f"{report['file']} holds protected values in clear: {many(held, 'occurrence')} in texts{values}{kept}"
