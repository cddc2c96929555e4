"""Runs from the events of `astream_events`, v1 and v2."""

from typing import Any

from earwitness.ingest.langchain.messages import read_messages
from earwitness.ingest.langchain.runbook import Runs
from earwitness.ingest.langchain.runs import Run, model_of, moment
from earwitness.ingest.record import Place, Record
from earwitness.ingest.spans.texts import as_text

_KINDS = {
    "chat_model": "llm",
    "llm": "llm",
    "tool": "tool",
    "retriever": "retriever",
    "prompt": "prompt",
    "parser": "parser",
}


def is_event(value: Any) -> bool:
    """Whether a value is an event of `astream_events`."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("event"), str)
        and value["event"].startswith("on_")
        and isinstance(value.get("data"), dict)
        and isinstance(value.get("run_id"), str)
    )


class EventBook:
    """Takes events and fills in the runs they are of."""

    def __init__(self, runs: Runs) -> None:
        self.book = runs
        self.open: list[str] = []
        self.tools: list[Run] = []

    def take(self, value: dict[str, Any], place: Place) -> str | None:
        """An event; why it adds nothing, if it does not."""
        what, _, when = value["event"].removeprefix("on_").rpartition("_")
        run = self.book.run(value["run_id"], place)
        self._identify(run, value, what)
        if when == "stream":
            self._stops(run, value["data"].get("chunk"))
            run.pieces.extend(m.text for m in read_messages(value["data"].get("chunk")) if run.kind == "llm")
            return "a piece of what the end of the run holds"
        if what == "custom":
            run.logs.append(as_text(value["data"]))
        else:
            self._merge(run, value["data"], when, Record(value, place))
        return None

    def _stops(self, run: Run, chunk: Any) -> None:
        """What stops a run to ask a human stands in a piece of its output alone."""
        if isinstance(chunk, dict) and "__interrupt__" in chunk:
            run.interrupts.append(chunk["__interrupt__"])

    def _identify(self, run: Run, value: dict[str, Any], what: str) -> None:
        run.kind = _KINDS.get(what, run.kind)
        run.name = run.name or str(value.get("name") or "")
        metadata = value.get("metadata")
        run.metadata = run.metadata or dict(metadata if isinstance(metadata, dict) else {})
        run.start = run.start or moment(run.id)
        run.model = run.model or model_of(run.metadata, None)
        parents = value.get("parent_ids")
        if isinstance(parents, list) and parents:
            run.parent, run.trace = str(parents[-1]), str(parents[0])
        elif run.parent is None and self.open and run.id not in self.open:
            run.parent = self._around(run)

    def _around(self, run: Run) -> str:
        """The parent of a run that names none: the one open tool for the run of another agent, or the root."""
        tools = [t for t in self.tools if t.own_agent != run.own_agent]
        return tools[0].id if len(self.tools) == len(tools) == 1 and run.own_agent else self.open[0]

    def _merge(self, run: Run, data: dict[str, Any], when: str, record: Record) -> None:
        if when == "start":
            self.tools += [run] if run.kind == "tool" else []
            if run.parent is None and not self.open:
                self.open.append(run.id)
        else:
            run.closed = record.place
            self.tools = [t for t in self.tools if t is not run]
            if run.id in self.open:
                self.open.remove(run.id)
        if run.inputs is None:
            self.book.put(run, "inputs", data.get("input"))
        self.book.put(run, "outputs", data.get("output"))
        if data.get("error"):
            run.error = as_text(data["error"])
