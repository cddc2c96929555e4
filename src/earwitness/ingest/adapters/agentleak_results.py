"""AgentLeak result tables: rates and labels that were computed from runs. No run is in them, so nothing is imported.

Written by the evaluation of the AgentLeak authors (`paper_stats.json`, `model_stats.json`, `claims.json`,
`scenarios.json` of the tool runs). They are recognised so that a folder of AgentLeak files is accounted for by name.

Cannot show: any event.

Obtained by: the repository of AgentLeak.
Versions tried: Privatris/AgentLeak at commit 6729179.
Order: none.
"""

from collections.abc import Iterable
from typing import Any

from earwitness.ingest.record import Context, Emit, Record, Skip

_TABLES: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset(("channel_rates", "leak_rates")), "published rates"),
    (frozenset(("total_claims", "claims")), "published claims"),
    (frozenset(("n_scenarios", "claims")), "rates of the tool runs of one model"),
    (frozenset(("c3_leaked_fields", "c6_leaked_fields")), "labels of a tool run that is not in the file"),
)
_MODEL_STATS = frozenset(("multi_rate", "single_rate", "H1"))


class _AgentLeakResults:
    NAME = "agentleak-results"
    TITLE = "AgentLeak result table"
    PRIORITY = 60

    def sniff(self, value: Any) -> bool:
        return isinstance(value, dict) and _what(value) is not None

    def open(self, context: Context) -> "_Reader":
        return _Reader()


class _Reader:
    def feed(self, record: Record) -> Iterable[Emit]:
        return [Skip("ignored", f"{_what(record.value)}: no run", record.place)]

    def finish(self) -> Iterable[Emit]:
        return ()


def _what(value: dict[str, Any]) -> str | None:
    """Which table a record is, or is a row of."""
    named = next((title for keys, title in _TABLES if keys <= value.keys()), None)
    if named:
        return named
    first = next(iter(value.values()), None)
    return "published rates of models" if isinstance(first, dict) and first.keys() >= _MODEL_STATS else None


ADAPTER = _AgentLeakResults()
