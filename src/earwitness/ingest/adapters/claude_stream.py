"""Claude Code's stream of messages: what `claude -p --output-format stream-json` and the Agent SDK give an application.

One message a line: those of the main agent, and those of sub-agents with the call that made them
(`parent_tool_use_id`). They are told as lines of a session are (see `claude-code`), in the order of the stream, and
lines that a transcript holds as well are read once. The last line repeats the answer; with `--output-format json` it is
all there is. Pieces of messages and notes of the program itself are left out.

The format cannot show what the user asked, unless `--replay-user-messages` was given, nor system prompts; background
agents whose messages are not streamed cannot be seen.

Obtained by: `claude -p --output-format stream-json --verbose`, or the messages of the Agent SDK, dumped.
Versions tried: types of @anthropic-ai/claude-agent-sdk 0.3.332.
Order: file order.
"""

from collections.abc import Iterator
from typing import Any

from earwitness.ingest.claude_code.reader import Reader
from earwitness.ingest.record import Context, Record, Skip

_TALK = ("assistant", "user")
# Messages about the run and not of it.
_NOTES = frozenset(
    ("stream_event", "tool_progress", "auth_status", "rate_limit_event", "prompt_suggestion", "tool_use_summary")
)


class _ClaudeStream:
    NAME = "claude-stream"
    TITLE = "Claude Code stream of messages"
    READER = "claude-code"

    def sniff(self, value: Any) -> bool:
        if not isinstance(value, dict) or not isinstance(value.get("session_id"), str):
            return False
        kind = value.get("type")
        if kind in _TALK:
            return "parent_tool_use_id" in value and isinstance(value.get("message"), dict)
        if kind in ("system", "result"):
            return isinstance(value.get("subtype"), str)
        return isinstance(kind, str) and kind in _NOTES and "uuid" in value

    def split(self, record: Record) -> Iterator[Record]:
        """The message as a line of a session."""
        value, place = record
        kind, session = value["type"], value["session_id"]
        if kind in _TALK:
            yield Record(_line(value, session), place)
        elif kind == "result":
            yield Record(_end(value, session) or Skip("ignored", "an end without an answer", place), place)
        else:
            yield Record(Skip("ignored", f"a note about the run: {value.get('subtype') or kind}", place), place)

    def open(self, context: Context) -> Reader:
        return Reader(context)


def _end(value: dict[str, Any], session: str) -> dict[str, Any] | None:
    answer = value.get("result")
    given = isinstance(answer, str) and answer.strip()
    return {"type": "answer", "sessionId": session, "result": answer} if given else None


def _line(value: dict[str, Any], session: str) -> dict[str, Any]:
    made_by = value["parent_tool_use_id"]
    line = {
        "type": value["type"],
        "message": value["message"],
        "uuid": value.get("uuid"),
        "sessionId": session,
        "isSidechain": isinstance(made_by, str),
        "isMeta": value.get("isSynthetic"),
        "timestamp": value.get("timestamp"),
        "toolUseResult": value.get("tool_use_result"),
    }
    return {**line, "agentId": made_by, "madeBy": made_by} if line["isSidechain"] else line


ADAPTER = _ClaudeStream()
