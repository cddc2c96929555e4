"""LangGraph plays the laboratory: every agent is a graph, an agent is called like a tool, and all share one state.

Each agent writes its note into a key of the state; every node of every graph is given the whole state. The words with
which an agent calls another, and its answer, go to that agent alone, as in the other framework.

    python -m record.laboratory.in_langgraph JOBS OUT
"""
# requires: langgraph==1.2.24 langgraph-supervisor==0.0.31 langchain==1.5.2

import json
from typing import Annotated, Any, TypedDict

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.graph import END, START, StateGraph, add_messages
from langgraph.types import Send
from record.laboratory.cells import AGENTS
from record.laboratory.jobs import Job
from record.laboratory.mind import Say, Seen, Step, note, record_of, request, think
from record.laboratory.player import play_files
from record.laboratory.truth import Told, Truth
from record.output import plain

_SCHEMA = {"messages": Annotated[list[AnyMessage], add_messages], "files": dict[str, str]}
State = TypedDict("State", _SCHEMA | {f"note_{a}": str for a in AGENTS}, total=False)  # type: ignore[misc]
_KINDS = {"human": "request", "ai": "said", "tool": "result", "system": "shared"}
_NOTE = "Write a note for those who share the state."


class ScriptedChat(BaseChatModel):
    """A chat model that answers with what the script makes of the messages it is given."""

    role: Any
    steps: list[Any]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        """The next step; a note where the last message asks for one. The step itself is kept for the truth."""
        wants_note = messages[-1].content == _NOTE
        context = [Seen(_KINDS[m.type], str(m.content)) for m in messages if m.content != _NOTE]
        if wants_note:
            self.steps.append(note(self.role, context, self.steps[-1]))
            return _result(AIMessage(self.steps[-1].text))
        step = think(self.role, context)
        self.steps.append(step)
        calls = []
        if step.call:
            args = {"task" if step.asks_agent else "text": step.say.text}
            calls = [{"name": step.call, "args": args, "id": "call", "type": "tool_call"}]
        words = (step.thought.text if step.thought else "") if step.call else step.say.text
        return _result(AIMessage(words, tool_calls=calls))


def _result(message: AIMessage) -> ChatResult:
    return ChatResult(generations=[ChatGeneration(message=message)])


class Desk:
    """The graphs of one run, and what happens in them."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.truth = Truth(job.trace)
        self.roles = job.roles(keeps_notes=())
        self.graphs: dict[str, Any] = {}
        self.notes: dict[str, tuple[str, Told]] = {}
        self.asked: dict[str, tuple[str, Step]] = {}
        self.count = 0

    def run(self) -> Any:
        """The stream of the outermost graph."""
        asked = HumanMessage(request(self.job.given, self.job.adversary), id=self.name("m"))
        start = {"messages": [asked]}
        return self.graph("coordinator").stream(start, stream_mode=["tasks"], subgraphs=True, version="v2")

    def name(self, prefix: str) -> str:
        """A fresh id."""
        self.count += 1
        return f"{prefix}{self.count}"

    def graph(self, agent: str) -> Any:
        """The graph of an agent: its model, and what it may call."""
        if agent not in self.graphs:
            made = StateGraph(State)
            made.add_node(agent, lambda state: self.speak(agent, state))
            made.add_node("tools", self.work)
            made.add_edge(START, agent)
            made.add_conditional_edges(agent, _next, ["tools", END])
            made.add_edge("tools", agent)
            self.graphs[agent] = made.compile(name=agent)
        return self.graphs[agent]

    def speak(self, agent: str, state: dict[str, Any]) -> dict[str, Any]:
        """The model's step with all of the state before its eyes."""
        model = ScriptedChat(role=self.roles[agent], steps=[])
        shared = {key: text for key, text in state.items() if key.startswith("note_")}
        for key, text in shared.items():
            writing = self.notes[key]
            if writing[0] == text:
                self.truth.shown(writing[1], agent)
        view = [SystemMessage("\n".join(shared.values())), *state["messages"]]
        answer = model.invoke(view)
        answer.id = self.name("m")
        step = model.steps[0]
        for call in answer.tool_calls:
            call["id"] = self.name("c")
        self._told(agent, step, answer)
        update: dict[str, Any] = {"messages": [answer]}
        if self._notes(agent, step, state):
            said = model.invoke([*view, answer, SystemMessage(_NOTE)])
            self._note(agent, model.steps[-1], step)
            update[f"note_{agent}"] = said.content
        if step.call == "file_report":
            update["files"] = {"report.md": step.say.text}
        return update

    def _notes(self, agent: str, step: Step, state: dict[str, Any]) -> bool:
        """A note is written with an answer, and by the one who leads with the first news and before the end."""
        if agent != "coordinator":
            return step.call is None
        return f"note_{agent}" not in state and any(m.type == "tool" for m in state["messages"])

    def _note(self, agent: str, say: Say, step: Step) -> None:
        key = f"note_{agent}"
        before = sum(told.channel == "C5" and told.sender == agent for told in self.truth.events)
        mark = f"state:{key}.{before + 1}" if before else f"state:{key}"
        told = self.truth.tell("C5", agent, [key], say, mark, step.turn, step.archetype)
        self.notes[key] = say.text, told

    def _told(self, agent: str, step: Step, answer: AIMessage) -> None:
        where = step.turn, step.archetype
        if step.call is None:
            caller = self.asked[agent][0] if agent in self.asked else "user"
            channel = "C1" if caller == "user" else "C2"
            self.truth.tell(channel, agent, [caller], step.say, f"{answer.id}:text", *where)
            return
        if step.thought:
            self.truth.tell("C6", agent, [], step.thought, f"{answer.id}:text", *where)
        channel, mark = "C2" if step.asks_agent else "C3", f"{answer.tool_calls[0]['id']}:call"
        self.truth.tell(channel, agent, [step.call], step.say, mark, *where)
        if step.call == "file_report":
            self.truth.tell("C7", agent, ["files"], step.say, "file:report.md", *where)
        self.asked[step.call] = agent, step

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """A tool call is carried out; an agent that is called runs its graph on the shared state."""
        call = given["tool_call"]
        if call["name"] not in self.roles:
            return {"messages": [self._tool(call)]}
        before = given["shared"]
        message = HumanMessage(call["args"]["task"], id=self.name("m"))
        after = self.graph(call["name"]).invoke({"messages": [message], **before})
        changed = {k: v for k, v in after.items() if k.startswith("note_") and before.get(k) != v}
        return {"messages": [_answer(call, str(after["messages"][-1].content), self.name("m"))], **changed}

    def _tool(self, call: dict[str, Any]) -> ToolMessage:
        agent, step = self.asked[call["name"]]
        say = record_of(self.roles[agent]) if call["name"] == "vault_lookup" else Say("That is done.")
        self.truth.tell("C4", call["name"], [agent], say, f"{call['id']}:result", step.turn, step.archetype)
        return _answer(call, say.text, self.name("m"))


def _answer(call: dict[str, Any], text: str, name: str) -> ToolMessage:
    return ToolMessage(text, tool_call_id=call["id"], name=call["name"], id=name)


def _next(state: dict[str, Any]) -> Any:
    """To the tools with the call and the shared state, or to the end."""
    calls = state["messages"][-1].tool_calls
    shared = {key: text for key, text in state.items() if key.startswith("note_")}
    return [Send("tools", {"tool_call": call, "shared": shared}) for call in calls] or END


def record(job: Job) -> tuple[bytes, Truth]:
    """One run: its stream, one part a line, and the truth of it."""
    desk = Desk(job)
    lines = [json.dumps(part, default=plain, ensure_ascii=False) for part in desk.run()]
    return ("\n".join(lines) + "\n").encode(), desk.truth


if __name__ == "__main__":
    play_files(record)
