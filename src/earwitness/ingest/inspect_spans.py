"""Who acts in an Inspect transcript: spans, and the agents, tools and scorers they stand for."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from earwitness.ingest.script import is_name

ROOT = "assistant"
_ACTING = frozenset(("agent", "scorer"))


class Step(NamedTuple):
    """An event of a transcript with its JSON pointer; `inherit` is who acts inside a tool without spans of its own."""

    event: dict[str, Any]
    pointer: str
    inherit: str | None = None


def steps_of(events: list[dict[str, Any]], pointer: str, inherit: str | None = None) -> Iterator[Step]:
    """Events in order; what happened inside a tool or subtask comes before its own result."""
    for n, event in enumerate(events):
        at = f"{pointer}/{n}"
        inner = event.get("events")
        if isinstance(inner, list) and inner:
            acting = event.get("agent") or event.get("function") or event.get("name")
            yield from steps_of(inner, f"{at}/events", acting)
        yield Step(event, at, inherit)


@dataclass
class Spans:
    """The span tree.

    Attributes:
        known: id -> the `span_begin` event.
        delegates: (span of the caller, tool) -> agent that runs under the tool.
    """

    known: dict[str, dict[str, Any]] = field(default_factory=dict)
    delegates: dict[tuple[str | None, str], str] = field(default_factory=dict)

    @classmethod
    def of(cls, steps: list[Step]) -> "Spans":
        """The tree of a whole transcript."""
        begun = {e["id"]: e for e, _, _ in steps if e.get("event") == "span_begin" and "id" in e}
        spans = cls(begun)
        for span in begun.values():
            if span.get("type") == "agent":
                spans._note_delegate(span)
        for event, _, _ in steps:
            if event.get("event") == "tool" and is_name(event.get("agent")):
                spans.delegates[(event.get("span_id"), event["function"])] = event["agent"]
        return spans

    def _note_delegate(self, span: dict[str, Any]) -> None:
        above = self.known.get(str(span.get("parent_id")))
        while above and above.get("type") not in ("tool", "agent"):
            above = self.known.get(str(above.get("parent_id")))
        if above and above.get("type") == "tool":
            self.delegates[(above.get("parent_id"), above["name"])] = span["name"]

    def chain(self, span_id: Any) -> list[dict[str, Any]]:
        """Acting spans from the innermost to the outermost."""
        found, seen = [], set()
        while span_id in self.known and span_id not in seen:
            seen.add(span_id)
            span = self.known[span_id]
            if span.get("type") in _ACTING and is_name(span.get("name")):
                found.append(span)
            span_id = span.get("parent_id")
        return found

    def actor(self, step: Step) -> str:
        """Who acts: the innermost agent or scorer; a run without such spans has one agent, which has no name."""
        chain = self.chain(step.event.get("span_id"))
        return chain[0]["name"] if chain else step.inherit or ROOT

    def above(self, step: Step) -> str | None:
        """Who the acting agent works for; None for the outermost."""
        chain = self.chain(step.event.get("span_id"))
        if chain and chain[0].get("type") == "scorer":
            return None
        if step.inherit and not chain:
            return ROOT
        return chain[1]["name"] if len(chain) > 1 else None

    def is_root(self, step: Step) -> bool:
        """Whether the outermost agent acts, whose last word goes to the user."""
        chain = self.chain(step.event.get("span_id"))
        return not step.inherit and (not chain or (len(chain) == 1 and chain[0].get("type") == "agent"))
