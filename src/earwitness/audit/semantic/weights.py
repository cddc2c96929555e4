"""How much a word tells: the rarer, the more. From the case's own sentences and, where those are few, from others."""

from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from earwitness.audit.semantic.sentences import Sentences
from earwitness.audit.semantic.words import Ints, Vocabulary, distinct

Floats = npt.NDArray[np.float64]

# The background counts as much as this many sentences of the case.
_PRIOR = 2000
_PER = 1_000_000
_BACKGROUND = Path(__file__).parent / "background.txt"


@cache
def _background() -> dict[str, float]:
    lines = _BACKGROUND.read_text(encoding="utf-8").splitlines()[1:]
    return {s: int(n) / _PER for s, n in (line.split() for line in lines)}


def weights(stems: list[str], held: Ints, sentences: int) -> Floats:
    """Weight of each stem.

    Args:
        stems: the stems.
        held: how many sentences of the case hold each.
        sentences: how many sentences were looked at.
    """
    known = _background()
    # What the background does not list is rarer than the rarest it lists.
    rare = min(known.values()) / 4
    prior = np.array([known.get(s, rare) for s in stems])
    told: Floats = -np.log((held + _PRIOR * prior) / (sentences + _PRIOR))
    return told


def count(read: Sentences, vocabulary: Vocabulary) -> tuple[Ints, int]:
    """In how many sentences each stem stands, and how many sentences there are."""
    of_word, stems = stems_of(read, vocabulary)
    size = max(len(vocabulary.stems), 1)
    pairs = distinct(of_word * size + stems)
    return np.bincount(pairs % size, minlength=len(vocabulary.stems)), len(read.rows)


def stems_of(read: Sentences, vocabulary: Vocabulary) -> tuple[Ints, Ints]:
    """Sentence and stem of every word whose stem is in the vocabulary."""
    stems = vocabulary.look_up(read.words.distinct)[read.words.kind]
    kept = stems >= 0
    return read.of_word[kept], stems[kept]
