"""Puts outcomes into texts: tasks are widened, merged where they overlap, and carried out in one pass.

Of overlapping tasks the strongest action wins, over the whole that they cover:
block > redact > rewrite > pseudonym > fpe > mldp > allow. An allowed span widens nothing.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from earwitness.audit.transform.shapes import Shape, Spot, look
from earwitness.audit.transform.toolkit import Maker, redacted
from earwitness.audit.transform.words import BLOCKED, STRENGTH, Changed, Outcome, Piece, Task

if TYPE_CHECKING:
    import polars as pl

_DETERMINER = re.compile(r"\b(?:an?|the|his|her|its|my|our|your|their|this|that|no|any) \Z", re.IGNORECASE)
COLUMNS = ("row", *Task._fields)


class _Group(NamedTuple):
    """Tasks that are answered together."""

    start: int
    stop: int
    task: Task
    tasks: tuple[int, ...]


def transform(text: str, tasks: Sequence[Task], kit: Maker) -> Changed:
    """A text after its tasks, and what stands for each.

    Args:
        text: a content.
        tasks: in any order; spans are clipped to the text, empty ones are left out.
        kit: what carries them out.
    """
    blocking = next((t for t in tasks if t.action == "block"), None)
    if blocking:
        return _blocked(text, len(tasks))
    if not tasks:
        return Changed(text, ())
    shape = look(text)
    groups = _merged(text, _widened(shape, tasks))
    out, pieces, at, length, keys = [], [], 0, 0, 0
    for group in groups:
        for spot in shape.spots(group.start, group.stop):
            made = _outcome(shape, group.task, spot, kit)
            if spot.key and made.done == "redact":
                keys += 1
                made = _key(made, keys)
            if made.done == "rewrite":
                made = _articled(made, text, spot.start)
            length += spot.start - at
            pieces.append(_piece(group, spot, made, length))
            out += [text[at : spot.start], made.text]
            at, length = spot.stop, length + len(made.text)
    out.append(text[at:])
    return Changed("".join(out), tuple(pieces))


def transform_many(texts: Iterable[str | None], tasks: "pl.DataFrame", kit: Maker) -> "pl.DataFrame":
    """A column of texts after their tasks.

    Args:
        texts: Polars or Arrow strings; NULL stays NULL.
        tasks: columns row (number of the text) and the fields of `Task`.
        kit: what carries them out; a distinct value is transformed once.

    Returns:
        One row a text that has tasks, by number: row, text, pieces (a list of structs with the fields of `Piece`; its
        `tasks` are numbers among those of the row, in the order of the frame).
    """
    import polars as pl

    column = _series(texts)
    ordered = tasks.select(COLUMNS).sort("row", maintain_order=True)
    rows, changed = [], []
    asked = list(map(Task._make, zip(*(ordered[c].to_list() for c in Task._fields), strict=True)))
    lengths = ordered["row"].rle().struct.unnest() if asked else pl.DataFrame({"len": [], "value": []})
    at = 0
    for text, row, count in zip(_gathered(column, lengths), lengths["value"], lengths["len"], strict=True):
        if text is not None:
            rows.append(row)
            changed.append(transform(text, asked[at : at + count], kit))
        at += count
    return _frame(rows, changed)


def _gathered(column: "pl.Series", runs: "pl.DataFrame") -> list[str | None]:
    """The texts of the rows that have tasks."""
    texts: list[str | None] = column.gather(runs["value"].cast(int)).to_list()
    return texts


def _frame(rows: list[int], changed: list[Changed]) -> "pl.DataFrame":
    """Texts and their pieces as a frame; pieces are laid out by column, a struct at a time would take far longer."""
    import polars as pl
    import pyarrow as pa

    flat = [piece for one in changed for piece in one.pieces]
    schema = _piece_schema()
    columns: dict[str, Any] = dict(zip(schema, zip(*flat, strict=True), strict=True)) if flat else {}
    if flat:
        columns["tasks"] = pl.from_arrow(pa.array(columns["tasks"], pa.list_(pa.int64())))
    pieces = pl.DataFrame(columns, schema).to_struct("pieces")
    owner = [row for row, one in zip(rows, changed, strict=True) for _ in one.pieces]
    lists = pl.DataFrame({"row": pl.Series(owner, dtype=pl.Int64), "pieces": pieces})
    lists = lists.group_by("row", maintain_order=True).agg("pieces")
    texts = pl.DataFrame({"row": rows, "text": [one.text for one in changed]}, {"row": pl.Int64, "text": pl.String})
    return texts.join(lists, on="row", how="left", maintain_order="left")


def _series(texts: Iterable[str | None]) -> "pl.Series":
    import polars as pl

    return texts if isinstance(texts, pl.Series) else pl.Series(texts, dtype=pl.String)


def _piece_schema() -> dict[str, Any]:
    import polars as pl

    kinds = {str: pl.String, int: pl.Int64, bool: pl.Boolean, str | None: pl.String}
    return {name: kinds.get(kind, pl.List(pl.Int64)) for name, kind in Piece.__annotations__.items()}


def _blocked(text: str, count: int) -> Changed:
    """The fixed notice instead of the whole content; a JSON document becomes a JSON string."""
    notice = f'"{BLOCKED}"' if look(text).starts is not None else BLOCKED
    return Changed(notice, (Piece(0, len(notice), "block", "block", tasks=tuple(range(count))),))


def _widened(shape: Shape, tasks: Sequence[Task]) -> list[_Group]:
    """Tasks with spans that cut nothing, those that stay in the text."""
    groups = []
    for number, task in enumerate(tasks):
        start, stop = max(task.start, 0), min(task.stop, len(shape.text))
        if start < stop:
            if task.action != "allow":
                start, stop = shape.widen(start, stop)
            groups.append(_Group(start, stop, task, (number,)))
    return groups


def _merged(text: str, groups: list[_Group]) -> list[_Group]:
    """Groups in order, those that overlap as one."""
    firm = _joined(text, [g for g in groups if g.task.action != "allow"])
    loose = [g for g in groups if g.task.action == "allow"]
    if not loose:
        return firm
    stops = [g.stop for g in firm]
    free = []
    for group in loose:
        over = bisect_right(stops, group.start)
        if over < len(firm) and firm[over].start < group.stop:
            firm[over] = firm[over]._replace(tasks=tuple(sorted((*firm[over].tasks, *group.tasks))))
        else:
            free.append(group)
    return sorted(firm + _joined(text, free), key=lambda g: g.start)


def _joined(text: str, groups: list[_Group]) -> list[_Group]:
    joined: list[_Group] = []
    for group in sorted(groups, key=lambda g: (g.start, -g.stop)):
        if joined and group.start < joined[-1].stop:
            joined[-1] = _union(text, joined[-1], group)
        else:
            joined.append(group)
    return joined


def _union(text: str, one: _Group, other: _Group) -> _Group:
    """Two groups as one: the stronger action over both; the value is that of the one that covers both."""
    start, stop = one.start, max(one.stop, other.stop)
    # Of equals the one whose attribute is known: tweaks depend on it.
    strong = max(one, other, key=lambda g: (STRENGTH[g.task.action], g.task.attribute is not None))
    wide = next((g for g in (strong, one, other) if (g.start, g.stop) == (start, stop)), None)
    if wide is None:
        task = strong.task._replace(canonical=text[start:stop])
    else:
        task = wide.task._replace(action=strong.task.action)
    return _Group(start, stop, task, tuple(sorted((*one.tasks, *other.tasks))))


def _outcome(shape: Shape, task: Task, spot: Spot, kit: Maker) -> Outcome:
    """What stands in a spot; of a span over several JSON tokens each is redacted."""
    if task.action == "allow":
        return Outcome(shape.text[spot.start : spot.stop], "allow", tries=0)
    if spot.torn:
        return redacted(spot.kind)._replace(exception="structure")
    if spot.key and task.action == "rewrite":  # nobody need be asked
        return redacted(spot.kind, "key")
    return kit.outcome(shape.text[spot.start : spot.stop], task, spot)


def _articled(made: Outcome, text: str, start: int) -> Outcome:
    """A rewriting without its article where one, or another determiner, stands before."""
    article, _, rest = made.text.partition(" ")
    if rest and article in ("a", "an", "the") and _DETERMINER.search(text, max(0, start - 8), start):
        return made._replace(text=rest)
    return made


def _key(made: Outcome, number: int) -> Outcome:
    """What stands in the key of an object: numbered, so that no two keys become one."""
    mark = redacted("string", made.cause, made.tries)
    return mark._replace(text=f"{mark.text[:-1]}-{number}]", exception=made.exception)


def _piece(group: _Group, spot: Spot, made: Outcome, start: int) -> Piece:
    exception, cause = made.exception, made.cause
    stop = start + len(made.text)
    return Piece(start, stop, group.task.action, made.done, exception, cause, made.tries, made.reversible, group.tasks)
