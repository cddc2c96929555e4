"""Phone numbers: international ones, those of North America, and national ones of Britain and Germany.

`phonenumbers` says which are numbers at all. Numbers it calls impossible (the fictitious 555 ones among them) stay
as weak finds where they are written like a phone number or stand beside a keyword.
"""

import re
from functools import cache
from typing import Any

from earwitness.audit.recognizers.base import Found, Recognizer, by_pattern, digits, near

_NUMBER = re.compile(
    r"(?<![\w.+@#/$-])(?:\+[0-9]{1,3}[ .-]?)?(?:\([0-9]{1,5}\)[ .-]?)?[0-9]{1,5}(?:[ .\u2011\u2013-]?[0-9]{2,5}){1,4}"
    r"(?:,? ?(?:x|ext\.?|extension) ?[0-9]{1,5})?(?![\w@]|[-./,:][0-9])"
)
_CUE = re.compile(
    r"\b(?:tel|phone|telephone|mobile|cell|cellphone|call|fax|contact|text|sms|whatsapp|dial|reach|handy|number is)\b"
    r"|phone|mobile|^tel",
    re.IGNORECASE,
)
_GERMAN = re.compile(r"telefon|handy|mobil[^e]|rufnummer|durchwahl|ü|ß", re.IGNORECASE)
_AMERICAN = re.compile(r"(?:\+?1[ .-]?)?(?:\([2-9][0-9]{2}\) ?|[2-9][0-9]{2}[ .-])[0-9]{3}[ .-][0-9]{4}(?:[^0-9].*)?")
_DATE = re.compile(r"(?:[0-9]{1,4}[.-][0-9]{1,2}[.-][0-9]{1,4}|(?:19|20)[0-9]{2}[ -]+(?:19|20)?[0-9]{2})(?: .*)?")


def _judge(text: str, match: "re.Match[str]") -> Found | None:
    written = match.group()
    number = digits(written)
    if not 7 <= len(number) <= 18 or _DATE.fullmatch(written):
        return None
    cued = near(_CUE, text, match.start(), 30)
    shaped = written[0] in "+(" or _AMERICAN.fullmatch(written) is not None
    if not (cued or shaped or (number[0] == "0" and " " in written)):
        return None
    if canonical := _canonical(written, german=near(_GERMAN, text, match.start(), 30)):
        return Found(
            *match.span(), 0.9, canonical, strong=written[0] == "+" or _AMERICAN.fullmatch(written) is not None
        )
    weak = cued or _AMERICAN.fullmatch(written) is not None or (written[0] == "+" and len(number) > 8)
    return Found(*match.span(), 0.6 if cued else 0.5, _bare(written)) if weak else None


def _bare(written: str) -> str:
    return ("+" if written[0] == "+" else "") + digits(written)


@cache
def _library() -> Any:
    import phonenumbers

    return phonenumbers


def _canonical(written: str, *, german: bool) -> str | None:
    """E.164 of a valid number."""
    library = _library()
    regions = [None] if written[0] == "+" else ["US"]
    if written.lstrip("(")[0] == "0":
        regions = ["DE", "GB"] if german else ["GB", "DE"]
    for region in regions:
        try:
            number = library.parse(written, region)
        except library.NumberParseException:
            continue
        if library.is_valid_number(number):
            return str(library.format_number(number, library.PhoneNumberFormat.E164))
    return None


RECOGNIZER = Recognizer(
    name="phone",
    entity="PHONE_NUMBER",
    value_type="format_dependent",
    prefilter=(
        r"(?:(?i:tel|phone|mobile|cell|call|fax|contact|text|sms|whatsapp|dial|reach|handy"
        r"|number is)[^0-9\n]{0,24}[0-9][0-9() .\u2011\u2013-]{5,}"
        r"|\+[0-9][0-9() .\u2011\u2013-]{6,}|[2-9][0-9]{2}\)?[ .\u2011\u2013-]{1,2}[0-9]{3}[ .\u2011\u2013-][0-9]{4}"
        r"|0[0-9]{1,4}\)? [0-9 -]{5,})"
        r"(?:,? ?(?:x|ext\.?|extension) ?[0-9]{1,5})?"
    ),
    look=by_pattern(_NUMBER, _judge),
    reach=(8, 4),
)
