"""What frameworks answer in place of a tool's result: no tool ran, so none got the call and none said this."""

import re

from earwitness.ingest.spans.ledger import Ledger, Produced
from earwitness.ingest.spans.tree import Node

_REFUSED = re.compile(
    r"""\s*(?:\{\s*"(?:error|result|output|content)":\s*")?(?:"""
    # LangChain: a human, a limit, a tool that does not exist
    r"User rejected the tool call for |Tool call limit exceeded\. Do not |Error: \S+ is not a valid tool, try one of \["
    # OpenAI Agents SDK: a human, a second handoff
    r"|Tool execution was not approved\.|Multiple handoffs detected, ignoring this one\."
    # Google ADK: a human said no, or has yet to say
    r"|This tool call is rejected\.|This tool call requires confirmation, please approve or reject\."
    # AG2 and AutoGen: no such function
    r"|Error: Function \S+ not found\."
    r"|Error: The tool '[^'\n]+' is not available\.|Error: tool '[^'\n]+' not found in any"
    r")"
)


def is_refusal(text: str) -> bool:
    """Whether a result says that nothing was run."""
    return _REFUSED.match(text) is not None


def refuse(ledger: Ledger, call: Produced | None, result: str) -> bool:
    """Whether a result is a refusal; then the call that it answers reached nobody."""
    refused = is_refusal(result)
    if refused and call is not None:
        ledger.refuse(call)
    return refused


def call_of(ledger: Ledger, node: Node, arguments: str | None) -> Produced | None:
    """The event that told what a working span was given."""
    return ledger.find(arguments, under=node) if arguments is not None else None
