"""Threads: whose they are, what of a file is a copy of the parent's history, and the run they make."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from earwitness.ingest.chronicle import name_of
from earwitness.ingest.codex.items import Item
from earwitness.ingest.record import Place

MAIN = "main"


@dataclass(eq=False)
class Thread:
    """One rollout."""

    id: str
    place: Place
    time: str | None = None
    parent: str | None = None
    spawned_by: str | None = None
    name: str | None = None
    instructions: str = ""
    shelved: list[tuple[tuple[int, int], Place]] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)

    def copied(self) -> int:
        """How many of the first items are a copy of the parent's history.

        A sub-agent's rollout begins with what its parent said so far: up to the call that spawned it, with times
        before its own start.
        """
        if self.parent is None:
            return 0
        spawn = [n for n, i in enumerate(self.items) if i.kind == "call" and i.call == self.spawned_by]
        early = [n for n, i in enumerate(self.items) if i.time and self.time and i.time < self.time]
        end = max([*spawn, *early], default=-1) + 1
        while end < len(self.items) and self.items[end].kind == "output" and self.items[end].call == self.spawned_by:
            end += 1
        return end


def thread_of(payload: dict[str, Any], place: Place, fallback: str) -> Thread:
    """The thread that a `session_meta` begins."""
    spawn = _spawn(payload)
    instructions = payload.get("instructions") or payload.get("base_instructions")
    if isinstance(instructions, dict):
        instructions = instructions.get("text")
    return Thread(
        id=name_of(payload.get("id")) or fallback,
        place=place,
        time=payload.get("timestamp") if isinstance(payload.get("timestamp"), str) else None,
        parent=name_of(spawn.get("parent_thread_id")) or name_of(payload.get("parent_thread_id")),
        spawned_by=name_of(spawn.get("spawn_call_id")),
        name=name_of(spawn.get("agent_nickname")) or name_of(payload.get("agent_nickname")),
        instructions=instructions if isinstance(instructions, str) else "",
    )


def _spawn(payload: dict[str, Any]) -> dict[str, Any]:
    found: Any = payload.get("source")
    for key in ("subagent", "thread_spawn"):
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


@dataclass
class Run:
    """Threads that spawned one another."""

    id: str
    threads: list[Thread] = field(default_factory=list)

    def places(self) -> Iterator[Place]:
        """Where all that it holds stands."""
        for thread in self.threads:
            yield thread.place
            yield from (place for _, place in thread.shelved)

    def names(self) -> dict[str, str]:
        """A name for each thread: nickname, else name of the task, else a part of the id."""
        names = {self.id: MAIN}
        for thread in self.threads:
            name = thread.name or self._task(thread) or f"thread-{thread.id[:8]}"
            if thread.id != self.id:
                names[thread.id] = name if name not in names.values() else f"{name}-{thread.id[:8]}"
        return names

    def _task(self, thread: Thread) -> str | None:
        calls = (i for t in self.threads for i in t.items if i.kind == "call" and i.call == thread.spawned_by)
        given = next((given for i in calls if (given := i.arguments)), {})
        return name_of(given.get("task_name")) or name_of(given.get("name"))


def runs_of(threads: list[Thread]) -> list[Run]:
    """Runs by their first thread, which need not have been read itself."""
    parents = {t.id: t.parent for t in threads}
    runs: dict[str, Run] = {}
    for thread in threads:
        root, seen = thread.id, set[str]()
        while root not in seen and (parent := parents.get(root)):
            seen.add(root)
            root = parent
        runs.setdefault(root, Run(root)).threads.append(thread)
    return list(runs.values())
