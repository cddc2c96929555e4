"""What has been told of a trace so far: items in order, and which text was produced where."""

from collections import Counter, deque
from itertools import islice
from typing import Any

from msgspec import structs

from earwitness.ingest.record import Made, Place
from earwitness.ingest.refusals import unmade
from earwitness.ingest.spans.texts import cut, escaped, fingerprint, flags_of
from earwitness.ingest.spans.tree import Node
from earwitness.schema.model import Actor, Delivery, Event, Loss, Sighting
from earwitness.schema.words import ActorKind, Channel, Flag, LossKind, SightingKind

USER = "user"
# Kinds of events that tell what stood beside the words: no instrumentation for contents wrote these.
ASIDE = ("attributes", "span_names", "resource")
# Texts of some length are looked for inside framework structures, among the latest events only.
_QUOTABLE, _RECENT = 16, 256
_RUNGS = ("attribute", "declared", "delegation", "node", "span_name", "ancestor", "structural")
_STRENGTH = {rung: n for n, rung in enumerate(_RUNGS)}


class Produced:
    """An event as later copies look for it."""

    def __init__(self, event: str, node: Node, channel: Channel, at: int) -> None:
        self.event, self.node, self.channel, self.at = event, node, channel, at


class Ledger:
    """The items of one trace.

    Args:
        trace: its id.
        limit: the length at which its exporter cut texts, where it did.
    """

    def __init__(self, trace: str, limit: int | None) -> None:
        self.trace, self.limit = trace, limit
        self.made: list[Made] = []
        self.told: set[int] = set()
        self.own: dict[int, set[str]] = {}
        self._seq = 0
        self._names: Counter[str] = Counter()
        self._by_text: dict[bytes, list[Produced]] = {}
        self._by_author: dict[tuple[bytes, str | None], Produced] = {}
        self._texts: deque[tuple[str, Produced]] = deque(maxlen=_RECENT)
        self._by_key: dict[tuple[str, str], Produced] = {}
        self._actors: dict[str, tuple[ActorKind, str]] = {}
        self._losses: Counter[tuple[LossKind, Channel | None, str]] = Counter()
        self._loss_places: dict[tuple[LossKind, Channel | None, str], Place] = {}
        # Which instrumentations recorded words in clear, and which hid or left out some.
        self._clear: dict[str, None] = {}
        self._silent: dict[tuple[LossKind, Channel | None, str], dict[str, None]] = {}

    def event(
        self,
        node: Node,
        channel: Channel,
        content: str,
        *,
        name: str,
        kind: str,
        sender: str | None = None,
        to: tuple[Delivery, ...] = (),
        keys: tuple[tuple[str, str], ...] = (),
        flags: tuple[Flag, ...] = (),
        time: int | None = None,
        attributes: dict[str, Any] | None = None,
    ) -> str:
        """Tell a production; `keys` are ids under which copies of it will come."""
        event_id = self._name(f"{node.span.span_id}:{name}")
        found = flags_of(content, self.limit)
        flags = tuple(dict.fromkeys((*flags, *found))) if found else flags
        produced = Produced(event_id, node, channel, len(self.made))
        words = fingerprint(content)
        self._by_text.setdefault(words, []).append(produced)
        self._by_author[words, node.agent] = produced
        if len(content) >= _QUOTABLE:
            self._texts.append((content, produced))
        for key in keys:
            self._by_key[key] = produced
        self._lose_for(flags, channel, node)
        if "masked" not in flags and kind not in ASIDE and node.span.scope:
            self._clear[node.span.scope] = None
        event = Event(
            trace=self.trace,
            id=event_id,
            seq=self._next(),
            time=node.span.start if time is None else time,
            channel=channel,
            kind=kind,
            sender=sender,
            to=tuple([d.actor if d.grade == "declared" and d.delivered else d for d in to]) if to else (),
            content=content,
            parent=node.span.parent_id,
            flags=flags,
            attributes=attributes,
        )
        self.own.setdefault(node.index, set()).add(content)
        self._put(event, node)
        return event_id

    def sighting(
        self,
        node: Node,
        content: str,
        kind: SightingKind,
        event: str | None = None,
        *,
        actor: str | None = None,
        time: int | None = None,
    ) -> None:
        """Tell that the agent of a span (or `actor`) was shown a text."""
        self._lose_for(flags_of(content, self.limit), None, node)
        self.own.setdefault(node.index, set()).add(content)
        self._put(
            Sighting(
                trace=self.trace,
                actor=actor or node.agent,
                kind=kind,
                content=content,
                seq=self._next(),
                time=node.span.start if time is None else time,
                event=event,
            ),
            node,
        )

    def find(self, text: str, *, under: Node | None = None, author: str | None = None) -> Produced | None:
        """The latest event with this text, or the latest of an author or of a subtree."""
        words = fingerprint(text)
        found = self._by_text.get(words)
        if found is None:
            return None
        if under is None:
            return found[-1] if author is None else self._by_author.get((words, author))
        latest = islice(reversed(found), _RECENT)
        return next((p for p in latest if under.holds(p.node) and (author is None or p.node.agent == author)), None)

    def find_quoted(self, text: str, under: Node) -> Produced | None:
        """The event in a subtree whose text is the longest one that is quoted in `text`."""
        recent = [(t, p) for t, p in self._texts if under.holds(p.node)]
        hits = [(len(t), p) for t, p in recent if t in text or escaped(t) in text]
        return max(hits, key=lambda hit: hit[0])[1] if hits else None

    def quoted_in(self, text: str) -> list[tuple[str, str]]:
        """Texts and ids of the latest events whose words stand in `text`."""
        return [(t, p.event) for t, p in self._texts if t in text or escaped(t) in text]

    def find_key(self, what: str, key: str | None) -> Produced | None:
        """The event that was told under an id."""
        return self._by_key.get((what, key)) if key else None

    def alias(self, told: Produced, keys: tuple[tuple[str, str], ...]) -> None:
        """Further ids under which copies of an event will come."""
        self._by_key.update(dict.fromkeys(keys, told))

    def find_message(self, text: str, sender: str | None) -> Produced | None:
        """The latest message to agents with this text and this sender."""
        found = reversed(self._by_text.get(fingerprint(text), ()))
        return next((p for p in found if p.channel == "C2" and sender and self._sender(p) == sender), None)

    def is_message(self, told: Produced, by_another_than: str | None) -> bool:
        """Whether an event is a message to agents from another sender: two may say the same."""
        sender = self._sender(told)
        return told.channel == "C2" and None not in (sender, by_another_than) and sender != by_another_than

    def _sender(self, told: Produced) -> str | None:
        item = self.made[told.at].item
        return item.sender if isinstance(item, Event) else None

    def deliver(self, told: Produced, sender: str | None, to: str) -> None:
        """One more recipient of a message that its sender gave to several."""
        made = self.made[told.at]
        item = made.item
        if (
            not isinstance(item, Event)
            or item.channel != "C2"
            or sender is None
            or item.sender != sender
            or to == sender
        ):
            return
        if to not in {d.actor if isinstance(d, Delivery) else d for d in item.to}:
            self.made[told.at] = Made(structs.replace(item, to=(*item.to, to)), made.place)

    def refuse(self, told: Produced) -> None:
        """A call that was not made reached nobody."""
        made = self.made[told.at]
        item = made.item
        if isinstance(item, Event) and item.channel in ("C2", "C3") and "not_delivered" not in item.flags:
            self.made[told.at] = Made(unmade(item), made.place)

    def actor(self, name: str, kind: ActorKind, evidence: str) -> None:
        """A party of the trace; the strongest evidence stands, and whoever runs as an agent is one."""
        known = self._actors.get(name)
        promoted = known is not None and kind == "agent" and known[0] != "agent"
        better = known is not None and kind == known[0] and _stronger(evidence, known[1])
        if known is None or promoted or better:
            self._actors[name] = (kind, evidence)

    def lose(self, kind: LossKind, channel: Channel | None, detail: str, place: Place, n: int = 1) -> None:
        """Something happened that the record does not hold. Losses of one kind are counted together."""
        key = (kind, channel, detail)
        self._losses[key] += n
        self._loss_places.setdefault(key, place)

    def withhold(self, kind: LossKind, channel: Channel | None, detail: str, node: Node) -> None:
        """An instrumentation hid or left out words; `closing` says so where another one recorded some in clear."""
        self.lose(kind, channel, detail, node.span.place)
        if node.span.scope:
            self._silent.setdefault((kind, channel, detail), {})[node.span.scope] = None

    def is_cut(self, text: str) -> bool:
        """Whether a text was cut by the exporter."""
        return cut(text, self.limit)

    @property
    def channels(self) -> set[Channel]:
        """The channels on which something was told."""
        return {made.item.channel for made in self.made if isinstance(made.item, Event)}

    @property
    def names(self) -> set[str]:
        """The parties so far."""
        return set(self._actors)

    @property
    def empty(self) -> bool:
        """Nothing was produced and nothing seen."""
        return not self.made

    def closing(self, place: Place) -> list[Made]:
        """Actors and losses: what is known when all else is told."""
        actors = [
            Made(Actor(trace=self.trace, name=name, kind=kind, evidence=evidence), place)
            for name, (kind, evidence) in self._actors.items()
        ]
        losses = [
            Made(
                Loss(trace=self.trace, kind=k, channel=c, n=n, detail=detail + self._contradiction((k, c, detail))),
                self._loss_places[(k, c, detail)],
            )
            for (k, c, detail), n in self._losses.items()
        ]
        return actors + losses

    def _contradiction(self, key: tuple[LossKind, Channel | None, str]) -> str:
        """Masks and content switches hold for one instrumentation: which others did not heed them."""
        silent = self._silent.get(key, {})
        others = [scope for scope in self._clear if scope not in silent]
        return f" in {', '.join(silent)}; recorded in clear in {', '.join(others)}" if silent and others else ""

    def _put(self, item: Event | Sighting, node: Node) -> None:
        self.told.add(node.index)
        self.made.append(Made(item, node.span.place))

    def _name(self, name: str) -> str:
        self._names[name] += 1
        return name if self._names[name] == 1 else f"{name}.{self._names[name]}"

    def _next(self) -> int:
        self._seq += 1
        return self._seq - 1

    def _lose_for(self, flags: tuple[Flag, ...], channel: Channel | None, node: Node) -> None:
        if not flags:
            return
        details: dict[Flag, tuple[LossKind, str]] = {
            "masked": ("masked", "hidden before it was recorded"),
            "truncated": ("truncated", "cut by the exporter"),
            "reference": ("reference", "kept elsewhere"),
        }
        for flag in flags:
            if flag == "masked":
                self.withhold("masked", channel, details[flag][1], node)
            elif flag in details:
                self.lose(details[flag][0], channel, details[flag][1], node.span.place)


def _stronger(evidence: str, than: str) -> bool:
    return _STRENGTH.get(evidence, len(_RUNGS)) < _STRENGTH.get(than, len(_RUNGS))
