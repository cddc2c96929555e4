"""Dates of birth: a date beside a word that says so."""

import re

from earwitness.audit.recognizers import dates
from earwitness.audit.recognizers.base import Found, Recognizer, by_pattern, near

_CUE = re.compile(
    r"\b(?:d\.?o\.?b\b|date[ _]of[ _]birth|birth[ _]?da(?:te|y)|born|geb(?:oren|\.)|n[ée]e? le"
    r"|fecha de nacimiento)|dob\b",
    re.IGNORECASE,
)


def _judge(text: str, match: "re.Match[str]") -> Found | None:
    if not near(_CUE, text, match.start(), 32):
        return None
    iso = dates.canonical(match)
    return Found(*match.span(), 0.9, iso) if iso else None


RECOGNIZER = Recognizer(
    name="birth_date",
    entity="DATE_OF_BIRTH",
    value_type="format_dependent",
    prefilter=r"[Bb]orn|[Bb]irth|BIRTH|DOB|[Dd]ob|D\.O\.B|[Gg]eb(?:oren|\.)|[Nn][ée]e? le|nacimiento",
    look=by_pattern(dates.DATE, _judge),
    reach=(8, 96),
)
