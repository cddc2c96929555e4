"""What frameworks answer an agent in place of a result, where a call was not made: it went to nobody.

There is no such tool, somebody forbade the call, it was made as often as it may be, or the framework found that its
arguments do not fit before it gave them to the tool. Readers of one framework's own format know its words better; these
are for formats that recordings of any framework come in.
"""

import re
from collections.abc import Iterable

from msgspec.structs import replace

from earwitness.schema.model import Delivery, Event

# Some write the answer into an object: of one field, or, Google ADK's plugin that asks the model to try again, of more.
_AGAIN = r'''"response_type":\s*"ERROR_HANDLED_BY_REFLECT_AND_RETRY_PLUGIN",[^{}]*?"error_details"'''
_START = rf"""\s*(?:\{{\s*(?:{_AGAIN}|"(?:error|result|output|content)"):\s*")?"""
_END = r"""\s*(?:"\s*\}\s*)?$"""
_WAITING = r"This tool call requires confirmation, please approve or reject\."
_TRIED = r"(?:Error executing tool: |I encountered an error while trying to use the tool\. This was the error: )?"
_WORDS = (
    # Anthropic, for a tool of its own
    r'\{"type": ?"\w+_tool_result_error", ?"error_code": ?"max_uses_exceeded"',
    # AutoGen and AG2
    r"Error: tool '[^'\n]*' not found in any",
    r"Error: The tool '[^'\n]*' is not available\.",
    rf"Error: Function \S* not found\.{_END}",
    r"USER INTERRUPTED$",
    r"Code execution was not approved\. Reason: ",
    # CrewAI
    r"Tool execution blocked by hook\. Tool: ",
    r"Tool '[^'\n]*' has reached its (?:usage limit of \d+ times|maximum usage limit) and cannot be used anymore",
    r"Error: the Action Input is not a valid key, value dictionary\.",
    rf"{_TRIED}(?:Tool '[^'\n]*' a|A)rguments validation failed: \d+ validation errors? for ",
    rf"{_TRIED}Failed to parse arguments as JSON: ",
    # Google ADK: a human said no, or has yet to say; there is no such tool
    r"This tool call is rejected\.",
    _WAITING,
    r"Tool '[^'\n]+' not found\.(?:\n|\\n)Available tools:",
    r"Invoking `[^`\n]+` failed (?:as the following mandatory input parameters are not present|"
    r"due to argument validation errors):(?:\n|\\n)",
    # LangChain
    r"User rejected the tool call",
    r"Tool call limit exceeded\. Do not ",
    r"Error: \S+ is not a valid tool, try one of \[",
    # LlamaIndex
    rf"Tool \S* not found\. Please select a tool that is available\.{_END}",
    # OpenAI Agents
    rf"Tool execution was not approved\.{_END}",
    r"Multiple handoffs detected, ignoring this one\.",
    r"An error occurred while running the tool\. Please try again\. Error: Invalid JSON input for tool ",
    r"An error occurred while parsing tool arguments\. Please try again with valid JSON\.",
    # Pydantic-AI
    r"Unknown tool name: ",
    rf"The tool call was denied\.{_END}",
    # Semantic Kernel
    r"The tool call with name `[^`]*` is not part of the provided tools, please try again",
    r"The tool call arguments are malformed\. Arguments must be in JSON format\. Please try again\.",
    r"There are `\d+` tool call arguments required and only `\d+` received\. The required arguments are: ",
    r"(?:(?:Missing required|Received unexpected) argument\(s\): \[[^\]\n]*\]\. ){1,2}"
    r"Please revise the arguments to match the function signature\.",
    # Vercel AI SDK
    r'\{"type": ?"execution-denied"',
    r"(?:AI_NoSuchToolError: )?Model tried to call unavailable tool '[^'\n]*'\. (?:No|Available) tools",
    r"(?:AI_InvalidToolInputError: )?Invalid input for tool \S+: (?:JSON parsing|Type validation) failed: ",
)
_REFUSED = re.compile(f"{_START}(?:{'|'.join(_WORDS)})")
_WAITS = re.compile(f"{_START}{_WAITING}")
# CrewAI's tool for asking coworkers, where there is none of that name, and where the work of one failed.
_NO_COWORKER, _NOT_DONE = "Error executing tool. coworker mentioned not found", "Error executing task with agent '"


def is_refusal(text: str) -> bool:
    """Whether an answer says that a call was not made."""
    return _REFUSED.match(text) is not None


def is_waiting(text: str) -> bool:
    """Whether an answer says that a human has yet to say whether a call is made."""
    return _WAITS.match(text) is not None


def is_unasked(text: str) -> bool:
    """Whether the agent that a call was meant for was not asked."""
    return is_refusal(text) or text.strip().startswith(_NO_COWORKER)


def is_of_asked(text: str) -> bool:
    """Whether the answer to a call of an agent is one of that agent, and not of the tool that asks it."""
    return not (is_unasked(text) or text.startswith(_NOT_DONE))


def to_nobody(to: Iterable[str | Delivery]) -> tuple[Delivery, ...]:
    """Recipients that something was meant for and that did not get it."""
    meant = (Delivery(d) if isinstance(d, str) else d for d in to)
    return tuple(Delivery(d.actor, d.grade, delivered=False) for d in meant)


def unmade(event: Event) -> Event:
    """The event of a call that was not made: it reached nobody."""
    return replace(event, to=to_nobody(event.to), flags=(*event.flags, "not_delivered"))
