"""What a session says: prompts, answers, tool calls and results, as events and sightings in their order."""

import re
from collections.abc import Iterator

from earwitness.ingest.chronicle import USER, Chronicle, folded, name_of, text_of, undelivered
from earwitness.ingest.claude_code.entries import Block, Entry
from earwitness.ingest.claude_code.session import MAKERS, Aside, Call, Session
from earwitness.ingest.record import Made
from earwitness.schema.model import Delivery
from earwitness.schema.words import CHANNELS, Channel, SightingKind

MAIN = "main"
BOARD = "task board"
FILES = "files"
_INSIDE: tuple[Channel, ...] = ("C3", "C4", "C5", "C6", "C7")
BOARD_TOOLS = ("TodoWrite", "TodoRead", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet")
FILE_TOOLS = ("Write", "Edit", "MultiEdit", "NotebookEdit", "Artifact")
# What these are given is shown to the user, and what they give back is what the user says to it.
ASKING_TOOLS = ("AskUserQuestion", "ExitPlanMode", "exit_plan_mode")
_TEAMMATE = re.compile(r'<teammate-message teammate_id="([^"]+)"[^>]*>(.*?)</teammate-message>', re.DOTALL)
_NOTICE = re.compile(r"<task-notification>(.*?)</task-notification>", re.DOTALL)
_FIELD = r"<{0}>(.*?)</{0}>"
# A user line that no human wrote.
_MACHINE = re.compile(
    r"\s*(<(command-|local-command|system-reminder|bash-|user-prompt-submit)|Caveat: |\[Request interr)"
)
_DENIED = re.compile(
    r"The user doesn't want to (proceed|take this action)|\[Request interrupted by user for tool use"
    r"|Permission to use \S+ (with|has been denied)|Claude requested permissions"
    r"|PreToolUse:\S+ hook (error|returned blocking error)|Hook PreToolUse:\S+ denied this tool"
    r"|Permission for this action has been denied|This command requires approval|User rejected tool use"
    r"|<tool_use_error>(Error: No such tool available|Blocked: |InputValidationError: |Sibling tool call errored"
    r"|Cancelled: parallel tool call|File has not been read yet|File has been (modified|unexpectedly modified)"
    r"|String to replace not found|Found \d+ matches of the string)"
)


def tell(session: Session) -> Iterator[Made]:
    """Everything of a session."""
    session.settle()
    if not session.entries and not session.asides:
        return
    teller = _Teller(session)
    yield from teller.opening()
    for entry in session.entries:
        yield from teller.entry(entry)
    for aside in session.asides:
        yield from teller.aside(aside)


class _Teller:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.book = Chronicle(session.id)
        self.names = _names(session)
        self.last = {id(block) for thread in session.threads.values() for block in _closing(thread)}
        self.prompted: set[str] = set()

    def opening(self) -> Iterator[Made]:
        first = [e.place for e in self.session.entries] + [a.place for a in self.session.asides]
        times = [e.time for e in self.session.entries if e.time]
        yield self.book.head(
            first[0],
            framework="claude-code",
            started_at=min(times) if times else None,
            observable=CHANNELS if self.session.entries else self._of_asides(),
        )
        yield from self._unseen()
        for agent, name in self.names.items():
            call = self.session.makers.get(agent)
            role = (
                name_of(call.block.input.get("subagent_type")) if call and isinstance(call.block.input, dict) else None
            )
            role = role or name_of(self.session.roles.get(agent))
            place = self.session.threads[agent][0].place if agent in self.session.threads else first[0]
            roles, aliases = ((role,) if role else ()), ((agent,) if agent != name else ())
            yield from self.book.actor(place, name, roles=roles, aliases=aliases)

    def _of_asides(self) -> tuple[Channel, ...]:
        """What a session can show of which no message was read: an answer alone, a journal, a summary."""
        return ("C1",) if all(a.kind == "answer" for a in self.session.asides) else ("C2", "C6")

    def _unseen(self) -> Iterator[Made]:
        """Sub-agents of whose work only the answer is in the record."""
        made = [c for c in self.session.calls.values() if c.block.name in MAKERS and c.result]
        gone = [c for c in made if c.child not in self.session.threads and not (c.result and c.result.failed)]
        for channel in _INSIDE if gone else ():
            yield self.book.loss(gone[0].entry.place, "content_missing", channel, "the file of a sub-agent is missing")

    def who(self, entry: Entry) -> str:
        return self.names.get(entry.agent, entry.agent) if entry.agent else entry.name or MAIN

    def entry(self, entry: Entry) -> Iterator[Made]:
        for block in entry.blocks:
            if entry.type == "system":
                yield from self._log(entry, block)
            elif block.kind == "tool_result":
                yield from self._result(entry, block)
            elif entry.type == "user":
                yield from self._user(entry, block)
            elif block.kind == "tool_use":
                yield from self._call(self._own(entry, block))
            else:
                yield from self._assistant(entry, block)

    def _own(self, entry: Entry, block: Block) -> Call:
        """The call of a block; an id that occurs again, with other input, has the same result."""
        call = self.session.calls[block.id]
        return call if call.block is block else Call(entry, block, call.result, call.result_entry, call.child)

    def aside(self, aside: Aside) -> Iterator[Made]:
        who = self.names.get(aside.agent, f"agent-{aside.agent}") if aside.agent else MAIN
        if aside.kind == "attachment":
            yield from self.book.shown(aside.place, who, aside.text, "input", aside.time)
        elif aside.kind == "answer":
            yield from self._given(aside)
        elif aside.kind == "summary":
            yield from self.book.event(aside.place, "C6", aside.text, kind="summary")
        elif self.book.said(who, aside.text):
            yield from self.book.shown(aside.place, None, aside.text, "result")
        else:
            yield from self.book.event(aside.place, "C2", aside.text, sender=who, kind="workflow_result")

    def _given(self, aside: Aside) -> Iterator[Made]:
        """What the program gave back at the end: the last words of the main agent, mostly."""
        if self.book.said(MAIN, aside.text):
            yield from self.book.shown(aside.place, USER, aside.text, "result")
        elif aside.text.strip():
            to = (Delivery(USER, "structural"),)
            yield from self.book.event(aside.place, "C1", aside.text, sender=MAIN, to=to, kind="message")

    def _log(self, entry: Entry, block: Block) -> Iterator[Made]:
        place = entry.place.at(block.pointer)
        return self.book.event(place, "C6", block.text, kind="system", id=entry.uuid or None, time=entry.time)

    def _assistant(self, entry: Entry, block: Block) -> Iterator[Made]:
        who, place = self.who(entry), entry.place.at(block.pointer)
        if block.kind == "redacted_thinking" or (block.kind == "thinking" and not block.text.strip()):
            yield self.book.loss(place, "masked", "C6", "reasoning is encrypted")
        elif block.kind == "thinking":
            yield from self._say(entry, block, "C6", who, kind="reasoning")
        elif block.kind != "text":
            yield self.book.loss(place, "reference", None, "a part of a message that is no text")
        elif id(block) not in self.last:
            yield from self._say(entry, block, "C6", who, kind="message")
        elif entry.agent:
            yield from self._answer(entry, block, who)
        else:
            yield from self._say(entry, block, "C1", who, (USER,), kind="message")

    def _answer(self, entry: Entry, block: Block, who: str) -> Iterator[Made]:
        """The last text of a sub-agent. The result of the call is what was handed back; this is its first writing."""
        call = self.session.makers.get(entry.agent or "")
        result = call.result if call and call.result_entry and not call.result_entry.asynchronous else None
        if result and folded(block.text) in folded(result.text):
            yield from self.book.shown(entry.place.at(block.pointer), who, block.text, "response", entry.time)
            return
        if result:  # something else was handed back: nothing says that this went anywhere
            yield from self._say(entry, block, "C6", who)
            return
        to = (Delivery(self.who(call.entry), "structural"),) if call else ()
        yield from self._say(entry, block, "C2", who, to, kind="answer")

    def _user(self, entry: Entry, block: Block) -> Iterator[Made]:
        who, place, text = self.who(entry), entry.place.at(block.pointer), block.text
        if block.kind in ("image", "document"):
            yield self.book.loss(place, "reference", None, "an image or document in a prompt")
            return
        for sender, said in _messages(text):
            yield from self._told(entry, block, self.names.get(sender, sender), said)
        if entry.agent and entry.agent not in self.prompted:
            self.prompted.add(entry.agent)
            yield from self._prompt(entry, block, who)
        elif not _TEAMMATE.search(text) and not _NOTICE.search(text):
            yield from self.book.shown(place, who, text, _kind(entry, text), entry.time)

    def _told(self, entry: Entry, block: Block, sender: str, text: str) -> Iterator[Made]:
        """A message of another agent inside a user line: a copy, where the sender's own record was read."""
        who = self.who(entry)
        if self.book.said(sender, text):
            yield from self.book.shown(entry.place.at(block.pointer), who, text, "input", entry.time)
        else:
            yield from self._say(entry, block._replace(text=text), "C2", sender, (who,), kind="message")

    def _prompt(self, entry: Entry, block: Block, who: str) -> Iterator[Made]:
        call = self.session.makers.get(entry.agent or "")
        sender = self.who(call.entry) if call else None
        prompt = call.block.input.get("prompt") if call and isinstance(call.block.input, dict) else None
        if isinstance(prompt, str) and folded(prompt) == folded(block.text):
            yield from self.book.shown(entry.place.at(block.pointer), who, block.text, "input", entry.time)
        else:
            yield from self._say(entry, block, "C2", sender, (who,), kind="delegation")

    def _call(self, call: Call) -> Iterator[Made]:
        entry, block = call.entry, call.block
        who, given = self.who(entry), block.input if isinstance(block.input, dict) else {}
        if block.name in MAKERS and isinstance(given.get("prompt"), str):
            prompt = block._replace(text=given["prompt"])
            return self._say(entry, prompt, "C2", who, self._child(call, given), kind="delegation", id=block.id)
        if block.name == "SendMessage":
            text = text_of(given.get("content") or given.get("message") or given.get("summary"))
            return self._say(entry, block._replace(text=text), "C2", who, self._mate(call, given), id=block.id)
        if block.name in BOARD_TOOLS:
            return self._say(entry, block, "C5", who, _stored(call, BOARD), kind=block.name, id=block.id)
        if block.name in FILE_TOOLS:
            return self._say(entry, block, "C7", who, _stored(call, FILES), kind=block.name, id=block.id)
        if block.name in ASKING_TOOLS:
            to = undelivered(USER) if _is_unseen(call) else Delivery(USER, "structural")
            return self._say(entry, block, "C1", who, (to,), kind=block.name, id=block.id)
        return self._say(entry, block, "C3", who, _aimed(call, block.name), kind="tool_call", id=block.id)

    def _child(self, call: Call, given: dict[str, object]) -> tuple[Delivery, ...]:
        if call.child:
            return (
                Delivery(self.names[call.child], "structural" if call.child in self.session.threads else "declared"),
            )
        name = name_of(given.get("name")) or name_of(given.get("subagent_type"))
        return _aimed(call, name) if name else ()

    def _mate(self, call: Call, given: dict[str, object]) -> tuple[Delivery, ...]:
        name = name_of(given.get("recipient")) or name_of(given.get("to"))
        return _aimed(call, self.names.get(name, name)) if name and name != "*" else ()

    def _result(self, entry: Entry, block: Block) -> Iterator[Made]:
        call = self.session.calls.get(block.id)
        who, place = self.who(entry), entry.place.at(block.pointer)
        tool = call.block.name if call else None
        if block.images:
            yield self.book.loss(place, "reference", "C4", "images in a tool result")
        denied = call is not None and _is_denied(call)
        if block.failed and not denied:  # what was denied did not run: nothing of it is lost
            yield self.book.loss(place, "failed_call", "C4", "a tool call failed")
        if call and tool in ASKING_TOOLS and not _is_unseen(call):
            yield from self.book.shown(place, who, block.text, "initial", entry.time)
            return
        flags = ("failed",) if block.failed else ()
        channel: Channel = "C5" if tool in BOARD_TOOLS else "C4"
        sender, kind = BOARD if tool in BOARD_TOOLS else tool, "tool_result"
        sender = None if denied else sender
        if call and tool in MAKERS and not entry.asynchronous and not block.failed:
            child = self._child(call, call.block.input if isinstance(call.block.input, dict) else {})
            channel, sender, kind = "C2", child[0].actor if child else None, "answer"
        yield from self.book.event(
            place,
            channel,
            block.text,
            sender=sender,
            to=(who,),
            id=f"{block.id}/result",
            time=entry.time,
            kind=kind,
            flags=flags,  # type: ignore[arg-type]
            sender_kind={"C2": "agent", "C5": "memory"}.get(channel, "tool"),  # type: ignore[arg-type]
            to_kind="agent",
        )

    def _say(
        self,
        entry: Entry,
        block: Block,
        channel: Channel,
        sender: str | None,
        to: tuple[str | Delivery, ...] = (),
        kind: str = "message",
        id: str | None = None,
    ) -> Iterator[Made]:
        lost = any(isinstance(d, Delivery) and not d.delivered for d in to)
        return self.book.event(
            entry.place.at(block.pointer),
            channel,
            block.text,
            sender=sender,
            to=to,
            id=id or (f"{entry.uuid}{block.pointer}" if entry.uuid else None),
            time=entry.time,
            kind=kind,
            flags=("not_delivered",) if lost else (),
        )


def _names(session: Session) -> dict[str, str]:
    """Sub-agents by the names their makers gave them, else by their ids, which are unique within a session only."""
    ids = dict.fromkeys([agent for agent in session.threads if agent] + list(session.makers))
    names: dict[str, str] = {}
    for agent in ids:
        call = session.makers.get(agent)
        given = name_of(call.block.input.get("name")) if call and isinstance(call.block.input, dict) else None
        own = next((e.name for e in session.threads.get(agent, []) if e.name), None)
        name = given or own or (agent if agent.startswith("sidechain-") else f"agent-{agent}")
        names[agent] = name if name not in names.values() else f"agent-{agent}"
    return names


def _closing(thread: list[Entry]) -> Iterator[Block]:
    """Texts after which an agent called no tool any more before its turn ended."""
    waiting: list[Block] = []
    for entry in thread:
        for block in entry.blocks:
            if entry.type == "assistant" and block.kind == "text":
                waiting.append(block)
            elif block.kind == "tool_use":
                waiting = []
            elif entry.type == "user" and block.kind == "text" and not entry.meta:
                yield from waiting
                waiting = []
    yield from waiting


def _messages(text: str) -> Iterator[tuple[str, str]]:
    """Sender and text of what other agents say inside a user line."""
    for found in _TEAMMATE.finditer(text):
        yield found[1], found[2].strip()
    for found in _NOTICE.finditer(text):
        sender = re.search(_FIELD.format("task-id"), found[1], re.DOTALL)
        result = re.search(_FIELD.format("result"), found[1], re.DOTALL)
        if sender and result:
            yield sender[1].strip(), result[1].strip()


def _kind(entry: Entry, text: str) -> SightingKind:
    if entry.compact:
        return "history"
    return "input" if entry.meta or entry.agent or _MACHINE.match(text) else "initial"


def _aimed(call: Call, name: str) -> tuple[Delivery, ...]:
    """A recipient, unless the user or a rule forbade the call."""
    return (undelivered(name),) if _is_denied(call) else (Delivery(name),)


def _stored(call: Call, name: str) -> tuple[Delivery, ...]:
    """A store, unless nothing was put into it."""
    return (undelivered(name),) if call.result and call.result.failed else (Delivery(name),)


def _is_unseen(call: Call) -> bool:
    """Whether a question never came before the user; one who says no has seen it."""
    answer = call.result.text.strip() if call.result else ""
    return _is_denied(call) and not answer.startswith(("The user ", "User rejected", "[Request interrupted"))


def _is_denied(call: Call) -> bool:
    """Whether a person, a rule or a hook kept a call from being made."""
    answer = call.result
    return answer is not None and answer.failed and _DENIED.match(answer.text.strip()) is not None
