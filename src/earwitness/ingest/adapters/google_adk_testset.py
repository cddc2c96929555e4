"""Google ADK test files of the older kind: what a run should do. No run is in them, so nothing is imported.

Written by hand for `adk eval` before evaluation sets (`*.test.json`): `query`, `expected_tool_use`, `reference` each.
They are recognised so that a folder of an ADK project is accounted for by name.

Cannot show: any event.

Obtained by: `*.test.json` of a project.
Versions tried: google/adk-samples at commit e39b806.
Order: none.
"""

from collections.abc import Iterable
from typing import Any

from earwitness.ingest.record import Context, Emit, Record, Skip


class _GoogleAdkTestset:
    NAME = "google-adk-testset"
    TITLE = "Google ADK test file (expectations)"
    PRIORITY = 60

    def sniff(self, value: Any) -> bool:
        return isinstance(value, dict) and {"query", "expected_tool_use"} <= value.keys()

    def open(self, context: Context) -> "_Reader":
        return _Reader()


class _Reader:
    def feed(self, record: Record) -> Iterable[Emit]:
        return [Skip("ignored", "expectation of an ADK test: no run", record.place)]

    def finish(self) -> Iterable[Emit]:
        return ()


ADAPTER = _GoogleAdkTestset()
