"""Threads: whose they are, and the run they make."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from earwitness.ingest.chronicle import name_of
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

    def names(self, tasks: Mapping[str, str | None]) -> dict[str, str]:
        """A name for each thread: nickname, else name of the task, else a part of the id.

        Args:
            tasks: names of tasks by the call that spawned a thread.
        """
        names = {self.id: MAIN}
        for thread in self.threads:
            name = thread.name or tasks.get(thread.spawned_by or "") or f"thread-{thread.id[:8]}"
            if thread.id != self.id:
                names[thread.id] = name if name not in names.values() else f"{name}-{thread.id[:8]}"
        return names


def runs_of(threads: dict[str, Thread]) -> list[Run]:
    """Runs by their first thread, which need not have been read itself."""
    runs: dict[str, Run] = {}
    for thread in threads.values():
        root = root_of(thread, threads)
        runs.setdefault(root, Run(root)).threads.append(thread)
    return list(runs.values())


def root_of(thread: Thread, threads: dict[str, Thread]) -> str:
    """The id of the run that a thread belongs to, as far as `threads` say."""
    if not thread.parent:
        return thread.id
    root, seen = thread.id, set[str]()
    while root not in seen and (found := threads.get(root)) and found.parent:
        seen.add(root)
        root = found.parent
    return root
