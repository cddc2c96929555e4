"""YAML as data: plain values from the events of the parser, with nothing resolved that a reader could be fooled by.

Aliases are refused, for a few lines of them stand for any amount of text; so is a mapping that repeats a key, as in
JSON. A tag that names a type of some program is passed over: nothing is built, its data stay.
"""

import base64
import binascii
import math
import re
from typing import Any

import yaml

from earwitness.ingest.jsontext import REPEATS

ALIASES = "YAML with aliases, which may stand for any amount of text: they are not followed"
_TOO_DEEP = "nested too deep to be read"
_DEEPEST = 400
_DIGITS = 4000
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?")
# YAML 1.1, as PyYAML writes it.
_WORDS: dict[str, Any] = {
    word: value
    for words, value in (
        (("", "~", "null", "Null", "NULL"), None),
        (("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"), True),
        (("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"), False),
    )
    for word in words
}
_BINARY = "tag:yaml.org,2002:binary"


class YamlError(Exception):
    """Text that is no YAML, or YAML that is not taken; the message gives cause and line, never text."""


def load_yaml(raw: bytes) -> Any:
    """The value of one document.

    Raises:
        YamlError: with cause and line.
    """
    builder = _Builder()
    try:
        for event in yaml.parse(raw, Loader=_LOADER):
            builder.take(event)
    except yaml.YAMLError as error:
        raise YamlError(_cause(error)) from None
    return builder.value


def begin_yaml(raw: bytes) -> Any:
    """What stands in the first document, as far as the text goes; None where it is no YAML that is taken."""
    builder = _Builder()
    try:
        for event in yaml.parse(raw, Loader=_LOADER):
            if isinstance(event, yaml.DocumentEndEvent):
                break
            builder.take(event)
    except yaml.YAMLError:
        pass  # most likely it is cut here
    except YamlError:
        return None
    return builder.value


def _cause(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    return f"not YAML: line {mark.line + 1} of the document cannot be parsed" if mark else "not YAML"


class _Builder:
    """Values from events, without recursion."""

    def __init__(self) -> None:
        self.value: Any = None
        self._stack: list[Any] = []
        self._keys: list[str | None] = []

    def take(self, event: Any) -> None:
        """One more event.

        Raises:
            YamlError: an alias, a key that repeats or is no text, or too deep.
        """
        if isinstance(event, yaml.ScalarEvent):  # most are
            self._put(event)
        elif isinstance(event, yaml.AliasEvent):
            raise YamlError(ALIASES)
        elif isinstance(event, yaml.MappingStartEvent):
            self._open({})
        elif isinstance(event, yaml.SequenceStartEvent):
            self._open([])
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            self._stack.pop()
            self._keys.pop()

    def _put(self, event: Any) -> None:
        if self._stack and isinstance(self._stack[-1], dict) and self._keys[-1] is None:
            if event.value in self._stack[-1]:
                raise YamlError(REPEATS)
            self._keys[-1] = event.value
        else:
            self._attach(_scalar(event))

    def _open(self, value: Any) -> None:
        if len(self._stack) >= _DEEPEST:
            raise YamlError(_TOO_DEEP)
        if self._stack and isinstance(self._stack[-1], dict) and self._keys[-1] is None:
            raise YamlError("YAML with a key that is no text")
        self._attach(value)
        self._stack.append(value)
        self._keys.append(None)

    def _attach(self, value: Any) -> None:
        if not self._stack:
            self.value = value
        elif isinstance(self._stack[-1], list):
            self._stack[-1].append(value)
        else:
            self._stack[-1][self._keys[-1]] = value
            self._keys[-1] = None


def _scalar(event: Any) -> Any:
    """Only what is written plainly is more than text."""
    text: str = event.value
    if event.tag == _BINARY:
        return _bytes_of(text)
    if event.style or event.tag:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if len(text) <= _DIGITS and _INT.fullmatch(text):
        return int(text)
    if len(text) <= _DIGITS and _FLOAT.fullmatch(text):
        number = float(text)
        return number if math.isfinite(number) else text
    return text


def _bytes_of(text: str) -> Any:
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        return text
