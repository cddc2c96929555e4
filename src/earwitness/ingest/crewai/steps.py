"""What callbacks of CrewAI are given, as a user writes it to a log: steps as `str(step)`, task outputs as JSON."""

import re
from typing import Any

from earwitness.ingest.jsontext import decode_text
from earwitness.ingest.pyrepr import read_repr

STEP_LINE = re.compile(r"(?:\w+:? )?(?=Agent(?:Finish|Action)\(thought=)|TaskOutput:? (?=\{)")
_TASK_KEYS = {"description", "expected_output", "raw", "agent", "output_format"}


def is_task(value: dict[str, Any]) -> bool:
    """Whether an object is the output of a task."""
    return value.keys() >= _TASK_KEYS


def step_of(line: str, number: int) -> dict[str, Any] | None:
    """The step of a number, as the output of a task of which only that is known; None for a line that cannot be read.

    A finished step holds what an agent answered; an action what it asked of a tool, and got. Neither names the agent.
    """
    found = STEP_LINE.match(line)
    told = line[found.end() :] if found else ""
    if told.startswith("{"):
        value = decode_text(told)
        return value if isinstance(value, dict) and is_task(value) else None
    value = read_repr(told)
    if not isinstance(value, dict) or not ("output" in value or "tool" in value):
        return None
    return (
        {"raw": value["output"]} if "output" in value else {"raw": "", "messages": _exchange(value, f"action-{number}")}
    )


def _exchange(action: dict[str, Any], key: str) -> list[dict[str, Any]]:
    call = {"id": key, "function": {"name": action["tool"], "arguments": action.get("tool_input")}}
    asked = {"role": "assistant", "content": action.get("thought"), "tool_calls": [call]}
    return [asked, {"role": "tool", "tool_call_id": key, "content": action.get("result")}]
