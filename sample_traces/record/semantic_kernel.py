"""Semantic Kernel: agents as plugins of each other; a function filter's log, and the messages of the same run."""
# requires: semantic-kernel==1.45.0 openai==3.57.0 protobuf==7.36.2

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from record import case
from record.output import write
from record.scripted_openai import client
from semantic_kernel import Kernel
from semantic_kernel.agents import ChatCompletionAgent
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion
from semantic_kernel.contents import ChatMessageContent
from semantic_kernel.filters import FunctionInvocationContext
from semantic_kernel.functions import kernel_function

CALLS: list[Any] = []
MESSAGES: list[Any] = []
SCRIPT = case.asking(lambda agent, request: case.Call(f"{agent}-{agent}", {"messages": request}, f"call_ask_{agent}"))


class Claims:
    """What agents can do to claims and notes."""

    def __init__(self) -> None:
        self.notes: dict[str, str] = {}

    @kernel_function(description="Look up a claim.")
    def claims_lookup(self, claim: str) -> str:
        """The record of a claim."""
        return json.dumps(case.RECORD)

    @kernel_function(description="Keep a note.")
    def note_write(self, key: str, text: str) -> str:
        """Keep a note all agents can read."""
        self.notes[key] = text
        return case.NOTED

    @kernel_function(description="Read a note.")
    def note_read(self, key: str) -> str:
        """Read a note of any agent."""
        return self.notes[key]


def _filter_of(agent: str) -> Callable[..., Awaitable[None]]:
    async def note(context: FunctionInvocationContext, next: Callable[..., Awaitable[None]]) -> None:
        await next(context)
        CALLS.append(
            {
                "agent": agent,
                "function": context.function.fully_qualified_name,
                "arguments": {name: str(value) for name, value in context.arguments.items()},
                "result": str(context.result),
                "is_streaming": context.is_streaming,
            }
        )

    return note


def _turns(name: str) -> list[case.Turn]:
    """Functions are called by the name of their plugin and their own."""
    own = {"claims_lookup", "note_write", "note_read"}
    return [
        turn._replace(calls=tuple(c._replace(name=f"claims-{c.name}") if c.name in own else c for c in turn.calls))
        for turn in SCRIPT[name]
    ]


def _agent(name: str, *plugins: Any) -> ChatCompletionAgent:
    kernel = Kernel()
    kernel.add_service(OpenAIChatCompletion(ai_model_id="scripted", async_client=client(name, _turns(name))))
    for plugin in plugins:
        kernel.add_plugin(plugin, plugin_name=getattr(plugin, "name", "claims"))
    kernel.add_filter("function_invocation", _filter_of(name))
    return ChatCompletionAgent(kernel=kernel, name=name, description=name, instructions=case.PROMPTS[name])


async def _keep(message: ChatMessageContent) -> None:
    MESSAGES.append(message.model_dump_json(exclude_none=True))


async def record() -> None:
    """Run the case."""
    claims = Claims()
    lead = _agent("lead", _agent("worker", claims), claims)
    coordinator = _agent("coordinator", lead)
    async for response in coordinator.invoke(messages=case.REQUEST, on_intermediate_message=_keep):
        await _keep(response.message)


if __name__ == "__main__":
    asyncio.run(record())
    write(CALLS)
    write(MESSAGES, "_messages")
