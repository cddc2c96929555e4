"""Inputs: what an agent was shown. Copies of events become sightings of them; nothing here is new, but for the
result of a tool that has no span, which is seen for the first time when the model is shown it.
"""

from earwitness.ingest.spans.facts import Message, Part
from earwitness.ingest.spans.ledger import Produced
from earwitness.ingest.spans.refusals import refuse
from earwitness.ingest.spans.telling import Open, Telling, to_one
from earwitness.ingest.spans.texts import fingerprint, says_nothing
from earwitness.ingest.spans.tree import Node
from earwitness.schema.words import SightingKind


def show(t: Telling, node: Node) -> None:
    """Tell what a span was shown."""
    facts = node.facts
    if facts is None or not (facts.inputs or facts.instructions):  # as of most spans
        return
    for text in facts.instructions:
        t.ledger.sighting(node, text, "initial")
    show_messages(t, node, facts.inputs)


def show_messages(t: Telling, node: Node, messages: tuple[Message, ...]) -> None:
    """Tell the messages that a span was shown."""
    for message in messages:
        for part in message.parts:
            if part.text.strip():
                show_part(t, node, message.role, part)


def show_copies(t: Telling, node: Node) -> None:
    """Tell the raw copies of what the span already said in parts."""
    for text in node.facts.copies if node.facts else ():
        t.ledger.sighting(node, text, "history")


def show_part(t: Telling, node: Node, role: str, part: Part) -> None:
    """Tell one part of a message that a span was shown."""
    if part.kind == "tool_response":
        _show_result(t, node, part)
    elif part.kind == "tool_call":
        told = t.ledger.find_key("call", part.id) or t.ledger.find(part.text)
        t.ledger.sighting(node, part.text, "history", _event(told), actor=t.program(part.id))
    elif part.kind in ("blob", "reference"):
        _show_file(t, node, part)
    elif role == "system":
        t.ledger.sighting(node, part.text, "initial")
    elif role == "user":
        _show_request(t, node, part)
    else:
        told = t.ledger.find(part.text, author=node.agent) or t.ledger.find(part.text)
        t.ledger.sighting(node, part.text, "history", _event(told))


def _event(told: Produced | None) -> str | None:
    return told.event if told else None


def _show_file(t: Telling, node: Node, part: Part) -> None:
    if part.kind == "reference":
        t.ledger.lose("reference", None, "a file kept elsewhere", node.span.place)
    t.ledger.sighting(node, part.text, "artifact", _event(t.ledger.find(part.text)))


def _show_request(t: Telling, node: Node, part: Part) -> None:
    """Words of the user, or of the agent that called this one."""
    key = fingerprint(part.text)
    told = t.ledger.find(part.text)
    called = t.requests.pop(node.owner, None) if node.owner else None
    if called:
        t.asked[(node.agent, key)] = called
    event = t.asked.get((node.agent, key)) or _event(told)
    if event:
        t.ledger.sighting(node, part.text, "history", event)
        return
    known = t.given.setdefault(node.agent, set())
    inner = known or node.judging or part.kind == "data"
    kind: SightingKind = "history" if key in known else "input" if inner else "initial"
    if part.kind != "data":
        known.add(key)
    t.ledger.sighting(node, part.text, kind)
    # A judge is given what it judges among words of its own.
    for words, judged in t.ledger.quoted_in(part.text) if node.judging else ():
        t.ledger.sighting(node, words, "input", judged)


def _show_result(t: Telling, node: Node, part: Part) -> None:
    span = t.calls.known(part.id)
    told = t.ledger.find_key("result", part.id) or t.ledger.find_key("result-of", span.span.span_id if span else None)
    told = told or (None if span else t.ledger.find(part.text))
    waiting = t.open.pop(part.id or part.name or "", None) or _open_by_name(t, part)
    if waiting and refuse(t.ledger, t.ledger.find_key("call", part.id), part.text):
        _tell_result(t, node, part, None, answer=False)
    elif told or says_nothing(part.text) or (span and span.role != "tool"):
        # What a program was given its agent is not shown, though the provider is sent it with the history.
        t.ledger.sighting(node, part.text, "history", _event(told), actor=t.program(part.id))
    elif waiting and waiting.route and waiting.route.kind != "handoff":  # of a handoff it is no answer
        _tell_result(t, node, part, waiting.route.to[0], answer=True)
    elif waiting or span:
        tool = waiting.tool if waiting else (span.facts.tool if span and span.facts else None)
        _tell_result(t, node, part, tool, answer=False)
    else:
        t.ledger.sighting(node, part.text, "history")


def _open_by_name(t: Telling, part: Part) -> Open | None:
    """The call of a result whose id was made up for each message anew: `<tool>_<number>`."""
    tool, _, number = (part.id or "").rpartition("_")
    found = [key for key, call in t.open.items() if call.tool == tool] if number.isdecimal() else []
    return t.open.pop(found[0]) if len(found) == 1 else None


def _tell_result(t: Telling, node: Node, part: Part, sender: str | None, *, answer: bool) -> None:
    """The first record of what a tool, or an agent called as one, gave back."""
    t.ledger.event(
        node,
        "C2" if answer else "C4",
        part.text,
        name="result",
        kind="answer" if answer else "tool_result",
        sender=sender,
        to=to_one(t.program(part.id) or node.agent, "structural"),
        keys=(("result", part.id),) if part.id else (),
    )
