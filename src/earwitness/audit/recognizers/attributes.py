"""Names of attributes: how they are normalised, which sound protected, which only carry a message. And what is a value.

Shared by the recognizers of `label: value` lines and of JSON keys.
"""

import re
from functools import lru_cache

from earwitness.audit.recognizers.base import words
from earwitness.schema.words import ValueType

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_OTHER = re.compile(r"[^a-z0-9]+")

_SENSITIVE = words("protected_attributes")
_STRUCTURAL = words("message_attributes")
_COMMON = words("no_values")
_PLACEHOLDER = re.compile(
    r"[\[<{(*_.\-$#…\s]*(?:\[[^\]]*\]|<[^>]*>|\{[^}]*\}|[*_.…x-]{3,}|insert .*|your .*)[\])}>\s.]*", re.IGNORECASE
)
_NEVER = ("http://", "https://", "/", "./", "insert ", "your ")
_LETTER, _DIGIT, _CAPITAL = re.compile(r"[^\W_]"), re.compile(r"[0-9]"), re.compile(r"(?:^|\s)[A-ZÀ-ÖØ-Þ]")
_DATED = re.compile(r"(?:created|updated|time|timestamp|modified)")


@lru_cache(maxsize=20_000)
def normal(name: str) -> str:
    """`customerName`, `Customer Name` and `customer-name` are one attribute: `customer_name`."""
    return _OTHER.sub("_", _CAMEL.sub("_", name.strip()).lower()).strip("_")


@lru_cache(maxsize=20_000)
def sensitive(name: str) -> bool:
    """Whether some part of a normalised name sounds protected."""
    return any(part in _SENSITIVE for part in name.split("_"))


@lru_cache(maxsize=20_000)
def structural(name: str) -> bool:
    """Whether a normalised name belongs to the message."""
    return (
        not name
        or len(name) < 2
        or name in _STRUCTURAL
        or _DATED.search(name) is not None
        or name.startswith(("is_", "has_", "num_"))
    )


def worth(value: str) -> bool:
    """Whether a text is a value at all: no placeholder, no word that says how things stand, not one letter."""
    low = value.strip().lower()
    if len(low) < 2 or low in _COMMON or _LETTER.search(low) is None:
        return False
    if low[0].isalnum() and not low.startswith(_NEVER):
        return True
    return not (low.startswith(_NEVER) or _PLACEHOLDER.fullmatch(low))


def telling(value: str) -> bool:
    """Whether a text is data rather than prose: it holds a digit, or is a few words of which one has a capital."""
    spaces = value.count(" ")
    if spaces > 5:
        return False
    return _DIGIT.search(value) is not None or (spaces <= 3 and _CAPITAL.search(value) is not None)


@lru_cache(maxsize=100_000)
def typed(name: str, value: str) -> ValueType:
    """The class of a value, told by its attribute or its shape."""
    from earwitness.audit.valuetypes import infer_type

    return infer_type(name, value)
