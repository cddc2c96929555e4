"""Inspect samples as scripts: from the transcript of events, or from the messages where there is no transcript."""

import re
from dataclasses import dataclass, field
from typing import Any

from earwitness.ingest.inspect_hosted import tell_hosted
from earwitness.ingest.inspect_spans import ROOT, Spans, Step, steps_of
from earwitness.ingest.script import Script, is_name, text
from earwitness.schema.model import Delivery
from earwitness.schema.words import Flag, SightingKind

_REFERENCES = ("attachment://", "tc://")
_USER, _STORE = "user", "store"
# Approvers: one is a person, one decides without looking.
_HUMAN, _BLIND = "human", "auto"
# Shorter texts are said by several independently.
_QUOTABLE = 16
_UNFIT = re.compile(
    r"Found \d+ validation errors? parsing tool input arguments:|Required parameter \S+ not provided to tool call\."
)
_NO_TOOL = re.compile(r"Tool .* not found", re.DOTALL)


@dataclass
class Sample:
    """A sample while it is told.

    Attributes:
        script: where everything goes.
        attachments: long texts by hash, which events only refer to.
        refused: ids of tool calls that were not made: nobody approved of them, or there is no such tool.
        replaced: ids of tool calls that an approver made with other arguments.
        said: what was said -> its event, and who said it.
        calls: tool call id -> event of the arguments, and the tool or agent that was called.
    """

    script: Script
    attachments: dict[str, str]
    spans: Spans = field(default_factory=Spans)
    refused: frozenset[str] = frozenset()
    replaced: frozenset[str] = frozenset()
    calls: dict[str, tuple[str, str, bool]] = field(default_factory=dict)
    shown: set[tuple[str, str, str]] = field(default_factory=set)
    stored: set[tuple[str, str]] = field(default_factory=set)
    answers: dict[str, str] = field(default_factory=dict)
    said: dict[str, tuple[str, str]] = field(default_factory=dict)
    missing: set[str] = field(default_factory=set)

    def whole(self, value: Any) -> Any:
        """A value with its attachments put back; one that is not in the file stays a reference."""
        if isinstance(value, str) and value.startswith(_REFERENCES):
            found = self.attachments.get(value.partition("://")[2])
            if found is None:
                self.missing.add(value)
            return value if found is None else found
        if isinstance(value, list):
            return [self.whole(v) for v in value]
        return {k: self.whole(v) for k, v in value.items()} if isinstance(value, dict) else value


def tell_events(sample: Sample, events: list[dict[str, Any]], pointer: str) -> None:
    """Everything a transcript says."""
    steps = list(steps_of(events, pointer))
    sample.spans = Spans.of(steps)
    sample.refused = _refused([step.event for step in steps])
    sample.replaced = frozenset(_asked(s.event) for s in steps if _modified(s.event) is not None)
    last = next((s for s in reversed(steps) if s.event.get("event") == "model" and sample.spans.is_root(s)), None)
    for step in steps:
        teller = _TELLERS.get(str(step.event.get("event")))
        if step.event.get("event") == "model":
            _model(sample, step, last=step is last)
        elif teller:
            teller(sample, step)
    if sample.missing:
        sample.script.loss("reference", "attachment that is not in the file", n=len(sample.missing))


def tell_messages(sample: Sample, messages: list[dict[str, Any]], pointer: str) -> None:
    """A sample of which only the messages were kept."""
    last = len(messages) - 1
    for n, message in enumerate(messages):
        step, role = Step(message, f"{pointer}/{n}"), message["role"]
        if role == "assistant":
            _said(sample, step, message, step.pointer, last=n == last)
        elif role == "tool":
            result = {**message, "id": message.get("tool_call_id"), "result": message.get("content")}
            _tool(sample, Step(result, f"{pointer}/{n}"))
        else:
            _show(sample, ROOT, message, step.pointer)


def _refused(events: list[dict[str, Any]]) -> frozenset[str]:
    """Ids of calls that were not made. A result that nobody approved of is one of a call that was."""
    decided = [e for e in events if e.get("event") == "approval" and e.get("decision") in ("reject", "terminate")]
    made = {_asked(e) for e in decided if e.get("stage") == "result"}
    tools = [e for e in events if e.get("event") == "tool"]
    unmade = {str(e.get("id")) for e in tools if _kind_of(e.get("error")) == "approval" or _is_unmade(e.get("error"))}
    return frozenset((unmade | {_asked(e) for e in decided}) - made)


def _is_unmade(error: Any) -> bool:
    """Whether there is no such tool, or it was not given the arguments, which do not fit."""
    said = str(error.get("message")) if _kind_of(error) == "parsing" else ""
    return _NO_TOOL.fullmatch(said) is not None or _UNFIT.match(said) is not None


def _asked(approval: dict[str, Any]) -> str:
    """The id of the call that an approval is of."""
    call = approval.get("call")
    return str(call.get("id")) if isinstance(call, dict) else ""


def _modified(event: dict[str, Any]) -> Any:
    """The arguments that an approver put in the place of a model's; None where there are none."""
    given, instead = event.get("call"), event.get("modified")
    if event.get("event") != "approval" or not (isinstance(given, dict) and isinstance(instead, dict)):
        return None
    changed = instead.get("arguments") != given.get("arguments") and event.get("stage") != "result"
    return instead.get("arguments") if changed and event.get("decision") == "modify" else None


def _content(sample: Sample, content: Any, *kinds: str) -> str:
    """The text of a content, which is a text or a list of parts of kinds."""
    content = sample.whole(content)
    if not isinstance(content, list):
        return text(content) if "text" in kinds else ""
    parts = [p for p in content if isinstance(p, dict)]
    said = [p.get("text") or p.get("reasoning") or "" for p in parts if p.get("type") in kinds]
    return "\n".join(text(s) for s in said if s)


def _show(sample: Sample, actor: str, message: dict[str, Any], pointer: str, *, judging: bool = False) -> None:
    """What a model was given, the first time this actor was given it; that of a scorer, with what it is to judge."""
    role, content = str(message.get("role")), _content(sample, message.get("content"), "text", "reasoning")
    if content and (actor, role, content) not in sample.shown:
        sample.shown.add((actor, role, content))
        kind: SightingKind = "input" if judging else "initial" if role in ("system", "user") else "history"
        sample.script.actor(actor, evidence="channel" if actor == ROOT else "span")
        sample.script.sighting(content, f"{pointer}/content", actor=actor, kind=kind)
        for said, (event, _) in sample.said.items() if judging else ():
            if len(said) >= _QUOTABLE and said in content:
                sample.script.sighting(said, f"{pointer}/content", actor=actor, kind="input", event=event)


def _model(sample: Sample, step: Step, *, last: bool) -> None:
    event, actor = step.event, sample.spans.actor(step)
    judging = any(span.get("type") == "scorer" for span in sample.spans.chain(event.get("span_id")))
    for n, message in enumerate(event.get("input") or []):
        _show(sample, actor, message, f"{step.pointer}/input/{n}", judging=judging)
    choices = (event.get("output") or {}).get("choices") or []
    for n, choice in enumerate(choices):
        _said(sample, step, choice["message"], f"{step.pointer}/output/choices/{n}/message", last=last)
    if event.get("error"):
        sample.script.loss("failed_call", "model call")
    elif not choices:
        sample.script.loss("content_missing", "model call without an output")


def _said(sample: Sample, step: Step, message: dict[str, Any], pointer: str, *, last: bool) -> None:
    """What a model said: thoughts, text, and the tools it called."""
    script, actor, time = sample.script, sample.spans.actor(step), step.event.get("timestamp")
    script.actor(actor, evidence="channel" if actor == ROOT else "span")
    thought = text(sample.whole(message.get("reasoning"))) or _content(sample, message.get("content"), "reasoning")
    if thought:
        script.event("C6", thought, f"{pointer}/content", sender=actor, kind="reasoning", time=time)
    tell_hosted(script, actor, sample.whole(message.get("content")), f"{pointer}/content", time)
    said, calls = _content(sample, message.get("content"), "text"), message.get("tool_calls") or []
    if said:
        _speak(sample, step, said, f"{pointer}/content", last=last and not calls, beside=bool(calls))
    for n, call in enumerate(calls):
        _call(sample, step, call, f"{pointer}/tool_calls/{n}")
    sample.shown.add((actor, "assistant", said))


def _speak(sample: Sample, step: Step, said: str, pointer: str, *, last: bool, beside: bool) -> None:
    script, actor, above = sample.script, sample.spans.actor(step), sample.spans.above(step)
    time = step.event.get("timestamp")
    flags = _referring(sample, said)
    if last:
        script.actor(_USER, "user", evidence="channel")
        event = script.event("C1", said, pointer, sender=actor, to=(_USER,), kind="output", time=time, flags=flags)
    elif above and not beside:
        # A run under another agent's run answers to it.
        to = (Delivery(above, "structural"),)
        event = script.event("C2", said, pointer, sender=actor, to=to, kind="answer", time=time, flags=flags)
        sample.answers[said] = event
    else:
        event = script.event("C6", said, pointer, sender=actor, kind="output", time=time, flags=flags)
    sample.said[said] = (event, actor)


def _referring(sample: Sample, said: str) -> tuple[Flag, ...]:
    """The flag of a content whose attachment is missing."""
    return ("reference",) if said in sample.missing else ()


def _call(sample: Sample, step: Step, call: dict[str, Any], pointer: str) -> None:
    actor, tool, name = sample.spans.actor(step), call["function"], str(call.get("id"))
    agent = sample.spans.delegates.get((step.event.get("span_id"), tool))
    sample.script.actor(agent or tool, "agent" if agent else "tool", evidence="span" if agent else "declared")
    to = Delivery(
        agent or tool, "structural" if agent else "declared", delivered=name not in sample.refused | sample.replaced
    )
    event = sample.script.event(
        "C2" if agent else "C3",
        sample.whole(call.get("arguments")) or {},
        f"{pointer}/arguments",
        sender=actor,
        to=(to,),
        kind="delegation" if agent else "tool_arguments",
        time=step.event.get("timestamp"),
        flags=() if to.delivered else ("not_delivered",),
    )
    sample.calls[name] = (event, agent or tool, bool(agent))


def _tool(sample: Sample, step: Step) -> None:
    event, script, actor = step.event, sample.script, sample.spans.actor(step)
    if str(event.get("id")) not in sample.calls and event.get("function"):
        if "arguments" in event:
            _call(sample, step, event, step.pointer)
        else:
            script.actor(event["function"], "tool")
    call, source, agent = sample.calls.get(str(event.get("id")), (None, event.get("function"), False))
    unmade = str(event.get("id")) in sample.refused
    source = None if unmade else source
    error = event.get("error")
    said = _content(sample, event.get("result"), "text")
    if error and not unmade:
        script.loss("failed_call", "tool call", "C4")
    if error:
        said = "\n".join(dict.fromkeys(s for s in (said, text(sample.whole(error.get("message")))) if s))
    sample.shown.add((actor, "tool", said))
    if agent and said in sample.answers:
        script.sighting(said, f"{step.pointer}/result", actor=actor, kind="result", event=sample.answers[said])
        return
    cut = bool(event.get("truncated")) or _kind_of(error) == "output_limit"
    if cut:
        script.loss("truncated", "tool output over the limit", "C4")
    script.actor(actor, evidence="channel" if actor == ROOT else "span")
    script.event(
        "C2" if agent else "C4",
        said,
        f"{step.pointer}/result",
        sender=source,
        to=(actor,),
        kind="answer" if agent else "tool_result",
        time=event.get("completed") or event.get("timestamp"),
        parent=call,
        flags=(*(("failed",) if error else ()), *(("truncated",) if cut else ()), *_referring(sample, said)),
    )


def _kind_of(error: Any) -> Any:
    return error.get("type") if isinstance(error, dict) else None


def _store(sample: Sample, step: Step) -> None:
    """A change of the shared store, told with what is new in it; outer spans repeat what inner ones changed."""
    fresh = {}
    for change in step.event.get("changes") or []:
        value = sample.whole(change.get("value"))
        key = (str(change.get("path")), text(value))
        if key[1] and key not in sample.stored:
            sample.stored.add(key)
            fresh[key[0]] = value
    if fresh:
        script, actor = sample.script, sample.spans.actor(step)
        script.actor(actor, evidence="channel" if actor == ROOT else "span")
        script.actor(_STORE, "memory", evidence="channel")
        time = step.event.get("timestamp")
        script.event("C5", fresh, f"{step.pointer}/changes", sender=actor, to=(_STORE,), kind="store", time=time)


def _log(sample: Sample, step: Step) -> None:
    event = step.event
    said = event.get("message") or event.get("data") or event.get("error")
    said = said.get("message", said) if isinstance(said, dict) else said
    if said:
        kind = event["event"]
        sample.script.event("C6", sample.whole(said), step.pointer, kind=kind, time=event.get("timestamp"))
    if event["event"] == "error":
        sample.script.loss("failed_call", "sample stopped with an error")


def _approval(sample: Sample, step: Step) -> None:
    """Who was asked about a call saw it, and may have put other arguments in its place."""
    event, script, time = step.event, sample.script, step.event.get("timestamp")
    name = event.get("approver")
    who = _USER if name == _HUMAN else name if is_name(name) and name != _BLIND else None
    call: dict[str, Any] = event["call"] if isinstance(event.get("call"), dict) else {}
    known = sample.calls.get(_asked(event))
    told, tool = (known[0], known[1]) if known else (None, call.get("function"))
    if who:
        script.actor(who, "user" if who == _USER else "tool", evidence="channel" if who == _USER else "declared")
        given = sample.whole(call.get("arguments"))
        script.sighting(given, f"{step.pointer}/call/arguments", actor=who, kind="input", time=time, event=told)
        script.sighting(
            sample.whole(event.get("message")), f"{step.pointer}/message", actor=who, kind="input", time=time
        )
    instead = _modified(event)
    if instead is not None:
        at = f"{step.pointer}/modified/arguments"
        content = sample.whole(instead)
        script.event("C3", content, at, sender=who, to=(tool,) if tool else (), kind="tool_arguments", time=time)
    if event.get("explanation") and event.get("decision") != "reject":  # what is rejected is answered with it
        said, at = sample.whole(event["explanation"]), f"{step.pointer}/explanation"
        script.event("C6", said, at, sender=who, kind="approval", time=time)


def _score(sample: Sample, step: Step) -> None:
    """Why a scorer decided as it did: words of its own, of its model, or the answer that it read."""
    score, script = step.event.get("score"), sample.script
    why = text(sample.whole(score.get("explanation"))) if isinstance(score, dict) else ""
    chain = sample.spans.chain(step.event.get("span_id"))
    scorer, at = chain[0]["name"] if chain else None, f"{step.pointer}/score/explanation"
    if not why:
        return
    script.actor(scorer, "tool", evidence="span")
    told, time = sample.said.get(why), step.event.get("timestamp")
    if told is None:
        script.event("C6", why, at, sender=scorer, kind="score", time=time)
    elif told[1] != scorer:
        script.sighting(why, at, actor=scorer, kind="input", time=time, event=told[0])


def _sandbox(sample: Sample, step: Step) -> None:
    """What a tool did in its sandbox: where its result comes from, so a copy of it."""
    for key in ("cmd", "input", "output"):
        said = sample.whole(step.event.get(key))
        sample.script.sighting(said, f"{step.pointer}/{key}", actor=None, kind="result")


def _asked_user(sample: Sample, step: Step) -> None:
    """What a person was asked, and answered; where only the screen was recorded, what stood on it."""
    event, script, time, actor = step.event, sample.script, step.event.get("timestamp"), sample.spans.actor(step)
    script.actor(_USER, "user", evidence="channel")
    if not event.get("message"):
        screen = sample.whole(event.get("input"))
        script.sighting(screen, f"{step.pointer}/input", actor=_USER, kind="input", time=time)
        return
    fields = [f.get("description") for f in event.get("fields") or [] if isinstance(f, dict)]
    asked = "\n".join(text(sample.whole(said)) for said in (event["message"], *fields) if said)
    script.actor(actor, evidence="channel" if actor == ROOT else "span")
    script.event("C1", asked, f"{step.pointer}/message", sender=actor, to=(_USER,), kind="question", time=time)
    script.sighting(sample.whole(event.get("content")), f"{step.pointer}/content", actor=actor, kind="input", time=time)


def _subtask(sample: Sample, step: Step) -> None:
    """What a function of the program was given and gave back; who called it is not in the record."""
    event, script = step.event, sample.script
    name = event.get("name") if is_name(event.get("name")) else None
    script.actor(name, "tool", evidence="declared")
    for key, sender, time in (("input", None, event.get("timestamp")), ("result", name, event.get("completed"))):
        said, at = text(sample.whole(event.get(key) or None)), f"{step.pointer}/{key}"
        known = sample.said.get(said)
        if known:
            script.sighting(said, at, actor=name, kind="input" if key == "input" else "result", event=known[0])
        elif said:
            script.event("C6", said, at, sender=sender, kind=f"subtask_{key}", time=time)


def _given(sample: Sample, step: Step) -> None:
    """The input of the sample."""
    given = (step.event.get("sample") or {}).get("input")
    for message in given if isinstance(given, list) else [{"role": "user", "content": given}]:
        first = next((s for s in sample.spans.known.values() if s.get("type") == "agent"), None)
        if not first:  # else its model calls show to whom it was given
            _show(sample, ROOT, message, f"{step.pointer}/sample/input")


_TELLERS = {
    "tool": _tool,
    "approval": _approval,
    "score": _score,
    "store": _store,
    "logger": _log,
    "info": _log,
    "error": _log,
    "sandbox": _sandbox,
    "input": _asked_user,
    "subtask": _subtask,
    "sample_init": _given,
}
