"""Runs of several traces while their records come in, in any order of start and end."""

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import fields
from datetime import datetime
from sys import intern
from typing import Any, NamedTuple

from earwitness.ingest.boundary import together
from earwitness.ingest.langchain.index import Index
from earwitness.ingest.langchain.messages import Msg, holders, read_message
from earwitness.ingest.langchain.runs import Run, moment
from earwitness.ingest.langchain.telling import tell
from earwitness.ingest.record import Context, Emit, Place
from earwitness.ingest.shelf import Key, Shelf, Whereabouts
from earwitness.schema.times import as_time, to_nanos

# Values of fewer bytes stay in memory.
_SMALL = 256
# Runs that are kept at hand, of those that may be put away.
_AWAKE = 2000
_TEXT = ("inputs", "outputs")


class Runs:
    """Runs by id."""

    def __init__(self) -> None:
        self.runs: dict[str, Run] = {}
        self._pool: dict[Msg, Msg] = {}

    def run(self, run_id: str, place: Place) -> Run:
        """The run of an id; made when it is new, and then of the place where it was first seen."""
        if run_id not in self.runs:
            self.runs[run_id] = Run(run_id, place=place, order=f"{len(self.runs):09d}")
        return self.runs[run_id]

    def put(self, run: Run, key: str, value: Any) -> None:
        """Keep inputs or outputs: histories repeat their messages, so each message is kept once."""
        raw = run.kind == "tool" and key == "inputs"  # arguments are words, not messages
        merge(run, key, value if raw else self._compact(value))

    def _compact(self, value: Any, depth: int = 6) -> Any:
        """A value with its messages read, where messages have their places."""
        msg = read_message(value)
        if msg is not None:
            return self._pool.setdefault(msg, msg)
        if isinstance(value, list) and depth:
            return [self._compact(item, depth - 1) for item in value]
        if isinstance(value, dict) and depth:
            places = holders(value)
            return {k: self._compact(v, depth - 1) if k in places else v for k, v in value.items()}
        return value


_KINDS: dict[type, int] = {Key: 1, Place: 2}
# A run that is put away has no place in a tree yet.
_FIELDS = [f.name for f in fields(Run) if f.name not in ("children", "above")]


class Stowed(NamedTuple):
    """Where a run waits on disk, and what must be known of it there."""

    parent: str | None
    trace: str | None
    number: int
    began: int | None  # of a run without parent
    offset: int
    size: int


class _Later:
    """Where runs were met again, by their numbers."""

    def __init__(self) -> None:
        self._runs, self._places = array("q"), Whereabouts()
        self._by_run: dict[int, list[int]] | None = None

    def add(self, run: int, place: Place) -> None:
        self._runs.append(run)
        self._places.append(place)

    def of(self, run: int) -> Iterator[Place]:
        """Those of a run; none may be added after this was asked."""
        if self._by_run is None:
            self._by_run = {}
            for n, known in enumerate(self._runs):
                self._by_run.setdefault(known, []).append(n)
        return (self._places[n] for n in self._by_run.get(run, ()))


class Runbook(Runs):
    """Runs by id, told as the traces they form. What they hold of text waits on disk.

    Args:
        context: of the import.
        framework: what traces are of that do not show it.
        stow: put away whole runs of which nothing was heard for long; nobody may hold one from record to record.
    """

    def __init__(self, context: Context, framework: str = "langchain", *, stow: bool = False) -> None:
        super().__init__()
        self.context = context
        self.framework = framework
        self._awake = _AWAKE if stow else None
        self._numbers: dict[str, int] = {}  # of runs at hand, in order of appearance
        self._stowed: dict[str, Stowed] = {}
        self._shelf = Shelf()
        self._later = _Later()
        self._told = Index()  # messages of the traces that were told

    def run(self, run_id: str, place: Place) -> Run:
        """The run of an id; made when it is new, and then of the place where it was first seen."""
        known = self.known(run_id)
        if known is not None:
            self._later.add(self._numbers[run_id], place)
        else:
            run_id, number = intern(run_id), len(self.runs) + len(self._stowed)
            known = self.runs[run_id] = Run(run_id, place=place, order=f"{number:09d}")
            self._numbers[run_id] = number
            if self._awake is not None and len(self.runs) > 2 * self._awake:
                for old in list(self.runs)[: self._awake]:
                    self._stowed[old] = self._stow(self.runs.pop(old))
        return known

    def known(self, run_id: str) -> Run | None:
        """The run of an id, if there is one."""
        if run_id in self._stowed:
            stowed = self._stowed.pop(run_id)
            self.runs[run_id], self._numbers[run_id] = self._whole(stowed), stowed.number
        return self.runs.get(run_id)

    def put(self, run: Run, key: str, value: Any) -> None:
        """Keep inputs or outputs: small ones as they are."""
        kept = self._shelf.put(value) if key in _TEXT and value not in (None, "", {}, []) else None
        if kept and abs(kept.size) >= _SMALL:
            setattr(run, key, kept)
        else:
            merge(run, key, value)

    def tell(self) -> Iterator[Emit]:
        """All traces, in order of appearance."""
        every: dict[str, Run | Stowed] = {**self._stowed, **self.runs}
        numbers = self._numbers | {run_id: stowed.number for run_id, stowed in self._stowed.items()}
        traces: dict[str, list[str]] = {}
        for run_id in sorted(numbers, key=numbers.__getitem__):
            traces.setdefault(every[run_id].trace or _root(run_id, every), []).append(run_id)
        starts = {trace: _began(every.get(trace), trace) for trace in traces}
        every.clear()
        numbers.clear()
        for trace in _in_time(starts):
            runs = [run for run_id in traces.pop(trace) if (run := self.known(run_id))]
            for run in runs:
                del self.runs[run.id]
            self._fetch(runs)
            framework = framework_of(runs) or self.framework
            places = (place for run in runs for place in (run.place, *self._later.of(self._numbers[run.id])))
            yield from together(tell(runs, self._fresh(trace), framework, self._told), places)
            for run in runs:  # nobody collects circles
                run.children, run.above = [], None
        self._shelf.close()

    def _fetch(self, runs: list[Run]) -> None:
        """Bring back what was put aside of the runs of a trace."""
        self._pool.clear()
        for run in runs:
            for key in _TEXT:
                kept = getattr(run, key)
                super().put(run, key, self._shelf.get(kept) if isinstance(kept, Key) else kept)

    def _stow(self, run: Run) -> Stowed:
        values = [getattr(run, name) for name in _FIELDS]
        plain = [tuple(v) if isinstance(v, Key | Place) else v for v in values]
        kinds = [_KINDS.get(type(v), 0) for v in values]
        key = self._shelf.put((kinds, plain))
        parent, trace = (intern(v) if v else None for v in (run.parent, run.trace))
        began = None if run.parent else to_nanos(run.start)
        return Stowed(parent, trace, self._numbers.pop(run.id), began, *key)

    def _whole(self, stowed: Stowed) -> Run:
        kinds, plain = self._shelf.get((stowed.offset, stowed.size))
        makers = {n: kind for kind, n in _KINDS.items()}
        return Run(**{n: makers[k](*v) if k else v for n, k, v in zip(_FIELDS, kinds, plain, strict=True)})

    def _fresh(self, trace: str) -> str:
        """The same trace in two files of one import is told twice, under two names."""
        if self.context.claim("langchain-trace", trace):
            return trace
        return f"{trace}@{self.context.name.rpartition('/')[2]}"


def _began(root: Run | Stowed | None, trace: str) -> int | None:
    """When a trace began, in ns: as its outermost run says, or as the id does."""
    start = to_nanos(root.start) if isinstance(root, Run) else root.began if root else None
    return start or to_nanos(moment(trace))


def _in_time(starts: dict[str, int | None]) -> list[str]:
    """Traces by the time they began, for later ones repeat what was said before; as they stand if one has no time."""
    known = {trace: start for trace, start in starts.items() if start is not None}
    return sorted(known, key=known.__getitem__) if len(known) == len(starts) else list(starts)


def _root(run_id: str, runs: Mapping[str, Run | Stowed]) -> str:
    """The id of the outermost run known, or of the one above it that is not."""
    seen = {run_id}
    parent = runs[run_id].parent
    while parent is not None and parent in runs and parent not in seen:
        run_id = parent
        seen.add(run_id)
        parent = runs[run_id].parent
    return parent or run_id


def framework_of(runs: list[Run]) -> str | None:
    """What the metadata of runs shows to have been used; None where it shows nothing.

    An agent that `create_agent` made is a graph too, with nodes called `model` and `tools`, but whoever calls it uses
    LangChain: a graph of the user's own has nodes outside of such agents. Runs of models have metadata of their own,
    so they decide only where nothing else was recorded.
    """
    nodes = [r for r in runs if "langgraph_node" in r.metadata]
    steps = [r.metadata for r in nodes if r.kind != "llm"] or [r.metadata for r in nodes]
    if any("lc_agent_name" not in m and m.get("ls_integration") != _AGENT for m in steps):
        return "langgraph"
    agents = any("lc_agent_name" in r.metadata or r.metadata.get("ls_integration") == _AGENT for r in runs)
    return "langchain" if agents else None


_AGENT = "langchain_create_agent"
_TEXTS = ("kind", "name", "parent", "trace", "order", "call_id", "model")
_TIMES = ("start", "end")


def merge(run: Run, key: str, value: Any) -> None:
    """Keep what a record adds: later records fill in, they do not empty, and what is no text names nothing."""
    if value in (None, "", {}, []) or (key in _TEXTS and not isinstance(value, str)):
        return
    if isinstance(value, datetime):  # from a table
        value = value.isoformat()
    if key in _TIMES and as_time(value) is None:
        return
    setattr(run, key, value)
