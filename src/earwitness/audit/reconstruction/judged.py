"""A second opinion on candidates: an LLM judge reads the passages together. Verdicts are kept in `judgements`.

A pooled text is no content of the case; its verdict is kept under the hash of its text, as contents are.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from itertools import islice
from uuid import UUID

import pyarrow as pa

from earwitness.audit.judge.budget import Budget
from earwitness.audit.judge.endpoint import Answer, Endpoint
from earwitness.audit.judge.options import JudgeOptions
from earwitness.audit.judge.prompt import SHOWN, Pair, excerpt, prompt_sha256
from earwitness.audit.judge.verdicts import known, save
from earwitness.audit.reconstruction.decisions import JUDGED
from earwitness.schema.case import Case

_CHUNK = 64
_READ = """
    SELECT c.item, c.fingerprint, v.attribute, v.text, v.aliases, a.text, c.first_start, c.first_stop,
           b.text, c.second_start, c.second_stop
    FROM candidates c JOIN vault v USING (value) JOIN contents a ON a.content = c.first
    LEFT JOIN contents b ON b.content = c.second
    WHERE c.item IN (SELECT unnest(?::VARCHAR[])) ORDER BY c.score DESC, c.item
"""


def judge(case: Case, options: JudgeOptions) -> tuple[int, int]:
    """Let a judge score the candidates, the likeliest first; gives how many it scored, and how many it was to.

    Verdicts at hand are used first. Without a URL nothing is asked.

    Raises:
        JudgeError: the endpoint refuses the key or the model, or the URL is none.
        MissingExtraError: httpx is not installed.
    """
    items = [row[0] for row in case.rows("SELECT item FROM candidates ORDER BY score DESC, item")]
    at_hand = known(case, prompt_sha256(), options.model)
    scores = {item: at_hand[key] for item, pair in _pairs(case, items) if (key := _key(pair)) in at_hand}
    if options.url is not None:
        asked = [item for item in items if item not in scores]
        with Endpoint(options, Budget(options.max_calls, options.max_tokens)) as endpoint:
            for chunk in _answered(endpoint, _pairs(case, asked), options):
                fresh = [(item, pair, answer.score) for item, pair, answer in chunk if answer.score is not None]
                scores |= {item: score for item, _, score in fresh}
                save(case.con, prompt_sha256(), options.model, [(*_key(pair), score) for _, pair, score in fresh])
    _write(case, scores, options.threshold)
    return len(scores), len(items)


def _answered(
    endpoint: Endpoint, pairs: Iterator[tuple[str, Pair]], options: JudgeOptions
) -> Iterator[list[tuple[str, Pair, Answer]]]:
    """Answers, a few at a time, until the budget is used up or a whole chunk gets none."""
    done = 0
    with ThreadPoolExecutor(options.concurrency) as pool:
        while chunk := list(islice(pairs, _CHUNK)):
            answers = list(pool.map(endpoint.ask, [pair for _, pair in chunk]))
            yield [(item, pair, answer) for (item, pair), answer in zip(chunk, answers, strict=True)]
            done += len(chunk)
            options.progress("asking the judge", done)
            if any(a.kind == "budget" for a in answers) or all(a.kind == "failed" for a in answers):
                return


def _pairs(case: Case, items: list[str]) -> Iterator[tuple[str, Pair]]:
    """Candidates as questions; few of their texts are in memory at a time."""
    for at in range(0, len(items), _CHUNK):
        for item, mark, attribute, value, aliases, *texts in case.rows(_READ, [items[at : at + _CHUNK]]):
            text = pooled(*texts)
            number = UUID(bytes=blake2b(text.encode("utf-8", "replace"), digest_size=16).digest())
            yield item, Pair(str(number), mark, attribute, value, tuple(aliases or ()), text)


def pooled(
    first: str, start: int, stop: int, second: str | None = None, low: int | None = None, high: int | None = None
) -> str:
    """What a judge reads: the passages with as much around them as fits, one after the other."""
    if second is None or low is None or high is None:
        return excerpt(first, start, stop)
    half = SHOWN // 2
    parts = ((first, start, stop), (second, low, high))
    return "\n\n".join(text[max(0, b - half // 2) :][:half] for text, b, _ in parts)


def _key(pair: Pair) -> tuple[str, str]:
    return pair.content, pair.fingerprint


def _write(case: Case, scores: dict[str, float], threshold: float) -> None:
    told = pa.table({"item": pa.array(list(scores), pa.string()), "score": pa.array(scores.values(), pa.float64())})
    case.con.register("told_scores", told)
    with case.transaction():
        case.execute("UPDATE candidates SET judged = t.score FROM told_scores t WHERE t.item = candidates.item")
        case.set_meta(JUDGED, str(threshold))
    case.con.unregister("told_scores")
