"""Memory and knowledge."""

import re
from collections.abc import Iterator

from earwitness.ingest.crewai.facts import Fact, listed, unquote, within
from earwitness.ingest.crewai.runs import Run
from earwitness.ingest.crewai.teller import Teller
from earwitness.ingest.record import Made
from earwitness.schema.model import Delivery

MEMORY = "memory"
KNOWLEDGE = "knowledge"
# What CrewAI writes in place of the memories it saves in the background.
_COUNT_ONLY = re.compile(r"\d+ memories (\(background\)|saved)")


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

    def knowledge_query_started(self, fact: Fact) -> Iterator[Made]:
        """A question to documents is made of the task: the call of a model inside of this says how."""
        return iter(())

    def knowledge_search_query_completed(self, fact: Fact) -> Iterator[Made]:
        """What documents were asked, and what an agent was given of them."""
        yield from self.book.actor(fact.place, KNOWLEDGE, "memory")
        yield from self.book.shown(fact.place.at("/query"), KNOWLEDGE, fact.text("query"), "input", fact.time)
        yield from self._read(fact, fact.text("retrieved_knowledge"), "/retrieved_knowledge", KNOWLEDGE)

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
