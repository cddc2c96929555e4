"""IBANs: country, check digits, account; the checksum decides. A keyword keeps those with a wrong one as IBAN_LIKE."""

import re

from earwitness.audit.recognizers.base import Found, Recognizer, by_pattern, near

_NUMBER = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}[0-9]{2}(?:[ -]?[A-Z0-9]{4}){2,7}(?:[ -]?[A-Z0-9]{1,3})?(?![a-z0-9])")
_CUE = re.compile(r"\biban\b", re.IGNORECASE)


def _judge(text: str, match: "re.Match[str]") -> Found | None:
    written = match.group()
    for end in _ends(written):
        if _valid(compact := _compact(written[:end])):
            return Found(match.start(), match.start() + end, 0.98, compact, strong=True)
    if near(_CUE, text, match.start(), 20):
        return Found(*match.span(), 0.6, _compact(written), entity="IBAN_LIKE")
    return None


def _ends(written: str) -> list[int]:
    """Where the number may end: capitals behind it can look like a last group."""
    groups = [m.start() for m in re.finditer(r"[ -]", written)]
    return [len(written), *(g for g in reversed(groups) if g >= 15)]


def _compact(written: str) -> str:
    return written.replace(" ", "").replace("-", "")


def _valid(compact: str) -> bool:
    from stdnum import iban

    return bool(iban.is_valid(compact, check_country=False))


RECOGNIZER = Recognizer(
    name="iban",
    entity="IBAN",
    value_type="format_dependent",
    prefilter=r"[A-Z]{2}[0-9]{2}[ -]?[A-Z0-9]{4}",
    look=by_pattern(_NUMBER, _judge),
)
