"""Secrets told by what stands before them: `api_key=`, `password:`, `Bearer`, user and password inside a URL.

What is random enough (entropy) or long enough is taken; placeholders are not.
"""

import re
from collections import Counter
from collections.abc import Iterator
from math import log2

from earwitness.audit.recognizers.base import Found, Recognizer

_KEYED = re.compile(
    r"(?<![a-z])(?P<word>api[ _-]?key|secret[ _-]?(?:access[ _-]?)?key|access[ _-]?(?:key|token)"
    r"|client[ _-]?secret|auth[ _-]?token"
    r"|refresh[ _-]?token|session[ _-]?(?:id|token)|private[ _-]?key|secret|token|credentials?|passwor[dt]"
    r"|passwd|pwd|passphrase)"
    r"(?P<gap>(?:[\"'*\\]{0,3} ?[:=]{1,2}>? ?[\"'*\\]{0,3}| is [\"'*]{0,2}))(?P<value>[^\s\"'`,;<>{}()\[\]\\*]{4,200})",
    re.IGNORECASE,
)
_BEARER = re.compile(r"\b(?:bearer|basic) +(?P<value>[A-Za-z0-9._~+/-]{16,400}={0,2})", re.IGNORECASE)
_URL = re.compile(
    r"\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@\"'<>]{1,64}:(?P<value>[^\s:/@\"'<>]{3,80})@[\w.-]+", re.IGNORECASE
)
_PLACEHOLDER = re.compile(
    r"(?:x{3,}|\.{3,}|\*{3,}|\$.*|%.*|your.*|.*example.*|changeme|none|null|true|false|undefined|redacted|is|the)",
    re.IGNORECASE,
)
_PASSWORD = re.compile(r"pass|pwd", re.IGNORECASE)
RANDOM = 3.0


def entropy(text: str) -> float:
    """Shannon entropy of the characters of a text, in bits a character."""
    return -sum(n / len(text) * log2(n / len(text)) for n in Counter(text).values())


def _look(text: str, start: int, stop: int, /) -> Iterator[Found]:
    for pattern in (_BEARER, _URL):
        for match in pattern.finditer(text, start, stop):
            if not _PLACEHOLDER.fullmatch(match["value"]):
                entity = "URL_PASSWORD" if pattern is _URL else "BEARER_TOKEN"
                sure = pattern is _URL or _random(match["value"])
                yield Found(*match.span("value"), 0.9 if sure else 0.4, match["value"], strong=sure, entity=entity)
    yield from (found for match in _KEYED.finditer(text, start, stop) if (found := _keyed(match)))


def _keyed(match: "re.Match[str]") -> Found | None:
    value = match["value"].rstrip(".:!?")
    begin = match.start("value")
    if len(value) < 4 or _PLACEHOLDER.fullmatch(value):
        return None
    if _PASSWORD.search(match["word"]):
        plain = value.islower() and value.isalpha()
        return Found(begin, begin + len(value), 0.4 if plain else 0.8, value, entity="PASSWORD")
    if len(value) < 8 or not _random(value):
        return None
    return Found(begin, begin + len(value), 0.85, value, strong=len(value) >= 16)


def _random(value: str) -> bool:
    """High entropy, and digits beside letters: words and names of variables have none."""
    mixed = any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
    return mixed and len(value) >= 8 and entropy(value) >= RANDOM


RECOGNIZER = Recognizer(
    name="secret",
    entity="SECRET",
    value_type="format_dependent",
    prefilter=(
        r"(?i:(?:key|secret|token|credentials?|passwor[dt]|passwd|pwd|passphrase"
        r"|session[ _-]?id)(?:[\"'*\\]{0,3} ?[:=]| is )"
        r"|(?:bearer|basic) +[a-z0-9._~+/-]{16}|://[^\s:/@\"'<>]{1,64}:[^\s:/@\"'<>]{3,80}@)"
    ),
    look=_look,
    reach=(40, 420),
)
