"""What comes from outside of a crew: servers of tools (MCP), judges of an evaluation, remote callers and artifacts."""

from collections.abc import Iterator
from typing import Any

from earwitness.ingest.chronicle import name_of, text_of
from earwitness.ingest.crewai.facts import Fact, within
from earwitness.ingest.crewai.runs import Run
from earwitness.ingest.crewai.teller import Teller
from earwitness.ingest.record import Made
from earwitness.ingest.toolkinds import ToolKind, tool_kind
from earwitness.schema.model import Delivery

# Who asked an agent that is served as a remote one; its name is not in the record.
CLIENT = "client"
_EVALUATOR = "evaluator"


def is_same_call(outer: Fact, inner: Fact) -> bool:
    """Whether the call of a tool is the one that its server tells of: names get prefixes, empty arguments go."""
    given, got, own = _given(outer), _given(inner), inner.text("tool_name").lower().replace("-", "_")
    return given == got or (got.keys() <= given.keys() and outer.text("tool_name").endswith(own))


def _given(call: Fact) -> dict[str, Any]:
    args = call.data.get("tool_args")
    return {k: v for k, v in args.items() if v is not None} if isinstance(args, dict) else {}


class Outside(Teller):
    """Those who are no part of a crew."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        ends = run.of("agent_evaluation_completed", "agent_evaluation_failed")
        self.judges = {f.started: name_of(f.data.get("metric_category")) or _EVALUATOR for f in ends if f.started}
        self.artifacts: set[str] = set()

    def mcp_tool_execution_started(self, fact: Fact) -> Iterator[Made]:
        """A call as its server gets it: that of the agent, or one that a tool or a method makes by itself."""
        outer, text = self._outer(fact), text_of(fact.data.get("tool_args"))
        if outer and is_same_call(outer, fact):
            yield from self.book.shown(fact.place.at("/tool_args"), outer.text("tool_name"), text, "input", fact.time)
            return
        tool, kind = fact.text("tool_name"), tool_kind(fact.text("tool_name"))
        yield from self.book.actor(fact.place, tool, kind.kind, kind.evidence)
        yield from self.book.event(
            fact.place.at("/tool_args"),
            kind.arguments,
            text,
            sender=outer.text("tool_name") if outer else self._owner(fact),
            to=(Delivery(tool),),
            id=fact.id,
            time=fact.time,
            kind="tool_call",
        )

    def mcp_tool_execution_completed(self, fact: Fact) -> Iterator[Made]:
        """What a server answered; the end of the agent's call says it again."""
        return self._answered(fact, text_of(fact.data.get("result")), "/result")

    def mcp_tool_execution_failed(self, fact: Fact) -> Iterator[Made]:
        """What a server, or the way to it, made of a call that failed."""
        return self._answered(fact, fact.text("error"), "/error", failed=True)

    def _outer(self, fact: Fact) -> Fact | None:
        return self.run.above(fact, "tool_usage_started")

    def _answered(self, fact: Fact, text: str, at: str, failed: bool = False) -> Iterator[Made]:
        outer, tool = self._outer(fact), fact.text("tool_name")
        same = outer is not None and is_same_call(outer, fact)
        if outer and same and outer.id in self.finished:
            return
        own: ToolKind = tool_kind(tool)
        if failed:
            yield self.book.loss(fact.place, "failed_call", own.result, fact.type)
        to = outer.text("tool_name") if outer and not same else self._owner(fact)
        yield from self.book.event(
            fact.place.at(at),
            own.result,
            text,
            sender=outer.text("tool_name") if outer and same else tool,
            to=(Delivery(to, "structural"),) if to else (),
            id=fact.id,
            time=fact.time,
            kind="error" if failed else "tool_result",
            flags=("failed",) if failed else (),
            sender_kind=own.kind,
            to_kind="agent",
        )

    def agent_evaluation_started(self, fact: Fact) -> Iterator[Made]:
        """A judge of an agent's work; what it reads and says stands in the calls of its model."""
        return self.book.actor(fact.place, self.judges.get(fact.id), "tool")

    def agent_evaluation_completed(self, fact: Fact) -> Iterator[Made]:
        """What a judge noted."""
        judge = self.judges.get(fact.started or "") or name_of(fact.data.get("metric_category")) or _EVALUATOR
        note, whole = text_of(within(fact.data, "score", "feedback")), within(fact.data, "score", "raw_response")
        at = "/score/feedback"
        if self.book.said(judge, text_of(whole)):
            return self.book.shown(fact.place.at(at), judge, note, "response", fact.time)
        return self._say(fact, "C6", note, (), at, kind="evaluation", sender=judge, sender_kind="tool")

    def a2a_server_task_completed(self, fact: Fact) -> Iterator[Made]:
        """The answer to a remote caller."""
        return self._say(fact, "C2", fact.text("result"), (Delivery(CLIENT),), "/result", kind="answer")

    def a2a_artifact_received(self, fact: Fact) -> Iterator[Made]:
        """An artifact of a remote agent, whole or in parts: what it holds is not in the record."""
        artifact = fact.text("artifact_id") or fact.id
        if artifact not in self.artifacts:
            self.artifacts.add(artifact)
            yield self.book.loss(fact.place, "content_missing", "C7", "an artifact of a remote agent")
