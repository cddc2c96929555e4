"""One session of AG2's runtime log: messages as they were received, group chats put together from their relays."""

import re
from dataclasses import dataclass, field
from typing import Any

from earwitness.ingest.ag2rows import BROKEN, Row
from earwitness.ingest.record import Place
from earwitness.ingest.refusals import is_refusal
from earwitness.ingest.spans.texts import as_text, fingerprint, loads
from earwitness.ingest.tale import Draft, Tale, named, said
from earwitness.schema.model import Delivery
from earwitness.schema.words import SightingKind

# What is answered where there is no such function, or its arguments could not be read.
_NO_JSON = re.compile(
    r"Error: .*\n\s*(?:The argument must be in JSON format|You argument should follow json format)\.\s*\Z", re.DOTALL
)
_MANAGER, _PROXY = "GroupChatManager", "UserProxyAgent"


@dataclass
class Session:
    """The rows of one session, in order.

    Attributes:
        tale: what is told of it.
        repeats: function calls that messages tell, too.
    """

    tale: Tale
    repeats: list[Place] = field(default_factory=list)
    _rows: list[Row] = field(default_factory=list)
    _classes: dict[str, str] = field(default_factory=dict)
    _asked: dict[bytes, str] = field(default_factory=dict)
    _callers: dict[str, tuple[str, str]] = field(default_factory=dict)
    _latest: dict[tuple[str, bytes], Draft] = field(default_factory=dict)
    _shown: Draft | None = None
    _n: int = 0

    def prepare(self, row: Row) -> None:
        """Take a row; what it says of classes and calls must be known before the first is told."""
        cls = row.value.get("agent_class", row.value.get("agent_class_name", row.value.get("class")))
        cls = row.value.get("agent_type", cls) if row.kind == "agent" else cls
        if row.name and isinstance(cls, str):
            self._classes.setdefault(row.name, cls)
        if row.kind == "event":
            for call in calls_of(row.state.get("message")):
                self._asked[_same(call["arguments"])] = call["name"]
        self._rows.append(row)

    def tell(self) -> None:
        """Tell all rows."""
        tellers = {
            "event": self._received,
            "completion": self._completed,
            "function": self._called,
            BROKEN: self._lost,
        }
        for row in self._rows:
            self._n += 1
            if row.kind == "agent":
                self._actor(row.name)
            else:
                tellers[row.kind](row)
        if self._shown:
            self._shown.kind = "final"

    def _lost(self, row: Row) -> None:
        self.tale.lose("content_missing", "C2", "a row whose state is no JSON", row.place)

    def _is(self, name: str | None, cls: str) -> bool:
        return name is not None and self._classes.get(name) == cls

    def _actor(self, name: str | None) -> str | None:
        if self._is(name, _MANAGER):
            return name
        return self.tale.actor(name, "user" if self._is(name, _PROXY) else "agent")

    def _received(self, row: Row) -> None:
        message, sender, recipient = row.state.get("message"), named(row.state.get("sender")), row.name
        message = {"content": message} if not isinstance(message, dict) else message
        relay = self._is(sender, _MANAGER)
        author = named(message.get("name")) if relay else sender
        self._actor(author)
        self._actor(recipient)
        hearer = None if self._is(recipient, _MANAGER) else recipient
        where = row.place.at("/json_state")
        for call in calls_of(message):
            self._ask(call, author, hearer if relay else None, row, where)
        results = results_of(message)
        for result in results:
            self._answer(result, author, hearer, row, where)
        text = said(message.get("content"))
        if text is not None and not results:
            self._say(text, author or sender, hearer, row, where)

    def _say(self, text: str, author: str | None, hearer: str | None, row: Row, where: Place) -> None:
        """A speaker's words; those that a user proxy gets are output, those it sends the user's request."""
        if self._is(author, _PROXY):
            if hearer:
                self.tale.sighting(where, text, hearer, "initial", time=row.time)
            return
        if self._is(hearer, _PROXY):
            self._show(text, author, hearer, row, where)
            return
        draft = self._draft("C2", text, author, row, where)
        if hearer:
            draft.reach([hearer], "declared")

    def _draft(self, kind: str, text: str, author: str | None, row: Row, where: Place) -> Draft:
        """The event of which this row is the first record, or one more delivery."""
        key = (f"{kind}:{author}", fingerprint(text))
        first = row.state.get("sender") == author
        if key not in self._latest or first:
            self._latest.pop((f"C1:{author}", key[1]), None)  # the words are said anew
            name = "message" if kind == "C2" else "shown_to_user"
            event = f"m{self._n}" if kind == "C2" else f"m{self._n}:{name}"
            self._latest[key] = self.tale.event(
                where, "C1" if kind == "C1" else "C2", text, key=event, kind=name, sender=author, time=row.time
            )
        return self._latest[key]

    def _show(self, text: str, author: str | None, hearer: str | None, row: Row, where: Place) -> None:
        self._shown = self._draft("C1", text, author, row, where)
        self._shown.reach([hearer or ""], "declared")

    def _ask(self, call: dict[str, str], author: str | None, hearer: str | None, row: Row, where: Place) -> None:
        """A tool call; relayed to a group, its arguments are words said to the others."""
        key = call["id"] or f"m{self._n}"
        self._callers.setdefault(key, (author or "", call["name"]))
        if key not in self.tale.drafts:
            to = (Delivery(self.tale.actor(call["name"], "tool") or "", "declared"),)
            self.tale.event(
                where, "C3", call["arguments"], key=key, kind="tool_arguments", sender=author, to=to, time=row.time
            )
        if hearer:
            self._share(f"{key}:shared", call["arguments"], "tool_call", author, hearer, row, where)

    def _share(self, key: str, text: str, kind: str, author: str | None, hearer: str, row: Row, where: Place) -> None:
        shared = self.tale.event(where, "C2", text, key=key, kind=kind, sender=author, time=row.time)
        shared.reach([hearer], "declared")

    def _answer(self, result: dict[str, str], author: str | None, hearer: str | None, row: Row, where: Place) -> None:
        """A tool's result belongs to who asked; whoever else gets it was told by who sent it."""
        key, text = result["id"] or f"m{self._n}", result["content"]
        caller, tool = self._callers.get(key, (author or "", ""))
        unmade = refuse_unmade(self.tale, key, text)
        self.tale.event(
            where,
            "C4",
            text,
            key=f"{key}:result",
            kind="tool_result",
            sender=None if unmade else self.tale.actor(named(tool), "tool"),
            to=(Delivery(caller, "declared"),) if caller else (),
            time=row.time,
            flags=("failed",) if unmade or text.startswith("Error:") else (),
            parent=key if key in self.tale.drafts else None,
        )
        if hearer and hearer != caller:
            self._share(f"{key}:result:shared", text, "tool_response", author, hearer, row, where)

    def _called(self, row: Row) -> None:
        """A function that ran; the messages around it mostly tell it better."""
        arguments = row.value.get("args", row.value.get("input_args"))
        text = said(arguments) or "{}"
        if _same(text) in self._asked:
            self.repeats.append(row.place)
            return
        tool = self.tale.actor(named(row.value.get("function_name")), "tool")
        agent, key = self._actor(row.name), f"f{self._n}"
        to = (Delivery(tool, "declared"),) if tool else ()
        self.tale.event(row.place, "C3", text, key=key, kind="tool_arguments", sender=agent, to=to, time=row.time)
        result = said(row.value.get("returns"))
        if result is not None:
            back = (Delivery(agent, "declared"),) if agent else ()
            key, kind = f"{key}:result", "tool_result"
            self.tale.event(row.place, "C4", result, key=key, kind=kind, sender=tool, to=back, time=row.time)

    def _completed(self, row: Row) -> None:
        """What an agent's model was shown."""
        for n, role, text in row.state:
            kind: SightingKind = "initial" if role == "system" else "input"
            where = row.place.at(f"/request/messages/{n}")
            self.tale.sighting(where, text, self._actor(row.name), kind, time=row.time)


def refuse_unmade(tale: Tale, call: str, answer: str) -> bool:
    """Whether an answer says that no function ran; then nobody got what the call held."""
    unmade = is_refusal(answer) or _NO_JSON.match(answer) is not None
    if unmade and call in tale.drafts:
        tale.drafts[call].refuse()
    return unmade


def _same(arguments: str) -> bytes:
    """Equal for arguments that say the same."""
    found = loads(arguments)
    return fingerprint(arguments if found is None else as_text(found))


def calls_of(message: Any) -> list[dict[str, str]]:
    """The tool calls of a message: id, name and arguments."""
    calls = message.get("tool_calls") if isinstance(message, dict) else None
    single = message.get("function_call") if isinstance(message, dict) else None
    found = [c for c in calls if isinstance(c, dict)] if isinstance(calls, list) else []
    found += [{"function": single}] if isinstance(single, dict) else []
    pairs = [(str(c.get("id") or ""), c["function"]) for c in found if isinstance(c.get("function"), dict)]
    return [{"id": key, "name": str(f.get("name")), "arguments": said(f.get("arguments")) or "{}"} for key, f in pairs]


def results_of(message: dict[str, Any]) -> list[dict[str, str]]:
    """The tool results of a message: id of the call, and content."""
    found = message.get("tool_responses")
    if isinstance(found, list):
        parts = [r for r in found if isinstance(r, dict) and said(r.get("content")) is not None]
        return [{"id": str(r.get("tool_call_id") or ""), "content": as_text(r["content"])} for r in parts]
    if message.get("role") in ("tool", "function") and said(message.get("content")) is not None:
        return [{"id": str(message.get("tool_call_id") or ""), "content": as_text(message["content"])}]
    return []
