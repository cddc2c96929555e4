"""An OpenAI-compatible endpoint: one question at a time, with retries, inside a budget.

The key goes into one header and nowhere else; no error and no log line holds it, a value or a text.
"""

import json
import math
import threading
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import urlsplit

from earwitness.audit.judge.budget import Budget
from earwitness.audit.judge.errors import JudgeError
from earwitness.audit.judge.options import JudgeOptions
from earwitness.audit.judge.prompt import Pair, messages, read_score
from earwitness.schema.errors import MissingExtraError

if TYPE_CHECKING:
    import httpx

EXTRA = "pip install 'earwitness[judge]'"
_LONGEST_WAIT = 30.0
_ANSWER_TOKENS = 200
_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
# What the endpoint will not answer about one text, too long or filtered, it may answer about another.
_THIS_ONE = frozenset({400, 413, 422})
_CURES = {
    401: "the key was refused (401): set {variable} to a key that is valid there",
    403: "the key may not use this model (403): set {variable} to another key, or name another model",
    404: "no such path or model (404): give the base URL, which mostly ends in /v1, and a model it serves",
}

Kind = Literal["scored", "malformed", "failed", "budget"]


class Answer(NamedTuple):
    """What came of a question.

    Attributes:
        kind: scored, malformed twice, failed in spite of retries, or not asked for want of budget.
        score: of a scored one.
        malformed: answers on the way that could not be read.
        cause: why it failed, in short.
    """

    kind: Kind
    score: float | None = None
    malformed: int = 0
    cause: str = ""


class Endpoint:
    """Asks a model for scores. Use it as a context manager; its threads may share it.

    Raises:
        MissingExtraError: httpx is not installed.
        JudgeError: the URL is none.
    """

    def __init__(self, options: JudgeOptions, budget: Budget) -> None:
        if find_spec("httpx") is None:
            raise MissingExtraError(f"the {options.role} needs httpx: {EXTRA}")
        self.options, self.budget = options, budget
        self.place, self._path = _place(options)
        self._stopped = threading.Event()
        self._client = _client(options)

    def __enter__(self) -> "Endpoint":
        return self

    def __exit__(self, *exc: object) -> None:
        self._client.close()

    def stop(self) -> None:
        """Ask nothing more; a thread that waits for its next try wakes up."""
        self._stopped.set()

    @property
    def stopped(self) -> bool:
        """Whether nothing more is to be asked."""
        return self._stopped.is_set()

    def ask(self, pair: Pair) -> Answer:
        """The score of a pair; a malformed answer is asked for once more.

        Raises:
            JudgeError: the endpoint refuses in a way that no retry mends.
        """
        for malformed in range(2):
            told = self.post(messages(pair), _ANSWER_TOKENS)
            if isinstance(told, Answer):
                return told._replace(malformed=malformed)
            score = read_score(told)
            if score is not None:
                return Answer("scored", score, malformed)
        return Answer("malformed", malformed=2)

    def post(self, asked: list[dict[str, str]], tokens: int) -> Any:
        """The decoded body of what is answered to messages, or the `Answer` that says why there is none.

        Raises:
            JudgeError: the endpoint refuses in a way that no retry mends.
        """
        body = {"model": self.options.model, "temperature": 0, "max_tokens": tokens, "messages": asked}
        cause = ""
        for attempt in range(self.options.retries + 1):
            if self._stopped.is_set() or not self.budget.take():
                return Answer("budget")
            response, cause = self._send(body)
            if response is not None and response.status_code not in _AGAIN:
                return self._read(response, body)
            if attempt < self.options.retries:
                self._stopped.wait(self._delay(attempt, response))
        return Answer("failed", cause=cause)

    def _send(self, body: dict[str, Any]) -> tuple["httpx.Response | None", str]:
        import httpx

        try:
            response = self._client.post(self._path, json=body)
        except httpx.TimeoutException:
            return None, "time-out"
        except httpx.RequestError as error:
            return None, f"no connection ({type(error).__name__})"
        return response, f"status {response.status_code}"

    def _read(self, response: "httpx.Response", body: dict[str, Any]) -> Any:
        status = response.status_code
        if status in _THIS_ONE:
            return Answer("failed", cause=f"status {status}")
        if status != 200:
            cure = _CURES.get(status, f"it answered with status {status}: see whether it is OpenAI-compatible")
            cure = cure.format(variable=self.options.key_variable)
            raise JudgeError(f"{self.options.role} at {self.place}: {cure}")
        try:
            answer = response.json()
        except (ValueError, RecursionError):
            answer = None
        self.budget.spend(_tokens(answer, body))
        return answer

    def _delay(self, attempt: int, response: "httpx.Response | None") -> float:
        try:
            asked = float(response.headers.get("retry-after", "")) if response is not None else 0.0
        except ValueError:
            asked = 0.0
        own = self.options.backoff * 2.0**attempt
        return min(max(own, asked if math.isfinite(asked) else 0.0), _LONGEST_WAIT)


def _client(options: JudgeOptions) -> "httpx.Client":
    import httpx

    key = (options.key or "").strip()
    if not (key.isascii() and key.isprintable()):
        raise JudgeError(f"the key holds characters that no key has: set {options.key_variable} anew")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    limits = httpx.Limits(max_connections=options.concurrency, max_keepalive_connections=options.concurrency)
    # A redirect would carry values to a host nobody named.
    return httpx.Client(headers=headers, timeout=options.timeout, limits=limits, follow_redirects=False)


def _place(options: JudgeOptions) -> tuple[str, str]:
    """The endpoint as it may be told, and the URL to post to."""
    url, like = options.url, f"the {options.role}'s URL must be like http://127.0.0.1:8000/v1 or https://HOST/v1"
    try:
        parts = urlsplit(url or "")
        known = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        known = False
    if not known:
        raise JudgeError(like)
    if parts.username or parts.password or parts.query or parts.fragment:
        raise JudgeError(f"{like}, without name, password or query: the key belongs into {options.key_variable}")
    place = (url or "").rstrip("/")
    return place, f"{place}/chat/completions"


def _tokens(answer: Any, body: dict[str, Any]) -> int:
    """Tokens that a request used; estimated where the endpoint does not tell, so that a budget holds all the same."""
    try:
        return max(int(answer["usage"]["total_tokens"]), 0)
    except (KeyError, TypeError, ValueError, OverflowError):
        return len(json.dumps(body)) // 4 + _ANSWER_TOKENS // 2
