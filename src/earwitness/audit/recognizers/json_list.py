"""Keys of JSON with a list of texts behind them: every item is a value of that attribute."""

import re
from collections.abc import Iterator

from earwitness.audit.recognizers import pairs
from earwitness.audit.recognizers.base import Found, Recognizer

_LIST = re.compile(pairs.KEY + r"\[(?P<list>[^\[\]{}]{2,4000})\]")
_ITEM = re.compile(r"""\\*"(?P<double>[^"\\\n]{2,400})\\*"|'(?P<single>[^'\\\n]{2,400})'""")


def _look(text: str, start: int, stop: int, /) -> Iterator[Found]:
    for match in _LIST.finditer(text, start, stop):
        if name := pairs.attribute(match):
            yield from _items(name, match["list"], match.start("list"))


def _items(name: str, written: str, base: int) -> Iterator[Found]:
    for item in _ITEM.finditer(written):
        part = item.lastgroup or "double"
        if found := pairs.found(name, item[part], base + item.start(part)):
            yield found


RECOGNIZER = Recognizer(
    name="json_list",
    entity="ATTRIBUTE",
    value_type="contextual",
    prefilter=pairs.KEY_SEEN + r"\[[^\[\]{}]*\]",
    look=_look,
    reach=(2, 2),
    seeds=True,
    whole=True,
)
