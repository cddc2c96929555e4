"""The key of all transforms: read from a file or the environment, one derived key for each purpose.

The key is held in memory only. It is in no case, no error and no representation of an object.
"""

import base64
import binascii
import hmac
import os
import secrets
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from earwitness.schema.errors import EarwitnessError

KEY_VARIABLE = "EARWITNESS_KEY"
BYTES = 32
_MAKE = "make one with: python -c 'import secrets; print(secrets.token_hex(32))'"
_NOTE = f"no key was given: pseudonyms and ciphertexts hold for this run only; set {KEY_VARIABLE} or give a key file"


class TransformKeyError(EarwitnessError):
    """A key that is missing where it was named, or is none. The message never holds it."""


class Keys:
    """A master key and what is derived from it.

    Args:
        master: 32 bytes.
        ephemeral: whether it was made for this run alone.
    """

    __slots__ = ("_for", "_master", "ephemeral")

    def __init__(self, master: bytes, *, ephemeral: bool = False) -> None:
        if len(master) != BYTES:
            raise TransformKeyError(f"a key has {BYTES} bytes, not {len(master)}: {_MAKE}")
        self._master, self.ephemeral = bytes(master), ephemeral
        self._for = lru_cache(maxsize=64)(self._derive)

    def __repr__(self) -> str:
        return f"Keys(ephemeral={self.ephemeral})"

    def __reduce__(self) -> str:
        raise TypeError("keys are not written anywhere: read them anew where they are needed")

    def derive(self, purpose: str) -> bytes:
        """The key of one purpose, 32 bytes, by HKDF-SHA256 (RFC 5869) with the purpose as its information."""
        return self._for(purpose)

    def _derive(self, purpose: str) -> bytes:
        return hkdf(self._master, b"earwitness transform", purpose.encode(), BYTES)

    @property
    def mark(self) -> str:
        """Eight hexadecimal digits that tell keys apart and nothing about them."""
        return self.derive("mark").hex()[:8]

    @property
    def note(self) -> str | None:
        """What a report should say of the key."""
        return _NOTE if self.ephemeral else None


def read_keys(path: Path | None = None) -> Keys:
    """The key from a file, else from the environment (`EARWITNESS_KEY`), else one for this run.

    Raises:
        TransformKeyError: what was named cannot be read or is not 32 bytes in hexadecimal or base64.
    """
    if path is not None:
        return Keys(_parse(_read(path), str(path)))
    told = os.environ.get(KEY_VARIABLE, "").strip()
    return Keys(_parse(told, KEY_VARIABLE)) if told else Keys(secrets.token_bytes(BYTES), ephemeral=True)


def hkdf(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    """HKDF with SHA-256, RFC 5869: extract, then expand."""
    extracted = hmac.digest(salt or bytes(32), secret, "sha256")
    block, out = b"", b""
    for n in range(1, -(-length // sha256().digest_size) + 1):
        block = hmac.digest(extracted, block + info + bytes([n]), "sha256")
        out += block
    return out[:length]


def _read(path: Path) -> str:
    try:
        return path.read_bytes()[:4096].decode("ascii").strip()
    except OSError as error:
        raise TransformKeyError(
            f"{path}: the key cannot be read: {error.strerror}; give the path of a key file"
        ) from None
    except UnicodeDecodeError:
        raise TransformKeyError(f"{path}: no key: {BYTES} bytes in hexadecimal or base64 are needed; {_MAKE}") from None


def _parse(text: str, place: str) -> bytes:
    """32 bytes out of 64 hexadecimal digits or 43 or 44 characters of base64, plain or URL-safe."""
    try:
        raw = bytes.fromhex(text) if len(text) == 2 * BYTES else _base64(text)
    except (ValueError, binascii.Error):
        raw = b""
    if len(raw) != BYTES:
        raise TransformKeyError(f"{place}: no key: {BYTES} bytes in hexadecimal or base64 are needed; {_MAKE}")
    return raw


def _base64(text: str) -> bytes:
    plain = text.rstrip("=").translate(str.maketrans("-_", "+/"))
    return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
