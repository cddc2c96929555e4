"""E-mail addresses."""

import re

from earwitness.audit.recognizers.base import Found, Recognizer, by_pattern

_ADDRESS = re.compile(
    r"(?<![\w.+%@/\\-])[\w+%-][\w.+%'-]{0,63}@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}[A-Za-z0-9])?\.){1,5}[A-Za-z]{2,24}(?![\w@-])"
)
# User and password in front of a host.
_LOGIN = re.compile(r"://[^\s/]*:$")
# `icon@2x.png` and `package@1.2.js` are no addresses.
_FILES = {"png", "jpg", "jpeg", "gif", "svg", "webp", "js", "ts", "css", "html", "json", "py", "md", "txt"}


def _judge(text: str, match: "re.Match[str]") -> Found | None:
    address = match.group()
    if _LOGIN.search(text, max(0, match.start() - 80), match.start()):
        return None
    if address.rpartition(".")[2].lower() in _FILES or ".." in address.partition("@")[0]:
        return None
    return Found(*match.span(), 0.98, address.lower(), strong=True)


RECOGNIZER = Recognizer(
    name="email",
    entity="EMAIL_ADDRESS",
    value_type="format_dependent",
    prefilter=r"@[A-Za-z0-9]",
    look=by_pattern(_ADDRESS, _judge),
    reach=(80, 160),
)
