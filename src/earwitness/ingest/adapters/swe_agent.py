"""SWE-agent trajectories (`.traj`): one coding agent in a shell, step by step.

Written by `sweagent run` beside each instance (and kept as demonstrations): `trajectory` holds thought (C6), action
(C3) and observation (C4) of each step, `history` what the model was shown, `info.submission` the patch or flag (C7).
Commands that were blocked reached nobody; newer versions record them, and their words for it tell.
Older demonstrations have `history` only. A file names no run: its own name and a mark of
its steps are the id.

Cannot show: the final answer to a user, shared memory, times. Steps of one file are of one agent.

Obtained by: `sweagent run`, which writes a `.traj` an instance.
Versions tried: SWE-agent/SWE-agent at commit 3ea751c: demonstrations, challenges, test data.
Order: number of the step; no times.
"""

from pathlib import PurePath
from typing import Any

from earwitness.ingest.record import Context, Place
from earwitness.ingest.script import Script, WholeRuns, digest, is_name, text
from earwitness.schema.model import Delivery
from earwitness.schema.words import Flag

_SHELL = "environment"
# What a model is told, unless somebody chose other words, of a command on the list of those that are not run.
_BLOCKED = "Operation '{}' is not supported by this environment."


class _SweAgent:
    NAME = "swe-agent"
    TITLE = "SWE-agent trajectory"
    PRIORITY = 30

    def sniff(self, value: Any) -> bool:
        if not isinstance(value, dict):
            return False
        steps, history = value.get("trajectory"), value.get("history")
        if isinstance(steps, list) and steps:
            return isinstance(steps[0], dict) and "action" in steps[0] and "observation" in steps[0]
        return (
            isinstance(history, list)
            and bool(history)
            and isinstance(history[0], dict)
            and {"role", "agent", "message_type"} <= history[0].keys()
        )

    def open(self, context: Context) -> WholeRuns:
        return WholeRuns(context, "a SWE-agent trajectory", _tell)


def _tell(run: dict[str, Any], place: Place, name: str) -> Script:
    stem = PurePath(name.replace("!", "/")).stem
    script = Script(f"{stem}/{digest(run.get('trajectory') or run['history'])}", place)
    history, info = run.get("history") or [], run.get("info") or {}
    agent = next((m["agent"] for m in history if is_name(m.get("agent"))), "agent")
    shell = run["environment"] if is_name(run.get("environment")) else _SHELL
    status = {"exit_status": info["exit_status"]} if info.get("exit_status") else None
    script.head("swe-agent", observable=("C3", "C4", "C6", "C7"), attributes=status)
    script.actor(agent, position="original", evidence="attribute")
    script.actor(shell, "tool")
    if run.get("trajectory"):
        _shown_first(script, history, agent)
        _steps(script, run["trajectory"], agent, shell)
    else:
        _history(script, history, agent, shell)
    if info.get("submission"):
        script.actor("submission", "artifact_store", evidence="channel")
        script.event("C7", info["submission"], "/info/submission", sender=agent, to=("submission",), kind="submission")
    return script


def _shown_first(script: Script, history: list[dict[str, Any]], agent: str) -> None:
    """What the model was given before its first own turn, and demonstrations; the rest repeats the steps."""
    begun = False
    for n, message in enumerate(history):
        begun = begun or (message["role"] == "assistant" and not message.get("is_demo"))
        if not begun:
            script.sighting(message.get("content"), f"/history/{n}/content", actor=agent)


def _steps(script: Script, steps: list[dict[str, Any]], agent: str, shell: str) -> None:
    for n, step in enumerate(steps):
        pointer, (said, at) = f"/trajectory/{n}", _observed(steps, n)
        action = text(step["action"])  # none where a model did not say one in the form that is asked for
        made = bool(action) and text(said) != _BLOCKED.format(action)
        calls = [(shell, step["action"], f"{pointer}/action")] if action else []
        _turn(script, step, pointer, agent, *calls, made=made)
        call, sender = f"e{script.seq - 1}" if action else None, shell if made else None
        if text(said):
            script.event("C4", said, at, sender=sender, to=(agent,), kind="tool_result", parent=call)


def _observed(steps: list[dict[str, Any]], n: int) -> tuple[Any, str]:
    """What came of a step: where a command was not run, the end of what the model was asked next."""
    found = steps[n].get("observation")
    query = steps[n + 1].get("query") if n + 1 < len(steps) and not text(found) else None
    last = query[-1] if isinstance(query, list) and query else None
    if isinstance(query, list) and isinstance(last, dict) and last.get("message_type") == "user":
        return last.get("content"), f"/trajectory/{n + 1}/query/{len(query) - 1}/content"
    return found, f"/trajectory/{n}/observation"


def _turn(
    script: Script, step: dict[str, Any], pointer: str, agent: str, *calls: tuple[str, Any, str], made: bool = True
) -> None:
    """A thought and the calls that follow from it, which may not have been made."""
    if text(step.get("thought")):
        script.event("C6", step["thought"], f"{pointer}/thought", sender=agent, kind="thought")
    for tool, arguments, at in calls:
        flags: tuple[Flag, ...] = () if made else ("not_delivered",)
        to = (Delivery(tool, delivered=made),)
        script.event("C3", arguments, at, sender=agent, to=to, kind="tool_arguments", flags=flags)


def _history(script: Script, history: list[dict[str, Any]], agent: str, shell: str) -> None:
    tool = shell
    for n, message in enumerate(history):
        pointer, role = f"/history/{n}", message["role"]
        if role == "assistant":
            calls = _calls(script, message, pointer, shell)
            tool = calls[0][0]
            _turn(script, message, pointer, agent, *calls)
        elif role == "tool" or (n > 1 and message.get("message_type") == "observation"):
            at = f"{pointer}/content"
            script.event("C4", message["content"], at, sender=tool, to=(agent,), kind="tool_result")
        else:
            script.sighting(message.get("content"), f"{pointer}/content", actor=agent)


def _calls(script: Script, message: dict[str, Any], pointer: str, shell: str) -> list[tuple[str, Any, str]]:
    """Tools called with their arguments; without function calling the action is typed into the shell."""
    found = []
    for n, call in enumerate(message.get("tool_calls") or []):
        script.actor(call["function"]["name"], "tool")
        at = f"{pointer}/tool_calls/{n}/function/arguments"
        found.append((call["function"]["name"], call["function"]["arguments"], at))
    return found or [(shell, message.get("action"), f"{pointer}/action")]


ADAPTER = _SweAgent()
