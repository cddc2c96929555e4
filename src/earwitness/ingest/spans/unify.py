"""The spans of a run as those of one trace: ids that are unique in it, parents resolved across traces."""

from collections.abc import Callable
from typing import Any

from msgspec import structs

from earwitness.ingest.spans.span import Span

Found = tuple[str, str] | None


def unified(spans: list[Span], parent_of: Callable[[Span], Found]) -> list[Span]:
    """The spans with ids that no other span of the run has.

    Args:
        spans: of one or several traces.
        parent_of: the trace and the id of a parent that was recorded in another trace.
    """
    if len({s.trace_id for s in spans}) < 2:
        return spans
    own = {(s.trace_id, s.span_id) for s in spans}
    homes: dict[str, int] = {}
    for _, span_id in own:
        homes[span_id] = homes.get(span_id, 0) + 1

    def name(trace: str, span_id: str) -> str:
        return f"{span_id}@{trace}" if homes[span_id] > 1 else span_id

    def parent(span: Span) -> str | None:
        declared = span.parent_id
        if declared and (span.trace_id, declared) in own:
            return name(span.trace_id, declared)
        found = parent_of(span)
        if found in own and found:
            return name(*found)
        # Another span of this id is not the parent: a process that counts its spans begins anew each time.
        return f"{declared}@{span.trace_id}" if declared in homes else declared

    return [_renamed(s, name, parent(s)) for s in spans]


def _renamed(span: Span, name: Callable[[str, str], str], parent: str | None) -> Span:
    changed: dict[str, Any] = {"span_id": name(span.trace_id, span.span_id), "parent_id": parent}
    same = all(getattr(span, key) == value for key, value in changed.items())
    return span if same else structs.replace(span, **changed)
