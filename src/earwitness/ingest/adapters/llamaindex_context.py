"""LlamaIndex context: the state of a workflow at its end, as `Context.to_dict()` gives it.

Users save it to resume a run. What the shared state holds is seen in the memory `state`; who wrote it, and who read it,
the format cannot show, nor anything that was said. It has no run id: each file is a trace.

Obtained by: `json.dump(context.to_dict(), file)`.
Versions tried: llama-index-core 0.14.25, workflows 2.26.1.
Order: none.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from earwitness.ingest.chronicle import Chronicle, name_of, run_name, text_of
from earwitness.ingest.jsontext import decode_text
from earwitness.ingest.record import Context, Emit, Made, Record, Skip

STATE = "state"
# Keys by which the workflow runs itself.
_OWN = frozenset(
    {
        "agents",
        "can_handoff_to",
        "current_agent_name",
        "handoff_output_prompt",
        "max_iterations",
        "early_stopping_method",
        "num_iterations",
        "formatted_input_with_state",
        "scratchpad",
        "num_tool_calls",
        "next_agent",
        "current_tool_calls",
        "memory",
        "user_msg_str",
    }
)


class _LlamaIndexContext:
    NAME = "llamaindex-context"
    TITLE = "LlamaIndex context"

    def sniff(self, value: Any) -> bool:
        return isinstance(value, dict) and "workers" in value and "version" in value and isinstance(_data(value), dict)

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


class _Reader:
    def __init__(self, context: Context) -> None:
        self.context = context

    def feed(self, record: Record) -> Iterable[Emit]:
        data = _data(record.value)
        book = Chronicle(run_name(self.context))
        yield book.head(record.place, framework="llamaindex", observable=())
        yield from _told(book, data, record)
        if not any(_read(data.get(key)) for key in data.keys() - _OWN):
            yield Skip("ignored", "a context whose state is empty", record.place)

    def finish(self) -> Iterable[Emit]:
        return ()


def _told(book: Chronicle, data: dict[str, Any], record: Record) -> Iterator[Made]:
    place = record.place.at("/state/state_data/_data")
    agents = _read(data.get("agents"))
    for name in agents if isinstance(agents, list) else ():
        yield from book.actor(place.at("/agents"), name_of(name))
    yield from book.shown(place.at("/user_msg_str"), None, text_of(_read(data.get("user_msg_str"))), "initial")
    for key in data:
        value = _read(data[key])
        if key not in _OWN and value:
            yield from book.actor(place, STATE, "memory")
            yield from book.shown(place.at(f"/{key}"), STATE, text_of(value), "state")


def _data(value: dict[str, Any]) -> Any:
    for key in ("state", "state_data", "_data"):
        value = value.get(key) if isinstance(value, dict) else None  # type: ignore[assignment]
    return value


def _read(value: Any) -> Any:
    """Values are JSON inside JSON."""
    return decode_text(value, value)


ADAPTER = _LlamaIndexContext()
