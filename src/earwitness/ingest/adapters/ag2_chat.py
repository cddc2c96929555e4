"""AG2 and AutoGen 0.2 chats: `chat_messages`, `ChatResult`, group chat messages and run results as JSON.

A user dumps `agent.chat_messages`, the `ChatResult` of `initiate_chat`, `groupchat.messages`, or the answer of
`run_group_chat`. `chat_messages` holds each agent's own copy of a chat, so that its holder is known to have got it; a
chat history is the copy of who began the chat; `groupchat.messages` has no holder, and no recipient is known. Roles
are relative to the holder: names tell the author. No ids and no times; the run is known by the name of the file. What
a model was shown, shared context, reasoning and artifacts are not in it.

Obtained by: `json.dump` of `chat_messages`, of a `ChatResult` or of `groupchat.messages`.
Versions tried: pyautogen 0.2.35, ag2 0.14.0.
Order: position in the list; no times.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from earwitness.ingest.ag2session import calls_of, refuse_unmade, results_of
from earwitness.ingest.record import Context, Emit, Place, Record
from earwitness.ingest.spans.texts import as_text, fingerprint
from earwitness.ingest.tale import USER, Draft, Tale, named, said
from earwitness.schema.model import Delivery, Trace

_NEEDED, _ALLOWED = (
    {"content", "role", "name"},
    {"content", "role", "name", "tool_calls", "tool_responses", "function_call"},
)
_LISTS = (("chat_history", "summary"), ("chat_history", "last_agent"), ("messages", "last_speaker"))


class _Ag2Chat:
    NAME = "ag2-chat"
    TITLE = "AG2 / AutoGen 0.2 chat history"

    def sniff(self, value: Any) -> bool:
        if not isinstance(value, dict):
            return False
        return _is_message(value) or _list_of(value) is not None or _is_store(value)

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


def _is_message(value: dict[str, Any]) -> bool:
    return (
        value.keys() >= _NEEDED
        and value.keys() <= _ALLOWED
        and value["role"] in ("user", "assistant", "tool", "function")
        and isinstance(value["name"], str)
    )


def _list_of(value: dict[str, Any]) -> str | None:
    """The key of a chat's messages in a result."""
    for key, sign in _LISTS:
        messages = value.get(key)
        if sign in value and isinstance(messages, list) and messages and isinstance(messages[0], dict):
            return key if {"role", "content"} <= messages[0].keys() else None
    return None


def _is_store(value: dict[str, Any]) -> bool:
    """Holder, partner, messages."""
    chats = list(value.values()) if isinstance(next(iter(value.values()), None), dict) else []
    if not chats or not all(isinstance(c, dict) and c for c in chats):
        return False
    lists = [messages for c in chats for messages in c.values()]
    return all(
        isinstance(m, list) and m and isinstance(m[0], dict) and {"role", "content"} <= m[0].keys() for m in lists
    )


class _Reader:
    def __init__(self, context: Context) -> None:
        self.context = context
        self.tale: Tale | None = None
        self.calls: dict[str, tuple[str | None, str]] = {}
        self.initiator: str | None = None
        self.last: Draft | None = None
        self.shared = False
        self.counts: Counter[tuple[str | None, str]] = Counter()

    def feed(self, record: Record) -> Iterable[Emit]:
        value, place = record
        tale = self._open(place)
        key = _list_of(value)
        if _is_message(value):
            self._hold([(value, place)], None, None)
        elif key is not None:
            messages = [(m, place.at(f"/{key}/{n}")) for n, m in enumerate(value[key]) if isinstance(m, dict)]
            holder = named(messages[0][0].get("name"))
            self._hold(messages, holder if _is_person(holder) else None, None)
            self._result(tale, value, place)
        else:
            self._store(value, place)
        return ()

    def _open(self, place: Place) -> Tale:
        if self.tale is None:
            stem = self.context.stem
            self.tale = Tale(Trace(id=f"ag2-{stem}", framework="ag2", observable=("C2", "C3", "C4")), place)
        return self.tale

    def _result(self, tale: Tale, value: dict[str, Any], place: Place) -> None:
        summary, state = said(value.get("summary")), value.get("context_variables")
        if summary is not None:
            tale.sighting(place.at("/summary"), summary, self.initiator, "result")
            last = self.last
            if last and last.channel == "C2" and last.content.replace("TERMINATE", "").strip() == summary.strip():
                last.channel, last.kind = "C1", "final"
                last.reach([tale.actor(USER, "user", "structural") or USER], "structural")
        if isinstance(state, dict) and state.get("data"):
            tale.sighting(place.at("/context_variables"), as_text(state["data"]), None, "state")

    def _store(self, value: dict[str, Any], place: Place) -> None:
        """A manager's copies say nothing that those of the others do not."""
        copies = [m for chats in value.values() for ms in chats.values() for m in ms if isinstance(m, dict)]
        authors = {named(m.get("name")) for m in copies}
        agents = [h for h, chats in value.items() if not _is_person(h) and (len(chats) == 1 or h in authors)]
        self.shared = len(agents) > 1
        for holder, chats in value.items():
            if len(chats) > 1 and holder not in authors:
                continue
            for partner, messages in chats.items():
                self.counts.clear()
                where = place.at(f"/{holder}/{partner}")
                found = [(m, where.at(f"/{n}")) for n, m in enumerate(messages) if isinstance(m, dict)]
                self._hold(found, named(holder), named(partner))

    def _hold(self, messages: list[tuple[dict[str, Any], Place]], holder: str | None, partner: str | None) -> None:
        for message, place in messages:
            own = holder if message.get("role") == "assistant" else partner
            author = named(message.get("name")) or own
            if self.initiator is None and not self.counts:
                self.initiator = author
            for call in calls_of(message):
                self._ask(call, author, holder, place)
            results = results_of(message)
            for result in results:
                self._answer(result, author, holder, place)
            text = said(message.get("content"))
            if text is not None and not results:
                self._say(text, author, holder, place)

    def _say(self, text: str, author: str | None, holder: str | None, place: Place) -> None:
        tale, where = self._open(place), place.at("/content")
        self.counts[author, text] += 1
        if author is None or _is_person(author):
            if holder != author or holder is None:
                tale.sighting(where, text, self._actor(holder), "initial")
            return
        shown = _is_person(holder)
        key = f"{author}:{self.counts[author, text]}:{fingerprint(text).hex()[:12]}" + (":shown" if shown else "")
        kind = "shown_to_user" if shown else "message"
        if shown and self.shared:  # said to the others, too, whose copies follow
            self._spoken(key.removesuffix(":shown"), text, author, where)
        self.last = draft = tale.event(
            where, "C1" if shown else "C2", text, key=key, kind=kind, sender=self._actor(author)
        )
        if holder:
            draft.reach([self._actor(holder) or holder], "declared")

    def _spoken(self, key: str, text: str, author: str | None, where: Place) -> None:
        self._tale().event(where, "C2", text, key=key, kind="message", sender=self._actor(author))

    def _actor(self, name: str | None) -> str | None:
        person = _is_person(name)
        kind, evidence = ("user", "name-pattern") if person else ("agent", "declared")
        return self._tale().actor(name, "user" if kind == "user" else "agent", evidence)

    def _tale(self) -> Tale:
        assert self.tale is not None
        return self.tale

    def _ask(self, call: dict[str, str], author: str | None, holder: str | None, place: Place) -> None:
        tale, where = self._tale(), place.at("/tool_calls")
        key = call["id"] or f"{call['name']}:{fingerprint(call['arguments']).hex()[:12]}"
        self.calls.setdefault(key, (author, call["name"]))
        to = (Delivery(tale.actor(call["name"], "tool") or "", "declared"),)
        sender = self._actor(author)
        tale.event(where, "C3", call["arguments"], key=key, kind="tool_arguments", sender=sender, to=to)
        if holder and holder != author:
            shared = tale.event(where, "C2", call["arguments"], key=f"{key}:shared", kind="tool_call", sender=sender)
            shared.reach([self._actor(holder) or holder], "declared")

    def _answer(self, result: dict[str, str], author: str | None, holder: str | None, place: Place) -> None:
        tale, where, text = self._tale(), place.at("/tool_responses"), result["content"]
        key = result["id"] or fingerprint(text).hex()[:12]
        caller, tool = self.calls.get(key, (author, ""))
        unmade = refuse_unmade(tale, key, text)
        sender = None if unmade else tale.actor(named(tool), "tool")
        to = (Delivery(self._actor(caller) or caller, "declared"),) if caller else ()
        flags: tuple[Any, ...] = ("failed",) if unmade or text.startswith("Error:") else ()
        kind = "tool_result"
        tale.event(where, "C4", text, key=f"{key}:result", kind=kind, sender=sender, to=to, flags=flags, parent=key)
        if holder and holder not in (author, caller):
            kind, told = "tool_response", f"{key}:result:shared"
            shared = tale.event(where, "C2", text, key=told, kind=kind, sender=self._actor(author))
            shared.reach([self._actor(holder) or holder], "declared")

    def finish(self) -> Iterable[Emit]:
        if self.tale is None:
            return
        if any(d.channel == "C1" for d in self.tale.drafts.values()):
            self.tale.observe("C1", "C2", "C3", "C4")
        yield from self.tale.items()


def _is_person(name: str | None) -> bool:
    """Whether a name is one of a user proxy; histories do not tell the class of an agent."""
    return name is not None and "user" in name.lower()


ADAPTER = _Ag2Chat()
