"""Whether a value stands inside an encoding: in base64, in hexadecimal, behind escapes of its letters and digits."""

import html
import re
from urllib.parse import unquote

import pyarrow as pa

from earwitness.audit.forms.decode import decoded
from earwitness.audit.forms.skeleton import compact, fold
from earwitness.audit.transform.shapes import ESCAPE

_SHORTEST_RUN = 12
# Stand for escapes while a value is transformed: of no class that any operation touches.
_FIRST = 0xE000
_MOST = 0x1900


def is_encoded(shown: str, canonical: str) -> bool:
    """Whether `shown` is an encoding of the value rather than a way to write it."""
    if any(_tells(m[0]) for m in ESCAPE.finditer(shown)):
        return True
    core = compact(fold(canonical))
    if len(shown) < _SHORTEST_RUN or not core or core in compact(fold(shown)):
        return False
    safe = shown.encode("utf-8", "replace").decode()
    return any(core in compact(fold(inner.text)) for inner in decoded(pa.array([safe], pa.large_string())))


def hide_escapes(shown: str) -> tuple[str, list[str]]:
    """The text with a sign of its own for each escape, and the escapes."""
    found: list[str] = []

    def hide(match: re.Match[str]) -> str:
        found.append(match[0])
        return chr(_FIRST + len(found) - 1)

    if "\\" not in shown and "%" not in shown and "&" not in shown:
        return shown, found
    hidden = ESCAPE.sub(hide, shown)
    return (hidden, found) if len(found) < _MOST else (shown, [])


def show_escapes(text: str, found: list[str]) -> str:
    """The text with its escapes again."""
    return text.translate({_FIRST + n: escape for n, escape in enumerate(found)}) if found else text


def _tells(escape: str) -> bool:
    """Whether an escape stands for a letter or a digit."""
    if escape[0] == "\\":
        return escape[1] in "ux" and chr(int(escape[2:], 16)).isalnum()
    plain = unquote(escape, errors="replace") if escape[0] == "%" else html.unescape(escape)
    # A byte of a longer sign: what it is takes its neighbours to tell, and most of them are letters.
    return plain.isalnum() or "\ufffd" in plain
