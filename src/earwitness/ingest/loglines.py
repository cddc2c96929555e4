"""Lines of Python's `logging`: time, logger, level and message, in the formats that people use, as blocks of lines."""

import re
from dataclasses import dataclass, field

from earwitness.ingest.record import Place, Record

_LEVELS = r"DEBUG|INFO|WARNING|ERROR|CRITICAL"
_HEADER = re.compile(
    r"\[?(?:(?P<time>\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?)(?:[\s|\]-]+))?"
    rf"(?:\[?(?P<before>{_LEVELS})\]?[\s:|-]+)?"
    r"(?P<logger>[A-Za-z_]\w*(?:\.\w+)*)(?::\d+)?"
    rf"(?:[\s:|\]\[-]+(?P<after>{_LEVELS})\b\]?)?(?:\s+-(?=\s)|\s*[:|])?\s?"
)


@dataclass
class Block:
    """A message with all of its lines.

    Attributes:
        logger: the name of the logger.
        level: of the message.
        time: of the message, as the log has it; local, mostly.
        lines: of the message.
    """

    logger: str
    level: str
    time: str | None
    place: Place
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The message."""
        return "\n".join(self.lines)

    def add(self, record: Record) -> None:
        """A line that continues the message, and the blank lines above it."""
        self.lines += [*record.value.get("_above", ()), record.value["_line"]]


def begins(record: Record) -> Block | None:
    """The block that a line begins; None where it continues one."""
    line = record.value["_line"]
    found = _HEADER.match(line)
    level = found and (found["before"] or found["after"])
    if found is None or level is None:
        return None
    time = found["time"].replace(" ", "T").replace(",", ".") if found["time"] else None
    return Block(found["logger"], level, time, record.place, [line[found.end() :]])
