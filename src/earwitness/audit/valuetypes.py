"""The type of a protected value where nobody gave it: told by the attribute's name, else by the text's shape.

Format-dependent values are recognisable by structure, value-dependent ones by the information they carry,
contextual ones by their meaning; the type decides which transformations are admitted.
"""

import re

from earwitness.schema.words import ValueType

_BY_NAME: tuple[tuple[re.Pattern[str], ValueType], ...] = (
    (
        re.compile(
            r"(^|_)(ssn|dob|iban|bic|swift|cvv|pin|zip|postcode|vin|mrn|npi|ip|mac|url|uuid|token|key|code)($|_)"
        ),
        "format_dependent",
    ),
    (
        re.compile(
            r"(^|_)(id|ids|no|number|nr|date|phone|mobile|fax|email|mail|card|account|routing|passport|licen[cs]e|plate)($|_)"
        ),
        "format_dependent",
    ),
    (
        re.compile(
            r"(notes?|history|diagnos[ie]s|assessment|complaint|strategy|memo|opinion|reason|summary|details?|comment|plan|review|feedback|condition)"
        ),
        "contextual",
    ),
    (
        re.compile(
            r"(name|address|city|street|salary|amount|balance|income|price|score|age|bonus|rating|department|employer|provider|doctor)"
        ),
        "value_dependent",
    ),
)
_BY_SHAPE: tuple[tuple[re.Pattern[str], ValueType], ...] = (
    (
        re.compile(r"[\w.+-]+@[\w-]+\.[\w.]+|\d{4}-\d\d-\d\d|[A-Z]{2,}[-_ ]?\d[\w-]*|\+?[\d() -]{7,}"),
        "format_dependent",
    ),
    (re.compile(r"[$€£]?\s?-?[\d.,']+\s?(%|[A-Z]{3})?|([A-Z][\w.'-]+\s?){1,4}"), "value_dependent"),
)


def infer_type(attribute: str, text: str) -> ValueType:
    """The type of a value; what neither name nor shape tells is contextual, the class that demands most care."""
    name = attribute.lower().replace("-", "_").replace(" ", "_")
    named = next((kind for pattern, kind in _BY_NAME if pattern.search(name)), None)
    shaped = next((kind for pattern, kind in _BY_SHAPE if pattern.fullmatch(text.strip())), None)
    return named or shaped or "contextual"
