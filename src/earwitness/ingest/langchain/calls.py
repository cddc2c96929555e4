"""Calls of one conversation: who asked which tool or agent, and what became of it."""

import json
import re
from collections.abc import Iterator
from typing import Any

from earwitness.ingest.langchain import names
from earwitness.ingest.langchain.book import Book
from earwitness.ingest.langchain.drafts import Asked, To
from earwitness.ingest.langchain.index import Groups, Index
from earwitness.ingest.langchain.ledger import Ledger
from earwitness.ingest.langchain.messages import Call, Msg
from earwitness.ingest.record import Place
from earwitness.ingest.refusals import is_refusal
from earwitness.ingest.spans.texts import as_text, fingerprint

# What an older `AgentExecutor` answers where there is no such tool; it marks no message as failed.
_NO_TOOL = re.compile(r"\S+ is not a valid tool, try one of \[[^\]]*\]\.\s*\Z")


class Calls:
    """The calls of one trace, by number.

    Attributes:
        all: the calls, and notes that control was given back.
        results: numbers of the messages that answered, by the ids of the calls.
    """

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.all = Book(Asked)
        self.results = Index()
        self._by_id = Index()
        self._alike = Groups()
        self._nameless: set[int] = set()  # likenesses of which a run was told that names no id
        self._waiting = Groups()
        self._payloads = Index()
        self._held: set[int] = set()  # likenesses of calls that wait for a human
        self._checked = 0  # how many calls were looked at for that
        self._replaced: set[tuple[int, int]] = set()  # numbers and likenesses of calls that a human changed

    def get(self, call_id: str | None) -> int | None:
        """The call of an id."""
        return self._by_id.get(call_id) if call_id else None

    def _requests(self) -> Iterator[tuple[int, Asked]]:
        return ((n, asked) for n, asked in enumerate(self.all) if asked.kind != "handoff_back")

    def ask(self, call: Call, agent: str | None, place: Place, time: Any, *, running: bool = False) -> int:
        """A tool call: its request in a message, or the run of it (`running`), whichever comes first."""
        number = self.get(call.id)
        if number is None:
            likeness = _likeness(call)
            number = self._unclaimed(likeness, agent, running=running)
            if number is None:
                maker = self._program(call.caller) if call.caller else agent
                number = self._tell(call, likeness, maker, place, time)
                self.all[number].program = call.caller is not None
        if call.id:
            self.adopt(number, call.id)
        if running:
            asked = self.all[number]
            asked.running = True
            if not asked.id:
                self._nameless.add(asked.likeness)
        return number

    def _program(self, caller: str) -> str:
        """The tool that runs a program; of one that is not recorded, its kind."""
        number = self.get(caller)
        tool = "program" if number is None else self.all[number].tool
        self.ledger.actor(tool, "tool", "declared")
        return tool

    def _unclaimed(self, likeness: int, agent: str | None, *, running: bool) -> int | None:
        """The run of a call that names no id, and the request that tells the id, whichever comes first."""
        if not running and likeness not in self._nameless:
            return None
        alike = self._alike.of(likeness, ((a.likeness, n) for n, a in self._requests()))
        while alike and self.all[alike[0]].named:
            alike.popleft()
        for number in alike:
            asked = self.all[number]
            waiting = not asked.running if running else asked.running and not asked.id
            if waiting and not asked.named and agent in (asked.agent, None):
                return number
        return None

    def _tell(self, call: Call, likeness: int, agent: str | None, place: Place, time: Any) -> int:
        rest: dict[str, Any] = {"sender": agent, "time": time, "place": place}
        name = f"{call.id or call.name}:call"
        if names.handed(call.name):
            kind = "handoff"
            draft = self.ledger.event("C2", call.arguments, kind=kind, name=name, **rest)
        else:
            kind = "tool_arguments"
            self.ledger.actor(call.name, "tool", "declared")
            to: To = ((call.name, "declared"),)
            draft = self.ledger.event("C3", call.arguments, kind=kind, name=name, to=to, **rest)
        number = self.all.append(Asked(call.name, call.id, likeness, agent, draft, kind))
        if call.id:
            self._by_id.put(call.id, number)
        self._alike.put(likeness, number)
        self._waiting.put(call.name, number)
        return number

    def hand_back(self, calls: tuple[Call, ...], name: str, agent: str | None, draft: int) -> None:
        """Calls that say no more than that control is given back."""
        for call in calls:
            if self.get(call.id or name) is None:
                number = self.all.append(Asked(call.name, call.id, 0, agent, draft, "handoff_back"))
                self._by_id.put(call.id or name, number)

    def adopt(self, number: int, call_id: str) -> None:
        """A further id under which a call is answered."""
        asked = self.all[number]
        if call_id != asked.id and self._by_id.get(call_id) is None:
            self._by_id.put(call_id, number)
        asked.named = asked.named or (asked.running and not call_id.startswith("run:"))
        if asked.result is not None and self.results.get(call_id) is None:
            self.results.put(call_id, asked.result)

    def answered_by(self, msg: Msg) -> int | None:
        """The call that a tool's message answers: by its id, or where it names none the first of that tool."""
        if msg.call_id:
            return self.get(msg.call_id)
        waiting = self._waiting.of(msg.name or "", ((a.tool, n) for n, a in self._requests()))
        while waiting and self.all[waiting[0]].result is not None:
            waiting.popleft()
        return waiting[0] if waiting else None

    def refuse(self, asked: Asked | None, msg: Msg) -> bool:
        """Whether a call was answered by a refusal, or by a human: nothing was run, so that the tool never got it."""
        told = msg.decision in ("reject", "respond") or _NO_TOOL.match(msg.text) is not None
        told = told or (msg.failed and is_refusal(msg.text))
        refused = (asked is not None and asked.unfit) or (told and not (asked and asked.running))
        if asked and refused:
            self.ledger.drafts[asked.draft].delivered = False
        return refused

    def drop(self, number: int) -> None:
        """The arguments of a call were refused before its tool was called, although a run of it is recorded."""
        asked = self.all[number]
        asked.unfit = True
        self.ledger.drafts[asked.draft].delivered = False

    def edit(self, call: Call, place: Place, time: Any) -> None:
        """A human put another call in the place of the one that the model made, which nobody got."""
        number = self.get(call.id)
        asked = None if number is None else self.all[number]
        likeness = _likeness(call)
        if number is None or asked is None or asked.kind != "tool_arguments" or asked.likeness == likeness:
            return
        if (number, likeness) in self._replaced:  # a copy from before
            return
        self._replaced.add((number, asked.likeness))
        self.ledger.drafts[asked.draft].delivered = False
        self.ledger.actor(call.name, "tool", "declared")
        rest: dict[str, Any] = {"sender": asked.agent, "time": time, "place": place, "to": ((call.name, "declared"),)}
        name = f"{call.id}:edited"
        asked.draft = self.ledger.event("C3", call.arguments, kind="tool_arguments", name=name, **rest)
        asked.tool, asked.likeness = call.name, likeness
        self._alike.put(likeness, number)
        self._waiting.put(call.name, number)

    def hold(self, calls: list[Call]) -> None:
        """A human is asked to allow calls: without an answer neither they were made nor those asked for with them."""
        self._held.update(map(_likeness, calls))
        for number in range(self._checked, len(self.all)):
            asked = self.all[number]
            self._held.update({asked.likeness} if asked.result is None and not asked.running else ())
        self._checked = len(self.all)

    def _release(self, asked: Asked) -> None:
        if asked.likeness in self._held and asked.result is None and asked.kind == "tool_arguments":
            self.ledger.drafts[asked.draft].delivered = False

    def delegate(self, number: int, child: str) -> None:
        """A run of another agent stands under a call: the call is a message to that agent."""
        asked = self.all[number]
        if asked.child or child == asked.agent or asked.goto or asked.kind == "handoff_back":
            return
        asked.child, asked.kind = child, "delegation"
        tool, ledger = asked.tool, self.ledger
        ledger.actor(child, "agent", "node")
        draft = ledger.drafts[asked.draft]
        text = _sole_text(ledger.texts.text(draft.kept))
        ledger.say_anew(asked.draft, text)
        ledger.address(draft, "delegation", ((child, "structural"),))
        draft.channel, draft.attributes = "C2", {"tool": tool}
        self._payloads.put(fingerprint(text), number)
        if not ledger.names(tool):
            ledger.actors.pop(tool, None)

    def payload(self, text: str) -> Asked | None:
        """The call whose words an agent was given."""
        number = self._payloads.get(fingerprint(text)) if self._payloads else None
        return None if number is None else self.all[number]

    def land(self) -> None:
        """Say which handoffs took effect, and which calls still wait for a human."""
        for asked in self.all:
            self._release(asked)
            if asked.kind == "handoff":
                self._land(asked)

    def _land(self, asked: Asked) -> None:
        wanted = names.handed(asked.tool)
        known = next((a for a in self.ledger.agents if names.slug(a) == wanted and a != asked.agent), None)
        if asked.goto:
            self.ledger.actor(asked.goto, "agent", "declared")
            self.ledger.settle(asked.draft, "handoff", ((asked.goto, "declared"),))
        elif known and asked.result is not None and not asked.failed:
            self.ledger.settle(asked.draft, "handoff", ((known, "structural"),))
        else:  # asked for; whether it was refused is known only where there is an answer
            self.ledger.settle(asked.draft, "handoff_request", (), delivered=asked.result is None)


def _likeness(call: Call) -> int:
    return hash((call.name, fingerprint(call.arguments)))


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
