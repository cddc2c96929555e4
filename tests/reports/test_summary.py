"""The report object shows no value where a trace uses one as a name."""

import json
from pathlib import Path

import msgspec

from earwitness.audit.pipeline import Request, audit
from earwitness.ingest.loader import Loader
from earwitness.reports.summary import summary
from earwitness.schema.case import Case
from earwitness.schema.model import Event, Line, Trace, Value
from earwitness.schema.policy import Policy


def test_names_of_cells_are_masked(tmp_path: Path) -> None:
    secret = "219-09-9999"
    cells = {"arm": f"arm {secret}", "topology": secret, "framework": f"made for {secret}"}
    lines: list[Line] = [
        Trace(id="t", **cells),  # type: ignore[arg-type]
        Value(attribute="ssn", value=secret, trace="t"),
        Event(trace="t", channel="C2", sender="a", to=("b",), content=f"it is {secret}"),
    ]
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    with Case() as case:
        Loader(case).load([path])
        audit(case, Request(policy=Policy()))
        assert secret not in json.dumps(summary(case))
        assert secret in json.dumps(summary(case, reveal=True)["measures"])
