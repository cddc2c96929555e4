"""Plain-text logs of agent systems: ChatDev, AppWorld, HyperAgent, MetaGPT and OpenManus.

Written by the systems themselves: ChatDev's `WareHouse/<project>/<project>.log`, the console of AppWorld and HyperAgent
runs, loguru logs of MetaGPT (`logs/*.txt`) and OpenManus. A block begins with a line that announces a message, code, a
tool call or a result; the lines after it are its text. One log is one trace.

Cannot show: what the system does not print: system prompts (except ChatDev), recipients of MetaGPT messages, artifacts
(except ChatDev).

Obtained by: the log file or the redirected console of the system.
Versions tried: the logs inside mkhvalch/mas-failure-taxonomy at commit fc23ad0.
Order: position in the text; times where the log writes them.
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

    def sniff(self, value: Any) -> bool:
        """No line by itself: any line may stand inside a block, so the head of the file decides for all of them."""
        return False

    def sniff_text(self, head: str) -> bool:
        """Whether one of the systems shows in the head."""
        return teller_for(head) is not None

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


class _Reader:
    def __init__(self, context: Context) -> None:
        self.name = log_name(context.name)
        self.teller: Teller | None = None
        self.waiting: list[Record] = []

    def feed(self, record: Record) -> Iterable[Emit]:
        """A line; those above the first that shows the system wait for it."""
        self.waiting.append(record)
        if self.teller is None:
            kind = teller_for(record.value["_line"])
            if kind is None:
                return []
            first = self.waiting[0]
            self.teller = kind(Script(f"{self.name}/{digest(first.value['_line'])}", first.place))
            self.teller.begin()
        skips = [skip for waiting in self.waiting if (skip := self._line(self.teller, waiting))]
        self.waiting.clear()
        return [*self._told(), *skips]

    def _line(self, teller: Teller, record: Record) -> Skip | None:
        for blank in record.value.get("_above", ()):
            teller.line(blank, record.place)
        skip = teller.line(record.value["_line"], record.place)
        return Skip("ignored", skip, record.place) if skip else None

    def finish(self) -> Iterable[Emit]:
        if self.teller:
            self.teller.end()
        lost = [Skip("ignored", "line of a log of no known system", record.place) for record in self.waiting]
        return [*self._told(), *lost]

    def _told(self) -> list[Emit]:
        made = list(self.teller.script.made) if self.teller else []
        if self.teller:
            self.teller.script.made.clear()
        return made


ADAPTER = _AgentTextLog()
