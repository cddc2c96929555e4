"""Several records of one span: the first counts, unless another says what it leaves out.

Backends keep copies of the same span, one with its words and one without, or hidden; which is read first says nothing.
"""

from collections.abc import Iterable

from earwitness.ingest.spans.facts import Message
from earwitness.ingest.spans.registry import facts_of
from earwitness.ingest.spans.span import Span
from earwitness.ingest.spans.texts import masked


def fullest(spans: list[Span]) -> tuple[list[Span], list[Span]]:
    """One record of each span, in the order in which spans were met, and the records that are copies."""
    groups: dict[tuple[str, str], list[Span]] = {}
    for number, span in enumerate(spans):
        # The records of a log are none of a span; each stands for itself.
        groups.setdefault((str(number), "log") if span.log else (span.trace_id, span.span_id), []).append(span)
    best = [group[0] if _alike(group) else max(group, key=_told) for group in groups.values()]
    kept = {id(span) for span in best}
    return best, [span for span in spans if id(span) not in kept]


def _alike(group: list[Span]) -> bool:
    """Whether all records of a span say the same."""
    first = group[0]
    return all(s.attributes == first.attributes and s.events == first.events for s in group[1:])


def _told(span: Span) -> int:
    """How many sorts of words and names a record holds in clear."""
    facts = facts_of(span)
    if facts is None:
        return 0
    spoken = (facts.inputs, facts.outputs, facts.transcript, facts.received)
    texts = [*map(_texts, spoken), (facts.arguments,), (facts.result,), facts.instructions]
    texts += [(facts.agent,), (facts.tool,), (facts.handoff_to,)]
    return sum(any(text and not masked(text) for text in sort) for sort in texts)


def _texts(messages: tuple[Message, ...]) -> Iterable[str]:
    return (part.text for message in messages for part in message.parts)
