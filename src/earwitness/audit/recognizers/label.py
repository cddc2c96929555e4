"""Lines and phrases of the form `label: value`, with or without the bullets and stars of Markdown."""

import re
from collections.abc import Iterator

from earwitness.audit.recognizers import attributes
from earwitness.audit.recognizers.base import Found, Recognizer

_COLON = re.compile(r":[*_]{0,3}[ \t][*_`\"]{0,3}(?=[^\s:])")
_LABEL = re.compile(r"[A-Za-z][A-Za-z0-9_'/& ()#-]{1,40}$")
# A value ends where its line does, at a semicolon or bar, and where the next label begins.
_END = re.compile(r"[\n;|]|\\n|, (?=[A-Z][\w ]{1,30}:)|\. (?=[A-Z])|\)(?=[\s.,;]|$)")
_EDGE = " \t*_`\"'.,;:()[]"
_BEFORE, _VALUE = 48, 200


def _look(text: str, start: int, stop: int, /) -> Iterator[Found]:
    for colon in _COLON.finditer(text, start, stop):
        name = _name(text, colon.start())
        if name and (found := _value(text, colon.end(), name)):
            yield found


def _name(text: str, at: int) -> str | None:
    """The label that ends at a colon, if it is one of an attribute."""
    head = text[max(0, text.rfind("\n", max(0, at - _BEFORE), at) + 1, at - _BEFORE) : at].rstrip("*_` ")
    label = _LABEL.search(head)
    if label is None or label.group().count(" ") > 4:
        return None
    # In the middle of a sentence only the last words can be meant.
    name = attributes.normal(label.group())
    return None if attributes.structural(name) or name.count("_") > 4 else name


def _value(text: str, at: int, name: str) -> Found | None:
    end = _END.search(text, at, at + _VALUE)
    written = text[at : end.start() if end else at + _VALUE]
    value = written.strip(_EDGE)
    sensitive = attributes.sensitive(name)
    if not attributes.worth(value) or not (attributes.telling(value) or (sensitive and len(value) <= 160)):
        return None
    start = at + written.index(value)
    kind = attributes.typed(name, value)
    return Found(start, start + len(value), 0.6 if sensitive else 0.35, value, attribute=name, value_type=kind)


RECOGNIZER = Recognizer(
    name="label",
    entity="ATTRIBUTE",
    value_type="contextual",
    prefilter=r"[A-Za-z][A-Za-z0-9_'/& ()#-]*[*_`]*[ ]?:[*_]*[ \t][*_`\"]*[^\s:*_`\"][^\n]*",
    look=_look,
    reach=(2, 2),
    seeds=True,
)
