"""Texts that cross from one trace into another: what one produced or handed over is what starts the other.

What starts a trace is the end of its first input, from the last message of the user on. A later turn of a chat
repeats what earlier turns said, but before the user's new words: history is no crossing. A handoff crosses, too: the
agent it names starts with the same words of the user.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from earwitness.ingest.record import Place
from earwitness.ingest.spans.facts import Part
from earwitness.ingest.spans.identity import addressed, hands_off, in_tool_name
from earwitness.ingest.spans.span import Span
from earwitness.ingest.spans.texts import fingerprint, loads
from earwitness.ingest.spans.tree import Node, Tree, build, take_down

# Shorter texts are said by several parties independently: equality proves nothing.
SHORTEST = 16
# Spans at the beginning of a root among which its agent is.
_HEAD = 3


@dataclass
class Ends:
    """What a trace gives to others and what starts it: fingerprints of texts, the words of the asker among them.

    Attributes:
        given: texts, each with the span id of the call it was an argument of, if it was.
        starts: texts, each with the root it starts.
        asked: those of `starts` that the root was asked with.
        agents: who runs at the roots.
        handed: agents, and tools named after agents, to which the trace passed on what it was asked, each with the
            span id of the call; a handoff has none.
    """

    given: dict[bytes, str | None] = field(default_factory=dict)
    starts: dict[bytes, Span] = field(default_factory=dict)
    asked: set[bytes] = field(default_factory=set)
    agents: set[str] = field(default_factory=set)
    handed: dict[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Crossing:
    """`later` was started by `n` texts that `earlier` gave, and that no other trace of the conversation gave.

    `fed` says that the words it was asked with are among them: they are no words of the user. If they were the
    arguments of a call, `call` has the span of the root that they started, and the span of the call.
    """

    later: int
    earlier: int
    n: int
    place: Place
    fed: bool
    call: tuple[str, str] | None


def crossings(traces: Iterable[tuple[int, list[Span]]]) -> list[Crossing]:
    """The crossings among the traces of one conversation."""
    ends = {number: _ends(spans) for number, spans in traces}
    givers: dict[bytes, list[int]] = {}
    askers: dict[bytes, list[int]] = {}
    for number, end in ends.items():
        for text in end.given:
            givers.setdefault(text, []).append(number)
        for text in end.asked:
            askers.setdefault(text, []).append(number)
    found: dict[tuple[int, int], list[Crossing]] = {}
    for number, end in ends.items():
        for text, root in end.starts.items():
            given = [g for g in givers.get(text, ()) if g != number]
            handed = [a for a in askers.get(text, ()) if a != number and _name_in(ends[a], end)]
            for others in (given, handed):
                if len(others) == 1:
                    giver = ends[others[0]]
                    call = giver.given[text] if others is given else giver.handed[_name_in(giver, end) or ""]
                    fed = text in end.asked and (others is given or call is not None)
                    called = (root.span_id, call) if fed and call else None
                    found.setdefault((number, others[0]), []).append(
                        Crossing(number, others[0], 1, root.place, fed, called)
                    )
    return [_together(pieces) for pieces in found.values()]


def _together(pieces: list[Crossing]) -> Crossing:
    call = next((piece.call for piece in pieces if piece.call), None)
    return replace(pieces[0], n=len(pieces), fed=any(piece.fed for piece in pieces), call=call)


def _name_in(giver: Ends, taker: Ends) -> str | None:
    """The name under which one handed on to an agent of the other."""
    return next((n for n in giver.handed if n in taker.agents or in_tool_name(n, taker.agents) in taker.agents), None)


def _ends(spans: list[Span]) -> Ends:
    tree = build(spans)
    try:
        out = Ends()
        for root in tree.roots:
            out.agents.update(n.agent for n in [root, *tree.under(root)][:_HEAD] if n.agent)
            for number, part in enumerate(_start(tree, root)):
                for text in _texts(part):
                    out.starts.setdefault(text, root.span)
                    out.asked.update({text} if number == 0 else ())
        # Who passes on what it was asked gives nothing of its own.
        given = (pair for node in tree.nodes for pair in _given(node))
        out.given = {text: call for text, call in given if text not in out.asked}
        out.handed = {name: call for node in tree.nodes for name, call in _handed(node, out.asked)}
        return out
    finally:
        take_down(tree)


def _start(tree: Tree, root: Node) -> list[Part]:
    """The parts of the first input of a root, from the last message of the user on."""
    for node in (root, *tree.under(root)):
        messages = [m for m in (node.facts.inputs if node.facts else ()) if m.role != "system"]
        if messages:
            users = [n for n, m in enumerate(messages) if m.role == "user"]
            return [p for m in messages[users[-1] if users else -1 :] for p in m.parts]
    return []


def _given(node: Node) -> Iterator[tuple[bytes, str | None]]:
    """Texts, those of a call last: it says more of one than the model that made the call."""
    if node.facts is None:
        return
    for message in node.facts.outputs:
        for part in message.parts if message.role == "assistant" else ():
            yield from ((text, None) for text in _texts(part))
    if node.facts.arguments:
        part = Part("tool_call", node.facts.arguments)
        yield from ((text, node.span.span_id) for text in _texts(part))


def _handed(node: Node, asked: set[bytes]) -> Iterator[tuple[str, str | None]]:
    """Agents, or tools named after them, to which a span hands control or passes on the question."""
    facts = node.facts
    if facts is None:
        return
    calls = [(p.name, p.text) for m in facts.outputs for p in m.parts if p.kind == "tool_call"]
    for tool, arguments in (*calls, (facts.tool, facts.arguments)):
        if hands_off(tool):
            yield addressed(tool, arguments) or str(tool), None
    if facts.handoff_to:
        yield facts.handoff_to, None
    passed_on = asked.intersection(_texts(Part("tool_call", facts.arguments or "")))
    if facts.tool and passed_on and not hands_off(facts.tool):
        yield addressed(facts.tool, facts.arguments) or facts.tool, node.span.span_id


def _texts(part: Part) -> Iterator[bytes]:
    """The fingerprints of a part; of a call those of its arguments, too, for they may be words to another agent."""
    values = loads(part.text) if part.kind == "tool_call" else None
    inner = values.values() if isinstance(values, dict) else ()
    for text in (part.text, *inner):
        if isinstance(text, str) and len(text) >= SHORTEST:
            yield fingerprint(text)
