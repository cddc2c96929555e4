"""How dates are written, and the one way they are stored. Shared by the recognizers of dates."""

import re
from datetime import date

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAMES = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?)"
)
DATE = re.compile(
    r"(?<![\w/.-])(?:"
    r"(?P<iso>[12][0-9]{3}([-/.])[01]?[0-9]\2[0-3]?[0-9])"
    r"|(?P<num>[0-3]?[0-9]([-/.])[0-3]?[0-9]\4(?:[12][0-9]{3}|[0-9]{2}))"
    rf"|(?P<md>{_NAMES}\.? [0-3]?[0-9](?:st|nd|rd|th)?,? [12][0-9]{{3}})"
    rf"|(?P<dm>[0-3]?[0-9](?:st|nd|rd|th)?\.? (?:of )?{_NAMES}\.?,? [12][0-9]{{3}})"
    r")(?![\w/-]|\.[0-9])",
    re.IGNORECASE,
)
# Whatever DATE finds holds one of these: a year behind or before a separator, or behind the name of a month.
PREFILTER = (
    r"[0-9]{4}[-/.][0-9]|[0-9][-/.][0-9]{1,2}[-/.][0-9]{2}"
    r"|(?:[Jj][Aa][Nn]|[Ff][Ee][Bb]|[Mm][Aa][Rr]|[Aa][Pp][Rr]|[Mm][Aa][Yy]|[Jj][Uu][NnLl]|[Aa][Uu][Gg]|[Ss][Ee][Pp]"
    r"|[Oo][Cc][Tt]|[Nn][Oo][Vv]|[Dd][Ee][Cc])[a-zA-Z]{0,6}[.]?,? [0-9]{1,4}"
)


def canonical(match: "re.Match[str]") -> str | None:
    """ISO date of a match of DATE; day and month that may be swapped stay as written. None if it is no date."""
    written = match.group()
    parts = [int(p) for p in re.findall(r"[0-9]+", written)]
    if match["iso"]:
        return _iso(*parts)
    if match["num"]:
        return _numbers(*parts)
    month = MONTHS.index(re.findall(r"[A-Za-z]{3,}", written)[-1 if match["dm"] else 0][:3].lower()) + 1
    day, year = parts
    return _iso(year, month, day)


def _numbers(first: int, second: int, year: int) -> str | None:
    if year < 100:
        year += 1900 if year > 30 else 2000
    if first <= 12 and second <= 12 and first != second:
        return f"{first:02d}/{second:02d}/{year}"
    return _iso(year, second, first) if first > 12 else _iso(year, first, second)


def _iso(year: int, month: int, day: int) -> str | None:
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return None
