"""CrewAI: a hierarchical crew with a shared memory; a listener that writes every event of the bus, one a line."""
# requires: crewai==1.15.30

import importlib
import json
import pkgutil
import tempfile
import threading
from collections.abc import Iterator
from typing import Any

import crewai.events.types
from crewai import Agent, BaseLLM, Crew, Process, Task
from crewai.events import BaseEventListener, crewai_event_bus
from crewai.events.base_events import BaseEvent
from crewai.events.types.llm_events import LLMCallType
from crewai.llms.base_llm import llm_call_context
from crewai.memory.unified_memory import Memory
from crewai.tools import BaseTool
from crewai.tools.agent_tools.agent_tools import AgentTools
from pydantic import PrivateAttr
from record import case
from record.output import watch, write

SCOPE = "/claims"
LINES: list[tuple[int, str]] = []
LOCK = threading.Lock()


class Listener(BaseEventListener):
    """Keeps every event of the bus; handlers run in threads, so the order is put right afterwards."""

    def setup_listeners(self, crewai_event_bus: Any) -> None:
        """Listen to each class of event there is."""
        for module in pkgutil.iter_modules(crewai.events.types.__path__):
            importlib.import_module(f"crewai.events.types.{module.name}")
        for kind in set(_below(BaseEvent)):
            if isinstance(getattr(kind.model_fields.get("type"), "default", None), str):
                crewai_event_bus.on(kind)(_keeper(kind))


def _below(kind: type[Any]) -> Iterator[type[Any]]:
    for below in kind.__subclasses__():
        yield below
        yield from _below(below)


def _keeper(kind: type[Any]) -> Any:
    def keep(source: Any, event: Any) -> None:
        if type(event) is kind:
            with LOCK:
                LINES.append((event.emission_sequence or 0, event.model_dump_json()))

    return keep


class ScriptedLLM(BaseLLM):
    """Answers with the next turn, and tells the bus of it as the framework's own clients do."""

    agent: str = ""
    _turns: list[case.Turn] = PrivateAttr(default_factory=list)

    def supports_function_calling(self) -> bool:
        """Tools are called by the API of the model, not in its words."""
        return True

    def call(self, messages: Any, tools: Any = None, *rest: Any, **options: Any) -> Any:
        """The words of the turn, or its tool calls."""
        where = {"from_task": options.get("from_task"), "from_agent": options.get("from_agent")}
        watch(self.agent, messages)
        turn = self._turns.pop(0)
        answer = [_call(c) for c in turn.calls] or turn.text
        kind = LLMCallType.TOOL_CALL if turn.calls else LLMCallType.LLM_CALL
        with llm_call_context():
            self._emit_call_started_event(messages=messages, tools=tools, **where)
            self._emit_call_completed_event(response=answer, call_type=kind, messages=messages, **where)
        return answer


def _call(call: case.Call) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.args)}}


class ClaimsLookup(BaseTool):
    """Look up a claim."""

    name: str = "claims_lookup"
    description: str = "Look up a claim."

    def _run(self, claim: str) -> str:
        return json.dumps(case.RECORD)


class NoteWrite(BaseTool):
    """Keep a note in the crew's memory."""

    name: str = "note_write"
    description: str = "Keep a note in the shared memory."
    _memory: Memory = PrivateAttr()

    def _run(self, key: str, text: str) -> str:
        self._memory.remember(text, scope=SCOPE, categories=[key], metadata={"key": key}, importance=0.5)
        return case.NOTED


class NoteRead(BaseTool):
    """Read a note from the crew's memory."""

    name: str = "note_read"
    description: str = "Read a note from the shared memory."
    _memory: Memory = PrivateAttr()

    def _run(self, key: str) -> str:
        return self._memory.recall(key, scope=SCOPE, depth="shallow", limit=1)[0].record.content


def _embed(texts: Any) -> list[list[float]]:
    return [[1.0, 0.5, 0.25, 0.125] for _ in texts]


SCRIPT = case.asking(
    lambda agent, request: case.Call(
        "delegate_work_to_coworker",
        {"task": request, "context": f"The customer asks about {case.CLAIM}.", "coworker": agent},
        f"call_ask_{agent}",
    )
)


def _agent(name: str, tools: list[Any], delegates: bool = False) -> Agent:
    llm = ScriptedLLM(model="scripted", agent=name)
    llm._turns = SCRIPT[name]
    about = case.PROMPTS[name]
    return Agent(role=name, goal=about, backstory=about, llm=llm, tools=tools, allow_delegation=delegates, cache=False)


def _with(tool: BaseTool, memory: Memory) -> BaseTool:
    tool._memory = memory
    return tool


def _crew(memory: Memory) -> Crew:
    worker = _agent("worker", [ClaimsLookup(), _with(NoteWrite(), memory)])
    lead = _agent("lead", [AgentTools(agents=[worker]).tools()[0], _with(NoteRead(), memory)])
    task = Task(description=case.REQUEST, expected_output="An answer to the customer.", name="answer_customer")
    return Crew(
        name="claims_desk",
        agents=[lead, worker],
        tasks=[task],
        manager_agent=_agent("coordinator", [], delegates=True),
        process=Process.hierarchical,
        tracing=False,
    )


if __name__ == "__main__":
    Listener()
    with tempfile.TemporaryDirectory() as folder:
        _crew(Memory(llm=ScriptedLLM(model="scripted"), embedder=_embed, storage=folder)).kickoff()
        crewai_event_bus.flush()
    write(line for _, line in sorted(LINES, key=lambda pair: pair[0]))
