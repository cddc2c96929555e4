"""What an input may cost. Everything beyond is reported as an outcome, never a crash."""

from dataclasses import dataclass

MIB = 1 << 20
# What the owner of a value can do that is over the limit and cannot be read in pieces.
CURE = "; export it as JSON lines, or split it"


@dataclass(frozen=True)
class Limits:
    """Bounds on one input.

    Attributes:
        block: bytes decoded at a time.
        line: largest line or single JSON value that is decoded as a whole, in bytes.
        whole: a larger JSON value is read in pieces, where its format allows that.
        piece: bytes of such a value that are decoded at a time; a smaller array is not cut.
        expand_free: decompressed bytes that are never questioned.
        expand_ratio: beyond `expand_free`, decompressed over compressed bytes that is taken for a bomb.
        nesting: archives within archives.
    """

    block: int = 16 * MIB
    line: int = 256 * MIB
    whole: int = 16 * MIB
    piece: int = MIB
    expand_free: int = 64 * MIB
    expand_ratio: int = 300
    nesting: int = 3


DEFAULT_LIMITS = Limits()
