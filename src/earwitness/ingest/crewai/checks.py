"""Guardrails of tasks, people asked for a review or an input, and remote agents."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from urllib.parse import urlsplit

from earwitness.ingest.chronicle import USER, name_of, text_of, undelivered
from earwitness.ingest.crewai.facts import Fact
from earwitness.ingest.crewai.runs import Run
from earwitness.ingest.crewai.teller import Teller
from earwitness.ingest.record import Made
from earwitness.schema.model import Delivery

# Where a task asks for a review, people see every finished answer; only what they said of it is in the record.
_FEEDBACK = "User feedback: "
# What is said where no connection came about; after any other error the words may have arrived.
_NO_CONNECTION = re.compile(
    r"connection attempts failed|connection refused|name or service not known|no route to host|getaddrinfo failed",
    re.IGNORECASE,
)


class Checks(Teller):
    """Who else is shown what an agent or a method made."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.verdicts = {f.started: f for f in run.of("llm_guardrail_completed") if f.started}
        self.starts: dict[str | None, list[Fact]] = {}
        for start in run.of("agent_execution_started"):
            self.starts.setdefault(start.agent, []).append(start)
        self.drafts: dict[str | None, Fact] = {}
        self.unsent = set(self._unsent())
        judges = run.of("lite_agent_execution_completed") if self.verdicts else []
        self.by_model = {check.id for judge in judges if (check := self.judged(judge))}

    def judged(self, fact: Fact) -> Fact | None:
        """The check that an agent was run for, if it is the judge of a guardrail."""
        return self.run.above(fact, "llm_guardrail_started")

    def submitted(self, check: Fact, judge: Fact) -> Iterator[Made]:
        """The answer that a judge was given; the rest of what it was told stands in the call of its model."""
        draft = self.drafts.get(check.agent)
        answer = draft.text("response") if draft else ""
        if draft and answer.strip() in text_of(judge.data.get("messages")):
            yield from self.book.shown(judge.place.at("/messages"), judge.agent, answer, "input", judge.time, draft.id)

    def retried(self, check: Fact) -> tuple[Delivery, ...]:
        """The agent that was given the objection of a check, with the order to do its task again."""
        verdict = self.verdicts.get(check.id)
        objection = verdict.text("error") if verdict else ""
        starts = self.starts.get(check.agent, [])
        after = bisect_right(starts, check.order, key=lambda start: start.order)
        again = objection and after < len(starts) and objection in starts[after].text("task_prompt")
        return (Delivery(check.agent, "structural"),) if again and check.agent else ()

    def llm_guardrail_started(self, fact: Fact) -> Iterator[Made]:
        """A check: what it is of was said before, and what it says comes after."""
        return iter(())

    def llm_guardrail_completed(self, fact: Fact) -> Iterator[Made]:
        """What a check objected to. The judge of a check by a model said it in its own words."""
        check = self.run.by_id.get(fact.started or "")
        objection = fact.text("error")
        if check and objection and check.id not in self.by_model:
            name = name_of(fact.data.get("guardrail_name")) or ""
            at, to = "/error", self.retried(check)
            yield from self._say(fact, "C6", objection, to, at, "guardrail", name, "tool")

    def reviewed(self, fact: Fact, text: str) -> Iterator[Made]:
        """The answer that people gave their feedback to was shown to them."""
        draft = self.drafts.get(fact.agent) if text.startswith(_FEEDBACK) else None
        if draft:
            answer = draft.text("response")
            yield from self.book.actor(draft.place, USER, "user")
            yield from self.book.shown(draft.place.at("/response"), USER, answer, "result", fact.time, draft.id)

    def human_feedback_requested(self, fact: Fact) -> Iterator[Made]:
        """A method's result, shown to somebody with a question."""
        method, to = fact.text("method_name"), (Delivery(USER),)
        yield from self._say(fact, "C1", fact.text("output"), to, "/output", kind="review", sender=method)
        yield from self._say(
            fact, "C1", fact.text("message"), to, "/message", kind="question", sender=method, id=f"{fact.id}/message"
        )

    def human_feedback_received(self, fact: Fact) -> Iterator[Made]:
        """What people said of it."""
        method = fact.text("method_name")
        return self.book.shown(fact.place.at("/feedback"), method, fact.text("feedback"), "input", fact.time)

    def flow_input_requested(self, fact: Fact) -> Iterator[Made]:
        """A question of a method to the user."""
        method = fact.text("method_name")
        return self._say(fact, "C1", fact.text("message"), (Delivery(USER),), "/message", "question", method)

    def flow_input_received(self, fact: Fact) -> Iterator[Made]:
        """What the user gave."""
        method = fact.text("method_name")
        return self.book.shown(fact.place.at("/response"), method, fact.text("response"), "input", fact.time)

    def a2a_message_sent(self, fact: Fact) -> Iterator[Made]:
        """Words to a remote agent; without an id they are the end of a talk with one, which it is not sent."""
        if fact.data.get("message_id"):
            name = _remote(fact)
            to = () if not name else (undelivered(name),) if fact.id in self.unsent else (Delivery(name),)
            yield from self._say(fact, "C2", fact.text("message"), to, "/message", kind="request")

    def a2a_response_received(self, fact: Fact) -> Iterator[Made]:
        """What a remote agent answered; what is told of a failed connection are no words of its own."""
        lost = fact.text("status") == "failed" and any(e in fact.text("response") for e in self.errors if e)
        if not lost:
            yield from self._say(
                fact,
                "C2",
                fact.text("response"),
                self._me(fact),
                "/response",
                kind="answer",
                sender=_remote(fact) or "",
            )

    def _unsent(self) -> Iterator[str]:
        """Messages after which the connection could not be made."""
        last: dict[str, str] = {}
        for fact in self.run.of("a2a_message_sent", "a2a_response_received", "a2a_connection_error"):
            endpoint = fact.text("endpoint")
            if fact.type == "a2a_message_sent":
                last[endpoint] = fact.id
            elif sent := last.pop(endpoint, None):
                yield from [sent] if _NO_CONNECTION.search(fact.text("error")) else []


def _remote(fact: Fact) -> str | None:
    endpoint = fact.text("endpoint")
    return name_of(fact.data.get("a2a_agent_name")) or name_of(urlsplit(endpoint).netloc or endpoint)
