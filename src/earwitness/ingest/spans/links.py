"""Which traces are one logical run: joined by what their spans say of each other, never by time.

Only small keys are kept of a span, never its content. What joins, each with its class:

* `parent`: a span that names a parent recorded in another trace. Span ids are unique in a trace only, so the id must be
  one that was drawn by lot, and stand in one other trace.
* `span_link`: a link of OpenTelemetry to a span or trace in the record; not one of a batch, which has many causes.
* `traceparent`: the context of another trace, passed on in attributes or metadata.
* `run_id`: the id of a team or an orchestration in the addresses of a runtime between actors, borne by two names.
* `conversation`: one conversation id, and a text that crosses (see `crossing`). The id alone joins nothing.
* `agent`: a trace in which an agent was made and nothing else happened, and the one run in which that agent runs.
"""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from earwitness.ingest.record import Place
from earwitness.ingest.spans.crossing import crossings
from earwitness.ingest.spans.evidence import agents_of, contexts_of, conversation_of, makes_agent, may_tell, member_of
from earwitness.ingest.spans.homes import Homes
from earwitness.ingest.spans.span import Span
from earwitness.ingest.spans.spool import Spool
from earwitness.schema.words import LinkKind

# An agent that runs in more traces than this belongs to no single run.
_TRACES = 1000
_NEVER = (1 << 63) - 1
_BATCH = "messaging.batch.message_count"
_Key = TypeVar("_Key")


@dataclass
class Found:
    """Pieces of evidence of one kind, and where the first stands."""

    place: Place
    n: int = 0


@dataclass(frozen=True)
class Edge:
    """Two traces that have to do with each other. Of a `run_id` neither is the later one."""

    later: int
    earlier: int
    kind: LinkKind
    found: Found
    joins: bool = True
    fed: bool = False
    call: tuple[str, str] | None = None


@dataclass
class Run:
    """Traces that are one logical run.

    Attributes:
        id: the id of the trace on which the others hang.
        traces: ids, in order of appearance.
        found: what joins each of the other traces.
        after: the trace that handed a trace its first input, where only the text tells; and whether it asked the
            question, too.
        calls: trace and span of a root that the arguments of a call started, and those of the call.
    """

    id: str
    traces: list[str]
    found: dict[tuple[str, LinkKind], Found] = field(default_factory=dict)
    after: dict[str, tuple[str, bool]] = field(default_factory=dict)
    calls: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)


@dataclass
class _Team:
    names: set[str] = field(default_factory=set)
    traces: dict[int, Found] = field(default_factory=dict)


class Sets:
    """Disjoint sets of numbers, for as many as are asked about."""

    def __init__(self) -> None:
        self._up: dict[int, int] = {}
        self._joined: set[int] = set()

    def alone(self, n: int) -> bool:
        """Whether nothing was joined with `n`."""
        return n not in self._joined

    def of(self, n: int) -> int:
        """The number that stands for the set of `n`."""
        top = n
        while (up := self._up.get(top, top)) != top:
            top = up
        while (up := self._up.get(n, n)) != top and n != top:
            self._up[n], n = top, up
        return top

    def join(self, a: int, b: int) -> None:
        """Make one set of two."""
        low, high = sorted((self.of(a), self.of(b)))
        self._up[high] = low
        self._joined.update((a, b))


class Links:
    """What the spans of an import say of other traces."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._ids: list[str] = []
        self._starts = array("q")
        self._makers: dict[int, Place] = {}  # traces in which agents were made and nothing else happened, so far
        self._busy = bytearray()  # whether anything else happened, by trace
        self._homes = Homes()
        self._named: dict[tuple[int, str, LinkKind, bool], Found] = {}
        self._teams: dict[str, _Team] = {}
        self._talks: dict[str, dict[int, Place]] = {}
        self._made: dict[str, set[int]] = {}
        self._ran: dict[str, set[int]] = {}

    def note(self, span: Span, where: int) -> None:
        """Take the keys of a span, which lies at `where` in the spool."""
        n = self._number(span)
        self._homes.note(n, span.span_id, span.parent_id, where)
        if may_tell(span):
            self._note_words(n, span)
        else:
            self._note_step(n)

    def _note_words(self, n: int, span: Span) -> None:
        batch = span.attributes.get(_BATCH)
        joins = not (isinstance(batch, int) and batch > 1)
        for trace, _ in span.links:
            _add(self._named, (n, trace, "span_link", joins), span.place)
        for trace, _ in contexts_of(span):
            _add(self._named, (n, trace, "traceparent", True), span.place)
        if talk := conversation_of(span):
            self._talks.setdefault(talk, {}).setdefault(n, span.place)
        if member := member_of(span):
            team = self._teams.setdefault(member.run, _Team())
            team.names.add(member.name)
            _add(team.traces, n, span.place)
        self._note_agents(n, span)

    def knows(self, span_id: str) -> bool:
        """Whether a span of this id was recorded in any trace."""
        return self._homes.knows(span_id)

    def parent_of(self, span: Span) -> tuple[str, str] | None:
        """The trace and the id of a parent in another trace."""
        trace, parent = self._numbers[span.trace_id], span.parent_id
        home = self._homes.home(trace, parent) if parent else None
        if parent and home is not None:
            return self._ids[home], parent
        # A context that was passed on is the parent of what has none: that is what it is passed on for.
        passed = () if parent else contexts_of(span)
        return next(((t, s) for t, s in passed if t != span.trace_id and self._is_in(s, t)), None)

    def runs(self, spool: Spool) -> tuple[Iterator[Run], list[tuple[str, str, LinkKind, Found]]]:
        """The runs in order of appearance, one by one, and what links two of them without making them one."""
        self._homes.settle(len(self._ids))
        edges = list(self._edges(spool))
        sets = Sets()
        for edge in edges:
            if edge.joins:
                sets.join(edge.later, edge.earlier)
        for more in (self._crossed(sets, spool), self._makings(sets)):
            for edge in more:
                edges.append(edge)
                sets.join(edge.later, edge.earlier)
        return self._runs(sets, edges)

    def _number(self, span: Span) -> int:
        n = self._numbers.setdefault(span.trace_id, len(self._ids))
        if n == len(self._ids):
            self._ids.append(span.trace_id)
            self._starts.append(_NEVER)
            self._busy.append(False)
        if span.start is not None and span.start < self._starts[n]:
            self._starts[n] = span.start
        return n

    def _note_step(self, n: int) -> None:
        """Something else happened than the making of an agent."""
        self._busy[n] = True
        self._makers.pop(n, None)

    def _note_agents(self, n: int, span: Span) -> None:
        if makes_agent(span):
            if not self._busy[n]:
                self._makers.setdefault(n, span.place)
            keys = self._made
        else:
            self._note_step(n)
            keys = self._ran
        for key in agents_of(span):
            traces = keys.setdefault(key, set())
            if len(traces) <= _TRACES:
                traces.add(n)

    def _is_in(self, span_id: str, trace: str) -> bool:
        n = self._numbers.get(trace)
        return n is not None and self._homes.holds(n, span_id)

    def _edges(self, spool: Spool) -> Iterator[Edge]:
        for stray in self._homes.strays():
            yield Edge(stray.trace, stray.home, "parent", Found(spool.at(stray.first).place, stray.n))
        for (later, trace, kind, joins), found in self._named.items():
            earlier = self._numbers.get(trace)
            if earlier is not None and earlier != later:
                yield Edge(later, earlier, kind, found, joins)
        for team in self._teams.values():
            if len(team.names) > 1:
                first, *others = team.traces
                yield from (Edge(t, first, "run_id", team.traces[t]) for t in others)

    def _crossed(self, sets: Sets, spool: Spool) -> Iterator[Edge]:
        """Traces of one conversation of which one starts with what another gave."""
        for traces in self._talks.values():
            if len({sets.of(t) for t in traces}) > 1:
                for c in crossings((t, spool.of([self._ids[t]])) for t in traces):
                    yield Edge(c.later, c.earlier, "conversation", Found(c.place, c.n), fed=c.fed, call=c.call)

    def _makings(self, sets: Sets) -> Iterator[Edge]:
        """Traces that made an agent, each with the one run in which it runs."""
        for key, makers in self._made.items():
            maker = next(iter(makers))
            ran = self._ran.get(key, set())
            runs = {sets.of(t) for t in ran}
            if len(makers) == len(runs) == 1 and maker in self._makers and len(ran) <= _TRACES:
                yield Edge(maker, runs.pop(), "agent", Found(self._makers[maker], 1))

    def _runs(self, sets: Sets, edges: list[Edge]) -> tuple[Iterator[Run], list[tuple[str, str, LinkKind, Found]]]:
        members: dict[int, list[int]] = {}
        for n in range(len(self._ids)):
            if not sets.alone(n):  # most are, and there may be millions
                members.setdefault(sets.of(n), []).append(n)
        touching: dict[int, list[Edge]] = {}
        for edge in edges:
            if edge.joins:
                touching.setdefault(sets.of(edge.later), []).append(edge)

        def of(n: int) -> Run:
            top = sets.of(n)
            return self._run(members.get(top, [n]), touching.get(top, []))

        loose = [e for e in edges if not e.joins and sets.of(e.later) != sets.of(e.earlier)]
        linked = [(of(e.earlier).id, of(e.later).id, e.kind, e.found) for e in loose]
        first = (n for n in range(len(self._ids)) if sets.alone(n) or members[sets.of(n)][0] == n)
        return map(of, first), linked

    def _run(self, numbers: list[int], edges: list[Edge]) -> Run:
        head = self._head(numbers, edges)
        run = Run(self._ids[head], [self._ids[n] for n in numbers])
        for edge in edges:
            for n in ({edge.later} if edge.kind == "agent" else {edge.later, edge.earlier}) - {head}:
                found = run.found.setdefault((self._ids[n], edge.kind), Found(edge.found.place))
                found.n += edge.found.n
            if edge.kind == "conversation":
                later, earlier = self._ids[edge.later], self._ids[edge.earlier]
                run.after.setdefault(later, (earlier, edge.fed))
                if edge.call:
                    run.calls.setdefault((later, edge.call[0]), (earlier, edge.call[1]))
        return run

    def _head(self, numbers: list[int], edges: list[Edge]) -> int:
        """The trace that no other one caused; of several the earliest, whatever file was read first."""
        caused = {e.later for e in edges if e.kind != "run_id"}
        free = [n for n in numbers if n not in caused and n not in self._makers] or numbers
        return min(free, key=lambda n: (self._starts[n], self._ids[n]))


def _add(found: dict[_Key, Found], key: _Key, place: Place) -> None:
    found.setdefault(key, Found(place)).n += 1
