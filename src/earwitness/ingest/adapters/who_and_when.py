"""Who&When: failed multi-agent runs with the human label of who made the decisive mistake and at which step.

Written by the authors of the Who&When benchmark (Agents_Failure_Attribution): one JSON object a file, from its
GitHub repository or dataset card. Hand-Crafted files are Magentic-One runs, where the role names the sender and, behind
an arrow, the recipient; Algorithm-Generated files are AG2 group chats, where `name` is the sender and the whole group
(names in `system_prompt`) reads along. Event `h<n>` is `history[n]`; the label stands in the attributes of the trace.

Cannot show: which message was the final answer, tool arguments apart from the text of the agent that wrote them, shared
memory, artifacts, times.

Obtained by: the data set Who&When.
Versions tried: ag2ai/Agents_Failure_Attribution at commit f4d2b6d.
Order: position in `history`; no times.
"""

import re
from typing import Any

from earwitness.ingest.record import Context, Place
from earwitness.ingest.script import Script, WholeRuns, is_name
from earwitness.schema.model import Delivery
from earwitness.schema.words import ActorKind, Channel

_ROLE = re.compile(r"(?P<name>[^(]+?)\s*(?:\((?P<aside>.*)\))?\s*")
_ARROW = "->"
_ORCHESTRATOR = "Orchestrator"
_TERMINALS = frozenset({"Computer_terminal", "ComputerTerminal"})


class _WhoAndWhen:
    NAME = "who-and-when"
    TITLE = "Who&When failure log"
    PRIORITY = 30

    def sniff(self, value: Any) -> bool:
        return isinstance(value, dict) and "mistake_step" in value and isinstance(value.get("history"), list)

    def open(self, context: Context) -> WholeRuns:
        return WholeRuns(context, "a Who&When log", _tell)


def _tell(run: dict[str, Any], place: Place, name: str) -> Script:
    group = any("name" in message for message in run["history"])
    script = Script(f"{run['question_ID']}/{'ag2' if group else 'magentic-one'}", place)
    label = {k: run[k] for k in ("mistake_agent", "mistake_step") if k in run}
    framework = "ag2" if group else "magentic-one"
    script.head(framework, request=run.get("question"), observable=("C2", "C4", "C6"), attributes=label)
    if group:
        _group_chat(run, script)
    else:
        _orchestrated(run["history"], script)
    return script


def _group_chat(run: dict[str, Any], script: Script) -> None:
    prompts = run.get("system_prompt")
    prompts = prompts if isinstance(prompts, dict) else {}
    members = [n for n in dict.fromkeys([*prompts, *(m["name"] for m in run["history"])]) if is_name(n)]
    for member in members:
        script.actor(member, _kind(member))
        script.sighting(prompts.get(member), f"/system_prompt/{member}", actor=member)
    for n, message in enumerate(run["history"]):
        sender = message["name"]
        readers = [Delivery(m, "broadcast") for m in members if m != sender]
        channel, kind = _channel(sender, "message")
        script.event(
            channel, message["content"], f"/history/{n}/content", sender=sender, to=readers, id=f"h{n}", kind=kind
        )


def _kind(name: str) -> ActorKind:
    return "tool" if name in _TERMINALS else "agent"


def _channel(sender: str, kind: str) -> tuple[Channel, str]:
    """What a terminal says is the result of code that it ran; what an agent says is a message."""
    return ("C4", "tool_result") if sender in _TERMINALS else ("C2", kind)


def _orchestrated(history: list[dict[str, Any]], script: Script) -> None:
    script.actor(_ORCHESTRATOR)
    for n, message in enumerate(history):
        found = _ROLE.fullmatch(message["role"])
        if found is None:
            raise ValueError(n)
        _step(script, n, found["name"], found["aside"], message["content"])


def _step(script: Script, n: int, sender: str, aside: str | None, content: str) -> None:
    pointer, name = f"/history/{n}/content", f"h{n}"
    if sender.lower() in ("human", "user"):
        script.sighting(content, pointer, actor=_ORCHESTRATOR)
        return
    script.actor(sender, _kind(sender))
    if aside and aside.startswith(_ARROW):
        target = aside.removeprefix(_ARROW).strip()
        script.actor(target, _kind(target))
        script.event("C2", content, pointer, sender=sender, to=(target,), id=name, kind="request")
    elif aside:
        script.event("C6", content, pointer, sender=sender, id=name, kind=aside)
    else:
        # Who is asked answers to who asked: Magentic-One has no other way to speak.
        channel, kind = _channel(sender, "answer")
        answer = (Delivery(_ORCHESTRATOR, "structural"),)
        script.event(channel, content, pointer, sender=sender, to=answer, id=name, kind=kind)


ADAPTER = _WhoAndWhen()
