"""LangGraph: a supervisor over a supervisor; `stream()` of updates and tasks with subgraphs, one part a line."""
# requires: langgraph==1.2.24 langgraph-supervisor==0.0.31 langchain==1.5.2

import json
from typing import Annotated, Any

from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.prebuilt import InjectedStore
from langgraph.store.memory import InMemoryStore
from langgraph_supervisor import create_supervisor
from record import case
from record.output import write
from record.scripted_chat import ScriptedChat

NOTES = ("claims", "notes")


@tool
def claims_lookup(claim: str) -> str:
    """Look up a claim."""
    return json.dumps(case.RECORD)


@tool
def note_write(key: str, text: str, store: Annotated[Any, InjectedStore()]) -> str:
    """Keep a note in the shared store."""
    store.put(NOTES, key, {"text": text})
    return case.NOTED


@tool
def note_read(key: str, store: Annotated[Any, InjectedStore()]) -> str:
    """Read a note from the shared store."""
    return store.get(NOTES, key).value["text"]


def _script() -> case.Script:
    """Handing back is the graph's business: it returns to the supervisor when the agent has spoken."""

    def hand(sender: str, receiver: str, words: str) -> case.Turn:
        down = (sender, receiver) in {("coordinator", "lead"), ("lead", "worker")}
        calls = (case.Call(f"transfer_to_{receiver}", {}, f"call_to_{receiver}"),) if down else ()
        return case.Turn(words, calls)

    return case.handing_over(hand)


def _graph() -> Any:
    models = {agent: ScriptedChat(agent=agent, turns=turns) for agent, turns in _script().items()}
    worker = create_agent(
        models["worker"], tools=[claims_lookup, note_write], name="worker", system_prompt=case.PROMPTS["worker"]
    )
    lead = create_supervisor(
        [worker],
        model=models["lead"],
        tools=[note_read],
        supervisor_name="lead_supervisor",
        prompt=case.PROMPTS["lead"],
        output_mode="last_message",
    ).compile(name="lead")
    top = create_supervisor(
        [lead],
        model=models["coordinator"],
        supervisor_name="coordinator",
        prompt=case.PROMPTS["coordinator"],
        output_mode="last_message",
    )
    return top.compile(store=InMemoryStore(), name="claims_desk")


if __name__ == "__main__":
    asked = {"messages": [{"role": "user", "content": case.REQUEST}]}
    config = {"configurable": {"thread_id": "claims-1"}}
    write(_graph().stream(asked, config, stream_mode=["updates", "tasks"], subgraphs=True, version="v2"))
