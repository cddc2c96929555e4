"""Rows of Google ADK's BigQuery analytics plugin told, session by session.

An agent called as a tool runs in a session of its own. It belongs to the session in which a call of that agent
(`SUB_AGENT`) is open, with the words that the new session begins with.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from earwitness.ingest.adk_row import Row, Session, pieces
from earwitness.ingest.adk_words import ASKED
from earwitness.ingest.dialogue import USER, Dialogue
from earwitness.ingest.record import Emit, Skip
from earwitness.ingest.refusals import is_refusal
from earwitness.ingest.spans.identity import addressed, clean_name
from earwitness.ingest.spans.texts import as_text
from earwitness.schema.model import Delivery, Trace
from earwitness.schema.words import Channel, Flag, Grade

_OBSERVABLE: tuple[Channel, ...] = ("C1", "C2", "C3", "C4", "C5", "C6")
_SUB, _MOVE = "SUB_AGENT", "TRANSFER_AGENT"


class _Ask(NamedTuple):
    """An open call of an agent as a tool."""

    session: str
    caller: str | None
    agent: str
    words: str
    event: str


class Rows:
    """All sessions of an import; rows come in order of time."""

    def __init__(self) -> None:
        self._told: dict[str, Session] = {}
        self._asks: list[_Ask] = []
        self._ask_of: dict[str, _Ask] = {}

    def tell(self, row: Row) -> Iterator[Emit]:
        """Tell a row."""
        if row.session not in self._told:
            self._begin(row)
        session = self._told[row.session]
        tell = _TOLD.get(row.type)
        if row.session in self._ask_of:
            session.dialogue.excuse(row.agent)
        before = session.marks
        if tell:
            tell(self, session, row)
        session.trouble(row)
        if session.marks == before and row.type in _EMPTY:
            yield Skip("ignored", "a mark of the runtime", row.at.place)
        yield from session.dialogue.drain()

    def _begin(self, row: Row) -> None:
        words = _said(row)
        ask = next((a for a in reversed(self._asks) if a.agent == row.agent and words and words in a.words), None)
        if ask is None:
            head = Trace(id=row.session, framework="google-adk", observable=_OBSERVABLE)
            self._told[row.session] = Session(Dialogue(head, row.at))
        else:
            self._told[row.session] = self._told[ask.session]
            self._ask_of[row.session] = ask

    def finish(self) -> Iterator[Emit]:
        """What was held back."""
        for session in dict.fromkeys(self._told.values()):
            yield from session.ended()

    # -- one method a type of row --------------------------------------------------------------------------------

    def user(self, session: Session, row: Row) -> None:
        """A session begins a turn: with the user's words, or with those of the calling agent."""
        ask, words = self._ask_of.get(row.session), _said(row)
        session.release(None)
        session.marks += 1
        if ask:
            session.dialogue.sighting(row.agent, words, "history", row.at, ask.event)
        else:
            session.dialogue.request(words, row.at)

    def tool_asked(self, session: Session, row: Row) -> None:
        """A call: of a tool, of an agent, or for a transfer."""
        tool, given, origin = clean_name(row.get("tool")), as_text(row.get("args") or {}), row.get("tool_origin")
        session.release(row.agent, moving=origin == _MOVE)
        session.marks += 1
        if tool in ASKED:  # told by a row of its own
            return
        if origin == _SUB and tool:
            session.dialogue.actor(tool, "agent", "declared", row.at.place)
            session.dialogue.acts(row.agent, row.at.place)
            event = session.dialogue.event("C2", given, row.at, kind="request", sender=row.agent, to=(tool,))
            words = "\n".join([given, *[v for v in _values(row.get("args")) if isinstance(v, str)]])
            self._asks.append(_Ask(row.session, row.agent, tool, words, event))
        else:
            session.dialogue.call(row.agent, tool, given, row.at, _call_id(row), hold=True)

    def tool_answered(self, session: Session, row: Row) -> None:
        """A result."""
        tool, text, origin = clean_name(row.get("tool")), as_text(row.get("result")), row.get("tool_origin")
        session.release(row.agent)
        session.marks += 1
        if tool in ASKED:
            return
        if origin == _SUB and tool:
            self._asks = [a for a in self._asks if (a.session, a.agent) != (row.session, tool)]
            session.answer(tool, row.agent, text, row.at, "declared")
        elif origin != _MOVE:
            flags: tuple[Flag, ...] = ("failed",) if row.type == "TOOL_ERROR" else ()
            text = str(row.raw.get("error_message") or text) if flags else text
            session.dialogue.result(
                _call_id(row), text, row.at, agent=row.agent, tool=tool, flags=flags, denied=is_refusal(text)
            )

    def asked(self, session: Session, row: Row) -> None:
        """The user is shown something, and asked to allow it, to log in, or for words."""
        session.release(row.agent)
        session.marks += 1
        session.dialogue.acts(row.agent, row.at.place)
        session.dialogue.actor(USER, "user", "structural", row.at.place)
        text, to = as_text(row.get("args") or row.content), (Delivery(USER, "structural"),)
        session.dialogue.event("C1", text, row.at, kind="confirmation", sender=row.agent, to=to, remember=False)

    def replied(self, session: Session, row: Row) -> None:
        """What the user says to that; consent and credentials are kept from models."""
        session.release(row.agent)
        session.marks += 1
        text = as_text(row.get("result") if row.get("result") is not None else row.content)
        if row.type.startswith("HITL_INPUT"):
            session.dialogue.request(text, row.at)
        else:
            session.dialogue.sighting(None, text, "input", row.at)

    def moved(self, session: Session, row: Row) -> None:
        """A transfer took effect."""
        source, target = clean_name(row.get("from_agent")), clean_name(row.get("to_agent"))
        session.marks += 1
        call_id = session.dialogue.asking(source, lambda tool: tool == "transfer_to_agent")
        call = session.dialogue.open_call(call_id)
        # A row that names no target says that the call took effect, whose arguments name it.
        grade: Grade = "declared" if target else "structural"
        target = target or (addressed("transfer_to_agent", call.arguments) if call else None)
        history, words = row.session not in self._ask_of, session.beside()
        session.dialogue.handoff(call_id, target, row.at, agent=source, words=words, history=history, grade=grade)

    def model_asked(self, session: Session, row: Row) -> None:
        """What a model was shown; placeholders for calls and results say nothing."""
        session.marks += 1
        session.show(row.agent, row.get("system_prompt"), "initial", row.at)
        prompt = row.get("prompt")
        for item in prompt if isinstance(prompt, list) else []:
            text = item.get("content") if isinstance(item, dict) else item
            if isinstance(text, str) and not text.startswith("Function response: "):
                session.show(row.agent, text, "history", row.at)
        session.dialogue.acts(row.agent, row.at.place)

    def model_answered(self, session: Session, row: Row) -> None:
        """Texts and names of calls, flattened; where the texts went shows in the next row."""
        session.release(row.agent)
        session.marks += 1
        texts, calls = pieces(row.get("response"))
        session.hold(row.agent, texts, row.at, asks=bool(calls), cut=bool(row.raw.get("is_truncated")))

    def answered(self, session: Session, row: Row) -> None:
        """The answer of a session: to the user, or to the calling agent."""
        texts, _ = pieces(row.get("response"))
        text, ask = "\n".join(texts), self._ask_of.get(row.session)
        session.release(row.agent, but=texts)
        session.marks += 1
        if ask:
            # The row does not say who asked: it shows in the session that the call began.
            session.answer(row.agent, ask.caller, text, row.at, "structural")
        else:
            session.dialogue.say(row.agent, text, row.at)

    def wrote(self, session: Session, row: Row) -> None:
        """State written. What a called agent wrote comes again from each of its callers."""
        delta = row.attributes.get("state_delta")
        for key, value in delta.items() if isinstance(delta, dict) else ():
            session.marks += 1
            session.write(row.agent, key, as_text(value), row.at)

    def begun(self, session: Session, row: Row) -> None:
        """An agent's run begins with its instructions."""
        if isinstance(row.content, str):
            session.marks += 1
            session.show(row.agent, row.content, "initial", row.at)

    def noted(self, session: Session, row: Row) -> None:
        """Other rows with content."""
        session.release(row.agent)
        if row.content:
            session.marks += 1
            session.dialogue.think(row.agent, as_text(row.content), row.at, kind=row.type.lower())


def _values(given: Any) -> list[Any]:
    return list(given.values()) if isinstance(given, dict) else []


def _said(row: Row) -> str:
    """The words of a user's message: the parts, else their summary."""
    parts = row.raw.get("content_parts")
    parts = parts if isinstance(parts, list) else []
    texts = [p["text"] for p in parts if isinstance(p, dict) and isinstance(p.get("text"), str)]
    summary = row.get("text_summary")
    return "\n".join(texts) or (summary if isinstance(summary, str) else "")


def _call_id(row: Row) -> str:
    return str(row.raw.get("span_id") or f"{row.session}/{row.agent}/{row.get('tool')}")


_ASKS = ("CREDENTIAL", "CONFIRMATION", "INPUT")
_Tell = Callable[[Rows, Session, Row], None]
_TOLD: dict[str, _Tell] = {
    "USER_MESSAGE_RECEIVED": Rows.user,
    "AGENT_STARTING": Rows.begun,
    "LLM_REQUEST": Rows.model_asked,
    "LLM_RESPONSE": Rows.model_answered,
    "LLM_ERROR": Rows.noted,
    "TOOL_STARTING": Rows.tool_asked,
    "TOOL_COMPLETED": Rows.tool_answered,
    "TOOL_ERROR": Rows.tool_answered,
    "AGENT_TRANSFER": Rows.moved,
    "AGENT_RESPONSE": Rows.answered,
    "STATE_DELTA": Rows.wrote,
    **{f"HITL_{what}_REQUEST": Rows.asked for what in _ASKS},
    **{f"HITL_{what}_REQUEST_COMPLETED": Rows.replied for what in _ASKS},
}
_EMPTY = ("INVOCATION_STARTING", "INVOCATION_COMPLETED", "AGENT_STARTING", "AGENT_COMPLETED", "STATE_DELTA")
