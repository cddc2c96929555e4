"""AG2 run events: the events of `run()` and `run_group_chat()` as JSON lines.

A user writes `for event in response.events: print(event.model_dump_json())` (mostly with `default=str`); package
`ag2` 0.9 to 0.14. Every message goes through `chat_manager`, and members are not listed: who else heard a message is
not known. A pseudo agent runs all tools; the call's id tells who asked. A transition loses its target, but the result
of a handoff names it. Context variables after a call show what was written to shared context. No times, no run id:
the run is known by the name of the file.

Obtained by: `for event in response.events: print(event.model_dump_json())`.
Versions tried: ag2 0.14.0.
Order: file order; no times.
"""

from collections.abc import Iterable
from typing import Any

from earwitness.ingest.ag2session import calls_of, refuse_unmade, results_of
from earwitness.ingest.record import Context, Emit, Place, Record, Skip
from earwitness.ingest.spans.texts import as_text, says_nothing
from earwitness.ingest.tale import USER, Draft, Tale, named, said
from earwitness.schema.model import Delivery, Trace

_TOLD = {"text", "tool_call", "tool_response", "executed_function", "group_chat_run_chat", "run_completion", "error"}
_NOISE = {
    "execute_function": "a call that is told where it was asked for",
    "termination": "end of the run",
    "on_condition_l_l_m_transition": "transition without a target",
    "reply_result_transition": "transition without a target",
    "after_works_transition": "transition without a target",
    "on_context_condition_transition": "transition without a target",
    "using_auto_reply": "says nothing of who told whom",
    "usage_summary": "says nothing of who told whom",
}
_PEOPLE = {"_User", USER, "user_proxy"}
_CONTEXT, _EXECUTOR = "context_variables", "_Group_Tool_Executor"


class _Ag2RunEvents:
    NAME = "ag2-run-events"
    TITLE = "AG2 run events"

    def sniff(self, value: Any) -> bool:
        if not isinstance(value, dict) or value.keys() != {"type", "content"} or not isinstance(value["type"], str):
            return False
        return isinstance(value["content"], dict) and "uuid" in value["content"]

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


class _Reader:
    def __init__(self, context: Context) -> None:
        self.context = context
        self.tale: Tale | None = None
        self.calls: dict[str, tuple[str | None, str, str]] = {}
        self.handoffs: dict[str, str] = {}
        self.requests: list[tuple[str, Place]] = []
        self.state: dict[str, Any] = {}
        self.last: Draft | None = None

    def feed(self, record: Record) -> Iterable[Emit]:
        kind, content, place = record.value["type"], record.value["content"], record.place.at("/content")
        if self.tale is None:
            trace = Trace(id=f"ag2-{self.context.stem}", framework="ag2", observable=("C1", "C2", "C3", "C4", "C5"))
            self.tale = Tale(trace, record.place)
        if kind in _NOISE:
            yield Skip("ignored", _NOISE[kind], record.place)
        elif kind not in _TOLD:
            yield Skip("unknown", "a run event of an unknown type", record.place)
        elif not self.context.claim("ag2-event", str(content["uuid"])):
            yield Skip("duplicate", "the same event was read before", record.place)
        else:
            getattr(self, f"_{kind}")(self.tale, content, place)

    def _text(self, tale: Tale, content: dict[str, Any], place: Place) -> None:
        text, sender = said(content.get("content")), named(content.get("sender"))
        if text is None:
            return
        if sender in _PEOPLE:
            self.requests.append((text, place))
            return
        to = self._hearers(content)
        where = place.at("/content")
        self.last = tale.event(
            where, "C2", text, key=str(content["uuid"]), kind="message", sender=tale.actor(sender), to=to
        )

    def _hearers(self, content: dict[str, Any]) -> tuple[Delivery, ...]:
        """Whoever is named as recipient, unless it only passes on."""
        name = named(content.get("recipient"))
        if self.tale is None or name is None or name in ("chat_manager", _EXECUTOR):
            return ()
        kind = "user" if name in _PEOPLE else "agent"
        return (Delivery(self.tale.actor(name, "user" if kind == "user" else "agent") or name, "declared"),)

    def _group_chat_run_chat(self, tale: Tale, content: dict[str, Any], place: Place) -> None:
        """Who speaks first was given the user's words; that others speak next says nothing of what they read."""
        speaker = named(content.get("speaker"))
        if speaker and speaker != _EXECUTOR:
            for text, where in self.requests:
                tale.sighting(where.at("/content"), text, tale.actor(speaker), "initial")
            self.requests.clear()

    def _tool_call(self, tale: Tale, content: dict[str, Any], place: Place) -> None:
        sender = named(content.get("sender"))
        self._text(tale, content, place)
        for call in calls_of(content):
            self.calls[call["id"]] = (sender, call["name"], call["arguments"])
            tale.event(
                place.at("/tool_calls"),
                "C3",
                call["arguments"],
                key=call["id"],
                kind="tool_arguments",
                sender=tale.actor(sender),
                to=(Delivery(call["name"], "declared"),),
            )

    def _executed_function(self, tale: Tale, content: dict[str, Any], place: Place) -> None:
        key, result = str(content.get("call_id")), content.get("content")
        self._note(tale, content, place)
        if isinstance(result, dict) and set(result) == {"agent_name"} and named(result["agent_name"]):
            self._hand_over(tale, key, str(result["agent_name"]))
            return
        if isinstance(result, dict) and "context_variables" in result:
            result = result.get("message")
        text = said(result)
        if text is not None:
            self._give_back(tale, key, text, place.at("/content"), failed=content.get("is_exec_success") is False)

    def _hand_over(self, tale: Tale, key: str, target: str) -> None:
        """A handoff took effect: the call was a message to the agent that it names."""
        self.handoffs[key] = target
        draft = tale.drafts.get(key)
        if draft:
            draft.channel, draft.kind = "C2", "handoff"
            draft.to = [Delivery(tale.actor(target) or target, "declared")]
            draft.content = self.calls[key][1] if says_nothing(draft.content) else draft.content

    def _give_back(self, tale: Tale, key: str, text: str, place: Place, *, failed: bool) -> None:
        caller, tool, _ = self.calls.get(key, (None, "", ""))
        unmade = refuse_unmade(tale, key, text)
        failed = failed or unmade
        tale.event(
            place,
            "C4",
            text,
            key=f"{key}:result",
            kind="tool_result",
            sender=None if unmade else tale.actor(named(tool), "tool"),
            to=(Delivery(caller, "declared"),) if caller else (),
            flags=("failed",) if failed else (),
            parent=key,
        )

    def _note(self, tale: Tale, content: dict[str, Any], place: Place) -> None:
        """What is new in the context variables was written by the call."""
        result = content.get("content")
        variables = result.get("context_variables") if isinstance(result, dict) else None
        data = variables.get("data") if isinstance(variables, dict) else None
        if not isinstance(data, dict):
            return
        key = str(content.get("call_id"))
        caller = self.calls.get(key, (None, "", ""))[0]
        fresh = {k: v for k, v in data.items() if self.state and self.state.get(k) != v}
        for name, value in fresh.items() if self.state else ():
            tale.event(
                place.at(f"/content/context_variables/data/{name}"),
                "C5",
                as_text({name: value}),
                key=f"{key}:{name}",
                kind="memory_write",
                sender=tale.actor(caller),
                to=(Delivery(tale.actor(_CONTEXT, "memory", "channel") or _CONTEXT, "declared"),),
                parent=key,
            )
        if not self.state:
            tale.sighting(place.at("/content/context_variables"), as_text(data), None, "state")
        self.state = data

    def _tool_response(self, tale: Tale, content: dict[str, Any], place: Place) -> None:
        """A copy of what the function gave back; of a function that no event told, it is all there is."""
        for result in results_of(content):
            key, told = result["id"], f"{result['id']}:result"
            if key not in self.handoffs and told not in tale.drafts:
                self._give_back(tale, key, result["content"], place.at("/tool_responses"), failed=False)

    def _error(self, tale: Tale, content: dict[str, Any], place: Place) -> None:
        text = said(content.get("error"))
        tale.lose("failed_call", None, "the run failed", place)
        if text is not None:
            tale.event(place.at("/error"), "C6", text, key=str(content["uuid"]), kind="error")

    def _run_completion(self, tale: Tale, content: dict[str, Any], place: Place) -> None:
        """The run is over: its history repeats everything, what was said last is the answer."""
        if self.last is not None:
            self.last.channel, self.last.kind = "C1", "final"
            self.last.reach([tale.actor(USER, "user", "structural") or USER], "structural")
        summary = said(content.get("summary"))
        if summary is not None:
            tale.sighting(place.at("/summary"), summary, USER, "result")

    def finish(self) -> Iterable[Emit]:
        if self.tale is None:
            return
        for text, place in self.requests:
            self.tale.sighting(place, text, None, "initial")
        for name in dict.fromkeys(d.to[0].actor for d in self.tale.drafts.values() if d.channel == "C3" and d.to):
            self.tale.actor(name, "tool")
        yield from self.tale.items()


ADAPTER = _Ag2RunEvents()
