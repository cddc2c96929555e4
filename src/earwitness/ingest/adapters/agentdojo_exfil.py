"""AgentDojo exfiltration pairs: a user task and an injection task, replayed, with the values that left.

Written by AgentLeak from AgentDojo: an array of scenarios, each with the tool calls of the user's task (`steps`), the
calls the injection asked for (`exfiltration`) and `leaked_values`. Arguments are C3, observations C4. Whom an
exfiltrating call names (`recipient`, `recipients`, `url`) is a declared recipient beside the tool. Leaked values are
values `leaked_value_<n>` of the run; each exfiltrating call has a label. The format gives no policy.

Cannot show: model calls, reasoning, the final answer, times. The one agent has no name; it is called `agent`.

Obtained by: the repository of AgentLeak (`agentdojo_exfil.scenarios.json`).
Versions tried: yagobski/agentleak at commit 26d16d6.
Order: position in the lists; no times.
"""

from typing import Any

from earwitness.ingest.record import Context, Place
from earwitness.ingest.script import Script, WholeRuns, is_name, text
from earwitness.schema.model import Delivery, Label, Value

_AGENT = "agent"
_ADDRESSED = ("recipient", "recipients", "to", "url")


class _AgentDojo:
    NAME = "agentdojo-exfil"
    TITLE = "AgentDojo exfiltration pair"
    PRIORITY = 30

    def sniff(self, value: Any) -> bool:
        return isinstance(value, dict) and "injection_task" in value and isinstance(value.get("exfiltration"), list)

    def open(self, context: Context) -> WholeRuns:
        return WholeRuns(context, "an AgentDojo pair", _tell)


def _tell(run: dict[str, Any], place: Place, name: str) -> Script:
    script = Script(run["id"], place)
    script.head(
        "agentdojo",
        domain=run.get("suite"),
        adversary=run["injection_task"],
        request=run.get("user_prompt"),
        observable=("C3", "C4"),
        attributes={"user_task": run.get("user_task")},
    )
    script.actor(_AGENT, position="original", evidence="channel")
    for n, value in enumerate(run.get("leaked_values") or []):
        secret = Value(attribute=f"leaked_value_{n}", value=text(value), trace=script.trace)
        script.put(secret, f"/leaked_values/{n}")
    script.sighting(run.get("user_prompt"), "/user_prompt", actor=_AGENT)
    for n, step in enumerate(run["steps"]):
        _call(script, step, f"/steps/{n}", f"s{n}", ())
    for n, step in enumerate(run["exfiltration"]):
        addressed = _addressed(script, step["args"])
        _call(script, step, f"/exfiltration/{n}", f"x{n}", addressed)
        script.put(_label(script.trace, f"x{n}", step, run), f"/exfiltration/{n}/leaked")
    return script


def _addressed(script: Script, args: dict[str, Any]) -> tuple[str, ...]:
    """Whom the arguments name."""
    found = [a for key in _ADDRESSED if key in args for a in _listed(args[key]) if is_name(a)]
    for name in found:
        script.actor(name, "user", evidence="attribute")
    return tuple(dict.fromkeys(found))


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _call(script: Script, step: dict[str, Any], pointer: str, name: str, addressed: tuple[str, ...]) -> None:
    tool, failed = step["tool"], bool(step.get("error"))
    script.actor(tool, "tool")
    to = (tool, *(Delivery(a, delivered=not failed) for a in addressed))
    call = script.event("C3", step["args"], f"{pointer}/args", sender=_AGENT, to=to, id=name, kind="tool_arguments")
    if failed:
        script.loss("failed_call", "tool call", "C4")
    answer = step["error"] if failed else step.get("observation")
    key = "error" if failed else "observation"
    script.event(
        "C4",
        answer,
        f"{pointer}/{key}",
        sender=tool,
        to=(_AGENT,),
        id=f"{name}-result",
        kind="tool_result",
        parent=call,
        flags=("failed",) if failed else (),
    )


def _label(trace: str, event: str, step: dict[str, Any], run: dict[str, Any]) -> Label:
    """Which values of the run are in what this call is said to have leaked."""
    leaked = [text(x).lower() for x in step.get("leaked") or []]
    values = [text(v).lower() for v in run.get("leaked_values") or []]
    held = tuple(f"leaked_value_{n}" for n, v in enumerate(values) if any(v in x for x in leaked))
    return Label(trace=trace, event=event, leaked=held)


ADAPTER = _AgentDojo()
