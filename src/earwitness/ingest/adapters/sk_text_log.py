"""Semantic Kernel text logs: the loggers `semantic_kernel.*` as Python's `logging` writes them.

Written by `logging.basicConfig(level=DEBUG)`, Semantic Kernel's `setup_logging()` and the like, Python 1.x, with time,
logger and level in the usual orders. With `SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE=true`
the log holds every message of every model call; without, calls of functions, and results of which only the last value
may be there. Orchestrations name who was asked to go on and who got an answer. No ids but the number of an
orchestration, which is the run; times are local. One log is taken for one run. Files and shared memory show as
functions of plugins only; what other loggers wrote is counted as unknown.

Obtained by: `logging.basicConfig(...)` with the loggers of Semantic Kernel.
Versions tried: semantic-kernel 1.45.0 for Python.
Order: file order; times where the log writes them.
"""

import re
from collections.abc import Iterable
from typing import Any

from earwitness.ingest.kernellog import RUN, KernelLog
from earwitness.ingest.loglines import Block, begins
from earwitness.ingest.record import Context, Emit, Place, Record, Skip
from earwitness.ingest.tale import Tale
from earwitness.schema.model import Trace
from earwitness.schema.words import Channel, Outcome

_HEAD = re.compile(r"\bsemantic_kernel(?:\.\w+)+(?::\d+)?\b")
_LINES, _NOWHERE = 200, Place(0, 0, 0)
_ROOT = "semantic_kernel."
_WHOLE: tuple[Channel, ...] = ("C1", "C2", "C3", "C4", "C6")
_CALLS: tuple[Channel, ...] = ("C2", "C3", "C4")
_NOISE = (
    ("functions.kernel_function_decorator", "", "how a function was declared"),
    ("functions.kernel_function_from_method", "", "how a function was declared"),
    ("prompt_template.kernel_prompt_template", "Extracting blocks", "a template of a prompt"),
    ("prompt_template.kernel_prompt_template", "Rendering list", "a template of a prompt"),
    ("agents.chat_completion.chat_completion_agent", "", "begin and end of a model call"),
    ("contents.streaming_content_mixin", "", "a piece of a streamed call"),
    ("connectors.ai.", "", "token counts and steps of a model call"),
    ("agents.strategies.", "", "choice of the next agent"),
    ("agents.group_chat.", "Invoking agent ", ""),
    ("agents.group_chat.", "", "bookkeeping of a group chat"),
    ("agents.orchestration.", "Registered ", "set-up of an orchestration"),
)
_READ = ("kernel", "functions.kernel_function", "prompt_template.", "agents.", "utils.telemetry.model_diagnostics.")


class _KernelTextLog:
    NAME = "sk-text-log"
    TITLE = "Semantic Kernel text log"
    PRIORITY = 45

    def sniff(self, value: Any) -> bool:
        """No line by itself: messages have many lines, so the head of the file decides for all of them."""
        return False

    def sniff_text(self, head: str) -> bool:
        """Whether one of the first lines is of a logger of Semantic Kernel."""
        return any(_HEAD.search(line[:120]) and _begins(line) for line in head.splitlines()[:_LINES])

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


def _begins(line: str) -> bool:
    block = begins(Record({"_line": line}, _NOWHERE))
    return block is not None and block.logger.startswith(_ROOT)


class _Reader:
    def __init__(self, context: Context) -> None:
        self.context, self.stem = context, context.stem
        self.run: str | None = None
        self.log: KernelLog | None = None
        self.block: Block | None = None
        self.passed: tuple[Outcome, str] | None = None
        self.copy: bool | None = None

    def feed(self, record: Record) -> Iterable[Emit]:
        """A line: it begins a message, or goes on with one and shares its fate."""
        block = begins(record)
        if block is None and self.block is not None:
            self.block.add(record)
        elif block is not None:
            self._close()
            self.block, self.passed = block, _passed(block) or self._repeated(block)
            self.run = self.run or _run_of(block)
        elif self.passed is None:
            self.passed = "unknown", "a line before the first message"
        if self.passed:
            yield Skip(*self.passed, record.place)

    def finish(self) -> Iterable[Emit]:
        """All that was told."""
        self._close()
        if self.log is None:
            return
        self.log.finish()
        self.log.tale.observe(*(_WHOLE if self.log.diagnosed else _CALLS))
        yield from self.log.tale.items()

    def _repeated(self, block: Block) -> tuple[Outcome, str] | None:
        """Whether this is a log again that was read, told from its first message and the time of it."""
        if self.copy is None:
            self.copy = block.time is not None and not self.context.claim("sk-log", block.time, block.text)
        return ("duplicate", "the same log was read before") if self.copy else None

    def _close(self) -> None:
        if self.block is None or self.passed:
            return
        if self.log is None:
            trace = Trace(id=f"sk-log-{self.run or self.stem}", framework="semantic_kernel")
            self.log = KernelLog(Tale(trace, self.block.place))
        self.log.tell(self.block)


def _run_of(block: Block) -> str | None:
    found = RUN.search(block.lines[0]) if ".orchestration" in block.logger else None
    return found[1] if found else None


def _passed(block: Block) -> tuple[Outcome, str] | None:
    """Why a message says nothing."""
    if not block.logger.startswith(_ROOT):
        return "unknown", "a line of another logger"
    area, first = block.logger.removeprefix(_ROOT), block.lines[0]
    if block.level in ("WARNING", "ERROR", "CRITICAL"):
        return None
    for logger, start, reason in _NOISE:
        if area.startswith(logger) and first.startswith(start):
            return ("ignored", reason) if reason else None
    return None if area.startswith(_READ) else ("unknown", "a line of a logger of the kernel that is not read")


ADAPTER = _KernelTextLog()
