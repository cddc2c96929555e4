"""Nearness of sentences and values by their embeddings: matrix products, group by group, in blocks."""

from collections import OrderedDict
from collections.abc import Iterator
from hashlib import blake2b
from typing import Protocol

import numpy as np
import numpy.typing as npt

from earwitness.audit.semantic.entries import Entries
from earwitness.audit.semantic.found import Found, Held, best, join
from earwitness.audit.semantic.sentences import Sentences
from earwitness.audit.semantic.stems import stem
from earwitness.audit.semantic.words import Ints

Vectors = npt.NDArray[np.float32]

# Sentences whose embeddings are kept for the next batch.
_REMEMBERED = 50_000
# Sentences compared in one go.
_BLOCK = 4096
# Fewer content words than this tell no fact.
FEWEST = 2


class Encoder(Protocol):
    """Makes unit vectors of sentences."""

    def encode(self, texts: list[str]) -> Vectors:
        """One row a text."""
        ...


class Similar:
    """Finds entries in sentences by the angle between their embeddings.

    Args:
        entries: what to look for.
        encoder: makes embeddings; the bare value and each alias are embedded by themselves.
        threshold: least cosine that counts.
    """

    def __init__(self, entries: Entries, encoder: Encoder, threshold: float) -> None:
        self.entries, self.encoder, self.threshold = entries, encoder, threshold
        self._order = np.argsort(entries.groups, kind="stable")
        self._groups = entries.groups[self._order]
        distinct, back = np.unique(np.array(entries.texts, object), return_inverse=True)
        self._vectors = encoder.encode(distinct.tolist())[back]
        self._cache: OrderedDict[bytes, Vectors] = OrderedDict()

    def find(self, read: Sentences, held: Held) -> Found:
        """Sentences near enough to an entry."""
        numbers = _telling(read)
        if not len(numbers):
            return join([])
        vectors = self._embed([read.text(n) for n in numbers.tolist()])
        rows = read.rows[numbers]
        parts: list[Found] = []
        for group, members in _by_group(rows, held):
            low, high = np.searchsorted(self._groups, [group, group + 1])
            wanted = self._order[low:high]
            for at in range(0, len(members), _BLOCK):
                parts += self._compare(vectors, rows, numbers, members[at : at + _BLOCK], wanted)
        return join(parts)

    def _compare(self, vectors: Vectors, rows: Ints, numbers: Ints, members: Ints, wanted: Ints) -> Iterator[Found]:
        for at in range(0, len(wanted), _BLOCK):
            some = wanted[at : at + _BLOCK]
            near = vectors[members] @ self._vectors[some].T
            sentence, entry = np.nonzero(near >= self.threshold)
            if len(sentence):
                chosen, scores = members[sentence], near[sentence, entry].astype(np.float64)
                values = self.entries.values[some[entry]]
                yield best(Found(rows[chosen], values, np.minimum(scores, 1.0), numbers[chosen], numbers[chosen]))

    def _embed(self, texts: list[str]) -> Vectors:
        """Embeddings of sentences; each distinct one is computed once, and not again in the next batch."""
        marks = [blake2b(t.encode("utf-8", "replace"), digest_size=16).digest() for t in texts]
        fresh = {m: t for m, t in zip(marks, texts, strict=True) if m not in self._cache}
        made = dict(zip(fresh, self.encoder.encode(list(fresh.values())), strict=True)) if fresh else {}
        vectors = np.stack([made[m] if m in made else self._cache[m] for m in marks])
        self._cache.update(made)
        while len(self._cache) > _REMEMBERED:
            self._cache.popitem(last=False)
        return vectors


def _telling(read: Sentences) -> Ints:
    """Sentences with enough content words."""
    content = np.array([stem(w) is not None and w.isalpha() for w in read.words.distinct], np.bool_)
    told = np.bincount(read.of_word[content[read.words.kind]], minlength=len(read.rows))
    return np.flatnonzero(told >= FEWEST)


def _by_group(rows: Ints, held: Held) -> Iterator[tuple[int, Ints]]:
    """Each group with the sentences that lie in it."""
    at, until = np.searchsorted(rows, held.rows), np.searchsorted(rows, held.rows, side="right")
    order = np.argsort(held.groups, kind="stable")
    groups, first = np.unique(held.groups[order], return_index=True)
    for group, texts in zip(groups.tolist(), np.split(order, first[1:]), strict=True):
        yield group, np.concatenate([np.arange(at[t], until[t]) for t in texts])
