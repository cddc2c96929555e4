"""Labels to hold detection against: from a file, or those that traces carry.

A line (JSONL) or row (CSV) of a file has `trace` and `event` (ids as recorded), `attribute` or `fingerprint` or both,
and `leaked` (true or false). Without attribute and fingerprint, `leaked: false` says that the event holds no value
at all. `score` (0 to 1) is what a detector outside of the case says. Further columns are ignored, so that what
`label queue` writes is a label file once it is filled in.
"""

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa

from earwitness.schema.case import Case
from earwitness.schema.errors import InputError

INSIDE, ADJUDICATED = "inside", "adjudicated"
# What an event is called in label files: its id as recorded, else its place in the run.
EVENT_NAME = "coalesce(e.event_id, 'seq:' || e.seq)"

_TRUE = frozenset({"true", "leak", "yes", "1"})
_FALSE = frozenset({"false", "no-leak", "no", "0"})
_OPEN = frozenset({"", "unsure"})


class FileLabel(NamedTuple):
    """One line of a label file. `what` is missing from lines that call a whole event clean."""

    line: int
    trace: str
    event: str
    attribute: str | None
    fingerprint: str | None
    leaked: bool
    score: float | None = None


def place_labels(case: Case, source: Path | str) -> list[int]:
    """Leave the labels in the temporary table `label`; gives the lines whose trace or event the case does not hold.

    Args:
        case: an imported case.
        source: a label file, `inside` for the labels that traces carry, `adjudicated` for what annotators of the
            case have settled.

    Raises:
        InputError: the file cannot be read, a line is no label, or there are no labels.
    """
    case.execute("""
        CREATE OR REPLACE TEMP TABLE label (line BIGINT, event BIGINT, attribute VARCHAR, fingerprint VARCHAR,
                                            leaked BOOLEAN, score DOUBLE)""")
    lost: list[int] = []
    if source == INSIDE:
        case.execute("""
            INSERT INTO label SELECT NULL, e.event, l.attribute, NULL, l.attribute IS NOT NULL, NULL
            FROM (SELECT DISTINCT trace, event_id, attribute FROM labels) l JOIN events e USING (trace, event_id)""")
    elif source == ADJUDICATED:
        case.execute(f"""
            INSERT INTO label SELECT NULL, e.event, a.attribute, a.fingerprint, a.label = 'leak', NULL
            FROM annotations a JOIN traces t ON t.trace_id = a.trace
            JOIN events e ON e.trace = t.trace AND {EVENT_NAME} = a.event
            WHERE a.annotator = '{ADJUDICATED}' AND a.label <> 'unsure'""")
    else:
        lost = _place_file(case, list(read_labels(Path(source))))
    if not case.count("label"):
        raise InputError(f"{source}: no label for an event of this case; a label names `trace` and `event` as recorded")
    return lost


def _place_file(case: Case, labels: list[FileLabel]) -> list[int]:
    columns = {n: pa.array([getattr(x, n) for x in labels], t) for n, t in _ARROW.items()}
    case.con.register("told", pa.table(columns))
    try:
        case.execute(f"""
            INSERT INTO label SELECT l.line, e.event, l.attribute, l.fingerprint, l.leaked, l.score
            FROM told l JOIN traces t ON t.trace_id = l.trace JOIN events e ON e.trace = t.trace
            AND {EVENT_NAME} = l.event""")
        known = {r[0] for r in case.rows("SELECT DISTINCT line FROM label")}
    finally:
        case.con.unregister("told")
    return [x.line for x in labels if x.line not in known]


_ARROW = {
    "line": pa.int64(),
    "trace": pa.string(),
    "event": pa.string(),
    "attribute": pa.string(),
    "fingerprint": pa.string(),
    "leaked": pa.bool_(),
    "score": pa.float64(),
}


def read_labels(path: Path) -> Iterator[FileLabel]:
    """The decided labels of a file; lines without a decision (`unsure`, or nothing) are left out.

    Raises:
        InputError: naming the file and the line, never what stands there.
    """
    for number, row in read_rows(path):
        leaked = _decision(row)
        if leaked is None:
            raise InputError(f"{path}:{number}: `leaked` (or `label`) must be true, false or unsure")
        if leaked == "open":
            continue
        if not row.get("trace") or not row.get("event"):
            raise InputError(f"{path}:{number}: a label needs `trace` and `event`")
        attribute, mark = (_text(row.get(k)) for k in ("attribute", "fingerprint"))
        if leaked == "leaked" and not (attribute or mark):
            raise InputError(f"{path}:{number}: what leaked? give `attribute` or `fingerprint`")
        score = _score(row.get("score"), f"{path}:{number}")
        yield FileLabel(number, str(row["trace"]), str(row["event"]), attribute, mark, leaked == "leaked", score)


def _decision(row: dict[str, Any]) -> str | None:
    told = row.get("leaked") if row.get("leaked") is not None else row.get("label")
    word = "" if told is None else str(told).strip().lower()
    return "leaked" if word in _TRUE else "clean" if word in _FALSE else "open" if word in _OPEN else None


def _score(value: Any, where: str) -> float | None:
    try:
        score = None if value in (None, "") else float(value)
    except (TypeError, ValueError):
        score = -1.0
    if score is not None and not 0 <= score <= 1:
        raise InputError(f"{where}: `score` must be a number from 0 to 1")
    return score


def _text(value: Any) -> str | None:
    return str(value) if value not in (None, "") else None


def read_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a CSV or JSONL file with the line each begins at.

    Raises:
        InputError: naming the file and the line.
    """
    try:
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or 'no such file'}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: not UTF-8; save the file as UTF-8") from None
    yield from _csv(text) if path.suffix.lower() == ".csv" else _jsonl(path, text.split("\n"))


def _csv(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    reader = csv.DictReader(io.StringIO(text))
    for row in reader:
        yield reader.line_num, row


def _jsonl(path: Path, lines: Iterable[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield number, msgspec.json.decode(line, type=dict[str, Any])
        except msgspec.DecodeError:
            raise InputError(f"{path}:{number}: not a JSON object on one line") from None
