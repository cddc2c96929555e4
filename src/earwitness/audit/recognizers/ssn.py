"""US social security numbers: three, two, four digits outside the ranges never issued; bare ones beside a keyword."""

import re

from earwitness.audit.recognizers.base import Found, Recognizer, by_pattern, near

_DASH = "\\-\u2010\u2011\u2012\u2013\u2212"
_NUMBER = re.compile(rf"(?<![\w.{_DASH}])([0-9]{{3}})([{_DASH} .]?)([0-9]{{2}})\2([0-9]{{4}})(?![\w{_DASH}]|[.,][0-9])")
_CUE = re.compile(r"\b(?:ssns?|social[ _-]?security|soc\.? sec\.?|tax ?payer|itin|tin)(?![a-z])|_ssn", re.IGNORECASE)
# Printed on sample cards and in advertisements.
_ADVERTISED = {"078051120", "219099999"}


def _judge(text: str, match: "re.Match[str]") -> Found | None:
    area, mark, group, serial = match.groups()
    number = area + group + serial
    if not _issued(area, group, serial) or number in _ADVERTISED:
        return None
    cued = near(_CUE, text, match.start())
    dashed = mark != "" and mark in _DASH
    if not (dashed or cued):
        return None
    return Found(*match.span(), 0.95 if cued else 0.85, f"{area}-{group}-{serial}", strong=dashed)


def _issued(area: str, group: str, serial: str) -> bool:
    return area not in ("000", "666") and area < "900" and group != "00" and serial != "0000"


RECOGNIZER = Recognizer(
    name="ssn",
    entity="US_SSN",
    value_type="format_dependent",
    prefilter=rf"[0-9]{{3}}[{_DASH} .]?[0-9]{{2}}[{_DASH} .]?[0-9]{{4}}",
    look=by_pattern(_NUMBER, _judge),
)
