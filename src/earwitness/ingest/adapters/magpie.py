"""MAGPIE: negotiations of three to seven agents, each with private facts, and the authors' judgements of them.

Written by the MAGPIE benchmark: `simulations/<arm>/<llm>/sim_<task>.json` holds a run (`conversation_log`, the agents'
memories, the scenario), `analysis/<arm>/<llm>/<task>.json` holds an LLM's judgement of what each agent leaked. Private
preferences become values that only their owner may see, judgements become labels of the agent (`agent:<name>`).
`main_memory` is private reasoning (C6), `temp_memory` repeats what the agent was shown. An empty or missing `to` means
the whole group. Names in `to` may carry the role, "Ann Lee (Director)".

Cannot show: model calls, tools, shared memory.

Obtained by: the repository of MAGPIE (`simulations/`, `analysis/`).
Versions tried: gurusha01/magpie at commit e1e01b7.
Order: position in the log, with times.
"""

from collections.abc import Iterable
from pathlib import PurePath
from typing import Any

from earwitness.ingest.record import Context, Emit, Place, Record, Skip
from earwitness.ingest.script import MALFORMED, Script, WholeRuns, is_name, made
from earwitness.schema.model import Delivery, Label, Rule, Value

_LEAKS = frozenset({"partial_leakage", "full_leakage"})


class _Magpie:
    NAME = "magpie"
    TITLE = "MAGPIE negotiation"
    PRIORITY = 30

    def sniff(self, value: Any) -> bool:
        if not isinstance(value, dict):
            return False
        judged = "privacy_preservation" in value and "task_completion" in value
        return judged or ("conversation_log" in value and isinstance(value.get("scenario_data"), dict))

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


class _Reader:
    def __init__(self, context: Context) -> None:
        self.runs = WholeRuns(context, "a MAGPIE negotiation", _tell)

    def feed(self, record: Record) -> Iterable[Emit]:
        return self.runs.feed(record) if "conversation_log" in record.value else _judged(record)

    def finish(self) -> Iterable[Emit]:
        return ()


def _judged(record: Record) -> list[Emit]:
    try:
        simulation = record.value["metadata"]["simulation_file"]
        labels = [_label(_path_id(simulation), name, v) for name, v in record.value["privacy_preservation"].items()]
        place = record.place.at("/privacy_preservation")
        told: list[Emit] = [made(label, place) for label in labels if label]
    except MALFORMED as error:
        return [Skip("unparseable", f"no judgement of a MAGPIE run as known: {type(error).__name__}", record.place)]
    return told or [Skip("ignored", "judgements that name no private item", record.place)]


def _label(trace: str, agent: str, verdict: dict[str, Any]) -> Label | None:
    """What was judged of one agent; None where the judge's answer was cut off and could not be read."""
    items = verdict.get("private_info_items")
    if items is None:
        return None
    leaked = tuple(str(i["info_name"]) for i in items if i.get("leakage_level") in _LEAKS)
    return Label(trace=trace, event=f"agent:{agent}", leaked=leaked)


def _path_id(path: str) -> str:
    return "/".join(PurePath(path).with_suffix("").parts[-3:])


def _run_id(run: dict[str, Any], name: str) -> str:
    """The path the judgements know the run by; where the file lies elsewhere, what the run says of itself."""
    path = PurePath(name.replace("!", "/"))
    if path.name.startswith("sim_") and path.parent.name == run.get("llm_type"):
        return _path_id(str(path))
    return f"{PurePath(run['scenario_file']).stem}/{run['llm_type']}/{run['timestamp']}"


def _tell(run: dict[str, Any], place: Place, name: str) -> Script:
    script, scenario = Script(_run_id(run, name), place), run["scenario_data"]
    script.head(
        "magpie",
        scenario=scenario.get("scenario"),
        model=run.get("llm_type"),
        started_at=run.get("timestamp"),
        request=scenario.get("task"),
        topology="group",
        observable=("C2", "C6"),
    )
    aliases = _cast(run, script)
    steps = [(m["timestamp"], f"/conversation_log/{n}", None, m) for n, m in enumerate(run["conversation_log"])]
    for n, agent in enumerate(run["agents"]):
        for key in ("main_memory", "temp_memory"):
            notes = enumerate(agent.get(key) or [])
            steps += [(m["timestamp"], f"/agents/{n}/{key}/{i}", agent["name"], m) for i, m in notes]
    for _, pointer, owner, step in sorted(steps, key=lambda s: str(s[0])):
        _note(script, owner, step, pointer) if owner else _message(script, step, pointer, aliases)
    return script


def _cast(run: dict[str, Any], script: Script) -> dict[str, str]:
    """The agents with what only they may know; gives every name they go by in this run."""
    agents = run["scenario_data"]["agents"]
    spoken = dict.fromkeys(t for m in run["conversation_log"] for t in m.get("to") or [])
    known = {agent["name"]: agent["name"] for agent in agents}
    # The longest name first, so that "Ann Lee Jr (Lead)" is not taken for "Ann Lee".
    for alias in spoken:
        owner = next((n for n in sorted(known, key=len, reverse=True) if alias.startswith(f"{n} (")), None)
        known.update({alias: owner} if owner and alias not in known else {})
    for n, agent in enumerate(agents):
        names = tuple(a for a, owner in known.items() if owner == agent["name"] != a)
        role = (agent["role"],) if is_name(agent.get("role")) else ()
        script.actor(agent["name"], position="original", roles=role, aliases=names)
        _secrets(script, agent, n)
    return known


def _secrets(script: Script, agent: dict[str, Any], n: int) -> None:
    owner = agent["name"]
    for item, fact in (agent.get("private_preferences") or {}).items():
        value = fact["value"] if isinstance(fact, dict) else fact
        pointer = f"/scenario_data/agents/{n}/private_preferences/{item}"
        secret = Value(attribute=item, value=str(value), value_type="contextual", subject=owner, trace=script.trace)
        script.put(secret, pointer)
    script.put(
        Rule(effect="allow", id=f"owner-{n}", trace=script.trace, subjects=(owner,), recipients=(owner,)),
        f"/scenario_data/agents/{n}",
    )


def _note(script: Script, owner: str, note: dict[str, Any], pointer: str) -> None:
    if "/main_memory/" in pointer:
        script.event("C6", note["content"], pointer, sender=owner, kind="memory", time=note["timestamp"])
    else:
        script.sighting(note["content"], pointer, actor=owner, kind="state", time=note["timestamp"])


def _message(script: Script, message: dict[str, Any], pointer: str, known: dict[str, str]) -> None:
    kind, sender, time = message["type"], message["from"], message["timestamp"]
    content = message["content"] if "content" in message else message.get("reason")
    named = list(dict.fromkeys(known.get(t, t) for t in message.get("to") or []))
    strangers = [t for t in named if t not in known]
    if strangers:
        script.loss("orphan", "recipient that is no agent of the scenario", "C2", len(strangers))
    if kind == "system_message":
        for actor in named:
            script.sighting(content, pointer, actor=actor, time=time)
        return
    group = [Delivery(a, "broadcast") for a in dict.fromkeys(known.values()) if a != sender]
    script.event("C2", content, pointer, sender=sender, to=named or group, kind=kind, time=time)


ADAPTER = _Magpie()
