"""Postal addresses as written in the United States, Britain and Germany; the street, and the town where it follows."""

import re

from earwitness.audit.recognizers.base import Found, Recognizer, by_pattern

_SUFFIX = (
    r"(?:Street|St|Avenue|Ave|Road|Rd|Lane|Ln|Drive|Dr|Boulevard|Blvd|Court|Ct|Place|Pl|Square|Sq|Terrace|Ter|Way"
    r"|Parkway|Pkwy|Highway|Hwy|Circle|Cir|Crescent|Close|Gardens|Grove|Hill|Mews|Row|Trail|Alley)"
)
_STATE = (
    r"(?:A[KLRZ]|C[AOT]|D[CE]|FL|GA|HI|I[ADLN]|K[SY]|LA|M[ADEINOST]|N[CDEHJMVY]|O[HKR]|PA|RI|S[CD]|T[NX]|UT"
    r"|V[AT]|W[AIVY])"
)
_TOWN = rf"(?:,? [A-Z][\w.'-]+(?: [A-Z][\w.'-]+){{0,3}})(?:, ?{_STATE}(?: [0-9]{{5}}(?:-[0-9]{{4}})?)?)"
_POSTCODE = r"[A-Z]{1,2}[0-9][A-Z0-9]? [0-9][ABD-HJLNP-UW-Z]{2}"
_GERMAN = r"(?:[A-ZÄÖÜ][\wäöüß-]*(?:stra(?:ß|ss)e|str\.|weg|platz|allee|gasse|damm|ufer|chaussee))"
_ADDRESS = re.compile(
    rf"(?P<street>(?<![\w-])[0-9]{{1,6}}[A-Za-z]? (?:[NSEW]\.? )?(?:(?:[A-Z][\w.'-]*|[0-9]{{1,3}}(?:st|nd|rd"
    rf"|th)) ){{1,4}}"
    rf"{_SUFFIX}\b\.?(?:,? (?:Apt|Apartment|Suite|Ste|Unit|Flat|#)\.? ?[\w-]{{1,6}})?"
    rf"(?:{_TOWN}|(?:, [A-Z][\w.'-]+(?: [A-Z][\w.'-]+)?)?,? {_POSTCODE}\b)?)"
    rf"|(?P<german>(?<!\w){_GERMAN} [0-9]{{1,4}} ?[a-z]?\b(?:, ?(?:D-)?[0-9]{{5}} [A-ZÄÖÜ][\wäöüß-]+)?)"
    rf"|(?P<zip>\b{_STATE},? [0-9]{{5}}(?:-[0-9]{{4}})?\b)"
    rf"|(?P<code>(?<![\w-]){_POSTCODE}(?![\w-]))"
)
_SURE = {"street": 0.8, "german": 0.8, "zip": 0.6, "code": 0.6}


def _judge(text: str, match: "re.Match[str]") -> Found:
    kind = match.lastgroup or "street"
    entity = "POSTAL_CODE" if kind in ("zip", "code") else None
    return Found(*match.span(), _SURE[kind], " ".join(match.group().split()), entity=entity)


RECOGNIZER = Recognizer(
    name="address",
    entity="POSTAL_ADDRESS",
    value_type="value_dependent",
    prefilter=(
        rf"[0-9]{{1,6}}[A-Za-z]? (?:[NSEW]\.? )?(?:[A-Z0-9][^ \n]* ){{1,4}}{_SUFFIX}"
        rf"|(?:stra(?:ß|ss)e|str\.|weg|platz|allee|gasse|damm|ufer|chaussee) [0-9]|{_STATE},? [0-9]{{5}}|{_POSTCODE}"
    ),
    look=by_pattern(_ADDRESS, _judge),
    reach=(48, 96),
)
