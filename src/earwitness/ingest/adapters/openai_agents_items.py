"""OpenAI Agents SDK run items: `result.new_items` dumped, `stream_events()` logged, and the JSON of a `RunState`.

Written by hand from a run's result (`type`, `agent`, `raw_item`, of handoffs `source_agent` and `target_agent`), from
its stream, or by `RunState.to_json()`. Items name their agent. What agents called as tools did inside is not in the
items, only what they were asked and answered: as messages where `tool_origin` says that the tool is an agent, or an
agent of the run has the tool's name, else as tool call and result. An agent that takes over is given the history,
unless the application filters it, which the items do not show. A run state holds the application's shared context as it
was at the end; who wrote what into it is not recorded. It also holds what guardrails did: calls they refused and
answers they held back reached nobody; so did calls that a human refused. Items and stream events alone do not tell
these from others, unless the refusal is in the SDK's own words. Where a handoff put another history in the place of
what was said, a run state holds that for the last agent, and the first request is gone. Tools of the provider, shells
and approvals of MCP calls are told by their own items.

Obtained by: `result.new_items` or `stream_events()` dumped, or `RunState.to_json()`.
Versions tried: openai-agents 0.24.0 (run state 1.21).
Order: position in the list; no times.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from earwitness.ingest.dialogue import At, Dialogue, trace_of_file
from earwitness.ingest.record import Context, Emit, Place, Record, Skip
from earwitness.ingest.runguards import RunGuards
from earwitness.ingest.spans.identity import clean_name
from earwitness.ingest.spans.messages import read_messages
from earwitness.ingest.spans.texts import as_text
from earwitness.ingest.talk import Talk
from earwitness.schema.model import Trace
from earwitness.schema.words import Channel, SightingKind

_OBSERVABLE: tuple[Channel, ...] = ("C1", "C2", "C3", "C4", "C6")
_STREAMED = ("raw_response_event", "run_item_stream_event", "agent_updated_stream_event")
_CONTEXT = "context"


class _OpenaiAgentsItems:
    NAME = "openai-agents-items"
    TITLE = "OpenAI Agents SDK run items, stream events and run states"

    def sniff(self, value: Any) -> bool:
        return isinstance(value, dict) and (_is_item(value) or value.get("type") in _STREAMED or _is_state(value))

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


def _is_item(value: dict[str, Any]) -> bool:
    return isinstance(value.get("type"), str) and value["type"].endswith("_item") and "raw_item" in value


def _is_state(value: dict[str, Any]) -> bool:
    return "$schemaVersion" in value and "model_responses" in value


def _interruptions(state: dict[str, Any]) -> list[dict[str, Any]]:
    """Calls at which a run stopped, to be approved."""
    step = state.get("current_step")
    data = step.get("data", step) if isinstance(step, dict) else None
    found = data.get("interruptions") if isinstance(data, dict) else None
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def _items(state: dict[str, Any], key: str) -> list[Any]:
    return state[key] if isinstance(state.get(key), list) else []


def _is_cut(state: dict[str, Any]) -> bool:
    """Whether a handoff put another history in the place of what was said: then only `session_items` hold all of it."""
    whole, left = (
        sum(not (isinstance(item, dict) and item.get("type") == "tool_approval_item") for item in _items(state, key))
        for key in ("session_items", "generated_items")
    )
    return whole > left


def _agents(state: dict[str, Any]) -> list[str]:
    """Agents of a run, besides those that its items name."""
    used = state.get("tool_use_tracker")
    return [name for name in (used if isinstance(used, dict) else ()) if isinstance(name, str)]


def _name(agent: Any) -> str | None:
    return clean_name(agent.get("name") if isinstance(agent, dict) else agent)


def _callee(item: dict[str, Any]) -> str | None:
    """The agent behind a tool, which newer versions of the SDK name beside the call and its output."""
    origin = item.get("tool_origin")
    named = isinstance(origin, dict) and origin.get("type") == "agent_as_tool"
    return clean_name(origin.get("agent_name")) if named and isinstance(origin, dict) else None


class _Reader:
    def __init__(self, context: Context) -> None:
        self.context = context
        self._run: Talk | None = None
        self._heard: list[tuple[list[Any], Place, str | None]] = []
        self._items = False
        self._last: str | None = None  # the kind of the last item

    def feed(self, record: Record) -> Iterable[Emit]:
        value, place = record
        if _is_state(value):
            return self._state(value, place)
        if value["type"] == "raw_response_event":
            return self._raw(value, place)
        run = self._talk(place)
        if value["type"] == "agent_updated_stream_event":
            run.agent = _name(value.get("new_agent")) or run.agent
            return ()
        return self._item(run, value.get("item", value), place)

    def _talk(self, place: Place) -> Talk:
        if self._run is None:
            trace = trace_of_file(self.context, "openai-agents")
            head = Trace(id=trace, framework="openai-agents", observable=_OBSERVABLE)
            self._run, self._run_at = Talk(Dialogue(head, At(place)), None), place
        return self._run

    def _item(self, run: Talk, item: Any, place: Place) -> Iterator[Emit]:
        self._items = True
        if not isinstance(item, dict) or not self._told(run, item, At(place)):
            yield Skip("unknown", "a run item of a kind that is not known", place)
        yield from run.dialogue.drain()

    def _told(self, run: Talk, item: dict[str, Any], at: At) -> bool:
        self._last = item.get("type")
        if item.get("type") == "tool_approval_item":
            return self._paused(run, item, at)
        handed = item.get("type") == "handoff_output_item"
        agent = _name(item.get("source_agent")) if handed else _name(item.get("agent"))
        target = _name(item.get("target_agent")) if handed else None
        return run.tell(item.get("raw_item", item), at, agent=agent, target=target, callee=_callee(item))

    def _paused(self, run: Talk, item: dict[str, Any], at: At) -> bool:
        """A call that waits for approval; its item repeats the call."""
        raw = item.get("raw_item")
        call_id = raw.get("call_id") or raw.get("id") if isinstance(raw, dict) else None
        if not isinstance(call_id, str):
            return False
        known = run.dialogue.open_call(call_id) is not None
        known = known or run.tell(raw, at, agent=_name(item.get("agent")), callee=_callee(item))
        run.dialogue.pause(call_id)
        return known

    def _raw(self, value: dict[str, Any], place: Place) -> Iterator[Emit]:
        """Deltas, and the whole response at the end of each; needed only where the stream's items were not logged."""
        data = value.get("data")
        response = data.get("response") if isinstance(data, dict) else None
        if isinstance(data, dict) and isinstance(response, dict) and self._wanted(data):
            self._heard.append((response.get("output") or [], place, self._run.agent if self._run else None))
        yield Skip("ignored", "a piece of a streamed response", place)

    def _wanted(self, data: dict[str, Any]) -> bool:
        return data.get("type") == "response.completed" and not self._items

    def finish(self) -> Iterator[Emit]:
        for output, place, agent in [] if self._items else self._heard:
            run = self._talk(place)
            for n, item in enumerate(output):
                run.tell(item, At(place.at(f"/data/response/output/{n}")), agent=agent)
        if self._run:
            self._miss_answer(self._run.dialogue, self._run_at)
            yield from self._run.dialogue.finish()

    def _miss_answer(self, dialogue: Dialogue, place: Place) -> None:
        """A run that ends with a tool's result gave the user that result, or what the application made of it."""
        if self._last == "tool_call_output_item" and not dialogue.is_paused():
            detail = "the answer of a run that ended with the result of a tool"
            dialogue.lose("content_missing", "C1", detail, place)

    def _state(self, state: dict[str, Any], place: Place) -> Iterator[Emit]:
        traced = state.get("trace")
        traced = traced if isinstance(traced, dict) else {}
        known = {"trace_id": traced.get("id"), "workflow_name": traced.get("workflow_name")}
        trace = trace_of_file(self.context, "openai-agents")
        attributes = {k: v for k, v in known.items() if v} or None
        head = Trace(id=trace, framework="openai-agents", observable=_OBSERVABLE, attributes=attributes)
        run, guards = Talk(Dialogue(head, At(place)), None), RunGuards(state)
        run.refuses(guards.refusals, guards.refused)
        for name in _agents(state):
            run.dialogue.knows(name)
        given = state.get("original_input")
        given = given if isinstance(given, list) else [{"role": "user", "content": given or ""}]
        cut = _is_cut(state)
        for n, item in enumerate([] if cut else given):
            run.tell(item, At(place.at(f"/original_input/{n}")))
        unknown, key = 0, "session_items" if cut else "generated_items"
        for n, item in enumerate(_items(state, key)):
            where = At(place.at(f"/{key}/{n}"))
            unknown += not (isinstance(item, dict) and self._told(run, item, where))
        for item in _interruptions(state):
            self._paused(run, item, At(place.at("/current_step")))
        self._miss_answer(run.dialogue, place)
        yield from guards.withhold(run.dialogue.finish())
        if unknown:
            run.dialogue.lose("dropped", None, "run items of a kind that is not known", place, unknown)
        guards.tell(run.dialogue, place)
        if cut:
            self._show_given(run.dialogue, _name(state.get("current_agent")), given, place)
        self._show_context(run.dialogue, state.get("context"), place)
        yield from run.dialogue.drain()

    def _show_given(self, dialogue: Dialogue, agent: str | None, given: list[Any], place: Place) -> None:
        """What the last agent was given in the place of the history; the request is gone."""
        for n, item in enumerate(given):
            for message in read_messages(item, "user"):
                kind: SightingKind = "initial" if message.role in ("user", "system") else "history"
                for part in message.parts:
                    dialogue.sighting(agent, part.text, kind, At(place.at(f"/original_input/{n}")))
        dialogue.lose("content_missing", None, "the request, in whose place a handoff put another history", place)

    def _show_context(self, dialogue: Dialogue, context: Any, place: Place) -> None:
        """The application's shared object: a copy of what tools were given to keep."""
        shared = context.get("context") if isinstance(context, dict) else None
        for key, value in shared.items() if isinstance(shared, dict) else ():
            dialogue.actor(_CONTEXT, "memory", "declared", place)
            inner = value.items() if isinstance(value, dict) else [(None, value)]
            for name, content in inner:
                path = f"/context/context/{key}" + ("" if name is None else f"/{name}")
                dialogue.sighting(_CONTEXT, as_text(content), "state", At(place.at(path)))


ADAPTER = _OpenaiAgentsItems()
