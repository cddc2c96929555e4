"""Baseline files: exposures that were looked at and accepted, known by keyed hashes of what was learned by whom.

Whoever reads the file learns attributes, recipients and channels, and no value: without the key a hash cannot be tried
against guesses, however few values there could be. Why it is so: docs/decisions/0019-baselines.md.
"""

import hmac
import os
from collections.abc import Iterable, Sequence
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
import polars as pl

from earwitness.audit.compare.sides import Side
from earwitness.audit.registry import KEY_VARIABLE
from earwitness.schema.case import Case
from earwitness.schema.errors import InputError
from earwitness.schema.words import Channel

FORMAT: Literal["earwitness.baseline/1"] = "earwitness.baseline/1"
_PURPOSE = b"earwitness baseline/1"
_SHORTEST_KEY = 16
# Cells a run is told apart by. Model and framework are not among them: what was accepted outlives an upgrade.
_RUN = ("scenario", "id", "arm", "topology", "adversary", "horizon", "pair")


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """An accepted exposure. `id` is the keyed hash of run, attribute, value and recipient; the rest is to be read."""

    id: str
    attribute: str
    channel: Channel
    recipient: str | None = None
    reason: str | None = None
    author: str | None = None
    added: date | None = None
    expires: date | None = None


class Baseline(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A baseline file. `key` tells which key it was written with, without telling the key."""

    format: Literal["earwitness.baseline/1"]
    key: str
    entries: tuple[Entry, ...]


class Applied(NamedTuple):
    """What a baseline makes of exposures.

    Attributes:
        known: row of the exposures to the entry that suppresses it.
        lapsed: row to the entry that would, had it not expired.
        stale: entries that match no unauthorised exposure any more.
        expired: entries past their day.
    """

    known: dict[int, Entry]
    lapsed: dict[int, Entry]
    stale: tuple[Entry, ...]
    expired: tuple[Entry, ...]


def read_baseline(path: Path) -> Baseline:
    """A baseline file.

    Raises:
        InputError: it cannot be read, or is no baseline; names the file and the place inside it.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=Baseline)
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read: {error.strerror}; write one with `earwitness baseline write`"
        ) from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a baseline file: {error}") from None


def write_baseline(path: Path, baseline: Baseline) -> None:
    """Write a baseline, sorted, so that what changes is what differs between two versions of the file."""
    entries = sorted(baseline.entries, key=lambda e: (e.attribute, e.recipient or "", e.channel, e.id))
    text = msgspec.json.format(msgspec.json.encode(msgspec.structs.replace(baseline, entries=tuple(entries))), indent=2)
    path.write_bytes(text + b"\n")


def keys(cases: Iterable[Case]) -> list[bytes]:
    """Keys a baseline may have been written with: of the environment, else of the cases."""
    given = os.environ.get(KEY_VARIABLE)
    found = [given] if given else [key for case in cases if (key := case.meta("key"))]
    return [hmac.new(key.encode(), _PURPOSE, sha256).digest() for key in found]


def writing_key(case: Case) -> bytes:
    """The key to write with.

    Raises:
        InputError: the key of the environment is so short that it could be guessed.
    """
    if 0 < len(os.environ.get(KEY_VARIABLE, "")) < _SHORTEST_KEY:
        raise InputError(f"{KEY_VARIABLE}: a key of fewer than {_SHORTEST_KEY} characters; try `openssl rand -hex 16`")
    return keys([case])[0]


def key_id(key: bytes) -> str:
    """Tells keys apart."""
    return hmac.new(key, b"id", sha256).hexdigest()[:12]


def fitting(baseline: Baseline, candidates: Sequence[bytes], path: Path) -> bytes:
    """The key a baseline was written with.

    Raises:
        InputError: it is none of these.
    """
    for key in candidates:
        if hmac.compare_digest(key_id(key), baseline.key):
            return key
    raise InputError(
        f"{path}: written with another key; set {KEY_VARIABLE} to the key it was written with, "
        "or compare with the case it was written from"
    )


def identified(case: Case, side: Side, exposures: pl.DataFrame, key: bytes) -> list[str]:
    """The id of each exposure under a key.

    Args:
        case: where the values stand.
        side: read from it.
        exposures: columns trace, value, attribute, recipient.
        key: of `keys`.
    """
    wanted = exposures["value"].unique().to_list()
    texts = dict(case.rows("SELECT value, text FROM vault WHERE value IN (SELECT unnest(?::BIGINT[]))", [wanted]))
    rows = exposures.select("trace", "value", "attribute", "recipient").join(
        side.runs.select("trace", *_RUN), on="trace", how="left", maintain_order="left"
    )
    return [
        _id(key, [*run, attribute, texts[value], recipient])
        for _, value, attribute, recipient, *run in rows.iter_rows()
    ]


def _id(key: bytes, parts: list[str | None]) -> str:
    # As JSON: no two different lists are the same bytes.
    return hmac.new(key, msgspec.json.encode(parts), sha256).hexdigest()[:32]


def apply(entries: Sequence[Entry], told: Sequence[tuple[str, frozenset[str]]], today: date) -> Applied:
    """Which exposures are suppressed.

    An exposure is suppressed if for each channel it came by there is an entry; one that came by another channel than
    was accepted is not.

    Args:
        entries: of a baseline.
        told: id and channels of each unauthorised exposure.
        today: entries whose `expires` is before this day suppress nothing.
    """
    by_place = {(e.id, str(e.channel)): e for e in entries}
    known: dict[int, Entry] = {}
    lapsed: dict[int, Entry] = {}
    for row, (name, channels) in enumerate(told):
        found = [by_place.get((name, c)) for c in sorted(channels)]
        matched = [e for e in found if e is not None]
        if len(matched) == len(found):
            late = [e for e in matched if _over(e, today)]
            (lapsed if late else known)[row] = (late or matched)[0]
    seen = {(name, c) for name, channels in told for c in channels}
    stale = tuple(e for place, e in by_place.items() if place not in seen)
    return Applied(known, lapsed, stale, tuple(e for e in entries if _over(e, today)))


def _over(entry: Entry, today: date) -> bool:
    return entry.expires is not None and entry.expires < today
