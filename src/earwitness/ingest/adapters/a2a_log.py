"""A2A logs: JSON-RPC between a calling agent and a remote agent, protocol 0.3 (`message/send`) and 1.0 (`SendMessage`).

Written by a proxy, a tee or SDK logging: bare JSON-RPC lines, or the message one level down (`{"ts", "direction",
"peer", "body": {"jsonrpc": ...}}`). Messages and status messages are C2, artifacts C7 (streamed chunks are joined);
`history` and tasks that are read again repeat, and become sightings of the caller. Metadata beside a message, and where
news of a task is to be sent, are C2 to the same party; an error answers a message that arrived. The context id is the
trace. Roles are relative: the caller is `client`, the remote agent goes by the host of its address or the name on its
card, else it is `server`.

Cannot show: the caller's name, model calls and tools inside the remote agent.

Obtained by: a proxy, a tee, or logging in the SDK.
Versions tried: a2a-sdk 1.3.0, protocols 0.3 and 1.0.
Order: file order; times where the log writes them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from earwitness.ingest.boundary import together
from earwitness.ingest.jsonrpc import Call, is_a2a, log_name, unwrap
from earwitness.ingest.record import Context, Emit, Place, Record, Skip
from earwitness.ingest.script import MALFORMED, Script, Scripts, digest, is_name, text
from earwitness.schema.model import Time
from earwitness.schema.words import Channel

_CLIENT, _SERVER = "client", "server"
_SENDS = frozenset(("message/send", "message/stream", "SendMessage", "SendStreamingMessage"))
_FAILED = frozenset(("failed", "rejected", "TASK_STATE_FAILED", "TASK_STATE_REJECTED"))
# After these nothing more of an artifact comes.
_ENDS = frozenset(("completed", "canceled", "input-required", "auth-required", *_FAILED))
_SUBSCRIBES = frozenset(("tasks/pushNotificationConfig/set", "CreateTaskPushNotificationConfig"))
# What only ties records together.
_TRACING = frozenset(("traceparent", "tracestate", "baggage"))
_RESULTS = {"task": "task", "message": "message", "statusUpdate": "status-update", "artifactUpdate": "artifact-update"}


class _A2aLog:
    NAME = "a2a-log"
    TITLE = "A2A log (JSON-RPC)"
    PRIORITY = 45

    def sniff(self, value: Any) -> bool:
        call = unwrap(value)
        return call is not None and is_a2a(call.message) is not False

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


class _Reader:
    def __init__(self, context: Context) -> None:
        self.name = log_name(context.name)
        self.log = ""
        self.scripts = Scripts()
        self.waiting: dict[tuple[str | None, str], tuple[Call, Place]] = {}
        self.contexts: dict[str, str] = {}  # of tasks
        self.asked: dict[tuple[str | None, str], str | None] = {}  # contexts of calls
        self.names: dict[str | None, str] = {}  # of servers, from their cards
        self.said: dict[tuple[str, ...], str] = {}
        self.chunks: dict[tuple[str, str, str], _Chunks] = {}

    def feed(self, record: Record) -> Iterable[Emit]:
        call = unwrap(record.value)
        # What belongs to no context is told under the name of the log, which others may have, too.
        self.log = self.log or f"{self.name}/{digest(record.value)}"
        try:
            skip = self._tell(call, record.place) if call else "no JSON-RPC message"
        except MALFORMED as error:
            reason = f"no A2A message as known: {type(error).__name__}"
            return [*self.scripts.told(), Skip("unparseable", reason, record.place)]
        return [*self.scripts.told(), *([Skip("ignored", skip, record.place)] if skip else [])]

    def finish(self) -> Iterable[Emit]:
        for call, place in self.waiting.values():
            try:
                self._send(call, place, None)
            except MALFORMED as error:
                yield Skip("unparseable", f"no A2A message as known: {type(error).__name__}", place)
        for key in list(self.chunks):
            place = self.scripts.of(key[0]).place
            yield from together(self._rest(key), (place,), key[0])
        yield from self.scripts.told()

    def _rest(self, key: tuple[str, str, str]) -> Iterator[Emit]:
        """Chunks of an artifact whose last one never came."""
        self._whole(self.scripts.of(key[0]), key, "", None)
        yield from self.scripts.told()

    def _tell(self, call: Call, place: Place) -> str | None:
        """Tells one message; gives why it says nothing."""
        message = call.message
        if message.get("method") in _SENDS:
            # Only the answer may tell the context that the server gave to a first message.
            if message["params"]["message"].get("contextId"):
                self._send(call, place, None)
            else:
                self.waiting[(call.peer, str(message.get("id")))] = (call, place)
            return None
        if message.get("method") in _SUBSCRIBES:
            return self._subscribe(call, place, message.get("params"))
        if "method" in message:
            return "call without a message"
        if "error" in message:
            return self._error(call, place)
        return self._result(call, place, message["result"])

    def _script(self, call: Call, place: Place, context: str | None) -> Script:
        script = self.scripts.of(context or self.log, place.at(call.inner) if call.inner else place)
        if not script.seq:
            script.head("a2a", started_at=call.time, observable=("C2", "C7"))
            script.actor(_CLIENT, evidence="channel")
            script.actor(self._server(call), evidence="attribute" if call.peer else "channel")
        return script

    def _server(self, call: Call) -> str:
        host = urlsplit(call.peer).netloc if call.peer else None
        return self.names.get(call.peer) or host or call.peer or _SERVER

    def _send(self, call: Call, place: Place, context: str | None) -> None:
        message = call.message["params"]["message"]
        context = message.get("contextId") or context or self.contexts.get(str(message.get("taskId")))
        self.asked[call.peer, str(call.message.get("id"))] = context
        script = self._script(call, place, context)
        fresh = self._message(script, call, message, "/params/message", _CLIENT, "message")
        params = call.message["params"]
        push = (params.get("configuration") or {}).get("pushNotificationConfig")
        for key, beside in (("metadata", _telling(params.get("metadata"))), ("configuration", push)) if fresh else ():
            self._beside(script, call, beside, f"/params/{key}", (_CLIENT, self._server(call)))

    def _subscribe(self, call: Call, place: Place, params: Any) -> str | None:
        """Where the remote agent is to send its news, and what it shows there as a proof."""
        task = str(params.get("taskId") or params.get("parent")).removeprefix("tasks/")
        script = self._script(call, place, self.contexts.get(task))
        self._beside(script, call, params, "/params", (_CLIENT, self._server(call)))
        return None

    def _beside(self, script: Script, call: Call, said: Any, pointer: str, ends: tuple[str, str]) -> None:
        """What goes along with a message."""
        if said:
            script.event("C2", said, pointer, sender=ends[0], to=(ends[1],), kind="metadata", time=call.time)

    def _message(
        self, script: Script, call: Call, message: dict[str, Any], pointer: str, sender: str, kind: str
    ) -> bool:
        """A message the first time it is met; a sighting of the caller from then on. True says it is the first time."""
        key = (script.trace, "message", sender, str(message.get("messageId") or _parts(message["parts"])))
        receiver = self._server(call) if sender == _CLIENT else _CLIENT
        fresh = key not in self.said
        self._say(script, key, "C2", message["parts"], f"{pointer}/parts", (sender, receiver), kind, call.time)
        if fresh:
            self._beside(script, call, _telling(message.get("metadata")), f"{pointer}/metadata", (sender, receiver))
        return fresh

    def _say(
        self,
        script: Script,
        key: tuple[str, ...],
        channel: Channel,
        parts: list[Any],
        pointer: str,
        ends: tuple[str, str],
        kind: str,
        time: Time | None,
    ) -> None:
        content = _parts(parts)
        if key in self.said:
            script.sighting(content, pointer, actor=_CLIENT, kind="history", time=time, event=self.said[key])
            return
        elsewhere = any(_is_reference(p) for p in parts)
        if elsewhere:
            script.loss("reference", "file kept elsewhere", channel)
        self.said[key] = script.event(
            channel,
            content,
            pointer,
            sender=ends[0],
            to=(ends[1],),
            id=f"{kind}:{key[-1]}" if channel == "C2" and len(key[-1]) < 80 else None,
            kind=kind,
            time=time,
            flags=("reference",) if elsewhere else (),
        )

    def _error(self, call: Call, place: Place) -> str | None:
        problem = call.message["error"]
        waiting = self.waiting.pop((call.peer, str(call.message.get("id"))), None)
        if waiting:
            self._send(*waiting, None)
        script = self._script(call, place, self.asked.get((call.peer, str(call.message.get("id")))))
        script.loss("failed_call", "call of a remote agent", "C2")
        if said := problem.get("message"):
            server = self._server(call)
            script.event("C6", said, "/error/message", sender=server, kind="error", time=call.time, flags=("failed",))
        return None

    def _result(self, call: Call, place: Place, result: Any) -> str | None:
        if not isinstance(result, dict):
            return "answer without content"
        key = next((k for k in _RESULTS if isinstance(result.get(k), dict) and "kind" not in result), None)
        body, at = (result[key], f"/result/{key}") if key else (result, "/result")
        kind = _RESULTS[key] if key else _kind_of(result)
        if kind == "card":
            self.names[call.peer] = result["name"] if is_name(result["name"]) else self._server(call)
            return "agent card"
        if not kind:
            return "answer without content"
        context = self._context(body) or self.asked.get((call.peer, str(call.message.get("id"))))
        self._answered(call, context)
        script = self._script(call, place, context)
        if kind == "message":
            self._message(script, call, body, at, self._server(call), "message")
        elif kind == "artifact-update":
            self._chunk(script, call, body, at)
        else:
            self._task(script, call, body, at)
        return None

    def _context(self, body: dict[str, Any]) -> str | None:
        task = str(body.get("taskId") or body.get("id"))
        if body.get("contextId"):
            self.contexts[task] = body["contextId"]
        return body.get("contextId") or self.contexts.get(task)

    def _answered(self, call: Call, context: str | None) -> None:
        waiting = self.waiting.pop((call.peer, str(call.message.get("id"))), None)
        if waiting:
            self._send(*waiting, context)

    def _task(self, script: Script, call: Call, task: dict[str, Any], at: str) -> None:
        server = self._server(call)
        for n, message in enumerate(task.get("history") or []):
            sender = _CLIENT if str(message.get("role")).lower() in ("user", "role_user") else server
            self._message(script, call, message, f"{at}/history/{n}", sender, "message")
        for n, artifact in enumerate(task.get("artifacts") or []):
            key = (script.trace, "artifact", str(artifact.get("artifactId")), _joined(artifact["parts"]))
            pointer = f"{at}/artifacts/{n}/parts"
            self._say(script, key, "C7", artifact["parts"], pointer, (server, _CLIENT), "artifact", call.time)
        status = task.get("status") or {}
        if str(status.get("state")).removeprefix("TASK_STATE_").lower().replace("_", "-") in _ENDS:
            for open_key in [k for k in self.chunks if k[0] == script.trace and not self.chunks[k].more]:
                self._whole(script, open_key, "", call.time)
        if status.get("message"):
            self._message(script, call, status["message"], f"{at}/status/message", server, "status")
        if status.get("state") in _FAILED:
            script.loss("failed_call", "task of a remote agent", "C2")

    def _chunk(self, script: Script, call: Call, update: dict[str, Any], at: str) -> None:
        """Chunks of an artifact wait until the last; then they are one artifact.

        What says neither that it goes on nor that it ends may be all of it, or the first chunk: 1.0 leaves out what is
        false. That waits, too.
        """
        artifact, server = update["artifact"], self._server(call)
        key = (script.trace, str(artifact.get("artifactId")), server)
        if not update.get("append") and key in self.chunks:
            if self.chunks[key].more:
                del self.chunks[key]
            else:
                self._whole(script, key, f"{at}/artifact/parts", call.time)
        words = _parts(artifact["parts"])  # which fails before anything is kept, where parts are no parts
        chunks = self.chunks.setdefault(key, _Chunks())
        chunks.parts += artifact["parts"]
        chunks.text += words
        chunks.more = "append" in update or "lastChunk" in update
        if update.get("lastChunk"):
            chunks.more = False
            self._whole(script, key, f"{at}/artifact/parts", call.time)

    def _whole(self, script: Script, key: tuple[str, str, str], pointer: str, time: Time | None) -> None:
        """Tell the chunks of an artifact as one, or that they never ended."""
        chunks = self.chunks.pop(key)
        if chunks.more:
            script.event(
                "C7", chunks.text, sender=key[2], to=(_CLIENT,), id=key[1], kind="artifact", flags=("truncated",)
            )
            script.loss("truncated", "streamed artifact without its last chunk", "C7")
            return
        said = (script.trace, "artifact", key[1], _joined(chunks.parts))
        whole = chunks.parts if len(chunks.parts) == 1 else [{"text": chunks.text}]
        self._say(script, said, "C7", whole, pointer, (key[2], _CLIENT), "artifact", time)


@dataclass
class _Chunks:
    """The pieces of an artifact so far; `more` says that another must come."""

    parts: list[dict[str, Any]] = field(default_factory=list)
    text: str = ""
    more: bool = False


def _telling(metadata: Any) -> dict[str, Any]:
    """Metadata without what only ties records together."""
    return {k: v for k, v in metadata.items() if k not in _TRACING} if isinstance(metadata, dict) else {}


def _joined(parts: list[dict[str, Any]]) -> str:
    """The same for an artifact in chunks and for the task that holds it as parts."""
    return "".join(_part(part) for part in parts)


def _kind_of(result: dict[str, Any]) -> str | None:
    kind = result.get("kind")
    if isinstance(kind, str):
        return kind
    if "skills" in result and "name" in result:
        return "card"
    return "task" if "status" in result else None


def _parts(parts: list[dict[str, Any]]) -> str:
    """The text of parts; data as JSON, files as what is known of them."""
    return "\n".join(_part(part) for part in parts)


def _part(part: dict[str, Any]) -> str:
    for key in ("text", "data", "file"):
        if key in part:
            return text(part[key])
    return text({k: v for k, v in part.items() if k not in ("kind", "metadata")})


def _is_reference(part: dict[str, Any]) -> bool:
    file = part.get("file") if isinstance(part.get("file"), dict) else part
    return bool(file) and not any(k in file for k in ("bytes", "raw", "text", "data"))  # type: ignore[operator]


ADAPTER = _A2aLog()
