"""Rows by number, of which only those met lately are in memory."""

from collections.abc import Iterator
from functools import cache
from typing import Any, Generic, TypeVar

import msgspec

from earwitness.ingest.shelf import Key, Shelf

R = TypeVar("R", bound=msgspec.Struct)

# Rows of a page, and pages at hand besides the one that is written.
_PAGE, _AT_HAND = 256, 8
_ENCODE = msgspec.msgpack.Encoder().encode


class Book(Generic[R]):
    """Rows in order: pages that nobody looked at lately lie on a shelf, with what was changed in them.

    A row may be changed until `rest` is called; who looks at it later gets it anew by its number.

    Args:
        kind: of its rows.
    """

    def __init__(self, kind: type[R]) -> None:
        self._kind = kind
        self._pages: dict[int, list[R]] = {}
        self._last: list[R] = []
        self._keys: dict[int, tuple[Key, bool]] = {}
        self._read: dict[int, bytes] = {}  # of the pages at hand that were read, the bytes
        self._shelf: Shelf | None = None
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def append(self, row: R) -> int:
        """Put a row behind the others; gives its number."""
        number = self._size
        if not number % _PAGE:
            self._last = self._pages[number // _PAGE] = []
        self._last.append(row)
        self._size = number + 1
        return number

    def __getitem__(self, number: int) -> R:
        page = self._pages.get(number // _PAGE)
        return (self._fetch(number // _PAGE) if page is None else page)[number % _PAGE]

    def __iter__(self) -> Iterator[R]:
        """All rows, in order, to look at: what is changed in them now is not kept."""
        for number in range(-(-self._size // _PAGE)):
            yield from self._pages.get(number) or self._page(number)[0]

    def rest(self) -> None:
        """Put pages aside, if many are at hand."""
        more = len(self._pages) - _AT_HAND
        if more > 0:
            written = (self._size - 1) // _PAGE
            for number in [n for n in self._pages if n != written][:more]:
                self._put_aside(number)

    def _put_aside(self, number: int) -> None:
        page = self._pages.pop(number)
        raw = _packed(page)
        if raw is None or raw != self._read.pop(number, None):
            shelf = self._open()
            self._keys[number] = (shelf.put_whole(page), True) if raw is None else (shelf.put(raw), False)

    def _open(self) -> Shelf:
        if self._shelf is None:
            self._shelf = Shelf()
        return self._shelf

    def _fetch(self, number: int) -> list[R]:
        """A page at hand again."""
        page, raw = self._page(number)
        self._pages[number], self._read[number] = page, raw
        return page

    def _page(self, number: int) -> tuple[list[R], bytes]:
        key, whole = self._keys[number]
        if whole:
            return self._open().get_whole(key), b""
        raw: bytes = self._open().get(key)
        return _decoder(self._kind).decode(raw), raw


def _packed(page: list[R]) -> bytes | None:
    """The bytes of rows; None for what MessagePack cannot hold: half of a surrogate pair, a number of many digits."""
    try:
        return _ENCODE(page)
    except (UnicodeEncodeError, OverflowError):
        return None


@cache
def _decoder(kind: Any) -> msgspec.msgpack.Decoder[Any]:
    return msgspec.msgpack.Decoder(list[kind])
