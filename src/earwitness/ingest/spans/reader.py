"""The reader of every container of spans: puts spans aside as they come, tells trace by trace at the end."""

from collections.abc import Iterable, Iterator

from earwitness.ingest.record import Context, Emit, Record, Skip
from earwitness.ingest.spans.span import Span
from earwitness.ingest.spans.spool import Spool
from earwitness.ingest.spans.texts import as_text, fingerprint
from earwitness.ingest.spans.trace import tell


def _key(span: Span) -> tuple[str, ...]:
    if not span.log:
        return "span", span.trace_id, span.span_id
    (event,) = span.events
    words = fingerprint(as_text(event.attributes)).hex()
    return "log", span.trace_id, span.span_id, event.name, str(event.time), words


class SpanReader:
    """Takes records that hold a `Span`, or the `Skip` that stands for one."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.spool = Spool()

    def feed(self, record: Record) -> Iterable[Emit]:
        """Put a span aside."""
        value = record.value
        if isinstance(value, Skip):
            return (value,)
        if not self.context.claim(*_key(value)):
            what = "log record" if value.log else "span"
            return (Skip("duplicate", f"the same {what} was read before", record.place),)
        return self._keep(value, record)

    def _keep(self, span: Span, record: Record) -> Iterable[Emit]:
        try:
            self.spool.add(span)
        except RecursionError:
            return (Skip("unparseable", "a span with attributes nested too deep to be read", record.place),)
        return ()

    def finish(self) -> Iterator[Emit]:
        """All traces, in order of appearance."""
        with self.spool:
            for spans in self.spool.traces():
                yield from tell(spans, self.spool.trace_of)
