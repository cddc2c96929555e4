"""CrewAI event bus: one event a line, as a listener of the user wrote them with `model_dump_json()` or `to_json()`.

A `BaseEventListener` that writes every event gives such a file; both encodings, and the events inside checkpoints, are
read as one run. Delegation to a coworker is a message between agents, its result the answer. Order is that of the bus,
for handlers run in threads. Model inputs are sightings. What guardrails object to is C6, also where a model judges;
words to remote agents (A2A) are C2, what people are shown for a review C1 or a sighting of the user. In a flow that is
a conversation the answers are C1, and what a method gives back beside them is not. Calls that MCP servers get are those
of agents, unless a tool or a method makes them by itself. Reads and writes of memory name no agent; the events they
happened inside of do.

The format cannot show what memories were saved in the background, only that some were; nor what a method that waits for
a review has shown, until it goes on; nor files, but those that a task names as its output or that go through a tool for
files, nor artifacts of remote agents; `model_dump_json()` fails for agents with function tools, so that their start and
end are missing.

Obtained by: a `BaseEventListener` that writes each event.
Versions tried: CrewAI 1.15.30.
Order: number of the bus, with times.
"""

from typing import Any

from earwitness.ingest.crewai.facts import IGNORED, KEPT
from earwitness.ingest.crewai.reader import Reader
from earwitness.ingest.record import Context

_OWN = ("emission_sequence", "source_fingerprint", "fingerprint_metadata")


class _CrewAIEvents:
    NAME = "crewai-events"
    TITLE = "CrewAI event bus"
    READER = "crewai"

    def sniff(self, value: Any) -> bool:
        if not isinstance(value, dict) or not isinstance(value.get("type"), str) or "timestamp" not in value:
            return False
        if "emission_sequence" in value and "event_id" in value:
            return True
        return (value["type"] in KEPT or value["type"] in IGNORED) and any(k in value for k in _OWN)

    def open(self, context: Context) -> Reader:
        return Reader(context)


ADAPTER = _CrewAIEvents()
