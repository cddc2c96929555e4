"""Writes a recording: one JSON record a line, without the paths and the name of the machine it was made on.

Beside it, `<stem>.shown.json` says which protected values each agent's model was really shown, as the scripted models
saw it. That does not come from the recording, so what an audit finds in the recording can be compared with it.
"""

import dataclasses
import json
import os
import platform
import re
import site
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from record.case import AGENTS, PROTECTED

_SHOWN: dict[str, set[str]] = {agent: set() for agent in AGENTS}
_PLACES = (*site.getsitepackages(), sys.prefix, sys.base_prefix, os.getcwd(), tempfile.gettempdir(), str(Path.home()))


def watch(agent: str, context: Any) -> None:
    """What the model of an agent was given to read, in whatever shape its framework gives it."""
    text = str(context)
    _SHOWN[agent] |= {attribute for attribute, value in PROTECTED.items() if value in text}


def plain(value: Any) -> Any:
    """What `json.dumps` should make of an object of a framework: the encoder most people write."""
    if hasattr(value, "model_dump"):
        return value.model_dump()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, set | frozenset):
        return sorted(value)
    return str(value)


def scrub(text: str) -> str:
    """A line without absolute paths of this machine and without its name."""
    for place in sorted({os.path.realpath(p) for p in _PLACES} | set(_PLACES), key=len, reverse=True):
        if len(place) > 1:
            text = text.replace(place, "<path>")
    return re.sub(rf"\b{re.escape(platform.node())}\b", "<host>", text) if platform.node() else text


def write(records: Iterable[Any], suffix: str = "") -> None:
    """Write records, or lines that are JSON already, to the file named on the command line; `suffix` ends its stem."""
    lines = [r if isinstance(r, str) else json.dumps(r, default=plain, ensure_ascii=False) for r in records]
    path = Path(sys.argv[1])
    path.with_stem(path.stem + suffix).write_text("".join(scrub(line) + "\n" for line in lines), encoding="utf-8")
    if not suffix:
        shown = {agent: sorted(values) for agent, values in _SHOWN.items()}
        path.with_suffix(".shown.json").write_text(json.dumps(shown, indent=1) + "\n", encoding="utf-8")
