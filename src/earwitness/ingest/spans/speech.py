"""Who speaks to whom: which words of a trace reach the user, another agent, or nobody.

Everything here is read off the tree before anything is told: the final words of each root, the answers of
sub-agents, what agents were given to read.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from earwitness.ingest.spans.facts import Message, Part
from earwitness.ingest.spans.identity import addressed, delegates, hands_off, in_tool_name, slug
from earwitness.ingest.spans.reads import Reads
from earwitness.ingest.spans.texts import fingerprint, says_nothing
from earwitness.ingest.spans.tree import Node, Tree, callees, of_logs
from earwitness.schema.words import Grade

_SPEAKERS = ("llm", "agent", "workflow")
_ASKED = ("tool", "retriever", "memory", "guardrail")


@dataclass(frozen=True)
class Route:
    """Where the words of a call go: to agents, by which evidence, and whether control goes with them."""

    kind: str
    to: tuple[str, ...] = ()
    grade: Grade = "structural"
    evidence: str = "descendant"


@dataclass
class Plan:
    """What `speech` found out about a trace.

    Attributes:
        routes: calls that go to agents.
        twins: second records of one tool call, and the record that counts.
        finals: which texts of which span reach the user.
        answers: which texts of which span go back to which caller.
        reads: what each agent was given to read.
        spoken: what the model calls of each agent produced: fingerprints of texts, and ids of calls.
        agents: the names of the agents that ran.
        models: where the model calls with outputs stand in the tree, in order.
        inner: nodes inside a call, whose answers go to the caller and not to the user. A handoff is no such call.
    """

    routes: dict[Node, Route] = field(default_factory=dict)
    twins: dict[Node, Node] = field(default_factory=dict)
    finals: dict[Node, set[bytes]] = field(default_factory=dict)
    answers: dict[Node, tuple[Node, set[bytes]]] = field(default_factory=dict)
    reads: Reads = field(default_factory=Reads)
    spoken: dict[str | None, set[bytes | str]] = field(default_factory=dict)
    agents: set[str] = field(default_factory=set)
    models: list[int] = field(default_factory=list)
    inner: set[Node] = field(default_factory=set)

    def comes_from_model(self, node: Node, part: Part) -> bool:
        """Whether a model call tells what a wrapping span repeats, wherever in the tree it stands."""
        key: bytes | str | None = part.id if part.kind == "tool_call" else fingerprint(part.text)
        agents = self.spoken if node.role == "workflow" or part.kind == "tool_call" else (node.agent,)
        return any(key in self.spoken.get(agent, ()) for agent in agents)

    def reader_of(self, text: str, sender: str | None) -> str | None:
        """The other agent that was given a text to read, if it is one only."""
        hits = [agent for agent in self.reads.readers(text) if agent != sender]
        return hits[0] if len(hits) == 1 else None

    def heard(self, node: Node) -> bool:
        """Whether model calls below a span tell what was said in it."""
        at = bisect_right(self.models, node.index)
        return at < len(self.models) and self.models[at] <= node.last


def plan(tree: Tree) -> Plan:
    """Read a tree."""
    out = Plan(agents=tree.agents)
    out.models = [n.index for n in tree.nodes if n.role == "llm" and n.facts and n.facts.outputs]
    for node in tree.nodes:
        if node.role in ("tool", "handoff"):
            _pair_twins(node, out)
            route = _route(tree, node, out.agents)
            if route:
                out.routes[node] = route
    out.inner = _inner(tree, out)
    for root in tree.roots:
        out.finals.update(_final(tree, root, out))
    for node in tree.nodes:
        _find_answer(tree, node, out)
    _note_reads(tree, out)
    _note_spoken(tree, out)
    if len(tree.roots) > 1 and all(of_logs(n.span) for n in tree.nodes):
        _withdraw(tree, out)
    return out


def _withdraw(tree: Tree, out: Plan) -> None:
    """Of log records alone every model call is a root. What a later one of another agent was given was no last word."""
    for later in tree.roots:
        for message in later.facts.inputs if later.facts and later.agent else ():
            for part in message.parts:
                key = fingerprint(part.text)
                for node in [n for n, keys in out.finals.items() if key in keys and n.agent and n.index < later.index]:
                    if node.agent != later.agent:
                        out.finals[node].discard(key)
                        out.reads.add(later.agent or "", part.text)


def _pair_twins(node: Node, out: Plan) -> None:
    """Two instrumentations record one tool call as two spans, one inside the other: the one with arguments counts."""
    for above in node.ancestors():
        if above.owner is not node.owner or above.facts is None or node.facts is None:
            return
        if above.role == node.role and above.facts.tool and above.facts.tool == node.facts.tool:
            first = out.twins.get(above, above)
            better = node.facts.arguments is not None and first.facts and first.facts.arguments is None
            out.twins[node if not better else first] = first if not better else node
            return


def _route(tree: Tree, node: Node, agents: set[str]) -> Route | None:
    facts = node.facts
    assert facts is not None
    if facts.role == "handoff":
        return _handoff(tree, node, facts.handoff_to, agents)
    runs = callees(tree, node)
    if runs:
        names = tuple(dict.fromkeys(r.agent for r in runs if r.agent))
        return Route("delegation", names)
    if hands_off(facts.tool):
        route = _handoff(tree, node, addressed(facts.tool, facts.arguments), agents, by_name=True)
        return None if node.span.failed and not _took(tree, node, agents) else route
    if delegates(facts.tool):
        return _named_route(agents, facts.tool, facts.arguments, "delegation")
    return None


def _handoff(tree: Tree, node: Node, declared: str | None, agents: set[str], *, by_name: bool = False) -> Route | None:
    """The record's own word, then the next agent that runs, then the tool's name."""
    if declared:
        return Route("handoff", (declared,), "declared", "attribute")
    facts = node.facts
    following = next_run(tree, node)
    named = in_tool_name(facts.tool if facts else None, agents)
    if following and following.agent and (not by_name or named in (None, following.agent)):
        return Route("handoff", (following.agent,), "structural", "next_agent")
    if named:
        return Route("handoff", (named,), "structural", "tool_name")
    return None if by_name else Route("handoff")


def _took(tree: Tree, node: Node, agents: set[str]) -> bool:
    """Whether a handoff that failed took place after all: the agent that it names runs next."""
    tool, arguments = (node.facts.tool, node.facts.arguments) if node.facts else (None, None)
    following = next_run(tree, node)
    return following is not None and following.agent == (addressed(tool, arguments) or in_tool_name(tool, agents))


def _named_route(agents: set[str], tool: str | None, arguments: str | None, kind: str) -> Route | None:
    asked = addressed(tool, arguments)
    if asked:  # by its name, or by an id that is made of it
        known = next((a for a in sorted(agents) if slug(a) == slug(asked)), asked)
        return Route(kind, (known,), "declared", "argument")
    named = in_tool_name(tool, agents)
    return Route(kind, (named,), "structural", "tool_name") if named else None


def route_of_call(agents: set[str], tool: str | None, arguments: str | None, sender: str | None) -> Route | None:
    """Where a call goes that has no span of its own; nobody calls himself."""
    kind = "handoff" if hands_off(tool) else "delegation"
    route = _named_route(agents, tool, arguments, kind) if hands_off(tool) or delegates(tool) else None
    return None if route and sender in route.to else route


def next_run(tree: Tree, node: Node, name: str | None = None) -> Node | None:
    """The next run of another agent (or of `name`) that begins after a node and outside it."""
    for at in range(node.last + 1, len(tree.nodes)):
        later = tree.nodes[at]
        if later.owner is later and later.agent and (later.agent == name if name else later.agent != node.agent):
            return later
    return None


def first_input(tree: Tree, run: Node) -> tuple[Message, ...]:
    """What an agent's run was given first."""
    for node in (run, *tree.under(run)):
        if node.owner is run and node.facts and node.facts.inputs:
            return node.facts.inputs
    return ()


def final_texts(node: Node) -> list[str]:
    """The texts of a span's last assistant message, behind what tools of the provider's gave back in it; none if that
    message calls a tool and does not hold the result.
    """
    if node.facts is None or not node.facts.outputs:  # as of most spans
        return []
    spoken = [m for m in node.facts.outputs if m.role == "assistant" and m.parts]
    parts = spoken[-1].parts if spoken else ()
    back = max((n for n, p in enumerate(parts, 1) if p.kind == "tool_response"), default=0)
    if any(p.kind == "tool_call" for p in parts[back:]):
        return []
    return [p.text for p in parts[back:] if p.kind == "text" and not says_nothing(p.text)]


def texts_of(node: Node) -> list[str]:
    """All texts that a span produced."""
    if node.facts is None or not node.facts.outputs:
        return []
    spoken = [m for m in node.facts.outputs if m.role == "assistant"]
    return [p.text for m in spoken for p in m.parts if p.kind == "text" and not says_nothing(p.text)]


def _prints(texts: list[str]) -> set[bytes]:
    return {fingerprint(t) for t in texts}


def _final(tree: Tree, root: Node, out: Plan) -> dict[Node, set[bytes]]:
    """The node, and its texts, that the user gets from one root: what the root says it gave, else the last words."""
    heard = [n for n in _post_order(tree, root) if n.role in _SPEAKERS and n not in out.inner]
    recorded = _prints(final_texts(root))
    same = [n for n in heard if (_prints(texts_of(n)) & recorded if recorded else final_texts(n))]
    # Agents that run side by side under one root: who speaks last has the last word.
    models = sorted((n for n in same if n.role == "llm"), key=lambda n: (n.span.end or 0, n.index))
    if models:
        final = _innermost(models[-1], models)
    elif same:
        final = same[0] if recorded else same[-1]
    else:
        return {}
    return {final: recorded or _prints(final_texts(final))}


def _innermost(node: Node, models: list[Node]) -> Node:
    """Of nested records of one model call, the innermost."""
    said = _prints(texts_of(node))
    return max((m for m in models if node.holds(m) and _prints(texts_of(m)) & said), key=lambda m: m.index)


def _inner(tree: Tree, out: Plan) -> set[Node]:
    """The nodes inside a call; of a tree in order, so that of each node the one above is known."""
    found: set[Node] = set()
    for node in tree.nodes:
        up = node.parent
        if up and (up in found or (up.role in _ASKED and not _passes_control(up, out))):
            found.add(node)
    return found


def _passes_control(node: Node, out: Plan) -> bool:
    route = out.routes.get(node)
    return route is not None and route.kind == "handoff"


def _post_order(tree: Tree, root: Node) -> Iterator[Node]:
    open_nodes: list[Node] = []
    for node in tree.nodes[root.index : root.last + 1]:
        while open_nodes and not open_nodes[-1].holds(node):
            yield open_nodes.pop()
        open_nodes.append(node)
    yield from reversed(open_nodes)


def caller_of(run: Node) -> Node | None:
    """The node that called an agent's run: the tool span around it, else the run of the agent above it.

    A guardrail runs an agent for itself, and the agent that it judges hears of its verdict at most.
    """
    for above in run.ancestors():
        if above.role == "guardrail":
            return None
        if above.role == "tool" or (above.owner is above and above.agent and above.agent != run.agent):
            return above
    return None


def _find_answer(tree: Tree, run: Node, out: Plan) -> None:
    """The words with which a called run answers: those the caller got, or its last ones."""
    caller = _caller(run)
    if caller is None:
        return
    mine = [n for n in _post_order(tree, run) if n.owner is run and n.role in _SPEAKERS and n not in out.finals]
    result = caller.facts.result if caller.role == "tool" and caller.facts else None
    given = [result or ""] if not says_nothing(result) else [] if run is caller else final_texts(run)
    wanted = _prints(given)
    mine = [n for n in mine if (_prints(texts_of(n)) & wanted if wanted else final_texts(n))]
    models = [n for n in mine if n.role == "llm"]
    answer = models[-1] if models else (mine[0] if mine else None)
    if answer:
        out.answers[answer] = (caller, wanted or _prints(final_texts(answer)))


def _caller(run: Node) -> Node | None:
    if run.role == "tool" and run.children and run.children[0].owner is run:
        return run  # the run of an agent that has no span of its own
    caller = caller_of(run) if run.owner is run and run.agent else None
    return None if caller is None or caller.agent == run.agent else caller


def _note_reads(tree: Tree, out: Plan) -> None:
    for node in tree.nodes:
        for text in _given(node) if node.agent else ():
            out.reads.add(node.agent or "", text)
    if out.reads.large:
        out.reads.prepare(p.text for node in tree.nodes for p in _spoken(node))


def _spoken(node: Node) -> Iterator[Part]:
    for message in (*node.facts.outputs, *node.facts.transcript) if node.facts else ():
        yield from (p for p in message.parts if p.kind == "text")


def _note_spoken(tree: Tree, out: Plan) -> None:
    for node in tree.nodes:
        for message in node.facts.outputs if node.facts and node.role == "llm" else ():
            for part in message.parts:
                key: bytes | str = part.id or "" if part.kind == "tool_call" else fingerprint(part.text)
                if part.text and key:
                    out.spoken.setdefault(node.agent, set()).add(key)


def _given(node: Node) -> Iterator[str]:
    """The texts of others in what a node was shown: not its own history, not tool results."""
    for message in node.facts.inputs if node.facts else ():
        if message.role == "user" or (message.role == "assistant" and message.name not in (None, node.agent)):
            yield from (p.text for p in message.parts if p.kind == "text")
