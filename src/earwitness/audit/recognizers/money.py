"""Amounts of money, and large numbers written like amounts."""

import re

from earwitness.audit.recognizers.base import Found, Recognizer, by_pattern

_NUMBER = r"[0-9]{1,3}(?:[,'][0-9]{3})+(?:\.[0-9]{1,2})?|[0-9]+(?:[.,][0-9]{1,2})?"
_UNIT = r"(?: ?(?:k|K|m|M|bn|B|million|billion|thousand)\b)"
_AMOUNT = re.compile(
    rf"(?P<sign>(?:(?<![A-Za-z])(?:US|C|A|AU|CA|NZ|HK))?[$€£¥₹] ?(?P<a>{_NUMBER})(?![0-9]){_UNIT}?)"
    rf"|(?P<code>(?<![\w.,-])(?P<b>{_NUMBER}){_UNIT}? ?(?:USD|EUR|GBP|CHF|CAD|AUD|JPY|INR|dollars?|euros?"
    rf"|pounds?|€|£)(?!\w))"
    rf"|(?P<front>\b(?:USD|EUR|GBP|CHF|CAD|AUD|JPY|INR) ?(?P<c>{_NUMBER})(?![0-9]))"
    r"|(?P<bare>(?<![\w.,/-])(?P<d>[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]{1,2})?|[0-9]{4,}\.[0-9]{2}|[0-9]{5,9}(?=[.,;)]?\s))(?![\w/-]|[.,][0-9]))"
)


def _judge(text: str, match: "re.Match[str]") -> Found:
    written = next(match[g] for g in "abcd" if match[g])
    plain = re.sub(r"[,'](?=[0-9]{3})", "", written)
    bare = match.lastgroup == "bare" or match["bare"] is not None
    return Found(*match.span(), 0.25 if bare else 0.5, plain.replace(",", "."), entity="NUMBER" if bare else None)


RECOGNIZER = Recognizer(
    name="money",
    entity="MONEY",
    value_type="value_dependent",
    prefilter=(
        r"[$€£¥₹] ?[0-9][0-9,.']*|[0-9][0-9,.']* ?(?:(?:k|K|m|M|bn|B|million|billion|thousand) ?)?(?:USD|EUR|GBP"
        r"|CHF|CAD|AUD|JPY|INR|dollar|euro|pound|€|£)"
        r"|(?:USD|EUR|GBP|CHF|CAD|AUD|JPY|INR) ?[0-9][0-9,.']*|[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?"
        r"|[0-9]{4,}\.[0-9]{2}|[0-9]{5,9}[.,;)]?\s"
    ),
    look=by_pattern(_AMOUNT, _judge),
    reach=(8, 8),
)
