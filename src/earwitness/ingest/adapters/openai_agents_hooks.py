"""OpenAI Agents SDK hook logs: what a `RunHooks` or `AgentHooks` of the user wrote, one call a line.

Field names are the user's; known are `hook` or `event` for the hook, `agent`, `from_agent` and `to_agent`, `tool`,
`tool_call_id`, `tool_arguments`, `result`, `system_prompt`, `input_items`, `response` and `output`. The hooks of a run
do not reach agents that are called as tools: such calls look like those of any tool, unless these agents have hooks of
their own that write into the same log; an agent that starts while a tool is at work was called by it. Shared context
is not in it. A call that a human or a guardrail refused starts no tool, which shows where the agent's other tools are
seen to start; that a guardrail held an answer back does not show, for hooks are called before it judges.

Obtained by: `RunHooks` or `AgentHooks` of your own that write JSON lines.
Versions tried: openai-agents 0.24.0.
Order: file order; no times.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from earwitness.ingest.delegation import same_name
from earwitness.ingest.dialogue import At, Dialogue, trace_of_file
from earwitness.ingest.record import Context, Emit, Record, Skip
from earwitness.ingest.refusals import is_refusal
from earwitness.ingest.spans.identity import clean_name, hands_off, slug
from earwitness.ingest.spans.messages import read_messages
from earwitness.ingest.spans.texts import as_text, fingerprint
from earwitness.ingest.talk import Talk
from earwitness.schema.model import Trace
from earwitness.schema.words import Channel

_OBSERVABLE: tuple[Channel, ...] = ("C1", "C2", "C3", "C4", "C6")
_HOOKS = frozenset(
    f"on_{what}"
    for what in (
        "agent_start",
        "agent_end",
        "handoff",
        "tool_start",
        "tool_end",
        "llm_start",
        "llm_end",
        "start",
        "end",
    )
)


class _OpenaiAgentsHooks:
    NAME = "openai-agents-hooks"
    TITLE = "OpenAI Agents SDK hook log"

    def sniff(self, value: Any) -> bool:
        if not isinstance(value, dict) or "run_id" in value:
            return False
        named = _hook(value) in _HOOKS and isinstance(value.get("agent", value.get("from_agent")), str | dict)
        return named and ("hook" in value or "parent_ids" not in value)

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


def _hook(value: dict[str, Any]) -> Any:
    hook = value.get("hook", value.get("event"))
    return hook if isinstance(hook, str) else None


def _name(value: Any) -> str | None:
    return clean_name(value.get("name") if isinstance(value, dict) else value)


class _Reader:
    def __init__(self, context: Context) -> None:
        self.context = context
        self._talk: Talk | None = None
        self._shown: dict[str | None, int] = {}
        self._asked: list[tuple[str, str | None, str | None]] = []
        self._working: list[tuple[str, str | None, str | None]] = []
        self._inside: dict[str, str] = {}
        self._known: set[bytes] = set()
        self._started: dict[str, str | None] = {}  # calls whose tools began to work, and whose calls they are
        self._last: tuple[str | None, bytes] | None = None

    def feed(self, record: Record) -> Iterator[Emit]:
        value, place = record
        if self._talk is None:
            head = Trace(
                id=trace_of_file(self.context, "openai-agents"), framework="openai-agents", observable=_OBSERVABLE
            )
            self._talk = Talk(Dialogue(head, At(place)), None)
        tell = _TOLD.get(_hook(value) or "")
        agent = _name(value.get("agent"))
        if tell is None:
            self._begin(self._talk, agent, At(place))
        elif not tell(self, self._talk, value, agent, At(place, value.get("timestamp", value.get("time")))):
            yield Skip("ignored", "a hook without content", place)
        yield from self._talk.dialogue.drain()

    def _begin(self, talk: Talk, agent: str | None, at: At) -> None:
        """An agent starts: it takes over, or it is behind the tool that is at work."""
        free = [a for a in self._working if a[0] not in self._inside.values()]
        asked = [a for a in free if agent and a[1] and same_name(a[1]) != same_name(agent)]
        named = [a for a in asked if same_name(a[2] or "") == same_name(agent or "")]
        found = named[:1] or (asked if len(asked) == len(free) == 1 else [])
        if agent and found and agent not in self._inside:
            self._inside[agent] = found[0][0]
            talk.dialogue.delegate(found[0][0], agent, "structural", at.place)
        talk.dialogue.acts(agent, at.place)

    def _rests(self, agent: str | None) -> None:
        """No tool is at work for an agent that asks its model, hands over or ends, whatever was logged of results."""
        self._working = [a for a in self._working if a[1] != agent]
        calls = {call_id for call_id, *_ in self._working}
        self._inside = {inner: call_id for inner, call_id in self._inside.items() if call_id in calls}

    def model_asked(self, talk: Talk, value: dict[str, Any], agent: str | None, at: At) -> bool:
        """What the model is shown: the request, then what was already told."""
        self._rests(agent)
        text = value.get("system_prompt")
        items = value.get("input_items")
        items = items if isinstance(items, list) else []
        first = agent not in self._shown
        if first and isinstance(text, str):
            talk.dialogue.instructions(agent, text, at._replace(place=at.place.at("/system_prompt")))
        shown = self._shown.get(agent, 0)  # in a run the input grows with each call: another run begins anew
        for n in range(shown if shown < len(items) else 0, len(items)):
            self._show(talk, items[n], agent, at._replace(place=at.place.at(f"/input_items/{n}")))
        self._shown[agent] = len(items)
        talk.dialogue.acts(agent, at.place)
        return True

    def _show(self, talk: Talk, item: Any, agent: str | None, at: At) -> None:
        for message in read_messages(item, "user"):
            for part in message.parts:
                key = fingerprint(part.text)
                asks = message.role == "user" and part.kind == "text" and agent not in self._inside
                if asks and key not in self._known:
                    self._known.add(key)
                    talk.dialogue.request(part.text, at)
                else:
                    talk.dialogue.sighting(agent, part.text, "history", at)

    def model_answered(self, talk: Talk, value: dict[str, Any], agent: str | None, at: At) -> bool:
        """What the model said."""
        response = value.get("response")
        output = response.get("output") if isinstance(response, dict) else response
        told = False
        for n, item in enumerate(output if isinstance(output, list) else []):
            told |= talk.tell(item, at._replace(place=at.place.at(f"/response/{n}")), agent=agent)
            texts = [p.text for m in read_messages(item, "assistant") for p in m.parts if p.kind == "text"]
            self._last = (agent, fingerprint("\n".join(texts))) if texts else self._last
        return told

    def tool_asked(self, talk: Talk, value: dict[str, Any], agent: str | None, at: At) -> bool:
        """A tool is called; where the model's answer was logged the call is known."""
        tool, call_id = _name(value.get("tool")), value.get("tool_call_id")
        call_id = str(call_id or self._first_of(talk, agent, tool) or f"call-{at.place.line}")
        self._started[call_id] = agent
        if talk.dialogue.open_call(call_id) is None:
            given = as_text(value.get("tool_arguments") or value.get("arguments") or "")
            talk.dialogue.call(agent, tool, given, at, call_id, hold=True)
        self._asked.append((call_id, agent, tool))
        self._working.append((call_id, agent, tool))
        return True

    def _first_of(self, talk: Talk, agent: str | None, tool: str | None) -> str | None:
        """The first call of a tool that the model made, where the hook names no call."""
        calls = talk.dialogue.open_calls(agent)
        return next((i for i, call in calls if call.tool == tool and i not in self._started), None)

    def tool_answered(self, talk: Talk, value: dict[str, Any], agent: str | None, at: At) -> bool:
        """A result; where it names no call it answers the first open one of that tool."""
        tool, text = _name(value.get("tool")), as_text(value.get("result", value.get("output")))
        same = [a for a in self._asked if a[1:] == (agent, tool)]
        found = next((a for a in same if a[0] == value.get("tool_call_id")), same[0] if same else None)
        if found:
            self._asked.remove(found)
            self._working = [a for a in self._working if a != found]
            self._inside = {inner: call_id for inner, call_id in self._inside.items() if call_id != found[0]}
        call_id = found[0] if found else None
        talk.dialogue.result(call_id, text, at, agent=agent, tool=tool, denied=is_refusal(text))
        return True

    def handed_over(self, talk: Talk, value: dict[str, Any], _: str | None, at: At) -> bool:
        """Control passes on."""
        source = _name(value.get("from_agent", value.get("source", value.get("source_agent"))))
        target = _name(value.get("to_agent", value.get("agent") if "from_agent" not in value else None))
        if target is None:
            return False
        self._rests(source)
        talk.dialogue.handoff(self._passing(talk, source, target), target, at, agent=source)
        return True

    def _passing(self, talk: Talk, source: str | None, target: str) -> str | None:
        """The call that asked for a handoff: the one that bears the agent's name, else the only one there is."""
        calls = [(i, slug(c.tool or "")) for i, c in talk.dialogue.open_calls(source) if i not in self._started]
        named = [i for i, tool in calls if hands_off(tool) and tool.endswith(f"_to_{slug(target)}")]
        alike = [i for i, tool in reversed(calls) if hands_off(tool) and slug(target) in tool]
        only = [i for i, _ in calls] if len(calls) == 1 else []
        return next(iter((*named, *alike, *only)), None)

    def agent_ended(self, talk: Talk, value: dict[str, Any], agent: str | None, at: At) -> bool:
        """The output of a run: what the model said last, or the first record of it."""
        self._rests(agent)
        output = value.get("output")
        text = as_text(output) if output is not None else ""
        if text and self._last != (agent, fingerprint(text)):
            talk.dialogue.say(agent, text, at)
        if agent not in self._inside:  # what it said went to its caller
            talk.dialogue.settle(final=True)
        self._last = None
        return True

    def finish(self) -> Iterable[Emit]:
        if self._talk:
            self._forget_refused(self._talk)
            yield from self._talk.dialogue.finish()

    def _forget_refused(self, talk: Talk) -> None:
        """Of an agent whose tools are seen to start, a call that started none was not made."""
        for agent in dict.fromkeys(self._started.values()):
            for call_id, _ in talk.dialogue.open_calls(agent):
                if call_id not in self._started:
                    talk.dialogue.pause(call_id)


_TOLD = {
    "on_llm_start": _Reader.model_asked,
    "on_llm_end": _Reader.model_answered,
    "on_tool_start": _Reader.tool_asked,
    "on_tool_end": _Reader.tool_answered,
    "on_handoff": _Reader.handed_over,
    "on_agent_end": _Reader.agent_ended,
    "on_end": _Reader.agent_ended,
}

ADAPTER = _OpenaiAgentsHooks()
