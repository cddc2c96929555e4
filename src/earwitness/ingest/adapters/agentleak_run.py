"""AgentLeak runs: one JSON object a run, holding a multi-agent arm, a single-agent arm, or a tool run.

`channel_messages` are the events. `llm_calls` are sightings: the system prompt is what an actor was given
to start with, the user prompt what it was shown, the response a copy of the message it became. Vault and
allowed set become values and rules of the trace. A failed call is a loss, and its message is `failed`:
nothing of a model was observed. The labels in the file go to `labels`, which detection never reads.

Obtained by: runs of AgentLeak's own evaluation.
Versions tried: Privatris/AgentLeak at commit 6729179.
Order: position in the list; no times.
"""

from collections.abc import Iterator
from typing import Any

from earwitness.ingest.record import Context
from earwitness.ingest.whole import WholeReader
from earwitness.schema.model import Actor, Event, Item, Label, Loss, Rule, Sighting, Trace, Value
from earwitness.schema.words import CHANNELS, ActorKind, Channel, Effect, SightingKind

_SINGLE = "single_agent"
_KINDS: dict[str, ActorKind] = {
    "user": "user",
    "memory": "memory",
    "tool_api": "tool",
    "log_file": "log",
    "infrastructure": "tool",
}
_EFFECTS: tuple[tuple[Effect, str], ...] = (("allow", "fields"), ("sanitize", "forbidden_fields"))
_SHOWN: tuple[tuple[SightingKind, str], ...] = (("initial", "system_prompt"), ("input", "user_prompt"))
_OBSERVABLE: dict[str, tuple[Channel, ...]] = {
    "single": ("C1",),
    "multi": ("C1", "C2", "C5"),
    "tool": ("C1", "C3", "C6"),
}


class _AgentLeakRun:
    NAME = "agentleak-run"
    TITLE = "AgentLeak run"

    def sniff(self, value: Any) -> bool:
        return (
            isinstance(value, dict)
            and "channel_messages" in value
            and isinstance(value.get("input"), dict)
            and "trace_id" in value
        )

    def open(self, context: Context) -> WholeReader:
        return WholeReader(context, "AgentLeak run", "trace_id", _run)


_Found = Iterator[tuple[Item, str]]


def _run(run: dict[str, Any]) -> _Found:
    calls = run.get("llm_calls") or []
    arms: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for n, message in enumerate(_attributed(run["channel_messages"])):
        arms.setdefault(_arm(message, run), []).append((n, message))
    callers = {
        m["llm_call_id"]: (arm, m["source"])
        for arm, ms in reversed(arms.items())
        for _, m in reversed(ms)
        if m.get("llm_call_id")
    }
    for arm, messages in arms.items():
        mine = [
            (n, c, callers[c["call_id"]][1]) for n, c in enumerate(calls) if callers.get(c["call_id"], ("",))[0] == arm
        ]
        yield from _arm_of_run(run, arm, messages, mine)


def _attributed(messages: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Messages with the call they were made from; a message that names none comes from its source's last call."""
    last: dict[str, Any] = {}
    for message in messages:
        call = message.get("llm_call_id") or last.get(message["source"])
        last[message["source"]] = call
        yield {**message, "llm_call_id": call}


def _arm(message: dict[str, Any], run: dict[str, Any]) -> str:
    if message["source"] == _SINGLE:
        return "single"
    return "multi" if any(m["channel"] == "C2" for m in run["channel_messages"]) else "tool"


def _arm_of_run(
    run: dict[str, Any],
    arm: str,
    messages: list[tuple[int, dict[str, Any]]],
    calls: list[tuple[int, dict[str, Any], str]],
) -> _Found:
    trace = f"{run['trace_id']}/{arm}"
    yield from _head(run, arm, trace)
    yield from ((actor, "") for actor in _actors(trace, messages))
    yield from _steps(trace, messages, calls)
    labelled = [(n, m) for n, m in messages if "leaked_fields" in m]
    yield from (
        (Label(trace=trace, event=f"m{n}", leaked=tuple(m["leaked_fields"])), f"/channel_messages/{n}")
        for n, m in labelled
    )


def _head(run: dict[str, Any], arm: str, trace: str) -> _Found:
    given = run["input"]
    yield (
        Trace(
            id=trace,
            framework="agentleak",
            scenario=run.get("scenario_id"),
            domain=run.get("vertical"),
            model=run.get("model"),
            arm=arm,
            topology="CW-2" if arm == "multi" else None,
            started_at=run.get("timestamp"),
            request=given.get("request"),
            observable=_OBSERVABLE[arm],
            attributes={"attack_family": run.get("attack_family"), "run": run["trace_id"]},
        ),
        "",
    )
    for attribute, value in (given.get("vault") or {}).items():
        if str(value):
            yield Value(trace=trace, attribute=attribute, value=str(value)), f"/input/vault/{attribute}"
    allowed = given.get("allowed_set") or {}
    for effect, key in _EFFECTS:
        if allowed.get(key):
            pointer = f"/input/allowed_set/{key}"
            yield Rule(id=f"allowed_set.{key}", effect=effect, trace=trace, attributes=tuple(allowed[key])), pointer


def _actors(trace: str, messages: list[tuple[int, dict[str, Any]]]) -> Iterator[Actor]:
    for name in dict.fromkeys(name for _, m in messages for name in (m["source"], m["target"])):
        kind = _KINDS.get(name, "agent")
        # The benchmark fixes its agents: every agent of a run is one of the scenario's own.
        yield Actor(
            trace=trace,
            name=name,
            kind=kind,
            position="original" if kind == "agent" else "unknown",
            evidence="declared",
        )


def _steps(
    trace: str, messages: list[tuple[int, dict[str, Any]]], calls: list[tuple[int, dict[str, Any], str]]
) -> _Found:
    """Each call, then the messages made from it; messages that name no call keep their order."""
    failed = {c["call_id"] for _, c, _ in calls if c.get("error")}
    waiting, seq = list(messages), 0
    for n, call, actor in calls:
        for sighting, pointer in _shown(trace, call, actor, n, seq):
            yield sighting, pointer
            seq += 1
        due = next(
            (i + 1 for i in reversed(range(len(waiting))) if waiting[i][1].get("llm_call_id") == call["call_id"]), 0
        )
        for index, message in waiting[:due]:
            yield from _message(trace, message, index, seq, failed)
            seq += 1
        waiting = waiting[due:]
        if call.get("error") and not due:
            yield Loss(trace=trace, kind="failed_call", detail=f"model call by {actor}"), f"/llm_calls/{n}"
    for index, message in waiting:
        yield from _message(trace, message, index, seq, failed)
        seq += 1


def _shown(trace: str, call: dict[str, Any], actor: str, n: int, seq: int) -> _Found:
    for kind, key in _SHOWN:
        if call.get(key):
            sighting = Sighting(
                trace=trace, actor=actor, kind=kind, content=call[key], seq=seq, time=call.get("timestamp")
            )
            yield sighting, f"/llm_calls/{n}/{key}"
    if call.get("response") and not call.get("error"):
        yield (
            Sighting(trace=trace, actor=actor, kind="response", content=call["response"], seq=seq),
            f"/llm_calls/{n}/response",
        )


def _message(trace: str, message: dict[str, Any], n: int, seq: int, failed: set[str]) -> _Found:
    channel = message["channel"]
    if channel not in CHANNELS:
        raise ValueError(channel)
    broken = message.get("llm_call_id") in failed
    yield (
        Event(
            trace=trace,
            id=f"m{n}",
            seq=seq,
            channel=channel,
            kind="message",
            sender=message["source"],
            to=(message["target"],),
            content=message["content"],
            flags=("failed",) if broken else (),
        ),
        f"/channel_messages/{n}",
    )
    if broken:
        yield (
            Loss(trace=trace, kind="failed_call", channel=channel, detail="message of a failed model call"),
            f"/channel_messages/{n}",
        )


ADAPTER = _AgentLeakRun()
