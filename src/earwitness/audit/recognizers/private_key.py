"""Private keys in PEM, to their end line, or as far as the text goes on being base64."""

import re

from earwitness.audit.recognizers.base import Found, Recognizer, by_pattern

_BLOCK = re.compile(
    r"-----BEGIN (?P<kind>(?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?)-----"
    r"(?:[A-Za-z0-9+/=\s:,.\\-]{16,8000}?-----END (?P=kind)-----|[A-Za-z0-9+/=\s\\]{16,8000})"
)


def _judge(text: str, match: "re.Match[str]") -> Found:
    body = "".join(match.group().replace("\\n", "\n").split("\n"))
    return Found(*match.span(), 0.99, body, strong=True)


RECOGNIZER = Recognizer(
    name="private_key",
    entity="PRIVATE_KEY",
    value_type="format_dependent",
    prefilter=r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY",
    look=by_pattern(_BLOCK, _judge),
    reach=(0, 8000),
    whole=True,
)
