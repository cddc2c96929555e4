"""LangChain callback logs: one line for each call of a callback handler, as teams write them by hand.

A `BaseCallbackHandler` that appends `{"event": "on_tool_start", "run_id", "parent_run_id", ...}` to a JSONL file.
Only starts have a name, metadata and arguments; ends are joined to them by `run_id`. The log shows what its handler
was attached to, and `LLMResult.model_dump()` drops tool calls: they are taken from later copies of the message. A
trace is of `langgraph` where nodes of a graph ran outside of agents that `create_agent` made (`langgraph_node` without
`lc_agent_name` or such an `ls_integration`), else of `langchain`.

Obtained by: a `BaseCallbackHandler` of your own that writes JSON lines.
Versions tried: langchain 1.5.2, langchain-core 1.8.3 and 0.3.60.
Order: file order; times where the handler writes them.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from earwitness.ingest.langchain.runbook import Runbook, merge
from earwitness.ingest.langchain.runs import Run, model_of
from earwitness.ingest.record import Context, Emit, Record, Skip
from earwitness.ingest.spans.texts import as_text

_KINDS = {"chat_model": "llm", "llm": "llm", "tool": "tool", "retriever": "retriever"}
_GIVEN = ("inputs", "messages", "prompts", "input", "query", "input_str")
_BACK = ("outputs", "response", "output", "documents")
_TIMES = ("ts", "timestamp", "time")
_COPIES = ("on_agent_action", "on_agent_finish")
_NOTES = ("on_text", "on_custom_event", "on_retry")


class _LangChainCallbacks:
    NAME = "langchain-callbacks"
    TITLE = "LangChain callback log"

    def sniff(self, value: Any) -> bool:
        return (
            isinstance(value, dict)
            and isinstance(value.get("event"), str)
            and value["event"].startswith("on_")
            and isinstance(value.get("run_id"), str)
            and not isinstance(value.get("data"), dict)
            and "parent_ids" not in value
        )

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


class _Reader:
    def __init__(self, context: Context) -> None:
        self.book = Runbook(context, stow=True)

    def feed(self, record: Record) -> Iterable[Emit]:
        value, place = record
        event = value["event"]
        run = self.book.run(value["run_id"], place)
        if isinstance(value.get("parent_run_id"), str):
            run.parent = value["parent_run_id"]
        if event == "on_llm_new_token":
            run.pieces.append(str(value.get("token") or ""))
            yield Skip("ignored", "a piece of what the end of the run holds", place)
        elif event in _COPIES:
            yield Skip("ignored", "a copy of what the runs of model and tool hold", place)
        elif event in _NOTES:
            run.logs.append(as_text(next((value[k] for k in ("text", "data", "retry_state") if value.get(k)), "")))
        else:
            self._step(run, value, event.removeprefix("on_"), record)

    def _step(self, run: Run, value: dict[str, Any], event: str, record: Record) -> None:
        what, _, when = event.rpartition("_")
        time = next((value[k] for k in _TIMES if value.get(k)), None)
        if when == "start":
            self._start(run, value, what)
            if run.start is None:
                merge(run, "start", time)
        else:
            run.closed = record.place
            merge(run, "end", time)
            self.book.put(run, "outputs", next((value[k] for k in _BACK if value.get(k) is not None), None))
            if when == "error":
                run.error = as_text(value.get("error") or "error")
        if run.inputs is None or run.inputs == {"input": ""}:  # a streamed input is known at the end only
            self.book.put(run, "inputs", next((value[k] for k in _GIVEN if value.get(k) not in (None, "")), None))

    def _start(self, run: Run, value: dict[str, Any], what: str) -> None:
        kind = value.get("run_type")
        run.kind = kind if isinstance(kind, str) and kind else _KINDS.get(what, "chain")
        run.name = str(value.get("name") or value.get("tool") or _serialized(value.get("serialized")) or "")
        metadata = value.get("metadata")
        run.metadata = dict(metadata) if isinstance(metadata, dict) else {}
        run.model = model_of(run.metadata, value.get("invocation_params"))
        call_id = value.get("tool_call_id")
        run.call_id = call_id if isinstance(call_id, str) else None

    def finish(self) -> Iterator[Emit]:
        yield from self.book.tell()


def _serialized(value: Any) -> str | None:
    """The name in what a handler was told of the object that runs; nothing else there was said by anybody."""
    if not isinstance(value, dict):
        return None
    names = value.get("id")
    return value.get("name") or (str(names[-1]) if isinstance(names, list) and names else None)


ADAPTER = _LangChainCallbacks()
