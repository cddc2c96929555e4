"""CrewAI checkpoint: the events of a run so far in one JSON object, with the objects to resume from.

`Crew(checkpoint=True)` writes `.checkpoints/<branch>/<time>_<id>_p-<parent>.json` after each task. Its events are those
of the event bus, and are read as such; later checkpoints repeat earlier ones. The objects repeat the events.

The format cannot show what happened after the last checkpoint; a crew with function tools cannot write any.

Obtained by: `Crew(checkpoint=True)`.
Versions tried: CrewAI 1.15.30.
Order: number of the bus, with times.
"""

from typing import Any

from earwitness.ingest.crewai.facts import within
from earwitness.ingest.crewai.reader import Reader
from earwitness.ingest.record import Context, Record


class _CrewAICheckpoint:
    NAME = "crewai-checkpoint"
    TITLE = "CrewAI checkpoint"
    READER = "crewai"

    def sniff(self, value: Any) -> bool:
        return isinstance(value, dict) and "crewai_version" in value and isinstance(_nodes(value), dict)

    def split(self, record: Record) -> list[Record]:
        """Its events as records; the rest holds nothing that was not said in one of them."""
        nodes = _nodes(record.value)
        events = ((key, node.get("event")) for key, node in nodes.items() if isinstance(node, dict))
        return [
            Record(event, record.place.at(f"/event_record/nodes/{key}/event"))
            for key, event in events
            if isinstance(event, dict) and isinstance(event.get("type"), str)
        ]

    def open(self, context: Context) -> Reader:
        return Reader(context)


def _nodes(value: Any) -> Any:
    return within(value, "event_record", "nodes")


ADAPTER = _CrewAICheckpoint()
