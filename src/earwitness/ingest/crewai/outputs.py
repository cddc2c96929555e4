"""What CrewAI leaves at the end of a run: outputs of tasks, a log of them, rows of its stores.

None names its run. Where the import holds the run itself, or another of these files with the same outputs, they are
duplicates.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from earwitness.ingest.boundary import together
from earwitness.ingest.chronicle import USER, Chronicle, base_name, folded, name_of, run_name, text_of
from earwitness.ingest.crewai.facts import listed, spoken, unquote, within
from earwitness.ingest.crewai.flows import STATE, changes
from earwitness.ingest.crewai.runs import Run
from earwitness.ingest.crewai.steps import STEP_LINE, is_task, step_of
from earwitness.ingest.crewai.teller import is_delegation, is_refused, request_of
from earwitness.ingest.jsontext import decode_text
from earwitness.ingest.record import Context, Emit, Made, Place, Skip
from earwitness.ingest.refusals import is_of_asked, is_unasked
from earwitness.ingest.toolkinds import tool_kind
from earwitness.schema.model import Delivery
from earwitness.schema.words import Flag

LOG_LINE = re.compile(r'\d{4}-\d\d-\d\d \d\d:\d\d:\d\d: task_name="')
_LOGGED = re.compile(
    r'(\S+ \S+): task_name="(.*?)", task="(.*?)", agent="(.*?)", status="(\w+)"(?:, output="(.*))?', re.S
)
# Agent and text of each output of a run.
_Key = frozenset[tuple[str, str]]
_CREW_NAME = re.compile(r"crew|flow", re.IGNORECASE)


class Output(NamedTuple):
    """The output of one task."""

    agent: str | None
    text: str
    task: str
    place: Place
    messages: tuple[dict[str, Any], ...] = ()
    time: str | None = None


@dataclass
class Batch:
    """Outputs of one run, from one file."""

    name: str
    places: list[Place] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)
    task_ids: set[str] = field(default_factory=set)
    final: str | None = None

    def cut(self) -> None:
        """What came last is not there: none of the outputs is known to be that of the run."""
        self.final = ""
        self.places.pop()

    def key(self) -> _Key:
        """Agent and text of each output."""
        return frozenset((folded(o.agent or ""), folded(o.text)) for o in self.outputs)


def _marks(key: _Key) -> _Key:
    """What another recording of a run must hold: steps name no agent, so that outputs with a name decide."""
    return frozenset(output for output in key if output[0]) or key


class Outputs:
    """Collects batches by file."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.batches: list[Batch] = []
        self.known: dict[tuple[str, str], list[_Key]] = {}
        self.flows: set[str] = set()
        self.states: dict[str, list[tuple[dict[str, Any], Place]]] = {}
        self._open: dict[tuple[str, int], Batch] = {}

    def feed(self, value: dict[str, Any], place: Place) -> Iterator[Emit]:
        """A crew output, a log entry or line, or a row of a store."""
        if "_table" in value:
            yield from self._row(value, place)
        elif "_line" in value:
            yield from self._line(str(value["_line"]), value.get("_above", []), place)
        elif "status" in value:
            self._logged(value, place)
        elif is_task(value) and "tasks_output" not in value:
            self._step(value, place)
        elif len(value) == 1 and not _CREW_NAME.search(base_name(self.context.name)):
            yield Skip("unknown", "a text alone, in a file that does not say that a crew wrote it", place)
        else:
            self._crew_output(value, place)

    def know(self, run: Run) -> None:
        """A run that was read from its events; all outputs to be looked for in it have been read by then."""
        if self.batches:
            self._know(frozenset(run.outputs()))
        self.flows |= run.states()

    def _know(self, key: _Key) -> None:
        """Outputs of a run, to be found by each of them."""
        for output in key:
            self.known.setdefault(output, []).append(key)

    def _is_known(self, batch: Batch, key: _Key) -> bool:
        marks = _marks(key)
        if not marks:  # a final text alone
            return folded(batch.final or "") in {text for _, text in self.known}
        return any(marks <= known for known in self.known.get(next(iter(marks)), ()))

    def finish(self) -> Iterator[Emit]:
        """What is not known from elsewhere."""
        for batch in filter(_holds_some, self.batches):
            yield from together(self._told(batch), batch.places)
        for flow, rows in self.states.items():
            if flow in self.flows:
                yield from (Skip("duplicate", "states of a flow that was read", p) for _, p in rows)
            else:
                yield from together(_tell_states(flow, rows), (place for _, place in rows))

    def _told(self, batch: Batch) -> Iterator[Emit]:
        key = batch.key()
        if self._is_known(batch, key):
            yield from (Skip("duplicate", "outputs of a run that was read", p) for p in batch.places)
        else:
            self._know(key)
            yield from _tell(batch)

    def _crew_output(self, value: dict[str, Any], place: Place) -> None:
        batch = Batch(run_name(self.context), [place], final=text_of(value.get("raw")))
        for n, task in enumerate(listed(value.get("tasks_output"))):
            batch.outputs.append(_output(task, place.at(f"/tasks_output/{n}")))
        if "agent_role" in value:  # of an agent that worked alone
            batch.outputs.append(_output({**value, "agent": value["agent_role"]}, place))
        self.batches.append(batch)

    def _row(self, row: dict[str, Any], place: Place) -> Iterator[Emit]:
        if "_schema" in row or row["_table"] == "sqlite_sequence":
            yield Skip("ignored", "definition of a table", place)
        elif row["_table"] == "latest_kickoff_task_outputs":
            yield from self._task_row(row, place)
        else:
            flow, state = name_of(row.get("flow_uuid")), decode_text(row.get("state_json"))
            if flow and isinstance(state, dict):
                self.states.setdefault(flow, []).append(({**row, "state": state}, place))
            else:
                yield Skip("unparseable", "a flow state that is no JSON object", place)

    def _task_row(self, row: dict[str, Any], place: Place) -> Iterator[Emit]:
        task = decode_text(row.get("output"))
        if not isinstance(task, dict):
            self._batch("rows", place).cut()
            yield Skip("unparseable", "a task output that is no JSON object", place)
            return
        batch = self._batch("rows", place)
        batch.final = None
        batch.outputs.append(_output(task, place.at("/output"), row.get("timestamp")))

    def _batch(self, kind: str, place: Place) -> Batch:
        key = (kind, place.source)
        if key not in self._open:
            self._open[key] = Batch(run_name(self.context))
            self.batches.append(self._open[key])
        self._open[key].places.append(place)
        return self._open[key]

    def _logged(self, entry: dict[str, Any], place: Place) -> None:
        batch = self._batch("log", place)
        batch.final = None if entry.get("status") == "completed" else ""
        if entry.get("status") == "completed":
            agent, text = name_of(entry.get("agent")), text_of(entry.get("output"))
            task, time = text_of(entry.get("task")), entry.get("timestamp")
            batch.outputs.append(Output(agent, text, task, place.at("/output"), time=time))

    def _line(self, line: str, above: list[str], place: Place) -> Iterator[Emit]:
        """A line of a text: an entry of a log, what an output goes on with (nothing is escaped), or a step."""
        found, open_log = _LOGGED.match(line), self._open.get(("log", place.source))
        if found:
            self._entry(found, place)
        elif open_log and open_log.outputs:
            open_log.places.append(place)
            last = open_log.outputs[-1]
            open_log.outputs[-1] = last._replace(text="\n".join([last.text, *above, line.removesuffix('"')]))
        elif STEP_LINE.match(line) and (step := step_of(line, place.line)):
            self._step(step, place.at("/_line"))
        else:
            reason = "a line that is neither an entry of a task log nor a step"
            yield Skip("unparseable" if STEP_LINE.match(line) else "unknown", reason, place)

    def _entry(self, found: re.Match[str], place: Place) -> None:
        batch = self._batch("log", place)
        batch.final = None if found[6] is not None else ""
        if found[6] is not None:
            text = found[6].removesuffix('"')
            batch.outputs.append(Output(name_of(found[4]), text, found[3], place.at("/_line"), time=found[1]))

    def _step(self, task: dict[str, Any], place: Place) -> None:
        batch = self._batch("steps", place)
        batch.outputs.append(_output(task, place))
        batch.final = None if "agent" in task else ""


def _holds_some(batch: Batch) -> bool:
    """A batch may consist of rows that could not be read."""
    return bool(batch.places)


def _output(task: dict[str, Any], place: Place, time: Any = None) -> Output:
    return Output(
        agent=name_of(task.get("agent")),
        text=text_of(task.get("raw")),
        task=text_of(task.get("description")),
        place=place,
        messages=tuple(listed(task.get("messages"))),
        time=time if isinstance(time, str) else None,
    )


def _tell(batch: Batch) -> Iterator[Made]:
    book = Chronicle(batch.name)
    times = [o.time for o in batch.outputs if isinstance(o.time, str)]
    full = any(o.messages for o in batch.outputs)
    seen = ("C1", "C2", "C3", "C4") if full else ("C1", "C2")
    yield book.head(batch.places[0], framework="crewai", started_at=min(times, default=None), observable=seen)
    last = batch.outputs[-1] if batch.outputs else None
    elsewhere = _told_by_name(batch)
    for output in batch.outputs:
        if output.agent is None and folded(output.text) in elsewhere:
            continue  # a step, whose words stand where their author is named
        yield from book.shown(output.place, output.agent, output.task, "initial", output.time)
        yield from _tell_messages(book, output)
        final = output is last and batch.final in (None, output.text)
        yield from book.event(
            output.place.at("/raw") if output.messages else output.place,
            "C1" if final else "C2",
            output.text,
            sender=output.agent,
            to=(USER,) if final else (),
            time=output.time,
            kind="result" if final else "task_output",
        )
    if batch.final and (last is None or batch.final != last.text):
        yield from book.event(batch.places[0].at("/raw"), "C1", batch.final, to=(USER,), kind="result")


def _told_by_name(batch: Batch) -> set[str]:
    """What is said where its author is named; asked only where some output names nobody."""
    if all(o.agent is not None for o in batch.outputs):
        return set()
    told = {folded(o.text) for o in batch.outputs if o.agent}
    return told | {folded(spoken(m)) for o in batch.outputs if o.agent for m in o.messages if m.get("role") == "tool"}


def _tell_messages(book: Chronicle, output: Output) -> Iterator[Made]:
    """The chat of one agent: here its tool calls and their results stand for the only time."""
    calls: dict[str, tuple[str, str | None]] = {}
    answers = _answers(output.messages)
    for n, message in enumerate(output.messages):
        place, role = output.place.at(f"/messages/{n}"), message.get("role")
        for call in listed(message.get("tool_calls")):
            yield from _tell_call(book, output, call, calls, place, answers.get((n, str(call.get("id"))), ""))
        text = spoken(message)
        if role == "tool":
            yield from _tell_answer(book, output, message, calls, place)
        elif role == "assistant":
            if text != output.text and folded(text) != folded(output.text):
                yield from book.event(place, "C6", text, sender=output.agent, time=output.time, kind="response")
        else:
            kind: Any = "initial" if role == "system" else "input"
            yield from book.shown(place, output.agent, text, kind, output.time)


def _answers(messages: tuple[dict[str, Any], ...]) -> dict[tuple[int, str], str]:
    """What came back of each call, by the number of its message and its id, which may be used anew."""
    found: dict[tuple[int, str], str] = {}
    later: dict[str, str] = {}
    for n in range(len(messages) - 1, -1, -1):
        found.update(
            ((n, own), later[own]) for c in listed(messages[n].get("tool_calls")) if (own := str(c.get("id"))) in later
        )
        if messages[n].get("role") == "tool":
            later[str(messages[n].get("tool_call_id"))] = spoken(messages[n])
    return found


def _tell_call(
    book: Chronicle,
    output: Output,
    call: dict[str, Any],
    calls: dict[str, tuple[str, str | None]],
    place: Place,
    answer: str,
) -> Iterator[Made]:
    tool = name_of(unquote(within(call, "function", "name"))) or "tool"
    text = unquote(within(call, "function", "arguments"))
    coworker, request = request_of(decode_text(text)) if is_delegation(tool) else (None, "")
    own = str(call.get("id"))
    calls[own] = (tool, coworker)
    if coworker:
        # Nothing here shows that the coworker ran; but an answer came, and the record names who was asked.
        asked = not is_unasked(answer)
        to, flags = Delivery(coworker, delivered=asked), _missed(asked)
        common: dict[str, Any] = {"id": own, "time": output.time, "kind": "delegation", "flags": flags}
        yield from book.event(place, "C2", request, sender=output.agent, to=(to,), **common)
        return
    channel, _, sort, evidence = tool_kind(tool)
    yield from book.actor(place, tool, sort, evidence)
    made = not is_refused(answer)
    common = {"id": own, "time": output.time, "kind": "tool_call", "to_kind": sort, "flags": _missed(made)}
    yield from book.event(place, channel, text, sender=output.agent, to=(Delivery(tool, delivered=made),), **common)


def _missed(delivered: bool) -> tuple[Flag, ...]:
    return () if delivered else ("not_delivered",)


def _tell_answer(
    book: Chronicle, output: Output, message: dict[str, Any], calls: dict[str, tuple[str, str | None]], place: Place
) -> Iterator[Made]:
    own = str(message.get("tool_call_id"))
    tool, coworker = calls.get(own, (name_of(message.get("name")) or "tool", None))
    _, channel, sort, _ = tool_kind(tool)
    said = spoken(message)
    coworker = coworker if is_of_asked(said) else None
    yield from book.event(
        place,
        "C2" if coworker else channel,
        said,
        sender="" if is_refused(said) else coworker or tool,
        to=(output.agent,) if output.agent else (),
        id=f"{own}/result",
        time=output.time,
        kind="answer" if coworker else "tool_result",
        sender_kind="agent" if coworker else sort,
        to_kind="agent",
    )


def _tell_states(flow: str, rows: Iterable[tuple[dict[str, Any], Place]]) -> Iterator[Made]:
    """What each method of a flow changed in the state that was saved after it."""
    book, before = Chronicle(flow), None
    for row, place in rows:
        time = row.get("timestamp") or row.get("created_at")
        if before is None:
            yield book.head(place, framework="crewai", started_at=time, observable=("C5",))
        method = name_of(row.get("method_name"))
        changed = changes(before, row["state"])
        before = row["state"]
        yield from book.actor(place, method, evidence="node")
        if changed:
            yield from book.actor(place, STATE, "memory", "node")
            text, at = text_of(changed), place.at("/state_json")
            yield from book.event(at, "C5", text, sender=method, to=(STATE,), time=time, kind="state_write")
