"""The semantic tier: contextual values in sentences, by one method a run; what it finds is `possible`.

Only contents that lie in the scope of a contextual value are read, each once. A hit is kept where no tier before has
found the value in that content.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from earwitness.audit.scan import batches
from earwitness.audit.semantic.confidence import confidence
from earwitness.audit.semantic.containment import Containment
from earwitness.audit.semantic.entries import Entries, load
from earwitness.audit.semantic.found import Found, Held
from earwitness.audit.semantic.outcome import TierOutcome
from earwitness.audit.semantic.sentences import Sentences, read
from earwitness.audit.semantic.similar import Similar
from earwitness.audit.semantic.weights import count, weights
from earwitness.schema.case import Case
from earwitness.schema.errors import MissingExtraError
from earwitness.schema.progress import Progress, silent

Method = Literal["containment", "static", "minilm"]

TIER = 3
# Least scores that count, fixed on one half of PrivacyLens: docs/semantic.md.
THRESHOLDS: dict[Method, float] = {"containment": 0.34, "static": 0.6, "minilm": 0.56}
# Least scores where a judge sorts out afterwards: more is found, most of it on the topic only.
WIDE: dict[Method, float] = {"containment": 0.25, "static": 0.5, "minilm": 0.4}
_SCAN_BYTES = 4 << 20
# Contents that tell how common words are in this case, and how much of each is read.
_SAMPLE, _SAMPLE_CHARACTERS = 4000, 10_000

_SCOPE = """
    CREATE OR REPLACE TEMP TABLE semantic_scope AS
    WITH held AS (SELECT DISTINCT content, trace FROM (
        SELECT content, trace FROM events UNION ALL SELECT content, trace FROM sightings)),
    placed AS (
        SELECT h.content, g.grp FROM held h JOIN semantic_groups g ON g.scope = 'trace' AND g.trace = h.trace
        UNION
        SELECT h.content, g.grp FROM held h JOIN traces t USING (trace)
        JOIN semantic_groups g ON g.scope = 'scenario' AND g.scenario = t.scenario
        UNION ALL
        SELECT c.content, g.grp FROM contents c, semantic_groups g WHERE g.scope = 'case')
    SELECT content, list(grp) AS groups FROM placed GROUP BY content
"""
_READ = "SELECT content, text, groups FROM contents JOIN semantic_scope USING (content)"
_SAMPLED = f"""
    SELECT content, left(text, {_SAMPLE_CHARACTERS}) FROM contents SEMI JOIN semantic_scope USING (content)
    ORDER BY content LIMIT {_SAMPLE}
"""
_KEPT = f"""
    INSERT INTO matches
    SELECT content, value, start, stop, 1, {TIER}, form, confidence, 'possible', NULL
    FROM semantic_found f ANTI JOIN matches m ON m.content = f.content AND m.value = f.value
    QUALIFY row_number() OVER (PARTITION BY content, value ORDER BY confidence DESC, start) = 1
"""


@dataclass(frozen=True)
class SemanticOptions:
    """What the semantic tier is to do.

    Attributes:
        method: how sentences and values are compared.
        threshold: least score that counts; None for the method's own.
        progress: told what is being done.
    """

    method: Method = "containment"
    threshold: float | None = None
    progress: Progress = silent


class _Batch(NamedTuple):
    """Some contents; or a part of a long one, which begins at code point `offset`."""

    ids: pa.Array
    texts: pa.Array
    held: Held
    offset: int


class _Finder(Protocol):
    def find(self, read: Sentences, held: Held) -> Found: ...


def run_semantic(case: Case, options: SemanticOptions | None = None) -> TierOutcome:
    """Add what sentences seem to tell to `matches`; run it once for each method that is asked for.

    What the same method found before is replaced. Needs `vault.value_type` and the matches of the tiers before.
    """
    options = options or SemanticOptions()
    started = time.monotonic()
    case.execute("DELETE FROM matches WHERE tier = ? AND form = ?", [TIER, options.method])
    entries = load(case)
    if entries is None:
        return TierOutcome(options.method, ran=True, note="no contextual values to compare")
    try:
        case.execute(_SCOPE)
        finder = _finder(case, entries, options)
        size = _scan(case, finder, options)
    except MissingExtraError as error:
        return TierOutcome(options.method, ran=False, note=str(error), degraded=True)
    finally:
        for table in ("semantic_scope", "semantic_groups"):
            case.execute(f"DROP TABLE IF EXISTS {table}")
    return TierOutcome(options.method, True, *size, time.monotonic() - started)


def _finder(case: Case, entries: Entries, options: SemanticOptions) -> _Finder:
    threshold = THRESHOLDS[options.method] if options.threshold is None else options.threshold
    if options.method == "containment":
        return Containment(entries, weights(entries.vocabulary.stems, *_sample(case, entries)), threshold)
    if options.method == "static":
        from earwitness.audit.semantic.embeddings import Static

        return Similar(entries, Static(), threshold)
    from earwitness.audit.semantic.minilm import MiniLM

    return Similar(entries, MiniLM(), threshold)


def _sample(case: Case, entries: Entries) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], int]:
    """In how many sentences of some contents each stem stands, and in how many it could."""
    held, sentences = np.zeros(len(entries.vocabulary.stems), np.int64), 0
    reader = case.con.sql(_SAMPLED).to_arrow_reader(1000)
    for _, texts in batches(reader, _SCAN_BYTES):
        more, number = count(read(texts), entries.vocabulary)
        held, sentences = held + more, sentences + number
    return held, sentences


def _scan(case: Case, finder: _Finder, options: SemanticOptions) -> tuple[int, int, int]:
    """Contents, their characters, and the matches that were new."""
    contents = characters = 0
    tables = []
    for batch in _batches(case):
        found, sentences = read_and_find(finder, batch.texts, batch.held)
        tables.append(_table(found, sentences, batch, options.method))
        contents += 0 if batch.offset else len(batch.texts)
        characters += pc.sum(pc.utf8_length(batch.texts)).as_py() or 0
        options.progress(f"comparing sentences ({options.method})", characters)
    return contents, characters, _keep(case, tables)


def read_and_find(finder: _Finder, texts: pa.Array, held: Held) -> tuple[Found, Sentences]:
    """What a batch of texts tells, and its sentences."""
    sentences = read(texts)
    return finder.find(sentences, held), sentences


def _batches(case: Case) -> Iterator[_Batch]:
    """Contents in scope with their groups, in pieces."""
    for batch in case.con.sql(_READ).to_arrow_reader(5_000):
        pieces = pa.RecordBatchReader.from_batches(batch.schema, [batch])
        at = 0
        for ids, texts in batches(pieces, _SCAN_BYTES):
            groups = batch.column("groups").slice(at, len(ids))
            at += len(ids)
            rows = pc.list_parent_indices(groups).to_numpy().astype(np.int64)
            yield from _cut(_Batch(ids, texts, Held(rows, groups.flatten().to_numpy().astype(np.int64)), 0))


def _cut(batch: _Batch) -> Iterator[_Batch]:
    """A content that is longer than a batch, and so stands alone in one, comes in parts."""
    if len(batch.texts) > 1 or batch.texts.nbytes <= 2 * _SCAN_BYTES:
        yield batch
        return
    text = batch.texts[0].as_py()
    for offset in range(0, len(text), _SCAN_BYTES):
        yield batch._replace(texts=pa.array([text[offset : offset + _SCAN_BYTES]], pa.large_string()), offset=offset)


def _table(found: Found, sentences: Sentences, batch: _Batch, method: Method) -> pa.Table:
    starts, stops = sentences.spans(found.firsts, found.lasts)
    return pa.table(
        {
            "content": batch.ids.take(pa.array(found.rows)),
            "value": found.values,
            "start": starts + batch.offset,
            "stop": stops + batch.offset,
            "form": pa.array([method] * len(starts), pa.string()),
            "confidence": confidence(method, found.scores),
        }
    )


def _keep(case: Case, tables: list[pa.Table]) -> int:
    if not tables:
        return 0
    before = case.count("matches")
    case.con.register("semantic_found", pa.concat_tables(tables))
    try:
        case.execute(_KEPT)
    finally:
        case.con.unregister("semantic_found")
    return case.count("matches") - before
