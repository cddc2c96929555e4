"""AutoGen saved states: `save_state()` of a team or an agent, as one JSON object.

A user writes it with `json.dump(await team.save_state(), file)`; AutoGen 0.4 to 0.7. The manager's thread holds the
messages of the team with ids and times; the model context of each participant proves what it was shown, and its
buffer what was delivered and not read yet. The state of a whole runtime is one object by agent ids; agents of a user's
own class save what they like, commonly nothing. Not in it: times of what a participant was shown, model calls, and
everything an inner team was reset of (a society of mind drops its own). State and stream of the same run meet in the
id of the run's first message; the state of a single agent has none and is known by its file.

Obtained by: `json.dump(await team.save_state(), file)`.
Versions tried: autogen-agentchat 0.7.5.
Order: position in the thread, with times; contexts have none.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from earwitness.ingest.agentchat import Chat
from earwitness.ingest.agentmessages import is_message, is_spoken
from earwitness.ingest.record import Context, Emit, Place, Record, Skip
from earwitness.ingest.tale import Tale, named, said
from earwitness.schema.model import Trace
from earwitness.schema.words import Channel

_DEPTH = 16  # teams in teams
_AGENT_ID = re.compile(r"[A-Za-z_][\w-]*/[\w-]+")
_WITH_TOOLS: tuple[Channel, ...] = ("C2", "C3", "C4", "C6")


class _AutoGenState:
    NAME = "autogen-state"
    TITLE = "AutoGen saved state"

    def sniff(self, value: Any) -> bool:
        return isinstance(value, dict) and (_is_state(value) or _is_runtime(value))

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


def _is_state(value: dict[str, Any]) -> bool:
    if not isinstance(value.get("type"), str) or "version" not in value:
        return False
    return value["type"].endswith("State") and any(
        isinstance(value.get(k), dict) for k in ("agent_states", "llm_context", "inner_team_state")
    )


def _is_runtime(value: dict[str, Any]) -> bool:
    """Whether an object is the state of a runtime: empty states and states as known, by `<name>/<key>`."""
    return isinstance(next(iter(value.values()), None), dict) and all(
        isinstance(key, str) and _AGENT_ID.fullmatch(key) and isinstance(part, dict) and (not part or _is_state(part))
        for key, part in value.items()
    )


class _Reader:
    def __init__(self, context: Context) -> None:
        self.context = context

    def feed(self, record: Record) -> Iterable[Emit]:
        state, place = record
        if "type" not in state:
            state = {"agent_states": state}
        found = list(_states(state, None, "", 0))
        threads = [(m, p) for _, part, p in found for m, p in _thread(part, p) if is_message(m)]
        first = next((str(m["id"]) for m, _ in threads if m.get("id")), self.context.stem)
        # The thread of an orchestrator holds what was said, not what tools were asked.
        tools = any(not is_spoken(m["type"]) for m, _ in threads)
        trace = Trace(id=f"autogen-{first}", framework="autogen", observable=_WITH_TOOLS if tools else ("C2",))
        chat = Chat(Tale(trace, place))
        for message, pointer in threads:
            key = message.get("id")
            if not key or self.context.claim("autogen-message", str(key)):
                chat.take(message, place.at(pointer))
        chat.tell()
        for name, part, pointer in found:
            if _is_cut(name, part):
                chat.tale.lose("content_missing", "C2", "what was said before the team made a new plan", place)
            _contexts(chat, name or _own_name(part), part, place.at(pointer))
        if not chat.tale.drafts and not any(_context(part) for _, part, _ in found):
            yield Skip("ignored", "a state in which nothing was said", place)
            return
        yield from chat.tale.items()

    def finish(self) -> Iterable[Emit]:
        return ()


def _states(state: Any, name: str | None, pointer: str, depth: int) -> Iterator[tuple[str | None, dict[str, Any], str]]:
    """All states inside of a state with the names of their owners, the outermost first."""
    if not isinstance(state, dict) or depth > _DEPTH:
        return
    yield name, state, pointer
    yield from _states(state.get("agent_state"), name, pointer + "/agent_state", depth + 1)
    yield from _states(state.get("inner_team_state"), name, pointer + "/inner_team_state", depth + 1)
    inner = state.get("agent_states")
    for owner, part in inner.items() if isinstance(inner, dict) else ():
        yield from _states(part, str(owner).split("/")[0], f"{pointer}/agent_states/{owner}", depth + 1)


def _thread(state: dict[str, Any], pointer: str) -> Iterator[tuple[Any, str]]:
    for key in ("message_thread", "messages"):
        thread = state.get(key)
        if isinstance(thread, list):
            yield from ((m, f"{pointer}/{key}/{n}") for n, m in enumerate(thread))


def _is_cut(name: str | None, state: dict[str, Any]) -> bool:
    """Whether an orchestrator that was stuck has made a new plan: it forgets what was said, but counts its turns on.

    Each turn ends with an instruction or the final answer, but for that in which it makes a new plan.
    """
    thread, rounds = state.get("message_thread"), state.get("n_rounds")
    if state.get("type") != "MagenticOneOrchestratorState" or not isinstance(rounds, int):
        return False
    own = [m for m in thread if is_message(m) and m["source"] == name] if isinstance(thread, list) else []
    return rounds > max(len(own) - 1, 0)  # the first holds the plan


def _context(state: dict[str, Any]) -> list[dict[str, Any]]:
    context = state.get("llm_context")
    messages = context.get("messages") if isinstance(context, dict) else None
    return [m for m in messages if isinstance(m, dict)] if isinstance(messages, list) else []


def _own_name(state: dict[str, Any]) -> str | None:
    """The state of a single agent does not name it; its own words do."""
    return next((named(m.get("source")) for m in _context(state) if m.get("type") == "AssistantMessage"), None)


def _contexts(chat: Chat, name: str | None, state: dict[str, Any], place: Place) -> None:
    """What a participant was shown, and what waits for it."""
    tale = chat.tale
    for n, message in enumerate(_context(state)):
        if message.get("type") == "AssistantMessage":
            continue
        for text in _texts(message.get("content")):
            tale.sighting(place.at(f"/llm_context/messages/{n}"), text, tale.actor(name), "state")
    buffer = state.get("message_buffer")
    for message in buffer if isinstance(buffer, list) else ():
        if is_message(message) and is_spoken(message["type"]) and name:
            draft = tale.drafts.get(str(message.get("id")))
            if draft:
                draft.reach([tale.actor(name) or name], "declared")


def _texts(content: Any) -> list[str]:
    parts = content if isinstance(content, list) else [content]
    found = [said(part.get("content")) if isinstance(part, dict) else said(part) for part in parts]
    return [text for text in found if text is not None]


ADAPTER = _AutoGenState()
