"""The import: every stream through container, dialect and adapter into the case, with every record accounted for."""

import gc
import marshal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, cast

import numpy as np

from earwitness.ingest import finalize
from earwitness.ingest.boundary import Guarded
from earwitness.ingest.columns import Places
from earwitness.ingest.containers import Block, Container, line_columns, records_of, whole
from earwitness.ingest.digests import Digests
from earwitness.ingest.files import DAMAGE, Opened, cause, open_all
from earwitness.ingest.fingerprints import name_foreign
from earwitness.ingest.forking import processors
from earwitness.ingest.jsonpieces import Large
from earwitness.ingest.jsontext import DecodeError, decode
from earwitness.ingest.layouts import READERS, recognise
from earwitness.ingest.limits import DEFAULT_LIMITS, Limits
from earwitness.ingest.record import Adapter, Emit, Place, Record, Skip, Source
from earwitness.ingest.registry import ORDINARY, adapter_for, fits, priority
from earwitness.ingest.stems import Stems
from earwitness.ingest.stream import CountingStream
from earwitness.ingest.writer import Writer
from earwitness.schema.case import Case
from earwitness.schema.progress import Progress, silent

# So many kinds of records of a source are remembered.
_KINDS = 1000
_SOURCE = attrgetter("place.source")


def _digest(key: tuple[str | bytes, ...]) -> bytes:
    """A key as 16 bytes: some are whole records, and there may be millions."""
    try:  # version 0 writes equal texts alike; later ones note which of them the interpreter shares
        raw = marshal.dumps(key, 0)
    except ValueError:  # texts of a type of their own
        raw = marshal.dumps(tuple(k if isinstance(k, bytes) else str(k) for k in key), 0)
    return blake2b(raw, digest_size=16).digest()


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without garbage collection: decoded records form no cycles, and looking for some costs a tenth of an import."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


@dataclass(eq=False)
class Loader:
    """One import into one case.

    Attributes:
        case: where everything goes.
        limits: what an input may cost.
        progress: told the name of the source and the bytes read so far of it.
        adapter: reads every record it knows, before all others: one made from a mapping file.
        jobs: processes that may tell runs, where a reader tells them at its end.
    """

    case: Case
    limits: Limits = DEFAULT_LIMITS
    progress: Progress = silent
    adapter: Adapter | None = None
    jobs: int = field(default_factory=processors)
    sources: list[Source] = field(default_factory=list)
    readers: dict[str, Guarded] = field(default_factory=dict)
    _claimed: Digests = field(default_factory=Digests)
    _stems: Stems = field(default_factory=Stems)

    @property
    def name(self) -> str:
        """Name of the source that is read now."""
        return self.sources[-1].name

    @property
    def stem(self) -> str:
        """Its name without folders and endings, as far as that tells it from sources in other folders."""
        return self._stems.of(self.name)

    def claim(self, *key: str | bytes) -> bool:
        """True the first time `key` is claimed; False says the same thing was imported before."""
        return self._claimed.add(_digest(key))

    def load(self, paths: list[Path]) -> list[Source]:
        """Import files, folders and archives; gives one `Source` for each file and archive member.

        Raises:
            InputError: a path does not exist or cannot be opened. Nothing is imported then.
        """
        names = [str(p).encode("utf-8", "backslashreplace").decode() for p in paths]
        with _uncollected(), self.case.stage("import", {"paths": names}):
            writer = Writer(self.case)
            try:
                sources = self._load_all(paths, writer)
                writer.flush()
            finally:
                writer.close()
                self.readers = {}
            finalize.run(self.case, writer.numbers.traces, sources)
        return sources

    def _load_all(self, paths: list[Path], writer: Writer) -> list[Source]:
        first = int(self.case.one("SELECT coalesce(max(source), -1) + 1 FROM sources"))
        self.sources, self.readers = [], {}
        archives: dict[int, tuple[Source, CountingStream]] = {}
        packed: list[tuple[Source, CountingStream]] = []
        for opened in open_all(paths, self.limits):
            source = Source(opened.name, first + len(self.sources))
            self.sources.append(source)
            parent = archives.get(opened.depth - 1)
            source.parent = parent[0].number if parent else None
            self._load_one(opened, source, writer)
            if opened.archive and opened.stream:
                archives[opened.depth] = (source, opened.stream)
                packed.append((source, opened.stream))
        for source, stream in packed:  # known in full only after the last member
            source.sha256, source.bytes = stream.sha256, stream.bytes
        self._finish(writer, first)
        return self.sources

    def _finish(self, writer: Writer, first: int) -> None:
        """What readers of the whole import say at its end, each item for the source it came from."""
        routers = {s.number: Router(s, writer, self) for s in self.sources} if self.readers else {}
        for reader in self.readers.values():
            for number, emits in groupby(reader.close({s.number: s for s in self.sources}), _SOURCE):
                routers[max(number, first)].put(emits)
        for source in self.sources:
            source.settle()

    def _load_one(self, opened: Opened, source: Source, writer: Writer) -> None:
        source.container, source.problem = opened.packing, opened.problem
        if opened.problem:
            self._refuse(source, writer, opened.problem)
        elif opened.stream and not opened.archive:
            self._load_stream(opened.stream, source, writer)
        if opened.stream:
            source.sha256, source.bytes = opened.stream.sha256, opened.stream.bytes

    def _load_stream(self, stream: CountingStream, source: Source, writer: Writer) -> None:
        router = Router(source, writer, self)
        try:
            container = recognise(stream)
            source.container = f"{source.container}+{container.name}".strip("+")
            if container.reason:
                self._refuse(source, writer, container.reason)
            else:
                self._route(container, stream, router)
            stream.drain()
        except DAMAGE as error:
            source.problem = f"stopped at byte {stream.bytes}: {cause(error)}"
            router.lose(Skip("unparseable", source.problem, Place(0, stream.bytes, 0)))
        router.finish()
        if source.container.endswith("json-concatenated") and source.records == 1:
            source.container = source.container.removesuffix("-concatenated")

    def _route(self, container: Container, stream: CountingStream, router: "Router") -> None:
        router.owner = container.owner
        for chunk in READERS[container.name](container, self.limits):
            router.take(chunk)
            self.progress(router.source.name, stream.bytes)

    def _refuse(self, source: Source, writer: Writer, reason: str) -> None:
        source.problem = reason
        source.records += 1
        source.skipped("unsupported")
        writer.skip(Skip("unsupported", reason, Place(0, 0, 0)), source)


class Router:
    """Sends each record of a source to the adapter that knows it, and keeps the accounts."""

    def __init__(self, source: Source, writer: Writer, loader: Loader) -> None:
        self.source, self.writer, self.loader = source, writer, loader
        self._readers: dict[str, Guarded] = {}
        # The adapter of the last record, what takes envelopes of it apart, and its reader.
        self._last: Adapter | None = None
        self._split: Callable[[Record], Iterable[Record]] | None = None
        self._reader: Guarded | None = None
        self._known: dict[tuple[str, ...], Adapter] = {}  # by the keys of records
        self.owner: Adapter | None = None  # of text, in which a line alone does not say what it is of

    def take(self, chunk: Block | Record | Skip | Large) -> None:
        """A block of lines, one record, a large one, or one that could not be read."""
        if isinstance(chunk, Block):
            if not self._take_block_at_once(chunk):
                self._take_lines(chunk)
        elif isinstance(chunk, Skip):
            self.lose(chunk)
        elif isinstance(chunk, Large):
            self._take_large(chunk)
        else:
            self._take_record(chunk)

    def lose(self, skip: Skip) -> None:
        """A record that no adapter saw."""
        self.source.records += 1
        self._skip(skip)

    def finish(self) -> None:
        """Let adapters say what they could only say at the end, and hand everything on."""
        outcomes, dialects = self.source.outcomes, self.source.dialects
        for name, reader in self._readers.items():
            unknown = outcomes.get("unknown", 0)
            self.put(reader.close({self.source.number: self.source}))
            # One that waited to see whether the records were of its format, and none was.
            if dialects.get(name) == outcomes.get("unknown", 0) - unknown:
                del dialects[name]

    def _take_block_at_once(self, block: Block) -> bool:
        end = block.data.find(b"\n")
        first = block.data[: end if end >= 0 else None]
        adapter = self._adapter_of(first)
        decoder = getattr(adapter, "decode_lines", None)
        items = decoder(block.data) if decoder else None
        if items is None:
            return False
        lines, offsets, _ = line_columns(block)
        if len(lines) != len(items):
            return False
        self.writer.write()  # what stands before this block comes first
        self.writer.add_many(items, Places(np.full(len(items), self.source.number), lines, offsets, None))
        self._count(cast("Adapter", adapter), len(items))
        return True

    def _adapter_of(self, line: bytes) -> Adapter | None:
        try:
            return self._match(decode(line))
        except DecodeError:
            return None

    def _take_lines(self, block: Block) -> None:
        for found in records_of(block, self.source.number):
            if type(found) is Skip:
                self.lose(found)
            else:
                self._take_record(cast("Record", found))

    def _take_record(self, record: Record) -> None:
        adapter = self._match(record.value)
        if adapter is None:
            self._take_unknown(record)
            return
        if adapter is not self._last:
            self._turn_to(adapter)
        value, place = record
        if place.source != self.source.number:
            record = Record(value, place.of(self.source.number))
        # An adapter may take an envelope apart: its parts are the records then.
        parts = tuple(self._split(record)) if self._split else (record,)
        self._count(adapter, len(parts))
        feed = cast("Guarded", self._reader).feed
        for part in parts:
            if emits := feed(adapter, part):
                self.put(emits)

    def _take_large(self, large: Large) -> None:
        """In pieces, if its format allows that."""
        with large:
            adapter = self._match(large.sample)
            if adapter is None or not large.suits(adapter):
                self.take(whole(large, self.loader.limits))
                return
            reader = self._turn_to(adapter)
            record = Record(large.value(), large.place.of(self.source.number))
            for part in adapter.split(record):  # type: ignore[attr-defined]  # one that names pieces has it
                self._count(adapter, 1)
                self.put(reader.feed(adapter, part))

    def _match(self, value: Any) -> Adapter | None:
        """The adapter of the import, else of the text, else the last one that fitted, else the first that fits."""
        mapped, last = self.loader.adapter, self._last
        if mapped and fits(mapped, value):
            return mapped
        if self.owner:
            return self.owner
        return last if last and fits(last, value) else self._find(value)

    def _find(self, value: Any) -> Adapter | None:
        """The one that took a record of these keys before, if it fits: where kinds alternate, asking all is dear."""
        keys = tuple(value) if type(value) is dict else ()
        known = self._known.get(keys)
        if known and fits(known, value):
            return known
        found = adapter_for(value)
        # What is asked late is sure of little: the next record of these keys may be another's.
        if found and keys and priority(found) <= ORDINARY and len(self._known) < _KINDS:
            self._known[keys] = found
        return found

    def _take_unknown(self, record: Record) -> None:
        """A batch of objects that nobody knows as a batch is taken as its objects."""
        value, place = record
        if isinstance(value, list) and value and all(isinstance(v, dict) for v in value):
            for n, element in enumerate(value):
                self._take_record(Record(element, place.at(f"/{n}")))
        else:
            self.lose(Skip("unknown", name_foreign(value), place))

    def _turn_to(self, adapter: Adapter) -> Guarded:
        """What follows is of another adapter than what came before; gives its reader."""
        shared = getattr(adapter, "READER", None)
        readers, name = (self.loader.readers, shared) if shared else (self._readers, adapter.NAME)
        if name not in readers:
            readers[name] = Guarded(adapter.open(self.loader))
        self._last, self._split, self._reader = adapter, getattr(adapter, "split", None), readers[name]
        return readers[name]

    def put(self, emits: Iterable[Emit]) -> None:
        """Items for the case, and records that gave none."""
        add, source = self.writer.add, self.source
        for emit in emits:
            if isinstance(emit, Skip):
                self._skip(emit)
            else:
                add(emit, source)

    def _skip(self, skip: Skip) -> None:
        self.source.skipped(skip.outcome)
        self.writer.skip(skip, self.source)

    def _count(self, adapter: Adapter, n: int) -> None:
        self.source.records += n
        self.source.dialects[adapter.NAME] = self.source.dialects.get(adapter.NAME, 0) + n
