"""OpenAI Agents SDK traces: exported traces and spans, one a line, or the payload sent to OpenAI's trace ingest.

Written by a `TracingProcessor` of the user that dumps `trace.export()` and `span.export()`, at the end of spans or at
start and end, and by anything that captures `{"data": [...]}` on its way to OpenAI. With the Responses API a plain
export holds the id of a response and nothing of what the model was told or said: final output, messages and reasoning
are then unverifiable, not clean (a processor that adds `input` and `response` mends that). With
`trace_include_sensitive_data=False` there is no content at all. Spans know no tool call ids. A call that waits for a
human has a span without output, as one has whose tool gave nothing back: which it was shows only where the run goes on.
Guardrails of tools leave no span, so that a call that they answered in words of their own looks like any other. What is
sent to OpenAI lacks reasoning and cuts fields over 100 kB. Shared context objects show only in what tools were given
and gave back.

Obtained by: a `TracingProcessor` that writes `export()`, or a captured upload.
Versions tried: openai-agents 0.24.0 and 0.3.3.
Order: tree, then time.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from earwitness.ingest.ahead import Ahead, TooEarly
from earwitness.ingest.boundary import together
from earwitness.ingest.frames import Told
from earwitness.ingest.openai_spans import span_of, tell_trace
from earwitness.ingest.record import Context, Elements, Emit, Made, Place, Record, Skip, is_array
from earwitness.ingest.spans.span import Span
from earwitness.ingest.spans.spool import Spool
from earwitness.ingest.workers import jobs_for, tell_all
from earwitness.schema.model import Loss, Trace


class _OpenaiAgentsTrace:
    NAME = "openai-agents-trace"
    TITLE = "OpenAI Agents SDK trace export"
    READER = "openai-agents-trace"
    PIECES = ("/data",)

    def sniff(self, value: Any) -> bool:
        return _is_object(value) or bool(_payload(value))

    def split(self, record: Record) -> Iterator[Record]:
        """A payload holds many objects."""
        parts = _payload(record.value)
        if not parts:
            return iter((record,))
        return (Record(part, record.place.at(f"/data/{n}")) for n, part in enumerate(parts))

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


def _is_object(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    kind = value.get("object")
    return (kind == "trace" and "workflow_name" in value) or (kind == "trace.span" and "span_data" in value)


def _payload(value: Any) -> list[Any] | Elements:
    parts = value.get("data") if isinstance(value, dict) else None
    return parts if is_array(parts) and _is_object(next(iter(parts), None)) else []


class _Reader:
    def __init__(self, context: Context) -> None:
        self.context = context
        self._spool = Spool()
        self._ahead = Ahead(self._told, context.jobs)
        self._heads: dict[str, tuple[dict[str, Any], Place]] = {}
        self._begun: dict[tuple[str, str], Span] = {}

    def feed(self, record: Record) -> Iterable[Emit]:
        value, place = record
        if not _is_object(value):
            return (Skip("unparseable", "an object of a payload that is neither trace nor span", place),)
        if value["object"] == "trace":
            return self._head(value, place)
        span = span_of(record)
        if span is None:
            return (Skip("unparseable", "a span without ids or data", place),)
        return self._span(span, ended=value.get("ended_at") is not None)

    def _head(self, value: dict[str, Any], place: Place) -> Iterable[Emit]:
        """Written at start or at end, or both."""
        trace = str(value.get("id"))
        if trace in self._heads:
            return (Skip("duplicate", "the same trace was read before", place),)
        self._heads[trace] = (value, place)
        self._ahead.touch(trace, self._spool.size)
        return ()

    def _span(self, span: Span, *, ended: bool) -> Iterator[Emit]:
        """The end of a span repeats its start and says more."""
        key = (span.trace_id, span.span_id)
        begun = self._begun.pop(key, None)
        if not ended and begun is None and self.context.claim("openai-span-start", *key):
            self._begun[key] = span
            return
        if begun is not None:
            self._begun.update({} if ended else {key: begun})
            where = begun.place if ended else span.place
            yield Skip("duplicate", "the start of a span that is recorded whole", where)
            if not ended:
                return
        if not self.context.claim("span", *key):
            yield Skip("duplicate", "the same span was read before", span.place)
            return
        yield from self._keep(span)

    def _keep(self, span: Span) -> Iterator[Emit]:
        try:
            self._spool.add(span)
            self._ahead.touch(span.trace_id, self._spool.size)
        except RecursionError:
            yield Skip("unparseable", "a span nested too deep to be read", span.place)

    def finish(self) -> Iterator[Emit]:
        yield from self._unfinished()
        with self._spool:
            jobs = jobs_for(len(self._spool), self._spool.size, self.context.jobs, self._ahead)
            for trace, told in tell_all(self._spool.names(), self._told, jobs, self._ahead):
                yield from told.emits
                self._heads.pop(trace, None)
        for trace, (head, place) in self._heads.items():
            known = {k: head[k] for k in ("workflow_name", "group_id", "metadata") if head.get(k)}
            yield Made(Trace(id=trace, framework="openai-agents", observable=(), attributes=known or None), place)
            detail = "a trace without spans"
            yield Made(Loss(trace=trace, kind="content_missing", detail=detail), place)

    def _told(self, trace: str) -> Told:
        spans = self._spool.of([trace])
        if not spans:
            raise TooEarly(trace)
        head, place = self._heads.get(trace, (None, spans[0].place))
        return Told(together(tell_trace(spans, head), chain((place,), (span.place for span in spans))), {})

    def _unfinished(self) -> Iterator[Emit]:
        """Spans that began and whose end is not in the record."""
        for key, span in self._begun.items():
            if not self.context.claim("span", *key):
                yield Skip("duplicate", "the start of a span that is recorded whole", span.place)
                continue
            detail = "a span without an end"
            yield Made(Loss(trace=span.trace_id, kind="content_missing", detail=detail), span.place)
            yield from self._keep(span)


ADAPTER = _OpenaiAgentsTrace()
