"""What became of the calls in an exported trace of the OpenAI Agents SDK.

Each tool of the application that runs has a span of its own, and each handoff that took effect. A call without one was
not made: the tool does not exist, or the SDK ignored a second handoff. A span alone does not say that the tool ran: a
call that waits for a human has one too, without output, and so has one that was refused. Where the run goes on, the
refusal stands in the next input of a model. What is answered in place of a result was said by no tool.
"""

import re
from collections import defaultdict, deque
from collections.abc import Iterator
from typing import NamedTuple

from earwitness.ingest.spans.dialects.openai_agents import facts
from earwitness.ingest.spans.facts import Part
from earwitness.ingest.spans.identity import clean_name, slug
from earwitness.ingest.spans.span import Span
from earwitness.ingest.spans.texts import fingerprint

_REFUSED = re.compile(r"was manually rejected by user|Tool input guardrail \S+ triggered tripwire")
_NOTHING = frozenset({"", "None", "null"})
_MODELS = ("generation", "response")
_STEPS = (*_MODELS, "function", "handoff")


class _Asked(NamedTuple):
    """A call that a model asked for, the span of its tool, and the agent that a handoff of the same turn went to."""

    model: Span
    call: Part
    span: Span | None
    target: str | None


class SpanTree:
    """Which span stands in which."""

    def __init__(self, spans: list[Span]) -> None:
        self.by_id = {s.span_id: s for s in spans}

    def agent_run(self, span: Span | None) -> Span | None:
        """The nearest run of an agent above a span."""
        left = len(self.by_id)
        while span is not None and left:
            span, left = self.by_id.get(span.parent_id or ""), left - 1
            if span is not None and span.attributes.get("type") == "agent":
                return span
        return None

    def is_called(self, run: Span) -> bool:
        """Whether a run of an agent stands in the call of a tool."""
        at, left = self.by_id.get(run.parent_id or ""), len(self.by_id)
        while at is not None and left and at.attributes.get("type") != "function":
            at, left = self.by_id.get(at.parent_id or ""), left - 1
        return at is not None


class CallFates:
    """What became of the calls of one trace.

    Attributes:
        repeated: function spans of calls that waited, and that a later run made: their second record counts.
        unmade: ids of function spans whose tool did not run.
        lost: names of tools whose calls nothing came of, by the model's span and the fingerprint of the arguments.
        moved: names of tools whose calls were handoffs, and whom they went to, by the same.
        unsaid: fingerprints of texts that were answered in place of results.
        settled: fingerprints of results that acknowledge such handoffs.
    """

    def __init__(self, spans: list[Span]) -> None:
        self._tree = SpanTree(spans)
        ordered = sorted(spans, key=lambda s: s.start or 0)
        tools = [s for s in ordered if _is_tool(s)]
        self.repeated = set(_repeated(tools, self._tree))
        self.unmade = {s.span_id for s in tools if _REFUSED.search(s.status or "")}
        self.lost: dict[tuple[str, bytes], set[str]] = defaultdict(set)
        self.moved: dict[tuple[str, bytes], dict[str, str]] = defaultdict(dict)
        self.unsaid: set[bytes] = {fingerprint(str(s.get("output"))) for s in tools if s.span_id in self.unmade}
        self.settled: set[bytes] = set()
        models = [s for s in ordered if s.attributes.get("type") in _MODELS]
        tools = [s for s in tools if s.span_id not in self.repeated]
        asked = list(
            self._asked(models, tools, {s.parent_id: s for s in spans if s.attributes.get("type") == "handoff"})
        )
        for one in asked:
            self._judge(one)
        open_calls = {a.call.id: a for a in asked if a.span is None or _silent(a.span)}
        for model in models if open_calls else ():
            for part in (p for m in facts(model).inputs for p in m.parts if p.id in open_calls):
                if part.kind == "tool_response":
                    self._answered(open_calls[part.id], part.text)

    def agent_run(self, span: str) -> str | None:
        """The run of an agent that a span stands in."""
        run = self._tree.agent_run(self._tree.by_id.get(span))
        return run.span_id if run else None

    def is_lost(self, span: str, text: str, recipient: str) -> bool:
        """Whether a call that a model's span tells was not made; `recipient` is its tool, or the agent it names."""
        names = self.lost.get((span, fingerprint(text)), ()) if self.lost else ()
        return any(n == recipient or slug(n).endswith("_" + slug(recipient)) for n in names)

    def target(self, span: str, text: str, tool: str) -> str | None:
        """The agent that a call went to which looks like one of a tool."""
        return self.moved.get((span, fingerprint(text)), {}).get(tool) if self.moved else None

    def ended_by_tools(self, spans: list[Span]) -> list[Span]:
        """Runs of agents, not called by others, whose last step was a tool that gave something back."""
        last: dict[str, Span] = {}
        waiting: set[str] = set()
        for span in sorted(self._tree.by_id.values(), key=lambda s: s.start or 0):
            run = self._tree.agent_run(span) if span.attributes.get("type") in _STEPS else None
            last |= {run.span_id: span} if run else {}
            waiting |= {run.span_id} if run and _is_tool(span) and _silent(span) else set()
        ends = {run for run, span in last.items() if _is_tool(span) and run not in waiting}
        return [s for s in spans if s.span_id in ends and not s.failed and not self._tree.is_called(s)]

    def _asked(self, models: list[Span], tools: list[Span], moves: dict[str | None, Span]) -> Iterator[_Asked]:
        waiting: dict[tuple[str | None, bytes], deque[Span]] = defaultdict(deque)
        for span in tools:
            waiting[clean_name(span.get("name")), fingerprint(str(span.get("input")))].append(span)
        for model in models:
            calls = [
                p for m in facts(model).outputs for p in m.parts if p.kind == "tool_call" and p.id and not p.hosted
            ]
            found = [(c, waiting[c.name, fingerprint(c.text)]) for c in calls]
            met = [(c, spans.popleft() if spans else None) for c, spans in found]
            target = _target([c for c, span in met if span is None], moves.get(model.parent_id))
            yield from (_Asked(model, c, span, target.get(c.id)) for c, span in met)

    def _judge(self, one: _Asked) -> None:
        """A call without a span, of a run that is recorded to its end."""
        key, name = (one.model.span_id, fingerprint(one.call.text)), one.call.name or ""
        if one.span is None and one.target:
            self.moved[key][name] = one.target
        elif one.span is None and self._tree.agent_run(one.model):
            self.lost[key].add(name)

    def _answered(self, one: _Asked, text: str) -> None:
        """What a model was told of a call."""
        if one.target:
            self.settled.add(fingerprint(text))
        elif one.span is None:
            self.unsaid.add(fingerprint(text))
        elif text.strip() not in _NOTHING:
            self.unmade.add(one.span.span_id)
            self.unsaid.add(fingerprint(text))


def _is_tool(span: Span) -> bool:
    return span.attributes.get("type") == "function"


def _silent(span: Span) -> bool:
    """Whether a tool that did not fail gave nothing back; without an input its contents were not exported."""
    return span.get("output") is None and span.get("input") is not None and not span.failed


def _repeated(tools: list[Span], tree: SpanTree) -> Iterator[str]:
    """Calls without output that a later run of the same agent makes with the same words."""
    later: dict[tuple[str | None, str | None, bytes], Span] = {}
    for span in reversed(tools):
        run = tree.agent_run(span)
        agent = clean_name(run.get("name")) if run else None
        key = (agent, clean_name(span.get("name")), fingerprint(str(span.get("input"))))
        again = later.get(key)
        if again is not None and _silent(span) and tree.agent_run(again) is not run:
            yield span.span_id
        later[key] = span


def _target(unmatched: list[Part], move: Span | None) -> dict[str | None, str]:
    """The call that was a handoff: the one whose tool is named after the agent, else the only one without a span."""
    target = clean_name(move.get("to_agent")) if move else None
    if target is None:
        return {}
    named = [c for c in unmatched if slug(c.name or "") == f"transfer_to_{slug(target)}"]
    chosen = named[:1] or (unmatched if len(unmatched) == 1 else [])
    return {c.id: target for c in chosen}
