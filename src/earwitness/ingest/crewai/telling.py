"""What a run says, fact by fact: crews and tasks, agents and models, tools."""

from collections.abc import Callable, Iterator

from earwitness.ingest.chronicle import USER, folded, name_of, text_of, undelivered
from earwitness.ingest.crewai.checks import Checks
from earwitness.ingest.crewai.facts import Fact, listed, spoken, unquote, within
from earwitness.ingest.crewai.flows import Flows
from earwitness.ingest.crewai.outside import Outside
from earwitness.ingest.crewai.runs import Run
from earwitness.ingest.crewai.stores import Stores
from earwitness.ingest.crewai.teller import Teller, request_of
from earwitness.ingest.record import Made
from earwitness.ingest.refusals import is_of_asked
from earwitness.ingest.toolkinds import tool_kind
from earwitness.schema.model import Delivery
from earwitness.schema.words import Channel, SightingKind

_SEPARATOR = "\n\n----------\n\n"
_NO_THOUGHT = ("Failed to parse LLM response", "Agent Finish")
OBSERVABLE: tuple[Channel, ...] = ("C1", "C2", "C3", "C4", "C5", "C6")
_KINDS: dict[str, SightingKind] = {"system": "initial", "user": "input"}


def tell(run: Run) -> Iterator[Made]:
    """Everything of a run."""
    teller = _Teller(run)
    yield teller.head()
    for fact in run.facts:
        yield from teller.fact(fact)
    yield from teller.thoughts()


class _Tasks(Teller):
    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.contexts: dict[str, list[Fact]] = {}
        for task in run.of("task_started"):
            for part in set(map(folded, task.text("context").split(_SEPARATOR))):
                self.contexts.setdefault(part, []).append(task)
        self.last = {id(last): end for end in run.of("crew_kickoff_completed") if (last := self._last_task(end))}

    def crew_kickoff_started(self, fact: Fact) -> Iterator[Made]:
        inputs = fact.data.get("inputs")
        return self.book.shown(fact.place.at("/inputs"), None, text_of(inputs) if inputs else "", "initial", fact.time)

    def crew_kickoff_completed(self, fact: Fact) -> Iterator[Made]:
        last = self._last_task(fact)
        if last is None:
            yield from self._outward(fact, fact.text("raw"), None, "/output/raw")

    def task_started(self, fact: Fact) -> Iterator[Made]:
        place, agent = fact.place, fact.agent
        yield from self.book.shown(place.at("/task/description"), agent, fact.text("description"), "initial", fact.time)
        for part in fact.text("context").split(_SEPARATOR):
            yield from self.book.shown(place.at("/context"), agent, part, "input", fact.time)

    def task_completed(self, fact: Fact) -> Iterator[Made]:
        raw, place = fact.text("raw"), fact.place.at("/output/raw")
        end = self.last.get(id(fact))
        if end:
            yield from self._outward(end, raw, fact.agent, "/output/raw", fact)
        else:
            yield from self._say(fact, "C2", raw, self._readers(fact, raw), "/output/raw", kind="task_output")
        start = self.run.by_id.get(fact.started or "")
        if start and start.data.get("human_input"):  # nobody goes on before somebody has read it
            yield from self.book.actor(place, USER, "user")
            yield from self.book.shown(place, USER, raw, "result", fact.time, fact.id)
        path = fact.data.get("output_file")
        if path:
            yield from self.book.event(
                place, "C7", raw, sender=fact.agent, to=(path,), id=f"{fact.id}/file", kind="file"
            )

    def _last_task(self, end: Fact) -> Fact | None:
        """The task whose output a crew gave to its caller."""
        tasks = [t for t in self.run.of("task_completed") if t.order <= end.order and t.text("raw") == end.text("raw")]
        return tasks[-1] if tasks else None

    def _readers(self, fact: Fact, output: str) -> tuple[Delivery, ...]:
        """Agents of later tasks that got this output as context."""
        agents = [t.agent for t in self.contexts.get(folded(output), []) if t.order > fact.order]
        return tuple(Delivery(a, "structural") for a in dict.fromkeys(agents) if a and a != fact.agent)


class _Agents(_Tasks, Checks, Outside):
    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.handed = self._handed_over()
        self.gave = self._given_back()
        self.thinking: dict[str, list[Fact]] = {}

    def agent_execution_started(self, fact: Fact) -> Iterator[Made]:
        return self.book.shown(fact.place.at("/task_prompt"), fact.agent, fact.text("task_prompt"), "input", fact.time)

    def agent_execution_completed(self, fact: Fact) -> Iterator[Made]:
        return self.book.shown(fact.place.at("/output"), fact.agent, fact.text("output"), "response", fact.time)

    def lite_agent_execution_started(self, fact: Fact) -> Iterator[Made]:
        check = self.judged(fact)
        if check:
            yield from self.submitted(check, fact)
            return
        messages = fact.data.get("messages")
        asked = [text_of(m.get("content")) for m in listed(messages) if m.get("role") != "system"]
        text = messages if isinstance(messages, str) else "\n".join(asked)
        caller = self.run.above(fact, "method_execution_started")
        if not caller:
            yield from self.book.shown(fact.place.at("/messages"), fact.agent, text, "initial", fact.time)
        elif fact.agent:
            to, method = (Delivery(fact.agent, "structural"),), caller.text("method_name")
            yield from self._say(fact, "C2", text, to, "/messages", kind="task", sender=method)

    def lite_agent_execution_completed(self, fact: Fact) -> Iterator[Made]:
        output, judged = fact.text("output"), self.judged(fact)
        if judged:
            return self._say(fact, "C6", output, self.retried(judged), "/output", kind="guardrail")
        return self._outward(fact, output, fact.agent, "/output")

    def llm_call_started(self, fact: Fact) -> Iterator[Made]:
        for n, (role, text) in enumerate(fact.data["messages"]):
            at, kind = fact.place.at(f"/messages/{n}/content"), _KINDS.get(role, "history")
            if n == len(fact.data["messages"]) - 1:
                yield from self.reviewed(fact, text)
            yield from self.book.shown(at, self._voice(fact), text, kind, fact.time)

    def llm_call_completed(self, fact: Fact) -> Iterator[Made]:
        yield from self._thought(str(fact.data.get("call_id")))
        response, place, voice = fact.data.get("response"), fact.place.at("/response"), self._voice(fact)
        self.drafts[fact.agent] = fact
        if not isinstance(response, str):
            for call in listed(response):
                text = unquote(within(call, "function", "arguments"))
                yield from self.book.shown(place, voice, text, "response", fact.time)
        elif self._is_handed(voice or "", folded(response)):
            yield from self.book.shown(place, voice, response, "response", fact.time)
        elif to := self._readers(fact, response):
            yield from self._say(fact, "C2", response, to, "/response", kind="task_output")
        else:
            kind = "response" if voice else "memory_model"
            yield from self._say(fact, "C6", response, (), "/response", kind=kind, sender=voice or "")

    def llm_thinking_chunk(self, fact: Fact) -> Iterator[Made]:
        self.thinking.setdefault(str(fact.data.get("call_id")), []).append(fact)
        return iter(())

    def agent_logs_execution(self, fact: Fact) -> Iterator[Made]:
        thought = unquote(within(fact.data, "formatted_answer", "thought"))
        if not thought.startswith(_NO_THOUGHT) and not self.book.said(fact.agent, thought):
            yield from self._say(fact, "C6", thought, (), "/formatted_answer/thought", kind="thought")

    def agent_reasoning_completed(self, fact: Fact) -> Iterator[Made]:
        return self._say(fact, "C6", fact.text("plan"), (), "/plan", kind="plan")

    def plan_step_completed(self, fact: Fact) -> Iterator[Made]:
        """What came of a step of a plan, of which the calls of models and tools inside of it tell."""
        return self.book.shown(fact.place.at("/result"), fact.agent, fact.text("result"), "response", fact.time)

    def thoughts(self) -> Iterator[Made]:
        for call in list(self.thinking):
            yield from self._thought(call)

    def _thought(self, call: str) -> Iterator[Made]:
        """Reasoning comes in chunks, which only together hold what it says."""
        chunks = self.thinking.pop(call, [])
        if chunks:
            text = "".join(f.text("chunk") for f in chunks)
            yield from self._say(chunks[0], "C6", text, (), "/chunk", kind="reasoning")

    def _voice(self, fact: Fact) -> str | None:
        """Who a model speaks for: where its call names no agent, what it happened right inside of may."""
        around = self.run.by_id.get(fact.parent or "")
        if fact.agent or around is None:
            return fact.agent
        if around.type == "method_execution_started":
            return name_of(around.text("method_name"))
        if around.type == "agent_evaluation_started":
            return self.judges.get(around.id)
        return around.agent if around.type == "knowledge_query_started" else None

    def _is_handed(self, voice: str, response: str) -> bool:
        """Whether somebody gave these words away; what an agent gives away may be the end of its answer."""
        ends = any(response.endswith(text) for text in self.handed.get(voice, ()))
        return ends or response in self.gave.get(voice, ())

    def _given_back(self) -> dict[str, set[str]]:
        """What methods of flows gave back or answered."""
        gave: dict[str, set[str]] = {}
        for fact in self.run.of("method_execution_finished", "conversation_message_added"):
            method = name_of(fact.text("method_name")) or self._owner(fact)
            gave.setdefault(method or "", set()).add(folded(fact.text("result") or spoken(fact.data)))
        return gave

    def _handed_over(self) -> dict[str, set[str]]:
        """What each agent gave away, so that the model's answer with the same words is a copy."""
        handed: dict[str, set[str]] = {}
        for fact in self.run.of("task_completed", "lite_agent_execution_completed", "a2a_server_task_completed"):
            text = fact.text("raw") or fact.text("output") or fact.text("result")
            handed.setdefault(fact.agent or "", set()).add(folded(text))
        for start, to in self.coworkers.items():
            end = self.finished.get(start)
            if end and to and to.delivered:
                handed.setdefault(to.actor, set()).add(folded(end.text("output")))
        return {agent: {t for t in texts if t} for agent, texts in handed.items()}


class _Tools(Teller):
    def tool_usage_started(self, fact: Fact) -> Iterator[Made]:
        tool, args = fact.text("tool_name"), fact.data.get("tool_args")
        if fact.id in self.coworkers:
            to, text = self.coworkers[fact.id], request_of(args)[1]
            yield from self._say(fact, "C2", text, (to,) if to else (), "/tool_args", kind="delegation")
            return
        channel, _, kind, evidence = tool_kind(tool)
        yield from self.book.actor(fact.place, tool, kind, evidence)
        to = undelivered(tool) if fact.id in self.refused else Delivery(tool)
        yield from self._say(fact, channel, text_of(args), (to,), "/tool_args", kind="tool_call")

    def tool_usage_finished(self, fact: Fact) -> Iterator[Made]:
        tool, asked = fact.text("tool_name"), self.coworkers.get(fact.started or "")
        channel, sort = tool_kind(tool)[1:3]
        sender, kind = "" if fact.started in self.refused else tool, "tool_result"
        if asked and asked.delivered and is_of_asked(fact.text("output")):
            channel, sender, sort, kind = "C2", asked.actor, "agent", "answer"
        yield from self._say(fact, channel, fact.text("output"), self._me(fact), "/output", kind, sender, sort)

    def tool_failure_detected(self, fact: Fact) -> Iterator[Made]:
        """A failure that another event tells, too, unless it could not be written."""
        tool, text = fact.text("tool_name"), text_of(within(fact.data, "failure", "message"))
        if self.book.said(tool, text) or self.book.said(None, text):
            return
        channel, sort = tool_kind(tool)[1:3]
        yield self.book.loss(fact.place, "failed_call", channel, fact.type)
        yield from self.book.event(
            fact.place.at("/failure/message"),
            channel,
            text,
            sender=tool,
            to=self._me(fact),
            id=fact.id,
            time=fact.time,
            kind="error",
            flags=("failed",),
            sender_kind=sort,
            to_kind="agent",
        )


class _Teller(_Agents, _Tools, Stores, Flows):
    def head(self) -> Made:
        first = self.run.facts[0]
        names = [n for f in self.run.facts for n in (f.text("crew_name"), f.text("flow_name")) if n]
        return self.book.head(
            first.place,
            framework="crewai",
            started_at=first.time if isinstance(first.time, str) else None,
            observable=OBSERVABLE + (("C7",) if self._writes_files() else ()),
            attributes={"name": names[0]} if names else None,
        )

    def _writes_files(self) -> bool:
        """Writing a file is no event: it shows only where a task names its file, or a tool is one for files."""
        tools = {f.text("tool_name") for f in self.run.of("tool_usage_started")}
        files = any(f.data.get("output_file") for f in self.run.of("task_completed"))
        return files or any(tool_kind(tool).arguments == "C7" for tool in tools)

    def fact(self, fact: Fact) -> Iterator[Made]:
        if fact.type.endswith(("_failed", "_error")) and not hasattr(self, fact.type):
            return self._error(fact)
        method: Callable[[Fact], Iterator[Made]] = getattr(self, fact.type)
        return method(fact)
