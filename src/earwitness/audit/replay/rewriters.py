"""What rewrites contextual values in a replay, what checks it, and the answers of a model that are kept in the case."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from earwitness.audit.judge.options import JudgeOptions
from earwitness.audit.replay.anonymizer import PresidioKit
from earwitness.audit.replay.condition import Condition, Way
from earwitness.audit.replayed.detector import looked_for_names
from earwitness.audit.transform.encoded import hide_escapes, is_encoded
from earwitness.audit.transform.gate import DetectorGate
from earwitness.audit.transform.keys import Keys
from earwitness.audit.transform.known import EVERYWHERE, Known
from earwitness.audit.transform.llm import LlmRewriter, prompt_sha256
from earwitness.audit.transform.options import Options
from earwitness.audit.transform.shapes import Spot
from earwitness.audit.transform.splice import transform
from earwitness.audit.transform.toolkit import Question, Toolkit
from earwitness.audit.transform.words import Outcome, Task
from earwitness.schema.case import Case
from earwitness.schema.progress import Progress
from earwitness.schema.tables import arrow_schema

# Answers are written out when so many are new.
_KEEP_EVERY = 20
_KNOWN = "SELECT question, rewriting FROM rewritings WHERE prompt = ? AND model = ?"
_ADD = "INSERT INTO rewritings SELECT * FROM fresh ANTI JOIN rewritings USING (question)"
# What got no usable answer is asked for again, so that texts made without it do not stay.
_UNANSWERED = """
    variant IN (SELECT variant FROM replay_exceptions WHERE cause IN ('malformed', 'error', 'budget'))
"""
# Values and aliases with the scenario that they are protected in.
_VALUES = f"""
    SELECT DISTINCT form AS text,
           CASE scope WHEN 'case' THEN {EVERYWHERE} ELSE dense_rank() OVER (ORDER BY place) END AS place
    FROM (SELECT unnest(list_prepend(v.text, coalesce(v.aliases, []))) AS form, v.scope,
                 coalesce(v.scenario, t.scenario, '#' || v.trace, '') AS place
          FROM vault v LEFT JOIN traces t ON t.trace = v.trace)
"""
_SET = "SELECT count(*)::VARCHAR || ' ' || coalesce(bit_xor(hash(text, place)), 0)::VARCHAR FROM ({})"
_METHODS = "SELECT tier FROM tiers WHERE ran AND tier IN ('containment', 'static', 'minilm') ORDER BY tier"

Row = tuple[str, list[Task], Toolkit]


@contextmanager
def opened(case: Case, options: JudgeOptions | None) -> Iterator[LlmRewriter | None]:
    """The model that is to be asked, with the answers that the case has of it; None where none was named.

    Raises:
        JudgeError: the URL is none.
        MissingExtraError: httpx is not installed.
    """
    if options is None:
        yield None
        return
    answers = dict(case.rows(_KNOWN, [prompt_sha256(), options.model]))
    # The key of the case, not that of the transforms: answers hold for any of those.
    with LlmRewriter(options, (case.meta("key") or "").encode(), answers) as rewriter:
        try:
            yield rewriter
        finally:
            keep_answers(case, rewriter)


def toolkits(
    case: Case, conditions: Sequence[Condition], keys: Keys, rewriter: LlmRewriter | None
) -> dict[Way, Toolkit]:
    """One toolkit for each way to check rewritings; all share gate, rewriter and what is known."""
    gate, known = gate_of(case), known_of(case)
    ways = dict.fromkeys(c.way for c in conditions)
    return {
        way: (PresidioKit if way.presidio else Toolkit)(
            keys,
            Options(threshold=way.threshold, tries=way.tries, backstop=way.backstop),
            gate if way.gate else None,
            rewriter,
            known,
        )
        for way in ways
    }


def gate_of(case: Case) -> DetectorGate:
    """The gate: what the replayed detector is here, and the methods of the semantic tier that the audit ran."""
    return DetectorGate([row[0] for row in case.rows(_METHODS)], ner=looked_for_names(case))


def known_of(case: Case) -> Known:
    """The protected values of a case by their forms."""
    frame = case.frame(_VALUES)
    return Known(frame["text"], frame["place"], str(case.one(_SET.format(_VALUES))))


def forget_unanswered(case: Case) -> None:
    """Let go of texts in which a value was redacted because a model gave no usable answer."""
    case.execute(f"DELETE FROM replay_texts WHERE {_UNANSWERED}")
    case.execute(f"DELETE FROM replay_exceptions WHERE {_UNANSWERED}")


def told(rewriter: LlmRewriter | None, kits: Mapping[Way, Toolkit]) -> dict[str, Any]:
    """What is put on record of a rewriter and its gate; nothing of its key."""
    gate = next((kit.gate.name for kit in kits.values() if kit.gate), None)
    if rewriter is None:
        return {"kind": "generaliser", "gate": gate}
    named = {"kind": "model", "model": rewriter.options.model, "prompt_sha256": prompt_sha256()}
    return {**named, "endpoint": rewriter.host, "asked": rewriter.asked, "at_hand": rewriter.at_hand, "gate": gate}


def ask_ahead(case: Case, rows: Sequence[Row], progress: Progress) -> None:
    """Rewrite all that some texts will need, several questions at a time; texts are then made without waiting.

    Args:
        case: keeps new answers as they come, so that a replay that fails later loses none.
        rows: texts with their tasks and toolkits; those without a model are passed over.
        progress: told how many values were rewritten.

    Raises:
        JudgeError: the endpoint refuses in a way that no retry mends; what is under way is waited for.
    """
    wanted = _wanted(rows)
    if not wanted:
        return
    rewriter = wanted[0][0].rewriter
    assert isinstance(rewriter, LlmRewriter)
    with ThreadPoolExecutor(rewriter.options.concurrency) as pool:
        asked = [pool.submit(kit.rewritten, shown, task) for kit, shown, task in wanted]
        try:
            _collect(case, asked, rewriter, progress)
        except BaseException:
            rewriter.stop()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _collect(case: Case, asked: list[Future[Outcome]], rewriter: LlmRewriter, progress: Progress) -> None:
    for number, future in enumerate(as_completed(asked), start=1):
        future.result()
        if len(rewriter.fresh) >= _KEEP_EVERY:
            keep_answers(case, rewriter)
        progress(f"asking for other words, {number:,} of {len(asked):,}", 0)


def _wanted(rows: Sequence[Row]) -> list[tuple[Toolkit, str, Task]]:
    """Each distinct question that has no outcome yet, in the order of the texts."""
    found: dict[tuple[int, Question], tuple[Toolkit, str, Task]] = {}
    for text, tasks, kit in rows:
        if isinstance(kit.rewriter, LlmRewriter) and any(t.action == "rewrite" for t in tasks):
            scout = _Scout()
            transform(text, tasks, scout)
            for question, task in scout.questions.items():
                if question not in kit.rewritings:
                    found.setdefault((id(kit), question), (kit, question.shown, task))
    return list(found.values())


@dataclass
class _Scout:
    """Stands for a toolkit: changes nothing, and notes which rewritings a text asks for."""

    questions: dict[Question, Task] = field(default_factory=dict)

    def outcome(self, shown: str, task: Task, spot: Spot) -> Outcome:
        if task.action == "rewrite" and not is_encoded(shown, task.canonical):
            hidden, _ = hide_escapes(shown)
            self.questions.setdefault(Question(hidden, task.canonical, task.attribute), task)
        return Outcome(shown, "allow")


def keep_answers(case: Case, rewriter: LlmRewriter) -> None:
    """Put new answers into the case, through a connection of its own: they outlive a replay that fails."""
    fresh = [(name, rewriter.fresh.pop(name)) for name in list(rewriter.fresh)]
    if not fresh:
        return
    now = datetime.now(UTC).replace(tzinfo=None)
    columns = {
        "question": [name for name, _ in fresh],
        "prompt": [prompt_sha256()] * len(fresh),
        "model": [rewriter.options.model] * len(fresh),
        "rewriting": [text for _, text in fresh],
        "answered_at": [now] * len(fresh),
    }
    with case.con.cursor() as writing:
        writing.register("fresh", pa.table(columns, schema=arrow_schema("rewritings")))
        writing.execute(_ADD).fetchall()
        writing.unregister("fresh")
