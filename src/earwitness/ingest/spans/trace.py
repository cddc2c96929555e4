"""One trace told: from its spans to canonical items."""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from earwitness.ingest.record import Emit, Made, Skip
from earwitness.ingest.spans.calls import Calls
from earwitness.ingest.spans.evidence import conversation_of, tasks_of
from earwitness.ingest.spans.ledger import Ledger
from earwitness.ingest.spans.leftover import tell_rest
from earwitness.ingest.spans.observed import observable
from earwitness.ingest.spans.quoted import is_quotation
from earwitness.ingest.spans.received import receive
from earwitness.ingest.spans.said import repeats, say, say_transcript
from earwitness.ingest.spans.shown import show, show_copies
from earwitness.ingest.spans.span import KINDS, Span
from earwitness.ingest.spans.speech import caller_of, first_input, plan
from earwitness.ingest.spans.telling import Telling, to_one
from earwitness.ingest.spans.texts import length_limit
from earwitness.ingest.spans.tree import Node, Tree, build, take_down
from earwitness.ingest.spans.trouble import report
from earwitness.ingest.spans.work import WORKERS, answer, ask
from earwitness.schema.model import Trace
from earwitness.schema.words import Channel

_PLAIN = "no agent content: plain span"
_INSTRUMENTATION = re.compile(r"(?:openinference|opentelemetry)\.instrumentation\.(\w+)")
_FRAMEWORKS = {
    "pydantic-ai": "pydantic-ai",
    "gcp.vertex.agent": "google-adk",
    "google_adk": "google-adk",
    "openai_agents": "openai-agents",
    "autogen_agentchat": "autogen",
    "autogen-core": "autogen",
    "langchain": "langchain",
    "llama_index": "llama-index",
}
# Recorders round to a second at most; what is less is no difference of clocks.
_SKEW = 1_000_000_000
# Instrumentations of model clients say nothing of the framework around them.
_CLIENTS = {
    "openai",
    "anthropic",
    "bedrock",
    "litellm",
    "mistralai",
    "groq",
    "vertexai",
    "google_genai",
    "httpx",
    "openai_v2",
    "botocore",
}


def tell(spans: list[Span]) -> Iterator[Emit]:
    """The items of one trace, or why its spans give none."""
    tree = build(spans)
    try:
        yield from tell_tree(tree, spans[0].trace_id)
    finally:
        take_down(tree)


def tell_tree(tree: Tree, run: str, knows: Callable[[str], bool] = lambda _: False) -> Iterator[Emit]:
    """The items of one run, or why its spans give none.

    Args:
        tree: the spans of the run, of one trace or several.
        run: the id of the run.
        knows: whether a span of this id stands anywhere in the import, for parents that are in another run.
    """
    if all(node.facts is None for node in tree.nodes):
        yield from (Skip("ignored", _PLAIN, node.span.place) for node in tree.nodes)
        return
    t = _open(tree, run)
    _walk(t)
    place = tree.nodes[0].span.place
    if t.ledger.empty:
        t.ledger.lose("content_missing", None, "no span holds any content", place)
    tell_rest(t)
    elsewhere = sum(knows(n.span.parent_id or "") for n in tree.orphans)
    if elsewhere:
        t.ledger.lose("orphan", None, "the parent span is in another trace", place, elsewhere)
    if len(tree.orphans) > elsewhere:
        t.ledger.lose("orphan", None, "the parent span is not in the record", place, len(tree.orphans) - elsewhere)
    yield Made(_trace(tree, run, t.ledger.channels), place)
    yield from t.ledger.closing(place)
    yield from t.ledger.made
    for node in tree.nodes:
        if node.facts is None and node.index not in t.ledger.told:
            yield Skip("ignored", _PLAIN, node.span.place)


def _open(tree: Tree, run: str) -> Telling:
    texts = [v for n in tree.nodes if n.facts for v in n.span.attributes.values() if isinstance(v, str)]
    found = plan(tree)
    ledger = Ledger(run, length_limit(texts))
    for node in tree.nodes:
        if node.agent and node.owner is not None:
            ledger.actor(node.agent, "agent", node.rung or "ancestor")
    return Telling(tree, found, Calls(tree, found), ledger)


def _walk(t: Telling) -> None:
    """Depth first: a span is entered before its children and left after them."""
    entered: list[Node] = []
    for node in t.tree.nodes:
        while entered and not entered[-1].holds(node):
            _leave(t, entered.pop())
        _enter(t, node)
        entered.append(node)
    while entered:
        _leave(t, entered.pop())


def _enter(t: Telling, node: Node) -> None:
    if node.role in WORKERS:
        ask(t, node)
        return
    _request(t, node)
    receive(t, node)
    show(t, node)
    if node.role == "llm" and not repeats(t, node):
        say(t, node)


def _leave(t: Telling, node: Node) -> None:
    if node.role in WORKERS:
        answer(t, node)
    elif node.role and (node.role != "llm" or repeats(t, node)):
        say(t, node)
        say_transcript(t, node)
    show_copies(t, node)
    report(t, node)


def _request(t: Telling, run: Node) -> None:
    """An agent that runs directly under another was asked by it; the words are its first input."""
    caller = caller_of(run) if run.owner is run and run.agent else None
    if caller is None or caller.role == "tool" or caller.agent == run.agent or _handed(t, run):
        return
    given = [p for m in first_input(t.tree, run) if m.role == "user" for p in m.parts]
    texts = [p.text for p in given if p.kind == "text" and not is_quotation(p.text)]
    if not texts or t.ledger.find(texts[-1], author=caller.agent):
        return
    to = to_one(run.agent, "structural")
    t.ledger.event(run, "C2", texts[-1], name="request", kind="request", sender=caller.agent, to=to)


def _handed(t: Telling, run: Node) -> bool:
    """Whether control came to a run by a handoff."""
    return any(r.kind == "handoff" and run.agent in r.to and n.index < run.index for n, r in t.plan.routes.items())


def _trace(tree: Tree, run: str, seen: set[Channel]) -> Trace:
    spans = [n.span for n in tree.nodes]
    facts = [n.facts for n in tree.nodes if n.facts]
    models = {f.model for f in facts if f.role == "llm" and f.model}
    starts = [s.start for s in spans if s.start]
    attributes: dict[str, Any] = {
        "conversation": next(filter(None, (f.conversation for f in facts)), None)
        or next(filter(None, map(conversation_of, spans)), None),
        "service.name": next((s.resource["service.name"] for s in spans if s.resource.get("service.name")), None),
    }
    for span in spans:
        attributes |= tasks_of(span)
    attributes["clock_skew_ns"] = _skew(tree)
    return Trace(
        id=run,
        framework=next(filter(None, (_framework(s.scope) for s in spans)), None),
        model=models.pop() if len(models) == 1 else None,
        started_at=min(starts, default=None),
        observable=observable(((n.span, n.facts) for n in tree.nodes if n.facts), seen),
        attributes={k: v for k, v in attributes.items() if v} or None,
    )


def _skew(tree: Tree) -> int | None:
    """By how much at most a span starts before the one it stands under: their clocks differ; the tree keeps order."""
    pairs = ((n.parent.span.start, n.span.start) for n in tree.nodes if n.parent)
    most = max((above - start for above, start in pairs if above and start), default=0)
    return most if most >= _SKEW else None


@lru_cache(maxsize=KINDS)
def _framework(scope: str | None) -> str | None:
    match = _INSTRUMENTATION.match(scope or "")
    name = match[1] if match else (scope or "")
    if name in _FRAMEWORKS:
        return _FRAMEWORKS[name]
    if scope and scope.startswith("semantic_kernel"):
        return "semantic-kernel"
    return name.replace("_", "-") if match and name not in _CLIENTS else None
