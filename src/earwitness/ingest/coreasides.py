"""What an AutoGen core log holds beside the messages of a team, told when the run is: each from what was kept of it."""

from collections.abc import Callable
from typing import Any

from earwitness.ingest.corerun import CoreRun, plain_key
from earwitness.ingest.record import Place
from earwitness.ingest.tale import named, said
from earwitness.schema.model import Delivery
from earwitness.schema.words import SightingKind


def tell_asides(run: CoreRun, message: int) -> None:
    """Tell what stands before the message of a number."""
    for (kind, *what), place in run.due(message):
        _TELLERS[kind](run, place, *what)


def _plain(
    run: CoreRun, place: Place, text: str, sender: str | None, to: str | None, topic: bool, arrival: bytes
) -> None:
    """A message of the user's own type."""
    tale, arrived = run.chat.tale, arrival in run.arrived
    hearer = tale.actor(named(to)) if to is not None else None
    if sender is None:
        tale.sighting(place, text, hearer if arrived else None, "initial")
        return
    tale.event(
        place,
        "C2",
        text,
        key=plain_key(run.counts, sender, hearer, text),
        kind="publication" if topic else "message",
        sender=tale.actor(named(sender)),
        to=(Delivery(hearer, "declared", arrived),) if hearer else (),
        flags=() if arrived else ("not_delivered",),
    )


def _tool(
    run: CoreRun, place: Place, key: str, tool: str | None, agent: str | None, arguments: str, result: str | None
) -> None:
    """A call of a tool and what came of it, unless a message tells them."""
    if tool is not None and result is not None and run.tells(tool, result):
        run.repeats.append(place)
        return
    tale = run.chat.tale
    tale.actor(agent)
    hearers = (Delivery(tale.actor(tool, "tool") or "", "declared"),) if tool else ()
    tale.event(place.at("/arguments"), "C3", arguments, key=key, kind="tool_arguments", sender=agent, to=hearers)
    if result is not None:
        back, where = (Delivery(agent, "declared"),) if agent else (), place.at("/result")
        kind = "tool_result"
        tale.event(where, "C4", result, key=f"{key}:result", kind=kind, sender=tool, to=back, parent=key)


def _shown(run: CoreRun, place: Place, text: str, actor: str | None, kind: SightingKind) -> None:
    """What a model was shown."""
    run.chat.tale.sighting(place, text, run.chat.tale.actor(actor), kind)


def _answer(run: CoreRun, place: Place, key: str, text: str, actor: str | None) -> None:
    """A model's answer is a copy of the agent's message, if the log has messages; else all there is of it."""
    tale = run.chat.tale
    if run.talks:
        tale.sighting(place, text, tale.actor(actor), "response")
    else:
        tale.event(place, "C6", text, key=key, kind="model_answer", sender=tale.actor(actor))


def _error(run: CoreRun, place: Place, key: str, text: str, agent: str | None) -> None:
    """What a handler failed with."""
    tale = run.chat.tale
    tale.event(place, "C6", text, key=key, kind="error", sender=tale.actor(agent))


def _overheard(run: CoreRun, place: Place, messages: list[dict[str, Any]], team: str, by: str) -> None:
    """A nested team is given messages of the team around it."""
    tale = run.chat.tale
    for message in messages:
        text, key = said(message.get("content")), str(message.get("id"))
        of = key if key in tale.drafts else run.chat.tasks.get(key)
        for name in run.listeners(team, by) if text else ():
            tale.sighting(place.at("/payload"), text or "", tale.actor(name), "input", event=of)


def _kept(run: CoreRun, place: Place, key: str, by: str) -> None:
    """An agent that runs a team of its own, and speaks for it, has what the members of that team say."""
    draft = run.chat.tale.drafts.get(key)
    if draft and by in run.thinkers and key in run.groups:
        draft.reach([run.chat.tale.actor(by) or by], "structural")


_TELLERS: dict[str, Callable[..., None]] = {
    "plain": _plain,
    "tool": _tool,
    "shown": _shown,
    "answer": _answer,
    "error": _error,
    "overheard": _overheard,
    "kept": _kept,
}
