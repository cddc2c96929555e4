"""CrewAI results: the `CrewOutput` of a kickoff as JSON.

`crew.kickoff().model_dump_json()` gives it. Each task output names its agent and may hold the agent's own chat, where
tool calls and results stand. Outputs of a run whose events are in the same import are duplicates.

The format cannot show what delegated agents did, who read which output, memory, files, reasoning, or a run id.
"""

from typing import Any

from earwitness.ingest.crewai.reader import Reader
from earwitness.ingest.record import Context


class _CrewAIOutput:
    NAME = "crewai-output"
    TITLE = "CrewAI crew output"
    READER = "crewai"

    def sniff(self, value: Any) -> bool:
        if not isinstance(value, dict) or "raw" not in value:
            return False
        return isinstance(value.get("tasks_output"), list) or ("agent_role" in value and "usage_metrics" in value)

    def open(self, context: Context) -> Reader:
        return Reader(context)


ADAPTER = _CrewAIOutput()
