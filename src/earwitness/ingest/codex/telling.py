"""What the threads of a run say; a spawned thread is told where it was spawned."""

import re
from collections.abc import Iterator
from typing import Any

from earwitness.ingest.chronicle import USER, Chronicle, folded, name_of, text_of, undelivered
from earwitness.ingest.codex.items import Item, parts_text, without_twins
from earwitness.ingest.codex.threads import MAIN, Run, Thread
from earwitness.ingest.record import Emit, Made, Skip
from earwitness.schema.model import Delivery

FILES = "files"
PLAN = "plan"
CHANGE, SEARCH = "file_change", "web_search"
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
_ROLES = {"user": "initial", "system": "initial", "developer": "initial", "history": "history"}


def tell(run: Run) -> Iterator[Emit]:
    """Everything of a run."""
    teller = _Teller(run)
    first = run.threads[0]
    yield teller.book.head(
        first.place, framework="codex", started_at=min((t.time for t in run.threads if t.time), default=None)
    )
    for thread in run.threads:
        roots = thread.id == run.id or thread.parent not in {t.id for t in run.threads}
        if roots:
            yield from teller.thread(thread)
    for thread in run.threads:  # spawned by a call that was not read
        yield from teller.thread(thread)


class _Teller:
    def __init__(self, run: Run) -> None:
        self.run = run
        self.book = Chronicle(run.id)
        self.names = run.names()
        self.children = {t.spawned_by: t for t in run.threads if t.spawned_by and t.parent}
        self.told: set[str] = set()
        self.calls: dict[str, str] = {}
        items = (item for thread in run.threads for item in thread.items)
        outputs = [item for item in items if item.kind == "output"]
        self.refused = {i.call for i in outputs if i.refused or _REFUSED.match(i.text)}
        self.answered = {i.call for i in outputs}
        self.unwritten = self.refused | {i.call for i in outputs if i.failed or _UNWRITTEN.match(i.text)}

    def thread(self, thread: Thread) -> Iterator[Emit]:
        if thread.id in self.told:
            return
        self.told.add(thread.id)
        who, end = self.names[thread.id], thread.copied()
        aliases = (thread.id,) if who != MAIN else ()
        yield from self.book.actor(thread.place, who, aliases=aliases)
        yield from self.book.shown(thread.place, who, thread.instructions, "initial", thread.time)
        yield from self._history(thread, who, thread.items[:end])
        own = list(without_twins(thread.items[end:]))
        last = _closing([item for item, repeated in own if not repeated])
        for item, repeated in own:
            if repeated:
                yield Skip("duplicate", "an event that repeats a response item", item.place)
            else:
                yield from self._item(thread, who, item, id(item) in last)

    def _history(self, thread: Thread, who: str, items: list[Item]) -> Iterator[Emit]:
        """What a thread was forked from: seen by it, said by others. The spawning call may stand nowhere else."""
        for item in items:
            if item.kind == "call" and item.call == thread.spawned_by and item.call not in self.calls:
                yield from self._call(self.names.get(thread.parent or "", MAIN), item)
            else:
                yield from self.book.shown(item.place, who, item.text, "history", item.time)

    def _item(self, thread: Thread, who: str, item: Item, last: bool) -> Iterator[Emit]:
        if item.kind == "call":
            yield from self._call(who, item)
        elif item.kind == "output":
            yield from self._output(who, item)
        elif item.kind == "assistant":
            yield from self._answer(thread, who, item, last)
        elif item.kind == "reasoning" and item.hidden:
            yield self.book.loss(item.place, "masked", "C6", "reasoning is encrypted")
        elif item.kind in ("reasoning", "error"):
            yield from self.book.event(item.place, "C6", item.text, sender=who, time=item.time, kind=item.kind)
        else:
            yield from self._given(thread, who, item)

    def _given(self, thread: Thread, who: str, item: Item) -> Iterator[Made]:
        kind: Any = _ROLES.get(item.kind, "input")
        copy = thread.parent and self.book.said(self.names.get(thread.parent, MAIN), item.text)
        yield from self.book.shown(item.place, who, item.text, "input" if copy else kind, item.time)

    def _answer(self, thread: Thread, who: str, item: Item, last: bool) -> Iterator[Made]:
        if not last:
            yield from self.book.event(item.place, "C6", item.text, sender=who, time=item.time, kind="message")
        elif thread.parent:
            to = (Delivery(self.names.get(thread.parent, MAIN), "structural"),)
            yield from self.book.event(item.place, "C2", item.text, sender=who, to=to, time=item.time, kind="answer")
        else:
            yield from self.book.event(
                item.place, "C1", item.text, sender=who, to=(USER,), time=item.time, kind="message"
            )

    def _call(self, who: str, item: Item) -> Iterator[Emit]:
        self.calls[item.call] = item.tool
        flags = ("not_delivered",) if item.call in self.refused else ()
        common: dict[str, Any] = {"sender": who, "id": item.call or None, "time": item.time, "flags": flags}
        if item.tool == SPAWN or item.tool in SENDS:
            given = item.arguments
            text = parts_text(given.get("message") or given.get("prompt") or given.get("items")) or item.text
            kind = "delegation" if item.tool == SPAWN else "message"
            yield from self.book.event(item.place, "C2", text, to=self._target(item, given), kind=kind, **common)
        elif item.tool == "apply_patch":
            lost = item.call in self.unwritten
            common |= {"flags": ("not_delivered",) if lost else ()}
            files = (undelivered(FILES) if lost else Delivery(FILES),)
            yield from self.book.event(item.place, "C7", item.text, to=files, kind=item.tool, **common)
        elif item.tool == CHANGE:
            yield self.book.loss(item.place, "reference", "C7", "files that were changed are named, not shown")
            lost = item.call in self.unwritten
            common |= {"flags": ("not_delivered",) if lost else ("reference",)}
            files = (undelivered(FILES) if lost else Delivery(FILES),)
            yield from self.book.event(item.place, "C7", item.text, to=files, kind=item.tool, **common)
        elif item.tool in ASKS and item.call not in self.refused:
            user = (Delivery(USER, "structural"),)
            yield from self.book.event(item.place, "C1", item.text, to=user, kind=item.tool, **common)
        elif item.tool == "update_plan":
            yield from self.book.event(item.place, "C5", item.text, to=self._to(item, PLAN), kind=item.tool, **common)
        else:
            to = self._to(item, item.tool)
            yield from self.book.event(item.place, "C3", item.text, to=to, kind="tool_call", **common)
            if item.tool == SEARCH and item.call not in self.answered:
                yield self.book.loss(item.place, "content_missing", "C4", "what a search found is not recorded")
        if item.call in self.children:
            yield from self.thread(self.children[item.call])

    def _to(self, item: Item, name: str) -> tuple[Delivery, ...]:
        return (undelivered(name) if item.call in self.refused else Delivery(name),)

    def _target(self, item: Item, given: dict[str, Any]) -> tuple[Delivery, ...]:
        child = self.children.get(item.call)
        if child:
            return (Delivery(self.names[child.id], "structural"),)
        keys = ("target", "id", "agent_id", "to", "task_name", "name", "agent_type")
        name = next((n for n in (name_of(given.get(k)) for k in keys) if n), None)
        return self._to(item, self.names.get(name, name)) if name else ()

    def _output(self, who: str, item: Item) -> Iterator[Made]:
        tool = self.calls.get(item.call)
        refused = item.call in self.refused
        if item.failed and not refused:  # what was refused did not run: nothing of it is lost
            yield self.book.loss(item.place, "failed_call", "C4", "a tool call failed")
        if tool in ASKS and not refused:  # the user's words
            yield from self.book.shown(item.place, who, item.text, "initial", item.time)
            return
        if tool in WAITS and self._is_answer(item):
            yield from self.book.shown(item.place, who, item.text, "result", item.time)
            return
        yield from self.book.event(
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
        text = folded(item.text)
        answers = (i.text for t in self.run.threads if t.parent for i in t.items if i.kind == "assistant")
        return any(folded(text_of(a))[:200] in text for a in answers if a.strip())


def _closing(items: list[Item]) -> set[int]:
    """Answers after which no tool was called before the turn ended."""
    waiting: list[Item] = []
    closing: set[int] = set()
    for item in items:
        if item.kind == "assistant":
            waiting.append(item)
        elif item.kind == "call":
            waiting = []
        elif item.kind == "user":
            closing |= {id(i) for i in waiting}
            waiting = []
    return closing | {id(i) for i in waiting}
