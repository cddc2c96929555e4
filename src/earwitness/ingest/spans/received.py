"""Messages of a runtime between actors: the span of a delivery holds the message, its sender and its recipient."""

from earwitness.ingest.spans.facts import Message, Part
from earwitness.ingest.spans.telling import Telling, to_one
from earwitness.ingest.spans.tree import Node


def receive(t: Telling, node: Node) -> None:
    """Tell the messages that the agent of a span received; of a span without agent the texts are copies."""
    for message in node.facts.received if node.facts else ():
        for part in message.parts:
            if part.text.strip():
                _receive(t, node, message, part)


def _receive(t: Telling, node: Node, message: Message, part: Part) -> None:
    told = t.ledger.find_message(part.text, message.name)
    told = told or t.ledger.find(part.text, author=message.name) or t.ledger.find(part.text)
    # Whoever passes on what a tool gave him says it himself.
    relayed = told and part.kind == "text" and node.agent and told.channel in ("C3", "C4", "C5")
    if told and part.kind == "text" and node.agent and message.role == "assistant":
        relayed = relayed or t.ledger.is_message(told, by_another_than=message.name)
    if told and not relayed:
        if part.kind == "text" and node.agent:
            t.ledger.deliver(told, message.name, node.agent)
        t.ledger.sighting(node, part.text, "history", told.event)
    elif part.kind == "tool_call":
        _call(t, node, message, part)
    elif part.kind == "tool_response":
        to = to_one(message.name, "declared")
        t.ledger.event(node, "C4", part.text, name="result", kind="tool_result", sender=part.name, to=to)
    elif message.role == "user":
        t.ledger.sighting(node, part.text, "initial")
    elif node.agent:
        to = to_one(node.agent, "declared")
        t.ledger.event(node, "C2", part.text, name="message", kind="message", sender=message.name, to=to)
    else:
        t.ledger.sighting(node, part.text, "state")


def _call(t: Telling, node: Node, message: Message, part: Part) -> None:
    if part.name:
        t.ledger.actor(part.name, "tool", "declared")
    to = to_one(part.name, "declared")
    t.ledger.event(node, "C3", part.text, name="call", kind="tool_arguments", sender=message.name, to=to)
