"""Names of occurrences: a short handle that stays the same as long as the case does.

A handle is a hash of the run, the event, the attribute, the keyed fingerprint and the recipient, made as the items of a
label queue are. Any beginning of four digits or more that fits one occurrence alone will do.
"""

import re
from typing import NamedTuple

from earwitness.audit.labelfile import EVENT_NAME
from earwitness.schema.case import Case
from earwitness.schema.errors import InputError

DIGITS = 12
_SHORTEST_SHOWN = 8
_WORD = re.compile(r"[0-9a-f]{4,12}(-\d{1,6})?")
_LISTED = 8

# The same name may stand in a run twice, and the same value in a vault twice: then they are numbered.
_NAMED = f"""
    WITH told AS (SELECT DISTINCT event, trace, value, recipient FROM replays), hashed AS (
        SELECT r.*, left(md5(concat_ws('|', t.trace_id, {EVENT_NAME}, v.attribute, v.fingerprint,
                                       r.recipient IS NOT NULL, coalesce(r.recipient, ''))), {DIGITS}) AS mark
        FROM told r JOIN events e ON e.event = r.event JOIN traces t ON t.trace = r.trace
        JOIN vault v ON v.value = r.value
    ), numbered AS (
        SELECT *, row_number() OVER (PARTITION BY mark ORDER BY event, value, recipient) AS nth FROM hashed
    )
    SELECT event, trace, value, recipient, mark || CASE WHEN nth > 1 THEN '-' || nth ELSE '' END AS name FROM numbered
"""
NAMES = "rp_name"


class Named(NamedTuple):
    """An occurrence of the last replay and its handle."""

    event: int
    trace: int
    value: int
    recipient: str | None
    name: str


def name_all(case: Case) -> int:
    """Leave the temporary table `rp_name` (event, trace, value, recipient, name); gives so many digits as tell all
    occurrences apart, eight at least.
    """
    case.execute(f"CREATE OR REPLACE TEMP TABLE {NAMES} AS {_NAMED}")
    for digits in range(_SHORTEST_SHOWN, DIGITS):
        if case.one(f"SELECT count(DISTINCT left(name, {digits})) = count(*) FROM {NAMES}"):
            return digits
    return DIGITS


def drop_names(case: Case) -> None:
    """Let go of what `name_all` left."""
    case.execute(f"DROP TABLE IF EXISTS {NAMES}")


def find_named(case: Case, word: str) -> Named:
    """The occurrence that a handle, or its beginning, means. After `name_all`.

    Raises:
        InputError: none is called so, or several are; the message does not repeat what was typed.
    """
    place, cure = case.path or "case", "`earwitness replay list` tells the handles of all occurrences"
    wanted = word.strip().lower()
    if not _WORD.fullmatch(wanted):
        raise InputError(f"{place}: an occurrence is called by at least 4 hexadecimal digits of its handle; {cure}")
    rows = case.rows(f"SELECT * FROM {NAMES} WHERE name = ?", [wanted])
    rows = rows or case.rows(f"SELECT * FROM {NAMES} WHERE starts_with(name, ?) ORDER BY name", [wanted])
    if not rows:
        raise InputError(f"{place}: the last replay has no occurrence of that handle; {cure}")
    if len(rows) > 1:
        some = ", ".join(row[-1] for row in rows[:_LISTED])
        raise InputError(f"{place}: {len(rows):,} occurrences have that handle; give more of it: {some}; {cure}")
    return Named(*rows[0])
