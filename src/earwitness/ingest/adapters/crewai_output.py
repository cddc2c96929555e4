"""CrewAI results: the `CrewOutput` of a kickoff as JSON, and what callbacks of tasks and steps are given.

`crew.kickoff().model_dump_json()` gives it, `{"raw": ...}` where a program keeps no more (in a file named after a crew
or flow), `task_callback` a `TaskOutput`, `step_callback` an `AgentFinish` or `AgentAction`, which programs write to a
log with `str`. Each task output names its agent and may hold the agent's own chat, where tool calls and results stand;
a step names nobody. Outputs of a run whose events are in the same import are duplicates.

The format cannot show what delegated agents did, who read which output, memory, files, reasoning, or a run id.

Obtained by: `crew.kickoff().model_dump_json()`.
Versions tried: CrewAI 1.15.30.
Order: order of the tasks; no times.
"""

from typing import Any

from earwitness.ingest.crewai.reader import Reader
from earwitness.ingest.crewai.steps import STEP_LINE, is_task
from earwitness.ingest.record import Context

_LINES = 40


class _CrewAIOutput:
    NAME = "crewai-output"
    TITLE = "CrewAI crew output"
    READER = "crewai"
    PRIORITY = 40  # a task output holds a chat, too

    def sniff_text(self, head: str) -> bool:
        """Whether one of the first lines is a step."""
        return any(map(STEP_LINE.match, head.splitlines()[:_LINES]))

    def sniff(self, value: Any) -> bool:
        if not isinstance(value, dict):
            return False
        if "_line" in value:
            return STEP_LINE.match(str(value["_line"])) is not None
        if "raw" not in value or is_task(value) or value.keys() == {"raw"}:
            return isinstance(value.get("raw"), str)
        return isinstance(value.get("tasks_output"), list) or ("agent_role" in value and "usage_metrics" in value)

    def open(self, context: Context) -> Reader:
        return Reader(context)


ADAPTER = _CrewAIOutput()
