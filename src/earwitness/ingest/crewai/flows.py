"""Memory, knowledge, and the state of flows."""

import re
from collections.abc import Iterator

from earwitness.ingest.chronicle import text_of
from earwitness.ingest.crewai.facts import Fact, listed, unquote, within
from earwitness.ingest.crewai.runs import Run
from earwitness.ingest.crewai.teller import Teller
from earwitness.ingest.record import Made
from earwitness.schema.model import Delivery

MEMORY = "memory"
KNOWLEDGE = "knowledge"
STATE = "flow state"
# What CrewAI writes in place of the memories it saves in the background.
_COUNT_ONLY = re.compile(r"\d+ memories (\(background\)|saved)")


def changes(before: object, after: object) -> dict[str, object]:
    """Fields of a flow state that a method wrote."""
    old = before if isinstance(before, dict) else {}
    new = after if isinstance(after, dict) else {}
    return {k: v for k, v in new.items() if k != "id" and old.get(k) != v and v not in (None, "", [], {})}


class Stores(Teller):
    """What was read from and written to stores."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.retrievals = {f.started: f for f in run.of("memory_retrieval_completed") if f.started}

    def memory_query_started(self, fact: Fact) -> Iterator[Made]:
        """What a memory was asked."""
        yield from self.book.actor(fact.place, MEMORY, "memory")
        yield from self.book.shown(fact.place.at("/query"), MEMORY, fact.text("query"), "input", fact.time)

    def memory_query_completed(self, fact: Fact) -> Iterator[Made]:
        """What was found; the agent gets it as the text of a retrieval, if there is one around it."""
        whole = self.retrievals.get(fact.parent or "")
        for n, found in enumerate(listed(fact.data.get("results"))):
            text = unquote(within(found, "record", "content") or found.get("content") or found.get("context"))
            at = f"/results/{n}"
            if whole:
                yield from self.book.shown(fact.place.at(at), whole.agent, text, "result", fact.time)
            else:
                yield from self._read(fact, text, at, MEMORY)

    def memory_retrieval_completed(self, fact: Fact) -> Iterator[Made]:
        """What an agent was given of memories."""
        return self._read(fact, fact.text("memory_content"), "/memory_content", MEMORY)

    def knowledge_retrieval_completed(self, fact: Fact) -> Iterator[Made]:
        """What an agent was given of documents."""
        return self._read(fact, fact.text("retrieved_knowledge"), "/retrieved_knowledge", KNOWLEDGE)

    def memory_save_completed(self, fact: Fact) -> Iterator[Made]:
        """A write; its content is there only where a single memory was saved by hand."""
        value = fact.text("value")
        if not value or _COUNT_ONLY.fullmatch(value):
            yield self.book.loss(fact.place, "content_missing", "C5", "memories saved in the background")
            return
        yield from self.book.actor(fact.place, MEMORY, "memory")
        to, sender = (Delivery(MEMORY),), self._owner(fact)
        yield from self._say(fact, "C5", value, to, "/value", kind="memory_write", sender=sender)

    def _read(self, fact: Fact, text: str, at: str, store: str) -> Iterator[Made]:
        owner = self._owner(fact)
        to = (Delivery(owner, "declared" if fact.agent else "structural"),) if owner else ()
        yield from self._say(fact, "C5", text, to, at, "memory_read", store, "memory")


class Flows(Teller):
    """Methods of flows, what they hand on, and what they write into the state."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.ends = {id(last): end for end in run.of("flow_finished") if (last := self._final_method(end))}
        self.after: dict[str, list[str]] = {}
        for start in run.of("method_execution_started"):
            self.after.setdefault(start.triggered or "", []).append(start.text("method_name"))

    def flow_started(self, fact: Fact) -> Iterator[Made]:
        """What the user gave."""
        inputs = fact.data.get("inputs")
        return self.book.shown(fact.place.at("/inputs"), None, text_of(inputs) if inputs else "", "initial", fact.time)

    def flow_finished(self, fact: Fact) -> Iterator[Made]:
        """The result, unless it is that of a method."""
        if not self._final_method(fact):
            yield from self._outward(fact, fact.text("result"), None, "/result")

    def method_execution_started(self, fact: Fact) -> Iterator[Made]:
        """What a method was given: parameters, and the state."""
        method = fact.text("method_name")
        yield from self.book.actor(fact.place, method, evidence="node")
        for key, value in (fact.data.get("params") or {}).items() if isinstance(fact.data.get("params"), dict) else ():
            yield from self.book.shown(fact.place.at(f"/params/{key}"), method, text_of(value), "input", fact.time)
        yield from self.book.shown(fact.place.at("/state"), method, fact.text("state"), "state", fact.time)

    def method_execution_finished(self, fact: Fact) -> Iterator[Made]:
        """What a method wrote into the state, and handed on."""
        method = fact.text("method_name")
        yield from self.book.actor(fact.place, method, evidence="node")
        start = self.run.by_id.get(fact.started or "")
        changed = changes(start.data.get("state") if start else None, fact.data.get("state"))
        if changed:
            yield from self.book.actor(fact.place, STATE, "memory", "node")
            to = (Delivery(STATE),)
            text = text_of(changed)
            yield from self._say(fact, "C5", text, to, "/state", "state_write", method, id=f"{fact.id}/state")
        flow = self.ends.get(id(fact))
        if flow:
            yield from self._outward(flow, fact.text("result"), method, "/result", fact)
            return
        readers = tuple(Delivery(m, "structural") for m in dict.fromkeys(self.after.get(fact.id, [])))
        yield from self._say(fact, "C2", fact.text("result"), readers, "/result", "method_result", method)

    def _final_method(self, flow: Fact) -> Fact | None:
        ends = [f for f in self.run.of("method_execution_finished") if f.parent == flow.started]
        return next((f for f in reversed(ends) if f.data.get("result") == flow.data.get("result")), None)
