"""Permutations of numbers below a bound, by key and tweak: FF1, FF3-1, and one for domains too small for either.

FF1 is that of NIST SP 800-38G; FF3-1 that of the first draft of its revision, which the second one drops. Both demand
a domain of 1,000,000 at least. Below it a cipher cannot hide a value from somebody who tries them all with an oracle;
`Small` then permutes the domain by a keyed shuffle. That is reversible and as good as a secret table, no better:
whoever learns a pair knows that entry of the table, and equal values stay equal.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import sha256, shake_256
from threading import Lock
from types import ModuleType

import numpy as np
import numpy.typing as npt

from earwitness.audit.transform.options import Cipher

Step = Callable[[str, str, str], str]
LEAST = 1_000_000
DIGITS, LETTERS, HEX = "0123456789", "abcdefghijklmnopqrstuvwxyz", "0123456789abcdef"
_SIGNS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_TWEAK_BYTES = {"FF1": 8, "FF3-1": 7}


@lru_cache(maxsize=2)
def _module(cipher: Cipher) -> ModuleType:
    from importlib import import_module

    return import_module("fastfpe.ff1" if cipher == "FF1" else "fastfpe.ff3_1")


@lru_cache(maxsize=4096)
def tweak(cipher: Cipher, purpose: str) -> str:
    """The tweak of a purpose (attribute and kind), in hexadecimal: 8 bytes for FF1, 7 for FF3-1."""
    return sha256(purpose.encode("utf-8", "surrogatepass")).hexdigest()[: 2 * _TWEAK_BYTES[cipher]]


@lru_cache(maxsize=64)
def longest(cipher: Cipher, radix: int) -> int:
    """Most characters of a text: FF3-1 takes twice as many as fit into 96 bits."""
    return 2 * int(96 / math.log2(radix) + 1e-9) if cipher == "FF3-1" else 1 << 20


class Strings:
    """A cipher over the texts of one alphabet, whole: of one key, with a tweak for each purpose."""

    def __init__(self, cipher: Cipher, key: bytes) -> None:
        self.cipher, self._key, self._module = cipher, key.hex(), _module(cipher)

    def __repr__(self) -> str:
        return f"Strings({self.cipher})"

    def encrypt(self, purpose: str, alphabet: str, text: str) -> str:
        """The ciphertext; the text is of the alphabet, and `len(alphabet) ** len(text)` is `LEAST` at least."""
        done: str = self._module.encrypt(self._key, tweak(self.cipher, purpose), alphabet, text)
        return done

    def decrypt(self, purpose: str, alphabet: str, text: str) -> str:
        """The text of a ciphertext."""
        done: str = self._module.decrypt(self._key, tweak(self.cipher, purpose), alphabet, text)
        return done


class Numbers:
    """The same cipher over the numbers below any bound: in a base that leaves little over, then cycle-walked."""

    def __init__(self, strings: Strings) -> None:
        self._strings = strings

    def encrypt(self, purpose: str, bound: int, number: int) -> int:
        """The number that stands for `number`; both below `bound`, which is `LEAST` at least."""
        return self._walk(self._strings.encrypt, purpose, bound, number)

    def decrypt(self, purpose: str, bound: int, number: int) -> int:
        """The number that `number` stands for."""
        return self._walk(self._strings.decrypt, purpose, bound, number)

    def _walk(self, step: Step, purpose: str, bound: int, number: int) -> int:
        radix, length = base_for(bound)
        alphabet, purpose = _SIGNS[:radix], f"{purpose}/{bound}"
        if length > longest(self._strings.cipher, radix):
            raise ValueError("too long for this cipher")
        while True:
            number = read_number(step(purpose, alphabet, write_number(number, radix, length)), radix)
            if number < bound:
                return number


class Small:
    """A keyed permutation of a small domain, one cycle through all of it: no value stands for itself."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def __repr__(self) -> str:
        return "Small()"

    def encrypt(self, purpose: str, bound: int, number: int) -> int:
        """The number that stands for `number`; both below `bound`."""
        order, rank = self._tables(purpose, bound)
        return int(order[(int(rank[number]) + 1) % bound])

    def decrypt(self, purpose: str, bound: int, number: int) -> int:
        """The number that `number` stands for."""
        order, rank = self._tables(purpose, bound)
        return int(order[(int(rank[number]) - 1) % bound])

    def _tables(self, purpose: str, bound: int) -> "Permutation":
        seed = self._key + purpose.encode("utf-8", "surrogatepass") + b"/" + str(bound).encode()
        name = sha256(seed).digest()
        found = _KEPT.get(name)
        return _keep(name, _permutation(seed, bound)) if found is None else found


Permutation = tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]
# Permutations by the hash of what they are made from, for all that use one key: no more than so many numbers.
_KEPT: dict[bytes, Permutation] = {}
_MOST_KEPT = 6_000_000
_KEEPING = Lock()


def _keep(name: bytes, made: Permutation) -> Permutation:
    """Keep a permutation; those that were made first make room, all but itself."""
    with _KEEPING:
        _KEPT[name] = made
        while len(_KEPT) > 1 and sum(len(rank) for _, rank in _KEPT.values()) > _MOST_KEPT:
            del _KEPT[next(iter(_KEPT))]
    return made


def _permutation(seed: bytes, bound: int) -> Permutation:
    """All numbers in the order of a keyed pseudorandom stream, and the place of each."""
    drawn = np.frombuffer(shake_256(seed).digest(8 * bound), "<u8")
    # With the number in the low bits, sorting the draws themselves gives the order, and that is ten times as fast.
    low = np.uint64((1 << (bound - 1).bit_length()) - 1)
    order = (np.sort((drawn & ~low) | np.arange(bound, dtype=np.uint64)) & low).astype(np.uint32)
    rank = np.empty(bound, np.uint32)
    rank[order] = np.arange(bound, dtype=np.uint32)
    return order, rank


@lru_cache(maxsize=4096)
def base_for(bound: int) -> tuple[int, int]:
    """Radix and length of the texts that hold the numbers below `bound` with the fewest left over."""
    bits = (bound - 1).bit_length()
    fits = ((radix, _length(bound, radix)) for radix in range(2, min(len(_SIGNS), 1 << max(bits // 2, 1)) + 1))
    if bits > 1024:  # what is left over is at most one sign, and a search would take longer than it saves
        return 2, bits
    return min(fits, key=lambda fit: (fit[0] ** fit[1], fit[1]))


def _length(bound: int, radix: int) -> int:
    length = max(int((bound - 1).bit_length() / math.log2(radix)), 2)
    while radix**length < bound:
        length += 1
    return length


def write_number(number: int, radix: int, length: int) -> str:
    """A number in a radix up to 62, with leading zeros."""
    signs = []
    for _ in range(length):
        number, rest = divmod(number, radix)
        signs.append(_SIGNS[rest])
    return "".join(reversed(signs))


def read_number(text: str, radix: int) -> int:
    """The number that `write_number` wrote."""
    if radix <= 36:
        return int(text, radix)
    number = 0
    for sign in text:
        number = number * radix + _SIGNS.index(sign)
    return number


def join(places: Sequence[int], radices: Sequence[int]) -> int:
    """One number out of places of their own radix each."""
    number = 0
    for place, radix in zip(places, radices, strict=True):
        number = number * radix + place
    return number


def part(number: int, radices: Sequence[int]) -> list[int]:
    """The places of a number that `join` made."""
    places = []
    for radix in reversed(radices):
        number, place = divmod(number, radix)
        places.append(place)
    return places[::-1]
