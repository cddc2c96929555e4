"""Dates as numbers: read in the usual orders, written again in the same one, every number a day of the calendar."""

import re
from datetime import date
from typing import NamedTuple

from earwitness.audit.forms.variants.dates import MONTHS
from earwitness.audit.transform.options import Options

_SHORT = {name[:3].lower(): n for n, name in enumerate(MONTHS, 1)}
_LONG = {name.lower(): n for n, name in enumerate(MONTHS, 1)}
_TIME = (
    r"(?P<time>(?P<gap>[T ])(?P<h>\d\d):(?P<mi>\d\d)(?::(?P<s>\d\d)(?:\.(?P<f>\d{1,9}))?)?(?P<zone>Z|[+-]\d\d:?\d\d)?)?"
)
_NAME = r"(?P<name>[A-Za-z]{3,9})(?P<dot>\.?)"
_FORMS = (
    ("ymd", re.compile(rf"(?P<y>\d{{4}})(?P<sep>[-/.])(?P<m>\d\d?)(?P=sep)(?P<d>\d\d?){_TIME}", re.ASCII)),
    ("num", re.compile(rf"(?P<m>\d\d?)(?P<sep>[-/.])(?P<d>\d\d?)(?P=sep)(?P<y>\d{{4}}|\d\d){_TIME}", re.ASCII)),
    ("name", re.compile(rf"{_NAME} (?P<d>\d\d?)(?P<th>st|nd|rd|th)?(?P<sep>,?) (?P<y>\d{{4}})", re.ASCII)),
    ("dname", re.compile(rf"(?P<d>\d\d?)(?P<th>st|nd|rd|th)? (?P<of>of )?{_NAME}(?P<sep>,?) (?P<y>\d{{4}})", re.ASCII)),
)
_DAY_SECONDS = 86_400


class Day(NamedTuple):
    """How a date is written: order, separator, widths, style of the month, time of day and zone.

    Attributes:
        order: ymd, mdy, dmy, name or dname.
        signs: what stands between.
        widths: digits of month and day.
        style: of the month's name: which of its lengths, and its case.
        ends: whether the day has its ending (th).
        clock: the time: gap, number of its places in seconds, digits of the fraction, zone; None for none.
        years: first year and number of days of the domain.
    """

    order: str
    signs: tuple[str, ...]
    widths: tuple[int, int]
    style: str
    ends: bool
    clock: tuple[str, bool, int, str] | None
    years: tuple[int, int]

    @property
    def bound(self) -> int:
        """How many dates can be written so."""
        return self.years[1] * _units(self.clock)


def read_day(text: str, options: Options) -> tuple[Day, int] | None:
    """How a date is written, and its number; None for what is no date, or one outside the years of the options."""
    for order, pattern in _FORMS:
        if match := pattern.fullmatch(text):
            return _read(order, match.groupdict(), options)
    return None


def write_day(day: Day, number: int) -> str | None:
    """The date of a number; None where its layout cannot write it."""
    units = _units(day.clock)
    days, rest = divmod(number, units)
    found = date.fromordinal(date(day.years[0], 1, 1).toordinal() + days)
    shown = {"y": f"{found.year:04}", "m": _padded(found.month, day.widths[0]), "d": _padded(found.day, day.widths[1])}
    if day.order in ("mdy", "dmy") and day.signs[1] == "2":
        shown["y"] = f"{found.year % 100:02}"
    return _spelled(day, shown, found) + _clock(day.clock, rest)


def _read(order: str, g: dict[str, str | None], options: Options) -> tuple[Day, int] | None:
    style, month = ("", int(g["m"] or 0)) if order in ("ymd", "num") else _month(g["name"] or "", g["dot"] or "")
    day, year = int(g["d"] or 0), int(g["y"] or 0)
    widths = (len(g.get("m") or ""), len(g["d"] or ""))
    short = len(g["y"] or "") == 2
    if order == "num":
        order = "dmy" if month > 12 else "mdy"
        month, day, widths = (day, month, widths[::-1]) if order == "dmy" else (month, day, widths)
    span = _span(options, short)
    year += _century(year, span[0]) if short else 0
    try:
        found = date(year, month, day)
    except ValueError:
        return None
    clock, rest = _read_clock(g)
    number = found.toordinal() - date(span[0], 1, 1).toordinal()
    if (clock is not None and rest < 0) or not 0 <= number < span[1]:
        return None
    ends = g.get("th") is not None
    signs = (g["sep"] or "", "2" if short else "4", g.get("of") or "")
    if ends and g["th"] != _ending(day):
        return None
    return Day(order, signs, widths, style, ends, clock, span), number * _units(clock) + max(rest, 0)


def _span(options: Options, short: bool) -> tuple[int, int]:
    """First year and number of days of the domain; two digits tell a hundred years apart."""
    first, last = (1931, 2030) if short else (options.first_year, options.last_year)
    return first, date(last, 12, 31).toordinal() - date(first, 1, 1).toordinal() + 1


def _century(year: int, first: int) -> int:
    return next(c for c in (1900, 2000) if c + year >= first)


def _month(name: str, dot: str) -> tuple[str, int]:
    """Style and number of a month's name; number 0 for no month."""
    low = name.lower()
    case = "A" if name.isupper() else "a" if name.islower() else "Aa" if name == name.capitalize() else "?"
    length = "short" if low in _SHORT else "long"
    return f"{length}{dot}/{case}", 0 if case == "?" else _SHORT.get(low) or _LONG.get(low) or 0


def _named(style: str, month: int) -> str:
    length, _, case = style.partition("/")
    name = MONTHS[month - 1] if length.startswith("long") else MONTHS[month - 1][:3]
    cased = name.upper() if case == "A" else name.lower() if case == "a" else name
    return cased + ("." if length.endswith(".") else "")


def _spelled(day: Day, shown: dict[str, str], found: date) -> str:
    sep = day.signs[0]
    if day.order in ("ymd", "mdy", "dmy"):
        return sep.join(shown[c] for c in day.order)
    ordinal = shown["d"] + (_ending(found.day) if day.ends else "")
    name = _named(day.style, found.month)
    first = f"{name} {ordinal}" if day.order == "name" else f"{ordinal} {day.signs[2]}{name}"
    return f"{first}{sep} {shown['y']}"


def _ending(day: int) -> str:
    return "th" if day in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")


def _padded(number: int, width: int) -> str:
    """A number of the width; longer where it does not fit, so that the result reads otherwise and is walked past."""
    return f"{number:0{max(width, 1)}}"


def _units(clock: tuple[str, bool, int, str] | None) -> int:
    """How many times of day a date may have."""
    return 1 if clock is None else (_DAY_SECONDS if clock[1] else _DAY_SECONDS // 60) * 10 ** clock[2]


def _read_clock(g: dict[str, str | None]) -> tuple[tuple[str, bool, int, str] | None, int]:
    """How the time is written, and its number; -1 for what is no time."""
    if not g.get("time"):
        return None, 0
    hours, minutes, seconds, fraction = int(g["h"] or 0), int(g["mi"] or 0), g["s"], g["f"] or ""
    clock = (g["gap"] or "", seconds is not None, len(fraction), g["zone"] or "")
    if hours > 23 or minutes > 59 or int(seconds or 0) > 59:
        return clock, -1
    whole = hours * 60 + minutes if seconds is None else (hours * 60 + minutes) * 60 + int(seconds)
    return clock, whole * 10 ** len(fraction) + int(fraction or 0)


def _clock(clock: tuple[str, bool, int, str] | None, number: int) -> str:
    if clock is None:
        return ""
    gap, exact, places, zone = clock
    whole, fraction = divmod(number, 10**places)
    minutes, seconds = divmod(whole, 60) if exact else (whole, 0)
    shown = f"{minutes // 60:02}:{minutes % 60:02}" + (f":{seconds:02}" if exact else "")
    return gap + shown + (f".{fraction:0{places}}" if places else "") + zone
