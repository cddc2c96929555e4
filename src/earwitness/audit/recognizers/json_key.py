"""Keys of JSON with a text or a number behind them.

A text is not parsed: keys are found wherever they stand, also in half a document or in the middle of prose.
"""

import re
from collections.abc import Iterator

from earwitness.audit.recognizers import pairs
from earwitness.audit.recognizers.base import Found, Recognizer

_PAIR = re.compile(
    pairs.KEY
    + r"""(?:"(?P<double>(?:[^"\\\n]|\\.){1,2000})"|'(?P<single>(?:[^'\\\n]|\\.){1,2000})'(?=\s{0,4}(?:[,}\])]|$))"""
    + r"""|\\+"(?P<inside>[^"\\\n]{1,2000})\\+"|(?P<number>-?[0-9][0-9.eE+-]*))"""
)


def _look(text: str, start: int, stop: int, /) -> Iterator[Found]:
    for match in _PAIR.finditer(text, start, stop):
        name, part = pairs.attribute(match), match.lastgroup
        if name and part and (found := pairs.found(name, match[part], match.start(part))):
            yield found


RECOGNIZER = Recognizer(
    name="json_key",
    entity="ATTRIBUTE",
    value_type="contextual",
    prefilter=pairs.KEY_SEEN + r"""(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|\\+"[^"\\\n]*\\+"|-?[0-9][0-9.eE+-]*)""",
    look=_look,
    reach=(2, 8),
    seeds=True,
)
