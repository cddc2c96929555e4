r"""What the recognizers of JSON keys share: how a key is written, and what a value becomes.

Keys stand in JSON, in Python's way to print a dict, and in JSON inside JSON strings (`\"key\": \"value\"`).
"""

import re

from earwitness.audit.recognizers import attributes
from earwitness.audit.recognizers.base import Found

# The quote, whole with its backslashes, is one group; it begins with a set of characters, for which engines can leap.
KEY = r"""(?P<q>["'\\](?:\\*")?)(?P<key>[A-Za-z_][\w .$-]{0,48})(?P=q)[ \t]?:\s{0,16}"""
# The same for a prefilter: a little wider, and without groups.
KEY_SEEN = r"""(?:["'][A-Za-z_][^"'\\\n:]*["']|\\+"[A-Za-z_][^"'\\\n:]*\\+")[ \t]?:\s*"""
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_LONG = 400


def attribute(match: "re.Match[str]") -> str | None:
    """The normalised name of a matched KEY; None where the key belongs to the message."""
    name = attributes.normal(match["key"])
    return None if attributes.structural(name) else name


def found(name: str, written: str, start: int) -> Found | None:
    """The value of an attribute, if the text is one at all."""
    value = _ESCAPE.sub(lambda m: _character(m[1]), written) if "\\" in written else written
    known = attributes.sensitive(name)
    if not attributes.worth(value) or (len(value) > _LONG and not known):
        return None
    kind = attributes.typed(name, value)
    return Found(start, start + len(written), 0.7 if known else 0.45, value, attribute=name, value_type=kind)


def _character(escape: str) -> str:
    return chr(int(escape[1:], 16)) if len(escape) == 5 else _ESCAPES.get(escape, escape)
