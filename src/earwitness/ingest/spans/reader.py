"""The reader of every container of spans: puts spans aside as they come, tells run by run at the end."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from earwitness.ingest.ahead import Ahead, TooEarly
from earwitness.ingest.boundary import together
from earwitness.ingest.frames import Told
from earwitness.ingest.record import Context, Emit, Made, Place, Record, Skip
from earwitness.ingest.spans.callids import CallIds, calls_of
from earwitness.ingest.spans.links import Found, Links, Run
from earwitness.ingest.spans.span import Span
from earwitness.ingest.spans.spool import Spool
from earwitness.ingest.spans.texts import fingerprint_of
from earwitness.ingest.spans.trace import tell_tree
from earwitness.ingest.spans.tree import build, take_down
from earwitness.ingest.spans.unify import unified
from earwitness.ingest.workers import jobs_for, tell_all
from earwitness.schema.model import Link, Trace
from earwitness.schema.words import LinkKind

Parent = Callable[[Span], tuple[str, str] | None]


def _key(span: Span) -> tuple[str, ...]:
    if not span.log:
        return "span", span.trace_id, span.span_id
    (event,) = span.events
    words = fingerprint_of(event.attributes).hex()
    return "log", span.trace_id, span.span_id, event.name, str(event.time), words


class SpanReader:
    """Takes records that hold a `Span`."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.spool, self.links, self.calls = Spool(), Links(), CallIds()
        self._ahead = Ahead(self._told_alone, context.jobs)

    def feed(self, record: Record) -> Iterable[Emit]:
        """Put a span aside."""
        value = record.value
        if not self.context.claim(*_key(value)):
            if value.log:
                return (Skip("duplicate", "the same log record was read before", record.place),)
            return self._keep(value, record, again=True)  # which record counts shows when all are there
        return self._keep(value, record)

    def _keep(self, span: Span, record: Record, *, again: bool = False) -> Iterable[Emit]:
        try:
            where = self.spool.add(span, again=again)
            self._ahead.touch(span.trace_id, self.spool.size)
            if not again:
                self.links.note(span, where)
        except RecursionError:
            return (Skip("unparseable", "a span with attributes nested too deep to be read", record.place),)
        return ()

    def finish(self) -> Iterator[Emit]:
        """All runs, in order of appearance, and what links them."""
        with self.spool:
            runs, linked = self.links.runs(self.spool)
            known = set()
            jobs = jobs_for(len(self.spool), self.spool.size, self.context.jobs, self._ahead)
            for run, told in tell_all(runs, self._told, jobs, self._ahead, _alone):
                for emit in told.emits:
                    yield emit
                    if type(emit[0]) is Trace:
                        known.add(run.id)
                        yield from _joined(run)
                self.calls.note(run.id, told.keys)
        yield from (_link(a, b, kind, found) for a, b, kind, found in linked if {a, b} <= known)
        for a, b, n, place in self.calls.shared():
            if {a, b} <= known:
                yield _link(a, b, "tool_call", Found(place, n))

    def _told(self, run: Run) -> Told:
        def parent_of(span: Span) -> tuple[str, str] | None:
            called = None if span.parent_id else run.calls.get((span.trace_id, span.span_id))
            return self.links.parent_of(span) or called

        return self._told_by(run, parent_of, self.links.knows)

    def _told_alone(self, trace: str) -> Told:
        """What would be told of a trace if it turned out to have to do with no other."""
        return self._told_by(Run(trace, [trace]), lambda _: None, _too_early)

    def _told_by(self, run: Run, parent_of: Parent, knows: Callable[[str], bool]) -> Told:
        spans, copies = self.spool.sorted_out(run.traces)
        keys: dict[str, Place] = {}
        again = (Skip("duplicate", "another record of the same span is told", c.place) for c in copies)

        def tell() -> Iterator[Emit]:
            tree = build(unified(spans, parent_of), run.after)
            try:
                keys.update(calls_of(tree))
                yield from tell_tree(tree, run.id, knows)
            finally:
                take_down(tree)

        return Told(chain(again, together(tell(), (s.place for s in spans))), keys)


def _alone(run: Run) -> str:
    """The id of the trace of a run that has but one."""
    return run.id if len(run.traces) == 1 else ""


def _too_early(span: str) -> bool:
    """Whether a span stands anywhere in the import shows when all was read."""
    raise TooEarly(span)


def _joined(run: Run) -> Iterator[Made]:
    for (other, kind), found in run.found.items():
        yield _link(run.id, other, kind, found, joined=True)


def _link(trace: str, other: str, kind: LinkKind, found: Found, *, joined: bool = False) -> Made:
    return Made(Link(trace=trace, other=other, kind=kind, joined=joined, n=found.n), found.place)
