"""Payment cards: issuer prefix, length and Luhn digit. What only looks like a card is kept apart as CARD_LIKE."""

import re

from earwitness.audit.recognizers.base import Found, Recognizer, by_pattern, digits, luhn, near

_NUMBER = re.compile(r"(?<![\w.-])[0-9](?:[ -]?[0-9]){12,18}(?![\w-]|[.,][0-9])")
_GROUPS = re.compile(r"[0-9]{4}([ -])[0-9]{4}\1[0-9]{4}\1[0-9]{4}|[0-9]{4}([ -])[0-9]{6}\2[0-9]{5}")
_CUE = re.compile(r"\b(?:cards?|visa|master ?card|amex|american express|discover|cc|pan|debit)\b", re.IGNORECASE)
_ISSUERS = re.compile(
    r"4(?:[0-9]{12}|[0-9]{15}|[0-9]{18})"
    r"|(?:5[1-5][0-9]{2}|222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720)[0-9]{12}"
    r"|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|35[0-9]{14}"
    r"|6(?:011|5[0-9]{2}|4[4-9][0-9])[0-9]{12}|62[0-9]{14,17}|(?:50|5[6-9]|6[0-9])[0-9]{10,17}"
)


def _judge(text: str, match: "re.Match[str]") -> Found | None:
    number = digits(match.group())
    cued = near(_CUE, text, match.start())
    grouped = _GROUPS.fullmatch(match.group()) is not None
    issued = _ISSUERS.fullmatch(number) is not None
    if issued and luhn(number) and not number.startswith(("50", "56", "57", "58", "59")):
        # Ids of 13 digits and more carry a Luhn digit by chance once in ten.
        return Found(*match.span(), 0.95, number, strong=True)
    if cued or grouped:
        return Found(*match.span(), 0.5, number, entity="CARD_LIKE")
    return None


RECOGNIZER = Recognizer(
    name="card",
    entity="CREDIT_CARD",
    value_type="format_dependent",
    prefilter=r"[0-9](?:[ -]?[0-9]){12}",
    look=by_pattern(_NUMBER, _judge),
)
