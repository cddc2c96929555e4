"""Other words from a model, over any OpenAI-compatible endpoint: frozen prompt, a budget, retries, a cache.

The endpoint sees the value. Its key goes into one header and nowhere else; no error holds a key, a value or a text.
"""

import hmac
import json
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

from earwitness.audit.judge.budget import Budget
from earwitness.audit.judge.endpoint import Answer, Endpoint
from earwitness.audit.judge.errors import JudgeError
from earwitness.audit.judge.options import JudgeOptions
from earwitness.audit.transform.keys import Keys
from earwitness.audit.transform.rewriting import Candidate
from earwitness.audit.transform.words import Task

_FILE = Path(__file__).parent / "data" / "rewrite_prompt.txt"
_TOKENS, _LONGEST = 200, 1000


@cache
def prompt() -> str:
    """The instructions."""
    return _FILE.read_text(encoding="utf-8")


@cache
def prompt_sha256() -> str:
    """Which prompt a rewriting was made under."""
    return sha256(prompt().encode()).hexdigest()


class LlmRewriter(Endpoint):
    """Asks a model for other words. Use it as a context manager.

    Args:
        options: where and whom to ask, retries, budget; `JudgeError` and `MissingExtraError` as for the judge.
        keys: the key of the hashes under which answers are cached.
        answers: answers known before, by hash; new ones are added.
    """

    def __init__(self, options: JudgeOptions, keys: Keys, answers: dict[str, str] | None = None) -> None:
        super().__init__(options, Budget(options.max_calls, options.max_tokens))
        self._hash_key = keys.derive("rewritings")
        self.answers = {} if answers is None else answers

    def __enter__(self) -> Self:
        return self

    def propose(self, shown: str, task: Task, refused: tuple[str, ...]) -> Candidate:
        """Other words for what is shown; the same question is asked once.

        Raises:
            JudgeError: the endpoint refuses in a way that no retry mends.
        """
        asked = {"text": shown, "protected": task.canonical, "never_write": task.attribute, "refused": list(refused)}
        question = json.dumps(asked, ensure_ascii=False)
        name = self._hash(question)
        if name in self.answers:
            return Candidate(self.answers[name])
        told = self.post(_messages(question), _TOKENS)
        if isinstance(told, Answer):
            return Candidate(None, "budget" if told.kind == "budget" else "error")
        text = read_text(told)
        if text is None:
            return Candidate(None, "error")
        self.answers[name] = text
        return Candidate(text)

    def _hash(self, question: str) -> str:
        told = f"{prompt_sha256()}/{self.options.model}/{question}".encode("utf-8", "surrogatepass")
        return hmac.digest(self._hash_key, told, "sha256").hex()


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


def read_answers(path: Path) -> dict[str, str]:
    """Answers that `write_answers` wrote; none if there is no file yet.

    Raises:
        JudgeError: a line is none of its own.
    """
    found: dict[str, str] = {}
    if not path.exists():
        return found
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            told = json.loads(line)
            found[str(told["question"])] = str(told["rewriting"])
        except (ValueError, KeyError, TypeError):
            raise JudgeError(f"{path}, line {number}: no cached rewriting; delete the file to ask anew") from None
    return found


def write_answers(path: Path, answers: dict[str, str]) -> None:
    """Write answers, one a line: keyed hash of the question, and the rewriting."""
    lines = (json.dumps({"question": name, "rewriting": text}, ensure_ascii=False) for name, text in answers.items())
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
