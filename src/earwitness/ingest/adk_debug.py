"""Entries of Google ADK's debug log put in order: runs of called agents within the runs that called them.

An invocation is written when it ends, so an agent called as a tool (`AgentTool`) stands before its caller, as a run of
its own. It belongs to the run in which a call of that name was open when it began; nothing else of it is named.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from earwitness.ingest.adk_words import TRANSFER, inner, parts_of, text_of
from earwitness.ingest.dialogue import At, Dialogue
from earwitness.ingest.record import Emit, Made, Place, Record, Skip
from earwitness.ingest.shelf import Shelf
from earwitness.ingest.spans.texts import as_text, fingerprint
from earwitness.schema.model import Sighting
from earwitness.schema.times import to_nanos

_MARKS = ("agent_start", "agent_end", "invocation_end")
_COPIES = ("llm_response", "tool_call", "tool_response")
_TOLD = ("event", "llm_request", "user_message", "session_state_snapshot", "tool_error", "llm_error")
_QUOTED = re.compile(r"<<<BEGIN_QUOTED_AGENT_CONTENT>>>\n+(.*?)\n+<<<END_QUOTED_AGENT_CONTENT>>>", re.DOTALL)
_PREAMBLE = "For context:"
_REPORTED = re.compile(
    r"\[[^\]\n]+\] (?:said|called tool `(?P<tool>[^`]*)`[^:\n]*|`(?P<of>[^`]*)` tool returned result):\s*(?P<words>.*)",
    re.DOTALL,
)


class _Call(NamedTuple):
    """A call of a tool: its id, when it began, and what it gave back when."""

    id: str
    tool: str
    start: int
    end: int | None = None
    answer: str | None = None


class _Entry(NamedTuple):
    time: int
    number: int
    type: str
    shelved: tuple[int, int]
    place: Place


@dataclass
class _Run:
    """An invocation.

    Attributes:
        root: the agent it began with.
        under: the run and the call by which it was called.
        called: its calls under which a run stands.
        wrote: what was told to be written, in all runs below it.
    """

    id: str
    session: str
    start: int
    root: str | None = None
    entries: list[_Entry] = field(default_factory=list)
    calls: dict[str, _Call] = field(default_factory=dict)
    under: "tuple[_Run, _Call] | None" = None
    asked: bool = False
    called: set[str] = field(default_factory=set)
    wrote: set[tuple[str, str, str]] = field(default_factory=set)

    def top(self) -> "_Run":
        """The run that all of it belongs to."""
        return self.under[0].top() if self.under else self


class DebugRuns:
    """The runs of all debug logs of an import."""

    def __init__(self) -> None:
        self._shelf: Shelf | None = None
        self._runs: dict[tuple[str, str], _Run] = {}
        self._count = 0

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._runs)

    def keep(self, value: dict[str, Any], place: Place) -> Skip | None:
        """Put an entry aside; what is said of one that tells nothing."""
        entry, run = value["entry"], self._run(value)
        kind, data = str(entry.get("entry_type")), inner(entry, "data")
        time = to_nanos(entry.get("timestamp")) or run.start
        if kind in _COPIES:
            _note_call(run, kind, data, time)
            return Skip("ignored", f"{kind}: what an event of the same run says", place)
        if kind == "invocation_start":
            name = entry.get("agent_name")
            run.root = name if isinstance(name, str) and name else None
        elif kind not in _TOLD:
            if kind in _MARKS:
                return Skip("ignored", "a mark of the runtime", place)
            return Skip("unknown", "an entry of a type that is not read", place)
        self._shelf = self._shelf or Shelf()
        self._count += 1
        run.entries.append(_Entry(time, self._count, kind, self._shelf.put(entry), place))
        return None

    def _run(self, value: dict[str, Any]) -> _Run:
        key = (value["session"], value["run"])
        if key not in self._runs:
            self._runs[key] = _Run(value["run"], value["session"], to_nanos(value["start"]) or 0)
        return self._runs[key]

    def forms(self) -> Iterator[Record | Skip]:
        """What was put aside, in the forms that the reader of all ADK files knows."""
        self._nest()
        tops: dict[int, list[tuple[_Entry, _Run]]] = {}
        for run in self._runs.values():
            tops.setdefault(id(run.top()), []).extend((entry, run) for entry in run.entries)
        for rows in sorted(filter(None, tops.values()), key=lambda rows: min(rows)[0][:2]):
            for entry, run in sorted(rows, key=lambda row: row[0][:2]):
                yield self._form(entry, run)
        if self._shelf:
            self._shelf.close()

    def _nest(self) -> None:
        """Put each run under the latest call of its agent that was open when it began."""
        calls: dict[str, list[tuple[int, str, _Call, _Run]]] = {}
        for run in self._runs.values():
            for call in run.calls.values():
                calls.setdefault(call.tool, []).append((call.start, call.id, call, run))
        for rows in calls.values():
            rows.sort(key=lambda row: row[:2])
        for run in self._runs.values():
            rows = calls.get(run.root or "", [])
            before = rows[: bisect_right(rows, run.start, key=lambda row: row[0])]
            found = ((r, c) for _, _, c, r in reversed(before) if r.start < run.start and _open(c, run.start))
            run.under = next(found, None)
            if run.under:
                run.under[0].called.add(run.under[1].id)

    def _form(self, entry: _Entry, run: _Run) -> Record | Skip:
        assert self._shelf is not None
        top, value = run.top(), self._shelf.get(entry.shelved)
        try:
            form = _FORMS[entry.type](value, run)
        except (TypeError, AttributeError, ValueError, KeyError) as error:
            return Skip("unparseable", f"not an entry as known: {type(error).__name__}", entry.place)
        if isinstance(form, str):
            return Skip("duplicate" if run.under else "ignored", form, entry.place)
        if "event" in form:
            form["event"]["invocationId"] = top.id
        return Record({**form, "session": top.session}, entry.place.at("/data"))


class Shown:
    """What only a debug log tells of a session: whom a call called, and what a model was shown."""

    def __init__(self) -> None:
        self._known: set[tuple[str | None, bytes]] = set()

    def tell(self, dialogue: Dialogue, value: dict[str, Any], place: Place) -> None:
        """Tell one form of those that are no events."""
        if "called" in value:
            dialogue.delegate(value["call"], value["called"], "structural", place)
        else:
            self._show(dialogue, value, At(place, value["time"]))

    def _show(self, dialogue: Dialogue, value: dict[str, Any], at: At) -> None:
        """An input of a model, as far as nothing else tells that its agent was shown it."""
        agent = value["agent"] if isinstance(value["agent"], str) else None
        if value["request"]:
            dialogue.request(value["request"], at)
        if value["system"] and self._is_new(agent, value["system"]):
            dialogue.instructions(agent, value["system"], at)
        for text in dict.fromkeys(value["shown"]):
            if self._is_new(agent, text):
                dialogue.sighting(agent, text, "history", at)

    def noted(self, emits: list[Emit]) -> list[Emit]:
        """Remember what somebody was shown."""
        items = (emit.item for emit in emits if isinstance(emit, Made))
        self._known.update((i.actor, fingerprint(i.content)) for i in items if isinstance(i, Sighting))
        return emits

    def _is_new(self, agent: str | None, text: str) -> bool:
        """Whether nothing told yet that an agent was shown a text."""
        return (agent, fingerprint(text)) not in self._known


def _note_call(run: _Run, kind: str, data: dict[str, Any], time: int) -> None:
    call_id, tool = data.get("function_call_id"), data.get("tool_name")
    if not isinstance(call_id, str) or not isinstance(tool, str):
        return
    if kind == "tool_call":
        run.calls[call_id] = _Call(call_id, tool, time)
    elif kind == "tool_response" and call_id in run.calls:
        run.calls[call_id] = run.calls[call_id]._replace(end=time, answer=_answer(data.get("result")))


def _answer(result: Any) -> str:
    if isinstance(result, dict) and result.keys() == {"result"}:
        result = result["result"]
    return as_text(result)


def _open(call: _Call, time: int) -> bool:
    return call.start <= time and (call.end is None or time <= call.end)


# -- one function a type of entry: the form of it, or why there is none ----------------------------------------------


def _started(entry: dict[str, Any], run: _Run) -> dict[str, Any] | str:
    if run.under is None:
        return "a mark of the runtime"
    return {"called": run.root, "call": run.under[1].id}


def _event(entry: dict[str, Any], run: _Run) -> dict[str, Any] | str:
    data = inner(entry, "data")
    event = {key: data.get(key) for key in ("author", "partial", "actions", "error_code", "error_message", "branch")}
    event |= {"id": data.get("event_id"), "timestamp": entry.get("timestamp"), "content": _content(data.get("content"))}
    if data.get("node_path"):
        event["nodeInfo"] = {"path": data["node_path"]}
    event["actions"] = _own_writes(event, run)
    if run.under and data.get("author") == run.root and _says_only(event["content"], run.under[1].answer):
        return "the answer of a called agent, which the result of its call tells"
    return {"event": event, "blurred": sum("text" in part for part in parts_of(event["content"])) > 1}


def _own_writes(event: dict[str, Any], run: _Run) -> Any:
    """The actions of an event without what a called agent wrote, which comes again from each of its callers."""
    actions, wrote = event["actions"], run.top().wrote
    if not isinstance(actions, dict):
        return actions
    answered = {inner(part, "functionResponse").get("id") for part in parts_of(event["content"])}
    copies = not answered.isdisjoint(run.called)
    for name in ("state_delta", "artifact_delta"):
        delta = {key: (name, key, as_text(value)) for key, value in inner(actions, name).items()}
        kept = {key: actions[name][key] for key, written in delta.items() if not (copies and written in wrote)}
        actions = {**actions, name: kept} if delta else actions
        wrote.update(delta.values())
    return actions


def _says_only(content: Any, answer: str | None) -> bool:
    return (
        bool(answer) and text_of(content).strip() == str(answer).strip() and all("text" in p for p in parts_of(content))
    )


def _content(content: Any) -> Any:
    """A content whose data were left out says so."""
    parts = [
        {"file_data": {"file_uri": p["inline_data"].get("display_name") or p["inline_data"].get("mime_type")}}
        if isinstance(p.get("inline_data"), dict) and p["inline_data"].get("_data_omitted")
        else p
        for p in parts_of(content)
    ]
    return {**content, "parts": parts} if parts else content


def _user(entry: dict[str, Any], run: _Run) -> dict[str, Any] | str:
    if run.under:
        return "the request of a calling agent, which its call tells"
    run.asked = True
    content = inner(entry, "data").get("content")
    return {"event": {"author": "user", "timestamp": entry.get("timestamp"), "content": content}}


def _requested(entry: dict[str, Any], run: _Run) -> dict[str, Any] | str:
    """What a model was shown; the words of the user are recorded nowhere else."""
    data = inner(entry, "data")
    rows = data.get("contents")
    words = [text for row in rows if isinstance(row, dict) for text in _shown(row)] if isinstance(rows, list) else []
    request = None
    if not run.asked and run.under is None:
        request = next((text for text, quoted in reversed(words) if not quoted), None)
    run.asked = True
    texts = [text for text, _ in words if text != request]
    system = inner(data, "config").get("system_instruction")
    return {
        "shown": texts,
        "system": system if isinstance(system, str) else None,
        "request": request,
        "agent": entry.get("agent_name"),
        "time": entry.get("timestamp"),
    }


def _shown(content: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """Words of others in a model's input, and whether they are quoted: what other agents said, for a model to read."""
    for part in parts_of(content) if content.get("role") == "user" else ():
        text = part.get("text")
        if not isinstance(text, str) or text.startswith(_PREAMBLE):
            continue
        if not (reported := _REPORTED.match(text)):
            yield text, False
        elif TRANSFER not in (reported["tool"], reported["of"]):
            found = _QUOTED.search(text)
            yield (found[1] if found else reported["words"]), True


def _snapshot(entry: dict[str, Any], run: _Run) -> dict[str, Any] | str:
    if run.under:
        return "the state of a called agent's session, which its caller's has"
    return {"state": inner(entry, "data").get("state")}


def _failed(entry: dict[str, Any], run: _Run) -> dict[str, Any] | str:
    data = inner(entry, "data")
    code = data.get("error_type") or data.get("error_code")
    event = {"author": entry.get("agent_name"), "timestamp": entry.get("timestamp"), "error_code": code}
    return {"event": event | {"error_message": data.get("error_message")}}


_FORMS = {
    "invocation_start": _started,
    "event": _event,
    "user_message": _user,
    "llm_request": _requested,
    "session_state_snapshot": _snapshot,
    "tool_error": _failed,
    "llm_error": _failed,
}
