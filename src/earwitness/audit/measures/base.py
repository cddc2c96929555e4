"""What a measure is: units, each of which has it or not, counted by cell in one SQL statement that stands alone."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from textwrap import dedent, indent
from typing import Literal

from earwitness.audit.measures.facts import ATTRIBUTE, REPEAT, TRACE_CELLS, fact
from earwitness.audit.relays import RELAYS
from earwitness.schema.errors import InputError

Kind = Literal["share", "part", "mean"]

PAPER = "Ogundoyin and Ikram 2026"  # "When Agents Talk, Secrets Travel", arXiv 2610.16039
AGENTLEAK = "El Yagoubi et al. 2026"  # "AgentLeak", IEEE Access 14


@dataclass(frozen=True)
class Measure:
    """A measure.

    Attributes:
        name: how it is asked for.
        title: what k counts.
        source: where the definition is from.
        units: a query with one row a unit: its cells, and `hit`. It may read `fact`, and `relay` if it says so.
        splits: cells by which it is counted, one grouping each, unless others are asked for.
        keep: cells that always stand apart, since units of different ones are not to be added.
        cells: further cells it may be counted by, beside those of the trace.
        kind: `share`: k units have it, of n. `part`: k units of this cell, of n in all. `mean`: k in n units together.
        asked: counted only when asked for; the audit leaves it out.
        relays: whether `units` reads `relay`.
        needs: what a record must hold for it, if not every record does.
    """

    name: str
    title: str
    source: str
    units: str
    splits: tuple[tuple[str, ...], ...] = ((),)
    keep: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()
    kind: Kind = "share"
    asked: bool = False
    relays: bool = False
    needs: str = ""

    @property
    def formula(self) -> str:
        """What is divided by what, in words of SQL."""
        return _FORMULAS[self.kind]


_FORMULAS: dict[Kind, str] = {
    "share": "k = units with `hit`, n = units; Wilson interval of k / n",
    "part": "k = units of the cell, n = units of all its cells; Wilson interval of k / n",
    "mean": "k = sum of `hit`, n = units; bootstrap interval of the mean k / n",
}
_COUNTS: dict[Kind, str] = {
    "share": "SELECT {cells}count(*) FILTER (hit) AS k, count(*) AS n\nFROM (\n{units}\n){group}",
    "part": "SELECT {cells}k, sum(k) OVER ({whole})::BIGINT AS n\n"
    "FROM (SELECT {cells}count(*) AS k FROM (\n{units}\n){group})",
    "mean": "SELECT {cells}sum(hit)::BIGINT AS k, count(*) AS n, map_entries(histogram(hit)) AS spread\n"
    "FROM (\n{units}\n){group}",
}


def cells_of(one: Measure, by: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """The groupings of a measure: its own, or the one asked for; what always stands apart is added.

    Raises:
        InputError: a cell it cannot be counted by.
    """
    wrong = [name for name in by if not fits(one, (name,))]
    if wrong:
        known = ", ".join((*one.cells, *one.keep, *TRACE_CELLS, REPEAT))
        raise InputError(f"{one.name} cannot be counted by {wrong[0]!r}; it can by {known}, attributes.KEY")
    return tuple(_ordered(split, one.keep) for split in ((tuple(by),) if by else one.splits))


def fits(one: Measure, by: Iterable[str]) -> bool:
    """Whether a measure can be counted by these cells."""
    known = {*one.cells, *one.keep, *TRACE_CELLS, REPEAT}
    return all(name in known or (name.startswith(ATTRIBUTE) and name != ATTRIBUTE) for name in by)


def _ordered(split: Iterable[str], keep: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*split, *keep)))


def counted(one: Measure, cells: Sequence[str]) -> str:
    """SQL: the counts of a measure by cell, over `fact` (and `relay`)."""
    names = [quoted(c) for c in cells]
    whole = [quoted(c) for c in cells if c not in one.keep]
    return _COUNTS[one.kind].format(
        cells="".join(f"{n}, " for n in names),
        units=indent(dedent(one.units).strip("\n"), "    "),
        group=f" GROUP BY {', '.join(names)}" if names else "",
        whole=f"PARTITION BY {', '.join(whole)}" if whole else "",
    )


def statement(one: Measure, cells: Sequence[str]) -> str:
    """SQL that gives the figures of a measure and needs nothing but the case."""
    parts = [f"fact AS (\n{indent(dedent(fact(cells)).strip(), '    ')}\n)"]
    if one.relays:
        parts.append(f"relay AS (\n{indent(dedent(RELAYS).strip(), '    ')}\n)")
    return (
        f"WITH {', '.join(parts)}\nSELECT * FROM (\n{indent(counted(one, cells), '    ')}\n)\nWHERE n > 0 ORDER BY ALL"
    )


def quoted(name: str) -> str:
    """A name as SQL writes it; plain ones as they are."""
    return name if name.isidentifier() else '"' + name.replace('"', '""') + '"'
