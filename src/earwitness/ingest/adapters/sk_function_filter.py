"""Semantic Kernel function filter: one JSON line a function call, written by a filter of the user's own.

A user adds `@kernel.filter(FilterTypes.FUNCTION_INVOCATION)` (or `AUTO_FUNCTION_INVOCATION`) that writes agent,
function, arguments and result of each call. Filters mostly write `str(context.result)`, which keeps only the last
value of a dict, so that results may be cut without a sign: results here are never called complete. No ids, no times.
An agent used as a plugin is a function named `<agent>-<agent>`. Lines stand in the order in which calls ended; what an
agent did before a call to it ended is told inside of that call, and calls that ran beside each other stay in the order
of their ends. Message files of the same name are told as one with it: calls that they hold are duplicates here, and
the order is theirs. A kernel without the filter shows nothing: an agent that was used and of which there is no line is
a loss.

Obtained by: a filter of your own (`FilterTypes.FUNCTION_INVOCATION`) that writes JSON lines.
Versions tried: semantic-kernel 1.45.0 for Python.
Order: ends of calls, nested again; no times.
"""

from typing import Any

from earwitness.ingest.kernelcalls import is_call
from earwitness.ingest.kernelruns import Reader
from earwitness.ingest.record import Context


class _KernelFilter:
    NAME = "sk-function-filter"
    TITLE = "Semantic Kernel function filter log"
    READER = "semantic-kernel"

    def sniff(self, value: Any) -> bool:
        return is_call(value)

    def open(self, context: Context) -> Reader:
        return Reader(context)


ADAPTER = _KernelFilter()
