"""The frozen prompt, what is put into it, and what is read out of an answer."""

import json
import math
import re
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

_FILE = Path(__file__).parent / "prompt.txt"
# Characters of a text that are shown: enough for a message, not for a file. The place in question is in the middle.
SHOWN = 6000
_OBJECT = re.compile(r"\{.*\}", re.DOTALL)


class Pair(NamedTuple):
    """A text and a value to be judged.

    Attributes:
        content: id of the text.
        fingerprint: of the value.
        attribute: what the value is.
        value: the value itself.
        also: its aliases.
        text: what is shown of the text.
    """

    content: str
    fingerprint: str
    attribute: str
    value: str
    also: tuple[str, ...]
    text: str


@cache
def prompt() -> str:
    """The instructions."""
    return _FILE.read_text(encoding="utf-8")


@cache
def prompt_sha256() -> str:
    """Which prompt a verdict was given under."""
    return sha256(prompt().encode()).hexdigest()


def messages(pair: Pair) -> list[dict[str, str]]:
    """What is sent: the instructions, and the pair as data."""
    asked = {"attribute": pair.attribute, "protected": pair.value, "also": list(pair.also), "text": pair.text}
    return [
        {"role": "system", "content": prompt()},
        {"role": "user", "content": json.dumps(asked, ensure_ascii=False)},
    ]


def excerpt(text: str, start: int, stop: int) -> str:
    """What is shown of a long text: the place in question, with as much around it as fits."""
    if len(text) <= SHOWN:
        return text
    begin = max(min((start + stop - SHOWN) // 2, len(text) - SHOWN), 0)
    return text[begin : begin + SHOWN]


def read_score(answer: Any) -> float | None:
    """The score in a chat completion; None where it is malformed."""
    try:
        told = answer["choices"][0]["message"]["content"]
        score = json.loads(_OBJECT.search(told).group())["score"]  # type: ignore[union-attr]
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, RecursionError):
        return None
    if isinstance(score, bool) or not isinstance(score, int | float):
        return None
    return float(score) if math.isfinite(score) and 0 <= score <= 1 else None
