"""The gate of verified rewriting: what the program's own detectors say of a candidate, read by itself.

Two looks, of which the surer counts. The replayed detector says whether something that looks like a secret stands in
the candidate; the methods of the semantic tier say how much of the value does.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING

from earwitness.audit.semantic.containment import FEWEST_SHARED
from earwitness.audit.semantic.stems import stem
from earwitness.audit.transform.words import Task

if TYPE_CHECKING:
    from earwitness.audit.ner import NameFinder
    from earwitness.audit.semantic.similar import Encoder

# Candidates whose scores are kept: the same few are offered for many values.
_KNOWN = 4096
Nearness = Callable[[str, str], float]


class DetectorGate:
    """Scores how surely a text still discloses a value, 0 to 1; the text alone, not what stands around it.

    Args:
        semantic: methods of the semantic tier: containment, static, minilm.
        ner: names of persons and places count as finds, too.
    """

    def __init__(self, semantic: Sequence[str] = ("containment",), *, ner: bool = False) -> None:
        self._semantic, self._ner = tuple(semantic), ner
        self.name = _name(semantic, ner)
        self._seen = lru_cache(_KNOWN)(self._look)

    def __repr__(self) -> str:
        return f"DetectorGate({self.name})"

    def __call__(self, text: str, task: Task) -> float:
        """The score of a candidate for the value of a task.

        Raises:
            MissingExtraError: a method, or names, need an extra that is not installed.
        """
        return max(self._seen(text), *(near(task.canonical, text) for near in self._nearness), 0.0)

    @cached_property
    def _nearness(self) -> list[Nearness]:
        return [_METHODS[method]() for method in self._semantic]

    @cached_property
    def _names(self) -> "NameFinder | None":
        return _name_finder() if self._ner else None

    def _look(self, text: str) -> float:
        """The confidence of the surest find."""
        import pyarrow as pa

        from earwitness.audit.replayed.bulk import recognize

        texts = pa.array([text.encode("utf-8", "replace").decode()])
        found = [recognize(texts), *([self._names.find(texts)] if self._names else [])]
        return max((float(max(f["confidence"])) for f in found if len(f)), default=0.0)


def contained(value: str, text: str) -> float:
    """The share of a value's words that a text holds, by weight, as stems; 0 where they share fewer than two.

    As the semantic tier compares them, with the weights of its background alone: they do not depend on a case.
    """
    told = _stems(value)
    shared = [weight for root, weight in told.items() if root in _stems(text)]
    if len(shared) < min(FEWEST_SHARED, len(told)) or not shared:
        return 0.0
    return min(sum(shared) / sum(told.values()), 1.0)


@lru_cache(_KNOWN)
def _stems(text: str) -> Mapping[str, float]:
    """The stems of the words of a text and what each weighs."""
    import numpy as np

    from earwitness.audit.semantic.weights import weights
    from earwitness.audit.semantic.words import split

    raw = np.frombuffer(text.encode("utf-8", "replace") + b" ", np.uint8)
    roots = sorted({root for word in split(raw).distinct if (root := stem(word)) is not None})
    return dict(zip(roots, weights(roots, np.zeros(len(roots), np.int64), 0).tolist(), strict=True))


def _contained() -> Nearness:
    return contained


def _static() -> Nearness:
    from earwitness.audit.semantic.embeddings import Static

    return _cosine(Static())


def _minilm() -> Nearness:
    from earwitness.audit.semantic.minilm import MiniLM

    return _cosine(MiniLM())


_METHODS: Mapping[str, Callable[[], Nearness]] = {"containment": _contained, "static": _static, "minilm": _minilm}


def _cosine(encoder: "Encoder") -> Nearness:
    @lru_cache(_KNOWN)
    def vector(text: str) -> list[float]:
        told: list[float] = encoder.encode([text.encode("utf-8", "replace").decode()])[0].tolist()
        return told

    def near(value: str, text: str) -> float:
        return min(max(sum(a * b for a, b in zip(vector(value), vector(text), strict=True)), 0.0), 1.0)

    return near


def _name_finder() -> "NameFinder":
    from earwitness.audit.ner import NameFinder

    return NameFinder()


def _name(semantic: Sequence[str], ner: bool) -> str:
    """What looks, and by which recognizers: rewritings that another gate let through are not taken for its own."""
    from earwitness.audit.recognizers.registry import find_recognizers

    known = " ".join(r.name for r in find_recognizers())
    names = ["recognizers", *(["names"] if ner else []), *semantic]
    return f"{' + '.join(names)} ({sha256(known.encode()).hexdigest()[:8]})"
