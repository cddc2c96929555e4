"""Static embeddings of WordLlama: a table of vectors for pieces of words, in the extra `[static]`.

Weights and tokenizer are read by hand from the installed package: its own loader asks the network. A sentence is the
sum of its words, each weighted by how rare it is.
"""

from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from earwitness.audit.semantic.similar import Vectors
from earwitness.audit.semantic.stems import stem
from earwitness.audit.semantic.weights import weights
from earwitness.audit.semantic.words import split
from earwitness.schema.errors import MissingExtraError

EXTRA = "pip install 'earwitness[static]'"
DIMENSIONS = 256
WEIGHTS_SHA256 = "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5"
TOKENIZER_SHA256 = "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68"
_REMEMBERED = 200_000


class Static:
    """Sentence embeddings out of a table of word pieces.

    Raises:
        MissingExtraError: the extra is not installed, or the weights are not those that were tried.
    """

    def __init__(self) -> None:
        self._table, self._tokenizer = _open()
        self._words: dict[str, Vectors] = {}

    def encode(self, texts: list[str]) -> Vectors:
        """One unit vector a text; zero where it has no content word."""
        raw = [t.encode("utf-8", "replace") for t in texts]
        bounds = np.cumsum([0, *(len(r) + 1 for r in raw)])
        words = split(np.frombuffer(b" ".join(raw) + b" ", np.uint8))
        rows = np.searchsorted(bounds, words.starts, side="right") - 1
        table = self._vectors(words.distinct)
        out = np.zeros((len(texts), DIMENSIONS), np.float32)
        for at in range(0, len(rows), 50_000):
            np.add.at(out, rows[at : at + 50_000], table[words.kind[at : at + 50_000]])
        norms = np.linalg.norm(out, axis=1, keepdims=True)
        unit: Vectors = out / np.maximum(norms, 1e-9)
        return unit

    def _vectors(self, words: list[str]) -> Vectors:
        if len(self._words) > _REMEMBERED:
            self._words.clear()
        fresh = [w for w in words if w not in self._words]
        roots = [stem(w) for w in fresh]
        told = weights([r or "" for r in roots], np.zeros(len(fresh), np.int64), 0)
        pieces = self._tokenizer.encode_batch(fresh, add_special_tokens=False)
        for word, root, weight, piece in zip(fresh, roots, told, pieces, strict=True):
            vector = self._table[piece.ids].sum(axis=0) if root and piece.ids else np.zeros(DIMENSIONS, np.float32)
            self._words[word] = (vector * weight).astype(np.float32)
        return np.stack([self._words[w] for w in words]) if words else np.zeros((0, DIMENSIONS), np.float32)


def _open() -> tuple[Vectors, Any]:
    """Table and tokenizer, after their hashes were checked."""
    spec = find_spec("wordllama")
    if spec is None or spec.origin is None or find_spec("tokenizers") is None:
        raise MissingExtraError(f"WordLlama is not installed: {EXTRA}")
    home = Path(spec.origin).parent
    table = _checked(home / "weights" / "l2_supercat_256.safetensors", WEIGHTS_SHA256)
    tokenizer = _checked(home / "tokenizers" / "l2_supercat_tokenizer_config.json", TOKENIZER_SHA256)
    reader: Any = import_module("tokenizers").Tokenizer
    # A safetensors file of one tensor: length of the header, header, half floats to the end.
    begin = 8 + int.from_bytes(table[:8], "little")
    vectors = np.frombuffer(table, np.float16, offset=begin).reshape(-1, DIMENSIONS).astype(np.float32)
    return vectors, reader.from_str(tokenizer.decode("utf-8"))


def _checked(path: Path, wanted: str) -> bytes:
    raw = path.read_bytes() if path.is_file() else b""
    if sha256(raw).hexdigest() != wanted:
        raise MissingExtraError(f"the installed WordLlama files are not those that were tried: {EXTRA}")
    return raw
