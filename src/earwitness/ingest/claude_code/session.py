"""A session put together: threads, order, calls with their results, and who made which sub-agent."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from earwitness.ingest.chronicle import folded
from earwitness.ingest.claude_code.entries import Block, Entry, entry_of
from earwitness.ingest.record import Place, Record

MAKERS = ("Task", "Agent")


class Aside(NamedTuple):
    """What a session holds beside its messages."""

    kind: str
    text: str
    place: Place
    agent: str | None = None
    time: str | None = None


@dataclass(eq=False)
class Call:
    """A tool use, and the result when it came."""

    entry: Entry
    block: Block
    result: Block | None = None
    result_entry: Entry | None = None
    child: str | None = None


@dataclass
class Session:
    """Lines of one session, from all of its files."""

    id: str
    entries: list[Entry] = field(default_factory=list)
    threads: dict[str | None, list[Entry]] = field(default_factory=dict)
    asides: list[Aside] = field(default_factory=list)
    made_by: dict[str, str] = field(default_factory=dict)
    roles: dict[str, str] = field(default_factory=dict)
    calls: dict[str, Call] = field(default_factory=dict)
    makers: dict[str, Call] = field(default_factory=dict)

    def take(self, record: Record) -> tuple[()]:
        """What was kept of a line: that of a message, of what made a sub-agent, or of something beside the talk."""
        (kind, *kept), place = record
        if kind == "line":
            self.entries.append(entry := entry_of(kept, place))
            if entry.agent and entry.maker:
                self.made_by[entry.agent] = entry.maker
        elif kind == "maker":
            agent, call, role = kept
            self.made_by[agent], self.roles[agent] = call, role
        else:
            text, agent, time = kept
            self.asides.append(Aside(kind, text, place, agent, time))
        return ()

    def settle(self) -> None:
        """Find out what single lines do not say."""
        _carry_times(self.entries)
        _name_sidechains(self.entries)
        self._pair()
        self._link()
        self.entries = list(_ordered(self.entries))
        for entry in self.entries:
            self.threads.setdefault(entry.agent, []).append(entry)

    def _pair(self) -> None:
        for entry in self.entries:
            for block in entry.blocks:
                if block.kind == "tool_use":
                    self.calls.setdefault(block.id, Call(entry, block))
        for entry in self.entries:
            for block in entry.blocks:
                call = self.calls.get(block.id) if block.kind == "tool_result" else None
                if call and call.result is None:
                    call.result, call.result_entry = block, entry

    def _link(self) -> None:
        """Which call made which sub-agent: as files say, as results say, then by equal prompts."""
        threads: dict[str, list[Entry]] = {}
        for entry in self.entries:
            if entry.agent:
                threads.setdefault(entry.agent, []).append(entry)
        for agent, call_id in self.made_by.items():
            self._make(agent, self.calls.get(call_id), threads)
        for call in self.calls.values():
            if call.block.name in MAKERS and call.result and call.result_entry:
                self._make(call.result.agent or call.result_entry.about, call, threads)
        for agent, entries in threads.items():
            if agent not in self.makers:
                self._make(agent, self._by_prompt(entries[0]), threads)

    def _make(self, agent: str | None, call: Call | None, threads: dict[str, list[Entry]]) -> None:
        if not agent or not call or agent in self.makers or call.child:
            return
        self.makers[agent], call.child = call, agent
        for entry in threads.get(agent, []):
            entry.after.append(call.entry)
            if call.result_entry and not call.result_entry.asynchronous:
                call.result_entry.after.append(entry)

    def _by_prompt(self, first: Entry) -> Call | None:
        prompt = folded("\n".join(b.text for b in first.blocks)) if first.type == "user" else ""
        calls = [c for c in self.calls.values() if c.block.name in MAKERS and not c.child]
        found = [c for c in calls if isinstance(c.block.input, dict) and prompt]
        return next((c for c in found if folded(str(c.block.input.get("prompt"))) == prompt), None)


def _carry_times(entries: list[Entry]) -> None:
    """A line without time stands where its file has it."""
    last: dict[int, str | None] = {}
    for entry in entries:
        entry.time = entry.time or last.get(entry.place.source)
        last[entry.place.source] = entry.time


def _name_sidechains(entries: list[Entry]) -> None:
    """Older versions write the id of a sub-agent on some of its lines only."""
    side = [e for e in entries if e.sidechain]
    by_id = {e.uuid: e for e in entries} if side else {}
    roots = {e.uuid: _root(e, by_id) for e in side}
    names = {roots[e.uuid]: e.agent for e in side if e.agent}
    known = sorted({e.agent for e in side if e.agent})
    for entry in side:
        root = roots[entry.uuid]
        entry.agent = (
            entry.agent or names.get(root) or (known[0] if len(known) == 1 else f"sidechain-{root[:8]}".rstrip("-"))
        )


def _root(entry: Entry, by_id: dict[str, Entry]) -> str:
    seen = {entry.uuid}
    while entry.parent in by_id and by_id[entry.parent].sidechain and entry.parent not in seen:
        entry = by_id[entry.parent]
        seen.add(entry.uuid)
    return entry.uuid


def _ordered(entries: list[Entry]) -> Iterator[Entry]:
    """By time, but nothing before what it follows from; loops are cut where they close."""
    by_id = {e.uuid: e for e in reversed(entries) if e.uuid}
    done: set[int] = set()
    for start in sorted(entries, key=lambda e: (e.time or "", e.place.source, e.place.line)):
        stack = [(start, False)]
        while stack:
            entry, ready = stack.pop()
            if ready:
                yield entry
            elif id(entry) not in done:
                done.add(id(entry))
                before = [by_id[entry.parent], *entry.after] if entry.parent in by_id else entry.after
                waits = [(e, False) for e in reversed(before) if id(e) not in done]
                if waits:
                    stack += [(entry, True), *waits]
                else:
                    yield entry
