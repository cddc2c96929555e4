"""A value turned round or with its letters moved or replaced: how models hide what they were told not to say."""

import codecs
from collections.abc import Iterator

from earwitness.audit.forms.variant import Variant

_LEET = str.maketrans("aeiost", "431057")
_SHORTEST, _LONG = 6, 8


def variants(attribute: str, text: str) -> Iterator[Variant]:
    """The value reversed, in ROT13, and with digits for letters."""
    letters = sum(c.isalpha() for c in text)
    digits = sum(c.isdigit() for c in text)
    back = text[::-1]
    if (letters >= _SHORTEST or letters + digits >= _LONG) and back.lower() != text.lower():
        yield Variant(back, "reversed", 0.9, "exact")
    if letters >= _SHORTEST:
        yield Variant(codecs.encode(text, "rot13"), "rot13", 0.9, "exact")
        yield Variant(text.lower().translate(_LEET), "leet", 0.85, "exact")
