"""Texts as they would have been delivered: each distinct content with its tasks is transformed once and kept.

Temporary tables:

- `rp_sent` (plan, class, variant): deliveries a plan changes, and which text stands in their place.
- `rp_wanted` (nth, variant, content, way, tasks): texts still to be made; `way` is the number of a toolkit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from earwitness.audit.replay.anonymizer import maker, spliced
from earwitness.audit.replay.condition import Plan, Way
from earwitness.audit.replay.rewriters import ask_ahead
from earwitness.audit.transform.options import Options
from earwitness.audit.transform.toolkit import Toolkit
from earwitness.audit.transform.words import Changed, Piece, Task
from earwitness.ingest.columns import content_ids, encode, uuids
from earwitness.schema.case import Case
from earwitness.schema.progress import Progress

Kits = Mapping[Way, Toolkit]

PREPARE = (
    "CREATE OR REPLACE TEMP TABLE rp_sent (plan INTEGER, class INTEGER, variant UUID)",
    """CREATE OR REPLACE TEMP TABLE rp_wanted (nth BIGINT, variant UUID, content UUID, way INTEGER, tasks STRUCT(
        start BIGINT, stop BIGINT, attribute VARCHAR, entity VARCHAR, value_type VARCHAR, canonical VARCHAR,
        action VARCHAR)[])""",
)
# Texts are told apart by their content and the set of their tasks. Only what an action looks at counts: a redaction is
# the same whatever it hides, under every key; a rewriting depends on its rewriter and its checks, and on no key.
_VARIANTS = """
    CREATE OR REPLACE TEMP TABLE rp_variant AS
    WITH task AS (
        SELECT a.class, CASE WHEN a.action IN ('redact', 'block') THEN hash(s.start, s.stop, a.action)
               ELSE hash(s.start, s.stop, a.action, a.attribute, s.entity, a.value_type, s.canonical,
                         CASE a.action WHEN 'rewrite' THEN $rewriting ELSE $mark END) END AS mark
        FROM rp_act a JOIN rp_span s USING (span) WHERE a.action <> 'allow'
    ), summed AS (
        SELECT class, count(*) AS n, sum(mark) AS total, bit_xor(mark) AS mixed, bit_xor(hash(mark, 'again')) AS again
        FROM task GROUP BY class
    )
    SELECT class, c.content, md5(concat_ws('|', $version, c.content, n, total, mixed, again))::UUID AS variant
    FROM summed JOIN rp_class c USING (class)
"""
_SENT = "INSERT INTO rp_sent SELECT $plan, class, variant FROM rp_variant"
_WANTED = """
    INSERT INTO rp_wanted
    WITH fresh AS (
        SELECT variant, any_value(content) AS content, min(class) AS class FROM rp_variant
        WHERE variant NOT IN (SELECT variant FROM replay_texts) AND variant NOT IN (SELECT variant FROM rp_wanted)
        GROUP BY variant
    ), task AS (
        SELECT f.variant, f.content, s.start, s.stop, a.attribute, s.entity, a.value_type, s.canonical, a.action
        FROM fresh f JOIN rp_act a USING (class) JOIN rp_span s USING (span) WHERE a.action <> 'allow'
    )
    SELECT (SELECT count(*) FROM rp_wanted) + row_number() OVER (ORDER BY variant) - 1, variant, any_value(content),
           $way,
           list(struct_pack(start := start, stop := stop, attribute := attribute, entity := entity,
                            value_type := value_type, canonical := canonical, action := action)
                ORDER BY start, stop, action) FROM task GROUP BY variant
"""
_MADE = "SELECT w.variant, w.content, w.way, c.text, w.tasks FROM rp_wanted w JOIN contents c USING (content)"
_BATCH = 2_000
_WORDS = ("asked", "done", "exception", "cause")


def send(case: Case, plans: Sequence[Plan], kits: Kits) -> None:
    """Note which texts plans deliver that decide alike, after `act`."""
    for number, (way, kit) in enumerate(kits.items()):
        alike = [p for p in plans if p.condition.way == way]
        if alike:
            marks = {"mark": mark(kit), "rewriting": rewriting_mark(kit)}
            case.execute(_VARIANTS, {**marks, "version": maker(kit)})
            for plan in alike:
                case.execute(_SENT, {"plan": plan.number})
            case.execute(_WANTED, {"way": number})
    case.execute("DROP TABLE rp_variant")


def mark(kit: Toolkit) -> str:
    """What tells ways to transform apart: options, which key, which values are known; nothing of the key itself."""
    plain = Options()
    options = replace(kit.options, threshold=plain.threshold, tries=plain.tries, backstop=plain.backstop)
    return f"{kit.keys.mark} {options!r} {kit.known.mark if kit.known else ''}"


def rewriting_mark(kit: Toolkit) -> str:
    """What tells ways to rewrite apart: who rewrites (model and prompt), what checks it, and how strictly."""
    options, gate = kit.options, kit.gate.name if kit.gate else None
    return f"{kit.rewriter.name} / {gate} {options.threshold} / {options.tries} {options.backstop}"


def make_texts(case: Case, kits: Kits, progress: Progress) -> int:
    """Make the texts that are wanted and keep them in `replay_texts`; gives their number."""
    wanted, numbered = case.count("rp_wanted"), list(kits.values())
    for first in range(0, wanted, _BATCH):
        rows = case.arrow(f"{_MADE} WHERE w.nth BETWEEN {first} AND {first + _BATCH - 1} ORDER BY w.nth").to_pylist()
        _keep(case, _changed(case, rows, numbered, progress))
        progress(f"transforming texts, {first:,} of {wanted:,}", 0)
    return wanted


def _changed(
    case: Case, rows: list[dict[str, Any]], kits: Sequence[Toolkit], progress: Progress
) -> list[tuple[Any, Any, str, Changed, list[Task]]]:
    asked = [(row["text"], [Task(**t) for t in row["tasks"]], kits[row["way"]]) for row in rows]
    ask_ahead(case, asked, progress)
    made = [(text, spliced(text, tasks, kit), tasks) for text, tasks, kit in asked]
    return [(row["variant"], row["content"], *one) for row, one in zip(rows, made, strict=True)]


def _keep(case: Case, made: list[tuple[Any, Any, str, Changed, list[Task]]]) -> None:
    raw, _ = encode([changed.text for *_, changed, _ in made])
    columns = {
        "variant": [v for v, *_ in made],
        "content": [c for _, c, *_ in made],
        "changed": uuids(content_ids(raw)),
        "text": pa.array([None if c.text == text else c.text for _, _, text, c, _ in made], pa.string()),
        "pieces": [len(changed.pieces) for *_, changed, _ in made],
    }
    case.insert("replay_texts", pa.table(columns))
    told = [(v, piece, tasks) for v, _, _, changed, tasks in made for piece in changed.pieces if _odd(piece)]
    if told:
        _keep_exceptions(case, told)


def _odd(piece: Piece) -> bool:
    return piece.done != piece.asked or piece.exception is not None or piece.tries > 1


def _keep_exceptions(case: Case, told: list[tuple[Any, Piece, list[Task]]]) -> None:
    columns = {
        "variant": [v for v, *_ in told],
        "start": [min(tasks[n].start for n in p.tasks) for _, p, tasks in told],
        "stop": [max(tasks[n].stop for n in p.tasks) for _, p, tasks in told],
        **{n: pa.array([getattr(p, n) for _, p, _ in told], pa.string()) for n in _WORDS},
        "tries": [p.tries for _, p, _ in told],
    }
    case.insert("replay_exceptions", pa.table(columns))
