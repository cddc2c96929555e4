"""Dates of any kind: weak, since most of them are nobody's secret."""

import re

from earwitness.audit.recognizers import dates
from earwitness.audit.recognizers.base import Found, Recognizer, by_pattern


def _judge(text: str, match: "re.Match[str]") -> Found | None:
    iso = dates.canonical(match)
    return Found(*match.span(), 0.3, iso) if iso else None


RECOGNIZER = Recognizer(
    name="date",
    entity="DATE",
    value_type="format_dependent",
    prefilter=dates.PREFILTER,
    look=by_pattern(dates.DATE, _judge),
    reach=(12, 8),
)
