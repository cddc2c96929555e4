"""CrewAI task log: start and end of each task, as `output_log_file` writes it.

`Crew(output_log_file="log.json")` gives one JSON array, any other name lines of text (`.txt`), in which nothing is
escaped: an output of many lines is put together again. Times are local.

The format cannot show anything but task outputs: no tools, no memory, no reasoning, no delegation, and no run id.

Obtained by: `Crew(output_log_file=...)`.
Versions tried: CrewAI 1.15.30.
Order: file order; local times in seconds.
"""

from typing import Any

from earwitness.ingest.crewai.outputs import LOG_LINE
from earwitness.ingest.crewai.reader import Reader
from earwitness.ingest.record import Context

_KEYS = {"timestamp", "task_name", "task", "agent", "status"}


class _CrewAILog:
    NAME = "crewai-log"
    TITLE = "CrewAI task log"
    READER = "crewai"
    PRIORITY = 20

    def sniff_text(self, head: str) -> bool:
        """Whether text begins like a log; lines of an output need not look like one."""
        return LOG_LINE.match(head) is not None

    def sniff(self, value: Any) -> bool:
        if not isinstance(value, dict):
            return False
        if "_line" in value:
            return LOG_LINE.match(str(value["_line"])) is not None
        return value.keys() >= _KEYS and value.keys() <= _KEYS | {"output"}

    def open(self, context: Context) -> Reader:
        return Reader(context)


ADAPTER = _CrewAILog()
