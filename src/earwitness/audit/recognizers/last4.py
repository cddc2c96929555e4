"""The end of a number whose beginning is left out: `ending in 1234`, `****1234`."""

import re

from earwitness.audit.recognizers.base import Found, Recognizer, by_pattern

_END = re.compile(
    r"(?:\b(?:ending|ends) (?:in|with) |\blast (?:four|4)(?: digits)?(?: of [^\n0-9]{1,40}?)?(?: are| is|:)? "
    r"|[*•xX#]{2,}[ -]?(?:[*•xX#]{2,}[ -]?){0,3})"
    r"[\"'*]{0,2}(?P<end>[0-9]{4})(?![\w-])",
    re.IGNORECASE,
)


def _judge(text: str, match: "re.Match[str]") -> Found:
    return Found(*match.span("end"), 0.7, match["end"])


RECOGNIZER = Recognizer(
    name="last4",
    entity="LAST_DIGITS",
    value_type="format_dependent",
    prefilter=r"(?i:(?:ending|ends) (?:in|with) |last (?:four|4))|[*•xX#]{2}[ -]?[0-9]{4}",
    look=by_pattern(_END, _judge),
    reach=(24, 64),
)
