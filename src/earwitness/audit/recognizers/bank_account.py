"""Bank accounts, routing numbers (with their check digit), sort codes and BICs, beside their keyword."""

import re
from collections.abc import Iterator

from earwitness.audit.recognizers.base import Found, Recognizer
from earwitness.audit.recognizers.keyed import GAP

_ACCOUNT = re.compile(
    rf"(?<![A-Za-z])(?:(?:bank |checking |savings )?(?:account|acct|a/c"
    rf"|konto)){GAP}(?P<n>[0-9][0-9 -]{{4,20}}[0-9])(?![\w-])",
    re.IGNORECASE,
)
_ROUTING = re.compile(rf"\b(?:routing|aba|rtn){GAP}(?P<n>[0-9]{{9}})(?![\w-])", re.IGNORECASE)
_SORT = re.compile(rf"\bsort[ -]?code{GAP}(?P<n>[0-9]{{2}}[- ]?[0-9]{{2}}[- ]?[0-9]{{2}})(?![\w-])", re.IGNORECASE)
_BIC = re.compile(
    rf"\b(?i:swift|bic)(?:/(?i:bic|swift))?{GAP}(?P<n>[A-Z]{{6}}[A-Z0-9]{{2}}(?:[A-Z0-9]{{3}})?)(?![\w-])"
)


def _look(text: str, start: int, stop: int, /) -> Iterator[Found]:
    for pattern, entity in ((_ACCOUNT, "BANK_ACCOUNT"), (_SORT, "SORT_CODE"), (_BIC, "BIC")):
        for match in pattern.finditer(text, start, stop):
            yield Found(*match.span("n"), 0.75, re.sub(r"[ -]", "", match["n"]), entity=entity)
    for match in _ROUTING.finditer(text, start, stop):
        sound = _aba(match["n"])
        yield Found(*match.span("n"), 0.95 if sound else 0.6, match["n"], strong=sound, entity="ROUTING_NUMBER")


def _aba(number: str) -> bool:
    weights = (3, 7, 1) * 3
    return sum(int(c) * w for c, w in zip(number, weights, strict=True)) % 10 == 0 and number != "000000000"


RECOGNIZER = Recognizer(
    name="bank_account",
    entity="BANK_ACCOUNT",
    value_type="format_dependent",
    prefilter=(
        r"(?i:account|acct|a/c|konto|routing|aba|rtn|sort[ -]?code|swift|bic)[ _\"'*:#=/noidNum.-]{0,24}(?:(?i:is"
        r"|number|swift|bic)[ :]{1,3})?[0-9A-Z]{2}"
    ),
    look=_look,
    reach=(24, 72),
)
