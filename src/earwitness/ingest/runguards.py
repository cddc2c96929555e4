"""What guardrails and humans forbade in a run, as the `RunState` of the OpenAI Agents SDK holds it.

A guardrail of a tool's input refuses the call, and the tool never runs: what the agent gets back are the guardrail's
words. One of a tool's output puts its words in the place of the tool's. One of an agent's output stops the run, and
nobody is given what the agent said. What a guardrail notes of what it judged (`outputInfo`) is kept with the run.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from earwitness.ingest.dialogue import USER, At, Dialogue
from earwitness.ingest.record import Emit, Made, Place
from earwitness.ingest.spans.build import as_dict, as_rows
from earwitness.ingest.spans.identity import clean_name
from earwitness.ingest.spans.texts import as_text, fingerprint, fingerprint_of, says_nothing
from earwitness.schema.model import Delivery, Event

_KINDS = tuple(f"{what}_guardrail_results" for what in ("input", "output", "tool_input", "tool_output"))


class RunGuards:
    """The guardrails of one run state.

    Attributes:
        refusals: what agents were answered in place of tools that were not run.
        refused: ids of calls that a human did not allow.
    """

    def __init__(self, state: dict[str, Any]) -> None:
        self._results = [(f"/{kind}/{n}", r) for kind in _KINDS for n, r in enumerate(as_rows(state.get(kind)))]
        self.refusals = {text for path, r in self._results if path.startswith("/tool_input") and (text := _refusal(r))}
        decisions = _decisions(as_dict(state.get("context")))
        self.refused = {call for d in decisions for call in _refused(d)}
        self.refusals |= {d["sticky_rejection_message"] for d in decisions if d.get("sticky_rejection_message")}
        self._held = {_words(r) for _, r in self._results if as_dict(r.get("output")).get("tripwireTriggered") is True}

    def tell(self, dialogue: Dialogue, place: Place) -> None:
        """What they were shown and what they noted, each as a log: third parties, whoever runs them."""
        for path, result in self._results:
            name = clean_name(as_dict(result.get("guardrail")).get("name"))
            dialogue.actor(name, "tool", "declared", place)
            if name and "agentOutput" in result:
                dialogue.sighting(name, as_text(result["agentOutput"]), "input", At(place.at(f"{path}/agentOutput")))
            noted = as_dict(result.get("output")).get("outputInfo")
            if noted is not None and not says_nothing(text := as_text(noted)):
                at = At(place.at(f"{path}/output/outputInfo"))
                dialogue.event("C6", text, at, kind="guardrail", sender=name, remember=False)

    def withhold(self, emits: Iterable[Emit]) -> Iterator[Emit]:
        """The same items; answers that were held back did not reach the user."""
        for emit in emits:
            item = emit[0] if type(emit) is Made else None
            if type(item) is Event and item.channel == "C1" and (item.sender, fingerprint(item.content)) in self._held:
                yield Made(withheld(item), emit.place)
            else:
                yield emit


def withheld(answer: Event) -> Event:
    """An answer that the user was meant to get."""
    to = (Delivery(USER, "structural", delivered=False),)
    return replace(answer, to=to, flags=(*answer.flags, "not_delivered"))


def _decisions(context: dict[str, Any]) -> list[dict[str, Any]]:
    """What humans decided of calls, by tool; newer states keep it by agent and tool."""
    by_tool = as_dict(context.get("approvals")).values()
    by_agent = (as_dict(row.get("decision")) for row in as_rows(context.get("function_tool_approvals")))
    return [as_dict(d) for d in (*by_tool, *by_agent)]


def _refused(decision: dict[str, Any]) -> Iterator[str]:
    rejected = decision.get("rejected")
    yield from (call for call in rejected if isinstance(call, str)) if isinstance(rejected, list) else ()
    yield from as_dict(decision.get("rejection_messages"))


def _refusal(result: dict[str, Any]) -> str | None:
    behavior = as_dict(as_dict(result.get("output")).get("behavior"))
    message = behavior.get("message")
    return message if behavior.get("type") == "reject_content" and isinstance(message, str) and message else None


def _words(result: dict[str, Any]) -> tuple[str | None, bytes]:
    """Who said what: the agent that was judged, and the fingerprint of its words."""
    return clean_name(as_dict(result.get("agent")).get("name")), fingerprint_of(result.get("agentOutput"))
