"""Tools of the model provider's own, which run while a message is made: calls and results stand in that message."""

from typing import Any

from earwitness.ingest.langchain.calls import Calls
from earwitness.ingest.langchain.ledger import Ledger
from earwitness.ingest.langchain.messages import Call, Hosted, Msg
from earwitness.ingest.record import Place


def tell(ledger: Ledger, calls: Calls, msg: Msg, author: str | None, place: Place, time: Any) -> tuple[int, ...]:
    """Tell the calls of a message to such tools, and what came back; gives the events, which its readers are shown."""
    told: list[int] = []
    for step in msg.hosted:
        if step.arguments is not None:
            asked = calls.ask(Call(step.tool or "tool", step.arguments, step.id), author, place, time)
            told.append(calls.all[asked].draft)
        else:
            told.append(_give_back(ledger, calls, step, author, place, time))
    return tuple(told)


def _give_back(ledger: Ledger, calls: Calls, step: Hosted, author: str | None, place: Place, time: Any) -> int:
    number = calls.get(step.id)
    tool = calls.all[number].tool if number is not None else step.tool
    ledger.actor(tool, "tool", "declared")
    return ledger.event(
        "C4",
        step.result or "",
        kind="tool_result",
        name=f"{step.id or tool}:result",
        sender=tool,
        to=((author, "declared"),) if author else (),
        place=place,
        time=time,
    )
