"""Keyed pseudonyms: the same value gives the same one under the same key, and nobody without the key can tell which.

Names are replaced word by word, so that all forms of one name agree: other case, last name first, the first name
alone. The price: two persons of one surname keep a surname in common. Words are invented, hosts end in `.example`.
"""

import hmac
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from earwitness.audit.forms.skeleton import compact, fold
from earwitness.audit.transform.ciphers import Small
from earwitness.audit.transform.keys import Keys
from earwitness.audit.transform.known import Known

_DATA = Path(__file__).parent / "data"
_TRIES = 64
# Digits from which on candidates are drawn; shorter numbers are permuted.
_UNIQUE_DIGITS = 6
_TOKEN = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|\d+")
_THOUSANDS = re.compile(r"\d{1,3}(?:[,'’\u00a0\u202f]\d{3})+(?!\d)|\d+")
_EMAIL = re.compile(r"[^\s@<>]+@[^\s@<>]+")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,15}://\S+")
_KINDS = (
    ("email", re.compile(r"e_?mail")),
    ("url", re.compile(r"(^|_)(ur[il]|website|link)($|_)")),
    ("address", re.compile(r"address|street|city|location|(^|_)(zip|postcode|state|country)($|_)")),
    (
        "organisation",
        re.compile(r"organi[sz]ation|company|employer|(^|_)org($|_)|merchant|hospital|bank_name|school|firm"),
    ),
    (
        "person",
        re.compile(
            r"name|person|patient|client|customer|candidate|witness|doctor|physician|provider|contact|owner|party"
        ),
    ),
)


class Pseudonym(NamedTuple):
    """What stands for a value, how many candidates it took, and whether one of them was taken."""

    text: str
    tries: int
    collided: bool


class Pseudonyms:
    """Makes pseudonyms under one key, and sees to it that no two values of a run share one.

    Args:
        keys: the key.
        known: protected values, which are no pseudonyms of others.

    Attributes:
        collisions: how many candidates were refused because another value had them, or was one.
    """

    def __init__(self, keys: Keys, known: Known | None = None) -> None:
        self._known = known
        self._key = keys.derive("pseudonyms")
        self._small = Small(keys.derive("pseudonyms of short numbers"))
        self._words: dict[str, tuple[str, int]] = {}
        self._numbers: dict[str, tuple[str, int]] = {}
        self._taken: dict[str, str] = {}
        self._given: dict[str, tuple[str, int]] = {}
        self.collisions = 0

    def __repr__(self) -> str:
        return f"Pseudonyms(collisions={self.collisions})"

    def make(self, canonical: str, shown: str, attribute: str | None, entity: str | None) -> Pseudonym | None:
        """The pseudonym of a value in the form in which it stands in the text; None for what has no sign to replace.

        Args:
            canonical: the value.
            shown: how it stands in the text.
            attribute: what it is called.
            entity: and what kind of value a recognizer takes it for.
        """
        before = self.collisions
        kind = kind_of(canonical or shown, attribute, entity)
        text = _MAKERS[kind](self, canonical, shown)
        tries = 1 + self.collisions - before
        return Pseudonym(text, tries, tries > 1) if text and text != shown else None

    def word(self, token: str) -> str:
        """The word that stands for a word, in lower case."""
        folded = _fold(token)
        known = self._words.get(folded) or self._next("word", folded, lambda seed: _spell(seed), self._is_word)
        self._words[folded] = known
        return known[0]

    def number(self, digits: str, turn: int = 0) -> str:
        """The digits that stand for digits: as many, without a leading zero where there was none.

        Args:
            digits: a number, or a part of one.
            turn: which permutation of short numbers.
        """
        if len(digits) < _UNIQUE_DIGITS:
            return self._permuted(digits, turn)
        known = self._numbers.get(digits) or self._next(
            "number", digits, lambda seed: _digits(seed, digits), self._is_value
        )
        self._numbers[digits] = known
        return known[0]

    def _permuted(self, digits: str, turn: int) -> str:
        """Short numbers are permuted: candidates would run out before all of them were different."""
        length = len(digits)
        if length == 1 or digits[0] == "0":
            low, bound = 0, 10 ** max(length - 1, 1)
        else:
            low, bound = 10 ** (length - 1), 9 * 10 ** (length - 1)
        purpose = f"{length}/{low}" + (f"/{turn}" if turn else "")
        return f"{low + self._small.encrypt(purpose, bound, int(digits) - low):0{length}}"

    def hexadecimal(self, canonical: str) -> str:
        """Ten hexadecimal digits for a value."""
        return self._next("hex", _fold(canonical), lambda seed: seed.hex()[:10])[0]

    def settle(self, canonical: str, text: str, turn: int) -> bool:
        """Whether a number may stand for a value: it is no other protected one, and no other value has it.

        Numbers of one permutation differ by themselves; those of a further one are compared with all that were given.
        """
        owner, form = _fold(canonical), compact(text)
        other, at = self._given.get(form, (owner, turn))
        free = other == owner or turn == at == 0
        if free and not (self._known and self._known.clash(canonical, text)):
            self._given.setdefault(form, (owner, turn))
            return True
        self.collisions += 1
        return False

    def _is_word(self, text: str) -> bool:
        return self._known is not None and self._known.has_word(text)

    def _is_value(self, text: str) -> bool:
        return self._known is not None and self._known.anywhere(text)

    def _next(
        self, kind: str, token: str, spell: Callable[[bytes], str], barred: Callable[[str], bool] | None = None
    ) -> tuple[str, int]:
        """The first candidate that is not the token, that no other token has and that is not barred."""
        for n in range(_TRIES):
            found = spell(self._draw(kind, token, n))
            if barred and barred(found):
                self.collisions += 1
                continue
            owner = self._taken.setdefault(f"{kind}:{found}", token)
            if found != token and owner == token:
                return found, n
            self.collisions += owner != token
        return found, _TRIES

    def _draw(self, kind: str, token: str, n: int) -> bytes:
        return hmac.digest(self._key, f"{kind}/{n}/{token}".encode("utf-8", "surrogatepass"), "sha256")


def kind_of(value: str, attribute: str | None, entity: str | None) -> str:
    """email, url, address, organisation, person, number or generic."""
    text = value.strip()
    if _EMAIL.fullmatch(text):
        return "email"
    if _URL.fullmatch(text):
        return "url"
    if not any(c.isalpha() for c in text):
        return "number"
    named = f"{entity or ''} {attribute or ''}".lower().replace("-", "_")
    found = next((kind for kind, pattern in _KINDS if pattern.search(named)), None)
    if found in ("email", "url", None):
        return "generic"
    return found


def _person(made: Pseudonyms, canonical: str, shown: str) -> str:
    return _tokenwise(made, canonical, shown, _kept("person"))


def _organisation(made: Pseudonyms, canonical: str, shown: str) -> str:
    return _tokenwise(made, canonical, shown, _kept("organisation"))


def _address(made: Pseudonyms, canonical: str, shown: str) -> str:
    return _tokenwise(made, canonical, shown, _kept("address"))


def _number(made: Pseudonyms, canonical: str, shown: str) -> str:
    """Digits for digits where they stand; thousands are one number, whatever parts them."""
    text = shown if any(c.isdecimal() for c in shown) else canonical
    for turn in range(_TRIES):
        told = _turned(made, text, turn)
        if made.settle(canonical, told, turn):
            break
    return told


def _turned(made: Pseudonyms, text: str, turn: int) -> str:
    """A text with other numbers."""

    def replace(match: re.Match[str]) -> str:
        told = iter(made.number("".join(c for c in match[0] if c.isdecimal()), turn))
        return "".join(next(told) if c.isdecimal() else c for c in match[0])

    return _THOUSANDS.sub(replace, text)


def _email(made: Pseudonyms, canonical: str, shown: str) -> str:
    """Words of the local part as in names; the domain as one word below a reserved one."""
    whole = shown.strip() if _EMAIL.fullmatch(shown.strip()) else canonical.strip()
    local, _, domain = whole.rpartition("@")
    told = _TOKEN.sub(lambda m: made.number(m[0]) if m[0].isdecimal() else made.word(m[0]), local)
    return f"{told if told.isascii() else made.hexadecimal(local)}@{made.word(domain)}.example"


def _url(made: Pseudonyms, canonical: str, shown: str) -> str:
    """The scheme, a reserved host, and one segment for all that followed."""
    whole = shown.strip() if _URL.fullmatch(shown.strip()) else canonical.strip()
    scheme, _, rest = whole.partition("://")
    host = re.split(r"[/?#]", rest, maxsplit=1)[0]
    path = f"/{made.hexadecimal(rest)}" if len(rest) > len(host) + 1 else ""
    return f"{scheme}://{made.word(host)}.example{path}"


def _generic(made: Pseudonyms, canonical: str, shown: str) -> str:
    """Nothing of the value, not even its length."""
    return f"ref-{made.hexadecimal(canonical or shown)}"


_MAKERS: dict[str, Callable[[Pseudonyms, str, str], str]] = {
    "person": _person,
    "organisation": _organisation,
    "address": _address,
    "number": _number,
    "email": _email,
    "url": _url,
    "generic": _generic,
}


def _tokenwise(made: Pseudonyms, canonical: str, shown: str, kept: frozenset[str]) -> str:
    """Word by word in the form that stands in the text; in the value's own form if that one is no part of it."""
    own: list[str] = _TOKEN.findall(canonical)
    folded = {_fold(t) for t in own}
    initials = {_fold(t)[:1]: t for t in reversed(own) if _fold(t)}
    seen = _TOKEN.findall(shown)
    fits = all(_fold(t) in folded or _fold(t) in kept or (len(t) == 1 and _fold(t) in initials) for t in seen)
    text = shown if seen and (fits or not own) else canonical
    if not any(_fold(t) not in kept for t in _TOKEN.findall(text)):
        kept = frozenset()

    def replace(match: re.Match[str]) -> str:
        token = match[0]
        if token.isdecimal():
            return made.number(token)
        low = _fold(token)
        if low in kept:
            return token
        if len(token) == 1:
            return _cased(made.word(initials.get(low, token))[:1], token)
        if len(token) == 2 and token.isupper():  # a state or a country
            return made.word(token)[:2].upper()
        return _cased(made.word(token), token)

    return _TOKEN.sub(replace, text)


def tokens(text: str) -> list[str]:
    """The words and numbers of a text as they are told apart: letters and digits alone, in lower case."""
    return [_fold(token) for token in _TOKEN.findall(text)]


def _cased(word: str, like: str) -> str:
    """A word in the case of another: all capitals, all small, or a capital first."""
    if like.isupper() and len(like) > 1:
        return word.upper()
    return word.capitalize() if like[:1].isupper() else word


def _fold(token: str) -> str:
    return compact(fold(token)) or token.lower()


@cache
def _syllables() -> dict[str, list[str]]:
    lines = (_DATA / "names.txt").read_text(encoding="utf-8").splitlines()
    return {name: parts for name, *parts in (line.split() for line in lines if line and line[0] != "#")}


@cache
def _kept(kind: str) -> frozenset[str]:
    lines = (_DATA / "kept.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(word for line in lines if line.startswith(kind) for word in line.split()[1:])


def _spell(seed: bytes) -> str:
    """An invented word of two syllables: about 700,000 of them."""
    number, parts = int.from_bytes(seed[:16], "big"), _syllables()
    out = []
    for kind in ("onset", "vowel", "middle", "vowel", "ending"):
        number, at = divmod(number, len(parts[kind]))
        out.append(parts[kind][at])
    return "".join(out)


def _digits(seed: bytes, like: str) -> str:
    """As many digits as `like` has, the first one zero only if it was."""
    drawn = int.from_bytes(hmac.digest(seed, b"digits", "sha512"), "big")
    digits = f"{drawn:0160}"[-len(like) :].rjust(len(like), "7")
    if like[0] == "0":
        return "0" + digits[1:]
    return str(1 + drawn % 9) + digits[1:]
