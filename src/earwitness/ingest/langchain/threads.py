"""One thread of a LangGraph stream: frames as they come, the trace at the end."""

from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from earwitness.ingest.boundary import together
from earwitness.ingest.langchain.eventbook import EventBook
from earwitness.ingest.langchain.frames import Frame, agent_in
from earwitness.ingest.langchain.graph import Graph
from earwitness.ingest.langchain.messages import Call, Msg, arguments_text, clean, read_message
from earwitness.ingest.langchain.runbook import Runs
from earwitness.ingest.langchain.telling import replay
from earwitness.ingest.record import Context, Emit, Place
from earwitness.ingest.shelf import Whereabouts
from earwitness.schema.model import Trace
from earwitness.schema.words import Channel

# So many messages may wait for their last pieces before those are looked for that were told since.
_PIECES = 1000
# What a recording of the outermost graph alone can show; the rest happens inside of its nodes.
OUTER: tuple[Channel, ...] = ("C1", "C2")
_HIDDEN: tuple[Channel, ...] = ("C3", "C4", "C5", "C6")


def trace_id(context: Context, name: str | None) -> str:
    """An id for a trace: the framework's, unless another file of this import has it; else the name of the file."""
    stem = PurePath(context.name).name
    if not name:
        context.claim("langgraph-trace", stem)
        return stem
    return name if context.claim("langgraph-trace", name) else f"{name}@{stem}"


class Thread:
    """The frames of one thread."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._places = Whereabouts()
        self.name: str | None = None
        self.run: str | None = None
        self.graph = Graph()
        self.modes: set[str] = set()
        self.bare = True
        self._pieces: dict[str, _Pieces] = {}
        self._most = _PIECES
        self._events: EventBook | None = None
        self._late: list[tuple[Frame, Place]] = []

    def take(self, frame: Frame, place: Place) -> str | None:
        """Read a frame; why it adds nothing, if it does not."""
        self._places.append(place)
        self.modes.add(frame.mode)
        self.bare = self.bare and frame.bare
        if frame.mode == "events":
            self._events = self._events or EventBook(Runs())
            return self._events.take(frame.data, place)
        if self._events and frame.mode not in ("metadata", "end"):
            return self._beside(frame, place)
        self.graph.enter(frame.ns)
        reader = _READERS.get(frame.mode)
        return None if reader is not None and reader(self, frame, place) else f"{frame.mode}: no content"

    def _beside(self, frame: Frame, place: Place) -> str | None:
        """A frame beside events, which say all that other modes do, apart from what `_only_here` knows."""
        if _only_here(frame):
            self._late.append((frame, place))
            return None
        return f"{frame.mode}: a copy of what the events of the same run say"

    def _values(self, frame: Frame, place: Place) -> bool:
        self.graph.snapshot(frame.ns, frame.data, place, frame.time)
        if isinstance(frame.data, dict) and "__interrupt__" in frame.data:
            self._interrupt(frame, place)
        return True

    def _interrupt(self, frame: Frame, place: Place) -> bool:
        self.graph.interrupt(frame.data["__interrupt__"], place.at("/__interrupt__"), frame.time)
        return True

    def _updates(self, frame: Frame, place: Place) -> bool:
        if not isinstance(frame.data, dict):
            return False
        for node, data in frame.data.items():
            self.graph.update(frame.ns, str(node), data, place.at(f"/{node}"), frame.time)
        return any(data is not None for data in frame.data.values())

    def _tasks(self, frame: Frame, place: Place) -> bool:
        task = frame.data
        if "input" in task or "triggers" in task:
            self.graph.start(frame.ns, task, place, frame.time)
        else:
            self.graph.end(frame.ns, task, place, frame.time)
        return True

    def _checkpoints(self, frame: Frame, place: Place) -> bool:
        self.graph.snapshot(frame.ns, frame.data.get("values"), place, frame.time)
        for key, text in _internals(frame.data):
            self.graph.debris(text, place.at(key), frame.time)
        return bool(frame.data.get("values"))

    def _custom(self, frame: Frame, place: Place) -> bool:
        self.graph.custom(frame.ns, frame.data, place, frame.time)
        return True

    def _error(self, frame: Frame, place: Place) -> bool:
        text = f"{frame.data['error']}: {frame.data['message']}" if isinstance(frame.data, dict) else str(frame.data)
        self.graph.fail(None, text, place, frame.time)
        return True

    def _messages(self, frame: Frame, place: Place) -> bool:
        data = frame.data
        rows = [data[0]] if isinstance(data, list) and len(data) == 2 and _is_meta(data[1]) else data
        metadata = data[1] if isinstance(data, list) and len(data) == 2 and _is_meta(data[1]) else {}
        told = False
        for row in rows if isinstance(rows, list) else [rows]:
            told = self._streamed(row, metadata, frame, place) or told
        return told

    def _streamed(self, row: Any, metadata: dict[str, Any], frame: Frame, place: Place) -> bool:
        """A whole message, or a piece of one; pieces wait, for a whole copy mostly follows."""
        msg = read_message(row)
        key = "|".join(frame.ns)
        if msg is None:
            if not isinstance(row, dict) or "event" not in row:
                return False
            pieces = self._pieces.setdefault(f"block:{key}", _Pieces(place, frame, metadata))
            return pieces.add_block(row) and self._settle(f"block:{key}", row)
        if frame.mode == "messages/partial":  # all of the message so far, again and again
            pieces = self._pieces[msg.id or f"partial:{key}"] = _Pieces(place, frame, metadata)
            pieces.whole = msg
            return True
        if not msg.piece:
            self.graph.dialogue.meet(msg, place, agent=agent_in(frame.ns, metadata), time=frame.time)
            return True
        if not msg.id or (msg.id.startswith("lc_run--") and not msg.text):
            return False
        self._pieces.setdefault(msg.id, _Pieces(place, frame, metadata)).add(msg, row)
        if len(self._pieces) > self._most:
            self._forget_told()
        return True

    def _forget_told(self) -> None:
        """Of a message that was told as a whole no piece is needed."""
        known = self.graph.dialogue.known
        self._pieces = {k: p for k, p in self._pieces.items() if k != p.name or not known.has_id(k)}
        self._most = 2 * len(self._pieces) + _PIECES

    def _settle(self, key: str, row: dict[str, Any]) -> bool:
        """A message that came in blocks is whole when it is finished."""
        if row["event"] == "message-finish":
            self._whole(self._pieces.pop(key))
        return True

    def _whole(self, pieces: "_Pieces") -> None:
        frame = pieces.frame
        self.graph.dialogue.meet(
            pieces.message(), pieces.place, agent=agent_in(frame.ns, pieces.metadata), time=frame.time
        )

    def told(self, trace: str) -> Iterator[Emit]:
        """The trace of this thread; what fails here costs no other."""
        return together(self._tell(trace), self._places)

    def _tell(self, trace: str) -> Iterator[Emit]:
        runs = list(self._events.book.runs.values()) if self._events else []
        roots = replay(self.graph, runs) if runs else []
        for frame, place in self._late:
            (_READERS[frame.mode] if frame.mode in _BESIDE else Thread._interrupt)(self, frame, place)
        for pieces in self._pieces.values():
            msg = pieces.message()
            if (msg.text.strip() or msg.calls) and not self.graph.dialogue.known.find(msg):
                self._whole(pieces)
        self.graph.close()
        dialogue = self.graph.dialogue
        outer = self.bare or (self.modes <= {"updates", "values", "metadata"} and not self.graph.nested)
        if outer:
            for channel in _HIDDEN:
                dialogue.ledger.lose(
                    "content_missing", channel, "recorded without subgraphs: nested steps are not in it"
                )
        head = Trace(
            id=trace,
            framework="langgraph",
            request=dialogue.request,
            started_at=next((r.start for r in roots if r.start), None),
            observable=OUTER if outer else dialogue.ledger.shown(),
            attributes={k: v for k, v in (("thread_id", self.name), ("run_id", self.run)) if v} or None,
        )
        yield from dialogue.ledger.tell(head, self.place)


_READERS = {
    "values": Thread._values,
    "updates": Thread._updates,
    "tasks": Thread._tasks,
    "checkpoints": Thread._checkpoints,
    "custom": Thread._custom,
    "error": Thread._error,
    "messages": Thread._messages,
    "messages-tuple": Thread._messages,
    "messages/partial": Thread._messages,
    "messages/complete": Thread._messages,
}


_BESIDE = ("custom", "error", "tasks")


def _only_here(frame: Frame) -> bool:
    """Whether no event says what a frame does: a log, an error, what stopped the run, a payload sent to a task."""
    data = frame.data
    if frame.mode == "tasks":
        return isinstance(data, dict) and data.get("triggers") == ["__pregel_push"]
    return frame.mode in _BESIDE or (isinstance(data, dict) and "__interrupt__" in data)


def _internals(checkpoint: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Texts in the configuration of a checkpoint that hold messages: older versions left live objects in it."""
    for part in ("config", "parent_config"):
        config = checkpoint.get(part)
        inner = config.get("configurable") if isinstance(config, dict) else None
        for key, value in inner.items() if isinstance(inner, dict) else ():
            if key.startswith("__pregel") and isinstance(value, str) and "Message(" in value:
                yield f"/{part}/configurable/{key}", value


def _is_meta(value: Any) -> bool:
    return isinstance(value, dict) and ("langgraph_node" in value or "langgraph_step" in value or "thread_id" in value)


class _Pieces:
    """The chunks of one message."""

    def __init__(self, place: Place, frame: Frame, metadata: dict[str, Any]) -> None:
        self.place, self.frame, self.metadata = place, frame, metadata
        self.id: str | None = None
        self.texts: list[str] = []
        self.thoughts: list[str] = []
        self.calls: dict[Any, list[str]] = {}
        self.done: list[Call] = []
        self.whole: Msg | None = None
        self.started = False

    def add(self, msg: Msg, row: Any) -> None:
        """A chunk; the arguments of calls come in pieces of their own."""
        self.id = msg.id
        self.texts.append(msg.text)
        self.thoughts.extend(msg.thoughts)
        chunks = row.get("tool_call_chunks") if isinstance(row, dict) else None
        for call in (c for c in chunks if isinstance(c, dict)) if isinstance(chunks, list) else ():
            slot = self.calls.setdefault(str(call.get("index")), ["", "", ""])
            for n, key in enumerate(("id", "name", "args")):
                slot[n] += call[key] if isinstance(call.get(key), str) else ""

    def add_block(self, row: dict[str, Any]) -> bool:
        """An event of a message that streams as content blocks; the finished block holds all of it."""
        content = row.get("content")
        self.started = True
        if row["event"] == "message-start":
            self.id = clean(row.get("id"))
        elif row["event"] == "content-block-finish" and isinstance(content, dict):
            self._block(content)
        return row["event"] in ("message-start", "content-block-finish", "message-finish")

    def _block(self, block: dict[str, Any]) -> None:
        kind = block.get("type")
        if kind == "tool_call":
            self.done.append(Call(str(block.get("name")), arguments_text(block.get("args")), clean(block.get("id"))))
        elif kind in ("reasoning", "thinking"):
            self.thoughts.append(str(block.get("reasoning") or block.get("thinking") or ""))
        elif isinstance(block.get("text"), str):
            self.texts.append(block["text"])

    @property
    def name(self) -> str | None:
        """The id of the message, unless it comes in blocks, of which the last one tells it."""
        return None if self.started else self.whole.id if self.whole else self.id

    def message(self) -> Msg:
        """The whole message."""
        if self.whole:
            return self.whole
        calls = [
            Call(name, arguments_text(args), call_id or None) for call_id, name, args in self.calls.values() if name
        ]
        thoughts = ("".join(self.thoughts),) if any(self.thoughts) else ()
        return Msg(role="ai", text="".join(self.texts), thoughts=thoughts, calls=(*self.done, *calls), id=self.id)
