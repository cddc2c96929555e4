"""Semantic Kernel chat messages: agent callbacks as JSON lines, chat histories and results as JSON.

Written by the user: `agent_response_callback`, `streaming_agent_response_callback` or `on_intermediate_message`
dumping each `ChatMessageContent` (`model_dump_json`), `ChatHistory.serialize()`, or `get_chat_messages()`; package
`semantic-kernel` 1.x for Python. Messages name their author and never a recipient, carry times only on model answers,
and no id of the run: files are joined by name, also with the log of a function filter, and told as one. What an agent
was shown, shared memory and artifacts are not recorded; memory and files appear as arguments of plugin functions. What
an agent did that others use as a plugin is not in their messages: a loss, unless a filter or its own messages tell it.
Histories of `AgentGroupChat` hold no calls at all, so that where there are none, none can be seen.

Obtained by: a callback that dumps each message, or `ChatHistory.serialize()`.
Versions tried: semantic-kernel 1.45.0 for Python.
Order: file order, files of a run joined at what they share; times on answers of models only.
"""

from typing import Any

from earwitness.ingest.kernelchat import is_message
from earwitness.ingest.kernelruns import Reader
from earwitness.ingest.record import Context


class _KernelMessages:
    NAME = "sk-messages"
    TITLE = "Semantic Kernel chat messages"
    PRIORITY = 45
    READER = "semantic-kernel"

    def sniff(self, value: Any) -> bool:
        return is_message(value) or _is_history(value)

    def open(self, context: Context) -> Reader:
        return Reader(context)


def _is_history(value: Any) -> bool:
    messages = value.get("messages") if isinstance(value, dict) else None
    return isinstance(messages, list) and bool(messages) and is_message(messages[0])


ADAPTER = _KernelMessages()
