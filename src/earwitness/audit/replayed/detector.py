"""The replayed detector over a case: recognizers, names if asked for, and what either found looked for in its own run.

It fills `detections` with what a sanitizer could have found at run time. Neither the vault nor any label is read.
"""

import msgspec
import polars as pl
import pyarrow as pa

from earwitness.audit.ner import NameFinder
from earwitness.audit.recognizers.registry import find_recognizers
from earwitness.audit.replayed import runlocal
from earwitness.audit.replayed.bulk import recognize
from earwitness.audit.replayed.reading import contents
from earwitness.audit.replayed.subjects import with_subjects
from earwitness.schema.case import Case
from earwitness.schema.progress import Progress, silent


def replayed(case: Case, ner: bool = False, progress: Progress = silent) -> int:
    """Fill `detections`; gives their number. Where neither contents nor the way to look have changed, nothing is done.

    Args:
        case: after import.
        ner: look for names of persons and places with the model of the extra `[ner]`, too.
        progress: told how many bytes were looked at.

    Raises:
        MissingExtraError: names were asked for and the extra is not installed; nothing has been changed.
    """
    names = NameFinder() if ner else None
    state = _state(case, names)
    if case.meta("replayed") == state:
        return case.count("detections")
    with case.transaction():
        case.clear("detections")
        for ids, texts, base in contents(case, "true", "looking for what looks like a secret", progress):
            _store(case, ids, recognize(texts), base, tier=1)
            if names:
                _store(case, ids, names.find(texts), base, tier=2)
        runlocal.search(case, progress)
        case.set_meta("replayed", state)
    return case.count("detections")


def looked_for_names(case: Case) -> bool:
    """Whether the last look was for names of persons and places, too."""
    return bool(msgspec.json.decode(case.meta("replayed") or "{}").get("ner"))


def _state(case: Case, names: NameFinder | None) -> str:
    """What was looked at, and with what."""
    sizes = [case.count(t) for t in ("contents", "events", "sightings", "sources")]
    recognizers = [r.name for r in find_recognizers()]
    return msgspec.json.encode({"recognizers": recognizers, "ner": names and names.model, "sizes": sizes}).decode()


def _store(case: Case, ids: pa.Array, found: pl.DataFrame, base: int, tier: int) -> None:
    placed = with_subjects(found).with_columns(pl.col("start") + base, pl.col("stop") + base)
    rows = placed.to_arrow()
    columns = {name: rows.column(name) for name in rows.column_names if name != "row"}
    columns |= {"content": ids.take(rows.column("row")), "tier": pa.array([tier] * rows.num_rows, pa.int32())}
    case.insert("detections", pa.table(columns))
