"""Verdicts that were given, kept in the case: table `judgements`. They hold fingerprints and scores, no value, no text.

A verdict holds for a text, a value, a prompt and a model; with it nothing need be asked again.
"""

import uuid
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from earwitness.audit.judge.errors import JudgeError
from earwitness.audit.registry import fingerprint, fingerprint_key
from earwitness.schema.case import Case
from earwitness.schema.tables import TABLES

FORMAT = "earwitness-judgements"
_STATED = "SELECT content, fingerprint, prompt, model, score, judged_at"
_ADD = f"""
    INSERT INTO judgements {_STATED}, origin FROM fresh ANTI JOIN judgements USING (content, fingerprint, prompt, model)
"""


class _Head(msgspec.Struct, forbid_unknown_fields=True):
    format: str
    key: str


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    content: uuid.UUID
    fingerprint: str
    prompt: str
    model: str
    score: float
    judged_at: datetime


def known(case: Case, prompt: str, model: str) -> dict[tuple[str, str], float]:
    """Scores at hand, by content and fingerprint."""
    rows = case.rows(
        "SELECT content::VARCHAR, fingerprint, score FROM judgements WHERE prompt = ? AND model = ?", [prompt, model]
    )
    return {(content, mark): score for content, mark, score in rows}


def save(con: Any, prompt: str, model: str, scores: Sequence[tuple[str, str, float]]) -> None:
    """Keep scores that an endpoint gave, through a connection of their own: they outlive an audit that fails."""
    now = datetime.now(UTC)
    lines = [_Line(uuid.UUID(c), mark, prompt, model, score, now) for c, mark, score in scores]
    _add(con, lines, "endpoint")


def export_judgements(case: Case, path: Path) -> int:
    """Write all verdicts as JSON lines; gives their number. They fit cases with the same key of fingerprints."""
    rows = case.rows(f"{_STATED} FROM judgements ORDER BY content, fingerprint, prompt, model")
    encoder = msgspec.json.Encoder()
    with path.open("wb") as handle:
        handle.write(encoder.encode(_Head(FORMAT, _mark(case))) + b"\n")
        for row in rows:
            handle.write(encoder.encode(_Line(*row)) + b"\n")
    return len(rows)


def import_judgements(case: Case, path: Path) -> int:
    """Read verdicts; gives the number of those that were new.

    Raises:
        JudgeError: the file is none of this kind, is damaged, or was made under another key of fingerprints.
    """
    before = case.count("judgements")
    with case.transaction():
        _add(case.con, list(_lines(case, path)), "imported")
    return case.count("judgements") - before


def _lines(case: Case, path: Path) -> Iterator[_Line]:
    with path.open("rb") as handle:
        _check(case, path, handle.readline())
        for number, line in enumerate(handle, 2):
            if not line.strip():
                continue
            try:
                told = msgspec.json.decode(line, type=_Line)
            except (msgspec.DecodeError, ValueError):
                raise JudgeError(f"{path}: line {number} is no verdict as `export` writes them") from None
            if not 0 <= told.score <= 1:
                raise JudgeError(f"{path}: line {number}: the score is not from 0 to 1")
            yield told


def _check(case: Case, path: Path, line: bytes) -> None:
    try:
        head = msgspec.json.decode(line, type=_Head)
    except (msgspec.DecodeError, ValueError):
        head = None
    if head is None or head.format != FORMAT:
        raise JudgeError(f"{path}: no file of verdicts; write one with an export of judgements")
    if head.key != _mark(case):
        raise JudgeError(
            f"{path}: made under another key of fingerprints, so its verdicts fit no value of this case; "
            "set EARWITNESS_KEY to the same for both cases"
        )


def _mark(case: Case) -> str:
    return fingerprint(fingerprint_key(case), "")


def _add(con: Any, lines: list[_Line], origin: str) -> None:
    columns = TABLES["judgements"].arrow
    told = ("fingerprint", "prompt", "model", "score")
    data: dict[str, list[Any]] = {name: [getattr(line, name) for line in lines] for name in told}
    data["origin"] = [origin] * len(lines)
    data["content"] = [line.content.bytes for line in lines]
    data["judged_at"] = [line.judged_at.astimezone(UTC).replace(tzinfo=None) for line in lines]
    con.register("fresh", pa.table(data, schema=columns))
    try:
        con.execute(_ADD).fetchall()
    finally:
        con.unregister("fresh")
