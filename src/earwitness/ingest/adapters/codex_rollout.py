"""Codex rollouts: one file a thread, as the Codex CLI writes it to `~/.codex/sessions`.

A line has `timestamp`, `type` and `payload`. Response items are what was said; event messages repeat some of it for the
terminal. Threads that spawned one another become one trace: import the folder. The rollout of a sub-agent begins with a
copy of its parent's history, which the sub-agent has seen, but did not say: it is cut at the call that spawned it.

The format cannot show encrypted reasoning, nor files that commands write; patches are artifacts.

Obtained by: the folder `~/.codex/sessions`.
Versions tried: samples of daaain/claude-code-log at commit 7745840, hand-written by their authors.
Order: file order, with times.
"""

from typing import Any

from earwitness.ingest.codex.reader import Reader
from earwitness.ingest.record import Context

_TYPES = ("session_meta", "turn_context", "response_item", "event_msg", "compacted")


class _CodexRollout:
    NAME = "codex-rollout"
    TITLE = "Codex rollout"
    READER = "codex"
    PRIORITY = 60

    def sniff(self, value: Any) -> bool:
        if not isinstance(value, dict) or not isinstance(value.get("payload"), dict) or "timestamp" not in value:
            return False
        if not isinstance(value.get("type"), str):
            return False
        return value["type"] in _TYPES or value.keys() == {"timestamp", "type", "payload"}

    def open(self, context: Context) -> Reader:
        return Reader(context)


ADAPTER = _CodexRollout()
