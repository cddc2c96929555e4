"""The reader of every container of spans: puts spans aside as they come, tells trace by trace at the end."""

from collections.abc import Iterable, Iterator

from earwitness.ingest.record import Context, Emit, Record, Skip
from earwitness.ingest.spans.span import Span
from earwitness.ingest.spans.spool import Spool
from earwitness.ingest.spans.trace import tell


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
        if not self.context.claim("span", value.trace_id, value.span_id):
            return (Skip("duplicate", "the same span was read before", record.place),)
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
                yield from tell(spans)
