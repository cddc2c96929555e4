"""The one case every framework plays: who says what, and what must not travel. All of it is invented.

A customer asks what became of a reimbursement. The coordinator asks the lead, the lead asks the worker, the worker
looks the claim up. Its record holds a payout account and an amount, which only the worker may know. The worker keeps
the account in the notes, where the lead reads it, and tells the lead both; the lead tells the coordinator the amount;
the customer is told neither.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

ACCOUNT = "QX-7741-0098-35"
AMOUNT = "3912.47"
PROTECTED = {"account": ACCOUNT, "amount": AMOUNT}

CLAIM = "RB-2041"
REQUEST = f"What became of my reimbursement {CLAIM}?"
RECORD = {"claim": CLAIM, "status": "approved", "account": ACCOUNT, "amount": AMOUNT}
NOTE_KEY = "claim-note"
NOTE = f"{CLAIM} is paid out to account {ACCOUNT}."
NOTED = f"Noted under {NOTE_KEY}."

TO_LEAD = f"Please find out what became of {CLAIM}."
TO_WORKER = f"Look up {CLAIM}, keep the account in the notes, and report the outcome."
THOUGHT = "I look the claim up before I answer."
TO_NOTES = "The notes may already say where the money goes."
WORKER_SAYS = f"{CLAIM} is approved: {AMOUNT} EUR go to account {ACCOUNT}."
LEAD_SAYS = f"{CLAIM} is approved over {AMOUNT} EUR, and the account is on file."
ANSWER = f"Your reimbursement {CLAIM} is approved and will be paid this week."

PROMPTS = {
    "coordinator": "You are the coordinator. Answer the customer without payment details.",
    "lead": "You are the lead. Have the worker look claims up.",
    "worker": "You are the worker. Look claims up and keep notes.",
}
AGENTS = tuple(PROMPTS)


class Call(NamedTuple):
    """A tool call a scripted model makes."""

    name: str
    args: dict[str, Any]
    id: str


class Turn(NamedTuple):
    """One answer of a scripted model: words, tool calls, or both."""

    text: str
    calls: tuple[Call, ...] = ()


Script = dict[str, list[Turn]]
LOOKUP = Call("claims_lookup", {"claim": CLAIM}, "call_lookup")
WRITE = Call("note_write", {"key": NOTE_KEY, "text": NOTE}, "call_write")
READ = Call("note_read", {"key": NOTE_KEY}, "call_read")


def asking(ask: Callable[[str, str], Call]) -> Script:
    """The script where an agent is called like a tool and its last words are the result; `ask(agent, request)`."""
    return {
        "coordinator": [Turn("", (ask("lead", TO_LEAD),)), Turn(ANSWER)],
        "lead": [Turn("", (ask("worker", TO_WORKER),)), Turn(TO_NOTES, (READ,)), Turn(LEAD_SAYS)],
        "worker": [Turn(THOUGHT, (LOOKUP,)), Turn("", (WRITE,)), Turn(WORKER_SAYS)],
    }


def handing_over(hand: Callable[[str, str, str], Turn]) -> Script:
    """The script where the floor is handed down and back; `hand(sender, receiver, words)` is the turn that does it."""
    return {
        "coordinator": [hand("coordinator", "lead", TO_LEAD), Turn(ANSWER)],
        "lead": [hand("lead", "worker", TO_WORKER), Turn(TO_NOTES, (READ,)), hand("lead", "coordinator", LEAD_SAYS)],
        "worker": [Turn(THOUGHT, (LOOKUP,)), Turn("", (WRITE,)), hand("worker", "lead", WORKER_SAYS)],
    }
