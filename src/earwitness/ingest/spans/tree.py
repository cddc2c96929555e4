"""The spans of one run as a tree: parents as declared, siblings by time, and whose run each span belongs to.

A run may be recorded in several traces. What hangs on nothing is put in causal order first: after what it is linked
to, after what handed it its first input. Time decides between those of which nothing says which came first.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from types import MappingProxyType

from msgspec import structs

from earwitness.ingest.spans import identity
from earwitness.ingest.spans.facts import Facts, Rung
from earwitness.ingest.spans.registry import facts_of
from earwitness.ingest.spans.span import Span


@dataclass(eq=False)
class Node:
    """A span in its tree.

    Attributes:
        index: position in tree order (parents first); the subtree is `index` to `last`.
        agent: the agent in whose run the span stands, None where nothing says so.
        rung: the rung of the sender ladder that gave `agent`.
        owner: the node at which the run of `agent` begins.
        fed: a root that another tree of the run gave its input, and not the user.
        role: the role of the span; a plain span has none.
        judging: whether it is inside of a guardrail or an evaluator, which is who acts there.
    """

    span: Span
    facts: Facts | None
    children: list["Node"] = field(default_factory=list)
    parent: "Node | None" = None
    index: int = 0
    last: int = 0
    agent: str | None = None
    rung: Rung | None = None
    owner: "Node | None" = None
    fed: bool = False
    judging: bool = False
    role: str = field(init=False)

    def __post_init__(self) -> None:
        self.role = self.facts.role if self.facts else ""

    def holds(self, other: "Node") -> bool:
        """Whether `other` is this node or below it."""
        return self.index <= other.index <= self.last

    @property
    def top(self) -> "Node":
        """The root of the node's tree."""
        return next(reversed(list(self.ancestors())), self)

    def ancestors(self) -> Iterator["Node"]:
        """The nodes above, nearest first."""
        at = self.parent
        while at:
            yield at
            at = at.parent


@dataclass(eq=False)
class Tree:
    """One run: `nodes` in tree order, `orphans` whose declared parent is not in the record."""

    roots: list[Node]
    nodes: list[Node]
    orphans: list[Node]

    def under(self, node: Node) -> list[Node]:
        """The nodes below `node`, in tree order."""
        return self.nodes[node.index + 1 : node.last + 1]

    @property
    def agents(self) -> set[str]:
        """The names of the agents that ran."""
        return {n.agent for n in self.nodes if n.agent and n.owner is not None}


def with_logs(spans: list[Span]) -> list[Span]:
    """Spans with the log records that were written during them; records of a span that is missing stand for it."""
    logs: dict[str, list[Span]] = {}
    for span in spans:
        if span.log:
            logs.setdefault(span.span_id, []).append(span)
    if not logs:
        return spans
    known = {s.span_id for s in spans if not s.log}
    lone = [_joined(structs.replace(rows[0], name=""), rows[1:]) for key, rows in logs.items() if key not in known]
    return [_joined(s, logs.get(s.span_id, [])) for s in spans if not s.log] + lone


def of_logs(span: Span) -> bool:
    """Whether log records stand for a span that is missing."""
    return not span.name and bool(span.events)


def _joined(span: Span, logs: list[Span]) -> Span:
    events = tuple(e for log in logs for e in log.events)
    return structs.replace(span, events=span.events + events, log=False) if events or span.log else span


def build(spans: list[Span], after: Mapping[str, tuple[str, bool]] = MappingProxyType({})) -> Tree:
    """The tree of a run's spans, with every span's agent resolved.

    Args:
        spans: with ids that are unique among them.
        after: trace ids, each with that of the trace which handed it its first input, and whether it asked, too.
    """
    nodes = {s.span_id: Node(s, facts_of(s)) for s in with_logs(spans)}
    orphans = [n for n in nodes.values() if n.span.parent_id and n.span.parent_id not in nodes]
    for node in nodes.values():
        parent = nodes.get(node.span.parent_id or "")
        if parent and parent is not node and not _next_turn(nodes, node, parent):
            node.parent = parent
            parent.children.append(node)
    _cut_circles(nodes)
    roots = _in_order(nodes, after)
    tree = Tree(roots, _number(roots), orphans)
    _resolve_agents(tree)
    return tree


def take_down(tree: Tree) -> None:
    """Undo the circles of parents and children, so that a trace goes as soon as it is told: nobody collects them."""
    for node in tree.nodes:
        node.parent = node.owner = None
        node.children.clear()


def _when(node: Node) -> tuple[bool, int]:
    start = node.span.start
    return start is None, start or 0  # equal times keep the order of the file: sorting is stable


def _next_turn(nodes: dict[str, Node], node: Node, parent: Node) -> bool:
    """Whether a run of an agent names an earlier run of the same agent, in another trace, as its parent.

    That is how some recorders chain the turns of a conversation: nobody called anybody.
    """
    if node.span.trace_id == parent.span.trace_id or node.role != "agent" or node.facts is None:
        return False
    at, seen = parent, set[str]()
    while at.role != "tool" and at.span.span_id not in seen:
        if at.facts and at.facts.agent:
            return at.facts.agent == node.facts.agent
        seen.add(at.span.span_id)
        at = nodes.get(at.span.parent_id or "", at)
    return False


def _in_order(nodes: dict[str, Node], after: Mapping[str, tuple[str, bool]]) -> list[Node]:
    """The roots, causes first, then by time; where causes go round in a circle, time decides."""
    roots = sorted((n for n in nodes.values() if n.parent is None), key=_when)
    if len(roots) < 2 or not (_many_traces(roots) or any(n.span.links for n in nodes.values())):
        return roots
    causes = _causes(nodes, roots, after)
    place = {root.span.span_id: n for n, root in enumerate(roots)}
    waiting = {n: {place[c] for c in causes.get(root.span.span_id, ())} for n, root in enumerate(roots)}
    effects: dict[int, list[int]] = {}
    for n, before in waiting.items():
        for cause in before:
            effects.setdefault(cause, []).append(n)
    ready = [n for n, before in waiting.items() if not before]
    order: list[int] = []
    while waiting:
        n = heappop(ready) if ready else _first_of_circle(waiting)
        del waiting[n]
        order.append(n)
        for effect in effects.get(n, ()):
            if effect in waiting:
                waiting[effect].discard(n)
                if not waiting[effect]:
                    heappush(ready, effect)
    return [roots[n] for n in order]


def _first_of_circle(waiting: dict[int, set[int]]) -> int:
    """The earliest of some that wait for each other."""
    at, path = next(iter(waiting)), dict[int, None]()
    while at not in path:
        path[at] = None
        at = min(waiting[at])
    order = list(path)
    return min(order[order.index(at) :])


def _many_traces(roots: list[Node]) -> bool:
    return any(root.span.trace_id != roots[0].span.trace_id for root in roots)


def _causes(nodes: dict[str, Node], roots: list[Node], after: Mapping[str, tuple[str, bool]]) -> dict[str, set[str]]:
    """The roots, by span id, of the trees that each tree is linked to or continues."""
    top: dict[str, Node] = {}
    for root in roots:
        waiting = [root]
        while waiting:
            node = waiting.pop()
            top[node.span.span_id] = root
            waiting.extend(node.children)
    first = {root.span.trace_id: root for root in reversed(roots)}
    by_trace = {(n.span.trace_id, n.span.span_id.removesuffix(f"@{n.span.trace_id}")): n for n in nodes.values()}
    found: dict[str, set[str]] = {}
    for node in nodes.values():
        root = top[node.span.span_id]
        named = [by_trace.get(link) for link in node.span.links]
        if node is root:
            named += [nodes.get(node.span.parent_id or ""), first.get(after.get(node.span.trace_id, ("", False))[0])]
        others = {top[n.span.span_id].span.span_id for n in named if n} - {root.span.span_id}
        if others:
            found.setdefault(root.span.span_id, set()).update(others)
            root.fed = root.fed or _is_fed(node, root, after)
    return found


def _is_fed(node: Node, root: Node, after: Mapping[str, tuple[str, bool]]) -> bool:
    """A message that was linked to its sending, or an input that another trace gave; no turn of a conversation."""
    asked = after.get(root.span.trace_id, ("", False))[1]
    return node is root and (asked or root.role not in ("agent", "llm", "workflow"))


def _cut_circles(nodes: dict[str, Node]) -> None:
    """A span that is its own ancestor loses its parent, so that everything hangs on some root."""
    safe: set[int] = set()
    for node in nodes.values():
        path: set[int] = set()
        at: Node | None = node
        while at is not None and id(at) not in safe:
            if id(at) in path and at.parent:
                at.parent.children.remove(at)
                at.parent = None
                break
            path.add(id(at))
            at = at.parent
        safe |= path


def _number(roots: list[Node]) -> list[Node]:
    """Parents first, siblings by start; iterative, because a trace may be thousands deep."""
    order: list[Node] = []
    waiting = list(reversed(roots))
    while waiting:
        node = waiting.pop()
        node.index = node.last = len(order)
        order.append(node)
        node.children.sort(key=_when)
        waiting.extend(reversed(node.children))
    for node in reversed(order):
        if node.parent:
            node.parent.last = max(node.parent.last, node.last)
    return order


def _resolve_agents(tree: Tree) -> None:
    """The sender ladder: the record itself, the nearest agent above, a framework's node, the span's name."""
    running = {n.facts.agent for n in tree.nodes if n.facts and n.facts.role == "agent" and n.facts.rung == "attribute"}
    for node in tree.nodes:
        up = node.parent
        node.agent, node.rung, node.owner = (up.agent, "ancestor", up.owner) if up else (None, None, None)
        if node.agent is None:
            node.rung = None
        if up and asks(tree, up):
            asked = identity.addressed(up.facts.tool, up.facts.arguments) if up.facts else None
            node.agent, node.rung, node.owner = asked, "delegation" if asked else None, up
        if up and up.role == "guardrail" and up.facts and up.facts.tool:
            node.agent, node.rung, node.owner, node.judging = up.facts.tool, "ancestor", None, True
        node.judging = node.judging or (up is not None and up.judging)
        _apply_own(node, running)


def _apply_own(node: Node, running: set[str | None]) -> None:
    """What a span says of itself; a node of a graph is an agent inside another one if a span of a run has its name."""
    facts = node.facts
    if facts is None or facts.agent is None:
        return
    if facts.role == "agent" or facts.rung == "attribute" or node.agent is None or _is_inner(facts, running):
        begins = facts.role == "agent" or facts.agent != node.agent
        node.agent, node.rung = facts.agent, facts.rung
        node.owner = node if begins and not _same_run(node) else node.owner


def _is_inner(facts: Facts, running: set[str | None]) -> bool:
    return facts.rung == "node" and facts.agent in running


def _same_run(node: Node) -> bool:
    """The wrapper and the wrapped span of one agent are one run."""
    return node.parent is not None and node.parent.agent == node.agent and node.parent.owner is not None


def asks(tree: Tree, node: Node) -> bool:
    """Whether a tool span asks another agent although no agent span below says which."""
    if node.role != "tool" or node.facts is None or not identity.delegates(node.facts.tool):
        return False
    return not any(n.role == "agent" and n.facts and n.facts.agent for n in tree.under(node))


def callees(tree: Tree, node: Node) -> list[Node]:
    """The runs of other agents that begin below a node, nearest only."""
    found: list[Node] = []
    for below in tree.under(node):
        begins = below.owner is below and below.agent is not None and below.agent != node.agent
        if begins and not any(f.holds(below) for f in found):
            found.append(below)
    return found
