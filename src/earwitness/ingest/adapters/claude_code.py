"""Claude Code sessions: one line a message, tool use or tool result, with the files of sub-agents.

Claude Code writes `~/.claude/projects/<project>/<session>.jsonl`, and for each sub-agent
`<session>/subagents/agent-<id>.jsonl` with `agent-<id>.meta.json`; workflows add a `journal.jsonl`. Older versions keep
sub-agents inline (`isSidechain`). Import the project folder: a session and its sub-agents become one trace.

A `Task` or `Agent` call is a message to the sub-agent, its result the answer, the last text of a sub-agent a copy of
that. Task boards are shared memory, written files artifacts, questions and plans output to the user. Resumed sessions
repeat lines, which are read once.

The format cannot show system prompts, nor what a tool did beyond its result; reasoning is often encrypted.

Obtained by: the folder `~/.claude/projects/<project>`.
Versions tried: Claude Code 1.0.24 and samples of daaain/claude-code-log at commit a641071; 2.x after its
documentation.
Order: chain of parents, then time.
"""

from typing import Any

from earwitness.ingest.claude_code.reader import IGNORED, Reader
from earwitness.ingest.record import Context

_META = {"agentType", "description", "toolUseId", "name", "worktreePath", "spawnDepth"}


class _ClaudeCode:
    NAME = "claude-code"
    TITLE = "Claude Code session"
    READER = "claude-code"

    def sniff(self, value: Any) -> bool:
        if not isinstance(value, dict):
            return False
        if "isSidechain" in value or ("parentUuid" in value and "sessionId" in value):
            return True
        kind = value.get("type")
        if not isinstance(kind, str):
            return "toolUseId" in value and value.keys() <= _META
        if kind in IGNORED:
            return "sessionId" in value or "messageId" in value
        if kind in ("started", "result"):
            return "agentId" in value and "key" in value
        return kind == "summary" and "leafUuid" in value

    def open(self, context: Context) -> Reader:
        return Reader(context)


ADAPTER = _ClaudeCode()
