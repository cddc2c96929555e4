"""Format-preserving encryption of values as they are written, and the way back.

The layout of a value is read, its signs are encrypted as one text or one number, and written into the same layout.
Where the result would be read otherwise (a month of one digit, a card whose check digit is right by chance) it is
encrypted again until it is not: cycle walking, which keeps the whole a permutation of the values of that layout.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from earwitness.audit.transform.ciphers import DIGITS, HEX, LEAST, LETTERS, Numbers, Small, Strings, join, longest, part
from earwitness.audit.transform.keys import Keys
from earwitness.audit.transform.layout import Layout, Reading, read, write
from earwitness.audit.transform.options import Options

ALPHABETS = {"0": DIGITS, "a": LETTERS, "f": HEX}
# More steps than any layout needs: the rarest are dates whose month and day have one digit each, one in five.
_WALKS = 2000


class Sealed(NamedTuple):
    """A ciphertext, and what is not as the cipher promises."""

    text: str
    exception: str | None


class Fpe:
    """Encrypts and decrypts values under one key.

    Args:
        keys: the key.
        options: cipher, check digits, years of dates.
    """

    def __init__(self, keys: Keys, options: Options) -> None:
        self.options = options
        key = keys.derive("fpe")
        self._strings, self._numbers = Strings(options.cipher, key), Numbers(Strings(options.cipher, key))
        # FF3-1 takes 96 bits twice at most; what is longer goes to FF1, and is recorded.
        self._long = Strings("FF1", key), Numbers(Strings("FF1", key))
        self._small = Small(keys.derive("fpe short domain"))
        self.encrypt = lru_cache(maxsize=200_000)(self._encrypt)

    def _encrypt(self, text: str, attribute: str | None, number: int = 0) -> Sealed | None:
        """The ciphertext of a value; None where it has no sign to encrypt or no other value has its layout.

        Args:
            text: the value as it is written.
            attribute: part of the tweak, as is
            number: which of several ciphertexts; 0 for the first, which needs no record to be decrypted.
        """
        return self._turn(text, attribute, number, back=False)

    def decrypt(self, text: str, attribute: str | None, number: int = 0) -> str | None:
        """The value of a ciphertext made under the same key, attribute, number and options; None for what is none."""
        turned = self._turn(text, attribute, number, back=True)
        return turned and turned.text

    def _turn(self, text: str, attribute: str | None, number: int, *, back: bool) -> Sealed | None:
        reading = read(text, self.options)
        if reading is None:
            return None
        layout, bound = reading.layout, domain(reading.layout)
        step, exception = self._step(layout, bound, _purpose(attribute, layout, number), back)
        for _ in range(_WALKS):
            reading = step(reading)
            written = write(layout, reading.signs, reading.number)
            if written is not None and read(written, self.options) == reading:
                return Sealed(written, exception) if written != text else None
        return None

    def _step(self, layout: Layout, bound: int, purpose: str, back: bool) -> tuple["Step", str | None]:
        """One step of the permutation for a layout, and the exception it means."""
        if bound < LEAST:
            return _by_number(layout, bound, purpose, self._small, back), "short_domain"
        radix = len(ALPHABETS[layout.classes[0]]) if layout.classes else 2
        uniform = layout.day is None and len(set(layout.classes)) == 1
        size = len(layout.classes) if uniform else math.ceil(math.log2(bound)) + 1
        fits = size <= longest(self.options.cipher, radix if uniform else 2)
        strings, numbers = (self._strings, self._numbers) if fits else self._long
        exception = None if fits else "long"
        if uniform:
            return _by_text(layout, purpose, strings, back), exception
        return _by_number(layout, bound, purpose, numbers, back), exception


Step = Callable[[Reading], Reading]


@lru_cache(maxsize=4096)
def domain(layout: Layout) -> int:
    """How many values the permutation of a layout is over."""
    return layout.day.bound if layout.day else math.prod(len(ALPHABETS[c]) for c in layout.classes)


def _purpose(attribute: str | None, layout: Layout, number: int) -> str:
    purpose = f"{(attribute or '').strip().lower()}/{layout.kind}"
    return f"{purpose}/again {number}" if number else purpose


def _by_text(layout: Layout, purpose: str, cipher: Strings, back: bool) -> Step:
    """Signs of one alphabet are encrypted as they are."""
    alphabet = ALPHABETS[layout.classes[0]]
    turn = cipher.decrypt if back else cipher.encrypt
    return lambda reading: Reading(layout, turn(purpose, alphabet, reading.signs))


def _by_number(layout: Layout, bound: int, purpose: str, cipher: Numbers | Small, back: bool) -> Step:
    """Signs of several alphabets, and dates, are encrypted as one number."""
    turn = cipher.decrypt if back else cipher.encrypt
    if layout.day:
        return lambda reading: Reading(layout, "", turn(purpose, bound, reading.number))
    alphabets = [ALPHABETS[c] for c in layout.classes]
    radices = [len(a) for a in alphabets]

    def step(reading: Reading) -> Reading:
        places = [a.index(sign) for a, sign in zip(alphabets, reading.signs, strict=True)]
        turned = part(turn(purpose, bound, join(places, radices)), radices)
        return Reading(layout, "".join(a[n] for a, n in zip(alphabets, turned, strict=True)))

    return step
