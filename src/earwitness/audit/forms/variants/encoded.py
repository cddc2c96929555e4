"""Short values in base64 and hexadecimal: too short for their encodings to be told from other words by themselves."""

import base64
from collections.abc import Iterator

from earwitness.audit.forms.variant import Variant

_SHORTEST, _LONGEST = 4, 8


def variants(attribute: str, text: str) -> Iterator[Variant]:
    """The bytes of a value of four to eight, encoded."""
    raw = text.encode("utf-8", "replace")
    if not _SHORTEST <= len(raw) <= _LONGEST:
        return
    yield Variant(base64.b64encode(raw).decode().rstrip("="), "base64", 0.9, "exact")
    yield Variant(raw.hex(), "hex", 0.9, "exact")
