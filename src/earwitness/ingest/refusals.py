"""What frameworks answer an agent in place of a result, where a call was not made: it went to nobody.

There is no such tool, somebody forbade the call, or it was made as often as it may be. Readers of one framework's own
format know its words better; these are for formats that recordings of any framework come in.
"""

import re

_WORDS = (
    # AutoGen and AG2
    r"Error: tool '[^']*' not found in any workbench",
    r"Error: The tool '[^']*' is not available\.",
    r"Error: Function \S* not found\.$",
    r"USER INTERRUPTED$",
    r"Code execution was not approved\. Reason: ",
    # CrewAI
    r"Tool execution blocked by hook\. Tool: ",
    r"Tool '[^'\n]*' has reached its (?:usage limit of \d+ times|maximum usage limit) and cannot be used anymore",
    # LangChain
    r"User rejected the tool call",
    r"Tool call limit exceeded\. Do not ",
    r"Error: \S+ is not a valid tool, try one of \[",
    # LlamaIndex
    r"Tool \S* not found\. Please select a tool that is available\.$",
    # OpenAI Agents
    r"Tool execution was not approved\.$",
    # Pydantic-AI
    r"Unknown tool name: ",
    r"The tool call was denied\.$",
    # Semantic Kernel
    r"The tool call with name `[^`]*` is not part of the provided tools, please try again",
    # Vercel AI SDK
    r'\{"type": ?"execution-denied"',
)
_REFUSED = re.compile("|".join(_WORDS))
# CrewAI's tool for asking coworkers, where there is none of that name, and where the work of one failed.
_NO_COWORKER, _NOT_DONE = "Error executing tool. coworker mentioned not found", "Error executing task with agent '"


def is_refusal(text: str) -> bool:
    """Whether an answer says that a call was not made."""
    return _REFUSED.match(text) is not None


def is_unasked(text: str) -> bool:
    """Whether the agent that a call was meant for was not asked."""
    return is_refusal(text) or text.strip().startswith(_NO_COWORKER)


def is_of_asked(text: str) -> bool:
    """Whether the answer to a call of an agent is one of that agent, and not of the tool that asks it."""
    return not (is_unasked(text) or text.startswith(_NOT_DONE))
