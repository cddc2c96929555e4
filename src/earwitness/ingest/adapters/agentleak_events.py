"""AgentLeak event lines: one event a line, with the leaks its authors see in it, and the scenario beside them.

Written by the AgentLeak authors (`examples/trace_sample.jsonl`, `scenario_example.jsonl`): a run begins with
`task_start` and ends with `trace_summary`; the id of a run is what its event ids have in common (`<run>_e<n>`).
`vault_leakage` becomes labels. A scenario line carries the vault and the allowed set.

Cannot show: what a model was shown, reasoning and logs, artifacts.

Obtained by: the repository of AgentLeak (`examples/`).
Versions tried: Privatris/AgentLeak at commit 6729179.
Order: file order, with times.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from earwitness.ingest.record import Context, Emit, Place, Record, Skip
from earwitness.ingest.script import MALFORMED, Script, made, text
from earwitness.schema.model import Label, Rule, Value
from earwitness.schema.words import ActorKind, Channel

_STEPS = frozenset(
    ("task_start", "tool_call", "tool_output", "inter_agent_message", "memory_write", "final_output", "trace_summary")
)


class _AgentLeakEvents:
    NAME = "agentleak-events"
    TITLE = "AgentLeak event lines"
    PRIORITY = 30

    def sniff(self, value: Any) -> bool:
        if not isinstance(value, dict):
            return False
        if isinstance(value.get("event_type"), str) and value["event_type"] in _STEPS:
            return "event_id" in value and "scenario_id" in value
        return isinstance(value.get("vault"), dict) and isinstance(value.get("allowed_set"), list) and "id" in value

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


class _Reader:
    def __init__(self, context: Context) -> None:
        self.context = context
        self.steps: dict[str, int] = {}

    def feed(self, record: Record) -> Iterable[Emit]:
        value, place = record
        name = str(value["event_id"] if "event_id" in value else value["id"])
        if not self.context.claim("agentleak-events", name):
            return [Skip("duplicate", "the same event was read before", place)]
        if value.get("event_type") == "trace_summary":
            return [Skip("ignored", "summary of a run", place)]
        try:
            return self._event(value, place) if "event_id" in value else list(_scenario(value, place))
        except MALFORMED as error:
            return [Skip("unparseable", f"no AgentLeak event as known: {type(error).__name__}", place)]

    def finish(self) -> Iterable[Emit]:
        return ()

    def _event(self, value: dict[str, Any], place: Place) -> list[Emit]:
        trace = value["event_id"].rpartition("_")[0] or value["event_id"]
        script = Script(trace, place, seq=self.steps.get(trace, 0))
        if value["event_type"] == "task_start":
            _start(script, value)
        else:
            _step(script, value)
        self.steps[trace] = script.seq
        return script.made


def _start(script: Script, value: dict[str, Any]) -> None:
    agent = value["agent_id"]
    script.head(
        "agentleak",
        scenario=value["scenario_id"],
        model=value.get("model"),
        started_at=value.get("timestamp"),
        request=value.get("task_description"),
        observable=("C1", "C2", "C3", "C4", "C5"),
    )
    script.actor(agent, position="original")
    script.sighting(value.get("task_description"), "/task_description", actor=agent, time=value.get("timestamp"))


def _step(script: Script, value: dict[str, Any]) -> None:
    channel, key, sender, target = _parties(value)
    for name, kind in (sender, target):
        script.actor(name, kind)
    event = script.event(
        channel,
        value[key],
        f"/{key}",
        sender=sender[0],
        to=(target[0],),
        id=value["event_id"],
        kind=value["event_type"],
        time=value.get("timestamp"),
    )
    leaks = tuple(dict.fromkeys(str(x["field"]) for x in value.get("vault_leakage") or []))
    script.put(Label(trace=script.trace, event=event, leaked=leaks), "/vault_leakage")


_Party = tuple[str, ActorKind]


def _parties(value: dict[str, Any]) -> tuple[Channel, str, _Party, _Party]:
    """Channel, the key of the content, who says it, and to whom."""
    kind = value["event_type"]
    if kind == "inter_agent_message":
        return "C2", "message_content", (value["source_agent"], "agent"), (value["dest_agent"], "agent")
    agent: _Party = (value["agent_id"], "agent")
    if kind == "tool_call":
        return "C3", "input_args", agent, (value["tool_name"], "tool")
    if kind == "tool_output":
        return "C4", "output_text", (value["tool_name"], "tool"), agent
    if kind == "memory_write":
        return "C5", "written_data", agent, (value["memory_section"], "memory")
    return "C1", "output_text", agent, ("user", "user")


def _scenario(value: dict[str, Any], place: Place) -> Iterator[Emit]:
    name = value["id"]
    for attribute, content in value["vault"].items():
        for part in content if isinstance(content, list) else [content]:
            if text(part):
                yield made(Value(attribute=attribute, value=text(part), scenario=name), place.at(f"/vault/{attribute}"))
    if value["allowed_set"]:
        allowed = Rule(effect="allow", id="allowed_set", scenario=name, attributes=tuple(value["allowed_set"]))
        yield made(allowed, place.at("/allowed_set"))


ADAPTER = _AgentLeakEvents()
