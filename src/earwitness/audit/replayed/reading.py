"""How the passes read contents: in batches of some megabytes, and what is longer than one in pieces."""

from collections.abc import Iterator

import pyarrow as pa

from earwitness.audit.scan import batches
from earwitness.schema.case import Case
from earwitness.schema.progress import Progress

BATCH_BYTES = 8 << 20


def contents(case: Case, where: str, what: str, progress: Progress) -> Iterator[tuple[pa.Array, pa.Array, int]]:
    """Ids, texts, and the code point at which the texts begin; it is 0 but for pieces.

    Args:
        case: its contents as the import committed them.
        where: SQL, which contents.
        what: told to `progress`.
        progress: told how many bytes were read.
    """
    # A second cursor reads what the import committed while the transaction of the stage writes.
    with case.con.cursor() as reading:
        reader = reading.sql(f"SELECT content, text FROM contents WHERE {where}").to_arrow_reader(50_000)
        done = 0
        for ids, texts in batches(reader, BATCH_BYTES):
            if len(texts) == 1 and texts.nbytes > BATCH_BYTES:
                yield from (
                    (ids, pa.array([piece]), base) for base, piece in pieces(texts[0].as_py(), BATCH_BYTES // 2)
                )
            else:
                yield ids, texts, 0
            done += texts.nbytes
            progress(what, done)


def pieces(text: str, size: int) -> Iterator[tuple[int, str]]:
    """A long text cut behind line ends, or where it has none for long behind blanks or commas."""
    at = 0
    while at < len(text):
        to = at + size
        if to < len(text):
            to = next((cut + 1 for mark in "\n ," if (cut := text.rfind(mark, at + size // 2, to)) >= 0), to)
        yield at, text[at:to]
        at = to
