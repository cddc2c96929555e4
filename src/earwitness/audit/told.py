"""A value and what was told in its place: whether the two are the same, nearly the same, or only of the same shape."""

import re
from collections.abc import Callable
from datetime import date, datetime
from functools import lru_cache
from typing import Literal, NamedTuple

from earwitness.schema.words import ValueType

Verdict = Literal["exact", "corrupted", "substituted"]
Kind = Literal["id", "date", "email", "name"]

NEAR = 0.8
_FEWEST, _LONGEST, _DIGITS = 5, 40, 4

_ID = re.compile(r"[+(#]?[A-Za-z0-9]+(?:[ ._/()#+-]{1,2}[A-Za-z0-9]+){0,7}")
_TOKEN = re.compile(r"(?=[A-Za-z_-]*\d)(?=[\d_-]*[A-Za-z])[A-Za-z0-9_-]{8,40}")
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_WORD = r"[A-ZÀ-ÖØ-Þ][^\W\d_]*(?:['’-][^\W\d_]+)*\.?"
_NAME = re.compile(rf"{_WORD}(?: {_WORD}){{1,3}}(?![^\W_])")
_PERSON = re.compile(
    r"(^|_)(name|patient|client|customer|employee|candidate|applicant|party|plaintiff|defendant|witness|person|doctor"
    r"|physician|manager|supervisor|attorney|lawyer|contact|owner|holder)($|_)"
)
_NO_PERSON = re.compile(r"(company|merchant|bank|hospital|school|product|project|drug|file|user_?name|insurance|email)")
_TITLE = re.compile(r"(?:mrs?|ms|miss|dr|prof|professor|doctor)\.? |,? (?:md|phd|dds|dvm|jr|sr|ii|iii|iv)\.?$")
# Words that stand where a name is still to be put, and labels that follow a label.
_NO_NAME = frozenset(
    re.findall(
        r"\S+",
        """
        name names full first last middle legal not none unknown provided available redacted your insert the this see to
        be determined confirmed pending date number id ssn dob phone email address patient customer client employee with
        candidate applicant department position account information details hiring manager title insurance social
        security birth medical record case file hr human resources john jane doe and for if any""",
    )
)
_DATES = (
    (re.compile(r"\d{4}-\d\d?-\d\d?(?!\d)"), ("%Y-%m-%d",)),
    (re.compile(r"\d{4}/\d\d?/\d\d?(?!\d)"), ("%Y/%m/%d",)),
    (re.compile(r"\d\d?/\d\d?/\d{4}(?!\d)"), ("%m/%d/%Y", "%d/%m/%Y")),
    (re.compile(r"\d\d?-\d\d?-\d{4}(?!\d)"), ("%m-%d-%Y", "%d-%m-%Y")),
    (re.compile(r"\d\d?\.\d\d?\.\d{4}(?!\d)"), ("%d.%m.%Y",)),
    (re.compile(r"[A-Z][a-z]{2,8}\.? \d\d?(?:st|nd|rd|th)?,? \d{4}(?!\d)"), ("%B %d %Y", "%b %d %Y")),
    (re.compile(r"\d\d?(?:st|nd|rd|th)? (?:of )?[A-Z][a-z]{2,8}\.?,? \d{4}(?!\d)"), ("%d %B %Y", "%d %b %Y")),
)
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b|,|\.(?= )|\bof ")


class Told(NamedTuple):
    """What stands in the place of a value."""

    verdict: Verdict
    text: str
    similarity: float


@lru_cache(maxsize=1 << 16)
def kind_of(attribute: str, text: str, value_type: ValueType | None) -> Kind | None:
    """How a value can be compared letter by letter; None for amounts, prose and what is too short."""
    text = text.strip()
    if _EMAIL.fullmatch(text):
        return "email"
    if _dated(text):
        return "date"
    if value_type == "format_dependent" and _ID.fullmatch(text) and _is_identifier(text):
        return "id"
    if _TOKEN.fullmatch(text):
        return "id"
    name = attribute.lower()
    person = _PERSON.search(name) and not _NO_PERSON.search(name)
    return "name" if person and _NAME.fullmatch(text) and len(text) <= _LONGEST else None


def _is_identifier(text: str) -> bool:
    key = canonical("id", text)
    return _FEWEST <= len(key) <= _LONGEST and sum(map(str.isdigit, key)) >= _DIGITS


def canonical(kind: Kind, text: str) -> str:
    """A text as it is compared: letters and digits; dates year first; names without titles."""
    if kind == "date":
        found = _dated(text.strip())
        return min(found).isoformat() if found else ""
    low = text.strip().lower()
    if kind == "email":
        return low
    if kind == "name":
        return " ".join(re.findall(r"[^\W\d_]+", _TITLE.sub("", _TITLE.sub("", low, count=1), count=1)))
    return "".join(c for c in low if c.isalnum())


def compare(kind: Kind, value: str, tail: str) -> Told | None:
    """What the beginning of `tail` is to `value`: the same, nearly, another of its shape, or (None) none of these.

    Args:
        kind: of the value.
        value: the value.
        tail: text behind the name of its attribute.
    """
    return _COMPARE[kind](value, tail)


def _compare_id(value: str, tail: str) -> Told | None:
    wanted = canonical("id", value)
    shaped = _shaped("".join("9" if c.isdigit() else "a" for c in wanted)).match(tail)
    if shaped:
        return _judged(wanted, canonical("id", shaped[0]), shaped[0])
    # A letter or digit more or less: runs of letters and of digits must follow each other as in the value.
    token = _ID.match(tail)
    if token is None or (" " in token[0] and " " not in value):
        token = re.match(r"[A-Za-z0-9(+#][^\s,;:|\"'`*\]}<>]*", tail)
    told = canonical("id", token[0]) if token else ""
    if abs(len(told) - len(wanted)) != 1 or _runs(told) != _runs(wanted):
        return None
    near = similarity(wanted, told)
    return Told("corrupted", token[0], near) if token and near >= NEAR else None


@lru_cache(maxsize=4096)
def _shaped(classes: str) -> re.Pattern[str]:
    """Texts of the same letters and digits in the same places, whatever separates them."""
    one = {"9": "[0-9]", "a": "[A-Za-z]"}
    return re.compile(
        r"[(+#]?" + r"[ ._/()#+-]{0,2}".join(one[c] for c in classes) + r"(?![A-Za-z0-9])(?!-[A-Za-z0-9])"
    )


def _runs(text: str) -> str:
    return re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "9", text))


def _compare_date(value: str, tail: str) -> Told | None:
    found = next((m[0] for pattern, _ in _DATES if (m := pattern.match(tail)) and _dated(m[0])), None)
    if found is None:
        return None
    # Day and month may stand in either order: the reading nearest to the value counts.
    wanted = _dated(value.strip())
    pairs = [(a.isoformat(), b.isoformat()) for a in wanted for b in _dated(found)]
    return _judged(*max(pairs, key=lambda p: similarity(*p)), found)


def _compare_email(value: str, tail: str) -> Told | None:
    found = _EMAIL.match(tail)
    return _judged(value.strip().lower(), found[0].rstrip(".").lower(), found[0]) if found else None


def _compare_name(value: str, tail: str) -> Told | None:
    found = _NAME.match(tail)
    if found is None:
        return None
    wanted, told = canonical("name", value), canonical("name", found[0])
    if len(told.split()) != len(wanted.split()) or _NO_NAME & set(told.split()):
        return None
    return _judged(wanted, told, found[0])


def _judged(wanted: str, told: str, text: str) -> Told:
    if wanted == told:
        return Told("exact", text, 1.0)
    near = similarity(wanted, told)
    return Told("corrupted" if near >= NEAR else "substituted", text, near)


_COMPARE: dict[Kind, Callable[[str, str], Told | None]] = {
    "id": _compare_id,
    "date": _compare_date,
    "email": _compare_email,
    "name": _compare_name,
}


def _dated(text: str) -> tuple[date, ...]:
    """The dates a text may be: two where day and month may be either."""
    for pattern, formats in _DATES:
        if pattern.fullmatch(text):
            plain = " ".join(_ORDINAL.sub(" ", text).split()) if text[-5:-4] == " " else text
            found = (_parsed(plain, f) for f in formats)
            return tuple(dict.fromkeys(d for d in found if d))
    return ()


def _parsed(text: str, form: str) -> date | None:
    try:
        return datetime.strptime(text, form).date()
    except ValueError:
        return None


def similarity(a: str, b: str) -> float:
    """Edit similarity: one minus the edits it takes over the length of the longer text.

    An edit is a character put in, left out or replaced, or two neighbours exchanged (optimal string alignment).
    """
    longest = max(len(a), len(b))
    return 1 - _edits(a, b) / longest if longest else 1.0


def _edits(a: str, b: str) -> int:
    before: list[int] = []
    row = list(range(len(b) + 1))
    for n, left in enumerate(a, start=1):
        above, row, older = row, [n], before
        for m, right in enumerate(b, start=1):
            cost = min(above[m] + 1, row[m - 1] + 1, above[m - 1] + (left != right))
            if older and m > 1 and left == b[m - 2] and a[n - 2] == right:
                cost = min(cost, older[m - 2] + 1)
            row.append(cost)
        before = above
    return row[-1]
