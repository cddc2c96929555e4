"""What sentences tell of the wordings in question, as sets of stems.

`rc_text` numbers the texts of views; `rc_event` and `rc_seen` are `rc_got` and `rc_view` with these numbers.
`rc_told` (text, fact, wording, mask, share, start, stop, threshold): for every text in a view and every fact it could
help to tell, the sets of stems that its sentences hold. A set inside another of the same text is left out: its union
with anything is inside the other's.
"""

import numpy as np
import pyarrow as pa

from earwitness.audit.reconstruction.wordings import Wordings, shares, table
from earwitness.audit.scan import batches
from earwitness.audit.semantic.found import Floats
from earwitness.audit.semantic.sentences import Sentences, read
from earwitness.audit.semantic.weights import stems_of, weights
from earwitness.audit.semantic.words import Ints, Vocabulary, distinct
from earwitness.schema.case import Case
from earwitness.schema.progress import Progress

SCAN_BYTES = 4 << 20
_NUMBERED = (
    """CREATE OR REPLACE TEMP TABLE rc_text AS
       SELECT row_number() OVER (ORDER BY content) - 1 AS text, content FROM (SELECT DISTINCT content FROM rc_view)""",
    """CREATE OR REPLACE TEMP TABLE rc_event AS SELECT g.*, t.text FROM rc_got g JOIN rc_text t USING (content)""",
    """CREATE OR REPLACE TEMP TABLE rc_seen AS
       SELECT w.trace, w.actor, t.text FROM rc_view w JOIN rc_text t USING (content)""",
    """CREATE OR REPLACE TEMP TABLE rc_needed AS
       SELECT DISTINCT s.text, f.fact FROM rc_outside o JOIN rc_seen s USING (trace, actor)
       JOIN rc_fact f ON f.value = o.value""",
)
TEXTS = """
    SELECT t.text, c.text FROM contents c JOIN rc_text t USING (content)
    WHERE t.text IN (SELECT text FROM rc_needed)
"""
MADE = ("rc_needed", "rc_text", "rc_event", "rc_seen", "rc_told")
_SAID = pa.schema([(name, pa.int64()) for name in ("text", "sentence", "start", "stop", "stem")])
_TOLD = """
    CREATE OR REPLACE TEMP TABLE rc_told AS
    WITH held AS (
        SELECT n.text, n.fact, w.wording, s.sentence, any_value(s.start) AS start, any_value(s.stop) AS stop,
               bit_or(1::BIGINT << w.bit) AS mask, sum(w.share) AS share, any_value(w.threshold) AS threshold
        FROM rc_needed n JOIN rc_said s USING (text) JOIN stem w ON w.fact = n.fact AND w.stem = s.stem
        GROUP BY n.text, n.fact, w.wording, s.sentence
    ), apart AS (
        SELECT text, fact, wording, mask, any_value(share) AS share, min(start) AS start,
               arg_min(stop, start) AS stop, any_value(threshold) AS threshold
        FROM held GROUP BY text, fact, wording, mask)
    SELECT * FROM apart a WHERE NOT EXISTS (
        SELECT 1 FROM apart b WHERE b.text = a.text AND b.wording = a.wording
            AND b.mask <> a.mask AND (b.mask & a.mask) = a.mask)
"""


def number(case: Case) -> None:
    """Make `rc_text`, `rc_event`, `rc_seen` and `rc_needed` (text, fact)."""
    for query in _NUMBERED:
        case.execute(query)


def tell(case: Case, wordings: Wordings, thresholds: tuple[float, float], progress: Progress) -> Floats:
    """Make `rc_told`; gives the shares of stems by wording and bit. Needs `number`."""
    said, held, sentences = _read(case, wordings, progress)
    stems = table(wordings, weights(wordings.vocabulary.stems, held, sentences), thresholds)
    case.con.register("stem", stems.to_arrow())
    case.con.register("rc_said", said)
    try:
        case.execute(_TOLD)
    finally:
        for name in ("stem", "rc_said"):
            case.con.unregister(name)
    return shares(stems)


def _read(case: Case, wordings: Wordings, progress: Progress) -> tuple[pa.Table, Ints, int]:
    """The stems of the vocabulary in every sentence, in how many sentences each stands, and how many there are."""
    parts, sentences, characters = [_SAID.empty_table()], 0, 0
    held = np.zeros(len(wordings.vocabulary.stems), np.int64)
    for ids, texts in batches(case.con.sql(TEXTS).to_arrow_reader(2_000), SCAN_BYTES):
        found = read(texts)
        parts.append(_stems_said(ids, found, wordings.vocabulary))
        held += np.bincount(parts[-1]["stem"].to_numpy(), minlength=len(held))
        sentences, characters = sentences + len(found.rows), characters + len(found.data)
        progress("reading sentences", characters)
    return pa.concat_tables(parts), held, sentences


def _stems_said(ids: pa.Array, found: Sentences, vocabulary: Vocabulary) -> pa.Table:
    """Sentences of a batch with the stems they hold, each once."""
    of_word, stems = stems_of(found, vocabulary)
    size = max(len(vocabulary.stems), 1)
    pairs = distinct(of_word * size + stems)
    sentence = pairs // size
    numbers, back = np.unique(sentence, return_inverse=True)
    starts, stops = found.spans(numbers, numbers)
    columns = [ids.take(pa.array(found.rows[sentence])), sentence, starts[back], stops[back], pairs % size]
    return pa.table(dict(zip(_SAID.names, columns, strict=True)), schema=_SAID)
