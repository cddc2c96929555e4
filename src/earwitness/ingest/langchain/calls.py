"""Calls of one conversation: who asked which tool or agent, and what became of it."""

import json
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from earwitness.ingest.langchain import names
from earwitness.ingest.langchain.ledger import Draft, Ledger
from earwitness.ingest.langchain.messages import Call, Msg
from earwitness.ingest.record import Place
from earwitness.ingest.spans.texts import as_text, fingerprint

# What the middleware for a human in the loop answers in place of the tool.
_REFUSED = "User rejected the tool call"
# Messages with so many characters are long.
_LONG = 200


@dataclass(eq=False, slots=True)
class Said:
    """A message that was told, as its copies look for it.

    Attributes:
        kept: its text, as the ledger has it.
    """

    msg: Msg
    author: str | None
    place: Place
    kept: str | int
    draft: Draft | None = None
    thoughts: list[Draft] = field(default_factory=list)

    def put_aside(self) -> None:
        """Of a long message what tells copies from others stays here."""
        msg = self.msg
        if len(msg.text) + sum(len(c.arguments) for c in msg.calls) + sum(map(len, msg.thoughts)) > _LONG:
            thoughts = tuple(thought[:1] for thought in msg.thoughts)
            calls = tuple(Call(c.name, "", c.id) for c in msg.calls)
            self.msg = replace(msg, text=msg.text.strip()[:1], thoughts=thoughts, calls=calls, artifact=None)


@dataclass(eq=False, slots=True)
class Asked:
    """A tool call: what it was told as, and what is known of its effect.

    Attributes:
        goto: where the record says that a handoff led.
        child: the agent whose run stands under the call.
        running: its run is known, not only the request for it.
        named: run and request are known to be one by the id of the call.
        result: the message that answered it.
    """

    call: Call
    agent: str | None
    draft: Draft
    goto: str | None = None
    child: str | None = None
    running: bool = False
    named: bool = False
    result: Said | None = None


class Calls:
    """The calls of one trace."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.all: list[Asked] = []
        self.results: dict[str, Said] = {}
        self._by_id: dict[str, Asked] = {}
        self._alike: dict[tuple[str, bytes], list[Asked]] = {}
        self._nameless: set[tuple[str, bytes]] = set()  # of which a run was told that names no id
        self._waiting: dict[str, deque[Asked]] = {}
        self._payloads: dict[bytes, Asked] = {}

    def get(self, call_id: str | None) -> Asked | None:
        """The call of an id."""
        return self._by_id.get(call_id or "")

    def ask(self, call: Call, agent: str | None, place: Place, time: Any, *, running: bool = False) -> Asked:
        """A tool call: its request in a message, or the run of it (`running`), whichever comes first."""
        asked = self.get(call.id) or self._unclaimed(call, agent, running=running)
        if asked is None:
            asked = self._tell(call, agent, place, time)
            self.all.append(asked)
            self._alike.setdefault(_likeness(call), []).append(asked)
            self._waiting.setdefault(call.name, deque()).append(asked)
        if call.id:
            self.adopt(asked, call.id)
        asked.running = asked.running or running
        if running and not asked.call.id:
            self._nameless.add(_likeness(asked.call))
        return asked

    def _unclaimed(self, call: Call, agent: str | None, *, running: bool) -> Asked | None:
        """The run of a call that names no id, and the request that tells the id, whichever comes first."""
        if not running and _likeness(call) not in self._nameless:
            return None
        alike = self._alike.get(_likeness(call), [])
        del alike[: next((n for n, asked in enumerate(alike) if not asked.named), len(alike))]
        for asked in alike:
            waiting = not asked.running if running else asked.running and not asked.call.id
            if waiting and not asked.named and agent in (asked.agent, None):
                return asked
        return None

    def _tell(self, call: Call, agent: str | None, place: Place, time: Any) -> Asked:
        rest = {"sender": agent, "time": time, "place": place}
        name = f"{call.id or call.name}:call"
        if names.handed(call.name):
            return Asked(call, agent, self.ledger.event("C2", call.arguments, kind="handoff", name=name, **rest))
        self.ledger.actor(call.name, "tool", "declared")
        to = ((call.name, "declared"),)
        draft = self.ledger.event("C3", call.arguments, kind="tool_arguments", name=name, to=to, **rest)
        return Asked(call, agent, draft)

    def adopt(self, asked: Asked, call_id: str) -> None:
        """A further id under which a call is answered."""
        self._by_id.setdefault(call_id, asked)
        asked.named = asked.named or (asked.running and not call_id.startswith("run:"))
        if asked.result:
            self.results.setdefault(call_id, asked.result)

    def answered_by(self, msg: Msg) -> Asked | None:
        """The call that a tool's message answers: by its id, or where it names none the first of that tool."""
        if msg.call_id:
            return self.get(msg.call_id)
        waiting = self._waiting.get(msg.name or "", deque())
        while waiting and waiting[0].result:
            waiting.popleft()
        return waiting[0] if waiting else None

    def refuse(self, asked: Asked | None, msg: Msg) -> bool:
        """Whether a call was answered by the user's refusal: nothing was run, so that the tool never got it."""
        refused = asked is not None and not asked.running and msg.failed and msg.text.startswith(_REFUSED)
        if asked and refused:
            asked.draft.delivered = False
        return refused

    def close(self, asked: Asked, said: Said) -> None:
        """A call was answered."""
        asked.result = said
        if said.msg.call_id:
            self.results.setdefault(said.msg.call_id, said)

    def delegate(self, asked: Asked, child: str) -> None:
        """A run of another agent stands under a call: the call is a message to that agent."""
        if asked.child or child == asked.agent or asked.goto or asked.draft.kind == "handoff_back":
            return
        asked.child = child
        draft, tool = asked.draft, asked.call.name
        self.ledger.actor(child, "agent", "node")
        draft.content = _sole_text(draft.content)
        draft.channel, draft.kind, draft.to = "C2", "delegation", ((child, "structural"),)
        draft.attributes = {"tool": tool}
        self._payloads[fingerprint(draft.content)] = asked
        if not any(tool in dict(d.to) or d.sender == tool for d in self.ledger.drafts):
            self.ledger.actors.pop(tool, None)

    def payload(self, text: str) -> Asked | None:
        """The call whose words an agent was given."""
        return self._payloads.get(fingerprint(text))

    def land(self) -> None:
        """Say which handoffs took effect."""
        for asked in self.all:
            if asked.draft.kind == "handoff":
                self._land(asked)

    def _land(self, asked: Asked) -> None:
        draft, wanted = asked.draft, names.handed(asked.call.name)
        known = next((a for a in self.ledger.agents if names.slug(a) == wanted and a != asked.agent), None)
        if asked.goto:
            self.ledger.actor(asked.goto, "agent", "declared")
            draft.to = ((asked.goto, "declared"),)
        elif known and asked.result and not asked.result.msg.failed:
            draft.to = ((known, "structural"),)
        else:  # asked for; whether it was refused is known only where there is an answer
            draft.kind, draft.delivered = "handoff_request", asked.result is None


def _likeness(call: Call) -> tuple[str, bytes]:
    return call.name, fingerprint(call.arguments)


def _sole_text(arguments: str) -> str:
    """The words of a delegation: the only text among its arguments, or its description."""
    try:
        given = json.loads(arguments)
    except ValueError:
        return arguments
    if not isinstance(given, dict):
        return as_text(given)
    texts = [v for v in given.values() if isinstance(v, str)]
    described = given.get("description")
    return described if isinstance(described, str) else texts[0] if len(texts) == 1 else arguments
