"""AgentLeak scenarios: no run, but the vault and the release policy of a task, which hold in every run of it.

Obtained by: the repository of AgentLeak (`scenarios_*.jsonl`).
Versions tried: Privatris/AgentLeak at commit 6729179.
Order: none.
"""

from collections.abc import Iterator
from typing import Any

from earwitness.ingest.record import Context
from earwitness.ingest.whole import WholeReader
from earwitness.schema.model import Item, Rule, Value
from earwitness.schema.words import Effect

_EFFECTS: tuple[tuple[Effect, str], ...] = (("allow", "fields"), ("sanitize", "forbidden_fields"))


class _AgentLeakScenario:
    NAME = "agentleak-scenario"
    TITLE = "AgentLeak scenario"

    def sniff(self, value: Any) -> bool:
        return isinstance(value, dict) and "scenario_id" in value and isinstance(value.get("private_vault"), dict)

    def open(self, context: Context) -> WholeReader:
        return WholeReader(context, "AgentLeak scenario", "scenario_id", _tell)


def _tell(scenario: dict[str, Any]) -> Iterator[tuple[Item, str]]:
    yield from _values(scenario)
    yield from _rules(scenario)


def _values(scenario: dict[str, Any]) -> Iterator[tuple[Item, str]]:
    name = scenario["scenario_id"]
    for n, entry in enumerate(scenario["private_vault"].get("records") or []):
        fields = entry["fields"]
        subject = fields.get("name") or fields.get(f"{entry.get('record_type')}_name")
        for attribute, value in fields.items():
            if str(value):
                pointer = f"/private_vault/records/{n}/fields/{attribute}"
                yield Value(scenario=name, attribute=attribute, value=str(value), subject=subject), pointer


def _rules(scenario: dict[str, Any]) -> Iterator[tuple[Item, str]]:
    allowed = scenario.get("allowed_set") or {}
    for effect, key in _EFFECTS:
        if allowed.get(key):
            rule = Rule(
                id=f"allowed_set.{key}", effect=effect, scenario=scenario["scenario_id"], attributes=tuple(allowed[key])
            )
            yield rule, f"/allowed_set/{key}"


ADAPTER = _AgentLeakScenario()
