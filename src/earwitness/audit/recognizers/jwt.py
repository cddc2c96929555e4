"""JSON web tokens: three parts in base64url, of which the first is a JSON header."""

import binascii
import re
from base64 import urlsafe_b64decode

from earwitness.audit.recognizers.base import Found, Recognizer, by_pattern

_TOKEN = re.compile(r"(?<![\w-])(eyJ[A-Za-z0-9_-]{8,})\.(eyJ[A-Za-z0-9_-]{8,})\.([A-Za-z0-9_-]*)(?![\w-])")


def _judge(text: str, match: "re.Match[str]") -> Found | None:
    head = match[1]
    try:
        decoded = urlsafe_b64decode(head + "=" * (-len(head) % 4))
    except (binascii.Error, ValueError):
        return None
    sound = b'"alg"' in decoded or b'"typ"' in decoded
    return Found(*match.span(), 0.99, match.group(), strong=True) if sound else None


RECOGNIZER = Recognizer(
    name="jwt",
    entity="JWT",
    value_type="format_dependent",
    prefilter=r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    look=by_pattern(_TOKEN, _judge),
    reach=(8, 8),
)
