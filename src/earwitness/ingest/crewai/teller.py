"""What all parts of a story share: who was asked, how something is said, where results go."""

from bisect import bisect_right
from collections.abc import Iterator

from earwitness.ingest.chronicle import USER, Chronicle, folded, name_of, text_of, undelivered
from earwitness.ingest.crewai.facts import Fact, within
from earwitness.ingest.crewai.runs import Run
from earwitness.ingest.record import Made
from earwitness.ingest.refusals import is_refusal
from earwitness.ingest.toolkinds import tool_kind
from earwitness.schema.model import Delivery
from earwitness.schema.words import ActorKind, Channel

# What an agent does happens inside of one of these, and so do the reads and writes of memory that name nobody.
_OWNERS = (
    "tool_usage_started",
    "agent_execution_started",
    "lite_agent_execution_started",
    "task_started",
    "method_execution_started",
)
# What an agent is answered that asked for a tool that it does not have; why it was refused, in newer versions.
_NO_TOOL = "Tool not found"
_REASONS = ("unknown_tool", "usage_limit")
# What fails beside a run: nobody was told anything, and nothing that was said is missing.
_NOTHING_LOST = (
    "a2a_authentication_failed",
    "agent_evaluation_failed",
    "checkpoint_failed",
    "checkpoint_restore_failed",
    "context_window_summarization_failed",
    "mcp_config_fetch_failed",
    "mcp_connection_failed",
    "skill_load_failed",
    "step_observation_failed",
)
DELEGATES = ("delegate_work_to_coworker", "ask_question_to_coworker")


def request_of(args: object) -> tuple[str | None, str]:
    """Coworker and text of a delegation."""
    given = args if isinstance(args, dict) else {}
    parts = [text_of(given.get(key)) for key in ("task", "question", "context")]
    return name_of(given.get("coworker")), "\n\n".join(p for p in parts if p)


def is_delegation(tool: str) -> bool:
    """Older versions write the title of the tool."""
    return tool.strip().lower().replace(" ", "_") in DELEGATES


def _is_refusal(end: Fact) -> bool:
    answers = end.text("output"), end.text("error")
    return within(end.data, "failure", "reason") in _REASONS or any(map(is_refused, answers))


def is_refused(answer: str) -> bool:
    """Whether a call was not made, by what came in place of a result."""
    return answer == _NO_TOOL or is_refusal(answer)


class Teller:
    """What the parts of a story share.

    Args:
        run: the run to tell.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.book = Chronicle(run.id)
        self.errors: set[str] = set()
        ends = run.of("tool_usage_finished", "tool_usage_error")
        self.finished = {end.started: end for end in ends if end.started}
        self.roles = {folded(f.agent): f.agent for f in run.facts if f.agent}
        self.ran = {f.parent: f.agent for f in reversed(run.of("agent_execution_started")) if f.agent}
        self.worked: dict[str, list[tuple[float, str]]] = {}
        for fact in run.facts:
            self.worked.setdefault(fact.agent or "", []).append(fact.order)
        self.refused = {end.started for end in ends if end.started and _is_refusal(end)}
        self.coworkers = {f.id: self._coworker(f) for f in run.of("tool_usage_started") if self._delegates(f)}

    def _delegates(self, fact: Fact) -> bool:
        return is_delegation(fact.text("tool_name")) and isinstance(fact.data.get("tool_args"), dict)

    def _coworker(self, fact: Fact) -> Delivery | None:
        """Who was asked: as its own run says, else as named, if it did anything before the answer came."""
        named, _ = request_of(fact.data.get("tool_args"))
        ran = None if fact.id in self.refused else self.ran.get(fact.id)
        if ran:
            return Delivery(ran, "declared" if folded(named or "") == folded(ran) else "structural")
        if not named:
            return None
        role, end = self.roles.get(folded(named)), self.finished.get(fact.id)
        steps = self.worked.get(role or "", [])  # in order, as facts are
        after = bisect_right(steps, fact.order)
        worked = fact.id not in self.refused and after < len(steps) and (not end or steps[after] < end.order)
        return Delivery(role) if role and worked else undelivered(role or named)

    def _outward(self, end: Fact, raw: str, agent: str | None, at: str, fact: Fact | None = None) -> Iterator[Made]:
        """The result of a crew, flow or lone agent: for the method of a flow that called it, or for the user."""
        caller = self.run.above(end, "method_execution_started")
        fact = fact or end
        channel: Channel = "C2" if caller else "C1"
        to = (Delivery(caller.text("method_name"), "structural"),) if caller else (Delivery(USER),)
        yield from self._say(fact, channel, raw, to, at, kind="result", sender=agent)

    def _error(self, fact: Fact) -> Iterator[Made]:
        """Errors go up through what they happened in, with the same text."""
        tool = fact.text("tool_name")
        kind = tool_kind(tool)
        channel: Channel = kind.result if tool else "C6"
        owner = self._owner(fact) if fact.type.startswith(("memory_", "mcp_connection_")) else fact.agent
        text, refused = fact.text("error"), fact.started in self.refused
        sender = None if refused else tool or owner or name_of(fact.text("method_name"))
        # Nobody says what ends a whole kickoff: it is what somebody said inside of it.
        told = self.book.said(sender, text) or (sender is None and text in self.errors)
        self.errors.add(text)
        start = self.run.by_id.get(fact.started or "")
        nothing_lost = refused or fact.type in _NOTHING_LOST
        if not nothing_lost and ((start and start.type.endswith("_started")) or not told):
            yield self.book.loss(fact.place, "failed_call", channel if tool else None, fact.type)
        if told:
            yield from self.book.shown(fact.place.at("/error"), fact.agent, text, "response", fact.time)
            return
        yield from self.book.event(
            fact.place.at("/error"),
            channel,
            text,
            sender=sender,
            to=self._me(fact) if tool else (),
            id=fact.id,
            time=fact.time,
            kind="error",
            flags=("failed",),
            sender_kind=kind.kind if tool else "agent",
            to_kind="agent",
        )

    def _me(self, fact: Fact) -> tuple[Delivery, ...]:
        return (Delivery(fact.agent),) if fact.agent else ()

    def _owner(self, fact: Fact) -> str | None:
        """Who did what an event that names nobody tells of: whoever it happened inside of."""
        around = self.run.above(fact, *_OWNERS)
        if fact.agent or around is None:
            return fact.agent
        if around.id in self.coworkers:  # what is inside of a delegation is the coworker's
            to = self.coworkers[around.id]
            return to.actor if to and to.delivered else None
        return around.agent or name_of(around.text("method_name"))

    def _say(
        self,
        fact: Fact,
        channel: Channel,
        text: str,
        to: tuple[Delivery, ...],
        at: str,
        kind: str,
        sender: str | None = None,
        sender_kind: ActorKind = "agent",
        id: str | None = None,
    ) -> Iterator[Made]:
        yield from self.book.event(
            fact.place.at(at),
            channel,
            text,
            sender=fact.agent if sender is None else sender,
            to=to,
            id=id or fact.id,
            time=fact.time,
            kind=kind,
            flags=("not_delivered",) if any(not d.delivered for d in to) else (),
            sender_kind=sender_kind,
            to_kind="agent" if sender_kind != "agent" else None,
        )
