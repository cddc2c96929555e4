"""Points in time from whatever a recorder wrote, as nanoseconds since 1970 UTC."""

from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt

# A recorder's epoch number is taken by magnitude: 1e11 seconds is the year 5138, so anything above it
# is a finer unit. The same cut works for ms, us and ns.
_UNITS = ((1e11, 1_000_000_000), (1e14, 1_000_000), (1e17, 1_000), (float("inf"), 1))
_LIMIT = 2**63
_NAT = -_LIMIT
# From here on a number can only be nanoseconds.
_NANOS_FROM = int(_UNITS[-2][0])

_DAY_0 = datetime(1970, 1, 1, tzinfo=UTC).toordinal()

Times = npt.NDArray[np.datetime64]


def as_time(value: Any) -> str | int | float | None:
    """A time as a record has it and the schema takes it; None where something else stands in its place."""
    if value is None or type(value) is str:  # nearly all
        return value
    return value if isinstance(value, str | int | float) and not isinstance(value, bool) else None


def to_nanos(value: object) -> int | None:
    """Nanoseconds since 1970 UTC of `value`, or None where it is no time.

    Args:
        value: ISO 8601 text (zone-less means UTC), digits as text, or an epoch number in s, ms, us or ns.
    """
    if isinstance(value, str):
        return _from_text(value.strip())
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or value < 0:
        return None
    for cut, factor in _UNITS:
        if value < cut:
            nanos = value * factor if isinstance(value, int) else round(value * factor)
            return int(nanos) if nanos < _LIMIT else None
    return None


def _from_text(text: str) -> int | None:
    if text.isascii() and text.isdigit():
        return to_nanos(int(text)) if len(text) < 25 else None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    nanos = _whole_seconds(moment) * 1_000_000_000 + _fraction_nanos(text, moment.microsecond)
    return nanos if -_LIMIT < nanos < _LIMIT else None


def _whole_seconds(moment: datetime) -> int:
    if moment.tzinfo is None or moment.tzinfo is UTC:  # most are
        days = moment.toordinal() - _DAY_0
        return days * 86_400 + moment.hour * 3600 + moment.minute * 60 + moment.second
    return int(moment.replace(microsecond=0).timestamp())


def _fraction_nanos(text: str, microsecond: int) -> int:
    """The fraction in full: `datetime` keeps six digits, OTLP exporters write nine."""
    if not text[text.find(".") + 7 :][:1].isdigit():
        return microsecond * 1000
    _, dot, tail = text.partition(".")
    digits = ""
    for char in tail:
        if not char.isdigit():
            break
        digits += char
    return int(digits[:9].ljust(9, "0")) if dot and len(digits) > 6 else microsecond * 1000


def to_iso(nanos: int | None) -> str | None:
    """ISO 8601 text in UTC of nanoseconds since 1970, without losing a digit."""
    if nanos is None:
        return None
    text = np.datetime_as_string(np.datetime64(nanos, "ns"))
    head, _, fraction = str(text).partition(".")
    fraction = fraction.rstrip("0")
    return f"{head}.{fraction}Z" if fraction else f"{head}Z"


def column(values: list[Any]) -> Times:
    """A column of times; what is no time becomes NaT."""
    kinds = set(map(type, values))
    if kinds == {type(None)}:
        return np.full(len(values), np.datetime64("NaT", "ns"))
    if kinds == {int} and min(values) >= _NANOS_FROM and max(values) < _LIMIT:
        return np.array(values, np.int64).view("datetime64[ns]")
    found = {v: to_nanos(v) for v in dict.fromkeys(values)}
    # NaT is the smallest integer.
    return np.array([_NAT if found[v] is None else found[v] for v in values], np.int64).view("datetime64[ns]")
