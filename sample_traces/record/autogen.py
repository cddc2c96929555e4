"""AutoGen agentchat: a swarm; its `run_stream` messages, and beside them the core event log of the same run."""
# requires: autogen-agentchat==0.7.5 autogen-ext==0.7.5

import asyncio
import json
import logging
from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import TaskResult
from autogen_agentchat.conditions import TextMentionTermination
from autogen_agentchat.teams import Swarm
from autogen_core import FunctionCall
from autogen_core.models import CreateResult, ModelFamily, RequestUsage
from autogen_ext.models.replay import ReplayChatCompletionClient
from record import case
from record.output import watch, write

NOTES: dict[str, str] = {}
MODEL = {
    "vision": False,
    "function_calling": True,
    "json_output": True,
    "family": ModelFamily.UNKNOWN,
    "structured_output": False,
}


def claims_lookup(claim: str) -> str:
    """Look up a claim."""
    return json.dumps(case.RECORD)


def note_write(key: str, text: str) -> str:
    """Keep a note."""
    NOTES[key] = text
    return case.NOTED


def note_read(key: str) -> str:
    """Read a note."""
    return NOTES[key]


class Lines(logging.Handler):
    """Keeps each record of the core event log: its message is JSON."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep an event; what the replaying model client warns of on this logger is plain text and no event."""
        if not isinstance(record.msg, str):
            self.lines.append(record.getMessage())


def _turns(agent: str) -> list[case.Turn]:
    """A handoff carries no words of the agent, so what it has to say is a message of its own before."""
    script = case.handing_over(
        lambda sender, receiver, words: case.Turn(words, (case.Call(f"transfer_to_{receiver}", {}, f"to_{receiver}"),))
    )
    turns = []
    for turn in script[agent]:
        hands = turn.calls and turn.calls[0].name.startswith("transfer_to_")
        turns += [case.Turn(turn.text), case.Turn("", turn.calls)] if hands else [turn]
    return turns


def _result(turn: case.Turn) -> CreateResult:
    calls = [FunctionCall(id=c.id, name=c.name, arguments=json.dumps(c.args)) for c in turn.calls]
    return CreateResult(
        content=calls or turn.text,
        finish_reason="function_calls" if calls else "stop",
        usage=RequestUsage(prompt_tokens=11, completion_tokens=7),
        cached=False,
        thought=turn.text if calls and turn.text else None,
    )


class ScriptedClient(ReplayChatCompletionClient):
    """The framework's own replaying client, which also says what it was shown."""

    def __init__(self, agent: str) -> None:
        super().__init__([_result(turn) for turn in _turns(agent)], model_info=MODEL)
        self._agent = agent

    async def create(self, messages: Any, **options: Any) -> CreateResult:
        """The next turn."""
        watch(self._agent, messages)
        return await super().create(messages, **options)


def _agent(name: str, tools: list[Any], handoffs: list[str]) -> AssistantAgent:
    return AssistantAgent(
        name,
        model_client=ScriptedClient(name),
        system_message=case.PROMPTS[name],
        description=name,
        tools=tools,
        handoffs=handoffs,
        max_tool_iterations=5,
    )


async def record() -> list[Any]:
    """The messages of the run."""
    team = Swarm(
        [
            _agent("coordinator", [], ["lead"]),
            _agent("lead", [note_read], ["worker", "coordinator"]),
            _agent("worker", [claims_lookup, note_write], ["lead"]),
        ],
        termination_condition=TextMentionTermination(case.ANSWER),
        name="claims_desk",
    )
    messages = [m async for m in team.run_stream(task=case.REQUEST)]
    return [m.model_dump(mode="json") for m in messages if not isinstance(m, TaskResult)]


if __name__ == "__main__":
    log = Lines()
    logger = logging.getLogger("autogen_core.events")
    logger.setLevel(logging.DEBUG)
    logger.addHandler(log)
    write(asyncio.run(record()))
    write(log.lines, "_core")
