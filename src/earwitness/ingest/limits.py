"""What an input may cost. Everything beyond is reported as an outcome, never a crash."""

from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True)
class Limits:
    """Bounds on one input.

    Attributes:
        block: bytes decoded at a time.
        line: largest line or single JSON value, in bytes.
        expand_free: decompressed bytes that are never questioned.
        expand_ratio: beyond `expand_free`, decompressed over compressed bytes that is taken for a bomb.
        nesting: archives within archives.
    """

    block: int = 16 * MIB
    line: int = 256 * MIB
    expand_free: int = 64 * MIB
    expand_ratio: int = 300
    nesting: int = 3


DEFAULT_LIMITS = Limits()
