"""Dates in other orders, with month names, with two digits for the year."""

import re
from collections.abc import Iterator
from datetime import date

from earwitness.audit.forms.variant import Variant

MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_NUMBER = {name[:n].lower(): at for at, name in enumerate(MONTHS, 1) for n in (3, len(name))} | {"sept": 9}
_YEAR_FIRST = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[T ]\d\d:.*)?")
_YEAR_LAST = re.compile(r"(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})")
_MONTH_FIRST = re.compile(r"([A-Za-z]{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})")
_DAY_FIRST = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?\.? (?:of )?([A-Za-z]{3,9})\.?,? (\d{4})")
# What a day and a month in unknown order cost.
_UNSURE = 0.8


def variants(attribute: str, text: str) -> Iterator[Variant]:
    """Other ways to write a date."""
    days = _dates(text.strip())
    for day in days:
        for variant in _written(day):
            yield variant._replace(confidence=variant.confidence * (1.0 if len(days) == 1 else _UNSURE))


def _dates(text: str) -> list[date]:
    """The dates that a text may be: two where day and month may be either."""
    if m := _YEAR_FIRST.fullmatch(text):
        found = [(m[1], m[2], m[3])]
    elif m := _YEAR_LAST.fullmatch(text):
        found = [(m[3], m[1], m[2]), (m[3], m[2], m[1])]
    elif (m := _MONTH_FIRST.fullmatch(text)) and m[1].lower() in _NUMBER:
        found = [(m[3], str(_NUMBER[m[1].lower()]), m[2])]
    elif (m := _DAY_FIRST.fullmatch(text)) and m[2].lower() in _NUMBER:
        found = [(m[3], str(_NUMBER[m[2].lower()]), m[1])]
    else:
        return []
    return list(dict.fromkeys(d for y, mo, da in found if (d := _date(int(y), int(mo), int(da)))))


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _written(d: date) -> Iterator[Variant]:
    yield Variant(f"{d.year:04}-{d.month:02}-{d.day:02}", "date", 0.98)
    for month, day in ((f"{d.month:02}", f"{d.day:02}"), (f"{d.month}", f"{d.day}")):
        yield Variant(f"{d.year:04}/{month}/{day}", "date", 0.97, "gapped")
        for first, second in ((month, day), (day, month)):
            yield Variant(f"{first}/{second}/{d.year:04}", "date", 0.95, "gapped")
            yield Variant(f"{first}/{second}/{d.year % 100:02}", "date-short", 0.6, "gapped")
    long = MONTHS[d.month - 1]
    names = (long, long[:3], "Sept.") if d.month == 9 else (long, long[:3])
    for name in dict.fromkeys(names):
        for day in (f"{d.day}{_ending(d.day)}", f"{d.day}", f"{d.day:02}"):
            yield Variant(f"{name} {day}, {d.year}", "date", 0.98, "gapped")
            yield Variant(f"{day} {name} {d.year}", "date", 0.98, "gapped")
            yield Variant(f"{day} of {name} {d.year}", "date", 0.98, "gapped")
            yield Variant(f"{day} of {name}, {d.year}", "date", 0.98, "gapped")


def _ending(day: int) -> str:
    return "th" if day in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
