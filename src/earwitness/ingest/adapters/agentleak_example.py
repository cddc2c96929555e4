"""AgentLeak example traces: hand-written runs of the AgentLeak platform, one object a run.

Written by the AgentLeak authors (`examples/traces/*.json`): `run_id`, `agent_name`, `events` with a named channel, a
source and a target. Whether a file is meant to leak stands in its name only, so there are no labels.

Cannot show: what a model was shown, artifacts, times of single events.

Obtained by: the repository of AgentLeak (`examples/traces/`).
Versions tried: yagobski/agentleak at commit 26d16d6.
Order: position in the list; no times.
"""

from typing import Any

from earwitness.ingest.record import Context, Place
from earwitness.ingest.script import Script, WholeRuns, is_name
from earwitness.schema.words import ActorKind, Channel

_CHANNELS: dict[str, Channel] = {
    "tool_call": "C3",
    "tool_response": "C4",
    "shared_memory": "C5",
    "inter_agent_message": "C2",
    "log": "C6",
    "final_output": "C1",
    "artifact": "C7",
}
_SENDERS: dict[str, ActorKind] = {"tool_response": "tool"}
_TARGETS: dict[str, ActorKind] = {
    "tool_call": "tool",
    "shared_memory": "memory",
    "log": "log",
    "final_output": "user",
    "artifact": "artifact_store",
}
_KNOWN: dict[str, ActorKind] = {"memory": "memory", "user": "user", "framework": "log"}


class _AgentLeakExample:
    NAME = "agentleak-example"
    TITLE = "AgentLeak example trace"
    PRIORITY = 30

    def sniff(self, value: Any) -> bool:
        return (
            isinstance(value, dict)
            and "run_id" in value
            and "agent_name" in value
            and isinstance(value.get("events"), list)
        )

    def open(self, context: Context) -> WholeRuns:
        return WholeRuns(context, "an AgentLeak example", _tell)


def _tell(run: dict[str, Any], place: Place, name: str) -> Script:
    script = Script(str(run["run_id"]), place)
    script.head(
        "agentleak",
        scenario=run.get("scenario_id"),
        started_at=run.get("timestamp"),
        observable=("C1", "C2", "C3", "C4", "C5", "C6"),
        attributes={"agent_name": run["agent_name"]},
    )
    for n, event in enumerate(run["events"]):
        _step(script, event, f"/events/{n}")
    return script


def _step(script: Script, event: dict[str, Any], pointer: str) -> None:
    kind, source, target = event["channel"], event.get("source"), event.get("target")
    at = f"{pointer}/content"
    if kind == "user_input":
        script.actor(source, "user")
        script.actor(target)
        script.sighting(event["content"], at, actor=target if is_name(target) else None)
        return
    if kind not in _CHANNELS:
        raise ValueError(kind)
    script.actor(source, _KNOWN.get(str(source), _SENDERS.get(kind, "agent")))
    script.actor(target, _KNOWN.get(str(target), _TARGETS.get(kind, "agent")))
    to = (str(target),) if is_name(target) else ()
    script.event(_CHANNELS[kind], event["content"], at, sender=source, to=to, id=event.get("event_id"), kind=kind)


ADAPTER = _AgentLeakExample()
