"""LangSmith runs: API rows, SDK dumps, ingest payloads and bulk exports.

Rows of `Client.list_runs` (`model_dump_json`), of the API or the CLI; runs with nested `child_runs`; a
`RunCollectorCallbackHandler` dump; `{"post": [...], "patch": [...]}` batches; parts of `/runs/multipart` as a proxy
captured them (`{"path", "part", "value"}`); Parquet of a bulk export, whose `inputs`, `outputs` and `extra` are JSON
text. All of these are one reader: a trace may be spread over files. An export of root runs only cannot show what
happened below them; inputs and outputs may have been hidden or moved to other storage.

Obtained by: `Client.list_runs`, the API, a bulk export, or a captured upload.
Versions tried: langsmith 0.15.1, langchain-ai/langsmith-sdk at commit bc8dd67; bulk exports after their
documentation.
Order: `dotted_order`, else tree and time.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from earwitness.ingest.langchain.messages import clean
from earwitness.ingest.langchain.runbook import Runbook, merge
from earwitness.ingest.langchain.runs import Run, model_of
from earwitness.ingest.record import Context, Emit, Made, Place, Record, Skip
from earwitness.ingest.spans.texts import as_text, loads
from earwitness.schema.model import Loss

_PARTS = ("inputs", "outputs", "error", "extra", "events", "serialized", "attachments", "attachment")


class _LangSmithRuns:
    NAME = "langsmith-runs"
    READER = "langsmith-runs"
    TITLE = "LangSmith runs"

    def sniff(self, value: Any) -> bool:
        if not isinstance(value, dict):
            return False
        if isinstance(value.get("run_type"), str) and "id" in value:
            return "dotted_order" in value or "trace_id" in value or "child_runs" in value or "parent_run_id" in value
        if isinstance(value.get("path"), str) and "/runs/" in value["path"]:
            return "value" in value
        return _is_batch(value)

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


def _is_batch(value: dict[str, Any]) -> bool:
    rows = [*_rows(value.get("post")), *_rows(value.get("patch"))]
    return (
        bool(rows) and value.keys() <= {"post", "patch"} and all("dotted_order" in r or "run_type" in r for r in rows)
    )


def _rows(value: Any) -> list[dict[str, Any]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


class _Reader:
    def __init__(self, context: Context) -> None:
        self.book = Runbook(context, "langsmith", stow=True)

    def feed(self, record: Record) -> Iterable[Emit]:
        value, place = record
        if "post" in value or "patch" in value:
            for key in ("post", "patch"):
                for n, row in enumerate(_rows(value.get(key))):
                    yield from _withheld(row, place.at(f"/{key}/{n}"))
                    self._row(row, place.at(f"/{key}/{n}"))
        elif "path" in value and "run_type" not in value:
            yield from self._wire(value, place)
        elif not self._row(value, place):
            yield Skip("duplicate", "the same run was read before", place)
        else:
            yield from _withheld(value, place)

    def _row(self, row: dict[str, Any], place: Place) -> bool:
        """A run, and those nested in it; False if nothing of it is new."""
        run_id = row.get("id") or _ids(row)[-1:]
        run_id = run_id[0] if isinstance(run_id, list) and run_id else run_id
        if not isinstance(run_id, str):
            return False
        known = self.book.known(run_id)
        complete = known is not None and known.outputs is not None and known.inputs is not None
        fresh = not complete
        if fresh:
            self._merge(self.book.run(run_id, place), row, place)
        for n, child in enumerate(_rows(row.get("child_runs"))):
            child = {"parent_run_id": run_id, "trace_id": row.get("trace_id") or run_id, **child}
            fresh = self._row(child, place.at(f"/child_runs/{n}")) or fresh
        return fresh

    def _merge(self, run: Run, row: dict[str, Any], place: Place) -> None:
        ids = _ids(row)
        merge(run, "kind", row.get("run_type"))
        merge(run, "name", row.get("name"))
        merge(run, "parent", row.get("parent_run_id") or (ids[-2] if len(ids) > 1 else None))
        merge(run, "trace", row.get("trace_id") or (ids[0] if ids else None))
        merge(run, "order", row.get("dotted_order"))
        merge(run, "start", row.get("start_time"))
        merge(run, "end", row.get("end_time"))
        for part in _PARTS:
            if row.get(part) and row[part] != "null":  # a bulk export holds JSON text
                self._part(run, part, row[part], place)
        for part in ("inputs", "outputs"):
            if row.get(f"{part}_s3_urls") and not row.get(part):
                run.references += 1

    def _part(self, run: Run, part: str, value: Any, place: Place) -> None:
        if part in ("inputs", "outputs"):
            read = loads(value) if isinstance(value, str) else None
            self.book.put(run, part, value if read is None else read)
            if part == "outputs":
                run.closed = place
        elif part == "error":
            run.error = as_text(value)
        elif part == "extra":
            self._extra(run, loads(value) if isinstance(value, str) else value)
        elif part.startswith("attachment"):
            run.references += len(value) if isinstance(value, dict | list) else 1

    def _extra(self, run: Run, extra: Any) -> None:
        if not isinstance(extra, dict):
            return
        metadata = extra.get("metadata")
        merge(run, "metadata", dict(metadata) if isinstance(metadata, dict) else None)
        merge(run, "call_id", clean(extra.get("tool_call_id")))
        merge(run, "model", model_of(run.metadata, extra.get("invocation_params")))

    def _wire(self, value: dict[str, Any], place: Place) -> Iterator[Emit]:
        """A part of a multipart request: `post.<run id>` or `post.<run id>.inputs`."""
        _, _, rest = str(value.get("part") or "").partition(".")
        run_id, _, part = rest.partition(".")
        body = value["value"]
        if not run_id and isinstance(body, dict) and ("post" in body or "patch" in body):
            yield from self.feed(Record({k: body.get(k) for k in ("post", "patch")}, place.at("/value")))
        elif not part and isinstance(body, dict):
            self._merge(self.book.run(run_id or str(body.get("id")), place), body, place.at("/value"))
        elif part.split(".")[0] in _PARTS[:4] and body:
            self._part(self.book.run(run_id, place), part.split(".")[0], body, place.at("/value"))
        else:
            yield Skip("ignored", "a part without content of the run", place)

    def finish(self) -> Iterator[Emit]:
        yield from self.book.tell()


def _withheld(row: dict[str, Any], place: Place) -> Iterator[Emit]:
    """A redactor that raised leaves a marker where the words were."""
    ids: list[Any] = [row.get("trace_id"), *_ids(row), row.get("id")]
    trace = next((i for i in ids if isinstance(i, str) and i), None)
    for part in ("inputs", "outputs"):
        payload = row.get(part)
        if isinstance(payload, dict) and "ls_error" in payload and trace:
            yield Made(Loss(trace=trace, kind="masked", detail=f"{part} withheld: the redactor failed"), place)


def _ids(row: dict[str, Any]) -> list[str]:
    """The ids from the root to the run, which its dotted order holds."""
    order = row.get("dotted_order")
    return [step.rpartition("Z")[2] for step in order.split(".")] if isinstance(order, str) and order else []


ADAPTER = _LangSmithRuns()
