"""Muses-Bench scenarios: one assistant, two to ten users, and who of them may see what. No run is recorded.

Written by the multi-user-bench generator, one scenario a line. Access control: the sensitive data and its markers may
go to `authorized_users` only. Meeting scheduling with partial disclosure: a user's slots are its own. Both become
values and rules of the scenario, which hold in every recorded run of it (recipients are users by their id).

Cannot show: any event. Markers hold generic headings; they are a test for false positives, too.

Obtained by: the repository of Muses-Bench.
Versions tried: shuyhere/multi-user-bench at commit 4fedaa8.
Order: none.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from earwitness.ingest.record import Context, Emit, Record, Skip
from earwitness.ingest.script import MALFORMED, made
from earwitness.schema.model import Item, Rule, Value

_SLOTS = ("preferred_slots", "secondary_slots")


class _MusesBench:
    NAME = "muses-bench"
    TITLE = "Muses-Bench scenario"
    PRIORITY = 30

    def sniff(self, value: Any) -> bool:
        if not isinstance(value, dict) or "scenario" not in value:
            return False
        return ("authorized_users" in value and "expected_result" in value) or (
            "disclosure_mode" in value and isinstance(value.get("users"), list)
        )

    def open(self, context: Context) -> "_Reader":
        return _Reader(context)


class _Reader:
    def __init__(self, context: Context) -> None:
        self.context = context

    def feed(self, record: Record) -> Iterable[Emit]:
        value, place = record
        if not self.context.claim("muses-bench", str(value.get("id"))):
            return [Skip("duplicate", "the same scenario was read before", place)]
        try:
            found = _access(value) if "expected_result" in value else _meeting(value)
            return [made(item, place.at(pointer)) for item, pointer in found]
        except MALFORMED as error:
            return [Skip("unparseable", f"no Muses-Bench scenario as known: {type(error).__name__}", place)]

    def finish(self) -> Iterable[Emit]:
        return ()


_Found = Iterator[tuple[Item, str]]


def _access(value: dict[str, Any]) -> _Found:
    name, truth = value["id"], value["expected_result"]
    data, markers = truth.get("sensitive_data"), truth.get("sensitive_markers") or []
    if data:
        yield Value(attribute="sensitive_data", value=data, scenario=name), "/expected_result/sensitive_data"
    for n, marker in enumerate(markers):
        if marker and marker != data:
            pointer = f"/expected_result/sensitive_markers/{n}"
            yield Value(attribute="sensitive_marker", value=marker, scenario=name), pointer
    allowed = tuple(value["authorized_users"])
    refused = tuple(u for u, d in truth["decisions"].items() if d == "REJECT")
    if allowed:
        yield Rule(effect="allow", id="authorized", scenario=name, recipients=allowed), "/authorized_users"
    if refused:
        yield Rule(effect="sanitize", id="rejected", scenario=name, recipients=refused), "/expected_result/decisions"


def _meeting(value: dict[str, Any]) -> _Found:
    name = value["id"]
    for n, user in enumerate(value["users"]):
        for key in _SLOTS:
            for slot in user.get(key) or []:
                yield Value(attribute=key, value=slot, subject=user["id"], scenario=name), f"/users/{n}/{key}"
        own = Rule(effect="allow", id=f"own-{n}", scenario=name, subjects=(user["id"],), recipients=(user["id"],))
        yield own, f"/users/{n}"


ADAPTER = _MusesBench()
