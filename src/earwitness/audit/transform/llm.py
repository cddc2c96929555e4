"""Other words from a model, over any OpenAI-compatible endpoint: frozen prompt, a budget, retries, answers at hand.

The endpoint sees the value. Its key goes into one header and nowhere else; no error holds a key, a value or a text.
"""

import hmac
import json
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any, Self
from urllib.parse import urlsplit

from earwitness.audit.judge.budget import Budget
from earwitness.audit.judge.endpoint import Answer, Endpoint
from earwitness.audit.judge.options import JudgeOptions
from earwitness.audit.transform.rewriting import Candidate
from earwitness.audit.transform.words import Task

_FILE = Path(__file__).parent / "data" / "rewrite_prompt.txt"
_TOKENS, _LONGEST = 200, 1000
# Questions without an answer, one after the other, after which the endpoint is held to be gone.
_PATIENCE = 8


@cache
def prompt() -> str:
    """The instructions."""
    return _FILE.read_text(encoding="utf-8")


@cache
def prompt_sha256() -> str:
    """Which prompt a rewriting was made under."""
    return sha256(prompt().encode()).hexdigest()


class LlmRewriter:
    """Asks a model for other words. Use it as a context manager; threads may share it.

    Args:
        options: where and whom to ask, retries, budget; without a URL nothing is asked, and answers at hand are used.
        key: of the hashes under which answers are known.
        answers: answers given before, by hash of the question.

    Attributes:
        fresh: new answers, by hash; whoever keeps them takes them out.
        asked: questions that were put to the endpoint.
        at_hand: questions that were answered before; each counts once.

    Raises:
        MissingExtraError: httpx is not installed.
        JudgeError: the URL is none.
    """

    def __init__(self, options: JudgeOptions, key: bytes, answers: Mapping[str, str] | None = None) -> None:
        self.options, self._key, self._answers = options, key, dict(answers or {})
        self._before = frozenset(self._answers)
        self.name = f"{options.model} {prompt_sha256()}"
        self.fresh: dict[str, str] = {}
        self.asked = 0
        self._used: set[str] = set()
        self._silent_for, self._gone, self._lock = 0, False, Lock()
        budget = Budget(options.max_calls, options.max_tokens)
        self._endpoint = None if options.url is None else Endpoint(options, budget)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._endpoint:
            self._endpoint.__exit__(*exc)

    @property
    def host(self) -> str | None:
        """Host and port of the endpoint; None if nothing is asked."""
        return urlsplit(self._endpoint.place).netloc if self._endpoint else None

    @property
    def at_hand(self) -> int:
        """How many questions were answered by what was known before."""
        return len(self._used)

    def stop(self) -> None:
        """Ask nothing more; a thread that waits for its next try wakes up."""
        if self._endpoint:
            self._endpoint.stop()

    def propose(self, shown: str, task: Task, refused: tuple[str, ...]) -> Candidate:
        """Other words for what is shown; what was answered once is not asked again.

        Raises:
            JudgeError: the endpoint refuses in a way that no retry mends.
        """
        asked = {"text": shown, "protected": task.canonical, "never_write": task.attribute, "refused": list(refused)}
        question = json.dumps(asked, ensure_ascii=False)
        name = self._hash(question)
        if name in self._answers:
            self._used |= {name} & self._before
            return Candidate(self._answers[name])
        told = self._ask(question)
        if told.text is not None:
            self._answers[name] = self.fresh[name] = told.text
        return told

    def _ask(self, question: str) -> Candidate:
        """One question; an answer that cannot be read is asked for once more, as a judge's is."""
        if self._endpoint is None:
            return Candidate(None, "budget")
        for turn in range(2):
            told = self._endpoint.post(_messages(question), _TOKENS)
            with self._lock:
                self.asked += turn == 0 and not (isinstance(told, Answer) and told.kind == "budget")
            if isinstance(told, Answer):
                return self._unanswered(told)
            self._silent_for = 0
            text = read_text(told)
            if text is not None:
                return Candidate(text)
        return Candidate(None, "malformed")

    def _unanswered(self, told: Answer) -> Candidate:
        """An endpoint that has not answered for long is asked nothing more."""
        if told.kind == "budget":
            return Candidate(None, "error" if self._gone else "budget")
        with self._lock:
            self._silent_for += 1
            self._gone = self._gone or self._silent_for >= _PATIENCE
        if self._gone:
            self.stop()
        return Candidate(None, "error")

    def _hash(self, question: str) -> str:
        told = f"{prompt_sha256()}/{self.options.model}/{question}".encode("utf-8", "surrogatepass")
        return hmac.digest(self._key, told, "sha256").hex()


def _messages(question: str) -> list[dict[str, str]]:
    safe = question.encode("utf-8", "replace").decode()
    return [{"role": "system", "content": prompt()}, {"role": "user", "content": safe}]


def read_text(answer: Any) -> str | None:
    """The rewriting in a chat completion: one short line; None where it is malformed."""
    try:
        told = answer["choices"][0]["message"]["content"]
        text = json.loads(told[told.index("{") : told.rindex("}") + 1])["rewriting"]
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, RecursionError):
        return None
    if not isinstance(text, str) or not text.strip() or len(text) > _LONGEST:
        return None
    return " ".join(text.split())
