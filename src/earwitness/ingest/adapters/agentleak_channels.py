"""AgentLeak internal-channel lines: one message between agents and one memory write a scenario.

Written by the AgentLeak authors (`traces_internal_channels.jsonl`): `channel_c2` and `channel_c5`, each with the values
that stand in it (`pii_exposed`), which become values `pii_<n>` of the run and labels of the two events.

Cannot show: everything but C2 and C5; order and times.

Obtained by: the repository of AgentLeak (`traces_internal_channels.jsonl`).
Versions tried: Privatris/AgentLeak at commit 6729179.
Order: none recorded: the message first, then the write.
"""

from typing import Any

from earwitness.ingest.record import Context, Place
from earwitness.ingest.script import Script, WholeRuns, text
from earwitness.schema.model import Label, Value


class _AgentLeakChannels:
    NAME = "agentleak-channels"
    TITLE = "AgentLeak internal channels"
    PRIORITY = 30

    def sniff(self, value: Any) -> bool:
        return isinstance(value, dict) and "scenario_id" in value and ("channel_c2" in value or "channel_c5" in value)

    def open(self, context: Context) -> WholeRuns:
        return WholeRuns(context, "an AgentLeak line of internal channels", _tell)


def _tell(line: dict[str, Any], place: Place, name: str) -> Script:
    script = Script(line["scenario_id"], place)
    framework = line.get("framework")
    script.head(framework, scenario=line["scenario_id"], observable=("C2", "C5"))
    for agent in line.get("agents") or []:
        script.actor(agent)
    parts = [(key, line[key]) for key in ("channel_c2", "channel_c5") if line.get(key)]
    exposed = list(dict.fromkeys(text(v) for _, part in parts for v in part.get("pii_exposed") or []))
    for n, value in enumerate(exposed):
        script.put(Value(attribute=f"pii_{n}", value=value, trace=script.trace))
    for key, part in parts:
        event = _message(script, part) if key == "channel_c2" else _write(script, part)
        leaked = tuple(f"pii_{exposed.index(text(v))}" for v in part.get("pii_exposed") or [])
        script.put(Label(trace=script.trace, event=event, leaked=leaked), f"/{key}/pii_exposed")
    return script


def _message(script: Script, part: dict[str, Any]) -> str:
    pointer = "/channel_c2/message"
    return script.event("C2", part["message"], pointer, sender=part["from"], to=(part["to"],), id="c2", kind="message")


def _write(script: Script, part: dict[str, Any]) -> str:
    script.actor(part["memory_key"], "memory")
    return script.event(
        "C5",
        part["memory_value"],
        "/channel_c5/memory_value",
        sender=part["agent"],
        to=(part["memory_key"],),
        id="c5",
        kind="memory_write",
    )


ADAPTER = _AgentLeakChannels()
