"""Outputs: what models and agents produced, each on its channel, once."""

from earwitness.ingest.spans.facts import Message, Part
from earwitness.ingest.spans.ledger import USER, Produced
from earwitness.ingest.spans.shown import show_messages, show_part
from earwitness.ingest.spans.speech import Route, route_of_call
from earwitness.ingest.spans.telling import Open, Telling, to_one, to_route
from earwitness.ingest.spans.texts import fingerprint, says_nothing
from earwitness.ingest.spans.tree import Node, of_logs
from earwitness.schema.model import Delivery
from earwitness.schema.words import Channel


def repeats(t: Telling, node: Node) -> bool:
    """Whether a span repeats what spans below it said: everything but the innermost record of a model call."""
    return node.role != "llm" or t.plan.heard(node)


def say(t: Telling, node: Node) -> None:
    """Tell what a span produced."""
    messages = node.facts.outputs if node.facts else ()
    state = any(m.role in ("user", "system") for m in messages)
    for message in messages:
        if message.role in ("user", "system") or (state and t.plan.heard(node)):
            show_messages(t, node, (message,))
        else:
            _say_message(t, node, message)


def say_transcript(t: Telling, node: Node) -> None:
    """Tell a copy of a whole conversation: copies of what was told, and news where no model call told it."""
    heard = t.plan.heard(node)
    for message in node.facts.transcript if node.facts else ():
        if heard or message.role != "assistant":
            show_messages(t, node, (message,))
        else:
            _say_message(t, node, message)


def _say_message(t: Telling, node: Node, message: Message) -> None:
    for part in message.parts:
        if part.kind == "tool_call":
            _say_call(t, node, part)
        elif not part.text.strip():
            continue
        elif part.kind == "tool_response":
            show_part(t, node, "tool", part)
        elif part.kind == "reasoning":
            _say_thought(t, node, message, part)
        elif part.kind in ("blob", "reference"):
            _say_file(t, node, message, part)
        else:
            _say_text(t, node, message, part)


def _message_key(message: Message, part: Part) -> str | None:
    return f"{message.id}:{part.kind}:{fingerprint(part.text).hex()}" if message.id else None


def _keys(message: Message, part: Part) -> tuple[tuple[str, str], ...]:
    key = _message_key(message, part)
    return (("message", key),) if key else ()


def _ahead(t: Telling, node: Node, part: Part) -> bool:
    """A wrapping span that stands before the model call it wraps."""
    return node.role != "llm" and t.plan.comes_from_model(node, part)


def _copy(t: Telling, node: Node, message: Message, part: Part) -> Produced | None:
    """The event that an output repeats: one with the id of its message, or one that a wrapping span wraps."""
    found = t.ledger.find_key("message", _message_key(message, part))
    if found or not repeats(t, node):
        return found
    found = t.ledger.find(part.text, under=node)
    if found is None and node.role == "workflow":
        found = t.ledger.find(part.text)
    if found is None and node.role == "agent" and node.agent:
        found = t.ledger.find(part.text, author=node.agent)
    if found is None and part.kind == "data":
        found = t.ledger.find_quoted(part.text, node)
    return found


def _say_thought(t: Telling, node: Node, message: Message, part: Part) -> None:
    told = _copy(t, node, message, part)
    if told or _ahead(t, node, part):
        t.ledger.sighting(node, part.text, "history", told.event if told else None)
        return
    keys = _keys(message, part)
    end = node.span.end
    t.ledger.event(node, "C6", part.text, name="reasoning", kind="reasoning", sender=node.agent, keys=keys, time=end)


def _say_file(t: Telling, node: Node, message: Message, part: Part) -> None:
    told = _copy(t, node, message, part)
    if told:
        t.ledger.sighting(node, part.text, "artifact", told.event)
    else:
        end = node.span.end
        t.ledger.event(node, "C7", part.text, name="file", kind="file", sender=node.agent, flags=part.flags, time=end)


def _say_text(t: Telling, node: Node, message: Message, part: Part) -> None:
    told = _copy(t, node, message, part)
    if told and not _goes_on(t, node, part, told):
        t.ledger.sighting(node, part.text, "history", told.event)
        return
    if told is None and _ahead(t, node, part):
        t.ledger.sighting(node, part.text, "history")
        return
    cut = node.role == "llm" and t.ledger.is_cut(part.text)
    if part.kind == "data" and node.role != "agent" and not cut:  # a framework's state holds copies by its nature
        t.ledger.sighting(node, part.text, "state")
        return
    if cut and part.kind == "data":  # calls and answers alike may have stood in what is gone
        t.ledger.lose("truncated", None, "messages cut by the exporter", node.span.place)
    channel, kind, to = _channel(t, node, part)
    if any(d.actor == USER for d in to) and channel == "C1":
        t.ledger.actor(USER, "user", "structural")
    keys = _keys(message, part)
    sender, end = node.agent, node.span.end
    t.ledger.event(node, channel, part.text, name="text", kind=kind, sender=sender, to=to, keys=keys, time=end)


def _goes_on(t: Telling, node: Node, part: Part, told: Produced) -> bool:
    """Whether words that were told before are given to somebody now: to the user, or as an answer to the caller."""
    key = fingerprint(part.text)
    if told.channel == "C4" and key in t.plan.answers.get(node, (None, ()))[1]:
        return True
    return told.channel != "C1" and key in t.plan.finals.get(node, ())


def _channel(t: Telling, node: Node, part: Part) -> tuple[Channel, str, tuple[Delivery, ...]]:
    """Where a text goes: to the user, back to the caller, to an agent that was seen reading it, or nowhere."""
    key = fingerprint(part.text)
    if key in t.plan.finals.get(node, ()):
        if _in_runtime(node):
            return "C2", "answer", ()
        # Of a model call that stands alone nobody can say who got the answer.
        alone = node.parent is None and node.role == "llm" and (node.agent is None or of_logs(node.span))
        return "C1", "final", () if alone else to_one(USER, "structural")
    caller, words = t.plan.answers.get(node, (None, set[bytes]()))
    if caller and key in words:
        return "C2", "answer", to_one(caller.agent, "structural")
    reader = t.plan.reader_of(part.text, node.agent) if node.agent and part.kind == "text" else None
    if reader:
        return "C2", "message", to_one(reader, "consumed")
    return "C6", "output" if part.kind == "data" else "intermediate", ()


def _in_runtime(node: Node) -> bool:
    """Inside what another part of the run set off, such as a delivery between actors: the words go back there."""
    return any(above.fed or "messaging.operation" in above.span.attributes for above in (node, *node.ancestors()))


def _say_call(t: Telling, node: Node, part: Part) -> None:
    """A call with a span is told there, where its tool is known; this is a copy of it, ahead of time."""
    again = repeats(t, node)
    span = t.calls.known(part.id) if again else t.calls.span_of(part)
    if part.caller:
        _note_program(t, part, span)
    if span and span.role != "handoff" and span.facts and span.facts.arguments is not None:
        if part.text:
            empty = span in t.plan.routes and says_nothing(span.facts.arguments)
            event = None if empty else f"{span.span.span_id}:arguments"
            t.ledger.sighting(node, part.text, "history", event, actor=t.program(part.id, span.span.span_id))
        return
    told = t.ledger.find_key("call", part.id) or (t.ledger.find(part.text, under=node) if again else None)
    if told or (again and (t.plan.heard(node) or _ahead(t, node, part))):
        t.ledger.sighting(node, part.text, "history", told.event if told else None)
        return
    route = t.plan.routes.get(span) if span else route_of_call(t.plan.agents, part.name, part.text, node.agent)
    if not (span and says_nothing(part.text)):
        _tell_call(t, node, part, route)
    if span is None and part.name:
        t.open[part.id or part.name] = Open(part.name, route)


def _note_program(t: Telling, part: Part, span: Node | None) -> None:
    """A call that a program makes, with a span of its own or without."""
    running = t.open.get(part.caller or "")
    for key in (part.id, span.span.span_id if span else None):
        if key:
            t.programs[key] = running.tool if running else "program"


def _tell_call(t: Telling, node: Node, part: Part, route: Route | None) -> None:
    if route is None and part.name:
        t.ledger.actor(part.name, "tool", "declared")
    t.ledger.event(
        node,
        "C2" if route else "C3",
        part.text,
        name="call",
        kind=("handoff_arguments" if route.kind == "handoff" else "request") if route else "tool_arguments",
        sender=t.program(part.id) or node.agent,
        to=to_route(route) if route else to_one(part.name, "declared"),
        keys=(("call", part.id),) if part.id else (),
        time=node.span.end,
        attributes={"recipient_evidence": route.evidence} if route else None,
    )
