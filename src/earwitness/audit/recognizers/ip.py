"""IP and MAC addresses."""

import ipaddress
import re

from earwitness.audit.recognizers.base import Found, Recognizer, by_pattern, near

_ADDRESS = re.compile(
    r"(?P<four>(?<![\w.-])(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?![\w-]|\.[0-9]))"
    r"|(?P<mac>(?<![\w:-])(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}(?![\w:-]))"
    r"|(?P<six>(?<![\w:.])[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?![\w:]))"
)
_CUE = re.compile(
    r"\b(?:ip|ipv4|address|addr|host|server|client|remote|from|ping|ssh|connect(?:ed|ing)?|login)\b|ip_?addr",
    re.IGNORECASE,
)
_PORT = re.compile(r":[0-9]{2,5}(?![0-9])")


def _judge(text: str, match: "re.Match[str]") -> Found | None:
    if match["mac"]:
        return Found(*match.span(), 0.8, match.group().replace("-", ":").lower(), entity="MAC_ADDRESS")
    if match["six"] and len([part for part in match["six"].split(":") if part]) < 3:
        return None
    try:
        address = ipaddress.ip_address(match.group())
    except ValueError:
        return None
    if address.is_loopback or address.is_unspecified:
        return None
    # Versions and sections are numbered the same way; a word or a port beside it says that a host is meant.
    told = address.version == 6 or _PORT.match(text, match.end()) or near(_CUE, text, match.start(), 28)
    small = address.version == 4 and all(part < 20 for part in address.packed)
    return Found(*match.span(), 0.85 if told else 0.3 if small else 0.5, str(address), strong=bool(told))


RECOGNIZER = Recognizer(
    name="ip",
    entity="IP_ADDRESS",
    value_type="format_dependent",
    prefilter=r"[0-9]\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]|[0-9A-Fa-f]{1,4}[:-][0-9A-Fa-f]{0,4}:[0-9A-Fa-f:]|[0-9A-Fa-f]{2}-[0-9A-Fa-f]{2}-[0-9A-Fa-f]{2}-",
    look=by_pattern(_ADDRESS, _judge),
    reach=(24, 48),
)
