"""What is looked for: contextual values and their aliases, each with its stems and the group it may be found in.

A group is a scope: a trace, a scenario or the whole case. Contents belong to groups, entries belong to groups, and
an entry is only compared with contents of its group.
"""

from typing import NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa

from earwitness.audit.semantic.sentences import read
from earwitness.audit.semantic.stems import stem
from earwitness.audit.semantic.words import Ints, Vocabulary, distinct, split
from earwitness.schema.case import Case

# Kinds of wordings: the value itself, an alias, one sentence of either.
ITSELF, ALIAS, PART = 0, 1, 2
# Fewer words than this, or fewer content words, and without another wording: a name, not a fact to compare.
# A list is looked for item by item, by the tier before.
FEWEST, FEWEST_TOLD = 3, 2

_SCOPED = """scope, CASE scope WHEN 'trace' THEN trace END AS trace,
           CASE scope WHEN 'scenario' THEN scenario END AS scenario"""
_CHOSEN = f"""
    SELECT value, text, {ITSELF} AS alias, {_SCOPED} FROM vault WHERE value_type = 'contextual'
    UNION ALL
    SELECT value, unnest(aliases), {ALIAS}, {_SCOPED} FROM vault WHERE value_type = 'contextual'
"""
# Of a value of several sentences each that says so much is looked for by itself: it may be told alone.
FEWEST_PART = 4
# Groups are numbered from 0 on; `semantic_groups` says which scope each is.
_GROUPS = """
    CREATE OR REPLACE TEMP TABLE semantic_groups AS
    SELECT row_number() OVER () - 1 AS grp, * FROM (
        SELECT DISTINCT scope, trace, scenario FROM semantic_entries)
"""
_NUMBERED = """
    SELECT e.entry, g.grp FROM semantic_entries e JOIN semantic_groups g
    ON e.scope = g.scope AND e.trace IS NOT DISTINCT FROM g.trace AND e.scenario IS NOT DISTINCT FROM g.scenario
    ORDER BY e.entry
"""


class Entries(NamedTuple):
    """Wordings of contextual values.

    Attributes:
        values: the value each stands for.
        groups: the group it is looked for in.
        texts: the wording.
        of_stem: for each stem of each entry, the entry.
        stems: and the stem, each once an entry.
        vocabulary: what the numbers of stems mean.
    """

    values: Ints
    groups: Ints
    texts: list[str]
    of_stem: Ints
    stems: Ints
    vocabulary: Vocabulary


def load(case: Case) -> Entries | None:
    """The entries of a case, None where there are none; leaves the table `semantic_groups` in the case."""
    if not case.one("SELECT count(*) FROM vault WHERE value_type = 'contextual'"):
        return None
    frame = _with_parts(case.frame(_CHOSEN).filter(pl.col("text").str.strip_chars() != ""))
    vocabulary = Vocabulary()
    of_stem, stems = _stems(frame["text"], vocabulary)
    frame = frame.with_columns(
        pl.Series("told", np.bincount(of_stem, minlength=len(frame))),
        pl.col("text").str.count_matches(r"[^\s]+").alias("words"),
        pl.col("text").str.contains(r"^\s*[\[{(]").alias("listed"),
    )
    fact = (pl.col("words").first() >= FEWEST) & (pl.col("told").first() >= FEWEST_TOLD) & ~pl.col("listed").first()
    enough = fact | (pl.col("alias") == ALIAS).any()
    kept = frame.select(enough.over("value") & (pl.col("told") > 0)).to_series().to_numpy()
    if not kept.any():
        return None
    number = np.cumsum(kept) - 1
    inside = kept[of_stem]
    frame = frame.filter(pl.Series(kept))
    groups = _groups(case, frame)
    values = frame["value"].to_numpy()
    return Entries(values, groups, frame["text"].to_list(), number[of_stem[inside]], stems[inside], vocabulary)


def _with_parts(frame: pl.DataFrame) -> pl.DataFrame:
    """Wordings, and the sentences of those that have several."""
    sentences = read(frame["text"].to_arrow().cast(pa.large_string()))
    content = np.array([stem(w) is not None for w in sentences.words.distinct], np.bool_)
    told = np.bincount(sentences.of_word[content[sentences.words.kind]], minlength=len(sentences.rows))
    several = np.bincount(sentences.rows, minlength=len(frame))[sentences.rows] > 1
    chosen = np.flatnonzero(several & (told >= FEWEST_PART))
    parts = frame[sentences.rows[chosen]].with_columns(
        pl.Series("text", [sentences.text(n) for n in chosen.tolist()], pl.String),
        pl.lit(PART, frame.schema["alias"]).alias("alias"),
    )
    return pl.concat([frame, parts]).sort("value", "alias", "text")


def _stems(texts: pl.Series, vocabulary: Vocabulary) -> tuple[Ints, Ints]:
    """Text and stem of every word that has one, each stem once a text, in order of texts."""
    raw = [t.encode("utf-8", "replace") for t in texts]
    bounds = np.cumsum([0, *(len(r) + 1 for r in raw)])
    words = split(np.frombuffer(b" ".join(raw) + b" ", np.uint8))
    rows = np.searchsorted(bounds, words.starts, side="right") - 1
    stems = np.array(vocabulary.learn(words.distinct), np.int64)[words.kind]
    kept = stems >= 0
    size = max(len(vocabulary.stems), 1)
    pairs = distinct(rows[kept] * size + stems[kept])
    return pairs // size, pairs % size


def _groups(case: Case, frame: pl.DataFrame) -> Ints:
    entries = frame.select("scope", "trace", "scenario").with_row_index("entry")
    case.con.register("semantic_entries", entries.to_arrow())
    try:
        case.execute(_GROUPS)
        numbered: Ints = case.frame(_NUMBERED)["grp"].to_numpy()
    finally:
        case.con.unregister("semantic_entries")
    return numbered
