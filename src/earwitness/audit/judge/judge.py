"""The judge at work: which pairs are asked about, in which order, and what becomes of the matches.

Verdicts at hand are used first, so a rerun asks nothing. New ones are kept as they come, through a connection of
their own: an audit that fails later, a budget that ends or a key that expires loses none of them.
"""

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import islice

import polars as pl

from earwitness.audit.judge.budget import Budget
from earwitness.audit.judge.endpoint import Answer, Endpoint
from earwitness.audit.judge.errors import JudgeError
from earwitness.audit.judge.options import REMOVED, JudgeOptions
from earwitness.audit.judge.prompt import Pair, excerpt, prompt_sha256
from earwitness.audit.judge.verdicts import known, save
from earwitness.audit.registry import describe_values
from earwitness.audit.semantic.outcome import TierOutcome
from earwitness.schema.case import Case
from earwitness.schema.errors import MissingExtraError

NAME = "judge"
# Pairs without an answer, one after the other, after which the endpoint is held to be gone.
_PATIENCE = 8
# Verdicts are written out when so many are new.
_KEEP_EVERY = 20
_CHUNK = 256
_ASKED = "(m.tier = 3 OR ({weak} AND m.tier = 1 AND m.standing = 'possible' AND m.event IS NULL))"
_PAIRS = f"""
    CREATE OR REPLACE TEMP TABLE judge_pairs AS
    SELECT row_number() OVER (ORDER BY confidence DESC, content, fingerprint) - 1 AS rank, * FROM (
        SELECT m.content, v.fingerprint, min(m.value) AS value, arg_max(m.start, m.confidence) AS start,
               arg_max(m.stop, m.confidence) AS stop, max(m.confidence) AS confidence
        FROM matches m JOIN vault v USING (value) WHERE {_ASKED} GROUP BY ALL)
"""
_READ = """
    SELECT p.content::VARCHAR, p.fingerprint, v.attribute, v.text, v.aliases, c.text, p.start, p.stop
    FROM judge_pairs p JOIN vault v USING (value) JOIN contents c ON c.content = p.content
    WHERE p.rank >= ? AND p.rank < ? ORDER BY p.rank
"""
_JUDGED = f"""
    SELECT m.content, m.value, j.score FROM judged j JOIN vault v USING (fingerprint)
    JOIN matches m ON m.content = j.content::UUID AND m.value = v.value WHERE {_ASKED}
"""
_APPLY = f"""
    UPDATE matches SET
        confidence = CASE WHEN score >= $threshold THEN score ELSE least(confidence, score) END,
        standing = CASE WHEN score >= $threshold THEN 'confirmed' ELSE 'possible' END
    FROM ({_JUDGED}) told
    WHERE matches.content = told.content AND matches.value = told.value AND matches.event IS NULL
"""
_REMOVE = f"""
    DELETE FROM matches USING ({_JUDGED}) told
    WHERE matches.content = told.content AND matches.value = told.value AND matches.event IS NULL
      AND told.score < {REMOVED}
"""


@dataclass
class Tally:
    """What came of the pairs.

    Attributes:
        pairs: pairs to be judged.
        cached: judged by verdicts at hand.
        asked: judged now.
        malformed: answers that could not be read.
        unread: pairs left because both answers were malformed.
        failed: pairs left because the endpoint gave no answer.
        cause: of the last failure.
        stopped: why the rest was not asked.
    """

    pairs: int = 0
    cached: int = 0
    asked: int = 0
    malformed: int = 0
    unread: int = 0
    failed: int = 0
    cause: str = ""
    stopped: str = ""
    silent_for: int = field(default=0, repr=False)

    @property
    def left(self) -> int:
        """Pairs without a verdict."""
        return self.pairs - self.cached - self.asked

    def note(self) -> str:
        """In words."""
        told = [f"{self.asked} judged now, {self.cached} by verdicts at hand"]
        told += [f"{self.malformed} malformed answers"] if self.malformed else []
        told += [f"{self.failed} without an answer ({self.cause})"] if self.failed else []
        told += [f"{self.left} of {self.pairs} not judged"] if self.left else []
        return "; ".join(told + ([self.stopped] if self.stopped else []))


def run_judge(case: Case, options: JudgeOptions) -> TierOutcome:
    """Judge what is `possible`, the most likely first: confirm it, lower it, or remove it.

    Raises:
        JudgeError: the endpoint refuses the key or the model, or the URL is none.
    """
    started = time.monotonic()
    describe_values(case)
    weak = str(options.weak).lower()
    case.execute(_PAIRS.format(weak=weak))
    try:
        size = case.rows("""SELECT count(*), coalesce(sum(length(text)), 0)
                            FROM contents SEMI JOIN judge_pairs USING (content)""")[0]
        tally, scores = _judge(case, options)
        confirmed = _apply(case, scores, options, weak)
    finally:
        case.execute("DROP TABLE IF EXISTS judge_pairs")
    ran = not tally.pairs or bool(tally.cached or tally.asked)
    seconds = time.monotonic() - started
    return TierOutcome(NAME, ran, int(size[0]), int(size[1]), confirmed, seconds, tally.note(), bool(tally.left))


def _judge(case: Case, options: JudgeOptions) -> tuple[Tally, dict[tuple[str, str], float]]:
    """Verdicts of all pairs that have one, at hand or asked for now."""
    stored = known(case, prompt_sha256(), options.model)
    rows = case.rows("SELECT content::VARCHAR, fingerprint FROM judge_pairs ORDER BY rank")
    scores = {pair: stored[pair] for pair in rows if pair in stored}
    tally = Tally(pairs=len(rows), cached=len(scores))
    if tally.left and options.url is None:
        tally.stopped = "no endpoint was named"
    elif tally.left:
        try:
            _ask_all(case, options, tally, scores)
        except MissingExtraError as error:
            tally.stopped = str(error)
    return tally, scores


def _ask_all(case: Case, options: JudgeOptions, tally: Tally, scores: dict[tuple[str, str], float]) -> None:
    """Ask until all is judged, the budget is used up, or the endpoint is gone; what is under way is waited for."""
    budget, error = Budget(options.max_calls, options.max_tokens), None
    with Endpoint(options, budget) as endpoint, _Keeper(case, options, scores) as keeper:
        for pair, future in _answers(endpoint, _unjudged(case, frozenset(scores)), options.concurrency):
            try:
                answer = future.result()
            except JudgeError as refused:
                error = error or refused
                endpoint.stop()
                continue
            _count(tally, answer)
            if answer.score is not None:
                keeper.add(pair, answer.score)
            if answer.kind == "budget" or tally.silent_for >= _PATIENCE:
                endpoint.stop()
            options.progress("asking the judge", tally.asked)
    if error:
        raise error
    tally.stopped = _why_stopped(tally, budget)


def _why_stopped(tally: Tally, budget: Budget) -> str:
    if tally.silent_for >= _PATIENCE:
        return f"the endpoint does not answer ({tally.cause})"
    if tally.left > tally.failed + tally.unread:
        return f"the budget is used up: {budget.calls} calls, {budget.tokens} tokens"
    return ""


def _count(tally: Tally, answer: Answer) -> None:
    tally.malformed += answer.malformed
    tally.asked += answer.kind == "scored"
    tally.unread += answer.kind == "malformed"
    tally.failed += answer.kind == "failed"
    tally.cause = answer.cause or tally.cause
    tally.silent_for = tally.silent_for + 1 if answer.kind == "failed" else 0


def _unjudged(case: Case, judged: frozenset[tuple[str, str]]) -> Iterator[Pair]:
    """Pairs to be asked about, the most likely first; few of their texts are in memory at a time."""
    for rank in range(0, case.count("judge_pairs"), _CHUNK):
        for content, mark, attribute, value, aliases, text, start, stop in case.rows(_READ, [rank, rank + _CHUNK]):
            if (content, mark) not in judged:
                yield Pair(content, mark, attribute, value, tuple(aliases or ()), excerpt(text, start, stop))


def _answers(endpoint: Endpoint, pairs: Iterator[Pair], concurrency: int) -> Iterator[tuple[Pair, Future[Answer]]]:
    """Answers as they come; a new question is put when one is answered, unless the endpoint was stopped."""
    waiting: dict[Future[Answer], Pair] = {}
    with ThreadPoolExecutor(concurrency) as pool:
        try:
            while True:
                more = 0 if endpoint.stopped else concurrency - len(waiting)
                waiting |= {pool.submit(endpoint.ask, p): p for p in islice(pairs, more)}
                if not waiting:
                    return
                for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                    yield waiting.pop(future), future
        finally:
            endpoint.stop()


class _Keeper:
    """Puts scores by, and into the case a few at a time."""

    def __init__(self, case: Case, options: JudgeOptions, scores: dict[tuple[str, str], float]) -> None:
        self._con, self._model, self._scores = case.con.cursor(), options.model, scores
        self._fresh: list[tuple[str, str, float]] = []

    def __enter__(self) -> "_Keeper":
        return self

    def __exit__(self, *exc: object) -> None:
        self._write()
        self._con.close()

    def add(self, pair: Pair, score: float) -> None:
        """Keep one."""
        self._scores[pair.content, pair.fingerprint] = score
        self._fresh.append((pair.content, pair.fingerprint, score))
        if len(self._fresh) >= _KEEP_EVERY:
            self._write()

    def _write(self) -> None:
        if self._fresh:
            save(self._con, prompt_sha256(), self._model, self._fresh)
            self._fresh = []


def _apply(case: Case, scores: dict[tuple[str, str], float], options: JudgeOptions, weak: str) -> int:
    """Let the verdicts change the matches; gives how many are confirmed by them."""
    if not scores:
        return 0
    rows: Sequence[tuple[str, str, float]] = [(*pair, score) for pair, score in scores.items()]
    table = pl.DataFrame(rows, ["content", "fingerprint", "score"], orient="row").to_arrow()
    case.con.register("judged", table)
    try:
        confirmed = case.one(
            f"SELECT count(*) FROM ({_JUDGED.format(weak=weak)}) WHERE score >= ?", [options.threshold]
        )
        case.execute(_REMOVE.format(weak=weak))
        case.execute(_APPLY.format(weak=weak), {"threshold": options.threshold})
    finally:
        case.con.unregister("judged")
    return int(confirmed)
