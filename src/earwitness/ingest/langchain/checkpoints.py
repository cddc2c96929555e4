"""Checkpoints of one thread: put in order, then told like a stream."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from earwitness.ingest.boundary import together
from earwitness.ingest.langchain import names
from earwitness.ingest.langchain.graph import Graph
from earwitness.ingest.langchain.messages import plain
from earwitness.ingest.langchain.threads import OUTER
from earwitness.ingest.record import Emit, Place
from earwitness.ingest.shelf import Shelf
from earwitness.ingest.spans.texts import as_text
from earwitness.schema.model import Trace
from earwitness.schema.words import Channel

_SNAPSHOT = ("values", "next", "config", "metadata", "created_at", "parent_config", "tasks", "interrupts")
_TUPLE = ("config", "checkpoint", "metadata", "parent_config", "pending_writes")
_TASK = ("id", "name", "path", "error", "interrupts", "state", "result")
_HIDDEN: tuple[Channel, ...] = ("C3", "C4", "C5", "C6")
_BRANCH = "branch:to:"


Write = tuple[str, str | None, dict[str, Any], Place]
# A write on its own: the order within its checkpoint, the channel, the value and where it stands.
Late = tuple[tuple[str, str, int], str, tuple[int, int], Place]


@dataclass
class Checkpoint:
    """The state at one moment, what comes next, and what was written on the way there.

    Attributes:
        writes: of each task: its id, its node where that is said, what it returned, and where that stands.
        sent: nodes that come next because a payload was sent to them.
        outer: the record is of a kind that holds the outermost graph alone.
        started: the state still holds the input of the graph, which comes next.
    """

    id: str
    thread: str
    ns: list[str]
    values: Any
    next: list[str]
    time: Any
    place: Place
    writes: list[Write] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    outer: bool = False
    started: bool = False


def _key(checkpoint: str, ns: list[str]) -> tuple[str, str]:
    """What sorts checkpoints by time."""
    return (checkpoint, "|".join(ns))


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
    writes: list[Write] = [
        (str(t.get("id")), str(t.get("name")), _result(t), place.at(f"/{n}"))
        for n, t in enumerate(t for t in tasks if isinstance(t, dict))
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
    node = "__start__" if "__start__" in values else None
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
        started=node is not None,
        writes=[(task, node, told, place.at(f"/{n}")) for n, (task, told) in enumerate(writes.items())],
    )


def _answers(resumed: Any) -> list[Any]:
    """What humans answered; newer versions keep a list, for a node may ask more than once."""
    return [a for a in (resumed if isinstance(resumed, list) else [resumed]) if a is not None]


def _put(told: dict[str, Any], channel: str, value: Any) -> None:
    if channel == "__pregel_tasks":
        told.setdefault(channel, []).append(value)
    else:
        told[channel] = value


class Checkpoints:
    """The checkpoints of one thread; each holds the whole state, so they wait on disk.

    Args:
        place: of the first.
        filled: puts into a record what is kept outside of it.
    """

    def __init__(self, place: Place, filled: Callable[[Any], Any] = lambda value: value) -> None:
        self.place = place
        self._filled = filled
        self.graph = Graph()
        self._shelf = Shelf()
        self._all: dict[tuple[str, str], tuple[tuple[int, int], Place]] = {}
        self._late: dict[tuple[str, str], dict[tuple[str, str, int], Late]] = {}
        self._outer = True

    def add(self, value: Any, checkpoint: Checkpoint) -> bool:
        """Put a checkpoint aside; False if it is there."""
        key = _key(checkpoint.id, checkpoint.ns)
        if key in self._all:
            return False
        self._all[key] = (self._shelf.put(value), checkpoint.place)
        self._outer = self._outer and checkpoint.outer
        return True

    def add_write(self, key: tuple[str, str], order: tuple[str, str, int], channel: str, value: Any, at: Place) -> bool:
        """Put a write aside that is no part of its checkpoint's record; False if it is there.

        Args:
            key: id and namespace of the checkpoint it was made after.
            order: path and id of the task, and the number of the write.
            channel: where to.
            value: what.
            at: where it stands.
        """
        late = self._late.setdefault(key, {})
        if order in late:
            return False
        late[order] = (order, channel, self._shelf.put(value), at)
        return True

    def places(self) -> Iterator[Place]:
        """Where all that it holds stands."""
        yield from (place for _, place in self._all.values())
        yield from (place for late in self._late.values() for *_, place in late.values())

    def told(self, trace: str, thread: str) -> Iterator[Emit]:
        """The trace; what fails here costs no other."""
        return together(self.tell(trace, thread), self.places())

    def tell(self, trace: str, thread: str) -> Iterator[Emit]:
        """The trace; ids of checkpoints are in order of time."""
        try:
            started = self._replay_all(thread)
        finally:
            self._shelf.close()
        self.graph.close()
        ledger = self.graph.dialogue.ledger
        outer = self._outer and bool(self._all)
        for channel in _HIDDEN if outer else ():
            # Also where the history shows some of a channel: it need not be all.
            ledger.lose("content_missing", channel, "a history of the outermost graph: nested steps are not in it")
        head = Trace(
            id=trace,
            framework="langgraph",
            request=self.graph.dialogue.request,
            started_at=started,
            observable=OUTER if outer else ledger.shown(),
            attributes={"thread_id": thread},
        )
        yield from ledger.tell(head, self.place)

    def _replay_all(self, thread: str) -> Any:
        """Every checkpoint in order; gives the time of the first."""
        ordered = sorted({**self._all, **self._late})
        steps = [step.partition(":") for _, ns in ordered for step in ns.split("|")]
        nodes = {task: node for node, _, task in steps}
        started: Any = None
        for key in ordered:
            checkpoint = self._checkpoint(key, thread)
            started = started or checkpoint.time
            self._replay(checkpoint, nodes)
        return started

    def _checkpoint(self, key: tuple[str, str], thread: str) -> Checkpoint:
        """A checkpoint as it was read; an empty one, where only writes that were made after it are in the record."""
        late = sorted(self._late.get(key, {}).values())
        if key in self._all:
            shelved, place = self._all[key]
            found = read(self._filled(self._shelf.get(shelved)), place)
        else:
            self._outer = False
            ledger = self.graph.dialogue.ledger
            ledger.lose("content_missing", None, "writes whose checkpoint is not in the record", len(late))
            found = Checkpoint(key[0], thread, key[1].split("|") if key[1] else [], {}, [], None, late[0][3])
        found.writes += self._gathered(late, found)
        return found

    def _gathered(self, late: list[Late], at: Checkpoint) -> list[Write]:
        """Writes by their tasks; a task stands where its messages do, or where the first of its values does."""
        told: dict[str, dict[str, Any]] = {}
        places: dict[str, Place] = {}
        for (_, task, _), channel, shelved, place in late:
            _put(told.setdefault(task, {}), channel, self._shelf.get(shelved))
            if channel == "messages" or places.get(task) is None:
                places[task] = place
        node = "__start__" if at.started else None
        return [(task, node, values, places[task]) for task, values in told.items()]

    def _replay(self, at: Checkpoint, nodes: dict[str, str]) -> None:
        """The state, who reads it next, and what they wrote."""
        self.graph.enter(at.ns)
        self.graph.snapshot(at.ns, at.values, at.place, at.time)
        for reader in at.next:
            if not names.is_plumbing(reader):
                self.graph.show(reader, plain(at.values), at.place, at.time)
        coming = [*at.next, *at.sent]
        alone = coming[0] if len(coming) == 1 else None
        for task, node, told, place in at.writes:
            self._write(at, node or nodes.get(task) or alone, told, place)
        if at.outer and not at.ns and coming:
            self.graph.stop()
        elif at.outer and not (at.ns or at.writes):
            self.graph.ended()

    def _write(self, at: Checkpoint, node: str | None, told: dict[str, Any], place: Place) -> None:
        if node == "__start__":
            self.graph.snapshot(at.ns, told, place, at.time)
            return
        agent = self.graph.agent_of(at.ns, node)
        if "__error__" in told:
            self.graph.fail(agent, as_text(told.pop("__error__")), place, at.time)
        for answer in _answers(told.pop("__resume__", None)):
            self.graph.reply(agent, answer, place, at.time)
        if "__interrupt__" in told:
            self.graph.interrupt(told.pop("__interrupt__"), place, at.time)
        for send in map(plain, told.pop("__pregel_tasks", [])):
            target = send.get("node") if isinstance(send, dict) else None
            if isinstance(target, str) and not names.is_plumbing(target):
                self.graph.send(target, send.get("arg", send.get("args")), place, at.time)
        self.graph.update(at.ns, node or "", told, place, at.time)
