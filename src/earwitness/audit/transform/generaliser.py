"""Other words without any model: what kind of matter a value is about, from a small taxonomy, ever more general."""

import re
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from earwitness.audit.transform.rewriting import Candidate
from earwitness.audit.transform.words import Task

_FILE = Path(__file__).parent / "data" / "taxonomy.txt"


class Class(NamedTuple):
    """One kind of matter: the words that tell it, and what may be said of it, most exact first."""

    pattern: re.Pattern[str]
    says: tuple[str, ...]


class Generaliser:
    """Gives the words of the class that a value is of."""

    def __init__(self) -> None:
        self.name = f"generaliser {_taxonomy_sha256()[:16]}"

    def propose(self, shown: str, task: Task, refused: tuple[str, ...]) -> Candidate:
        """The most exact words that were not refused and do not name the attribute."""
        found = classify(f"{task.canonical} {shown}") or classify((task.attribute or "").replace("_", " "))
        says = found.says if found else ()
        text = next((s for s in says if s not in refused and not _named(s, task.attribute)), None)
        return Candidate(text, None if text else "no_rule")


def classify(text: str) -> Class | None:
    """The class with most words in a text; of equals the first."""
    counts = [(len(c.pattern.findall(text)), c) for c in taxonomy()]
    most = max(counts, key=lambda count: count[0], default=(0, None))
    return most[1] if most[0] else None


@cache
def _taxonomy_sha256() -> str:
    return sha256(_FILE.read_bytes()).hexdigest()


@cache
def taxonomy() -> tuple[Class, ...]:
    """The classes, in the order of the file."""
    classes = []
    for block in _FILE.read_text(encoding="utf-8").split("\n\n"):
        lines = [line for line in block.splitlines() if line and line[0] != "#"]
        if lines:
            stems = " ".join(lines[1:]).split()
            pattern = "|".join(re.escape(s.replace("_", " ")) + (r"\b" if len(s) < 5 else "") for s in stems)
            said = tuple(s.strip() for s in lines[0].split("|"))
            classes.append(Class(re.compile(rf"\b(?:{pattern})", re.IGNORECASE), said))
    return tuple(classes)


def _named(text: str, attribute: str | None) -> bool:
    from earwitness.audit.transform.rewriting import names

    return names(text, attribute)
