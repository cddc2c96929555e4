"""The messages, turns and ledgers of a Semantic Kernel log, as a tale."""

import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from earwitness.ingest.kernelparts import Calls
from earwitness.ingest.loglines import Block
from earwitness.ingest.spans.texts import fingerprint, loads
from earwitness.ingest.tale import USER, Draft, Tale, listed, named, said
from earwitness.schema.words import Channel, SightingKind

_CALLING = re.compile(r"Calling (\S+) function with args: (.*)", re.DOTALL)
_FUNCTION = re.compile(
    r"Function (?:(arguments|result|failed. Error): (.*)|(\S+) (invoking|succeeded)\.|completed\.)", re.S
)
_MEMBER = re.compile(r"(?P<who>\S+?)_(?P<run>[0-9a-f]{32})/default(?:: | )(?P<did>.*)", re.DOTALL)
_CHAIN = re.compile(r"\w+ actor \(Actor ID: \S+?; Agent name: (.+?)\) (started|finished) processing")
_CHOSEN = re.compile(r"Magentic One manager selected agent: (.+)")
_INVOKING = re.compile(r"Invoking agent (.+)")
_LEDGERS = ("Initial task ledger:", "Current progress ledger:")
_MANAGER = "MagenticManagerActor"
RUN = re.compile(r"_([0-9a-f]{32})\b")


@dataclass
class KernelLog:
    """Tells the blocks of one log.

    Attributes:
        tale: what is told.
        calls: functions that were called.
        agent: whose turn it is, as far as the log says.
    """

    tale: Tale
    calls: Calls = field(init=False)
    agent: str | None = None
    diagnosed: bool = False
    _prompt: str | None = None
    _in_prompt: bool = False
    _open: deque[str | None] = field(default_factory=deque)
    _texts: dict[str, Draft] = field(default_factory=dict)
    _spoken: dict[str | None, Draft] = field(default_factory=dict)
    _published: Draft | None = None
    _passed: Draft | None = None
    _last: Draft | None = None
    _ledger: dict[str, Any] = field(default_factory=dict)
    _rendered: tuple[str, Block] | None = None
    _managed: bool = False
    _manager: str | None = None
    _done: bool = False
    _n: int = 0

    def __post_init__(self) -> None:
        self.calls = Calls(self.tale)

    def tell(self, block: Block) -> None:
        """One block."""
        area = block.logger.removeprefix("semantic_kernel.")
        row = loads(block.text) if area.endswith("model_diagnostics.decorators") else None
        if isinstance(row, dict):
            self.diagnosed = True
            self._answered(row, block) if isinstance(row.get("message"), dict) else self._shown(row, block)
            return
        self._in_prompt = False
        tellers: dict[str, Callable[[Block], None]] = {
            "kernel": self._calling,
            "functions.kernel_function": self._function,
            "prompt_template.kernel_prompt_template": self._render,
            "agents.group_chat.agent_chat": self._invoking,
        }
        if area in tellers:
            tellers[area](block)
        elif area.startswith("agents.orchestration"):
            self._orchestration(block)
        else:
            self._log(block)

    def finish(self) -> None:
        """The end of the log: who spoke last did so to the user, unless a task was completed with a summary."""
        self._flush_rendered()
        self.calls.close()
        final = any(d.channel == "C1" for d in self.tale.drafts.values())
        last = self._last
        if last and not final and not any(d.seq > last.seq and d.channel != "C6" for d in self.tale.drafts.values()):
            last.channel = "C1"
            last.reach([self.tale.actor(USER, "user", "structural") or USER], "structural")

    # What models were shown, and what they said

    def _shown(self, row: dict[str, Any], block: Block) -> None:
        """A message of a prompt; the system message names the agent."""
        role, text, name = row.get("role"), said(row.get("content")), named(row.get("name"))
        if role == "system" or not self._in_prompt:
            self._prompt = name if role == "system" and name else self._current()
            if self._prompt in self._open:  # a call that failed, or was asked again
                self._open.remove(self._prompt)
            self._open.append(self._prompt)
        self._in_prompt = True
        reader = self.tale.actor(self._prompt)
        if self._rendered and text and self._rendered[0].strip() == text.strip():
            self._rendered = None
        if role == "assistant":
            self._history(row, text, name, reader, block)
        elif role == "tool":
            self._result(row, text, reader, block)
        elif text is not None:
            told = self._texts.get(text.strip())
            kind: SightingKind = "input" if told else "initial"
            self.tale.sighting(block.place, text, reader, kind, time=block.time, event=told.id if told else None)

    def _history(
        self, row: dict[str, Any], text: str | None, name: str | None, reader: str | None, block: Block
    ) -> None:
        for call in listed(row.get("tool_calls")):
            self._ask(call, name or reader, reader, block)
        told = self._texts.get(text.strip()) if text else None
        if text is None or (told and told.sender == reader):
            return
        if told is None and name and name != reader:
            told = self._say(text, name, block)
        self.tale.sighting(block.place, text, reader, "history", time=block.time, event=told.id if told else None)

    def _ask(self, call: Any, caller: str | None, reader: str | None, block: Block, *, fresh: bool = False) -> None:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict):
            return
        key, name, given = str(call.get("id")), str(function.get("name")), said(function.get("arguments")) or "{}"
        known = self.calls.known.get(key, [])
        if fresh or not known:
            self.calls.ask(key, name, given, caller, block.place, block.time)
        elif known[-1].caller != reader and known[-1].request:
            self.tale.sighting(block.place, given, reader, "history", time=block.time, event=known[-1].request.id)

    def _result(self, row: dict[str, Any], text: str | None, reader: str | None, block: Block) -> None:
        if text is None:
            return
        call = self.calls.of(str(row.get("tool_call_id")), text)
        if call is None:
            self.tale.sighting(block.place, text, reader, "history", time=block.time)
            return
        if not call.handoff:
            self.calls.answer(call, text, block.place, block.time, whole=True)
        if reader != call.caller or call.agent:
            kind: SightingKind = "result" if reader == call.caller else "history"
            event = call.answer.id if call.answer else None
            self.tale.sighting(block.place, text, reader, kind, time=block.time, event=event)

    def _answered(self, row: dict[str, Any], block: Block) -> None:
        """What a model answered."""
        self._in_prompt = False
        message = row["message"]
        text, name = said(message.get("content")), self._author(named(message.get("name")))
        calls = listed(message.get("tool_calls"))
        if text is not None:
            self._utter(text, name, block, aside=bool(calls))
        for call in calls:
            self._ask(call, name, name, block, fresh=True)

    def _author(self, name: str | None) -> str | None:
        """The agent that a model answered for: named, or the only one that waits for an answer."""
        waiting = set(self._open)
        if name is not None:
            if name in waiting:
                self._open.remove(name)
            return name
        found = self._open.popleft() if self._open else self._current()
        return found if len(waiting) < 2 else None

    def _utter(self, text: str, name: str | None, block: Block, *, aside: bool) -> None:
        call = self.calls.inside()
        ledger = loads(text) if self._managed and name == _MANAGER else None
        if isinstance(ledger, dict) and "next_speaker" in ledger:
            self._ledger = ledger
            self._say(text, name, block, channel="C6", kind="ledger")
        elif aside or (self._managed and name == _MANAGER and not self._done):
            self._say(text, name, block, channel="C6", kind="thought")
        elif call and call.target == name:
            self.calls.answer(call, text, block.place, block.time)
            if call.answer:
                self._texts.setdefault(text.strip(), call.answer)
        else:
            self._last = self._spoken[name] = self._say(text, name, block)

    def _say(
        self, text: str, name: str | None, block: Block, *, channel: Channel = "C2", kind: str = "message"
    ) -> Draft:
        self._n += 1
        sender, key = self.tale.actor(name), f"m{self._n}:{fingerprint(text).hex()[:12]}"
        draft = self.tale.event(block.place, channel, text, key=key, kind=kind, sender=sender, time=block.time)
        self._texts.setdefault(text.strip(), draft)
        return draft

    # Functions

    def _current(self) -> str | None:
        call = self.calls.inside()
        return call.target if call else self.agent

    def _calling(self, block: Block) -> None:
        self._flush_rendered()
        found = _CALLING.match(block.text)
        if found:
            self.calls.called(found[1], found[2], self._current(), block.place, block.time)

    def _function(self, block: Block) -> None:
        self._flush_rendered()
        found = _FUNCTION.match(block.text)
        if found is None:
            self._log(block)
        elif found[1]:
            told = {"arguments": self.calls.given, "result": self.calls.result}.get(found[1], self.calls.failed)
            told(found[2], block.place, block.time)
        elif found[4] == "invoking":
            self.calls.begins(found[3], self._current())
        elif found[4] == "succeeded":
            self.calls.returns(found[3])
        else:
            self.calls.ends()

    def _render(self, block: Block) -> None:
        """A prompt; where messages are logged too, it is a copy of the next one."""
        self._flush_rendered()
        self._rendered = block.text.removeprefix("Rendered prompt: "), block

    def _flush_rendered(self) -> None:
        if self._rendered:
            (text, block), self._rendered = self._rendered, None
            self.tale.sighting(block.place, text, self.tale.actor(self._current()), "initial", time=block.time)

    def _invoking(self, block: Block) -> None:
        found = _INVOKING.match(block.text)
        self.agent = found[1].strip() if found else self.agent

    # Orchestrations

    def _orchestration(self, block: Block) -> None:
        text = block.text
        member, chain, chosen = _MEMBER.match(text), _CHAIN.match(text), _CHOSEN.match(text)
        if member:
            self._member(member["who"], member["did"], block)
        elif chain:
            self._chain(chain[1], block, started=chain[2] == "started")
        elif chosen:
            self._instruct(block)
        elif text.startswith(_LEDGERS):
            self._show_ledger(text, block)
        elif text.startswith("Task completed"):
            self._done = True
        elif "Reason: " in text or block.level not in ("DEBUG", "INFO"):
            self._log(block)

    def _member(self, who: str, did: str, block: Block) -> None:
        self._managed = self._managed or who == _MANAGER
        self._manager = who if who.endswith("ManagerActor") else self._manager
        if did.startswith("responded with "):
            self._responded(who, did.removeprefix("responded with ").removesuffix("."), block)
        elif did.startswith("Completing task with summary: "):
            self.calls.finish(did.removeprefix("Completing task with summary: "), who, block.place, block.time)
        elif "request message" in did or who.endswith("ManagerActor"):
            self.agent = who
            self.calls.takes_turn(who)
        elif "response message" in did and self._published:
            self._published.reach([self.tale.actor(who) or who], "declared")

    def _responded(self, who: str, text: str, block: Block) -> None:
        """An answer goes to the group; it is a copy where the model's answer was logged."""
        own = self._spoken.get(who)
        if own is None or own.content.strip() != text.strip():
            own = self._say(text, who, block)
        self._last = self._published = self._spoken[who] = own

    def _chain(self, name: str, block: Block, *, started: bool) -> None:
        """Agents one after another: what one said is what the next is given."""
        if not started:
            self._passed = self._spoken.get(name)
            return
        self.agent = name
        if self._passed:
            self._passed.reach([self.tale.actor(name) or name], "structural")

    def _show_ledger(self, text: str, block: Block) -> None:
        """The task ledger goes to all; a progress ledger is the manager's, and mostly a copy of a model's answer."""
        head, _, body = text.partition("\n")
        if head == _LEDGERS[0]:
            self._published = self._say(body, _MANAGER, block)
            return
        ledger = loads(body)
        if isinstance(ledger, dict) and ledger != self._ledger:
            self._ledger = ledger
            self._say(body, _MANAGER, block, channel="C6", kind="ledger")

    def _instruct(self, block: Block) -> None:
        """The manager's order to the next speaker goes to all; its words are in the ledger."""
        order = self._ledger.get("instruction_or_question")
        text = said(order.get("answer")) if isinstance(order, dict) else None
        self._published = self._say(text, _MANAGER, block) if text else None

    def _log(self, block: Block) -> None:
        """Trouble, or what a manager of a group decided and why."""
        self._n += 1
        sender = self.tale.actor(self._manager) if ".orchestration" in block.logger else None
        self.tale.event(
            block.place,
            "C6",
            block.text,
            key=f"log{self._n}:{block.place.line}",
            kind="log",
            sender=sender,
            time=block.time,
        )
