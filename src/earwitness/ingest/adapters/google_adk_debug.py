"""Google ADK debug log: the YAML file of `DebugLoggingPlugin`, one document an invocation.

Written to `adk_debug.yaml` (or `output_path`) by `Runner(plugins=[DebugLoggingPlugin()])`. Events are read as in event
files; what models were shown, and runs of agents called as tools (`AgentTool`), is here alone. The plugin does not tell
thoughts from words, leaves out inline data, hides `temp:` state and what looks like a credential, and writes local
times. The words of the user show in the first model request. Artifacts are named, their content is elsewhere.

Obtained by: `DebugLoggingPlugin`, which writes YAML.
Versions tried: google-adk 2.13.0.
Order: file order, with times.
"""

from typing import Any

from earwitness.ingest.adk import AdkReader
from earwitness.ingest.record import Context, Record


class _GoogleAdkDebug:
    NAME = "google-adk-debug"
    TITLE = "Google ADK debug log (YAML)"
    READER = "google-adk"

    def sniff(self, value: Any) -> bool:
        return (
            isinstance(value, dict)
            and isinstance(value.get("entries"), list)
            and isinstance(value.get("invocation_id"), str)
            and isinstance(value.get("session_id"), str)
            and "app_name" in value
        )

    def split(self, record: Record) -> list[Record]:
        """The entries of an invocation."""
        value, place = record
        head = {"session": value["session_id"], "run": value["invocation_id"], "start": value.get("start_time")}
        return [
            Record({**head, "entry": entry if isinstance(entry, dict) else {}}, place.at(f"/entries/{n}"))
            for n, entry in enumerate(value["entries"])
        ]

    def open(self, context: Context) -> AdkReader:
        return AdkReader(context)


ADAPTER = _GoogleAdkDebug()
