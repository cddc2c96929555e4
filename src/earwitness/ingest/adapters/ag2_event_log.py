"""AG2 1.x event logs: the log of one agent run a file, and streams written by a subscriber.

`KnowledgeConfig(store=DiskKnowledgeStore(...))` writes `log/<stream id>.jsonl`; a subscriber of `agent.run(...)` may
write the same events; package `ag2` from 1.0. A run of several agents is several files: the parent's `TaskCompleted`
names the child's stream, `TaskStarted` its agent. The agent of the outermost log is named nowhere; it goes by its
stream. Agents' own reasoning and pieces of streamed answers are not logged, nor is what a model was shown beyond its
request.

Obtained by: `KnowledgeConfig(store=DiskKnowledgeStore(...))`, or a subscriber that writes each event.
Versions tried: ag2 1.2.1.
Order: file order, with times.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from earwitness.ingest.boundary import together
from earwitness.ingest.record import Context, Emit, Place, Record, Skip
from earwitness.ingest.spans.texts import fingerprint_of, loads
from earwitness.ingest.tale import USER, Draft, Tale, said
from earwitness.schema.model import Delivery, Time, Trace
from earwitness.schema.words import ActorKind, Channel, Grade

_PREFIXES = ("ag2.events.", "ag2.config.")
_TOLD = {
    "ModelRequest",
    "ModelResponse",
    "ToolCallEvent",
    "ToolResultEvent",
    "ToolErrorEvent",
    "ToolNotFoundEvent",
    "HumanInputRequest",
    "ToolApprovalRequest",
    "HumanMessage",
    "DrainedModelRequest",
    "ModelReasoning",
    "TaskStarted",
    "TaskCompleted",
    "TaskFailed",
}
# Providers' own tools have events of other names, which end in these.
_ALIKE = ("ToolCallEvent", "ToolResultEvent")
_RESULTS = ("ToolResultEvent", "ToolErrorEvent", "ToolNotFoundEvent")
# A human is asked for words, or to allow a call.
_ASKING = {"HumanInputRequest": "question", "ToolApprovalRequest": "confirmation"}
_YES = frozenset(("y", "yes", "1", "always"))
_COPIES = {"ToolCallsEvent", "ToolResultsEvent", "ModelMessage"}
_STREAM = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?<![0-9a-z])[0-9a-f]{8}(?![0-9a-z])")
_STORE, _ARTIFACTS = "knowledge", "artifacts"
_KINDS: dict[Channel, ActorKind] = {"C2": "agent", "C3": "tool", "C4": "tool", "C5": "memory", "C7": "artifact_store"}


_DECLARED: Grade = "declared"
_STRUCTURAL: Grade = "structural"


class _Ag2EventLog:
    NAME = "ag2-event-log"
    READER = "ag2-event-log"
    TITLE = "AG2 1.x event log"

    def sniff(self, value: Any) -> bool:
        return (
            isinstance(value, dict)
            and isinstance(value.get("type"), str)
            and value["type"].startswith(_PREFIXES)
            and isinstance(value.get("data"), dict)
        )

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


class _Step(NamedTuple):
    kind: str
    data: dict[str, Any]
    place: Place

    @property
    def time(self) -> Time | None:
        return self.data.get("created_at")


class _Reader:
    def __init__(self, context: Context) -> None:
        self.context = context
        self.streams: dict[str, list[_Step]] = {}

    def feed(self, record: Record) -> Iterable[Emit]:
        kind, data, place = record.value["type"].rsplit(".", 1)[-1], record.value["data"], record.place
        kind = next((known for known in _ALIKE if kind.endswith(known)), kind)
        if kind in _COPIES:
            yield Skip("duplicate", "a copy of what other events tell", place)
        elif kind not in _TOLD:
            yield Skip("ignored", "an event that says nothing of who told whom", place)
        elif not self.context.claim("ag2-event", kind, str(data.get("created_at")), fingerprint_of(data).hex()):
            yield Skip("duplicate", "the same event was read before", place)
        else:
            step = _Step(kind, data, place._replace(pointer=place.pointer + "/data"))
            self.streams.setdefault(self._stream(), []).append(step)

    def _stream(self) -> str:
        """The stream's id as the file's name has it, or the name."""
        base = self.context.name.replace("\\", "/").rsplit("/", 1)[-1]
        found: list[str] = _STREAM.findall(base)
        return found[-1] if found else self.context.stem

    def finish(self) -> Iterable[Emit]:
        children = {
            key
            for steps in self.streams.values()
            for step in steps
            if (key := _child(self.streams, step.data)) is not None
        }
        for key in [k for k in self.streams if k not in children] or list(self.streams):
            trace = Trace(id=f"ag2-{key}", framework="ag2", observable=("C1", "C2", "C3", "C4", "C5", "C7"))
            tree = _Tree(Tale(trace, self.streams[key][0].place), self.streams, {key})
            yield from together(_told(tree, key), tree.places())
        self.streams.clear()


def _told(tree: "_Tree", key: str) -> Iterator[Emit]:
    tale = tree.tale
    last = tree.tell(key, tale.actor(f"agent {key}", "agent", "attribute") or "", None)
    if last is not None:
        last.channel, last.kind = "C1", "final"
        last.to = [Delivery(tale.actor(USER, "user", "structural") or USER, "structural")]
    yield from tale.items()


def _child(streams: dict[str, list[_Step]], data: dict[str, Any]) -> str | None:
    """The stream of a finished task, if its file is here; file names may hold the beginning of the id only."""
    stream = data.get("task_stream")
    full = stream.get("__uuid__") if isinstance(stream, dict) else stream
    return next((key for key in streams if isinstance(full, str) and full.startswith(key)), None)


@dataclass
class _Tree:
    tale: Tale
    streams: dict[str, list[_Step]]
    visited: set[str]
    answers: dict[str, Draft] = field(default_factory=dict)
    unmade: set[str] = field(default_factory=set)
    approvals: set[str] = field(default_factory=set)

    def places(self) -> Iterator[Place]:
        """Where all stands that was looked at by now."""
        return (step.place for key in self.visited for step in self.streams[key])

    def tell(self, key: str, agent: str, parent: str | None) -> Draft | None:
        """Tell one stream and, where its tasks began, those of its children; gives its last words."""
        steps, last = self.streams[key], None
        tasks = {str(s.data.get("parent_tool_call_id")): s for s in steps if s.kind == "TaskStarted"}
        done = {str(s.data.get("task_id")): s for s in steps if s.kind == "TaskCompleted"}
        calls = {str(s.data.get("id")): s for s in steps if s.kind == "ToolCallEvent"}
        self.unmade |= _unmade(steps)
        self.approvals |= {str(s.data.get("id")) for s in steps if s.kind == "ToolApprovalRequest"}
        for step in steps:
            if step.kind in ("ModelRequest", "DrainedModelRequest"):
                self._request(step, agent, parent)
            elif step.kind == "ModelResponse":
                last = self._words(step, agent) or last
            elif step.kind == "ToolCallEvent":
                self._ask(step, agent, tasks.get(str(step.data.get("id"))))
            elif step.kind == "TaskStarted":
                self._descend(step, agent, done.get(str(step.data.get("task_id"))))
            elif step.kind in _RESULTS:
                call = str(step.data.get("parent_id"))
                self._answer(step, agent, calls.get(call), tasks.get(call))
            elif step.kind != "TaskCompleted":
                self._aside(step, agent)
        return last

    def _aside(self, step: _Step, agent: str) -> None:
        """What is said to a person or by one, thoughts, and tasks that failed."""
        key, text = f"{step.kind}{step.place.source}:{step.place.line}", said(step.data.get("content"))
        if step.kind == "TaskFailed":
            self.tale.lose("failed_call", "C2", "a task that failed", step.place)
        elif text is None:
            return
        elif step.kind == "HumanMessage":
            # A yes or no goes to what asked for it, and not to the model.
            hearer = None if str(step.data.get("parent_id")) in self.approvals else agent
            self.tale.sighting(step.place.at("/content"), text, hearer, "input", time=step.time)
        elif step.kind in _ASKING:
            to = (Delivery(self.tale.actor(USER, "user", "structural") or USER, _STRUCTURAL),)
            at, kind = step.place.at("/content"), _ASKING[step.kind]
            self.tale.event(at, "C1", text, key=key, kind=kind, sender=agent, to=to, time=step.time)
        else:
            at = step.place.at("/content")
            self.tale.event(at, "C6", text, key=key, kind="reasoning", sender=agent, time=step.time)

    def _request(self, step: _Step, agent: str, parent: str | None) -> None:
        for text in _parts(step.data):
            self.tale.sighting(step.place, text, agent, "initial" if parent is None else "input", time=step.time)

    def _words(self, step: _Step, agent: str) -> Draft | None:
        """What the model said; words beside calls are thoughts."""
        message, calls = step.data.get("message"), step.data.get("tool_calls")
        text = said(message.get("content")) if isinstance(message, dict) else None
        if text is None:
            return None
        aside = isinstance(calls, dict) and bool(calls.get("calls"))
        draft = self.tale.event(
            step.place.at("/message"),
            "C6" if aside else "C2",
            text,
            key=f"m{step.place.source}:{step.place.line}",
            kind="thought" if aside else "message",
            sender=agent,
            time=step.time,
        )
        return None if aside else draft

    def _ask(self, step: _Step, agent: str, task: _Step | None) -> None:
        name, text = str(step.data.get("name")), said(step.data.get("arguments")) or "{}"
        channel: Channel = "C3"
        kind, hearer, grade = "tool_arguments", name, _DECLARED
        if task is not None:
            channel, kind, hearer, grade = "C2", "request", str(task.data.get("agent_name")), _STRUCTURAL
        elif name == _STORE:
            channel, kind, hearer = _store_of(text, "write", "query")
        self.tale.actor(hearer, _KINDS[channel])
        draft = self.tale.event(
            step.place.at("/arguments"),
            channel,
            text,
            key=str(step.data.get("id")),
            kind=kind,
            sender=agent,
            to=(Delivery(hearer, grade),),
            time=step.time,
        )
        if draft.id in self.unmade:
            draft.refuse()

    def _descend(self, step: _Step, agent: str, done: _Step | None) -> None:
        name = str(step.data.get("agent_name"))
        self.tale.actor(name)
        key = _child(self.streams, done.data) if done else None
        if key is None or key in self.visited:
            return
        self.visited.add(key)
        last = self.tell(key, name, agent)
        if last is not None:
            last.reach([agent], "structural")
            self.answers[str(step.data.get("parent_tool_call_id"))] = last

    def _answer(self, step: _Step, agent: str, call: _Step | None, task: _Step | None) -> None:
        key = str(step.data.get("parent_id"))
        text = "\n".join(_parts(_result(step.data))) or said(step.data.get("error")) or ""
        words = self.answers.get(key)
        if not text.strip():
            return
        if words is not None and words.content == text:
            self.tale.sighting(step.place.at("/result"), text, agent, "result", time=step.time, event=words.id)
            return
        channel: Channel = "C2" if task else "C4"
        kind, sender = (
            ("answer", str(task.data.get("agent_name"))) if task else ("tool_result", str(step.data.get("name")))
        )
        if call is not None and sender == _STORE:
            channel, kind, sender = _store_of(said(call.data.get("arguments")) or "{}", "result", "read")
        sender = "" if key in self.unmade else sender
        self.tale.actor(sender or None, _KINDS[channel])
        self.tale.event(
            step.place.at("/result"),
            channel,
            text,
            key=f"{key}:result",
            kind=kind,
            sender=sender or None,
            to=(Delivery(agent, _STRUCTURAL if task else _DECLARED),),
            time=step.time,
            flags=("failed",) if step.kind in ("ToolErrorEvent", "ToolNotFoundEvent") else (),
            parent=key,
        )


def _unmade(steps: list[_Step]) -> set[str]:
    """Calls of tools that do not exist, and those that a human did not allow, or has yet to."""
    missing = {str(s.data.get("parent_id")) for s in steps if s.kind == "ToolNotFoundEvent"}
    asked = {str(s.data.get("id")): str(s.data.get("tool_call_id")) for s in steps if s.kind == "ToolApprovalRequest"}
    said_so = {str(s.data.get("parent_id")): str(s.data.get("content")) for s in steps if s.kind == "HumanMessage"}
    return missing | {call for ask, call in asked.items() if said_so.get(ask, "").strip().lower() not in _YES}


def _store_of(arguments: str, writing: str, reading: str) -> tuple[Channel, str, str]:
    """Where in the knowledge store a call goes: its artifacts, or the memory shared by the agents."""
    given = loads(arguments)
    path, action = (str(given.get(k, "")) for k in ("path", "action")) if isinstance(given, dict) else ("", "")
    what = reading if action in ("read", "list", "search") else writing
    if path.lstrip("/").startswith(_ARTIFACTS):
        return "C7", f"artifact_{what}", _ARTIFACTS
    return "C5", f"memory_{what}", _STORE


def _parts(data: dict[str, Any]) -> list[str]:
    parts = data.get("parts")
    found = [p for p in parts if isinstance(p, dict)] if isinstance(parts, list) else []
    texts = [said(p.get("content", p.get("data"))) for p in found]
    return [text for text in texts if text is not None]


def _result(data: dict[str, Any]) -> dict[str, Any]:
    result = data.get("result")
    inner = result.get("data") if isinstance(result, dict) else None
    return inner if isinstance(inner, dict) else {}


ADAPTER = _Ag2EventLog()
