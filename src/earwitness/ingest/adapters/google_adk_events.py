"""Google ADK events: event JSONL, session JSON, API server responses, `adk run --jsonl`, server-sent events.

Written by `Runner.run_async` dumped by hand (`model_dump_json`, with or without `by_alias`), by the API server (`/run`,
`/run_sse`, `GET .../sessions/{id}`), and by `adk run --jsonl` or `--save_session`. Each event names its author; a
transfer is in `actions.transferToAgent`. What an agent called as a tool (`AgentTool`) did inside is in none of these
files, and its writes to the state appear under the caller's name; the call itself is told from that of a tool only
where an agent of that name acts elsewhere in the session. A call that waits for the user's confirmation, or was
rejected, reached no tool. What the user is asked for consent, a login or words is output; the answer to the first two
is kept from models. Undone turns and branches beside its own are not shown to an agent that takes over. State that was
only read shows in instructions, which are not recorded. Artifacts are named, their content is in the artifact store.

Obtained by: `Runner.run_async` dumped, the API server, `adk run --jsonl` or `--save_session`.
Versions tried: google-adk 1.18.0 and 2.13.0; google/adk-samples at commit e39b806.
Order: time, then file order.
"""

from collections.abc import Iterator
from typing import Any

from earwitness.ingest.adk import AdkReader, is_event
from earwitness.ingest.adk_words import get
from earwitness.ingest.record import Context, Record, is_array


class _GoogleAdkEvents:
    NAME = "google-adk-events"
    TITLE = "Google ADK events and sessions"
    READER = "google-adk"
    PIECES = ("/events",)

    def sniff(self, value: Any) -> bool:
        if not isinstance(value, dict):
            return False
        return is_event(value) or _is_session(value) or ("event" in value and is_event(value.get("data")))

    def split(self, record: Record) -> Iterator[Record]:
        """A session is taken apart: itself, then its events."""
        value, place = record
        if not _is_session(value):
            wrapped = "event" in value and not is_event(value)
            yield Record({"event": value["data"] if wrapped else value}, place)
            return
        yield Record({"session": str(value["id"]), "state": value.get("state")}, place)
        for n, event in enumerate(value["events"]):
            yield Record({"event": event, "session": str(value["id"])}, place.at(f"/events/{n}"))

    def open(self, context: Context) -> AdkReader:
        return AdkReader(context)


def _is_session(value: dict[str, Any]) -> bool:
    return is_array(value.get("events")) and "id" in value and isinstance(get(value, "appName"), str)


ADAPTER = _GoogleAdkEvents()
