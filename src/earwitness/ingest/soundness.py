"""Whether the fields of an item are of their types: nothing checks that when an adapter makes one."""

from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec

from earwitness.schema.model import Item

_PACK = msgspec.msgpack.Encoder().encode


def is_sound(item: Item) -> bool:
    """Whether an item is one: a name may be no text, a number too large."""
    try:
        _reader(type(item))(_PACK(item))
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError):
        return _converts(item)
    return True


@cache
def _reader(kind: type) -> Callable[[bytes], Any]:
    return msgspec.msgpack.Decoder(kind).decode


def _converts(item: Item) -> bool:
    """The same at leisure: lone surrogates and integers above 64 bits have no form in msgpack."""
    try:
        msgspec.convert(msgspec.to_builtins(item), type(item))
    except (msgspec.ValidationError, TypeError, ValueError, RecursionError):
        return False
    return True
