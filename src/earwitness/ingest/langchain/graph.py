"""A LangGraph run seen from its state: what nodes wrote, what tasks were given, snapshots."""

from typing import Any

from earwitness.ingest.langchain import names
from earwitness.ingest.langchain.dialogue import Dialogue
from earwitness.ingest.langchain.drafts import To
from earwitness.ingest.langchain.index import Index
from earwitness.ingest.langchain.ledger import USER
from earwitness.ingest.langchain.messages import Call, Msg, arguments_text, clean, plain, read_messages
from earwitness.ingest.langchain.reduced import Reduced
from earwitness.ingest.langchain.stops import asked_for, edited_calls, is_control
from earwitness.ingest.record import Place
from earwitness.ingest.spans.texts import as_text, fingerprint

# Keys of a state that steer the framework.
_STEERING = {
    "remaining_steps",
    "is_last_step",
    "jump_to",
    "active_agent",
    "thread_model_call_count",
    "run_model_call_count",
    "thread_tool_call_count",
    "run_tool_call_count",
}
_EDITED, _STRUCTURED = "hitl_edited_tool_calls", "structured_response"
_FILES = "files"
_STORE = "files"


class Graph:
    """The state of one thread while its records pass by."""

    def __init__(self, told: Index | None = None) -> None:
        self.dialogue = Dialogue(told)
        self.final: list[Msg] = []
        self._ends: list[Msg] = []
        self.nested = False
        self.written = False
        self._started = False
        self._values = _Values()
        self._reduced = Reduced()
        self._tasks: dict[str, tuple[Call, ...]] = {}  # with the calls of those that run tools
        self._entered: dict[str, str] = {}
        self._spoke: set[str] = set()
        self._callers: dict[str, str] = {}

    def enter(self, ns: list[str]) -> None:
        """Note which agents stand in which graphs, and which calls they run under."""
        self.nested = self.nested or bool(ns)
        self.dialogue.rest()
        for graph, member in names.containers(ns):
            self._entered.setdefault(graph, member)

    def agent_of(self, ns: list[str], node: str | None = None, metadata: Any = None) -> str | None:
        """The agent of a record: what its metadata says, its node, the graph around it, or the agent its call runs."""
        named = clean(metadata.get("lc_agent_name")) if isinstance(metadata, dict) else None
        if named:
            return named
        if node and not names.is_plumbing(node):
            return clean(node)
        return names.owner(ns) or self._callers.get("|".join(ns))

    def update(self, ns: list[str], node: str, data: Any, place: Place, time: Any = None, metadata: Any = None) -> None:
        """What a node returned."""
        if node == "__interrupt__":
            self.interrupt(data, place, time)
            return
        self.written = True
        agent = self.agent_of(ns, node, metadata)
        for part in data if isinstance(data, list) and not read_messages(data) else [data]:
            self.wrote(ns, agent, plain(part), place, time)

    def wrote(self, ns: list[str], agent: str | None, part: Any, place: Place, time: Any) -> None:
        """What an agent put into the state: messages, and values of other keys."""
        if isinstance(part, dict) and ("goto" in part or part.get("__call__") == "Command"):
            part = part.get("update") or {}
        messages = read_messages(part)
        for msg in messages:
            self._speaker(ns, msg, place)
            self.dialogue.meet(msg, place, agent=agent, time=time)
        if not ns and messages:
            self.final = messages
        if isinstance(part, dict) and not (messages and "messages" not in part):
            self.write_all(agent, part, place, time)

    def write_all(self, agent: str | None, part: dict[str, Any], place: Place, time: Any) -> None:
        """Values put into the state, and taken from it."""
        self._values.forget(_taken(part))
        for key, value in _told(part):
            if key == _FILES and isinstance(value, dict):
                self._save(agent, value, place, time)
            else:
                self._write(agent, key, value, place, time)

    def _write(self, agent: str | None, key: str, value: Any, place: Place, time: Any) -> None:
        """A value put into the shared state: a write to memory."""
        if key == _EDITED:
            for call in edited_calls(value):
                self.dialogue.calls.edit(call, place, time)
            return
        text = as_text(value)
        if self._values.has(key, text) or (key == _STRUCTURED and self.dialogue.structured):
            return
        ledger = self.dialogue.ledger
        ledger.actor(key, "memory", "declared")
        ledger.actor(agent, "agent", "node")
        to: To = ((key, "declared"),)
        name = f"state:{key}"
        draft = ledger.event("C5", text, kind="write", name=name, place=place, sender=agent, to=to, time=time)
        self._values.put(key, text, draft)
        self._reduced.wrote(key, value, text)

    def _save(self, agent: str | None, files: dict[str, Any], place: Place, time: Any) -> None:
        """Files in the state are artifacts."""
        ledger = self.dialogue.ledger
        for path, text in _files(files):
            if not text or self._values.has(path, text):
                continue
            ledger.actor(_STORE, "artifact_store", "declared")
            to = ((_STORE, "declared"),)
            rest = {"sender": agent, "to": to, "time": time, "attributes": {"path": path}}
            draft = ledger.event("C7", text, kind="file", name=f"file:{path}", place=place, **rest)
            self._values.put(path, text, draft)

    def start(self, ns: list[str], task: dict[str, Any], place: Place, time: Any = None) -> None:
        """A task begins: its input is what its agent was shown."""
        self.enter(ns)
        node, given = str(task.get("name") or ""), task.get("input")
        again = str(task.get("id")) in self._tasks  # a task starts once more after an interrupt
        self._tasks[str(task.get("id"))] = tuple(_calls_of(given)) if node == "tools" else ()
        agent = self.agent_of(ns, node, task.get("metadata"))
        self._nest(ns, agent, place, time)
        if node == "tools" or (isinstance(given, dict) and given.get("__type") == "tool_call_with_context"):
            self._calls(ns, agent, given, place, time)
        elif task.get("triggers") == ["__pregel_push"] and isinstance(given, dict):
            if not again:
                self.send(agent, given, place, time)
        elif agent:
            self.show(agent, given, place, time)

    def _nest(self, ns: list[str], agent: str | None, place: Place, time: Any = None) -> None:
        """An agent whose graph runs inside of a tool's task was asked by the call of that task."""
        if not ns or not agent:
            return
        self._callers.setdefault("|".join(ns), agent)
        for call in self._tasks.get(ns[-1].rpartition(":")[2], ()):
            number = self.dialogue.calls.ask(call, None, place, time)
            asker = self.dialogue.calls.all[number].agent
            if asker and asker != agent:
                self.dialogue.calls.delegate(number, agent)

    def _calls(self, ns: list[str], agent: str | None, given: Any, place: Place, time: Any) -> None:
        for call in _calls_of(given):
            self.dialogue.calls.ask(call, agent, place, time, running=True)

    def send(self, agent: str | None, given: dict[str, Any], place: Place, time: Any) -> None:
        """`Send`: a private payload for one task. The record names who gets it, not who sent it."""
        if not agent:
            return
        ledger = self.dialogue.ledger
        text = as_text(given)
        ledger.actor(agent, "agent", "node")
        rest = {"to": ((agent, "declared"),), "time": time}
        draft = ledger.event("C2", text, kind="send", name=f"send:{agent}", place=place, **rest)
        self._values.put(f"send:{agent}", text, draft)

    def show(self, agent: str, given: Any, place: Place, time: Any) -> None:
        """A view of the state was given to an agent."""
        messages = read_messages(given)
        for msg in messages:
            self.dialogue.meet(msg, place, viewer=agent, kind="state", time=time)
        for key, value in _told(given):
            if key != _EDITED:
                self._see(agent, key, value, place, time)

    def _see(self, agent: str, key: str, value: Any, place: Place, time: Any) -> None:
        """A key of the state was in an agent's input."""
        rows = _files(value) if key == _FILES else self._shown(key, value)
        for name, text in rows:
            draft, seen = self._values.draft(name, text), f"seen:{agent}:{self._values.life(name)}:{name}"
            if not self._values.has(seen, text):
                self._values.put(seen, text)
                self.dialogue.ledger.actor(agent, "agent", "node")
                self.dialogue.ledger.sighting(agent, "state", text, place, time=time, draft=draft)

    def _shown(self, key: str, value: Any) -> list[tuple[str, str]]:
        """What a key shows: the value as it was written, or the writes that a reducer made it of."""
        text = as_text(value)
        if self._values.has(key, text):
            return [(key, text)]
        held, whole = self._reduced.held(key, value)
        return [(key, one) for one in held] + ([] if whole else [(key, text)])

    def end(self, ns: list[str], task: dict[str, Any], place: Place, time: Any = None) -> None:
        """A task ended: its result is what its node returned."""
        node, metadata = str(task.get("name") or ""), task.get("metadata")
        if task.get("error"):
            self.fail(self.agent_of(ns, node, metadata), as_text(task["error"]), place, time)
        self.update(ns, node, task.get("result") or {}, place, time, metadata)
        if task.get("interrupts"):
            self.interrupt(task["interrupts"], place, time)

    def fail(self, agent: str | None, text: str, place: Place, time: Any = None) -> None:
        """An error; a handoff raised as one is none."""
        if is_control(text):
            return
        ledger = self.dialogue.ledger
        self.final = []  # nobody was given what came before it as an answer
        if not self._values.has("error", text):
            ledger.lose("failed_call", None, "step that ended with an error")
            draft = ledger.event("C6", text, kind="error", name="error", place=place, sender=agent, time=time)
            self._values.put("error", text, draft)

    def interrupt(self, data: Any, place: Place, time: Any = None) -> None:
        """The run stopped to show something to a person."""
        ledger = self.dialogue.ledger
        if data in ([], ()):  # before or after a node, as it was told to
            self.stop()
        for item in data if isinstance(data, list) else [data]:
            value = item.get("value") if isinstance(item, dict) else item
            text = as_text(value)
            if value is None or self._values.has("interrupt", text):
                continue
            if calls := asked_for(value):
                self.dialogue.calls.hold(calls)
            self.final = []  # the run did not end here
            ledger.actor(USER, "user", "structural")
            to: To = ((USER, "structural"),)
            draft = ledger.event("C1", text, kind="interrupt", name="interrupt", place=place, to=to, time=time)
            self._values.put("interrupt", text, draft)

    def stop(self) -> None:
        """The run goes no further for now: calls that it asked for were not made, and nothing is an answer."""
        self.dialogue.calls.hold([])
        self.final = []

    def reply(self, agent: str | None, value: Any, place: Place, time: Any = None) -> None:
        """What a human says to that: words that a run goes on with."""
        text = as_text(value)
        if not self._values.has("reply", text):
            self._values.put("reply", text)
            ledger = self.dialogue.ledger
            ledger.actor(agent, "agent", "node")
            ledger.sighting(agent, "initial", text, place, time=time)

    def debris(self, text: str, place: Place, time: Any = None) -> None:
        """State in a framework's own object, written down as text: a copy that nobody is known to have been shown."""
        if not self._values.has("debris", text):
            self._values.put("debris", text)
            self.dialogue.ledger.sighting(None, "state", text, place, time=time)

    def custom(self, ns: list[str], data: Any, place: Place, time: Any = None) -> None:
        """What a node wrote to the custom stream."""
        text = as_text(data)
        agent = names.owner(ns)
        self.dialogue.ledger.event("C6", text, kind="custom", name="custom", place=place, sender=agent, time=time)

    def snapshot(self, ns: list[str], values: Any, place: Place, time: Any = None) -> None:
        """The whole state at one moment. Where nothing else says who wrote, its news are news."""
        values = plain(values)
        messages = read_messages(values)
        agent = self.agent_of(ns)
        for msg in messages:
            self._speaker(ns, msg, place)
            self.dialogue.meet(msg, place, viewer=agent, kind="state", time=time)
        if not ns and messages:
            self.final = messages
        if not isinstance(values, dict):
            return
        if agent:
            self.show(agent, {k: v for k, v in values.items() if k != "messages"}, place, time)
        elif not self._started:
            self._begin(values, place, time)
        elif not self.written:
            self.write_all(None, values, place, time)

    def ended(self) -> None:
        """The run is over; another may go on from an earlier state."""
        self._ends += self.final[-1:]

    def _begin(self, values: dict[str, Any], place: Place, time: Any) -> None:
        """The state before anybody wrote is what the run was given."""
        self._started = True
        for key, value in _told(values):
            text = as_text(value)
            self._values.put(key, text)
            self.dialogue.ledger.sighting(None, "initial", text, place, time=time)

    def _speaker(self, ns: list[str], msg: Msg, place: Place) -> None:
        if msg.role == "ai" and msg.name and not msg.back:
            self._spoke.add(msg.name)
            if ns and names.owner(ns) is None:
                self._nest(ns, msg.name, place)

    def close(self) -> None:
        """Settle names: a graph that gives control back, and never speaks, is its first member by another name."""
        returned = self.dialogue.returned
        for graph, member in self._entered.items():
            if graph in returned and graph not in self._spoke and member in self._spoke:
                self.dialogue.ledger.aliases[member] = graph
        self.dialogue.finish(self.final, self._ends)


class _Values:
    """Values of a state that are known, each with the number of the event that told it, if one did.

    What is written under a name that was emptied is news, whatever stood there before: whoever is shown it has it from
    whoever wrote it anew.
    """

    def __init__(self) -> None:
        self._drafts = Index()
        self._lives: dict[str, int] = {}

    def put(self, key: str, text: str, draft: int | None = None) -> None:
        self._drafts.put((key, self.life(key), fingerprint(text)), 0 if draft is None else draft + 1)

    def has(self, key: str, text: str) -> bool:
        return self._drafts.get((key, self.life(key), fingerprint(text))) is not None

    def draft(self, key: str, text: str) -> int | None:
        found = self._drafts.get((key, self.life(key), fingerprint(text)))
        return found - 1 if found else None

    def life(self, key: str) -> int:
        """How often a name was emptied by now."""
        return self._lives.get(key, 0)

    def forget(self, keys: list[str]) -> None:
        """Names that hold nothing any more."""
        for key in keys:
            self._lives[key] = self.life(key) + 1


def _taken(part: dict[str, Any]) -> list[str]:
    """Keys of a state, and paths of files in it, that were emptied: a list that is empty may add nothing to one."""
    files = part.get(_FILES)
    paths = [str(path) for path, file in files.items() if file is None] if isinstance(files, dict) else []
    return [key for key, value in part.items() if value is None or value == ""] + paths


def _files(files: Any) -> list[tuple[str, str]]:
    """Paths and contents of the files in a state."""
    found = []
    for path, file in files.items() if isinstance(files, dict) else ():
        content = file.get("content") if isinstance(file, dict) else file
        text = "\n".join(map(as_text, content)) if isinstance(content, list) else as_text(content or "")
        found.append((str(path), text))
    return found


def _told(state: Any) -> list[tuple[str, Any]]:
    """What a state holds beside messages and what steers the framework."""
    rows = state.items() if isinstance(state, dict) else ()
    quiet = ("__", "branch:", "start:")
    return [
        (key, value)
        for key, value in rows
        if key != "messages" and key not in _STEERING and not key.startswith(quiet) and value not in (None, {}, [], "")
    ]


def _calls_of(given: Any) -> list[Call]:
    if isinstance(given, dict):
        given = [given.get("tool_call")] if "tool_call" in given else given.get("tool_calls")
    rows = [c for c in given if isinstance(c, dict) and c.get("name")] if isinstance(given, list) else []
    return [Call(str(c["name"]), arguments_text(c.get("args")), clean(c.get("id"))) for c in rows]
