"""OpenAI Agents SDK: agents as tools; a tracing processor that writes traces and finished spans, one a line."""
# requires: openai-agents==0.24.0 openai==3.57.0

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from agents import Agent, OpenAIChatCompletionsModel, RunConfig, RunContextWrapper, Runner, function_tool
from agents.tracing import TracingProcessor, set_trace_processors
from record import case
from record.output import write
from record.scripted_openai import client


@dataclass
class Desk:
    """What the agents of a run share."""

    notes: dict[str, str] = field(default_factory=dict)


class Recorder(TracingProcessor):
    """Exports the trace when it starts and each span when it ends."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []

    def on_trace_start(self, trace: Any) -> None:
        """A run begins."""
        self.records.append(trace.export())

    def on_trace_end(self, trace: Any) -> None:
        """A run ends: nothing new to tell."""

    def on_span_start(self, span: Any) -> None:
        """A span begins: it is exported when it ends."""

    def on_span_end(self, span: Any) -> None:
        """A span ends."""
        self.records.append(json.loads(json.dumps(span.export(), default=str)))

    def shutdown(self) -> None:
        """Nothing is held back."""

    def force_flush(self) -> None:
        """Nothing is held back."""


@function_tool
def claims_lookup(claim: str) -> str:
    """Look up a claim."""
    return json.dumps(case.RECORD)


@function_tool
def note_write(context: RunContextWrapper[Desk], key: str, text: str) -> str:
    """Keep a note in the shared context."""
    context.context.notes[key] = text
    return case.NOTED


@function_tool
def note_read(context: RunContextWrapper[Desk], key: str) -> str:
    """Read a note from the shared context."""
    return context.context.notes[key]


SCRIPT = case.asking(lambda agent, request: case.Call(f"ask_{agent}", {"input": request}, f"call_ask_{agent}"))


def _agent(name: str, *tools: Any) -> Agent[Desk]:
    model = OpenAIChatCompletionsModel(model="scripted", openai_client=client(name, SCRIPT[name]))
    return Agent(name=name, instructions=case.PROMPTS[name], model=model, tools=list(tools))


def _team() -> Agent[Desk]:
    worker = _agent("worker", claims_lookup, note_write)
    lead = _agent("lead", worker.as_tool("ask_worker", "Have the worker do something."), note_read)
    return _agent("coordinator", lead.as_tool("ask_lead", "Have the lead find something out."))


if __name__ == "__main__":
    recorder = Recorder()
    set_trace_processors([recorder])
    config = RunConfig(workflow_name="claims desk", group_id="claims-1")
    asyncio.run(Runner.run(_team(), case.REQUEST, context=Desk(), run_config=config))
    write(recorder.records)
