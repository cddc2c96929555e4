"""Places as coordinates: decimal degrees in pairs, degrees with minutes and seconds."""

import re

from earwitness.audit.recognizers.base import Found, Recognizer, by_pattern

_PLACE = re.compile(
    r"(?P<pair>(?<![\w.-])(?P<lat>[-+]?[0-9]{1,2}\.[0-9]{3,10})°? ?[NS]?(?:, ?"
    r"| {1,2})(?P<lon>[-+]?[0-9]{1,3}\.[0-9]{3,10})(?:°? ?[EWO]\b)?(?![\w.]|-[0-9]))"
    r"|(?P<dms>[0-9]{1,3}° ?[0-9]{1,2}['′] ?(?:[0-9]{1,2}"
    r"(?:\.[0-9]+)?[\"″] ?)?[NS],? ?[0-9]{1,3}° ?[0-9]{1,2}['′] ?(?:[0-9]{1,2}(?:\.[0-9]+)?[\"″] ?)?[EWO])"
    r"|(?P<key>\b(?:lat|latitude|lon|lng|long|longitude)[\"']?\s?[:=]\s?(?P<one>-?[0-9]{1,3}\.[0-9]{3,12}))",
    re.IGNORECASE,
)


def _judge(text: str, match: "re.Match[str]") -> Found | None:
    if match["one"]:
        return Found(*match.span("one"), 0.7, match["one"])
    if match["dms"]:
        return Found(*match.span(), 0.9, "".join(match.group().split()), strong=True)
    lat, lon = float(match["lat"]), float(match["lon"])
    return Found(*match.span(), 0.7, f"{lat},{lon}") if abs(lat) <= 90 and abs(lon) <= 180 else None


RECOGNIZER = Recognizer(
    name="geo",
    entity="GEO_COORDINATES",
    value_type="format_dependent",
    prefilter=(
        r"[0-9]{1,2}\.[0-9]{3,10}°? ?[NSns]?(?:, ?| {1,2})[-+]?[0-9]{1,3}\.[0-9]{3}|[0-9]° ?[0-9]|(?i:lat|latitude"
        r"|lon|lng|long|longitude)[\"']?\s?[:=]\s?-?[0-9]"
    ),
    look=by_pattern(_PLACE, _judge),
    reach=(16, 64),
)
