"""Names of persons that begin with a common given name: `Maria Lopez`, `James T. Kirk`.

The list holds given names that are common in English-speaking countries and some of those common elsewhere. Names that
are more often ordinary words (Will, Mark, May, Hope) are left out.
"""

import re

from earwitness.audit.recognizers.base import Found, Recognizer, by_pattern, words

_GIVEN = words("given_names")
_NAME = re.compile(
    r"(?<![\w'’-])(?P<given>[A-Z][a-z]{1,11}) (?:[A-Z]\. |[A-Z][a-z]{2,11} (?=[A-Z]))?(?:van |von |de |de la "
    r"|der |da |al-|O['’]|Mc|Mac)?"
    r"(?P<last>[A-ZÀ-ÖØ-Þ][a-zà-öø-ÿ]+(?:-[A-Z][a-z]+)?)(?: (?:Jr|Sr|PhD|MD|DDS|DVM|II|III)\b)?(?![\w-])"
)
_NO_SURNAME = words("no_surnames")


def _judge(text: str, match: "re.Match[str]") -> Found | None:
    if match["given"] not in _GIVEN or match["last"] in _NO_SURNAME:
        return None
    return Found(*match.span(), 0.55, match.group().replace("’", "'"))


RECOGNIZER = Recognizer(
    name="given_name",
    entity="PERSON",
    value_type="value_dependent",
    prefilter=(
        r"[A-Z][a-z]{1,11} (?:[A-Z]\. |[A-Z][a-z]{2,11} )?(?:van |von |de |de la |der |da |al-|O['’]|Mc"
        r"|Mac)?[A-ZÀ-ÖØ-Þ][a-zà-öø-ÿ]"
    ),
    look=by_pattern(_NAME, _judge),
    reach=(16, 48),
    seeds=True,
)
