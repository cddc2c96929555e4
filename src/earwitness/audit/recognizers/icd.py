"""ICD-10 codes: a letter, two characters, and digits behind a point; beside a keyword also without them."""

import re

from earwitness.audit.recognizers.base import Found, Recognizer, by_pattern, near

_CODE = re.compile(r"(?<![\w.$#/-])[A-TV-Z][0-9][0-9AB](\.[0-9][0-9A-Z]{0,3})?(?![\w-]|[.][0-9])")
_CUE = re.compile(r"\bicd(?:-?10)?(?:-?cm)?\b|diagnos|condition|dx\b", re.IGNORECASE)


def _judge(text: str, match: "re.Match[str]") -> Found | None:
    cued = near(_CUE, text, match.start(), 60)
    if not (cued or match[1]):
        return None
    return Found(*match.span(), 0.85 if cued else 0.4, match.group())


RECOGNIZER = Recognizer(
    name="icd",
    entity="ICD10_CODE",
    value_type="format_dependent",
    prefilter=r"[A-TV-Z][0-9][0-9AB]\.[0-9]|(?:[Ii][Cc][Dd]|[Dd]iagnos|[Cc]ondition|[Dd]x)[^\n]{0,60}[A-Z][0-9][0-9AB]",
    look=by_pattern(_CODE, _judge),
    reach=(64, 24),
)
