"""A number that a word makes a secret: salary, credit score, age, balance, weight and their like."""

import re

from earwitness.audit.recognizers.base import Found, Recognizer, by_pattern

_WORDS = (
    r"(?:credit|fico|risk|performance|test|gpa|sat|iq)?[ _-]?(?:score|rating|gpa)|salary|compensation|wage"
    r"|income|earnings|bonus"
    r"|net[ _-]?worth|balance|debt|loan|mortgage|credit[ _-]?limit|rent|age|aged|weight|height|bmi"
    r"|blood[ _-]?pressure|glucose"
    r"|cholesterol|heart[ _-]?rate|a1c|tax(?:es)?|interest[ _-]?rate|settlement|revenue|budget"
    r"|stock[ _-]?options|pin|cvv|cvc|zip(?:[ _-]?code)?|postcode"
)
_NUMBER = re.compile(
    rf"(?<![A-Za-z])(?P<word>{_WORDS})(?P<gap>[\"'*:=_ \t]{{1,8}}(?:(?:is|was|of|at|to|number|only|about"
    rf"|approximately|around|currently|now|exactly|a)"
    rf"[ *\"']{{1,3}}){{0,3}})(?P<number>[$€£]? ?[0-9][0-9,.]*[0-9]|[0-9])(?![\w-]|[.,][0-9])",
    re.IGNORECASE,
)


def _judge(text: str, match: "re.Match[str]") -> Found:
    number = match["number"].replace(",", "").lstrip("$€£ ")
    attribute = re.sub(r"[ -]+", "_", match["word"].strip().lower()).strip("_")
    return Found(*match.span("number"), 0.6, number, attribute=attribute)


RECOGNIZER = Recognizer(
    name="keyword_number",
    entity="KEYED_NUMBER",
    value_type="value_dependent",
    prefilter=(
        rf"(?i:(?:{_WORDS})[\"'*:=_ \t]{{1,8}}(?:(?:is|was|of|at|to|number|only|about|approximately|around"
        rf"|currently|now|exactly|a)"
        r"[ *\"']{1,3}){0,3}[$€£]? ?[0-9])"
    ),
    look=by_pattern(_NUMBER, _judge),
    reach=(16, 32),
)
