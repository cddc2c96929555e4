"""Writes a baseline file: what stands in a case, in words that may be shown."""

import os
from datetime import date
from pathlib import Path
from typing import NamedTuple

import polars as pl

from earwitness.audit.compare.baselines import (
    FORMAT,
    Baseline,
    Entry,
    fitting,
    identified,
    key_id,
    read_baseline,
    write_baseline,
    writing_key,
)
from earwitness.audit.compare.sides import read_side
from earwitness.audit.registry import KEY_VARIABLE
from earwitness.reports.mask import Mask
from earwitness.schema.case import Case


class Terms(NamedTuple):
    """On which terms exposures are accepted."""

    reason: str | None = None
    author: str | None = None
    added: date | None = None
    expires: date | None = None


class Written(NamedTuple):
    """Entries by what became of them; whether the key is one that other cases can share."""

    added: int
    kept: int
    stale: int
    shared: bool


def accept(case: Case, path: Path, terms: Terms) -> Written:
    """Write the unauthorised exposures of a case into a baseline file, or bring the file up to date.

    Raises:
        InputError: the file is no baseline, or was written with another key.
    """
    key = writing_key(case)
    before: dict[tuple[str, str], Entry] = {}
    if path.exists():
        old = read_baseline(path)
        fitting(old, [key], path)
        before = {(e.id, e.channel): e for e in old.entries}
    now = _entries(case, key, terms)
    entries = tuple(before.get(place, entry) for place, entry in now.items())
    write_baseline(path, Baseline(format=FORMAT, key=key_id(key), entries=entries))
    kept = len(now.keys() & before.keys())
    return Written(len(now) - kept, kept, len(before) - kept, bool(os.environ.get(KEY_VARIABLE)))


def _entries(case: Case, key: bytes, terms: Terms) -> dict[tuple[str, str], Entry]:
    side, mask = read_side(case, "", "baseline"), Mask(case)
    rows = side.exposures.filter(pl.col("authorised").eq_missing(False))
    told = zip(
        identified(case, side, rows, key), rows.select("attribute", "recipient", "channel").iter_rows(), strict=True
    )
    return {
        (name, channel): Entry(
            id=name,
            attribute=mask(attribute),
            recipient=None if recipient is None else mask(recipient),
            channel=channel,
            **terms._asdict(),
        )
        for name, (attribute, recipient, channel) in told
    }
