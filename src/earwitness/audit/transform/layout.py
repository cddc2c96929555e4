"""How a value is laid out: what of it is a digit or a letter to be encrypted, and what stays as it is.

Digits stay digits, letters stay letters of their case, hexadecimal stays hexadecimal, everything else stays. What is
read here can be written again with other signs; whoever encrypts sees to it that the result reads the same way, so
that a ciphertext alone says how it is to be decrypted.
"""

import re
import unicodedata
from typing import NamedTuple

from earwitness.audit.transform.days import Day, read_day, write_day
from earwitness.audit.transform.options import Options

# What says whose or which kind a value is, in front of it: MRN-, EMP-2024 (the first part), the prefixes of tokens.
_PREFIX = re.compile(
    r"(?:sk|pk|rk)[-_](?:(?:live|test|proj|ant)[-_])?|gh[opsur]_|github_pat_|glpat-|xox[abprs]-|hf_|npm_|pypi-|AKIA"
    r"|(?:[A-Z]{2,6}[-_:#/] ?){1,2}|\+[0-9]{1,3}(?=[ (.-])"
)
_OTHER = re.compile(r"[^0-9A-Za-z]+")
_HEX = re.compile(r"(?=.*[0-9])(?:(?=.*[a-f])[0-9a-f]{16,}|(?=.*[A-F])[0-9A-F]{16,})")
_NUMBER = re.compile(r"[-+]?[$€£¥ ]*[0-9][0-9.,' ]*[%€£$]?")
_IBAN = re.compile(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}")
_DIGITS, _LOWER, _UPPER = "0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_FRAME = str.maketrans(_DIGITS + _LOWER + _UPPER, "0" * 10 + "a" * 26 + "A" * 26)
_CLASSES = str.maketrans(_DIGITS + _LOWER, "0" * 10 + "a" * 26)
_MONTH = re.compile(r"(?:sept?\b|[0-9]{1,2}(?:st|nd|rd|th)? (?:of )?sept?\b)[-., /0-9a-z]*[0-9]{4}", re.IGNORECASE)
_CARD = range(13, 20)


class Layout(NamedTuple):
    """What of a value stays as it is.

    Attributes:
        kind: plain, hex, luhn, iban or date.
        prefix: written in front, unchanged.
        frame: the rest with its signs as 0, a, A (or the zero of another script).
        classes: class of each sign that is encrypted, 0 or a (f for hexadecimal).
        lead: whether a number begins with zero; None for what is none.
        day: how a date is written.
    """

    kind: str
    prefix: str = ""
    frame: str = ""
    classes: str = ""
    lead: bool | None = None
    day: Day | None = None


class Reading(NamedTuple):
    """A value taken apart: its layout, and its signs or, of a date, its number."""

    layout: Layout
    signs: str = ""
    number: int = 0


def read(text: str, options: Options) -> Reading | None:
    """A value taken apart; None where it holds nothing that can be encrypted, or signs that no cipher here knows."""
    if "0" <= text[-1:] <= "9" or text[:1].isdigit() or text[-1:] in "Zz":
        day = read_day(text, options)
        if day is not None:
            return Reading(Layout("date", day=day[0]), number=day[1])
        if _MONTH.fullmatch(text):  # a date that cannot be written again in its own way
            return None
    prefix = _prefix(text)
    rest = text[len(prefix) :]
    framed = _framed(rest)
    if framed is None:
        return None
    frame, written = framed
    if options.check_digits and not prefix:
        checked = _checked(frame, written)
        if checked:
            return checked
    return _plain(prefix, frame, written) if written else None


def write(layout: Layout, signs: str, number: int = 0) -> str | None:
    """The text of a layout and its signs; None where there is none, such as a month without a thirtieth day."""
    if layout.day is not None:
        return write_day(layout.day, number)
    if layout.kind == "luhn":
        signs += luhn_digit(signs)
    elif layout.kind == "iban":
        signs = iban_checked(layout.frame[:2], signs)
    return layout.prefix + _filled(layout.frame, signs, kept=2 if layout.kind == "iban" else 0)


def _prefix(text: str) -> str:
    """What stays in front: only where enough comes behind it."""
    match = _PREFIX.match(text)
    if not match:
        return ""
    rest = text[match.end() :]
    return match.group() if any(c.isdigit() for c in rest) or len(rest) >= 12 else ""


def _framed(rest: str) -> tuple[str, str] | None:
    """The frame of a text and its signs as ASCII; None for letters of other scripts."""
    if rest.isascii():
        return rest.translate(_FRAME), _OTHER.sub("", rest)
    frame, signs = [], []
    for c in rest:
        if c.isascii():
            frame.append(c.translate(_FRAME))
            if c.isalnum():
                signs.append(c)
        elif (digit := unicodedata.decimal(c, None)) is not None:
            frame.append(chr(ord(c) - digit))
            signs.append(str(digit))
        elif c.isalnum() or unicodedata.category(c).startswith("M"):
            return None
        else:
            frame.append(c)
    return "".join(frame), "".join(signs)


def _plain(prefix: str, frame: str, written: str) -> Reading:
    low = written.lower()
    if _HEX.fullmatch(written):
        case = "a" if written == low else "A"
        # A hexadecimal sign may become a digit or a letter: only its case and its place are kept.
        frame = frame.replace("0", case).replace("A" if case == "a" else "a", case)
        return Reading(Layout("hex", prefix, frame, "f" * len(low)), low)
    lead = low[0] == "0" if not prefix and _NUMBER.fullmatch(frame) else None
    return Reading(Layout("plain", prefix, frame, low.translate(_CLASSES), lead), low)


def _checked(frame: str, written: str) -> Reading | None:
    """A card number or an IBAN whose check digits are right."""
    if len(written) in _CARD and written.isdigit() and luhn_digit(written[:-1]) == written[-1]:
        return Reading(Layout("luhn", "", frame, "0" * (len(written) - 1), written[0] == "0"), written[:-1])
    if _IBAN.fullmatch(written) and frame.startswith("AA00") and _mod97(written[4:] + written[:4]) == 1:
        frame = written[:2] + frame[2:]
        payload = written[4:].lower()
        return Reading(Layout("iban", "", frame, payload.translate(_CLASSES)), payload)
    return None


def _filled(frame: str, signs: str, kept: int = 0) -> str:
    """A frame with its signs in their places, in the case of each place."""
    if frame.isdigit() and frame.isascii() and len(frame) == len(signs):
        return signs
    out, rest = [frame[:kept]], iter(signs)
    for c in frame[kept:]:
        if c == "A":
            out.append(next(rest).upper())
        elif c in "a0":
            out.append(next(rest))
        elif unicodedata.decimal(c, None) == 0:
            out.append(chr(ord(c) + int(next(rest))))
        else:
            out.append(c)
    return "".join(out)


def luhn_digit(payload: str) -> str:
    """The check digit of a card number, ISO/IEC 7812-1."""
    doubled = (int(c) * (2 - n % 2) for n, c in enumerate(reversed(payload)))
    return str(-sum(d - 9 if d > 9 else d for d in doubled) % 10)


def iban_checked(country: str, payload: str) -> str:
    """The signs of an IBAN behind its country: two check digits, ISO 13616, and the account."""
    account = payload.upper()
    return f"{98 - _mod97(account + country + '00'):02}{account.lower()}"


def _mod97(text: str) -> int:
    return int("".join(str(int(c, 36)) for c in text)) % 97
