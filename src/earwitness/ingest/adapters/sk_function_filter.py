"""Semantic Kernel function filter: one JSON line a function call, written by a filter of the user's own.

A user adds `@kernel.filter(FilterTypes.FUNCTION_INVOCATION)` (or `AUTO_FUNCTION_INVOCATION`) that writes agent,
function, arguments and result of each call. Filters mostly write `str(context.result)`, which keeps only the last
value of a dict, so that results may be cut without a sign: results here are never called complete. No ids, no times.
An agent used as a plugin is a function named `<agent>-<agent>`. A call that a message file of the same name told is a
duplicate.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from earwitness.ingest.kernelchat import call_key
from earwitness.ingest.record import Context, Emit, Place, Record, Skip
from earwitness.ingest.spans.texts import as_text
from earwitness.ingest.tale import Tale, file_stem, named, said
from earwitness.schema.model import Delivery, Trace

_KEYS = {"agent", "function", "arguments", "result", "is_streaming"}


class _KernelFilter:
    NAME = "sk-function-filter"
    TITLE = "Semantic Kernel function filter log"

    def sniff(self, value: Any) -> bool:
        return isinstance(value, dict) and value.keys() >= _KEYS and isinstance(value["function"], str)

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


class _Reader:
    def __init__(self, context: Context) -> None:
        self.context = context
        self.tale: Tale | None = None
        self.calls: Counter[tuple[str, ...]] = Counter()

    def feed(self, record: Record) -> Iterable[Emit]:
        value, place = record
        if self.tale is None:
            trace = Trace(
                id=f"sk-{file_stem(self.context.name)}", framework="semantic_kernel", observable=("C2", "C3", "C4")
            )
            self.tale = Tale(trace, place)
        plugin, _, function = value["function"].partition("-")
        if plugin == "Handoff":
            yield Skip("ignored", "a handoff, which passes no words", place)
            return
        agent = plugin == function
        key = call_key(self.tale.trace.id, plugin if agent else value["function"], as_text(value["arguments"]))
        self.calls[key] += 1
        if self.context.claim(*key, str(self.calls[key] - 1)):
            self._call(self.tale, value, place, agent=agent)
        else:
            yield Skip("duplicate", "a call that a message told", place)

    def _call(self, tale: Tale, value: dict[str, Any], place: Place, *, agent: bool) -> None:
        caller, function = tale.actor(named(value["agent"])), value["function"]
        name = function.partition("-")[0] if agent else function
        tale.actor(name, "agent" if agent else "tool", "name-pattern" if agent else "declared")
        key, grade = f"f{len(tale.drafts)}", "structural" if agent else "declared"
        tale.event(
            place.at("/arguments"),
            "C2" if agent else "C3",
            as_text(value["arguments"]),
            key=key,
            kind="request" if agent else "tool_arguments",
            sender=caller,
            to=(Delivery(name, "structural" if grade == "structural" else "declared"),),
        )
        result = said(value["result"])
        if result is None:
            return
        tale.lose("truncated", "C4", "a filter's result may hold only the last value", place.at("/result"))
        tale.event(
            place.at("/result"),
            "C2" if agent else "C4",
            result,
            key=key + ":result",
            kind="answer" if agent else "tool_result",
            sender=name,
            to=(Delivery(caller, "structural" if agent else "declared"),) if caller else (),
            parent=key,
        )

    def finish(self) -> Iterable[Emit]:
        if self.tale is not None and self.tale.drafts:
            yield from self.tale.items()


ADAPTER = _KernelFilter()
