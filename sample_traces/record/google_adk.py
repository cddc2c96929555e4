"""Google ADK: transfers between sub-agents, session state and an artifact; events as `Runner.run_async` yields them."""
# requires: google-adk==2.13.0

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.artifacts import InMemoryArtifactService
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools import ToolContext
from google.genai import types
from record import case
from record.output import watch, write

MEMO = case.Call("file_memo", {"name": "memo.md", "text": case.WORKER_SAYS}, "call_memo")


class ScriptedLlm(BaseLlm):
    """Answers with the next turn, whatever it is asked."""

    agent: str
    turns: list[case.Turn]

    async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> AsyncIterator[LlmResponse]:
        """One answer, in one piece."""
        watch(self.agent, llm_request.contents)
        turn = self.turns.pop(0)
        parts = [types.Part(text=turn.text)] if turn.text else []
        parts += [types.Part(function_call=types.FunctionCall(name=c.name, args=c.args)) for c in turn.calls]
        yield LlmResponse(content=types.Content(role="model", parts=parts), finish_reason=types.FinishReason.STOP)


def claims_lookup(claim: str) -> dict[str, str]:
    """Look up a claim."""
    return case.RECORD


def note_write(key: str, text: str, tool_context: ToolContext) -> str:
    """Keep a note in the session state."""
    tool_context.state[key] = text
    return case.NOTED


def note_read(key: str, tool_context: ToolContext) -> str:
    """Read a note from the session state."""
    return tool_context.state[key]


async def file_memo(name: str, text: str, tool_context: ToolContext) -> str:
    """File a memo as an artifact."""
    await tool_context.save_artifact(name, types.Part(text=text))
    return f"Filed as {name}."


def _script() -> case.Script:
    def hand(sender: str, receiver: str, words: str) -> case.Turn:
        return case.Turn(words, (case.Call("transfer_to_agent", {"agent_name": receiver}, ""),))

    script = case.handing_over(hand)
    script["worker"].insert(2, case.Turn("", (MEMO,)))
    return script


def _team() -> LlmAgent:
    script = _script()

    def agent(name: str, tools: list[Any], below: list[LlmAgent]) -> LlmAgent:
        model = ScriptedLlm(model="scripted", agent=name, turns=script[name])
        return LlmAgent(name=name, model=model, instruction=case.PROMPTS[name], tools=tools, sub_agents=below)

    worker = agent("worker", [claims_lookup, note_write, file_memo], [])
    return agent("coordinator", [], [agent("lead", [note_read], [worker])])


async def record() -> list[str]:
    """The events of the run as JSON."""
    sessions = InMemorySessionService()
    app = App(name="claims_desk", root_agent=_team())
    runner = Runner(app=app, session_service=sessions, artifact_service=InMemoryArtifactService())
    await sessions.create_session(app_name="claims_desk", user_id="customer-1", session_id="claims-1")
    asked = types.Content(role="user", parts=[types.Part(text=case.REQUEST)])
    run = runner.run_async(user_id="customer-1", session_id="claims-1", new_message=asked)
    return [event.model_dump_json(by_alias=True, exclude_none=True) async for event in run]


if __name__ == "__main__":
    write(asyncio.run(record()))
