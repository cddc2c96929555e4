"""LangChain: agents called as tools; a callback handler that writes one call a line."""
# requires: langchain==1.5.2

import json
from datetime import UTC, datetime
from typing import Any

from langchain.agents import create_agent
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from record import case
from record.output import write
from record.scripted_chat import ScriptedChat

NOTES: dict[str, str] = {}


class Recorder(BaseCallbackHandler):
    """Keeps every call it gets with its arguments, as handlers written by hand do."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []

    def _keep(self, event: str, **what: Any) -> None:
        what.pop("serialized", None)
        now = datetime.now(UTC).isoformat()
        self.records.append({"ts": now, "event": event, **{k: _id(k, v) for k, v in what.items()}})

    def on_chain_start(self, serialized: Any, inputs: Any, **kwargs: Any) -> None:
        """A graph or a step begins."""
        self._keep("on_chain_start", inputs=inputs, **kwargs)

    def on_chain_end(self, outputs: Any, **kwargs: Any) -> None:
        """A graph or a step ends."""
        self._keep("on_chain_end", outputs=outputs, **kwargs)

    def on_chat_model_start(self, serialized: Any, messages: Any, **kwargs: Any) -> None:
        """A model is asked."""
        self._keep("on_chat_model_start", messages=messages, **kwargs)

    def on_llm_end(self, response: Any, **kwargs: Any) -> None:
        """A model has answered."""
        self._keep("on_llm_end", response=response, **kwargs)

    def on_tool_start(self, serialized: Any, input_str: str, **kwargs: Any) -> None:
        """A tool is called."""
        self._keep("on_tool_start", tool=serialized.get("name"), input_str=input_str, **kwargs)

    def on_tool_end(self, output: Any, **kwargs: Any) -> None:
        """A tool has answered."""
        self._keep("on_tool_end", output=output, **kwargs)


def _id(key: str, value: Any) -> Any:
    return str(value) if key in ("run_id", "parent_run_id") and value else value


@tool
def claims_lookup(claim: str) -> str:
    """Look up a claim."""
    return json.dumps(case.RECORD)


@tool
def note_write(key: str, text: str) -> str:
    """Keep a note."""
    NOTES[key] = text
    return case.NOTED


@tool
def note_read(key: str) -> str:
    """Read a note."""
    return NOTES[key]


SCRIPT = case.asking(lambda agent, request: case.Call(f"ask_{agent}", {"request": request}, f"call_ask_{agent}"))


def _agent(name: str, *tools: Any) -> Any:
    return create_agent(
        ScriptedChat(agent=name, turns=SCRIPT[name]), tools=list(tools), name=name, system_prompt=case.PROMPTS[name]
    )


WORKER = _agent("worker", claims_lookup, note_write)


@tool
def ask_worker(request: str) -> str:
    """Have the worker do something."""
    return WORKER.invoke({"messages": [HumanMessage(request)]})["messages"][-1].text


LEAD = _agent("lead", ask_worker, note_read)


@tool
def ask_lead(request: str) -> str:
    """Have the lead find something out."""
    return LEAD.invoke({"messages": [HumanMessage(request)]})["messages"][-1].text


if __name__ == "__main__":
    recorder = Recorder()
    asked = {"messages": [HumanMessage(case.REQUEST)]}
    _agent("coordinator", ask_lead).invoke(asked, {"callbacks": [recorder]})
    write(recorder.records)
