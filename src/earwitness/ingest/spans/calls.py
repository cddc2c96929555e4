"""Which tool span is the run of which call that a model asked for."""

from collections import deque
from collections.abc import Iterator
from typing import Any

from earwitness.ingest.spans.facts import Part
from earwitness.ingest.spans.identity import hands_off, in_tool_name, slug
from earwitness.ingest.spans.speech import Plan
from earwitness.ingest.spans.texts import escaped, fingerprint, loads, says_nothing
from earwitness.ingest.spans.tree import Node, Tree

_CALLED = ("tool", "handoff", "retriever", "memory")


class Calls:
    """Tool calls of one trace; a call finds its span by id, else by name and arguments, in order."""

    def __init__(self, tree: Tree, plan: Plan) -> None:
        self._plan = plan
        self._agents = tree.agents
        self._by_id: dict[str, Node] = {}
        self._by_words: dict[tuple[str, bytes], deque[Node]] = {}
        self._by_name: dict[str, deque[Node]] = {}
        self._handoffs: deque[Node] = deque()
        self._taken: set[Node] = set()
        self._matched: dict[str, Node] = {}
        for node in tree.nodes:
            if node.role in _CALLED and node.facts:
                self._index(node)

    def _index(self, node: Node) -> None:
        assert node.facts is not None
        if node.facts.call_id:
            self._by_id.setdefault(node.facts.call_id, self._plan.twins.get(node, node))
        if node in self._plan.twins:
            return
        if node.role == "handoff":
            self._handoffs.append(node)
        if node.facts.tool:
            words = (slug(node.facts.tool), _words(node.facts.arguments))
            self._by_words.setdefault(words, deque()).append(node)
            self._by_name.setdefault(words[0], deque()).append(node)

    def span_of(self, call: Part) -> Node | None:
        """The span of a call that a model just made."""
        known = self.known(call.id)
        if known is None:
            known = self._same_words(call) or self._like_words(call) or self._handoff_of(call)
        if known:
            self._taken.add(known)
        if known and call.id:
            self._matched[call.id] = known
        return known

    def known(self, call_id: str | None) -> Node | None:
        """The span of a call by its id."""
        return self._by_id.get(call_id or "") or self._matched.get(call_id or "")

    def _same_words(self, call: Part) -> Node | None:
        waiting = self._by_words.get((slug(call.name or ""), _words(call.text)), deque())
        while waiting:
            node = waiting.popleft()
            if node not in self._taken:
                return node
        return None

    def _like_words(self, call: Part) -> Node | None:
        """A framework may hand a tool its arguments in a form of its own."""
        leaves = list(_leaves(loads(call.text)))
        waiting = self._by_name.get(slug(call.name or ""), deque())
        while waiting and waiting[0] in self._taken:
            waiting.popleft()
        for node in waiting:
            given = node.facts.arguments if node.facts else None
            if leaves and given and node not in self._taken and all(x in given or escaped(x) in given for x in leaves):
                return node
        return None

    def _handoff_of(self, call: Part) -> Node | None:
        if not hands_off(call.name):
            return None
        wanted = in_tool_name(call.name, self._agents)
        for node in self._handoffs:
            route = self._plan.routes.get(node)
            if wanted is None or (route and wanted in route.to):
                self._handoffs.remove(node)
                return node
        return None


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _leaves(inner)
    elif isinstance(value, str) and value:
        yield value


def _words(arguments: str | None) -> bytes:
    return fingerprint("{}" if says_nothing(arguments) else arguments or "")
