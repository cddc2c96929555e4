"""LangChain run logs: the JSON patches that `astream_log(...)` yields, one list of operations a line.

Deprecated, and still in old recordings: `[{"op": "add", "path": "/logs/<name>:<n>", "value": {...}}]`. A log has the
runs below the root with their outputs, without their parents and mostly without their inputs: tool arguments are
those of the messages that asked for them.

Obtained by: `astream_log(...)`, each patch dumped.
Versions tried: langchain-core 1.8.3.
Order: file order, with times.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from earwitness.ingest.langchain.runbook import Runbook
from earwitness.ingest.langchain.runs import Run, model_of
from earwitness.ingest.record import Context, Emit, Place, Record, Skip

_ROOTS = ("/logs/", "/streamed_output", "/final_output")


class _LangChainLog:
    NAME = "langchain-log"
    TITLE = "LangChain astream_log"

    def sniff(self, value: Any) -> bool:
        rows = _operations(value)
        return bool(rows) and all(isinstance(r, dict) and "op" in r and _is_path(r.get("path")) for r in rows)

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


def _operations(value: Any) -> list[Any]:
    rows = value.get("ops") if isinstance(value, dict) else value
    return rows if isinstance(rows, list) else []


def _is_path(path: Any) -> bool:
    return isinstance(path, str) and (path == "" or path.startswith(_ROOTS))


class _Reader:
    def __init__(self, context: Context) -> None:
        self.book = Runbook(context, stow=True)
        self.root: str | None = None
        self.ids: dict[str, str] = {}

    def feed(self, record: Record) -> Iterable[Emit]:
        told = [self._apply(op, record.place.at(f"/{n}")) for n, op in enumerate(_operations(record.value))]
        if not any(told):
            yield Skip("ignored", "a piece of what later operations hold", record.place)

    def _apply(self, op: dict[str, Any], place: Place) -> bool:
        path, value = op["path"], op.get("value")
        if path == "" and isinstance(value, dict) and value.get("id"):
            self.root = self._begin(value, None, place).id
            return True
        if path.startswith("/logs/"):
            return self._of_run(path.removeprefix("/logs/"), value, place)
        if self.root and path in ("/final_output", "/streamed_output/-") and (root := self.book.known(self.root)):
            self.book.put(root, "outputs", value)
            root.closed = place
            return True
        return False

    def _of_run(self, path: str, value: Any, place: Place) -> bool:
        key, _, part = path.partition("/")
        if not part and isinstance(value, dict) and value.get("id"):
            self.ids[key] = str(value["id"])
            self._begin(value, self.root, place)
            return True
        run = self.book.known(self.ids.get(key, ""))
        if run and run.kind == "llm" and part == "streamed_output_str/-" and isinstance(value, str):
            run.pieces.append(value)
        if run is None or part not in ("final_output", "end_time", "inputs"):
            return False
        self.book.put(run, {"final_output": "outputs", "end_time": "end", "inputs": "inputs"}[part], value)
        run.closed = place
        return True

    def _begin(self, value: dict[str, Any], above: str | None, place: Place) -> Run:
        run = self.book.run(str(value["id"]), place)
        metadata = value.get("metadata")
        run.kind, run.name = str(value.get("type") or "chain"), str(value.get("name") or "")
        run.metadata = dict(metadata) if isinstance(metadata, dict) else {}
        run.model = model_of(run.metadata, None)
        run.parent = above
        for key, part in (
            ("start", "start_time"),
            ("inputs", "inputs"),
            ("outputs", "final_output"),
            ("end", "end_time"),
        ):
            self.book.put(run, key, value.get(part))
        return run

    def finish(self) -> Iterator[Emit]:
        yield from self.book.tell()


ADAPTER = _LangChainLog()
