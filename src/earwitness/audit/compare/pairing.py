"""Which run of one side is held against which run of the other."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from earwitness.audit.compare.sides import CELLS, Side

KEY = ("scenario", "id")


@dataclass(frozen=True)
class Pairing:
    """How runs are paired.

    Attributes:
        columns: cells that both runs of a pair have in common, beside the scenario.
        differs: cells in which the sides have nothing in common, with what each says.
        keys: one frame a side: trace, key. Repeated runs share a key.
        pairs: keys that stand on every side.
        alone: runs of each side without partner.
    """

    columns: tuple[str, ...]
    differs: dict[str, list[list[str | None]]]
    keys: tuple[pl.DataFrame, ...]
    pairs: int
    alone: tuple[int, ...]


def pair(sides: Sequence[Side], without: Sequence[str] = ()) -> Pairing:
    """Pair runs by scenario (a run without one by its id) and by the cells the sides have in common.

    A cell in which no value stands on all sides is what is compared, or a change beside it: it parts no pairs and is
    told. Repeated runs of a cell are one unit, so that no order among them matters.

    Args:
        sides: two or more.
        without: columns that are compared and hence pair nothing.
    """
    said = {c: [set(s.runs[c].to_list()) for s in sides] for c in CELLS if c not in without}
    columns = tuple(c for c, sets in said.items() if set.intersection(*sets))
    differs = {c: [sorted(v, key=str) for v in sets] for c, sets in said.items() if not set.intersection(*sets)}
    key = pl.struct(*KEY, *columns).struct.json_encode().alias("key")
    keys = tuple(s.runs.select("trace", key) for s in sides)
    common = set.intersection(*(set(k["key"].to_list()) for k in keys))
    alone = tuple(int((~k["key"].is_in(list(common))).sum()) for k in keys)
    return Pairing(columns, differs, keys, len(common), alone)
