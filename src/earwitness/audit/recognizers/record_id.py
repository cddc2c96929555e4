"""Ids of accounts, employees, cases, orders and reservations by their shape, such as `ACC-2291`, `#W123456`."""

import re

from earwitness.audit.recognizers.base import Found, Recognizer, by_pattern

_ID = re.compile(
    r"(?<![\w./@=&?%#-])(?:"
    r"(?P<upper>#?[A-Z0-9]{1,12}[-_#]?[A-Z0-9]{0,6}(?:[-_][A-Z0-9]{1,12}){0,4})"
    r"|(?P<lower>[A-Za-z]{2,16}(?:[-_][a-z]{1,16}){0,3}[-_](?=[0-9a-f-]*[0-9])[0-9a-f]{3,16}(?:[-_][0-9]{2,12}){0,3})"
    r"|(?P<mixed>[A-Z][A-Za-z]{1,8}[0-9]{4,12})"
    r"|(?P<uuid>[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"
    r"|(?P<hash>#[0-9]{4,12})"
    r")(?![\w@-]|[.][0-9A-Za-z]|=)"
)
# Some digit stands behind something that is none: `221B` is the number of a house.
_LEAD = re.compile(r"[0-9]*[A-Za-z_#][^0-9]*[0-9]")
# Names of things that look like ids and are none.
_COMMON = re.compile(
    r"(?:UTF|ISO|RFC|SHA|MD|GPT|COVID|HTTP|HTTPS|IPV|TLS|SSL|AES|RSA|CVE|CW|LLAMA|MP|USB|PS|WINDOWS|PYTHON|JAVA|ES|HTML|CSS"
    r"|VERSION|FY|CY|TASK|STEP|PAGE|FIG|TABLE|SECTION|PART|TOP|ERROR|GEMINI|CLAUDE|BASE|X86|ARM|WIN|UNIX|ASCII|CPU|GPU|RTX)"
    r"[-_]?[0-9][0-9A-Z_-]*|Q[1-4](?:[-_]?[0-9]{2,4})?|V[0-9]{1,2}",
    re.IGNORECASE,
)


def _judge(text: str, match: "re.Match[str]") -> Found | None:
    written = match.group()
    numbers = sum(c in "0123456789" for c in written)
    kind = match.lastgroup or ""
    if (
        numbers < 2
        or not _LEAD.match(written)
        or _COMMON.fullmatch(written)
        or (kind == "upper" and not _shaped(written, numbers))
    ):
        return None
    entity = "UUID" if kind == "uuid" else None
    return Found(*match.span(), 0.4 if kind in ("uuid", "hash") else 0.6, written.lstrip("#"), entity=entity)


def _shaped(written: str, numbers: int) -> bool:
    """Three digits; or a reservation code of six letters and digits."""
    return numbers >= 3 or (len(written) == 6 and written.isalnum() and len(written) - numbers >= 2)


RECOGNIZER = Recognizer(
    name="record_id",
    entity="RECORD_ID",
    value_type="format_dependent",
    prefilter=r"[A-Za-z0-9_#-]*[A-Z_#-][A-Za-z0-9_#-]*[0-9][A-Za-z0-9_-]*",
    look=by_pattern(_ID, _judge),
    reach=(2, 2),
)
