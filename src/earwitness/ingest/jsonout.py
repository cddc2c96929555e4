"""JSON as the standard library writes it, byte for byte, without making its encoder anew for every value."""

import json
from collections.abc import Callable
from json import encoder as parts
from typing import Any

# A text alone, with everything that is no control character as it is.
encode_text: Callable[[str], str] = parts.encode_basestring


def encoder(
    *,
    default: Callable[[Any], Any],
    ensure_ascii: bool = True,
    sort_keys: bool = False,
    separators: tuple[str, str] = (", ", ": "),
) -> Callable[[Any], str]:
    """What `json.JSONEncoder(...).encode` is; of values that hold themselves it raises RecursionError."""
    settings = {"ensure_ascii": ensure_ascii, "sort_keys": sort_keys, "separators": separators}
    plain = json.JSONEncoder(default=default, check_circular=False, **settings)  # type: ignore[arg-type]
    make = getattr(parts, "c_make_encoder", None)
    if make is None:
        return plain.encode
    text = parts.encode_basestring_ascii if ensure_ascii else parts.encode_basestring
    item, key = separators
    chunks = make(None, default, text, None, key, item, sort_keys, False, True)
    return lambda value: text(value) if isinstance(value, str) else "".join(chunks(value, 0))
