"""The spans of one trace as a tree: parents as declared, siblings by time, and whose run each span belongs to."""

from collections.abc import Iterator
from dataclasses import dataclass, field

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

    @property
    def role(self) -> str:
        """The role of the span; a plain span has none."""
        return self.facts.role if self.facts else ""

    def holds(self, other: "Node") -> bool:
        """Whether `other` is this node or below it."""
        return self.index <= other.index <= self.last

    def ancestors(self) -> Iterator["Node"]:
        """The nodes above, nearest first."""
        at = self.parent
        while at:
            yield at
            at = at.parent


@dataclass(eq=False)
class Tree:
    """One trace: `nodes` in tree order, `orphans` whose declared parent is not in the record."""

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


def _joined(span: Span, logs: list[Span]) -> Span:
    events = tuple(e for log in logs for e in log.events)
    return structs.replace(span, events=span.events + events, log=False) if events or span.log else span


def build(spans: list[Span]) -> Tree:
    """The tree of a trace's spans, with every span's agent resolved."""
    nodes = {s.span_id: Node(s, facts_of(s)) for s in with_logs(spans)}
    orphans = [n for n in nodes.values() if n.span.parent_id and n.span.parent_id not in nodes]
    for node in nodes.values():
        parent = nodes.get(node.span.parent_id or "")
        if parent and parent is not node:
            node.parent = parent
            parent.children.append(node)
    _cut_circles(nodes)
    roots = sorted((n for n in nodes.values() if n.parent is None), key=_when)
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
    for node in tree.nodes:
        up = node.parent
        node.agent, node.rung, node.owner = (up.agent, "ancestor", up.owner) if up else (None, None, None)
        if node.agent is None:
            node.rung = None
        if up and asks(tree, up):
            asked = identity.addressed(up.facts.tool, up.facts.arguments) if up.facts else None
            node.agent, node.rung, node.owner = asked, "delegation" if asked else None, up
        _apply_own(node)


def _apply_own(node: Node) -> None:
    facts = node.facts
    if facts is None or facts.agent is None:
        return
    if facts.role == "agent" or facts.rung == "attribute" or node.agent is None:
        begins = facts.role == "agent" or facts.agent != node.agent
        node.agent, node.rung = facts.agent, facts.rung
        node.owner = node if begins and not _same_run(node) else node.owner


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
