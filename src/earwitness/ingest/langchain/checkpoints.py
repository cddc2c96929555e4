"""Checkpoints of one thread: put in order, then told like a stream."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from earwitness.ingest.langchain import names
from earwitness.ingest.langchain.graph import Graph
from earwitness.ingest.langchain.messages import plain
from earwitness.ingest.langchain.threads import OUTER
from earwitness.ingest.record import Emit, Place
from earwitness.ingest.spans.texts import as_text
from earwitness.schema.model import Trace
from earwitness.schema.words import Channel

_SNAPSHOT = ("values", "next", "config", "metadata", "created_at", "parent_config", "tasks", "interrupts")
_TUPLE = ("config", "checkpoint", "metadata", "parent_config", "pending_writes")
_TASK = ("id", "name", "path", "error", "interrupts", "state", "result")
_HIDDEN: tuple[Channel, ...] = ("C3", "C4", "C5", "C6")
_BRANCH = "branch:to:"


@dataclass
class Checkpoint:
    """The state at one moment, what comes next, and what was written on the way there.

    Attributes:
        writes: of each task: its id, its node where that is said, and what it returned.
        sent: nodes that come next because a payload was sent to them.
        outer: the record is of a kind that holds the outermost graph alone.
    """

    id: str
    thread: str
    ns: list[str]
    values: Any
    next: list[str]
    time: Any
    place: Place
    writes: list[tuple[str, str | None, dict[str, Any]]] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    outer: bool = False


def is_checkpoint(value: Any) -> bool:
    """Whether a record is a checkpoint of some form."""
    if isinstance(value, list):
        if 6 <= len(value) <= 8:
            return isinstance(value[0], dict) and isinstance(value[1], list) and _configures(value[2])
        return len(value) == 5 and _configures(value[0]) and _is_state(value[1])
    if not isinstance(value, dict):
        return False
    if "next" in value and "values" in value:
        return _configures(value.get("config")) or _names_thread(value.get("checkpoint"))
    return _configures(value.get("config")) and _is_state(value.get("checkpoint"))


def _configures(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("configurable"), dict)


def _names_thread(value: Any) -> bool:
    return isinstance(value, dict) and "thread_id" in value and "checkpoint_id" in value


def _is_state(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("channel_values"), dict)


def read(value: Any, place: Place) -> Checkpoint:
    """The checkpoint that a record holds."""
    if isinstance(value, list):
        value = dict(zip(_TUPLE if len(value) == len(_TUPLE) else _SNAPSHOT, value, strict=False))
    return _of_tuple(value, place) if _is_state(value.get("checkpoint")) else _of_snapshot(value, place)


def _of_snapshot(value: dict[str, Any], place: Place) -> Checkpoint:
    where = value.get("checkpoint") or value["config"]["configurable"]
    tasks = [dict(zip(_TASK, t, strict=False)) if isinstance(t, list) else t for t in value.get("tasks") or []]
    writes: list[tuple[str, str | None, dict[str, Any]]] = [
        (str(t.get("id")), str(t.get("name")), _result(t)) for t in tasks if isinstance(t, dict)
    ]
    ns = str(where.get("checkpoint_ns") or "")
    return Checkpoint(
        id=str(where.get("checkpoint_id") or ""),
        thread=str(where["thread_id"]),
        ns=ns.split("|") if ns else [],
        values=value.get("values"),
        next=[str(n) for n in value.get("next") or []],
        time=value.get("created_at"),
        place=place,
        writes=writes,
        outer=True,
    )


def _result(task: dict[str, Any]) -> dict[str, Any]:
    result = plain(task.get("result"))
    found = dict(result) if isinstance(result, dict) else {}
    if task.get("interrupts"):
        found["__interrupt__"] = task["interrupts"]
    if task.get("error"):
        found["__error__"] = task["error"]
    return found


def _of_tuple(value: dict[str, Any], place: Place) -> Checkpoint:
    where, state = value["config"]["configurable"], value["checkpoint"]
    values = state["channel_values"]
    ns = str(where.get("checkpoint_ns") or "")
    writes: dict[str, dict[str, Any]] = {}
    for write in value.get("pending_writes") or []:
        _put(writes.setdefault(str(write[0]), {}), str(write[1]), write[2])
    return Checkpoint(
        id=str(where.get("checkpoint_id") or state.get("id") or ""),
        thread=str(where["thread_id"]),
        ns=ns.split("|") if ns else [],
        values={k: v for k, v in values.items() if not k.startswith(("__", _BRANCH))},
        next=[k.removeprefix(_BRANCH) for k in values if k.startswith(_BRANCH)],
        sent=[
            str(s["node"])
            for s in map(plain, values.get("__pregel_tasks") or [])
            if isinstance(s, dict) and "node" in s
        ],
        time=state.get("ts"),
        place=place,
        writes=[(task, "__start__" if "__start__" in values else None, told) for task, told in writes.items()],
    )


def _put(told: dict[str, Any], channel: str, value: Any) -> None:
    if channel == "__pregel_tasks":
        told.setdefault(channel, []).append(value)
    else:
        told[channel] = value


class Checkpoints:
    """The checkpoints of one thread."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.graph = Graph()
        self._all: dict[tuple[str, str], Checkpoint] = {}

    def add(self, checkpoint: Checkpoint) -> bool:
        """Put a checkpoint aside; False if it is there."""
        key = ("|".join(checkpoint.ns), checkpoint.id)
        fresh = key not in self._all
        self._all.setdefault(key, checkpoint)
        return fresh

    def tell(self, trace: str, thread: str) -> Iterator[Emit]:
        """The trace; ids of checkpoints are in order of time."""
        ordered = sorted(self._all.values(), key=lambda c: c.id)
        nodes = {step.partition(":")[2]: step.partition(":")[0] for c in ordered for step in c.ns}
        for checkpoint in ordered:
            self._replay(checkpoint, nodes)
        self.graph.close()
        ledger = self.graph.dialogue.ledger
        outer = all(c.outer for c in ordered)
        for channel in _HIDDEN if outer else ():
            # Also where the history shows some of a channel: it need not be all.
            ledger.lose("content_missing", channel, "a history of the outermost graph: nested steps are not in it")
        head = Trace(
            id=trace,
            framework="langgraph",
            request=self.graph.dialogue.request,
            started_at=next((c.time for c in ordered if c.time), None),
            observable=OUTER if outer else ledger.shown(),
            attributes={"thread_id": thread},
        )
        yield from ledger.tell(head, self.place)

    def _replay(self, at: Checkpoint, nodes: dict[str, str]) -> None:
        """The state, who reads it next, and what they wrote."""
        self.graph.enter(at.ns)
        self.graph.snapshot(at.ns, at.values, at.place, at.time)
        for reader in at.next:
            if not names.is_plumbing(reader):
                self.graph.show(reader, plain(at.values), at.place, at.time)
        coming = [*at.next, *at.sent]
        alone = coming[0] if len(coming) == 1 else None
        for n, (task, node, told) in enumerate(at.writes):
            place = at.place.at(f"/{n}")
            self._write(at, node or nodes.get(task) or alone, told, place)

    def _write(self, at: Checkpoint, node: str | None, told: dict[str, Any], place: Place) -> None:
        if node == "__start__":
            self.graph.snapshot(at.ns, told, place, at.time)
            return
        agent = self.graph.agent_of(at.ns, node)
        if "__error__" in told:
            self.graph.fail(agent, as_text(told.pop("__error__")), place, at.time)
        if "__interrupt__" in told:
            self.graph.interrupt(told.pop("__interrupt__"), place, at.time)
        for send in map(plain, told.pop("__pregel_tasks", [])):
            target = send.get("node") if isinstance(send, dict) else None
            if isinstance(target, str) and not names.is_plumbing(target):
                self.graph.send(target, send.get("arg"), place, at.time)
        self.graph.update(at.ns, node or "", told, place, at.time)
