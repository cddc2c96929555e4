"""Who got what, over formats that share no line of code: the same truths from small recordings of each.

Asked for is not done, shown is not said, refused is not delivered, a group is who the record says it is, and whoever
is later shown a content has consumed it.
"""

import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from earwitness.ingest.loader import Loader
from earwitness.reports.canonical import export
from earwitness.schema.case import Case

Json = dict[str, Any]
CHART = "Lea Moor's chart is MRN-55-102 in ward 7"
ASKED = "When can Lea Moor be seen by somebody?"


class Got(NamedTuple):
    """One recipient of one event."""

    channel: str
    sender: str | None
    to: str
    grade: str
    delivered: bool = True


class Told(NamedTuple):
    """What an import made of a recording."""

    items: list[Json]
    text: str

    @property
    def got(self) -> set[Got]:
        return {got for event in self.of("event") for got in recipients(event)}

    def of(self, kind: str) -> list[Json]:
        return [i for i in self.items if i["type"] == kind]

    def shown(self, actor: str) -> set[str]:
        return {s["content"] for s in self.of("sighting") if s.get("actor") == actor}


def recipients(event: Json) -> Iterable[Got]:
    for to in event.get("to", ()):
        named: Json = {"actor": to, "grade": "declared"} if isinstance(to, str) else to
        sender, grade = event.get("sender"), named.get("grade", "declared")
        yield Got(event["channel"], sender, named["actor"], grade, named.get("delivered", True))


def load(tmp_path: Path, records: list[Json] | Json) -> Told:
    path = tmp_path / ("run.jsonl" if isinstance(records, list) else "run.json")
    lines = [json.dumps(r, ensure_ascii=False) for r in (records if isinstance(records, list) else [records])]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with Case() as case:
        (source,) = Loader(case).load([path])
        out = io.BytesIO()
        export(case, out)
    assert source.problem is None
    assert sum(source.outcomes.values()) == source.records
    assert not {"unknown", "unparseable"} & source.outcomes.keys()
    return Told([json.loads(line) for line in out.getvalue().splitlines()], path.read_text(encoding="utf-8"))


# -- OpenAI Agents SDK ---------------------------------------------------------------------------------------------


def openai_call(agent: str, call_id: str, tool: str, /, *, kind: str = "tool_call_item", **given: Any) -> Json:
    raw = {"type": "function_call", "call_id": call_id, "name": tool, "arguments": json.dumps(given)}
    return {"type": kind, "agent": agent, "raw_item": raw}


def openai_back(agent: str, call_id: str, output: str, **more: Any) -> Json:
    raw = {"type": "function_call_output", "call_id": call_id, "output": output}
    return {"type": "tool_call_output_item", "agent": agent, "raw_item": raw, "output": output, **more}


def openai_says(agent: str, text: str) -> Json:
    raw = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
    return {"type": "message_output_item", "agent": agent, "raw_item": raw}


OPENAI_HANDOFF = [
    openai_call("Desk", "c1", "read_chart", name="Lea Moor"),
    openai_back("Desk", "c1", CHART),
    openai_call("Desk", "c2", "transfer_to_ward_clerk", kind="handoff_call_item"),
    openai_call("Desk", "c3", "transfer_to_billing", kind="handoff_call_item"),
    openai_back("Desk", "c3", "Multiple handoffs detected, ignoring this one."),
    {
        **openai_back("Desk", "c2", '{"assistant": "Ward Clerk"}'),
        "type": "handoff_output_item",
        "source_agent": "Desk",
        "target_agent": "Ward Clerk",
    },
    openai_says("Ward Clerk", "Lea Moor can come on Monday."),
]
OPENAI_DENIED = [
    openai_call("Desk", "c1", "discharge", name="Lea Moor"),
    openai_call("Desk", "c1", "discharge", kind="tool_approval_item", name="Lea Moor"),
    openai_back("Desk", "c1", "Tool execution was not approved."),
    openai_says("Desk", "That was not allowed."),
]
OPENAI_WAITING = OPENAI_DENIED[:2]


def hook(name: str, agent: str, **more: Any) -> Json:
    return {"hook": name, "agent": agent, **more}


OPENAI_HOOKS_TWICE_INSIDE = [
    hook("on_agent_start", "Desk"),
    hook("on_tool_start", "Desk", tool="ask_clerk", tool_call_id="c1", tool_arguments='{"input": "Look her up."}'),
    hook("on_start", "Clerk"),
    hook("on_tool_start", "Clerk", tool="ask_archive", tool_call_id="c2", tool_arguments='{"input": "Lea Moor"}'),
    hook("on_start", "Archive"),
    hook("on_end", "Archive", output="It is in ward 7."),
    hook("on_tool_end", "Clerk", tool="ask_archive", result="It is in ward 7."),
    hook("on_end", "Clerk", output=CHART),
    hook("on_tool_end", "Desk", tool="ask_clerk", result=CHART),
    hook("on_agent_end", "Desk", output="Lea Moor can come on Monday."),
]


def openai_span(number: int, parent: int, **data: Any) -> Json:
    moments = {"started_at": f"2026-03-02T10:00:{number:02}Z", "ended_at": f"2026-03-02T10:00:{number + 1:02}Z"}
    ids = {"id": f"span_{number}", "trace_id": "trace_1", "parent_id": f"span_{parent}" if parent else None}
    return {"object": "trace.span", **ids, **moments, "span_data": data, "error": None}


def openai_generation(number: int, parent: int, asked: list[Json], **answer: Any) -> Json:
    said = {"role": "assistant", "content": None, **answer}
    return openai_span(number, parent, type="generation", input=asked, output=[said], model="m")


_CLERK = {"id": "c1", "type": "function", "function": {"name": "ask_clerk", "arguments": '{"input": "Look her up."}'}}
_QUESTION = [{"role": "user", "content": ASKED}]
OPENAI_SPANS_AS_TOOL = [
    openai_span(1, 0, type="agent", name="Desk", handoffs=[], tools=["ask_clerk"]),
    openai_generation(2, 1, _QUESTION, tool_calls=[_CLERK]),
    openai_span(3, 1, type="function", name="ask_clerk", input='{"input": "Look her up."}', output=CHART),
    openai_span(4, 3, type="agent", name="Chart Clerk", handoffs=[], tools=[]),
    openai_generation(5, 4, [{"role": "user", "content": "Look her up."}], content=CHART),
    openai_generation(6, 1, [*_QUESTION, {"role": "tool", "tool_call_id": "c1", "content": CHART}], content="Monday."),
]
OPENAI_SPANS_BLOCKED = [
    openai_span(1, 0, type="agent", name="Desk", handoffs=["Billing"], tools=[]),
    openai_generation(2, 1, _QUESTION, content=CHART),
    openai_span(3, 1, type="guardrail", name="no charts", triggered=True),
]


# -- Google ADK ----------------------------------------------------------------------------------------------------


def adk(number: int, author: str, *parts: Json, **actions: Any) -> Json:
    head = {"id": f"ev-{number}", "invocationId": "e-1", "author": author, "timestamp": 1772445600.0 + number}
    return {**head, "content": {"role": "model", "parts": list(parts)}, "actions": actions}


def adk_call(call_id: str, tool: str, /, **given: Any) -> Json:
    return {"functionCall": {"id": call_id, "name": tool, "args": given}}


def adk_back(call_id: str, name: str, **response: Any) -> Json:
    return {"functionResponse": {"id": call_id, "name": name, "response": response}}


_ADK_WORK = [
    adk(1, "user", {"text": ASKED}),
    adk(2, "desk", adk_call("a1", "read_chart", name="Lea Moor")),
    adk(3, "desk", adk_back("a1", "read_chart", result=CHART)),
    adk(4, "desk", adk_call("a2", "transfer_to_agent", agent_name="clerk")),
]
ADK_TRANSFER = [
    *_ADK_WORK,
    adk(5, "desk", adk_back("a2", "transfer_to_agent", result=None), transferToAgent="clerk"),
    adk(6, "clerk", {"text": "Lea Moor can come on Monday."}),
]
ADK_EFFECT_ALONE = [
    *_ADK_WORK,
    adk(5, "desk", adk_back("a2", "transfer_to_agent", result=None)),
    adk(6, "clerk", {"text": "Lea Moor can come on Monday."}),
]
ADK_NO_EFFECT = [
    *_ADK_WORK,
    adk(5, "desk", adk_back("a2", "transfer_to_agent", error="no such agent")),
    adk(6, "desk", {"text": "Lea Moor can come on Monday."}),
]
_ADK_ASK = {"originalFunctionCall": {"id": "a1", "name": "discharge", "args": {"name": "Lea Moor"}}}
_ADK_PAUSE = adk_back("a1", "discharge", error="This tool call requires confirmation, please approve or reject.")
ADK_WAITING = [
    adk(1, "user", {"text": ASKED}),
    adk(2, "desk", adk_call("a1", "discharge", name="Lea Moor")),
    adk(3, "desk", adk_call("a9", "adk_request_confirmation", **_ADK_ASK)),
    adk(4, "desk", _ADK_PAUSE, requestedToolConfirmations={"a1": {"hint": "", "confirmed": False}}),
]
ADK_DENIED = [
    *ADK_WAITING,
    adk(5, "user", adk_back("a9", "adk_request_confirmation", confirmed=False)),
    adk(6, "desk", adk_back("a1", "discharge", error="This tool call is rejected.")),
    adk(7, "desk", {"text": "That was not allowed."}),
]
ADK_ALLOWED = [
    *ADK_WAITING,
    adk(5, "user", adk_back("a9", "adk_request_confirmation", confirmed=True)),
    adk(6, "desk", adk_back("a1", "discharge", result="discharged")),
    adk(7, "desk", {"text": "She may go."}),
]


def adk_row(number: int, kind: str, content: Json) -> Json:
    head = {"timestamp": f"2026-03-02T10:00:{number:02}Z", "event_id": f"b{number}", "event_type": kind}
    ids = {"agent": "desk", "user_id": "u", "session_id": "s-1", "invocation_id": "e-1", "span_id": "sp1"}
    return {**head, **ids, "content": content, "content_parts": [], "attributes": "{}", "status": "OK"}


_TOOL_ROW = {"tool": "discharge", "tool_origin": "LOCAL"}
ADK_ROWS_DENIED = [
    adk_row(1, "USER_MESSAGE_RECEIVED", {"text_summary": ASKED}),
    adk_row(2, "TOOL_STARTING", {**_TOOL_ROW, "args": {"name": "Lea Moor"}}),
    adk_row(3, "TOOL_COMPLETED", {**_TOOL_ROW, "result": {"error": "This tool call is rejected."}}),
]
ADK_AS_TOOL = [
    adk(1, "desk", adk_call("a1", "clerk", request="Look her up.")),
    adk(2, "desk", adk_back("a1", "clerk", result=CHART)),
    adk(3, "desk", adk_call("a2", "ask_billing", request="Is anything owed?")),
    adk(4, "desk", adk_back("a2", "ask_billing", result="nothing")),
    adk(5, "clerk", {"text": "Anything else?"}),
]


# -- LangGraph -----------------------------------------------------------------------------------------------------


def message(kind: str, id: str, content: str = "", **more: Any) -> Json:
    head: Json = {"additional_kwargs": {}, "response_metadata": {}, "name": None}
    return {"content": content, **head, "type": kind, "id": id, **more}


def graph_call(call_id: str, tool: str, /, **given: Any) -> Json:
    return {"name": tool, "args": given, "id": call_id, "type": "tool_call"}


def update(ns: list[str], node: str, *messages: Json) -> Json:
    return {"type": "updates", "ns": ns, "data": {node: {"messages": list(messages)}}}


def task(ns: list[str], id: str, name: str, *messages: Json, trigger: str) -> Json:
    return {
        "type": "tasks",
        "ns": ns,
        "data": {"id": id, "name": name, "input": {"messages": list(messages)}, "triggers": [trigger]},
    }


_HUMAN = message("human", "h1", ASKED)
_FOUND = message("tool", "t1", CHART, name="read_chart", tool_call_id="k1", status="success")
_LOOKS = message("ai", "m1", name="desk", tool_calls=[graph_call("k1", "read_chart", name="Lea Moor")])
_MOVES = message("ai", "m2", name="desk", tool_calls=[graph_call("k2", "transfer_to_clerk")])
_DONE = message(
    "tool",
    "t2",
    "Successfully transferred to clerk",
    name="transfer_to_clerk",
    tool_call_id="k2",
    status="success",
    response_metadata={"__handoff_destination": "clerk"},
)
_FAILED = message("tool", "t2", "Error: no such tool", name="transfer_to_clerk", tool_call_id="k2", status="error")
_GRAPH_WORK = [
    task([], "d1", "desk", _HUMAN, trigger="branch:to:desk"),
    update(["desk:d1"], "agent", _LOOKS),
    update(["desk:d1"], "tools", _FOUND),
    update(["desk:d1"], "agent", _MOVES),
]
LANGGRAPH_HANDOFF = [
    *_GRAPH_WORK,
    update(["desk:d1"], "tools", _DONE),
    task([], "d2", "clerk", _HUMAN, _LOOKS, _FOUND, _MOVES, _DONE, trigger="branch:to:clerk"),
    update(["clerk:d2"], "agent", message("ai", "m3", "Lea Moor can come on Monday.", name="clerk")),
]
LANGGRAPH_NO_EFFECT = [
    *_GRAPH_WORK,
    update(["desk:d1"], "tools", _FAILED),
    update(["desk:d1"], "agent", message("ai", "m3", "Lea Moor can come on Monday.", name="desk")),
]


# -- AutoGen -------------------------------------------------------------------------------------------------------


def autogen(number: int, source: str, kind: str, content: Any, **more: Any) -> Json:
    head: Json = {"id": f"m{number}", "source": source, "models_usage": None, "metadata": {}}
    return {**head, "created_at": f"2026-03-02T10:00:{number:02}Z", "content": content, "type": kind, **more}


def autogen_call(number: int, source: str, call_id: str, tool: str, /, **given: Any) -> Json:
    call = {"id": call_id, "name": tool, "arguments": json.dumps(given)}
    return autogen(number, source, "ToolCallRequestEvent", [call])


def autogen_back(number: int, source: str, call_id: str, name: str, content: str, *, failed: bool = False) -> Json:
    back = {"call_id": call_id, "name": name, "content": content, "is_error": failed}
    return autogen(number, source, "ToolCallExecutionEvent", [back])


_AUTOGEN_WORK = [
    autogen(1, "user", "TextMessage", ASKED),
    autogen_call(2, "desk", "c1", "read_chart", name="Lea Moor"),
    autogen_back(3, "desk", "c1", "read_chart", CHART),
    autogen_call(4, "desk", "c2", "transfer_to_clerk"),
]
_AUTOGEN_SEEN = {"content": [{"call_id": "c1", "name": "read_chart", "content": CHART, "is_error": False}]}
AUTOGEN_HANDOFF = [
    *_AUTOGEN_WORK,
    autogen_back(5, "desk", "c2", "transfer_to_clerk", "Over to clerk."),
    autogen(
        6,
        "desk",
        "HandoffMessage",
        "Over to clerk.",
        target="clerk",
        context=[{**_AUTOGEN_SEEN, "type": "FunctionExecutionResultMessage"}],
    ),
    autogen(7, "clerk", "TextMessage", "Lea Moor can come on Monday."),
]
_THOUGHT = {"content": [], "thought": CHART, "source": "desk", "type": "AssistantMessage"}
AUTOGEN_THOUGHT = [
    autogen(1, "user", "TextMessage", ASKED),
    autogen(2, "desk", "ThoughtEvent", CHART),
    autogen(3, "desk", "HandoffMessage", "Over to clerk.", target="clerk", context=[_THOUGHT]),
    autogen(4, "clerk", "TextMessage", "Lea Moor can come on Monday."),
]
AUTOGEN_NO_EFFECT = [
    *_AUTOGEN_WORK,
    autogen_back(5, "desk", "c2", "transfer_to_clerk", "no such tool", failed=True),
    autogen(6, "desk", "TextMessage", "Lea Moor can come on Monday."),
]
AUTOGEN_TEAM = [
    autogen(1, "user", "TextMessage", ASKED),
    autogen(2, "desk", "TextMessage", CHART),
    autogen(3, "clerk", "TextMessage", "Lea Moor can come on Monday."),
    autogen(4, "desk", "TextMessage", "Monday it is."),
]

_TEAM = "11111111-2222-3333-4444-555555555555"


def autogen_core(payload: Json, sender: str | None, receiver: str | None, *, stage: str, kind: str) -> Json:
    def address(name: str | None) -> str | None:
        return f"{name}_{_TEAM}/{_TEAM}" if name else None

    return {
        "payload": json.dumps(payload),
        "sender": address(sender),
        "receiver": address(receiver),
        "kind": f"MessageKind.{kind}",
        "delivery_stage": f"DeliveryStage.{stage}",
        "type": "Message",
    }


# -- CrewAI --------------------------------------------------------------------------------------------------------


def crew(number: int, kind: str, id: str, parent: str | None, **more: Any) -> Json:
    head = {"timestamp": f"2026-03-02T10:00:{number:02}.000000Z", "type": kind, "event_id": id}
    return {**head, "parent_event_id": parent, "started_event_id": None, "emission_sequence": number, **more}


_DELEGATION = {"task": CHART, "context": "", "coworker": "clerk"}
_TOOL = {"agent_role": "desk", "tool_name": "delegate_work_to_coworker"}
_CREW_WORK = [
    crew(1, "crew_kickoff_started", "k1", None, crew_name="ward", crew=None, inputs={}),
    crew(2, "task_started", "t1", "k1", task={"description": ASKED, "agent": {"role": "desk"}}, context=""),
    crew(3, "agent_execution_started", "x1", "t1", agent={"role": "desk"}, task_prompt=ASKED),
    crew(4, "tool_usage_started", "d1", "x1", **_TOOL, tool_args=_DELEGATION),
]
CREW_DELEGATED = [
    *_CREW_WORK,
    crew(5, "agent_execution_started", "x2", "d1", agent={"role": "clerk"}, task_prompt=CHART),
    crew(6, "agent_execution_completed", "x3", "d1", agent={"role": "clerk"}, output="Monday is free for her."),
    {
        **crew(7, "tool_usage_finished", "d2", "x1", **_TOOL, tool_args={}, output="Monday is free for her."),
        "started_event_id": "d1",
    },
]
CREW_NOT_FOUND = [
    *_CREW_WORK,
    {
        **crew(5, "tool_usage_finished", "d2", "x1", **_TOOL, tool_args={}),
        "started_event_id": "d1",
        "output": "Error executing tool. coworker mentioned not found.",
    },
]


# -- OpenTelemetry spans, GenAI conventions --------------------------------------------------------------------------


def span(number: int, parent: int, name: str, **attributes: Any) -> Json:
    keys = {k.replace("__", "."): v if isinstance(v, str) else json.dumps(v) for k, v in attributes.items()}
    return {
        "traceId": "a" * 32,
        "spanId": f"{number:016x}",
        "parentSpanId": f"{parent:016x}" if parent else "",
        "name": name,
        "startTimeUnixNano": str(1780000000000000000 + number * 10**9),
        "endTimeUnixNano": str(1780000000000000000 + (100 - parent) * 10**9),
        "attributes": [{"key": f"gen_ai.{k}", "value": {"stringValue": v}} for k, v in keys.items()],
        "status": {},
    }


def spans(*made: Json) -> list[Json]:
    return [{"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "app"}, "spans": list(made)}]}]}]


def says(*parts: Json, role: str = "assistant") -> list[Json]:
    return [{"role": role, "parts": list(parts)}]


def run_of(number: int, parent: int, agent: str) -> Json:
    return span(number, parent, f"invoke_agent {agent}", operation__name="invoke_agent", agent__name=agent)


def chat(number: int, parent: int, agent: str, asked: list[Json], answered: list[Json]) -> Json:
    content = {"input__messages": asked, "output__messages": answered}
    return span(number, parent, "chat m", operation__name="chat", agent__name=agent, **content)


_ASKS = says({"type": "text", "content": ASKED}, role="user")
_CALLS_CLERK = {"type": "tool_call", "id": "c1", "name": "ask_clerk", "arguments": {"question": "Look her up."}}
_CALLS_MOVE = {"type": "tool_call", "id": "c2", "name": "transfer_to_billing", "arguments": {}}
_TOOL_SPAN = {
    "operation__name": "execute_tool",
    "tool__name": "ask_clerk",
    "tool__call__id": "c1",
    "tool__call__arguments": {"question": "Look her up."},
    "tool__call__result": CHART,
}
SPANS_AS_TOOL = spans(
    run_of(1, 0, "desk"),
    chat(2, 1, "desk", _ASKS, says(_CALLS_CLERK)),
    span(3, 1, "execute_tool ask_clerk", **_TOOL_SPAN),
    run_of(4, 3, "clerk"),
    chat(
        5,
        4,
        "clerk",
        says({"type": "text", "content": "Look her up."}, role="user"),
        says({"type": "text", "content": CHART}),
    ),
)
SPANS_PLAIN_TOOL = spans(
    run_of(1, 0, "desk"),
    chat(2, 1, "desk", _ASKS, says(_CALLS_CLERK)),
    span(3, 1, "execute_tool ask_clerk", **_TOOL_SPAN),
)
SPANS_NO_EFFECT = spans(
    run_of(1, 0, "desk"),
    chat(2, 1, "desk", _ASKS, says(_CALLS_MOVE)),
    chat(3, 1, "desk", _ASKS, says({"type": "text", "content": "Nothing is owed."})),
)
SPANS_CONSUMED = spans(
    run_of(1, 0, "desk"),
    span(2, 1, "execute_tool read_chart", **{**_TOOL_SPAN, "tool__name": "read_chart"}),
    run_of(3, 0, "clerk"),
    chat(
        4,
        3,
        "clerk",
        says({"type": "text", "content": CHART}, role="user"),
        says({"type": "text", "content": "Monday."}),
    ),
)
_BACK = {"response_metadata": {"__is_handoff_back": True}}
_GIVES_BACK = message(
    "ai",
    "m4",
    "Transferring back to desk",
    name="clerk",
    tool_calls=[graph_call("k3", "transfer_back_to_desk")],
    **_BACK,
)
_GIVEN_BACK = message(
    "tool", "t4", "Successfully transferred back to desk", name="transfer_back_to_desk", tool_call_id="k3", **_BACK
)
LANGGRAPH_ALIAS = [
    *_GRAPH_WORK,
    update(["desk:d1"], "tools", _DONE),
    task(["clerk:d2"], "d3", "ward_clerk", _HUMAN, trigger="branch:to:ward_clerk"),
    update(["clerk:d2", "ward_clerk:d3"], "agent", message("ai", "m3", "On Monday she can come.", name="ward_clerk")),
    update([], "clerk", _GIVES_BACK, _GIVEN_BACK),
]
LANGGRAPH_SHARED = [
    {"type": "tasks", "ns": [], "data": {"id": "d1", "name": "desk", "input": {}, "triggers": ["branch:to:desk"]}},
    {
        "type": "tasks",
        "ns": [],
        "data": {
            "id": "d1",
            "name": "desk",
            "error": None,
            "interrupts": [],
            "result": {"note": CHART, "files": {"/lea.md": {"content": [f"{CHART}, file"]}}},
        },
    },
    {
        "type": "tasks",
        "ns": [],
        "data": {
            "id": "d2",
            "name": "clerk",
            "input": {"note": CHART, "files": {"/lea.md": {"content": [f"{CHART}, file"]}}},
            "triggers": ["branch:to:clerk"],
        },
    },
]
OPENAI_ALIAS = [
    openai_call("Desk", "c1", "billing_office", input="Is anything owed?"),
    openai_back("Desk", "c1", CHART),
    *OPENAI_HANDOFF[2:3],
    {
        **openai_back("Desk", "c2", '{"assistant": "Billing Office"}'),
        "type": "handoff_output_item",
        "source_agent": "Desk",
        "target_agent": "Billing Office",
    },
]
OPENAI_DECLARED = [
    {**item, "tool_origin": {"type": "agent_as_tool", "agent_name": "Chart Clerk", "agent_tool_name": "ask_clerk"}}
    for item in (openai_call("Desk", "c1", "ask_clerk", input="Look her up."), openai_back("Desk", "c1", CHART))
]
OPENAI_PLAIN_TOOL = [openai_call("Desk", "c1", "ask_clerk", input="Look her up."), openai_back("Desk", "c1", CHART)]
PYDANTIC_DENIED = [
    {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": ASKED}]},
    {
        "kind": "response",
        "parts": [{"part_kind": "tool-call", "tool_name": "discharge", "tool_call_id": "p1", "args": "{}"}],
    },
    {
        "kind": "request",
        "parts": [
            {
                "part_kind": "tool-return",
                "tool_name": "discharge",
                "tool_call_id": "p1",
                "content": "The tool call was denied.",
                "outcome": "denied",
            }
        ],
    },
]
_NOTICE = {"messages": [autogen(1, "user", "TextMessage", ASKED)], "output_task_messages": True}
_SPOKEN = {"response": {"chat_message": autogen(2, "desk", "TextMessage", CHART), "inner_messages": []}, "name": "desk"}
AUTOGEN_TOPIC = [
    autogen_core(_NOTICE, None, "RoundRobinGroupChatManager", stage="SEND", kind="DIRECT"),
    autogen_core({}, "RoundRobinGroupChatManager", "desk", stage="SEND", kind="PUBLISH"),
    autogen_core(_SPOKEN, "desk", "group_topic", stage="SEND", kind="PUBLISH"),
    autogen_core({}, "RoundRobinGroupChatManager", "clerk", stage="SEND", kind="PUBLISH"),
]


def ag2(n: int, kind: str, **more: Any) -> Json:
    return {"at": f"2026-03-02T10:00:{n:02}+00:00", "kind": kind, **more}


def ag2_text(n: int, sender: str, text: str, audience: list[str] | None) -> Json:
    head = {"channel_id": "ch1", "created_at": f"2026-03-02T10:00:{n:02}+00:00", "depth": 0, "envelope_id": f"e{n}"}
    more = {"causation_id": None, "task_id": None, "trace_id": None, "event_type": "ag2.msg.text"}
    return {"audience": audience, **head, **more, "event_data": {"text": text}, "sender_id": sender}


AG2_CHANNEL = [
    *(ag2(0, "agent_registered", agent_id=f"a{n}", name=name) for n, name in enumerate(("desk", "clerk", "billing"))),
    ag2(1, "channel_created", channel_id="ch1", creator_id="a0", participants=["a0", "a1"]),
    ag2_text(2, "a0", CHART, None),
]


# -- What holds in all of them ---------------------------------------------------------------------------------------

NOT_MOVED = {
    "openai second of two": (OPENAI_HANDOFF, "billing", "transfer_to_billing"),
    "adk refused": (ADK_NO_EFFECT, "clerk", "transfer_to_agent"),
    "langgraph failed": (LANGGRAPH_NO_EFFECT, "clerk", None),
    "autogen failed": (AUTOGEN_NO_EFFECT, "clerk", "transfer_to_clerk"),
    "crewai not found": (CREW_NOT_FOUND, "clerk", "clerk"),
    "spans asked only": (SPANS_NO_EFFECT, "billing", None),
}


@pytest.mark.parametrize(("records", "target", "refused"), NOT_MOVED.values(), ids=NOT_MOVED)
def test_a_handoff_that_was_only_asked_for_reaches_nobody(
    tmp_path: Path, records: list[Json], target: str, refused: str | None
) -> None:
    told = load(tmp_path, records)
    assert not [g for g in told.got if g.delivered and g.to.lower() == target]
    assert not told.shown(target)
    assert {g.to for g in told.got if not g.delivered} == ({refused} if refused else set())


MOVED = {
    "openai": (OPENAI_HANDOFF, Got("C2", "Desk", "Ward Clerk", "declared")),
    "adk": (ADK_TRANSFER, Got("C2", "desk", "clerk", "declared")),
    "adk, next speaker": (ADK_EFFECT_ALONE, Got("C2", "desk", "clerk", "structural")),
    "langgraph": (LANGGRAPH_HANDOFF, Got("C2", "desk", "clerk", "declared")),
    "autogen": (AUTOGEN_HANDOFF, Got("C2", "desk", "clerk", "declared")),
}


@pytest.mark.parametrize(("records", "handoff"), MOVED.values(), ids=MOVED)
def test_whoever_takes_over_is_shown_the_history_and_sent_no_words(
    tmp_path: Path, records: list[Json], handoff: Got
) -> None:
    told = load(tmp_path, records)
    assert handoff in told.got
    assert any(CHART in text for text in told.shown(handoff.to))
    sent = [e["content"] for e in told.of("event") if handoff in recipients(e)]
    assert not any(CHART in text for text in sent)
    # Every word of an event stands in the record: nothing was made up, and the result was produced once.
    assert all(json.dumps(text, ensure_ascii=False)[1:-1] in told.text for text in sent if not text.startswith("{"))
    assert sum(CHART in e["content"] for e in told.of("event")) == 1


DENIED = {
    "openai rejected": (OPENAI_DENIED, Got("C3", "Desk", "discharge", "declared", delivered=False)),
    "openai waiting": (OPENAI_WAITING, Got("C3", "Desk", "discharge", "declared", delivered=False)),
    "openai guardrail": (OPENAI_SPANS_BLOCKED, Got("C1", "Desk", "user", "structural", delivered=False)),
    "adk rejected": (ADK_DENIED, Got("C3", "desk", "discharge", "declared", delivered=False)),
    "adk rows rejected": (ADK_ROWS_DENIED, Got("C3", "desk", "discharge", "declared", delivered=False)),
    "adk waiting": (ADK_WAITING, Got("C3", "desk", "discharge", "declared", delivered=False)),
    "pydantic-ai denied": (PYDANTIC_DENIED, Got("C3", "assistant", "discharge", "declared", delivered=False)),
}


@pytest.mark.parametrize(("records", "refused"), DENIED.values(), ids=DENIED)
def test_what_was_not_allowed_was_not_delivered(tmp_path: Path, records: list[Json], refused: Got) -> None:
    told = load(tmp_path, records)
    assert {g for g in told.got if not g.delivered} == {refused}
    assert all("not_delivered" in e["flags"] for e in told.of("event") if refused in recipients(e))
    assert not [e for e in told.of("event") if e["channel"] == "C4" and e.get("sender")]  # the tool said nothing


def test_what_was_allowed_in_the_end_was_delivered_once(tmp_path: Path) -> None:
    told = load(tmp_path, ADK_ALLOWED)
    assert {g for g in told.got if g.channel in ("C3", "C4")} == {
        Got("C3", "desk", "discharge", "declared"),
        Got("C4", "discharge", "desk", "declared"),
    }
    assert [e["content"] for e in told.of("event") if e["channel"] == "C4"] == ['{"result":"discharged"}']


GROUPS = {
    "ag2 members": (AG2_CHANNEL, {Got("C2", "desk", "clerk", "broadcast")}),
    "autogen topic": (AUTOGEN_TOPIC, {Got("C1", "desk", "clerk", "broadcast")}),
    "autogen stream": (AUTOGEN_TEAM, set()),
}


@pytest.mark.parametrize(("records", "heard"), GROUPS.values(), ids=GROUPS)
def test_a_group_hears_what_is_said_where_its_members_are_recorded(
    tmp_path: Path, records: list[Json], heard: set[Got]
) -> None:
    told = load(tmp_path, records)
    (said,) = [e for e in told.of("event") if e["content"] == CHART]
    assert {g for g in recipients(said) if g.to != "user"} == heard
    assert not {g for g in told.got if g.grade == "broadcast"} - heard


AS_TOOLS = {
    "openai, named beside the call": (OPENAI_DECLARED, "Desk", "Chart Clerk", "declared"),
    "openai, an agent of the run": (OPENAI_ALIAS, "Desk", "Billing Office", "structural"),
    "openai hooks, starts inside": (OPENAI_HOOKS_TWICE_INSIDE, "Desk", "Clerk", "structural"),
    "openai hooks, starts inside of that": (OPENAI_HOOKS_TWICE_INSIDE, "Clerk", "Archive", "structural"),
    "openai spans, its run below": (OPENAI_SPANS_AS_TOOL, "Desk", "Chart Clerk", "structural"),
    "adk, speaks elsewhere": (ADK_AS_TOOL, "desk", "clerk", "structural"),
    "spans, its run below": (SPANS_AS_TOOL, "desk", "clerk", "structural"),
    "crewai, named in the call": (CREW_DELEGATED, "desk", "clerk", "declared"),
}


@pytest.mark.parametrize(("records", "caller", "callee", "grade"), AS_TOOLS.values(), ids=AS_TOOLS)
def test_an_agent_behind_a_tool_is_asked_and_answers(
    tmp_path: Path, records: list[Json], caller: str, callee: str, grade: str
) -> None:
    told = load(tmp_path, records)
    assert Got("C2", caller, callee, grade) in told.got
    assert {(g.sender, g.to) for g in told.got if g.channel == "C2"} >= {(caller, callee), (callee, caller)}
    tools = {a["name"] for a in told.of("actor") if a["kind"] == "tool"}
    assert not {g for g in told.got if g.channel in ("C3", "C4")} - {g for g in told.got if tools & {g.to, g.sender}}
    assert sum(CHART in e["content"] for e in told.of("event")) == 1


TOOLS = {
    "openai": (OPENAI_PLAIN_TOOL, "Desk", "ask_clerk"),
    "adk": (ADK_AS_TOOL, "desk", "ask_billing"),
    "spans": (SPANS_PLAIN_TOOL, "desk", "ask_clerk"),
}


@pytest.mark.parametrize(("records", "caller", "tool"), TOOLS.values(), ids=TOOLS)
def test_a_tool_that_sounds_like_an_agent_stays_a_tool(
    tmp_path: Path, records: list[Json], caller: str, tool: str
) -> None:
    told = load(tmp_path, records)
    assert {(g.channel, g.sender, g.to) for g in told.got if tool in (g.sender, g.to)} == {
        ("C3", caller, tool),
        ("C4", tool, caller),
    }


def test_an_agent_of_two_names_is_one_recipient(tmp_path: Path) -> None:
    graph = load(tmp_path, LANGGRAPH_ALIAS)
    assert [a["aliases"] for a in graph.of("actor") if a["name"] == "clerk"] == [["ward_clerk"]]
    assert {g for g in graph.got if g.channel == "C2"} == {
        Got("C2", "desk", "clerk", "declared"),
        Got("C2", "clerk", "desk", "structural"),
    }
    items = load(tmp_path, OPENAI_ALIAS)
    assert "billing_office" not in {a["name"] for a in items.of("actor")}
    assert {g.to for g in items.got if g.sender == "Desk"} == {"Billing Office"}


CONSUMED = {
    "openai, tool result": (OPENAI_HANDOFF, Got("C4", "read_chart", "Ward Clerk", "consumed")),
    "adk, tool result": (ADK_TRANSFER, Got("C4", "read_chart", "clerk", "consumed")),
    "langgraph, tool result": (LANGGRAPH_HANDOFF, Got("C4", "read_chart", "clerk", "consumed")),
    "langgraph, memory": (LANGGRAPH_SHARED, Got("C5", "desk", "clerk", "consumed")),
    "langgraph, artifact": (LANGGRAPH_SHARED, Got("C7", "desk", "clerk", "consumed")),
    "autogen, tool result": (AUTOGEN_HANDOFF, Got("C4", "read_chart", "clerk", "consumed")),
    "autogen, log": (AUTOGEN_THOUGHT, Got("C6", "desk", "clerk", "consumed")),
    "spans, tool result": (SPANS_CONSUMED, Got("C4", "read_chart", "clerk", "consumed")),
}


@pytest.mark.parametrize(("records", "reader"), CONSUMED.values(), ids=CONSUMED)
def test_whoever_is_shown_a_content_later_has_consumed_it(tmp_path: Path, records: list[Json], reader: Got) -> None:
    told = load(tmp_path, records)
    assert reader in told.got
    assert {g.to for g in told.got if g.grade == "consumed"} == {reader.to}
