"""Google ADK evaluation sets: recorded conversations saved as eval cases (`*.evalset.json`, `*.test.json`).

Written by the web UI ("add current session") and by `adk eval_set`; a case holds the turns of a session with the user's
words, tool uses, responses in between and the final response. Newer files keep events with their authors under
`invocation_events`. Older ones keep tool uses without who made them and without results, so speakers are known only
after a transfer, which took place if its target is heard of again in the turn. What tools gave back stands in some
newer files. Shared memory shows as it was at the start, artifacts not at all. Lists of `query` and `reference` are
expectations, not recordings, and are not read.

Obtained by: "add current session" in the web UI, or `adk eval_set`.
Versions tried: google/adk-samples at commit e39b806.
Order: position in the case; times of turns.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from earwitness.ingest.adk_words import TRANSFER, get, name_of, parts_of, store_of, text_of
from earwitness.ingest.dialogue import At, Dialogue
from earwitness.ingest.record import Context, Emit, Place, Record, Skip
from earwitness.ingest.refusals import is_refusal, is_waiting
from earwitness.ingest.spans.identity import addressed, clean_name
from earwitness.ingest.spans.texts import as_text
from earwitness.schema.model import Delivery, Trace
from earwitness.schema.words import Channel, Flag

_OBSERVABLE: tuple[Channel, ...] = ("C1", "C2", "C3", "C6")


class _GoogleAdkEvalset:
    NAME = "google-adk-evalset"
    TITLE = "Google ADK evaluation set"

    def sniff(self, value: Any) -> bool:
        if not isinstance(value, dict):
            return False
        return _is_case(value) or (isinstance(get(value, "evalCases"), list) and get(value, "evalSetId") is not None)

    def split(self, record: Record) -> list[Record]:
        """A set holds cases."""
        cases = get(record.value, "evalCases")
        if not isinstance(cases, list):
            return [record]
        return [Record(case, record.place.at(f"/eval_cases/{n}")) for n, case in enumerate(cases)]

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


def _is_case(value: Any) -> bool:
    known = get(value, "evalId") is not None and isinstance(value.get("conversation"), list)
    return bool(known and all(get(turn, "userContent") is not None for turn in value["conversation"]))


class _Reader:
    def __init__(self, context: Context) -> None:
        self.context = context

    def feed(self, record: Record) -> Iterator[Emit]:
        case, place = record
        if not isinstance(case, dict) or not _is_case(case):
            yield Skip("unparseable", "a case without a conversation", place)
            return
        trace = str(get(case, "evalId"))
        if not self.context.claim("adk-evalset", trace):
            yield Skip("duplicate", "the same case was read before", place)
            return
        answered = any(True for turn in case["conversation"] for _ in _answers(get(turn, "intermediateData")))
        observable: tuple[Channel, ...] = (*_OBSERVABLE, "C4") if answered else _OBSERVABLE
        told = _Case(Dialogue(Trace(id=trace, framework="google-adk", observable=observable), At(place)))
        told.start(get(get(case, "sessionInput"), "state"), At(place.at("/session_input/state")))
        for n, turn in enumerate(case["conversation"]):
            told.turn(turn, n, place.at(f"/conversation/{n}"))
        yield from told.dialogue.finish()

    def finish(self) -> Iterable[Emit]:
        return ()


class _Case:
    def __init__(self, dialogue: Dialogue) -> None:
        self.dialogue = dialogue
        self._agent: str | None = None
        self._later: tuple[str | None, ...] = ()

    def start(self, state: Any, at: At) -> None:
        """What the stores held when the session began."""
        for key, value in state.items() if isinstance(state, dict) else ():
            if value not in (None, "", {}, []):
                store = store_of(key)
                self.dialogue.actor(store, "memory", "declared", at.place)
                self.dialogue.sighting(store, as_text(value), "state", at)

    def turn(self, turn: dict[str, Any], number: int, place: Place) -> None:
        """What the user said, what happened, what was answered."""
        at = At(place, get(turn, "creationTimestamp"), number + 1)
        self.dialogue.request(text_of(get(turn, "userContent")), at._replace(place=place.at("/user_content")))
        between = get(turn, "intermediateData")
        events, responses = _list(between, "invocationEvents"), list(_responses(between))
        authors = (*(clean_name(get(e, "author")) for e in events), *(author for author, _ in responses))
        for n, event in enumerate(events):
            self._agent = clean_name(get(event, "author")) or self._agent
            self._later = authors[n + 1 :]
            self._content(get(event, "content"), at)
        self._later = authors[len(events) :]
        for use in _list(between, "toolUses"):
            self._use(use, at)
        for answer in _list(between, "toolResponses"):
            self._answer(answer, None, at)
        for author, parts in responses:
            self._agent = author or self._agent
            self._content({"parts": parts}, at)
        final = text_of(get(turn, "finalResponse"))
        self.dialogue.say(self._agent, final, at._replace(place=place.at("/final_response")))

    def _content(self, content: Any, at: At) -> None:
        self.dialogue.think(self._agent, text_of(content, thought=True), at)
        text = text_of(content)
        if text:
            self.dialogue.say(self._agent, text, at)
        for part in parts_of(content):
            if call := get(part, "functionCall"):
                self._use(call, at)
            elif answer := get(part, "functionResponse"):
                self._answer(answer, self._agent, at)

    def _answer(self, answer: Any, agent: str | None, at: At) -> None:
        """What a tool gave back, or what the runtime answered in its place."""
        tool, call_id, text = name_of(answer, "name"), name_of(answer, "id"), as_text(get(answer, "response"))
        if tool == TRANSFER:
            return
        if is_waiting(text):
            self.dialogue.pause(call_id)
            return
        agent = agent if self.dialogue.open_call(call_id) else self._agent
        self.dialogue.result(call_id, text, at, agent=agent, tool=tool, denied=is_refusal(text))

    def _use(self, use: Any, at: At) -> None:
        tool, given = get(use, "name"), as_text(get(use, "args") or {})
        target = addressed(TRANSFER, given) if tool == TRANSFER else None
        if target is None:
            self.dialogue.call(self._agent, tool, given, at, name_of(use, "id"), hold=True)
            return
        self.dialogue.settle(final=False, next_agent=self._agent)
        self.dialogue.acts(self._agent, at.place)
        self.dialogue.actor(target, "agent", "declared", at.place)
        self._agent = self._transfer(target, given, at)

    def _transfer(self, target: str, given: str, at: At) -> str | None:
        """Who has the word after a transfer was asked for: its target if it is heard of again in the turn."""
        took = target in self._later
        to = (Delivery(target, "structural" if took else "declared", delivered=took),)
        flags: tuple[Flag, ...] = () if took else ("not_delivered",)
        told = self.dialogue.event("C2", given, at, kind="handoff", sender=self._agent, to=to, flags=flags)
        if took:
            self.dialogue.catch_up(target, at, but=told)
        return target if took else None


def _answers(between: Any) -> Iterator[Any]:
    """What tools gave back in a turn."""
    yield from _list(between, "toolResponses")
    for event in _list(between, "invocationEvents"):
        yield from (part for part in parts_of(get(event, "content")) if get(part, "functionResponse"))


def _list(value: Any, key: str) -> list[Any]:
    found = get(value, key)
    return found if isinstance(found, list) else []


def _responses(between: Any) -> Iterator[tuple[str | None, list[Any]]]:
    """Responses in between: pairs of author and parts."""
    for pair in _list(between, "intermediateResponses"):
        if isinstance(pair, list) and len(pair) == 2 and isinstance(pair[1], list):
            yield clean_name(pair[0]), pair[1]


ADAPTER = _GoogleAdkEvalset()
