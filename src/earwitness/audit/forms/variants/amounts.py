"""Amounts: without or with cents, rounded, in thousands and millions, in words."""

import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation

from earwitness.audit.forms.variant import Variant

_AMOUNT = re.compile(r"(?:[A-Z]{3} ?|[$€£¥] ?)?(\d{1,3}(?:[,' ]\d{3})+|\d+)(\.\d{1,2})?(?: ?(?:[A-Z]{3}|[€£%]))?")
# Numbers that say nothing of how much.
_NO_AMOUNT = re.compile(
    r"(^|_)(id|ids|no|nr|number|phone|mobile|fax|zip|postcode|card|account|routing|ssn|code|pin|year|real|last4)($|_)"
)
_SMALLEST, _LARGEST = 1000, 10**12
_SCALES = ((1000, ("k", " thousand")), (1_000_000, ("M", " million", "mn")), (10**9, ("bn", " billion")))


def variants(attribute: str, text: str) -> Iterator[Variant]:
    """Other ways to write an amount of a thousand or more."""
    match = _AMOUNT.fullmatch(text.strip())
    if not match or _NO_AMOUNT.search(attribute.lower()) or (match[1][0] == "0" and len(match[1]) > 1):
        return
    amount = _decimal(re.sub(r"[,' ]", "", match[1]) + (match[2] or ""))
    if amount is None or not _SMALLEST <= amount < _LARGEST:
        return
    yield from _cents(amount)
    yield from _scaled(amount)
    yield from _words(amount)


def _decimal(text: str) -> Decimal | None:
    try:
        return Decimal(text)
    except InvalidOperation:
        return None


def _cents(amount: Decimal) -> Iterator[Variant]:
    whole = int(amount)
    if amount == whole:
        yield Variant(f"{whole}", "amount", 0.98)
        yield Variant(f"{whole}.00", "amount", 0.98)
        yield Variant(f"{whole}.0", "amount", 0.95)
        return
    yield Variant(f"{amount:.2f}", "amount", 0.98)
    yield Variant(f"{amount.normalize():f}", "amount", 0.98)
    for rounded in {whole, round(amount)}:
        yield Variant(f"{rounded}", "rounded", 0.85)


def _scaled(amount: Decimal) -> Iterator[Variant]:
    """52.3k for 52,300; 0.35M and 348k for 348,054 are roundings."""
    for scale, names in _SCALES:
        scaled = amount / scale
        if scaled < Decimal("0.1"):
            continue
        shown = {scaled.quantize(Decimal(1).scaleb(-digits)).normalize() for digits in (0, 1, 2, 3)}
        for number in shown - {Decimal(0)}:
            exact = number * scale == amount
            close = abs(number * scale - amount) <= amount / 100
            if exact or close:
                for name in names:
                    yield Variant(f"{number:f}{name}", "scaled", 0.95 if exact else 0.6)


def _words(amount: Decimal) -> Iterator[Variant]:
    if amount != int(amount):
        return
    from num2words import num2words  # its import takes a while, and few registries hold amounts

    words = num2words(int(amount), lang="en")
    for spelled in dict.fromkeys((words, words.replace(" and ", " "))):
        yield Variant(spelled, "words", 0.97, "gapped")
