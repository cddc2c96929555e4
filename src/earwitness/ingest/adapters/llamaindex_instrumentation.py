"""LlamaIndex instrumentation: events and spans of the dispatcher, one a line.

Users add an event handler and a span handler to `get_dispatcher()` and dump what they get. Model events hold messages
in full: tool calls come from answers, tool results from the next model input; what a step gave is a cut `repr`.
Spans hold a `repr` of the step's input, where calls stand. Events and spans of a run become one trace, by its run id.

The format names agents only inside such reprs, so that the first may stay without a name; it cannot show agents inside
tools, shared state or files, nor answers in a form that was asked for, nor what tools ask the user. Times are local.

Obtained by: handlers on `get_dispatcher()` that dump what they get.
Versions tried: llama-index-core 0.14.25.
Order: time (local), then file order.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Any

from earwitness.ingest.boundary import together
from earwitness.ingest.chronicle import name_of, run_name, text_of
from earwitness.ingest.llamaindex.messages import ToolUse, answered, objects, text, tool_uses
from earwitness.ingest.llamaindex.telling import Story
from earwitness.ingest.record import Context, Emit, Made, Place, Record, Skip

_RUN = "llamaindex.run_id"
_SUMMARY = "llamaindex.step.input_summary"
_AGENT = re.compile(r"current_agent_name='([^']*)'")
_TURN = ("AgentInput(", "AgentSetup(")
_HANDED = re.compile(r"ToolCallResult\(tool_name='handoff', tool_kwargs=\{'to_agent': '([^']*)'")
_RESULT = re.compile(r"ToolCallResult\(tool_name='([^']*)'.*?tool_id='([^']*)'", re.DOTALL)
_CALL = re.compile(r"ToolCall\(tool_name='([^']*)', tool_kwargs=(\{.*\}), tool_id='([^']*)'\)", re.DOTALL)
_WAITS = "Waiting for event"
_WHOLE_RUN = re.compile(r"\w+\.run-")
_CHUNKS = ("LLMChatInProgressEvent", "LLMCompletionInProgressEvent", "StreamChatDeltaReceivedEvent")


class _LlamaIndexInstrumentation:
    NAME = "llamaindex-instrumentation"
    TITLE = "LlamaIndex instrumentation"
    READER = "llamaindex-instrumentation"

    def sniff(self, value: Any) -> bool:
        if not isinstance(value, dict) or "id_" not in value or not isinstance(value.get("tags"), dict):
            return False
        return ("class_name" in value and "span_id" in value) or ("parent_id" in value and "start_time" in value)

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


class _Run:
    """What is known of a run so far."""

    def __init__(self, trace: str) -> None:
        self.story = Story(trace)
        self.agent: str | None = None
        self.called: set[str] = set()
        self.cut: dict[str, tuple[str, str, Place, Any]] = {}
        self.answered: set[str] = set()
        self.paused: set[str] = set()


class _Reader:
    def __init__(self, context: Context) -> None:
        self.context = context
        self.runs: dict[str, _Run] = {}
        self.nameless: dict[int, str] = {}

    def feed(self, record: Record) -> Iterable[Emit]:
        value, place = record
        if not self.context.claim("llamaindex", str(value["id_"]), str(value.get("class_name"))):
            yield Skip("duplicate", "the same record was read before", place)
            return
        if value.get("class_name") in _CHUNKS:
            yield Skip("ignored", "a chunk of an answer", place)
            return
        if "class_name" not in value and not _tag(value, _SUMMARY):
            yield Skip("ignored", "a span without content", place)
            return
        name = self._name(value, place)
        run, started = self.runs.get(name), value.get("timestamp") or value.get("start_time")
        if run is None:
            run = self.runs[name] = _Run(name)
            yield run.story.head(place, started)
        yield from (_event if "class_name" in value else _span)(run, value, place)

    def finish(self) -> Iterable[Emit]:
        for run in self.runs.values():
            places = (*run.story.held(), *(place for _, _, place, _ in run.cut.values()))
            yield from together(_ended(run), places, run.story.book.trace)

    def _name(self, value: dict[str, Any], place: Place) -> str:
        """The run; versions without run ids have one a file."""
        name = name_of(value["tags"].get(_RUN))
        if name is None and place.source not in self.nameless:
            self.nameless[place.source] = run_name(self.context)
        return name or self.nameless[place.source]


def _ended(run: "_Run") -> Iterator[Emit]:
    for call, (tool, content, place, time) in run.cut.items():
        yield from run.story.result(call, tool, content, place, time, ("truncated",))
    yield from run.story.end()


def _tag(value: dict[str, Any], key: str) -> str:
    return text_of(value["tags"].get(key))


def _event(run: _Run, value: dict[str, Any], place: Place) -> Iterator[Emit]:
    kind, time = value["class_name"], value.get("timestamp")
    yield from _turn(run, _tag(value, _SUMMARY), time)
    if kind == "LLMChatStartEvent":
        yield from _start(run, objects(value.get("messages")), place.at("/messages"), time)
    elif kind == "LLMChatEndEvent":
        yield from _end(run, value, place.at("/response/message"), time)
    elif kind in ("step.output", "workflow.output"):
        yield from _output(run, value, place, time)
    elif kind == "SpanDropEvent":
        yield from _drop(run, value, place, time)
    else:
        yield Skip("unknown", "a LlamaIndex event of a class that is not read", place)


def _drop(run: _Run, value: dict[str, Any], place: Place, time: Any) -> Iterator[Made]:
    """A span that an error ended, and those around it; or a tool that waits, and is called anew with the answer."""
    error, span, book = text_of(value.get("err_str")), str(value.get("span_id")), run.story.book
    if error.startswith(_WAITS):
        run.paused.add(span)
        yield book.loss(place, "content_missing", "C1", "what a tool that waits for the user asks")
        return
    if _WHOLE_RUN.match(span):
        yield from run.story.break_off()
    yield book.loss(place, "failed_call", None, "a span was dropped")
    if not book.said(None, error):
        yield from book.event(place, "C6", error, time=time, kind="error")


def _start(run: _Run, messages: list[dict[str, Any]], place: Place, time: Any) -> Iterator[Made]:
    """A model input; results of tools stand here in full for the first time."""
    yield from run.story.turn(run.agent, time)
    for n, message in enumerate(messages):
        call = answered(message)
        if call and call in run.story.callers and call not in run.answered:
            run.answered.add(call)
            run.cut.pop(call, None)
            tool = run.story.callers[call][1]
            if tool != "handoff":
                yield from run.story.result(call, tool, text(message), place.at(f"/{n}"), time)
    yield from run.story.shown(run.agent, messages, place, time)


def _end(run: _Run, value: dict[str, Any], place: Place, time: Any) -> Iterator[Made]:
    response = value.get("response")
    message = response.get("message") if isinstance(response, dict) else None
    if not isinstance(message, dict):
        yield run.story.book.loss(place, "content_missing", "C6", "a model answer without message")
        return
    yield from run.story.said(run.agent, message, place, time)
    for use in tool_uses(message):
        run.story.callers[use.id] = (run.agent, use.tool)
        run.called.add(use.id)
        yield from run.story.call(run.agent, use, place, time)


def _output(run: _Run, value: dict[str, Any], place: Place, time: Any) -> Iterator[Emit]:
    output = text_of(value.get("output"))
    yield from _turn(run, output, time)
    found = _RESULT.match(output)
    if found and found[1] != "handoff" and found[2] not in run.answered:
        run.cut[found[2]] = (found[1], output, place.at("/output"), time)
    elif value["class_name"] == "workflow.output":
        yield from run.story.end(time)
    else:
        yield Skip("ignored", "the repr of a step, which model events tell in full", place)


def _turn(run: _Run, summary: str, time: Any) -> Iterator[Made]:
    """Whose turn it is now."""
    handed, named = _HANDED.match(summary), _AGENT.findall(summary) if summary.startswith(_TURN) else []
    agent = handed[1] if handed else name_of(named[-1]) if named else None
    if agent and agent != run.agent:
        run.agent = agent
        yield from run.story.turn(agent, time)


def _span(run: _Run, value: dict[str, Any], place: Place) -> Iterator[Emit]:
    """A span tells a call, where no event did."""
    summary, time = _tag(value, _SUMMARY), value.get("start_time")
    if value.get("dropped") and value.get("id_") not in run.paused:
        yield run.story.book.loss(place, "failed_call", None, "a span was dropped")
    found = _CALL.fullmatch(summary)
    arguments = _literal(found[2]) if found else None
    if not found or arguments is None:
        yield from _turn(run, summary, time)
        yield Skip("ignored", "the repr of a step, which model events tell in full", place)
    elif found[3] in run.called:
        yield Skip("duplicate", "a call that was read before", place)
    else:
        run.called.add(found[3])
        run.story.callers[found[3]] = (run.agent, found[1])
        at = place.at(f"/tags/{_SUMMARY}")
        yield from run.story.call(run.agent, ToolUse(found[3], found[1], arguments), at, time)


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


ADAPTER = _LlamaIndexInstrumentation()
