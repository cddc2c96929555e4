"""Tools, retrievers, memories, guardrails and handoffs: spans in which somebody is asked and answers."""

from earwitness.ingest.refusals import is_of_asked, is_unasked, to_nobody
from earwitness.ingest.spans.facts import Facts
from earwitness.ingest.spans.identity import hands_off
from earwitness.ingest.spans.quoted import is_quotation
from earwitness.ingest.spans.refusals import call_of, refuse
from earwitness.ingest.spans.speech import Route, first_input, next_run
from earwitness.ingest.spans.telling import Telling, to_one, to_route
from earwitness.ingest.spans.texts import says_nothing
from earwitness.ingest.spans.tree import Node, callees
from earwitness.schema.model import Delivery
from earwitness.schema.words import Channel, SightingKind

WORKERS = ("tool", "retriever", "memory", "handoff", "guardrail")


def ask(t: Telling, node: Node) -> None:
    """Tell what a working span was given."""
    facts, route = node.facts, t.plan.routes.get(node)
    assert facts is not None
    if node in t.plan.twins:
        _repeat(t, node, facts.arguments, "arguments")
    elif facts.role == "guardrail":
        _judge(t, node, facts)
    elif facts.role == "memory":
        _remember(t, node, facts)
    elif route is None:
        _use(t, node, facts)
    else:
        _address(t, node, facts, route)


def answer(t: Telling, node: Node) -> None:
    """Tell what a working span gave back."""
    facts, route = node.facts, t.plan.routes.get(node)
    assert facts is not None
    if node in t.plan.twins:
        _repeat(t, node, facts.result, "result")
        return
    if facts.role == "guardrail":
        return
    if facts.role == "memory":
        _recall(t, node, facts)
    elif route and route.kind == "delegation":
        _answer_caller(t, node, facts, route)
    elif not (route and says_nothing(facts.result)):
        _give_back(t, node, facts)


def _repeat(t: Telling, node: Node, text: str | None, what: str) -> None:
    """The second record of a call is a copy of the first."""
    if text:
        t.ledger.sighting(node, text, "history", f"{t.plan.twins[node].span.span_id}:{what}")


def _use(t: Telling, node: Node, facts: Facts) -> None:
    """A plain tool or a retriever: the arguments go to it."""
    if facts.tool:
        t.ledger.actor(facts.tool, "tool", "declared")
    if facts.arguments is None:
        if facts.role != "handoff":
            t.ledger.lose("content_missing", "C3", "tool call without arguments", node.span.place)
        return
    kind = "query" if facts.role == "retriever" else "tool_arguments"
    to = to_one(facts.tool, "declared")
    if node.span.failed and hands_off(facts.tool):  # control never passed: the words reached nobody
        to = to_nobody(to)
    _tell_arguments(t, node, facts, "C3", kind, to=to)


def _address(t: Telling, node: Node, facts: Facts, route: Route) -> None:
    """A call that goes to agents: the arguments are words said to them, a handoff passes on more than those."""
    for name in route.to:
        t.ledger.actor(name, "agent", route.evidence)
    handoff = route.kind == "handoff"
    if facts.arguments is not None and not (handoff and says_nothing(facts.arguments)):
        kind = "handoff_arguments" if handoff else "request"
        to = to_route(route)
        if facts.result is not None and is_unasked(facts.result):
            to = to_nobody(to)
        event = _tell_arguments(t, node, facts, "C2", kind, to=to, evidence=route.evidence)
        for run in [] if handoff else [*callees(t.tree, node), node]:
            t.requests[run] = event
    elif handoff:
        _hand_over(t, node, facts, route)


def _tell_arguments(
    t: Telling,
    node: Node,
    facts: Facts,
    channel: Channel,
    kind: str,
    *,
    to: tuple[Delivery, ...],
    evidence: str | None = None,
) -> str:
    return t.ledger.event(
        node,
        channel,
        facts.arguments or "",
        name="arguments",
        kind=kind,
        sender=t.program(facts.call_id, node.span.span_id) or facts.handoff_from or node.agent,
        to=to,
        keys=(("call", facts.call_id),) if facts.call_id else (),
        flags=() if all(d.delivered for d in to) else ("not_delivered",),
        attributes={"recipient_evidence": evidence} if evidence else None,
    )


def _hand_over(t: Telling, node: Node, facts: Facts, route: Route) -> None:
    """A handoff without arguments: the words handed over are what the next agent is given to do.

    Of its first input only that is new: history that comes with it is exposure, which its sightings tell. Where no
    words are recorded, the act stays. A run that a runtime set off was given its input by the runtime.
    """
    run = next_run(t.tree, node, route.to[0]) if route.to else None
    words = [] if run is None or run.top is not node.top else _words(t, run)
    t.ledger.event(
        node,
        "C2",
        "\n".join(words) or node.span.name,
        name="handoff",
        kind="handoff",
        sender=facts.handoff_from or node.agent,
        to=to_route(route),
        attributes={"recipient_evidence": route.evidence} if route.to else None,
    )


def _words(t: Telling, run: Node) -> list[str]:
    words: list[str] = []
    for message in first_input(t.tree, run):
        for part in message.parts if message.role == "user" else ():
            control = part.kind == "tool_call" or (part.kind == "tool_response" and _is_control(t, part.id, part.name))
            news = part.kind != "blob" and not is_quotation(part.text)
            if not control and news and part.text.strip() and not t.ledger.find(part.text):
                words.append(part.text)
    return words


def _is_control(t: Telling, call_id: str | None, tool: str | None) -> bool:
    """Whether a result is only the acknowledgement of a handoff."""
    span = t.calls.known(call_id)
    route = t.plan.routes.get(span) if span else None
    opened = t.open.get(call_id or "")
    return hands_off(tool) or hands_off(opened.tool if opened else None) or bool(route and route.kind == "handoff")


def _give_back(t: Telling, node: Node, facts: Facts) -> None:
    """The result of a plain tool goes to the agent that called it."""
    if facts.result is None:
        if not node.span.failed and facts.role != "handoff":
            t.ledger.lose("content_missing", "C4", "tool call without result", node.span.place)
        return
    refused = refuse(t.ledger, call_of(t.ledger, node, facts.arguments), facts.result)
    t.ledger.event(
        node,
        "C4",
        facts.result,
        name="result",
        kind="documents" if facts.role == "retriever" else "tool_result",
        sender=None if refused else facts.tool,
        to=_asker(t, node, facts),
        keys=_result_keys(node, facts),
        flags=("failed",) if node.span.failed else (),
        time=node.span.end,
    )


def _asker(t: Telling, node: Node, facts: Facts) -> tuple[Delivery, ...]:
    """Who gets what a tool gave back: the program that called it, else the agent."""
    program = t.program(facts.call_id, node.span.span_id)
    return to_one(program or node.agent, "declared" if program or node.rung == "attribute" else "structural")


def _answer_caller(t: Telling, node: Node, facts: Facts, route: Route) -> None:
    """The answer of a called agent; a copy, where the agent's own words are recorded below."""
    if facts.result is None:
        return
    if not is_of_asked(facts.result):
        _give_back(t, node, facts)
        return
    told = t.ledger.find(facts.result, under=node)
    if told and told.channel == "C2":
        t.ledger.alias(told, _result_keys(node, facts))
        t.ledger.sighting(node, facts.result, "history", told.event, time=node.span.end)
        return
    t.ledger.event(
        node,
        "C2",
        facts.result,
        name="result",
        kind="answer",
        sender=route.to[0] if len(route.to) == 1 else None,
        to=to_one(node.agent, "declared" if node.rung == "attribute" else "structural"),
        keys=_result_keys(node, facts),
        flags=("failed",) if node.span.failed else (),
        time=node.span.end,
    )


def _result_keys(node: Node, facts: Facts) -> tuple[tuple[str, str], ...]:
    mine = ("result-of", node.span.span_id)
    return (mine, ("result", facts.call_id)) if facts.call_id else (mine,)


def _remember(t: Telling, node: Node, facts: Facts) -> None:
    """What an agent writes to a memory, or asks it."""
    if facts.tool:
        t.ledger.actor(facts.tool, "memory", "declared")
    words = facts.arguments or (facts.result if facts.writes else None)
    if words is None:
        return
    kind = "memory_write" if facts.writes else "memory_query"
    to = to_one(facts.tool, "declared")
    t.ledger.event(node, "C5", words, name="arguments", kind=kind, sender=node.agent, to=to)


def _recall(t: Telling, node: Node, facts: Facts) -> None:
    if facts.result is None or (facts.writes and facts.arguments is None):
        return
    t.ledger.event(
        node,
        "C5",
        facts.result,
        name="result",
        kind="memory_read",
        sender=facts.tool,
        to=to_one(node.agent, "structural"),
        keys=_result_keys(node, facts),
        time=node.span.end,
    )


def _judge(t: Telling, node: Node, facts: Facts) -> None:
    """A guardrail or an evaluator is a third party that reads what it judges; its verdict is a log."""
    if facts.tool:
        t.ledger.actor(facts.tool, "tool", "span_name")
    if facts.arguments:
        told = t.ledger.find(facts.arguments)
        kind: SightingKind = "history" if told else "input"
        t.ledger.sighting(node, facts.arguments, kind, told.event if told else None, actor=facts.tool)
    if facts.result:
        t.ledger.event(node, "C6", facts.result, name="verdict", kind="guardrail", sender=facts.tool)
