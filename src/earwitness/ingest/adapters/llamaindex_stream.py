"""LlamaIndex workflow events: what `handler.stream_events()` gives, one event a line, in any of three encodings.

Users dump each event with `model_dump()`, with `JsonSerializer`, or as the envelope of the workflow server; the result
of a run (`AgentOutput`) as JSON is read, too. Agent inputs hold the shared history: after a handoff the next agent
has seen it, which sightings say. A handoff counts when its target ran.

The format has no ids and no times: each file is a trace, cut where a run stops, and its order is that of the lines.
What the user is asked while one tool runs is asked by that. It cannot show agents that run inside a tool, what tools
write into the shared state, or files, but by names of tools.

Obtained by: `async for event in handler.stream_events()`, each event dumped.
Versions tried: llama-index-core 0.14.25, workflows 2.26.1.
Order: file order; no times.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from earwitness.ingest.chronicle import USER, name_of, run_name, text_of
from earwitness.ingest.llamaindex.messages import ToolUse, objects, text, tool_uses
from earwitness.ingest.llamaindex.telling import Story
from earwitness.ingest.record import Context, Emit, Made, Place, Record, Skip

# Events of the library itself that hold no agent.
_ASKED, _GIVEN, _MODELLED = "InputRequiredEvent", "HumanResponseEvent", "AgentStreamStructuredOutput"
_FAILED = ("WorkflowFailedEvent", "StepFailedEvent", "WorkflowTimedOutEvent")
# The run is over, and its caller was given nothing.
_BROKEN_OFF = ("WorkflowFailedEvent", "WorkflowTimedOutEvent", "WorkflowCancelledEvent")
_OWN = (_ASKED, _GIVEN, _MODELLED, *_FAILED, "WorkflowCancelledEvent")


class _LlamaIndexStream:
    NAME = "llamaindex-stream"
    TITLE = "LlamaIndex workflow events"

    def sniff(self, value: Any) -> bool:
        if not isinstance(value, dict):
            return False
        if "qualified_name" in value and isinstance(value.get("value"), dict):
            return "__is_pydantic" in value or "types" in value
        name = value.get("event") or value.get("type")
        return _shape(value, str(name)) != "custom" or (name in _OWN and isinstance(name, str))

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


class _Reader:
    def __init__(self, context: Context) -> None:
        self.context = context
        self.story: Story | None = None

    def feed(self, record: Record) -> Iterable[Emit]:
        event, name, place = _unwrap(record)
        shape = _shape(event, name)
        if shape == "stream":
            yield Skip("ignored", "a chunk of an answer", record.place)
            return
        if self.story is None:
            self.story = Story(run_name(self.context))
            yield self.story.head(record.place)
        if name in _BROKEN_OFF:
            yield from self.story.break_off()
        if name in _FAILED:
            yield self.story.book.loss(place, "failed_call", None, "a step or a workflow failed")
        tell = _PEOPLE.get(name) or {
            "input": _input,
            "output": _output,
            "call": _call,
            "result": _result,
            "stop": _stop,
        }.get(shape)
        if tell:
            yield from tell(self.story, event, place)
        elif content := {k: v for k, v in event.items() if k != "event"}:
            yield from self.story.book.event(place, "C6", text_of(content), kind=name)
        else:
            yield Skip("ignored", "an event that holds nothing", record.place)
        if shape == "stop" or name in _BROKEN_OFF:
            self.story = None

    def finish(self) -> Iterable[Emit]:
        return self.story.ended() if self.story else ()


def _unwrap(record: Record) -> tuple[dict[str, Any], str, Place]:
    """The event itself, the name of its class, and its place."""
    value, place = record
    if "qualified_name" in value:
        return value["value"], str(value["qualified_name"]).rsplit(".", 1)[-1], place.at("/value")
    return value, str(value.get("event") or value.get("type") or "event"), place


def _shape(event: dict[str, Any], name: str) -> str:
    """Which event this is, told from its keys: plain dumps do not hold the class, unless users add it."""
    if "current_agent_name" in event:
        if isinstance(event.get("response"), dict):
            return "output"
        return "input" if isinstance(event.get("input"), list) else "stream" if "delta" in event else "custom"
    if "tool_name" in event and "tool_id" in event and "tool_kwargs" in event:
        return "result" if "tool_output" in event else "call"
    result = event.get("result")
    ends = name == "StopEvent" or (isinstance(result, dict) and "current_agent_name" in result)
    return "stop" if "result" in event and ends else "custom"


def _input(story: Story, event: dict[str, Any], place: Place) -> Iterator[Made]:
    agent = name_of(event["current_agent_name"])
    yield from story.turn(agent)
    yield from story.book.actor(place, agent)
    yield from story.shown(agent, objects(event["input"]), place.at("/input"), None)


def _output(story: Story, event: dict[str, Any], place: Place) -> Iterator[Made]:
    agent, message, at = name_of(event["current_agent_name"]), event["response"], place.at("/response")
    uses = [_use(call) for call in objects(event.get("tool_calls"))]
    if uses and not tool_uses(message) and not story.callers:
        # The result of a run by itself: calls of all its agents, and nothing says which of them.
        for use in uses:
            yield from story.call(None, use, place.at("/tool_calls"))
            yield from story.left(agent)
        yield from story.said(agent, message, at)
        return
    story.callers.update({use.id: (agent, use.tool) for use in uses})
    yield from story.said(agent, message, at, more=bool(uses))


def _use(call: dict[str, Any]) -> ToolUse:
    return ToolUse(str(call.get("tool_id")), name_of(call.get("tool_name")) or "tool", call.get("tool_kwargs"))


def _call(story: Story, event: dict[str, Any], place: Place) -> Iterator[Emit]:
    use = _use(event)
    if use.id in story.calls:  # a tool that waited for the user is called anew
        yield Skip("duplicate", "a call that was read before", place)
        return
    agent = story.callers.setdefault(use.id, (None, use.tool))[0]
    yield from story.call(agent, use, place.at("/tool_kwargs"))


def _result(story: Story, event: dict[str, Any], place: Place) -> Iterator[Made]:
    use, output = _use(event), event["tool_output"]
    output = output if isinstance(output, dict) else {"raw_output": output}
    raw = output.get("raw_output")
    content = text(output) if raw is None else text_of(raw)
    at = place.at("/tool_output/blocks" if raw is None else "/tool_output/raw_output")
    agent = story.callers.get(use.id, (None, ""))[0]
    if any(handoff.id == use.id for handoff in story.asked):
        yield from story.book.shown(at, agent, content, "result")
    else:
        yield from story.result(use.id, use.tool, content, at, flags=("failed",) if output.get("is_error") else ())


def _stop(story: Story, event: dict[str, Any], place: Place) -> Iterator[Emit]:
    result = event.get("result")
    agent = name_of(result.get("current_agent_name")) if isinstance(result, dict) else None
    message = result.get("response") if isinstance(result, dict) else None
    content = text(message) if isinstance(message, dict) else text_of(result)
    modelled = text_of(result.get("structured_response")) if isinstance(result, dict) else ""
    if not story.book.said(agent, modelled):
        at = place.at("/result/structured_response")
        yield from story.book.event(at, "C1", modelled, sender=agent, to=(USER,), kind="result")
    if story.waiting is None and not story.book.said(agent, content):
        story.waiting = (agent, content, place.at("/result"), None)
    yield from story.ended()


def _dynamic(event: dict[str, Any], key: str) -> str:
    """A field of an event whose class declares none."""
    data = event.get("_data")
    return text_of((data if isinstance(data, dict) else event).get(key))


def _ask_user(story: Story, event: dict[str, Any], place: Place) -> Iterator[Made]:
    asker = story.only_open()
    return story.book.event(
        place, "C1", _dynamic(event, "prefix"), sender=asker, to=(USER,), kind="question", sender_kind="tool"
    )


def _user_says(story: Story, event: dict[str, Any], place: Place) -> Iterator[Made]:
    return story.book.shown(place, story.only_open(), _dynamic(event, "response"), "initial")


def _structured(story: Story, event: dict[str, Any], place: Place) -> Iterator[Made]:
    agent = story.waiting[0] if story.waiting else None
    return story.book.event(place, "C1", text_of(event.get("output")), sender=agent, to=(USER,), kind="result")


_PEOPLE = {_ASKED: _ask_user, _GIVEN: _user_says, _MODELLED: _structured}

ADAPTER = _LlamaIndexStream()
