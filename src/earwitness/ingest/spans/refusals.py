"""What frameworks answer in place of a tool's result: no tool ran, so none got the call and none said this."""

from earwitness.ingest.refusals import is_refusal
from earwitness.ingest.spans.ledger import Ledger, Produced
from earwitness.ingest.spans.tree import Node


def refuse(ledger: Ledger, call: Produced | None, result: str) -> bool:
    """Whether a result is a refusal; then the call that it answers reached nobody."""
    refused = is_refusal(result)
    if refused and call is not None:
        ledger.refuse(call)
    return refused


def call_of(ledger: Ledger, node: Node, arguments: str | None) -> Produced | None:
    """The event that told what a working span was given."""
    return ledger.find(arguments, under=node) if arguments is not None else None
