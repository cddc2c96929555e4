"""LlamaIndex: an agent workflow with handoffs and shared state; its streamed events, one a line."""
# requires: llama-index-core==0.14.25

import asyncio
import json
from typing import Any

from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.base.llms.types import ToolCallBlock
from llama_index.core.llms import ChatMessage, TextBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.workflow import Context
from record import case
from record.output import watch, write


async def claims_lookup(claim: str) -> str:
    """Look up a claim."""
    return json.dumps(case.RECORD)


async def note_write(ctx: Context, key: str, text: str) -> str:
    """Keep a note in the shared state."""
    async with ctx.store.edit_state() as state:
        state["state"] = {**state["state"], key: text}
    return case.NOTED


async def note_read(ctx: Context, key: str) -> str:
    """Read a note from the shared state."""
    return (await ctx.store.get("state"))[key]


SCRIPT = case.handing_over(
    lambda sender, receiver, words: case.Turn(
        "", (case.Call("handoff", {"to_agent": receiver, "reason": words}, f"call_{sender}_to_{receiver}"),)
    )
)


def _message(turn: case.Turn) -> ChatMessage:
    blocks: list[Any] = [TextBlock(text=turn.text)] if turn.text else []
    blocks += [ToolCallBlock(tool_call_id=c.id, tool_name=c.name, tool_kwargs=c.args) for c in turn.calls]
    return ChatMessage(role="assistant", blocks=blocks)


def _agent(name: str, tools: list[Any], handoffs: list[str]) -> FunctionAgent:
    turns = iter(SCRIPT[name])

    def answer(messages: Any, **options: Any) -> ChatMessage:
        watch(name, messages)
        return _message(next(turns))

    return FunctionAgent(
        name=name,
        description=name,
        system_prompt=case.PROMPTS[name],
        can_handoff_to=handoffs,
        tools=tools,
        llm=MockFunctionCallingLLM(response_generator=answer, is_chat_model=True),
    )


async def record() -> list[Any]:
    """The events of the run, each with the name of its class."""
    agents = [
        _agent("coordinator", [], ["lead"]),
        _agent("lead", [note_read], ["worker", "coordinator"]),
        _agent("worker", [claims_lookup, note_write], ["lead"]),
    ]
    workflow = AgentWorkflow(agents=agents, root_agent="coordinator", initial_state={case.NOTE_KEY: ""})
    run = workflow.run(user_msg=case.REQUEST, ctx=Context(workflow))
    events = [{"event": type(e).__name__, **e.model_dump(mode="json")} async for e in run.stream_events()]
    await run
    return events


if __name__ == "__main__":
    write(asyncio.run(record()))
