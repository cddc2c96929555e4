"""The same questions answered the slow way: by trying every walk of one small graph."""

from collections.abc import Callable, Iterator
from itertools import combinations

from worked import Spec

# seq, channel, sender, recipient, held
Hop = tuple[int, str, str | None, str, bool]
Blocked = Callable[[Hop], bool]


def hops(spec: Spec, value: str = "account") -> list[Hop]:
    """Every delivery of a graph whose events are in order, one recipient each."""
    return [
        (n, e["channel"], e.get("from"), e["to"], value in e.get("holds", []))
        for n, e in enumerate(spec["events"], 1)
        if e.get("from") != e["to"]
    ]


def kind(spec: Spec, name: str | None) -> str:
    return str(spec["kinds"].get(name, "agent"))


def origin(spec: Spec) -> tuple[str, int] | None:
    """The first agent to hold the value by itself, and when."""
    got = [(0, name) for name in spec["given"]]
    got += [(n, r) for n, c, _, r, held in hops(spec) if held and c in ("C4", "C5") and kind(spec, r) == "agent"]
    return min(((name, n) for n, name in got), key=lambda g: (g[1], g[0]), default=None)


def walks(edges: list[Hop], start: str, since: int, *, timed: bool) -> Iterator[tuple[Hop, ...]]:
    """Every walk from the start that uses no delivery twice; each later than the one before where `timed`."""
    stack: list[tuple[str, int, tuple[Hop, ...]]] = [(start, since, ())]
    while stack:
        here, after, walk = stack.pop()
        for hop in edges:
            if hop[2] == here and hop not in walk and (not timed or hop[0] > after):
                longer = (*walk, hop)
                yield longer
                stack.append((hop[3], hop[0], longer))


def distances(spec: Spec) -> dict[str, tuple[int | None, ...]]:
    """Recipient to realised, temporal, carrying over C2 and over everything."""
    found = origin(spec)
    if found is None:
        return {}
    out: dict[str, list[int | None]] = {}
    columns = []
    for any_channel in (False, True):
        edges = [h for h in hops(spec) if any_channel or h[1] == "C2"]
        columns += [_shortest(edges, found, timed=False), _shortest(edges, found, timed=True)]
        columns.append(_shortest([h for h in edges if h[4]], found, timed=True))
    for column in columns:
        for name in column:
            out.setdefault(name, [])
    return {name: tuple(column.get(name) for column in columns) for name in out if name != found[0]}


def _shortest(edges: list[Hop], found: tuple[str, int], *, timed: bool) -> dict[str, int]:
    best: dict[str, int] = {}
    for walk in walks(edges, *found, timed=timed):
        best[walk[-1][3]] = min(best.get(walk[-1][3], len(walk)), len(walk))
    return best


def sources(spec: Spec) -> dict[str, int]:
    """Who holds the value unaided, and after which moment."""
    held, own = dict.fromkeys(spec["given"], 0), dict.fromkeys(spec["given"], 0)
    for n, _, sender, recipient, carried in hops(spec):
        if carried:
            name = sender or "?"
            if name not in held:
                own[name] = held[name] = n - 1
            held.setdefault(recipient, n)
    return own


def leaks(spec: Spec, blocked: Blocked = lambda hop: False) -> set[str]:
    """Who learns the value without leave when some deliveries do not happen."""
    held, found = dict(sources(spec)), set()
    for hop in hops(spec):
        n, _, sender, recipient, carried = hop
        if carried and held.get(sender or "?", n) < n and not blocked(hop):
            held.setdefault(recipient, n)
            if recipient not in spec["allow"]:
                found.add(recipient)
    return found


def guard_of(hop: Hop, place: str) -> str:
    sender = hop[2] or "(unknown sender)"
    return sender if place == "actor" else f"{sender} -> {hop[3]}"


def guarded(spec: Spec, guards: set[str], place: str, *, sparing: bool) -> set[str]:
    """Who still learns the value behind guards that stop what is not allowed, or (not sparing) what is as well."""
    own = sources(spec)

    def blocked(hop: Hop) -> bool:
        allowed = hop[3] in spec["allow"]
        handed_out = kind(spec, hop[2]) != "agent" and hop[2] in own
        return guard_of(hop, place) in guards and not (allowed and (sparing or handed_out))

    return leaks(spec, blocked)


def fewest(spec: Spec, place: str) -> int:
    """The size of a smallest set of guards that stops everything, sparing nothing."""
    every = sorted({guard_of(hop, place) for hop in hops(spec) if hop[4]})
    for size in range(len(every) + 1):
        if any(not guarded(spec, set(chosen), place, sparing=False) for chosen in combinations(every, size)):
            return size
    raise AssertionError("all guards together stop everything")
