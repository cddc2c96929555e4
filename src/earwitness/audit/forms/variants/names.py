"""Names of persons: last name first, initials, a title before the last name, middle names left out."""

import re
from collections.abc import Iterator

from earwitness.audit.forms.variant import Variant

_PART = r"[^\W\d_][^\W\d_'’.-]*(?:['’-][^\W\d_]+)*\.?"
_NAME = re.compile(rf"{_PART}(?: {_PART}){{1,3}}")
_NO_PERSON = re.compile(
    r"(address|city|street|state|country|company|employer|department|title|role|product|project|condition|diagnos|medicat"
    r"|allerg|treatment|note|reason|type|rating|status|merchant|bank|hospital|school|drug|position)"
)
_PERSON = re.compile(
    r"(name|patient|client|customer|employee|candidate|party|witness|person|doctor|contact|user|owner)"
)
_TITLES = ("Mr", "Mrs", "Ms", "Miss", "Dr", "Prof", "Professor", "Doctor")
_TITLED = re.compile(rf"(?:{'|'.join(_TITLES)})\.? ", re.IGNORECASE)


def variants(attribute: str, text: str) -> Iterator[Variant]:
    """Other ways to write a person's name."""
    bare = _TITLED.sub("", text.strip(), count=1)
    if not _NAME.fullmatch(bare) or not _is_person(attribute, bare):
        return
    if bare != text.strip():
        yield Variant(bare, "name", 0.95)
    parts = bare.split()
    first, last = parts[0], parts[-1]
    yield Variant(f"{last}, {' '.join(parts[:-1])}", "name-order", 0.95, "gapped")
    if len(parts) > 2:
        yield Variant(f"{first} {last}", "name-short", 0.85, "gapped")
        yield Variant(f"{last}, {first}", "name-short", 0.85, "gapped")
    if len(last) > 2 and len(first) > 1:
        yield Variant(f"{first[0]}. {last}", "initial", 0.6, "gapped")
        yield Variant(f"{last}, {first[0]}.", "initial", 0.6, "gapped")
        for title in _TITLES:
            yield Variant(f"{title} {last}", "title", 0.6, "gapped")


def _is_person(attribute: str, text: str) -> bool:
    """Told by the attribute, else by every part beginning with a capital."""
    name = attribute.lower()
    if _NO_PERSON.search(name):
        return False
    return bool(_PERSON.search(name)) or all(p[0].isupper() and len(p) > 1 for p in text.split())
