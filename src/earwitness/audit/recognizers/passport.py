"""Passport and driving licence numbers: beside their keyword, or in the machine-readable zone of a passport."""

import re

from earwitness.audit.recognizers.base import Found, Recognizer, by_pattern

_NUMBER = re.compile(
    r"(?P<mrz>(?<![A-Z0-9<])P[A-Z<][A-Z]{3}[A-Z<]{39}(?![A-Z0-9<]))"
    r"|(?P<cue>passport|reisepass|passeport|pasaporte|driver'?s?[ _]licen[cs]e|driving[ _]licen[cs]e"
    r"|licen[cs]e[ _]plate)"
    r"(?:[ _]?(?:number|no\.?|num|nr\.?|id|#))?[\"'*]{0,3}(?: (?:is|was|with|of|number))?[ :=#\"'*]{1,6}"
    r"(?P<number>(?=[A-Z0-9-]*[0-9])[A-Z0-9][A-Z0-9-]{4,14})(?![\w-])",
    re.IGNORECASE,
)


def _judge(text: str, match: "re.Match[str]") -> Found | None:
    if match["mrz"]:
        return Found(*match.span(), 0.99, match.group(), strong=True) if match.group().isupper() else None
    entity = None if "pas" in match["cue"].lower() else "DRIVER_LICENSE"
    return Found(*match.span("number"), 0.85, match["number"].upper(), entity=entity)


RECOGNIZER = Recognizer(
    name="passport",
    entity="PASSPORT",
    value_type="format_dependent",
    prefilter=(
        r"[Pp]assport|PASSPORT|[Rr]eisepass|[Pp]asseport|[Pp]asaporte|(?:[Dd]river'?s?|[Dd]riving)[ _][Ll]icen"
        r"|[Ll]icen[cs]e[ _][Pp]late|P[A-Z<][A-Z]{3}[A-Z<]{6}"
    ),
    look=by_pattern(_NUMBER, _judge),
    reach=(8, 96),
)
