"""What the threads of a run say; a spawned thread is told where it was spawned."""

import re
from array import array
from collections.abc import Iterable, Iterator
from itertools import count
from sys import intern
from typing import Any

from earwitness.ingest.boundary import singly
from earwitness.ingest.chronicle import USER, Chronicle, folded, name_of, undelivered
from earwitness.ingest.codex.items import Item, parts_text
from earwitness.ingest.codex.survey import CLOSING, REPEATED, Records, Survey, answers, is_short
from earwitness.ingest.codex.threads import MAIN, Run, Thread
from earwitness.ingest.codex.twins import repeated
from earwitness.ingest.record import Emit, Made, Record, Skip
from earwitness.ingest.runlog import RunLog
from earwitness.ingest.shelf import Tape
from earwitness.schema.model import Delivery
from earwitness.schema.words import Channel, Flag

FILES = "files"
PLAN = "plan"
PLAN_TOOL = "update_plan"
PATCH, CHANGE, SEARCH = "apply_patch", "file_change", "web_search"
_OF_CALLS = ("call", "output")
_WRITES = (PATCH, CHANGE)
SPAWN = "spawn_agent"
SENDS = ("send_input", "send_message", "followup_task", "assign_task")
WAITS = ("wait", "wait_agent", "close_agent")
# What is given back in place of a result where a person, a rule, a hook or a reviewer forbade the call, or there is no
# such tool: nothing was run.
_REFUSED = re.compile(
    r"(?:exec command|patch) rejected(?: by user|: )|`[^\n]*` rejected: |exec_command failed for .*Rejected\("
    r"|approval policy is .{1,80}; reject command|approval required by policy, but |user (?:rejected|cancelled) MCP"
    r"|This action was rejected due to unacceptable risk|Command blocked by PreToolUse hook|unsupported call: ",
    re.DOTALL,
)
# What is given back where a patch did not fit: no file was written.
_UNWRITTEN = re.compile(r"apply_patch verification failed")
ASKS = ("request_user_input",)
# So much of an answer tells it from others.
_ENOUGH = 200
_NAME = "codex"
_ROLES = {"user": "initial", "system": "initial", "developer": "initial", "history": "history"}


def tell(run: Run, log: RunLog) -> Iterator[Emit]:
    """Everything of a run.

    Args:
        run: the run.
        log: where its records lie, by thread.
    """
    teller = _Teller(run, log)
    first = run.threads[0]
    yield teller.book.head(
        first.place, framework="codex", started_at=min((t.time for t in run.threads if t.time), default=None)
    )
    known = {t.id for t in run.threads}
    for thread in run.threads:
        if thread.id == run.id or thread.parent not in known:
            yield from teller.thread(thread)
    for thread in run.threads:  # spawned by a call that was not read
        yield from teller.thread(thread)


class _Calls:
    """What is known of the calls of a run before it is told: which were forbidden, which failed, and so on.

    Args:
        threads: of the run.
    """

    def __init__(self, threads: list[Thread]) -> None:
        self.refused, self.unwritten = set[str](), set[str]()
        self.tasks: dict[str, str | None] = {}
        self._spawns = {t.spawned_by for t in threads}
        self._searches, self._answered = set[int](), array("q")

    def note(self, item: Item) -> None:
        """Take a call or an output."""
        call = item.call
        if item.kind == "output":
            self._answered.append(hash(call))
            if item.refused or _REFUSED.match(item.text):
                self.refused.add(call)
                self.unwritten.add(call)
            elif item.failed or _UNWRITTEN.match(item.text):
                self.unwritten.add(call)
        elif item.kind == "call":
            if item.tool == SEARCH:
                self._searches.add(hash(call))
            if call in self._spawns and call not in self.tasks and (given := item.arguments):
                self.tasks[call] = name_of(given.get("task_name")) or name_of(given.get("name"))

    def unanswered(self) -> set[int]:
        """Searches of which nothing came back."""
        return self._searches.difference(self._answered)


class _Teller:
    def __init__(self, run: Run, log: RunLog) -> None:
        self.run = run
        self.book = Chronicle(run.id)
        self.known = _Calls(run.threads)
        keep = is_short(log, run.threads)
        self.surveys = {t.id: self._survey(t, Records(log, t.id, keep=keep)) for t in run.threads}
        self.refused, self.unwritten = self.known.refused, self.known.unwritten
        self.unanswered = self.known.unanswered()
        self.names = run.names(self.known.tasks)
        self.children = {t.spawned_by: t for t in run.threads if t.spawned_by and t.parent}
        self.told: set[str] = set()
        self.calls: dict[int, str] = {}  # tools, by numbers for calls
        self.answers: Tape[str] | None = None  # how those of spawned threads begin
        self.spawned: Thread | None = None  # by the record that was told last

    def _survey(self, thread: Thread, records: Records) -> Survey:
        survey = Survey(thread, records)

        numbers = count()

        def note(record: Record) -> Iterable[Emit]:
            n = next(numbers)
            for item in records.items(n, record):
                survey.note(n, item)
                if item.kind in _OF_CALLS:
                    self.known.note(item)
            return ()

        for _ in singly(note, records, _NAME):
            """One over which it stumbles says nothing here; who tells it stumbles, too."""
        return survey

    def thread(self, thread: Thread) -> Iterator[Emit]:
        if thread.id in self.told:
            return
        self.told.add(thread.id)
        who, survey = self.names[thread.id], self.surveys[thread.id]
        aliases = (thread.id,) if who != MAIN else ()
        yield from self.book.actor(thread.place, who, aliases=aliases)
        yield from self.book.shown(thread.place, who, thread.instructions, "initial", thread.time)
        marks, records, numbers = survey.marks(repeated(survey)), iter(survey.records), count()

        def told(record: Record) -> Iterable[Emit]:
            n = next(numbers)
            items = survey.records.items(n, record)
            if n < survey.copied:
                return [emit for item in items for emit in self._copied(thread, who, item)]
            if len(items) == 1:
                return self._item(thread, who, items[0], marks[n])
            return [emit for item in items for emit in self._item(thread, who, item, marks[n])]

        while True:
            yield from singly(told, self._up_to_spawn(records), _NAME)
            if self.spawned is None:
                return
            child, self.spawned = self.spawned, None
            yield from self.thread(child)

    def _up_to_spawn(self, records: Iterator[Record]) -> Iterator[Record]:
        for record in records:
            yield record
            if self.spawned is not None:
                return

    def _copied(self, thread: Thread, who: str, item: Item) -> Iterable[Emit]:
        """What a thread was forked from: seen by it, said by others. The spawning call may stand nowhere else."""
        if item.kind == "call" and item.call == thread.spawned_by and hash(item.call) not in self.calls:
            return self._call(self.names.get(thread.parent or "", MAIN), item)
        return self.book.shown(item.place, who, item.text, "history", item.time)

    def _item(self, thread: Thread, who: str, item: Item, mark: int) -> Iterable[Emit]:
        if mark == REPEATED:
            return (Skip("duplicate", "an event that repeats a response item", item.place),)
        kind = item.kind
        if kind == "call":
            return self._call(who, item)
        if kind == "output":
            return self._output(who, item)
        if kind == "assistant":
            return self._answer(thread, who, item, mark == CLOSING)
        if kind == "reasoning" and item.hidden:
            return (self.book.loss(item.place, "masked", "C6", "reasoning is encrypted"),)
        if kind in ("reasoning", "error"):
            return self.book.event(item.place, "C6", item.text, sender=who, time=item.time, kind=kind)
        return self._given(thread, who, item)

    def _given(self, thread: Thread, who: str, item: Item) -> Iterator[Made]:
        kind: Any = _ROLES.get(item.kind, "input")
        copy = thread.parent and self.book.said(self.names.get(thread.parent, MAIN), item.text)
        return self.book.shown(item.place, who, item.text, "input" if copy else kind, item.time)

    def _answer(self, thread: Thread, who: str, item: Item, last: bool) -> Iterator[Made]:
        place, text, time = item.place, item.text, item.time
        if not last:
            return self.book.event(place, "C6", text, sender=who, time=time, kind="message")
        if thread.parent:
            to = (Delivery(self.names.get(thread.parent, MAIN), "structural"),)
            return self.book.event(place, "C2", text, sender=who, to=to, time=time, kind="answer")
        return self.book.event(place, "C1", text, sender=who, to=(USER,), time=time, kind="message")

    def _call(self, who: str, item: Item) -> Iterable[Emit]:
        tool, call = item.tool, item.call
        self.calls[hash(call)] = intern(tool)
        self.spawned = self.children.get(call)
        if tool == SPAWN or tool in SENDS:
            return self._sent(who, item)
        if tool in _WRITES:
            return self._written(who, item)
        channel: Channel = "C3"
        kind, to = "tool_call", self._to(item, tool)
        if tool in ASKS and call not in self.refused:
            channel, kind, to = "C1", tool, (Delivery(USER, "structural"),)
        elif tool == PLAN_TOOL:
            channel, kind, to = "C5", tool, self._to(item, PLAN)
        told = self._made(who, item, channel, item.text, to, kind, self._flags(item))
        if tool == SEARCH and hash(call) in self.unanswered:
            return (*told, self.book.loss(item.place, "content_missing", "C4", "what a search found is not recorded"))
        return told

    def _made(
        self,
        who: str,
        item: Item,
        channel: Channel,
        text: str,
        to: tuple[Delivery, ...],
        kind: str,
        flags: tuple[Flag, ...],
    ) -> Iterator[Made]:
        return self.book.event(
            item.place, channel, text, sender=who, to=to, id=item.call or None, time=item.time, kind=kind, flags=flags
        )

    def _flags(self, item: Item) -> tuple[Flag, ...]:
        return ("not_delivered",) if item.call in self.refused else ()

    def _sent(self, who: str, item: Item) -> Iterator[Made]:
        """What another thread was told."""
        given = item.arguments
        text = parts_text(given.get("message") or given.get("prompt") or given.get("items")) or item.text
        kind = "delegation" if item.tool == SPAWN else "message"
        return self._made(who, item, "C2", text, self._target(item, given), kind, self._flags(item))

    def _written(self, who: str, item: Item) -> Iterator[Made]:
        """Files, where nothing forbade it and the patch fitted."""
        named = item.tool == CHANGE
        if named:
            yield self.book.loss(item.place, "reference", "C7", "files that were changed are named, not shown")
        lost = item.call in self.unwritten
        flags: tuple[Flag, ...] = ("not_delivered",) if lost else ("reference",) if named else ()
        to = (undelivered(FILES) if lost else Delivery(FILES),)
        yield from self._made(who, item, "C7", item.text, to, item.tool, flags)

    def _to(self, item: Item, name: str) -> tuple[Delivery, ...]:
        return (undelivered(name) if item.call in self.refused else Delivery(name),)

    def _target(self, item: Item, given: dict[str, Any]) -> tuple[Delivery, ...]:
        child = self.children.get(item.call)
        if child:
            return (Delivery(self.names[child.id], "structural"),)
        keys = ("target", "id", "agent_id", "to", "task_name", "name", "agent_type")
        name = next((n for n in (name_of(given.get(k)) for k in keys) if n), None)
        return self._to(item, self.names.get(name, name)) if name else ()

    def _output(self, who: str, item: Item) -> Iterable[Made]:
        tool = self.calls.get(hash(item.call))
        refused = item.call in self.refused
        told = self._back(who, item, tool, refused)
        if item.failed and not refused:  # what was refused did not run: nothing of it is lost
            return (self.book.loss(item.place, "failed_call", "C4", "a tool call failed"), *told)
        return told

    def _back(self, who: str, item: Item, tool: str | None, refused: bool) -> Iterator[Made]:
        """What came back of a call."""
        if tool in ASKS and not refused:  # the user's words
            return self.book.shown(item.place, who, item.text, "initial", item.time)
        if tool in WAITS and self._is_answer(item):
            return self.book.shown(item.place, who, item.text, "result", item.time)
        return self.book.event(
            item.place,
            "C4",
            item.text,
            sender=None if refused else tool,
            to=(who,),
            id=f"{item.call}/result",
            time=item.time,
            kind="tool_result",
            flags=("failed",) if item.failed else (),
            sender_kind="tool",
        )

    def _is_answer(self, item: Item) -> bool:
        """Whether a wait gave what a spawned thread said last, which was told there."""
        if self.answers is None:
            self.answers = Tape[str]()
            texts = (text for t in self.run.threads if t.parent for text in answers(self.surveys[t.id]))
            for text in filter(str.strip, texts):
                self.answers.append(folded(text)[:_ENOUGH], _ENOUGH)
        text = folded(item.text)
        return any(answer in text for answer in self.answers)
