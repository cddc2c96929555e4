"""CrewAI stores: rows of `latest_kickoff_task_outputs.db` and `flow_states.db` (SQLite), or a dump of them.

CrewAI keeps the task outputs of the last kickoff, and with `@persist` the state of a flow after each method, in
its storage folder (`CREWAI_STORAGE_DIR`). What a method changed in the state is a write to shared memory. Rows of a run
whose events are in the same import are duplicates.

The format cannot show what was said between agents; of a flow it shows the saved states only.

Obtained by: the files of the storage folder (`CREWAI_STORAGE_DIR`).
Versions tried: CrewAI 1.15.30.
Order: number of the row, with times.
"""

from typing import Any

from earwitness.ingest.crewai.reader import Reader
from earwitness.ingest.record import Context

_TABLES = ("latest_kickoff_task_outputs", "flow_states", "pending_feedback", "sqlite_sequence")


class _CrewAITables:
    NAME = "crewai-tables"
    TITLE = "CrewAI stores"
    READER = "crewai"
    PRIORITY = 60

    def sniff(self, value: Any) -> bool:
        return isinstance(value, dict) and value.get("_table") in _TABLES

    def open(self, context: Context) -> Reader:
        return Reader(context)


ADAPTER = _CrewAITables()
