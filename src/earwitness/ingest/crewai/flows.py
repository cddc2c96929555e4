"""Methods of flows: what they hand on, write into the state, and show to people; flows that are a conversation."""

from collections.abc import Iterator
from typing import Any

from earwitness.ingest.chronicle import USER, folded, text_of
from earwitness.ingest.crewai.facts import Fact, spoken
from earwitness.ingest.crewai.runs import Run
from earwitness.ingest.crewai.teller import Teller
from earwitness.ingest.record import Made
from earwitness.schema.model import Delivery
from earwitness.schema.words import SightingKind

STATE = "flow state"
# The result of a method that people gave their feedback to.
_REVIEWED = {"output", "feedback", "outcome", "method_name"}


def changes(before: object, after: object) -> dict[str, object]:
    """Fields of a flow state that a method wrote."""
    old = before if isinstance(before, dict) else {}
    new = after if isinstance(after, dict) else {}
    return {k: v for k, v in new.items() if k != "id" and old.get(k) != v and v not in (None, "", [], {})}


def _params(start: Fact) -> dict[str, Any]:
    params = start.data.get("params")
    return params if isinstance(params, dict) else {}


class Flows(Teller):
    """Methods of flows."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.ends = {id(last): end for end in run.of("flow_finished") if (last := self._final_method(end))}
        self.after: dict[str, list[str]] = {}
        self.given: dict[str, list[Fact]] = {}
        for start in run.of("method_execution_started"):
            if start.triggered:
                self.after.setdefault(start.triggered, []).append(start.text("method_name"))
            for value in () if start.triggered else _params(start).values():
                self.given.setdefault(text_of(value), []).append(start)
        self.replies: dict[str, set[str]] = {}
        for reply in run.of("conversation_message_added"):
            if reply.text("role") == "assistant":
                self.replies.setdefault(self._flow(reply), set()).add(folded(spoken(reply.data)))
        self.told: set[tuple[str, str]] = set()

    def flow_started(self, fact: Fact) -> Iterator[Made]:
        """What the user gave."""
        inputs = fact.data.get("inputs")
        return self.book.shown(fact.place.at("/inputs"), None, text_of(inputs) if inputs else "", "initial", fact.time)

    def flow_finished(self, fact: Fact) -> Iterator[Made]:
        """The result, unless it is that of a method."""
        if not self._final_method(fact) and not self._is_private(fact):
            yield from self._result(fact, None)

    def method_execution_started(self, fact: Fact) -> Iterator[Made]:
        """What a method was given: parameters, and the state."""
        method = fact.text("method_name")
        yield from self.book.actor(fact.place, method, evidence="node")
        for key, value in _params(fact).items():
            yield from self.book.shown(fact.place.at(f"/params/{key}"), method, text_of(value), "input", fact.time)
        yield from self.book.shown(fact.place.at("/state"), method, fact.text("state"), "state", fact.time)

    def method_execution_finished(self, fact: Fact) -> Iterator[Made]:
        """What a method wrote into the state, and handed on."""
        method = fact.text("method_name")
        yield from self.book.actor(fact.place, method, evidence="node")
        yield from self._written(fact)
        yield from self._reviewed(fact)
        flow = self.ends.get(id(fact))
        if flow and not self._is_private(flow):
            yield from self._result(flow, method, fact)
            return
        to = tuple(Delivery(m, "structural") for m in dict.fromkeys(self._readers_of(fact)))
        yield from self._say(fact, "C2", fact.text("result"), to, "/result", "method_result", method)

    def method_execution_paused(self, fact: Fact) -> Iterator[Made]:
        """A method that waits for somebody to look at its result, which is not in the record until they have."""
        method = fact.text("method_name")
        yield from self._written(fact)
        yield from self._say(fact, "C1", fact.text("message"), (Delivery(USER),), "/message", "question", method)
        yield self.book.loss(fact.place, "content_missing", "C1", "what a method that waits has shown for a review")

    def conversation_message_added(self, fact: Fact) -> Iterator[Made]:
        """What the user says, and is answered, in a flow that is a conversation."""
        role, text, place = fact.text("role"), spoken(fact.data), fact.place.at("/content")
        if role != "assistant":
            kind: SightingKind = "initial" if role == "user" else "history"
            yield from self.book.shown(place, None, text, kind, fact.time)
        elif self._is_news(self._flow(fact), text):
            yield from self._say(fact, "C1", text, (Delivery(USER),), "/content", "answer", self._owner(fact) or "")
        else:
            yield from self.book.shown(place, USER, text, "result", fact.time)

    def _written(self, fact: Fact) -> Iterator[Made]:
        method, start = fact.text("method_name"), self.run.by_id.get(fact.started or "")
        changed = changes(start.data.get("state") if start else None, fact.data.get("state"))
        if changed:
            yield from self.book.actor(fact.place, STATE, "memory", "node")
            to, text = (Delivery(STATE),), text_of(changed)
            yield from self._say(fact, "C5", text, to, "/state", "state_write", method, id=f"{fact.id}/state")

    def _reviewed(self, fact: Fact) -> Iterator[Made]:
        """What people were shown and said: where they are asked outside of the console, only the result holds it."""
        result, method = fact.data.get("result"), fact.text("method_name")
        if not isinstance(result, dict) or not result.keys() >= _REVIEWED:
            return
        output, at = text_of(result["output"]), "/result/output"
        if not self.book.said(method, output):
            yield from self._say(fact, "C1", output, (Delivery(USER),), at, "review", method, id=f"{fact.id}/output")
        place = fact.place.at("/result/feedback")
        yield from self.book.shown(place, method, text_of(result["feedback"]), "input", fact.time)

    def _readers_of(self, fact: Fact) -> list[str]:
        """Methods that a result started; where a flow goes on after a pause, those that were given it."""
        later = (s for s in self.given.get(fact.text("result"), []) if s.order > fact.order)
        return self.after.get(fact.id) or [s.text("method_name") for s in later]

    def _result(self, flow: Fact, method: str | None, fact: Fact | None = None) -> Iterator[Made]:
        fact = fact or flow
        text, at = fact.text("result"), "/result"
        if self._is_news(flow.started or "", text):
            yield from self._outward(flow, text, method, at, fact)
        else:
            yield from self.book.shown(fact.place.at(at), USER, text, "result", fact.time)

    def _is_private(self, flow: Fact) -> bool:
        """In a conversation the user is shown the answers; what a method gives back else, its caller may keep."""
        replies = self.replies.get(flow.started or "")
        return bool(replies) and folded(flow.text("result")) not in (replies or ())

    def _is_news(self, flow: str, text: str) -> bool:
        if flow not in self.replies or (flow, folded(text)) not in self.told:
            self.told.add((flow, folded(text)))
            return True
        return False

    def _flow(self, fact: Fact) -> str:
        flow = self.run.above(fact, "flow_started")
        return flow.id if flow else ""

    def _final_method(self, flow: Fact) -> Fact | None:
        ends = [f for f in self.run.of("method_execution_finished") if f.parent == flow.started]
        return next((f for f in reversed(ends) if f.data.get("result") == flow.data.get("result")), None)
