"""Values as sets of weighted stems: what a text must hold to tell them.

Values of one text, one set of aliases and one kind are one *fact*. A fact has wordings: the text, each alias, and of a
contextual value in several sentences each of these, as in the semantic tier. A wording is its most telling stems, so
many as fit into the bits of an integer; a stem's share is its weight over that of all of them.
"""

from typing import NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa

from earwitness.audit.semantic.entries import FEWEST_PART
from earwitness.audit.semantic.found import Floats
from earwitness.audit.semantic.sentences import read
from earwitness.audit.semantic.stems import stem
from earwitness.audit.semantic.words import Ints, Vocabulary, distinct, split
from earwitness.schema.case import Case

# Stems of a wording: the bits of a signed integer without its highest two.
MOST_STEMS = 62
# One shared word is a coincidence; and what is one word cannot come in parts.
FEWEST_SHARED = 2

_FACTS = """
    CREATE OR REPLACE TEMP TABLE rc_fact AS
    SELECT v.value, dense_rank() OVER (ORDER BY v.text, v.aliases, v.value_type = 'contextual') - 1 AS fact,
           v.text, v.aliases, coalesce(v.value_type = 'contextual', false) AS contextual
    FROM vault v WHERE v.value IN (SELECT kept FROM rc_value)
"""
_WORDED = """
    SELECT fact, contextual, text FROM rc_fact UNION SELECT fact, contextual, unnest(aliases) FROM rc_fact
    ORDER BY fact, text
"""


class Wordings(NamedTuple):
    """Wordings of facts.

    Attributes:
        facts: the fact of each.
        contextual: whether a part of it is enough.
        texts: as written.
        of_stem: for each stem of each wording, the wording.
        stems: and the stem.
        vocabulary: what the numbers of stems mean.
    """

    facts: Ints
    contextual: Ints
    texts: list[str]
    of_stem: Ints
    stems: Ints
    vocabulary: Vocabulary


def load(case: Case) -> Wordings:
    """The wordings of the values of a case, those of fewer than two stems left out; makes the table `rc_fact`."""
    case.execute(_FACTS)
    frame = _with_parts(case.frame(_WORDED).filter(pl.col("text").is_not_null()))
    vocabulary = Vocabulary()
    of_stem, stems = _stems(frame["text"].to_list(), vocabulary)
    kept = np.bincount(of_stem, minlength=len(frame)) >= FEWEST_SHARED
    number, inside = np.cumsum(kept) - 1, kept[of_stem]
    frame = frame.filter(pl.Series(kept, dtype=pl.Boolean))
    facts, contextual = (frame[c].cast(pl.Int64).to_numpy() for c in ("fact", "contextual"))
    return Wordings(facts, contextual, frame["text"].to_list(), number[of_stem[inside]], stems[inside], vocabulary)


def contextual(wordings: Wordings) -> Wordings:
    """Those of contextual values alone; stems are left as they were numbered, and no longer belong to wordings."""
    kept = np.flatnonzero(wordings.contextual)
    texts = [wordings.texts[n] for n in kept.tolist()]
    none = np.zeros(0, np.int64)
    return Wordings(wordings.facts[kept], wordings.contextual[kept], texts, none, none, wordings.vocabulary)


def _with_parts(frame: pl.DataFrame) -> pl.DataFrame:
    """Wordings, and of contextual ones in several sentences each sentence that says enough to be told alone."""
    chosen = frame.filter("contextual")
    sentences = read(chosen["text"].to_arrow().cast(pa.large_string()))
    content = np.array([stem(w) is not None for w in sentences.words.distinct], np.bool_)
    told = np.bincount(sentences.of_word[content[sentences.words.kind]], minlength=len(sentences.rows))
    several = np.bincount(sentences.rows, minlength=len(chosen))[sentences.rows] > 1
    kept = np.flatnonzero(several & (told >= FEWEST_PART))
    texts = pl.Series("text", [sentences.text(n) for n in kept.tolist()], pl.String)
    return pl.concat([frame, chosen[sentences.rows[kept]].with_columns(texts)]).unique().sort("fact", "text")


def _stems(texts: list[str], vocabulary: Vocabulary) -> tuple[Ints, Ints]:
    """Text and stem of every word that has one, each stem once a text, in order of texts."""
    raw = [t.encode("utf-8", "replace") for t in texts]
    bounds = np.cumsum([0, *(len(r) + 1 for r in raw)])
    words = split(np.frombuffer(b" ".join(raw) + b" ", np.uint8))
    rows = np.searchsorted(bounds, words.starts, side="right") - 1
    stems = np.array(vocabulary.learn(words.distinct), np.int64)[words.kind]
    size = max(len(vocabulary.stems), 1)
    pairs = distinct((rows * size + stems)[stems >= 0])
    return pairs // size, pairs % size


def table(wordings: Wordings, weight: Floats, thresholds: tuple[float, float]) -> pl.DataFrame:
    """One row a wording and stem: fact, wording, stem, bit, share, and the threshold of the wording.

    Args:
        wordings: of the case.
        weight: of each stem of the vocabulary.
        thresholds: least share for a contextual value, and for one that is exact.
    """
    frame = pl.DataFrame({"wording": wordings.of_stem, "stem": wordings.stems, "weight": weight[wordings.stems]})
    heaviest = pl.col("weight").rank("ordinal", descending=True).over("wording") - 1
    frame = frame.sort("wording", "stem").with_columns(heaviest.cast(pl.Int64).alias("bit"))
    frame = frame.filter(pl.col("bit") < MOST_STEMS)
    fuzzy = wordings.contextual[frame["wording"].to_numpy()].astype(bool)
    return frame.select(
        pl.Series("fact", wordings.facts[frame["wording"].to_numpy()], pl.Int64),
        "wording",
        "stem",
        "bit",
        (pl.col("weight") / pl.col("weight").sum().over("wording")).alias("share"),
        pl.Series("threshold", np.where(fuzzy, *thresholds)),
    )


def shares(stems: pl.DataFrame) -> Floats:
    """Shares by wording and bit, a matrix."""
    wording, bit = stems["wording"].to_numpy(), stems["bit"].to_numpy()
    matrix: Floats = np.zeros((int(wording.max(initial=0)) + 1, MOST_STEMS))
    matrix[wording, bit] = stems["share"].to_numpy()
    return matrix
