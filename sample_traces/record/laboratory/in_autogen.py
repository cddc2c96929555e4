"""AutoGen plays the laboratory: an agent is a tool of the agents that may begin a talk with it.

An agent is shown what is sent to it and what its own tools give back. Each of the two original agents keeps notes in
a memory of its own.

    python -m record.laboratory.in_autogen JOBS OUT
"""
# requires: autogen-agentchat==0.7.5 autogen-ext==0.7.5

import asyncio
import json
import uuid
from collections import Counter
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.messages import TextMessage
from autogen_agentchat.tools import AgentTool
from autogen_core import FunctionCall
from autogen_core.memory import ListMemory, MemoryContent, MemoryMimeType
from autogen_core.models import CreateResult, ModelFamily, RequestUsage
from autogen_ext.models.replay import ReplayChatCompletionClient
from record.laboratory.cells import ORIGINAL
from record.laboratory.jobs import Job
from record.laboratory.mind import Role, Say, Seen, Step, record_of, request, think
from record.laboratory.player import play_lines
from record.laboratory.truth import Truth

MODEL = {
    "vision": False,
    "function_calling": True,
    "json_output": True,
    "family": ModelFamily.UNKNOWN,
    "structured_output": False,
}
_USAGE = RequestUsage(prompt_tokens=0, completion_tokens=0)


class Desk:
    """The agents of one run, and what happens between them."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.truth = Truth(job.trace)
        self.roles = job.roles(keeps_notes=ORIGINAL)
        self.agents: dict[str, AssistantAgent] = {}
        self.asked: dict[str, tuple[str, Step]] = {}
        self.calls = 0
        self.notes = {agent: Notes(self, agent) for agent in ORIGINAL}

    def agent(self, name: str) -> AssistantAgent:
        """An agent, with those it may call as its tools."""
        if name not in self.agents:
            role = self.roles[name]
            tools = [self.tool(name, tool) for tool in ("vault_lookup", "registry_check", "file_report", "keep_note")]
            self.agents[name] = AssistantAgent(
                name,
                model_client=ScriptedClient(self, role),
                system_message=None,
                description=name,
                tools=[*tools, *(AgentTool(self.agent(b), return_value_as_last_message=True) for b in role.below)],
                memory=[self.notes[name]] if role.keeps_notes else None,
                max_tool_iterations=99,
            )
        return self.agents[name]

    def tool(self, agent: str, name: str) -> Callable[[str], Any]:
        """A tool, as one agent has it."""

        async def work(text: str) -> str:
            say = record_of(self.roles[agent]) if name == "vault_lookup" else Say("That is done.")
            _, step = self.asked[name]
            if name == "keep_note":
                await self.notes[agent].keep(step.say)
            self.truth.tell("C4", name, [agent], say, f"c{self.calls}:result", step.turn, step.archetype)
            return say.text

        work.__name__ = work.__doc__ = name
        return work

    def step(self, role: Role, context: list[Seen]) -> CreateResult:
        """What the script answers, in the framework's words."""
        step = think(role, context)
        if step.call is None:
            self._answered(role.agent, step)
            return CreateResult(content=step.say.text, finish_reason="stop", usage=_USAGE, cached=False)
        self.calls += 1
        if step.thought:
            self.truth.tell("C6", role.agent, [], step.thought, f"ThoughtEvent {role.agent}", step.turn, step.archetype)
        channel = "C2" if step.asks_agent else "C3"
        self.truth.tell(channel, role.agent, [step.call], step.say, f"c{self.calls}", step.turn, step.archetype)
        self.asked[step.call] = role.agent, step
        args = json.dumps({"task" if step.asks_agent else "text": step.say.text})
        call = FunctionCall(id=f"c{self.calls}", name=step.call, arguments=args)
        thought = step.thought.text if step.thought else None
        return CreateResult(content=[call], finish_reason="function_calls", usage=_USAGE, cached=False, thought=thought)

    def _answered(self, agent: str, step: Step) -> None:
        caller = self.asked[agent][0] if agent in self.asked else "user"
        channel = "C1" if caller == "user" else "C2"
        self.truth.tell(channel, agent, [caller], step.say, f"TextMessage {agent}", step.turn, step.archetype)


class Notes(ListMemory):
    """The memory of one agent, which says what of it was read."""

    def __init__(self, desk: Desk, agent: str) -> None:
        super().__init__(name="notes")
        self._desk, self._agent = desk, agent
        self._kept: list[Say] = []

    async def keep(self, say: Say) -> None:
        """A note is put down."""
        self._kept.append(say)
        await self.add(MemoryContent(content=say.text, mime_type=MemoryMimeType.TEXT))

    async def update_context(self, model_context: Any) -> Any:
        """The notes are put into the context of the agent."""
        asked = self._desk.asked.get(self._agent)
        turn, archetype = (asked[1].turn, asked[1].archetype) if asked else (1, "BASE")
        for n, say in enumerate(self._kept):
            mark = f"MemoryQueryEvent {self._agent}" if n == 0 else f"+{n}"
            self._desk.truth.tell("C5", "memory", [self._agent], say, mark, turn, archetype)
        return await super().update_context(model_context)


class ScriptedClient(ReplayChatCompletionClient):
    """The framework's replaying client, which answers with what the script makes of the messages it is given."""

    def __init__(self, desk: Desk, role: Role) -> None:
        super().__init__([], model_info=MODEL)
        self._desk, self._role = desk, role

    async def create(self, messages: Any, **options: Any) -> CreateResult:
        """The next step."""
        return self._desk.step(self._role, [seen for message in messages for seen in _seen(message)])


def _seen(message: Any) -> list[Seen]:
    if message.type == "UserMessage":
        return [Seen("request", message.content)]
    if message.type == "FunctionExecutionResultMessage":
        return [Seen("result", part.content) for part in message.content]
    if message.type == "AssistantMessage":
        words = message.content if isinstance(message.content, str) else "".join(c.arguments for c in message.content)
        return [Seen("said", f"{message.thought or ''}\n{words}")]
    return [Seen("shared", message.content)]


async def _run(desk: Desk) -> Any:
    asked = request(desk.job.given, desk.job.adversary)
    task = TextMessage(content=asked, source="user", id=desk.job.trace)
    return await desk.agent("coordinator").run(task=task)


def _count_ids(trace: str) -> None:
    """Messages are numbered, where the framework would draw their ids: the same run gives the same ids."""
    number = int.from_bytes(blake2b(trace.encode(), digest_size=8).digest()) << 64
    fresh = iter(range(number, number + (1 << 64)))
    uuid.uuid4 = lambda: uuid.UUID(int=next(fresh))


def _name(truth: Truth, messages: list[Any]) -> None:
    """Marks become the ids under which the framework recorded what was said: the n-th of its kind and source."""
    ids: dict[str, list[str]] = {}
    for message in messages:
        ids.setdefault(f"{message.type} {message.source}", []).append(message.id)
    taken: Counter[str] = Counter()
    query = ""
    for told in truth.events:
        if told.mark in ids:
            kind, told.mark = told.mark, ids[told.mark][taken[told.mark]]
            taken[kind] += 1
            if told.channel == "C5":
                query, told.mark = told.mark, f"{told.mark}:0"
        elif told.mark.startswith("+"):
            told.mark = f"{query}:{told.mark[1:]}"


def record(job: Job) -> tuple[bytes, Truth]:
    """One run: its result as one line, and the truth of it."""
    _count_ids(job.trace)
    desk = Desk(job)
    result = asyncio.run(_run(desk))
    _name(desk.truth, result.messages)
    return (json.dumps(result.model_dump(mode="json"), ensure_ascii=False) + "\n").encode(), desk.truth


if __name__ == "__main__":
    play_lines(record)
