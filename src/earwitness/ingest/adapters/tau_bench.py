"""tau-bench: a customer-service agent with tools and a simulated user; results, few-shot dialogues and user tables.

Written by `run.py` of sierra-research/tau-bench: an array of runs (`traj`, `info.task`). `messages_display` lines are
its few-shot dialogues (text only), and `users.json` of an environment is a table of customers, which becomes values of
the whole case. In a run everybody may see the record of the user whom `info.task` names, and no other.
User turns are requests; an assistant's text without tool calls is C1, beside tool calls it stays inside (C6).

Cannot show: reasoning, times. The agent has no name; it is called `agent`.

Obtained by: `run.py` of tau-bench, with `--log-dir`.
Versions tried: sierra-research/tau-bench at commit 59a200c (gpt-4o, airline).
Order: position in `traj`; no times.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from earwitness.ingest.record import Context, Emit, Place, Record, Skip
from earwitness.ingest.script import MALFORMED, Script, WholeRuns, digest, made
from earwitness.schema.model import Item, Rule, Value

_AGENT, _USER = "agent", "user"
_TURN = re.compile(r"^(user|assistant|tool): ", re.MULTILINE)
_CUSTOMER = ("name", "address", "email", "payment_methods")
_SHORT = 3


class _TauBench:
    NAME = "tau-bench"
    TITLE = "tau-bench runs and users"
    PRIORITY = 30

    def sniff(self, value: Any) -> bool:
        if not isinstance(value, dict):
            return False
        if isinstance(value.get("traj"), list) or value.keys() == {"messages_display"}:
            return "info" in value or "messages_display" in value
        return _is_customer(next(iter(value.values()), None))

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


def _is_customer(value: Any) -> bool:
    return isinstance(value, dict) and all(k in value for k in _CUSTOMER) and isinstance(value["name"], dict)


class _Reader:
    def __init__(self, context: Context) -> None:
        self.runs = WholeRuns(context, "a tau-bench run", _tell)
        self.dialogues = WholeRuns(context, "a tau-bench dialogue", _dialogue)

    def feed(self, record: Record) -> Iterable[Emit]:
        if "messages_display" in record.value:
            return self.dialogues.feed(record)
        return self.runs.feed(record) if "traj" in record.value else _customers(record)

    def finish(self) -> Iterable[Emit]:
        return ()


def _customers(record: Record) -> list[Emit]:
    try:
        found = [_customer(user, fields) for user, fields in record.value.items()]
        return [made(value, record.place.at(pointer)) for customer in found for value, pointer in customer]
    except MALFORMED as error:
        return [Skip("unparseable", f"no table of tau-bench users as known: {type(error).__name__}", record.place)]


def _customer(user: str, fields: dict[str, Any]) -> Iterator[tuple[Item, str]]:
    name = fields["name"]
    whole = {
        "name": f"{name['first_name']} {name['last_name']}",
        "email": fields["email"],
        "dob": fields.get("dob"),
        "street": fields["address"].get("address1"),
        "zip": fields["address"].get("zip"),
    }
    many = [("payment_id", key) for key in fields["payment_methods"]]
    many += [("passenger", f"{p['first_name']} {p['last_name']}") for p in fields.get("saved_passengers") or []]
    for attribute, value in [*whole.items(), *many]:
        if isinstance(value, str) and len(value) > _SHORT:
            yield Value(attribute=attribute, value=value, subject=user), f"/{user}"


def _tell(run: dict[str, Any], place: Place, name: str) -> Script:
    # Every environment and every model has a task 0.
    name = f"task-{run['task_id']}/trial-{run.get('trial', 0)}/{digest(run['traj'])}"
    script, task = Script(name, place), run["info"].get("task") or {}
    script.head(
        "tau-bench",
        request=task.get("instruction"),
        observable=("C1", "C3", "C4", "C6"),
        attributes={"reward": run.get("reward"), "user_id": task.get("user_id")},
    )
    _roster(script)
    if task.get("user_id"):
        rule = Rule(effect="allow", id="own-record", trace=script.trace, subjects=(task["user_id"],))
        script.put(rule, "/info/task/user_id")
    script.sighting(task.get("instruction"), "/info/task/instruction", actor=_USER)
    calls: dict[str, str] = {}
    for n, message in enumerate(run["traj"]):
        _turn(script, message, f"/traj/{n}", calls)
    if calls:
        script.loss("content_missing", "tool call without a result", "C4", len(calls))
    return script


def _roster(script: Script) -> None:
    script.actor(_AGENT, position="original", evidence="channel")
    script.actor(_USER, "user", evidence="channel")


def _turn(script: Script, message: dict[str, Any], pointer: str, calls: dict[str, str]) -> None:
    role, content = message["role"], message.get("content")
    if role in ("system", "user"):
        script.sighting(content, f"{pointer}/content", actor=_AGENT)
    elif role == "tool":
        script.actor(message["name"], "tool")
        call = calls.pop(message["tool_call_id"], None)
        script.event(
            "C4", content, f"{pointer}/content", sender=message["name"], to=(_AGENT,), kind="tool_result", parent=call
        )
    else:
        _said(script, message, pointer, calls)


def _said(script: Script, message: dict[str, Any], pointer: str, calls: dict[str, str]) -> None:
    asked, content = message.get("tool_calls") or [], message.get("content")
    if content and asked:
        script.event("C6", content, f"{pointer}/content", sender=_AGENT, kind="reasoning")
    elif content:
        script.event("C1", content, f"{pointer}/content", sender=_AGENT, to=(_USER,), kind="message")
    for n, call in enumerate(asked):
        tool = call["function"]["name"]
        script.actor(tool, "tool")
        at = f"{pointer}/tool_calls/{n}/function/arguments"
        arguments = call["function"]["arguments"]
        calls[call["id"]] = script.event("C3", arguments, at, sender=_AGENT, to=(tool,), kind="tool_arguments")


def _dialogue(record: dict[str, Any], place: Place, name: str) -> Script:
    shown = record["messages_display"]
    script = Script(f"few-shot/{digest(shown)}", place)
    script.head("tau-bench", observable=("C1", "C4"))
    _roster(script)
    pieces = _TURN.split(shown)[1:]
    if not pieces:
        raise ValueError("no turn")
    for role, content in zip(pieces[::2], pieces[1::2], strict=True):
        _shown(script, role, content.strip())
    return script


def _shown(script: Script, role: str, content: str) -> None:
    pointer = "/messages_display"
    if role == "user":
        script.sighting(content, pointer, actor=_AGENT)
    elif role == "tool":
        script.event("C4", content, pointer, to=(_AGENT,), kind="tool_result")
    elif content == "None":  # how the dialogue shows a turn that was a tool call
        script.loss("content_missing", "arguments of a tool call", "C3")
    elif content:
        script.event("C1", content, pointer, sender=_AGENT, to=(_USER,), kind="message")


ADAPTER = _TauBench()
