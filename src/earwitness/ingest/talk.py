"""Messages of the providers' APIs told as a dialogue: chat messages, items of the Responses API, Anthropic blocks.

Such lists name no agent but by `name`; who speaks is followed through handoffs. Until the first one it is the agent
the adapter names; after a later request of the user it may be any, so nobody is named.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from earwitness.ingest.dialogue import At, Dialogue
from earwitness.ingest.items import (
    APPROVAL,
    CallItem,
    OutputItem,
    call_item,
    is_hosted,
    is_nested_history,
    is_withheld,
    output_item,
)
from earwitness.ingest.refusals import is_refusal
from earwitness.ingest.spans.converse import failed_call
from earwitness.ingest.spans.facts import Message, Part
from earwitness.ingest.spans.identity import clean_name, hands_off
from earwitness.ingest.spans.messages import read_messages
from earwitness.ingest.spans.texts import loads
from earwitness.schema.words import Flag

ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function", "human", "model"})
ITEMS = frozenset(
    {
        *("function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "reasoning"),
        *("program", "program_output"),
    }
)
_GEMINI = frozenset(("text", "functionCall", "functionResponse", "inlineData", "fileData", "executableCode"))
_LONGEST_NAME = 1 << 10


def is_item(value: Any) -> bool:
    """Whether a value is an item of the Responses API that is no message."""
    if not isinstance(value, dict) or not isinstance(value.get("type"), str) or "role" in value:
        return False
    kind = value["type"]
    if kind == "reasoning":
        return isinstance(value.get("summary"), list)
    known = kind in ITEMS or kind.endswith("_call_output")
    return (known and isinstance(value.get("call_id"), str)) or (kind.endswith("_call") and "status" in value)


def is_message(value: Any) -> bool:
    """Whether a value is a message with a role."""
    if not isinstance(value, dict) or not isinstance(value.get("role"), str) or value["role"] not in ROLES:
        return False
    said = value.get("parts") if "messageId" not in value else None  # that of A2A has an adapter of its own
    return isinstance(value.get("content"), str | list) or isinstance(value.get("tool_calls"), list) or _has_parts(said)


def _has_parts(parts: Any) -> bool:
    """Whether these are parts as Gemini's API and the Vercel AI SDK have them."""
    if not isinstance(parts, list) or not parts or not isinstance(parts[0], dict):
        return False
    return "kind" not in parts[0] and ("type" in parts[0] or not _GEMINI.isdisjoint(parts[0]))


class Talk:
    """Messages and items, in order.

    Args:
        dialogue: what they become.
        agent: who speaks at first.
    """

    def __init__(self, dialogue: Dialogue, agent: str | None) -> None:
        self.dialogue = dialogue
        self.agent = agent
        self._moved = False
        self._failed: set[str] = set()
        self._unnamed: deque[tuple[str | None, str]] = deque()
        self._calls = 0
        self._callee: str | None = None
        self._refusals: set[str] = set()
        self._refused: set[str] = set()

    def refuses(self, texts: Iterable[str], calls: Iterable[str] = ()) -> None:
        """Texts that were given back for calls that were not made, and ids of such calls."""
        self._refusals.update(texts)
        self._refused.update(calls)

    def tell(
        self, raw: Any, at: At, *, agent: str | None = None, target: str | None = None, callee: str | None = None
    ) -> bool:
        """Tell a message or an item; False where it is neither.

        Args:
            raw: as recorded.
            at: where and when.
            agent: who the record says speaks.
            target: whom the record says control goes to.
            callee: the agent that the record says is behind the tool.
        """
        if not isinstance(raw, dict):
            return False
        self.agent, self._callee = agent or self.agent, callee
        if agent:
            self.dialogue.give_summary(agent)
        self._note_failures(raw.get("content"))
        messages = () if is_hosted(raw) else read_messages(raw, "assistant")
        for message in messages:
            self._message(message, raw, at, target)
        return bool(messages) or self._item(raw, at)

    def _note_failures(self, content: Any) -> None:
        for block in content if isinstance(content, list) else ():
            if not isinstance(block, dict):
                continue
            if block.get("is_error") is True or _is_error(block.get("content")):
                self._failed.add(str(block.get("tool_use_id")))
            elif failed := failed_call(block):
                self._failed.add(failed)

    def _message(self, message: Message, raw: dict[str, Any], at: At, target: str | None) -> None:
        name = clean_name(message.name)
        if message.role == "system":
            self._instruct(message, at)
        elif message.role == "user" and not self.dialogue.known_agent(name):
            self._ask(message, at)
        elif message.role == "assistant" and message.parts and is_nested_history(message.parts[0].text):
            self.dialogue.summed_up(message.parts[0].text, at)
        else:
            self.agent = name if name and message.role != "tool" else self.agent
            for part in _joined(message.parts):
                self._part(part, message, raw, at, target)

    def _instruct(self, message: Message, at: At) -> None:
        for part in message.parts:
            self.dialogue.instructions(self.agent, part.text, at)

    def _ask(self, message: Message, at: At) -> None:
        texts = [p for p in message.parts if p.kind in ("text", "data") and p.text.strip()]
        for part in message.parts:
            if part.kind == "tool_response":
                self._result(part, at, None)
            elif part.kind in ("blob", "reference"):
                self.dialogue.sighting(self.agent, part.text, "artifact", at)
        if texts:
            self.agent = None if self._moved else self.agent
            self.dialogue.request("\n".join(p.text for p in texts), at)

    def _part(self, part: Part, message: Message, raw: dict[str, Any], at: At, target: str | None) -> None:
        if part.kind == "tool_call":
            self._call(part, at)
        elif part.kind == "tool_response":
            self._result(part, at, target)
        elif part.kind == "reasoning":
            self.dialogue.think(self.agent, part.text, at, id=_real(message.id))
        elif part.kind in ("blob", "reference"):
            self.dialogue.acts(self.agent, at.place)
            self.dialogue.event("C7", part.text, at, kind="file", sender=self.agent, flags=part.flags)
        else:
            flags: tuple[Flag, ...] = ("truncated",) if raw.get("status") == "incomplete" else ()
            self.dialogue.say(self.agent, part.text, at, id=_real(message.id), flags=flags)

    def _call(self, part: Part, at: At) -> None:
        call_id = part.id
        if not call_id:
            self._calls += 1
            call_id = f"call-{self._calls}"
            self._unnamed.append((part.name, call_id))
        # Whether a call is a handoff shows in its result, whatever the tool is called.
        self.dialogue.call(self.agent, part.name, part.text, at, call_id, hold=True, caller=part.caller)
        if "not_delivered" in part.flags:
            self.dialogue.pause(call_id)
        self._delegate(call_id, at)

    def _delegate(self, call_id: str | None, at: At) -> None:
        if self._callee:
            self.dialogue.delegate(call_id, self._callee, "declared", at.place)

    def _result(self, part: Part, at: At, target: str | None) -> None:
        call_id = part.id if self.dialogue.open_call(part.id) or not self._unnamed else self._unnamed.popleft()[1]
        self._delegate(call_id, at)
        call = self.dialogue.open_call(call_id)
        target = target or _handed(part.text)
        if target:
            self._hand_over(call_id, target, at, call.agent if call else self.agent)
            return
        refused = call is not None and (hands_off(call.tool) or self._is_refusal(call_id, part.text))
        flags: tuple[Flag, ...] = ("failed",) if part.id in self._failed else ()
        flags += ("masked",) if is_withheld(part.text) else ()
        agent = None if call else self.agent
        self.dialogue.result(call_id, part.text, at, agent=agent, tool=part.name, flags=flags, denied=refused)

    def _hand_over(self, call_id: str | None, target: str, at: At, source: str | None) -> None:
        self.dialogue.handoff(call_id, target, at, agent=source)
        self.agent, self._moved = target, True
        self.dialogue.give_summary(target)

    def _is_refusal(self, call_id: str | None, text: str) -> bool:
        return text in self._refusals or call_id in self._refused or is_refusal(text)

    def _item(self, raw: dict[str, Any], at: At) -> bool:
        """A call of a tool that is no function, or what came of one."""
        if call := call_item(raw):
            self._hosted(call, at)
        elif output := output_item(raw):
            self._output(output, at)
        return call is not None or output is not None

    def _hosted(self, call: CallItem, at: At) -> None:
        """A tool of the provider's own holds call and result in one item; of others the result comes later."""
        if call.approval:
            self.dialogue.withdraw(call.approval)
        waits = call.result is None and call.answered_apart
        self.dialogue.call(self.agent, call.tool, call.arguments, at, call.id, hold=waits, caller=call.caller)
        if call.asks:
            self.dialogue.pause(call.id)
        if call.result is not None:
            flags: tuple[Flag, ...] = ("failed",) if call.failed else ()
            self.dialogue.result(call.id, call.result, at, agent=self.agent, tool=call.tool, flags=flags)

    def _output(self, output: OutputItem, at: At) -> None:
        call = self.dialogue.open_call(output.id)
        if output.kind == APPROVAL and not output.denied:
            return  # the call that follows repeats what was allowed
        denied = output.denied or self._is_refusal(output.id, output.text)
        flags: tuple[Flag, ...] = ("failed",) if output.failed and not denied else ()
        agent, tool = (None, None) if call else (self.agent, output.tool)
        self.dialogue.result(output.id, output.text, at, agent=agent, tool=tool, flags=flags, denied=denied)


def _is_error(content: Any) -> bool:
    """Whether a tool of the provider's gave back an error."""
    return isinstance(content, dict) and str(content.get("type")).endswith("_error")


def _joined(parts: tuple[Part, ...]) -> Sequence[Part]:
    """Texts of one message are one text, but for what was said after a tool of the provider's gave something back."""
    if len(parts) < 2:
        return parts
    back = next((n for n, p in enumerate(parts, 1) if p.kind == "tool_response"), 0)
    if back:
        return [*_joined(parts[: back - 1]), parts[back - 1], *_joined(parts[back:])]
    texts = [p for p in parts if p.kind in ("text", "data") and p.text.strip()]
    if len(texts) < 2:
        return parts
    whole = Part("text", "\n".join(p.text for p in texts))
    return [whole if p is texts[0] else p for p in parts if p is texts[0] or p not in texts]


def _real(item: str | None) -> str | None:
    """An item's id, unless it is the one that stands for none."""
    return None if item in (None, "__fake_id__") else item


def _handed(output: str) -> str | None:
    """The agent that the result of a handoff names: `{"assistant": name}`."""
    may_name = len(output) < _LONGEST_NAME and ("assistant" in output or "\\" in output)
    value = loads(output) if may_name else None
    return clean_name(value["assistant"]) if isinstance(value, dict) and value.keys() == {"assistant"} else None
