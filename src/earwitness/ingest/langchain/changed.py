"""Messages that say something else than they did: changed by a human or by a filter, or history of another trace."""

from typing import Any

from earwitness.ingest.langchain.calls import Calls
from earwitness.ingest.langchain.drafts import Asked, Said, To
from earwitness.ingest.langchain.index import Index
from earwitness.ingest.langchain.ledger import USER, Ledger
from earwitness.ingest.langchain.messages import Msg
from earwitness.ingest.record import Place
from earwitness.ingest.spans.texts import fingerprint


class Changed:
    """What of the messages of one trace is not as it was first told.

    Args:
        ledger: of the trace.
        calls: of the trace.
        told: ids of messages that other traces told; those of this one are added. None where there are no others.

    Attributes:
        callers: who made the calls that other traces told, by their ids.
    """

    def __init__(self, ledger: Ledger, calls: Calls, told: Index | None) -> None:
        self.ledger = ledger
        self.calls = calls
        self.callers: dict[str, str | None] = {}
        self._told = told
        self._shown = Index()

    def is_other(self, said: Said, msg: Msg) -> bool:
        """Whether a message of a known id says something else: somebody put other words in the place of its own."""
        spelt = hash(msg.text)
        if said.spelt == spelt or not msg.id or not said.has_id or said.role != msg.role or not msg.text.strip():
            return False
        if said.back or msg.piece or said.before:
            return False
        told = self.ledger.texts.text(said.kept)
        if not told.strip() or told in msg.text or msg.text in told or fingerprint(told) == fingerprint(msg.text):
            said.spelt = spelt  # a fuller copy, or a shorter one
            return False
        return True

    def show_other(self, number: int, msg: Msg, viewer: str | None, place: Place, time: Any) -> None:
        """What somebody was shown in the place of what was said."""
        key = (number, viewer, fingerprint(msg.text))
        if viewer and self._shown.get(key) is None:
            self._shown.put(key, 0)
            self.ledger.actor(viewer, "agent", "node")
            self.ledger.sighting(viewer, "history", msg.text, place, time=time)

    def is_before(self, msg: Msg) -> bool:
        """Whether another trace told a message: here it is history."""
        if self._told is None or msg.role not in ("ai", "tool") or not msg.id:
            return False
        told = self._told.get(msg.id) is not None
        self._told.put(msg.id, 0)
        return told

    def show_before(self, msg: Msg, author: str | None, viewer: str | None, place: Place, time: Any) -> None:
        """History of another trace: evidence of who was shown it."""
        self.callers.update((call.id, author) for call in msg.calls if call.id)
        for text in (msg.text, *msg.thoughts, *(call.arguments for call in msg.calls)):
            if viewer:
                self.ledger.actor(viewer, "agent", "node")
                self.ledger.sighting(viewer, "history", text, place, time=time)

    def edit(self, msg: Msg, place: Place, time: Any) -> None:
        """A copy of a message with other arguments for a call that nobody answered: a human changed it."""
        for call in msg.calls:
            number = self.calls.get(call.id)
            if number is not None and call.arguments:
                asked = self.calls.all[number]
                if asked.result is None and not asked.running:
                    self.calls.edit(call, place, time)

    def settle(self, structured: dict[int, Asked], ended: int | None) -> None:
        """Calls that were the answer itself: the one that ended the run went to the user."""
        for number, asked in structured.items():
            to: To = ((USER, "structural"),) if number == ended else ()
            self.ledger.address(self.ledger.drafts[asked.draft], "answer", ())
            self.ledger.settle(asked.draft, "final" if to else "answer", to, channel="C1" if to else "C2")
            self.ledger.actor(USER if to else None, "user", "structural")
            if not self.ledger.names(asked.tool):
                self.ledger.actors.pop(asked.tool, None)
