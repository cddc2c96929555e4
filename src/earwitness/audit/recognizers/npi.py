"""National provider identifiers of the United States: ten digits with a Luhn digit over the prefix 80840."""

import re

from earwitness.audit.recognizers.base import Found, Recognizer, by_pattern, luhn, near

_NUMBER = re.compile(r"(?<![\w.+-])[12][0-9]{9}(?![\w-]|[.][0-9])")
_CUE = re.compile(r"\bnpi\b|_npi|provider id", re.IGNORECASE)


def _judge(text: str, match: "re.Match[str]") -> Found | None:
    if not near(_CUE, text, match.start()):
        return None
    sound = luhn("80840" + match.group())
    return Found(*match.span(), 0.95 if sound else 0.6, match.group(), strong=sound)


RECOGNIZER = Recognizer(
    name="npi",
    entity="US_NPI",
    value_type="format_dependent",
    prefilter=r"[Nn][Pp][Ii]|[Pp]rovider [Ii][Dd]",
    look=by_pattern(_NUMBER, _judge),
    reach=(8, 72),
)
