"""Nearness by embeddings in place of shared words: each text gives its sentence nearest to a wording.

The score of a set of texts is the largest cosine of a wording with the sum of any two of these sentences, or with one
of them. `rc_told` then has one row a text and wording, `mask` being the number of the row; its `share` bounds nothing
(that of a sum is not bounded by those of its parts), so no pair is left out unseen.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from earwitness.audit.reconstruction.passages import SCAN_BYTES, TEXTS
from earwitness.audit.reconstruction.unions import Scorer
from earwitness.audit.reconstruction.wordings import Wordings
from earwitness.audit.scan import batches
from earwitness.audit.semantic.found import Floats
from earwitness.audit.semantic.sentences import Sentences, read
from earwitness.audit.semantic.similar import FEWEST, Encoder, Vectors
from earwitness.audit.semantic.stems import stem
from earwitness.audit.semantic.tier import Method
from earwitness.audit.semantic.words import Ints
from earwitness.schema.case import Case
from earwitness.schema.progress import Progress

# Pairs whose vectors are in memory at a time.
_BLOCK = 8192
_TOLD = """
    CREATE OR REPLACE TEMP TABLE rc_told AS
    SELECT text, fact, wording, mask, 1.0 AS share, start, stop, {threshold}::DOUBLE AS threshold FROM near_rows
"""


class _Near(NamedTuple):
    """Rows of `rc_told`, with the sentence each is about."""

    text: Ints
    wording: Ints
    start: Ints
    stop: Ints
    cosine: Floats
    vector: Vectors


def tell(case: Case, wordings: Wordings, method: Method, threshold: float, progress: Progress) -> Scorer:
    """Make `rc_told`; gives what scores its rows.

    Raises:
        MissingExtraError: the extra of the method is not installed.
    """
    encoder = _encoder(method)
    told = encoder.encode(wordings.texts) if wordings.texts else np.zeros((0, 1), np.float32)
    needed = _needed(case, wordings)
    parts, characters = [], 0
    # All is read before anything is encoded: the connection has one result at a time.
    for ids, texts in batches(case.con.sql(TEXTS).to_arrow_reader(2_000), SCAN_BYTES):
        found = read(texts)
        parts.append(_nearest(ids.to_numpy(), found, encoder, told, needed))
        characters += len(found.data)
        progress(f"comparing sentences ({method})", characters)
    rows = _joined(parts, told.shape[1])
    _place(case, rows, wordings, threshold)
    return _by_cosine(rows)


def _encoder(method: Method) -> Encoder:
    if method == "static":
        from earwitness.audit.semantic.embeddings import Static

        return Static()
    from earwitness.audit.semantic.minilm import MiniLM

    return MiniLM()


def _needed(case: Case, wordings: Wordings) -> dict[int, Ints]:
    """The wordings each text is to be compared with."""
    of_fact: dict[int, list[int]] = {}
    for number, fact in enumerate(wordings.facts.tolist()):
        of_fact.setdefault(fact, []).append(number)
    wanted: dict[int, list[int]] = {}
    for text, fact in case.rows("SELECT text, fact FROM rc_needed ORDER BY text, fact"):
        wanted.setdefault(text, []).extend(of_fact.get(fact, ()))
    return {text: np.array(numbers, np.int64) for text, numbers in wanted.items() if numbers}


def _nearest(ids: Ints, found: Sentences, encoder: Encoder, told: Vectors, needed: dict[int, Ints]) -> list[_Near]:
    """The nearest sentence of every text of a batch to each wording in question."""
    content = np.array([stem(w) is not None and w.isalpha() for w in found.words.distinct], np.bool_)
    number = np.bincount(found.of_word[content[found.words.kind]], minlength=len(found.rows))
    wanted = np.isin(ids, list(needed))[found.rows]
    kept = np.flatnonzero((number >= FEWEST) & wanted)
    if not len(kept):
        return []
    texts, back = np.unique(np.array([found.text(n) for n in kept.tolist()], object), return_inverse=True)
    vectors = encoder.encode(texts.tolist())[back]
    starts, stops = found.spans(kept, kept)
    begins = np.flatnonzero(np.diff(found.rows[kept], prepend=-1))
    out = []
    for low, high in zip(begins.tolist(), [*begins[1:].tolist(), len(kept)], strict=True):
        text = int(ids[found.rows[kept[low]]])
        wordings = needed[text]
        near = vectors[low:high] @ told[wordings].T
        at = near.argmax(axis=0)
        cosine = near[at, np.arange(len(wordings))].astype(np.float64)
        best = at + low
        out.append(_Near(np.full(len(at), text), wordings, starts[best], stops[best], cosine, vectors[best]))
    return out


def _joined(parts: list[list[_Near]], dimensions: int) -> _Near:
    none = np.zeros(0, np.int64)
    rows = [row for part in parts for row in part]
    rows = rows or [_Near(none, none, none, none, np.zeros(0), np.zeros((0, dimensions), np.float32))]
    return _Near(*(np.concatenate(column) for column in zip(*rows, strict=True)))


def _place(case: Case, rows: _Near, wordings: Wordings, threshold: float) -> None:
    table = {"text": rows.text, "fact": wordings.facts[rows.wording], "wording": rows.wording}
    table |= {"mask": np.arange(len(rows.text)), "start": rows.start, "stop": rows.stop}
    case.con.register("near_rows", pa.table(table))
    try:
        case.execute(_TOLD.format(threshold=threshold))
    finally:
        case.con.unregister("near_rows")


def _by_cosine(rows: _Near) -> Scorer:
    """Scores two sentences by the cosine of their sum, or that of the nearer one."""

    def length(one: Ints, two: Ints) -> Floats:
        product = np.einsum("ij,ij->i", rows.vector[one], rows.vector[two], dtype=np.float64)
        summed: Floats = np.sqrt(np.maximum(2 + 2 * product, 1e-9))
        return summed

    def score(wording: Ints, one: Ints, two: Ints) -> Floats:
        x, y = rows.cosine[one], rows.cosine[two]
        blocks = [length(one[at : at + _BLOCK], two[at : at + _BLOCK]) for at in range(0, len(one), _BLOCK)]
        told: Floats = np.maximum(np.maximum(x, y), (x + y) / np.concatenate([np.zeros(0), *blocks]))
        return told

    return score
