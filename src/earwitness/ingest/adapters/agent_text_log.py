"""Plain-text logs of agent systems: ChatDev, AppWorld, HyperAgent, MetaGPT and OpenManus.

Written by the systems themselves: ChatDev's `WareHouse/<project>/<project>.log`, the console of AppWorld and HyperAgent
runs, loguru logs of MetaGPT (`logs/*.txt`) and OpenManus. A block begins with a line that announces a message, code, a
tool call or a result; the lines after it are its text. One log is one trace.

A log with lines that are JSON objects of their own is taken for JSON lines, and not read here; blank lines inside a
text are lost.

Cannot show: what the system does not print: system prompts (except ChatDev), recipients of MetaGPT messages, artifacts
(except ChatDev).
"""

from collections.abc import Iterable
from typing import Any

from earwitness.ingest.jsonrpc import log_name
from earwitness.ingest.record import Context, Emit, Record, Skip
from earwitness.ingest.script import Script, digest
from earwitness.ingest.transcripts import Teller, teller_for


class _AgentTextLog:
    NAME = "agent-text-log"
    TITLE = "ChatDev, AppWorld, HyperAgent, MetaGPT, OpenManus log"
    PRIORITY = 41

    def __init__(self) -> None:
        # Any line may stand inside a block, so the head of the file decides for all of them.
        self.kind: type[Teller] | None = None

    def sniff(self, value: Any) -> bool:
        return self.kind is not None and isinstance(value, dict) and value.keys() == {"_line"}

    def sniff_text(self, head: str) -> bool:
        self.kind = teller_for(head)
        return self.kind is not None

    def open(self, context: Context) -> "_Reader":
        if self.kind is None:
            raise ValueError("opened before a log was recognised")
        return _Reader(context, self.kind)


class _Reader:
    def __init__(self, context: Context, kind: type[Teller]) -> None:
        self.name, self.kind = log_name(context.name), kind
        self.teller: Teller | None = None

    def feed(self, record: Record) -> Iterable[Emit]:
        line, place = record.value["_line"], record.place
        if self.teller is None:
            self.teller = self.kind(Script(f"{self.name}/{digest(line)}", place))
            self.teller.begin()
        skip = self.teller.line(line, place)
        return [*self._told(), *([Skip("ignored", skip, place)] if skip else [])]

    def finish(self) -> Iterable[Emit]:
        if self.teller:
            self.teller.end()
        return self._told()

    def _told(self) -> list[Emit]:
        made = list(self.teller.script.made) if self.teller else []
        if self.teller:
            self.teller.script.made.clear()
        return made


ADAPTER = _AgentTextLog()
