"""MCP logs: JSON-RPC between a host (client) and its tool servers, as a proxy, a tee or the host itself wrote it.

Three shapes: proxy lines with the message one level down (`{"ts", "dir", "server", "msg": {"jsonrpc": ...}}`), bare
JSON-RPC lines, and host logs (`<time> [info] [server] Message from client: {json}`, Claude Desktop's
`mcp-server-*.log`); batches are taken apart. Requests and answers are paired by id, for each connection and each
direction apart, and anew after each `initialize`. `tools/call` is C3, its result C4 (text and structured copy: one
event), `resources/read` and `prompts/get` likewise, `sampling/createMessage` C2, `elicitation/create` C1, what a
client answers to it and the roots it names C3, log notifications and lines that cannot be read C6. What a client
refuses to ask was shown to nobody; a call of a tool that is not there went to the server. One log is one trace;
servers are told apart.

Cannot show: which agent of the host made a call, what the model said, the user's request, the final answer.

Obtained by: a proxy or tee on standard input and output, or the host's own log files.
Versions tried: mcp 2.3.0 over stdio; host logs after their documentation.
Order: file order; times where the log writes them.
"""

import re
from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from earwitness.ingest.jsonrpc import Call, batch_in, is_a2a, log_name, message_in, parts_of, unwrap
from earwitness.ingest.jsontext import DecodeError, decode
from earwitness.ingest.mcpwords import problem_text, question, result_text, said_in
from earwitness.ingest.record import Context, Emit, Made, Record, Skip
from earwitness.ingest.script import MALFORMED, Script, Scripts, digest, is_name
from earwitness.schema.model import Delivery, Event, Time
from earwitness.schema.words import Channel

_PREFIX = re.compile(r"(?P<time>\d{4}-\d\d-\d\dT[\d:.]+Z?) \[(?P<a>[^\]]+)\] \[(?P<b>[^\]]+)\] (?P<said>.*)", re.DOTALL)
_MESSAGE = re.compile(r"Message from (client|server): (\{.*?\}|\[\{.*?\}\])(?: \{ metadata: [^{}]*\})?\s*$", re.DOTALL)
_HOST_LOG = re.compile(
    r"^\d{4}-\d\d-\d\dT[\d:.]+Z? \[[^\]]+\] \[[^\]]+\] Message from (?:client|server): ", re.MULTILINE
)
_LEVELS = frozenset(("trace", "debug", "info", "notice", "warn", "warning", "error", "fatal"))
_CUT = re.compile(r"\.\.\.\[\d+ chars truncated\]\.\.\.")
_CLIENT = "client"
_UNKNOWN_METHOD = -32601
# What a server lists of itself.
_LISTS = ("tools", "resources", "resourceTemplates", "prompts")
# Requests of the client whose answers say something: method, key of the name in `params`.
_ASKED = {"tools/call": "name", "resources/read": "", "prompts/get": "name", "completion/complete": ""}
_LOGS = frozenset(
    ("notifications/message", "notifications/progress", "notifications/cancelled", "notifications/tasks/status")
)
# A call made as a task is answered with the task; what it gave is asked for by the name of that.
_LATER = "tasks/result"
# What servers ask of the client, and on which channel the client answers; an error says that nobody was asked.
_FROM_SERVER: dict[str, Channel] = {"sampling/createMessage": "C2", "elicitation/create": "C3", "roots/list": "C3"}
# What the SDKs for Python and TypeScript answer before they call a tool.
_UNFIT = re.compile(
    r"(?:MCP error -32602: )?(?:Input validation error: )?Invalid arguments for tool (?P<a>[^\s:]+): "
    r"|Error executing tool (?P<b>\S+): \d+ validation errors? for (?P=b)Arguments\n"
    r"|Input validation error: "
)
# The answers of the SDKs where a server does not have the tool.
_NO_TOOL = re.compile(
    r"(?:MCP error -3260[12]: )?(?:Unknown tool: (?P<a>.+)|Tool '?(?P<b>\S+?)'? not found)", re.DOTALL
)


class _McpLog:
    NAME = "mcp-log"
    TITLE = "MCP log (proxy or host)"
    PRIORITY = 40

    def sniff(self, value: Any) -> bool:
        batch = batch_in(value)
        if batch is not None:
            return not any(isinstance(message, dict) and is_a2a(message) for message in batch[1])
        found = message_in(value)
        return found is not None and not is_a2a(found[1])

    def split(self, record: Record) -> Iterable[Record]:
        """A batch holds many messages."""
        return parts_of(record)

    def sniff_text(self, head: str) -> bool:
        """Whether text is a host log; its lines need not look like one (stderr of the server)."""
        return _HOST_LOG.search(head) is not None

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


# Whether the client asked, and the id.
_Key = tuple[bool, str]
# Method, who is asked, event.
_Asked = tuple[str, str | None, str | None]


class _Reader:
    def __init__(self, context: Context) -> None:
        self.name = log_name(context.name)
        self.trace = ""
        self.scripts = Scripts()
        self.clients: dict[str | None, str] = {}
        self.begun = False
        self.waiting: dict[tuple[str | None, str | None], dict[_Key, _Asked]] = {}  # by server and session
        self.lost = 0  # calls whose connection ended before they were answered
        # What was asked, until the answer says whether anybody was.
        self.held: dict[str, Made] = {}
        self.tasks: dict[tuple[str | None, str], tuple[str | None, str | None]] = {}

    def feed(self, record: Record) -> Iterable[Emit]:
        # A log has no name but that of its file, which others may have, too.
        self.trace = self.trace or f"{self.name}/{digest(record.value)}"
        script = self.scripts.of(self.trace, record.place)
        try:
            skip = self._line(script, record) if "_line" in record.value else self._call(script, record.value, "")
        except MALFORMED as error:
            skip = f"no MCP message as known: {type(error).__name__}"
            return [*self.scripts.told(), Skip("unparseable", skip, record.place)]
        if skip:
            return [*self.scripts.told(), Skip("ignored", skip, record.place)]
        return self.scripts.told()

    def finish(self) -> Iterable[Emit]:
        self.scripts.of(self.trace).made.extend(self.held.values())
        lost = self.lost + sum(method in _ASKED for open_ in self.waiting.values() for method, _, _ in open_.values())
        if lost and self.begun:
            script = self.scripts.of(self.trace)
            script.loss("content_missing", "call without an answer", "C4", lost)
        return self.scripts.told()

    def _line(self, script: Script, record: Record) -> str | None:
        """A line of a host log: a message, or something the host or the server wrote."""
        line = record.value["_line"]
        found = _PREFIX.fullmatch(line)
        said = found["said"] if found else line
        server = _server(found) if found else None
        message = _MESSAGE.match(said)
        if found and message:
            try:
                inner = decode(message[2].encode("utf-8", "surrogateescape"))
            except DecodeError:
                inner = None
            told = [m for m in (inner if isinstance(inner, list) else [inner]) if isinstance(m, dict)]
            by_client, time = message[1] == "client", found["time"]
            skips = [self._tell(script, Call(one, "", time, by_client, server)) for one in told]
            if skips:
                return None if None in skips else skips[0]
        self._raw(script, said, server, found["time"] if found else None)
        return None

    def _raw(self, script: Script, said: str, server: str | None, time: str | None) -> None:
        self._begin(script, time)
        cut = bool(_CUT.search(said))
        script.event("C6", said, sender=server, kind="log", time=time, flags=("truncated",) if cut else ())
        script.actor(server, "tool")
        if cut:
            script.loss("truncated", "long message of a host log", "C6")

    def _call(self, script: Script, value: Any, pointer: str) -> str | None:
        call = unwrap(value)
        if call is None:
            raise ValueError(pointer)
        return self._tell(script, call)

    def _tell(self, script: Script, call: Call) -> str | None:
        """Tells one message; gives why it says nothing."""
        self._begin(script, call.time)
        if "method" not in call.message:
            return self._answer(script, call)
        method, params = call.message["method"], call.message.get("params") or {}
        if method == "initialize":
            self._introduce(script, call, params)
        if method == "notifications/cancelled":
            self._cancel(script, call, params)
        if method in _LOGS:
            return self._log(script, call, params)
        if "id" not in call.message:
            return "protocol message"
        return self._request(script, call, method, params)

    def _begin(self, script: Script, time: Time | None) -> None:
        if not self.begun:
            self.begun = True
            # Of the other channels it shows only the part that goes through a server.
            script.head("mcp", started_at=time, observable=("C3", "C4"))

    def _introduce(self, script: Script, call: Call, params: dict[str, Any]) -> None:
        """A connection begins: what one before it left unanswered stays so, and ids are used again."""
        name = (params.get("clientInfo") or {}).get("name")
        if is_name(name):
            self.clients[call.session] = str(name)
        script.actor(self._client(call))
        for asked in self.waiting.pop((call.peer, call.session), {}).values():
            self._give_up(script, asked)

    def _client(self, call: Call) -> str:
        return self.clients.get(call.session, _CLIENT)

    def _open(self, call: Call) -> dict[_Key, _Asked]:
        """What waits for an answer on the connection of a message."""
        return self.waiting.setdefault((call.peer, call.session), {})

    def _give_up(self, script: Script, asked: _Asked) -> None:
        """Nothing will be answered to a request any more."""
        method, _, event = asked
        self._release(script, event)
        self.lost += method in _ASKED

    def _cancel(self, script: Script, call: Call, params: dict[str, Any]) -> None:
        """Whoever asked wants no answer any more: none is missing."""
        sides = [True, False] if call.from_client is None else [call.from_client]
        waiting, name = self._open(call), str(params.get("requestId"))
        for key in [(side, name) for side in sides if (side, name) in waiting][:1]:
            self._release(script, waiting.pop(key)[2])

    def _wait(self, script: Script, call: Call, by_client: bool, method: str, target: str | None, event: Any) -> None:
        waiting, key = self._open(call), (by_client, str(call.message["id"]))
        if key in waiting:
            self._give_up(script, waiting[key])
        waiting[key] = (method, target, event)

    def _log(self, script: Script, call: Call, params: dict[str, Any]) -> str | None:
        said = params.get("data") or params.get("message") or params.get("reason") or params.get("statusMessage")
        if not said:
            return "progress without text"
        script.actor(call.peer, "tool")
        sender = self._client(call) if call.from_client else call.peer
        script.event("C6", said, f"{call.inner}/params", sender=sender, kind="log", time=call.time)
        return None

    def _request(self, script: Script, call: Call, method: str, params: dict[str, Any]) -> str | None:
        by_client = call.from_client if call.from_client is not None else method not in _FROM_SERVER
        target, event = None, None
        if method in _ASKED:
            target = _tool(call.peer, method, params)
            event = self._hold(script, self._ask(script, call, method, params, target))
        elif method == _LATER:
            target, event = self.tasks.get((call.peer, str(params.get("taskId"))), (None, None))
            self._wait(script, call, by_client, method, target, event)
            return "protocol message"
        elif method == "sampling/createMessage":
            event = self._hold(script, self._from_server(script, call, "C2", params, self._client(call)))
        elif method == "elicitation/create":
            words = question(params)
            event = self._hold(script, self._from_server(script, call, "C1", words, "user"))
        self._wait(script, call, by_client, method, target, event)
        return None if event else "protocol message"

    def _hold(self, script: Script, event: str) -> str:
        self.held[event] = _made(script.made.pop())
        return event

    def _release(self, script: Script, event: str | None, to: tuple[Delivery, ...] | None = None) -> None:
        """Tell what was asked, now that it is answered; to others than were meant, if the answer says so."""
        made = self.held.pop(event or "", None)
        if made and to is not None and isinstance(made.item, Event):
            flags = made.item.flags if all(d.delivered for d in to) else (*made.item.flags, "not_delivered")
            made = Made(replace(made.item, to=to, flags=flags), made.place)
        script.made.extend([made] if made else [])

    def _ask(self, script: Script, call: Call, method: str, params: dict[str, Any], tool: str) -> str:
        client = self._client(call)
        script.actor(client, evidence="channel" if client == _CLIENT else "declared")
        script.actor(tool, "tool", roles=(call.peer,) if call.peer else ())
        key = "arguments" if method == "tools/call" else ""
        said = params.get(key) if key else {k: v for k, v in params.items() if k != "_meta"}
        pointer = f"{call.inner}/params/{key}".rstrip("/")
        return script.event("C3", said or {}, pointer, sender=client, to=(tool,), kind="tool_arguments", time=call.time)

    def _from_server(self, script: Script, call: Call, channel: Channel, said: Any, to: str) -> str:
        script.actor(call.peer, "tool")
        script.actor(to, "user" if to == "user" else "agent")
        kind = call.message["method"]
        return script.event(
            channel, said, f"{call.inner}/params", sender=call.peer, to=(to,), kind=kind, time=call.time
        )

    def _answer(self, script: Script, call: Call) -> str | None:
        """The answer to what the other side asked."""
        name = str(call.message.get("id"))
        sides, client, waiting = _asking_sides(call), self._client(call), self._open(call)
        asked = next(((side, name) for side in sides if (side, name) in waiting), None)
        method, target, event = waiting.pop(asked) if asked else ("", None, None)
        if method in _ASKED or method == _LATER or not method:
            return self._result(script, call, target, event)
        problem = call.message.get("error")
        self._release(script, event, self._unasked(call, method) if problem else None)
        if isinstance(problem, dict) and problem.get("message"):
            script.actor(call.peer, "tool")
            at = f"{call.inner}/error"
            refused = method in _FROM_SERVER
            sender, to = (client, (call.peer,) if call.peer else ()) if refused else (call.peer, ())
            said = problem_text(problem)
            script.event("C6", said, at, sender=sender, to=to, kind="error", time=call.time, flags=("failed",))
            return None
        result, at = call.message.get("result") or {}, f"{call.inner}/result"
        given = result.get("content") or result.get("roots") if method in _FROM_SERVER else None
        if given:
            said, to = said_in(given), (call.peer,) if call.peer else ()
            script.event(
                _FROM_SERVER[method], said, at, sender=client, to=to, kind=method, parent=event, time=call.time
            )
            return None
        keys = ("instructions",) if method == "initialize" else _LISTS
        shown = next((result[key] for key in keys if result.get(key)), None)
        script.sighting(shown, at, actor=client, time=call.time)
        return None if shown else "protocol message"

    def _unasked(self, call: Call, method: str) -> tuple[Delivery, ...]:
        """Where the client refuses, its user or model was not shown what the server asked."""
        name = "user" if method == "elicitation/create" else self._client(call)
        return (Delivery(name, delivered=False),)

    def _result(self, script: Script, call: Call, tool: str | None, event: str | None) -> str | None:
        problem, result = call.message.get("error"), call.message.get("result") or {}
        said = problem_text(problem) if isinstance(problem, dict) else result_text(result)
        failed = bool(problem) or bool(result.get("isError"))
        unmade = failed and tool is not None and (_is_unmade(said, tool, call.peer) or _is_unknown(problem))
        self._release(script, event, _instead(script, call.peer, tool or "") if unmade else None)
        if isinstance(result.get("task"), dict):
            self.tasks[call.peer, str(result["task"].get("taskId"))] = (tool, event)
        if not said:
            return "answer without content"
        if failed:
            script.loss("failed_call", "tool call", "C4")
        script.event(
            "C4",
            said,
            f"{call.inner}/{'error' if problem else 'result'}",
            sender=call.peer if unmade else tool,
            to=(self._client(call),),
            kind="tool_result",
            time=call.time,
            parent=event,
            flags=("failed",) if failed else (),
        )
        return None


def _is_unknown(problem: Any) -> bool:
    """Whether a server does not know the method: nothing behind it got the call."""
    return isinstance(problem, dict) and problem.get("code") == _UNKNOWN_METHOD


def _made(emit: Emit) -> Made:
    assert isinstance(emit, Made)
    return emit


def _is_unmade(said: str, tool: str, server: str | None) -> bool:
    """Whether a server says that it has no such tool, or did not give it arguments that do not fit."""
    found, unfit = _NO_TOOL.fullmatch(said), _UNFIT.match(said)
    missing = found is not None and tool.endswith(found["a"] or found["b"])
    # Of a server without a name only the name of its tool says that somebody got them.
    return missing or (bool(server) and unfit is not None and tool.endswith(unfit["a"] or unfit["b"] or ""))


def _instead(script: Script, server: str | None, tool: str) -> tuple[Delivery, ...]:
    """Who got a call of a tool that is not there: the server, whose name may not be known."""
    script.actor(server, "tool")
    return (Delivery(server),) if server else (Delivery(tool, delivered=False),)


def _asking_sides(call: Call) -> list[bool]:
    """Who may have asked what this answers; True is the client. Without a direction the answer tells by its shape."""
    if call.from_client is not None:
        return [not call.from_client]
    result = call.message.get("result")
    of_client = isinstance(result, dict) and ("action" in result or {"role", "model"} <= result.keys())
    return [False, True] if of_client else [True, False]


def _server(found: "re.Match[str]") -> str | None:
    """The server of a host line; level and server come in either order."""
    name = found["b"] if found["a"].lower() in _LEVELS else found["a"]
    return name if is_name(name) and name.lower() not in _LEVELS else None


def _tool(server: str | None, method: str, params: dict[str, Any]) -> str:
    """Who is asked: the tool of a server, or what the server keeps under a method."""
    key = _ASKED[method]
    name = params.get(key) if key else method.partition("/")[0]
    name = name if is_name(name) else method
    return f"{server}.{name}" if server else str(name)


ADAPTER = _McpLog()
