"""Messages that were told, found again by what their copies keep."""

from earwitness.ingest.langchain.calls import Said
from earwitness.ingest.langchain.messages import Msg
from earwitness.ingest.spans.texts import fingerprint


class Known:
    """The messages of one trace.

    Args:
        results: messages that answer calls, by the id of the call; shared with the calls.
    """

    def __init__(self, results: dict[str, Said]) -> None:
        self._results = results
        self._by_id: dict[str, Said] = {}
        self._by_text: dict[tuple[str, bytes], Said] = {}

    def __len__(self) -> int:
        return len(self._by_text)

    def find(self, msg: Msg) -> Said | None:
        """The message that this one is a copy of: by the call it answers, by its id, or else by its text."""
        if msg.role == "tool" and msg.call_id in self._results:
            return self._results[msg.call_id]
        if msg.id and msg.id in self._by_id:
            return self._by_id[msg.id]
        said = self._by_text.get(_text_key(msg))
        return said if said and not (said.msg.id and msg.id) and _fits(said.msg, msg) else None

    def add(self, said: Said) -> None:
        """A message that is told now."""
        msg = said.msg
        if msg.id:
            self._by_id[msg.id] = said
        if msg.call_id and msg.role == "tool":
            self._results[msg.call_id] = said
        self._by_text[_text_key(msg)] = said

    def spoken(self, msg: Msg) -> Msg:
        """A message that was given to others as a human's, as what the agent said who signs it."""
        copy = self._by_id.get(msg.id or "") or self.find(Msg(role="ai", text=msg.text, name=msg.name))
        if copy and msg.id:
            self._by_id[msg.id] = copy
        return Msg(role="ai", text=msg.text, id=msg.id, name=msg.name)


def _text_key(msg: Msg) -> tuple[str, bytes]:
    silent = not msg.text.strip()
    calls = "".join(c.id or c.name + c.arguments for c in msg.calls) if silent else ""
    return msg.role + (msg.call_id or ""), fingerprint(msg.text) + calls.encode("utf-8", "surrogatepass")


def _fits(one: Msg, other: Msg) -> bool:
    """Two messages of one text are not copies if two agents sign them, make other calls, or say nothing."""
    names_differ = one.name and other.name and one.name != other.name
    calls_differ = one.calls and other.calls and [c.id for c in one.calls] != [c.id for c in other.calls]
    return not (names_differ or calls_differ) and bool(one.text.strip() or one.calls or one.call_id or one.thoughts)
