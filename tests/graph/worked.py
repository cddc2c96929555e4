"""Small graphs written as data, and what the program makes of them."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import yaml

from earwitness.audit.pipeline import audit, read_request
from earwitness.audit.rulesets import DEFAULT
from earwitness.graph.guards import Place
from earwitness.graph.ways import Ways
from earwitness.ingest.loader import Loader
from earwitness.schema.case import Case

FOLDER = Path(__file__).parents[1] / "golden" / "graphs"
TEXTS = {"account": "DE-4711-0815", "amount": "61200.75", "name": "Ilse Brandvold"}
PLACES: tuple[Place, ...] = ("edge", "actor")
Spec = dict[str, Any]
# The graph room numbers parties and knows nobody else.
NO_PARTY = """
    SELECT DISTINCT trace, name FROM (SELECT trace, sender AS name FROM flows UNION SELECT trace, recipient FROM flows)
    WHERE name IS NOT NULL AND (trace, name) NOT IN (SELECT (trace, actor) FROM parties)
"""


def read(name: str) -> Spec:
    """The graph of a file."""
    spec: Spec = yaml.safe_load((FOLDER / f"{name}.yaml").read_text())
    return spec


def names() -> list[str]:
    """All of them."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


@contextmanager
def judged(*specs: Spec) -> Iterator[Case]:
    """A case with one trace for every graph, judged by the policy of the first."""
    with tempfile.TemporaryDirectory() as name, Case() as case:
        folder = Path(name)
        lines = [line for number, spec in enumerate(specs) for line in _lines(spec, f"t{number}")]
        (folder / "traces.jsonl").write_bytes(b"\n".join(map(msgspec.json.encode, lines)))
        (folder / "policy.yaml").write_text(yaml.safe_dump(_policy(specs[0])))
        Loader(case).load([folder / "traces.jsonl"])
        audit(case, read_request(folder / "policy.yaml", None, DEFAULT))
        yield case


def _lines(spec: Spec, trace: str) -> Iterator[dict[str, Any]]:
    head = {"type": "trace", "id": trace, "scenario": spec.get("scenario"), "topology": spec.get("topology")}
    yield {**head, "topology_edges": spec["topology_edges"]} if "topology_edges" in spec else head
    for name, kind in spec.get("kinds", {}).items():
        yield {"type": "actor", "trace": trace, "name": name, "kind": kind}
    for name, value in spec.get("given", {}).items():
        given = {"type": "sighting", "trace": trace, "actor": name, "kind": "initial", "content": _text(value, name)}
        yield {**given, "seq": 0, "time": "2026-03-03T08:00:00Z"}
    for number, event in enumerate(spec["events"], 1):
        yield _event(trace, number, event)


def _event(trace: str, number: int, event: dict[str, Any]) -> dict[str, Any]:
    to = [event["to"]] if isinstance(event["to"], str) else event["to"]
    told = {key: event[key] for key in ("grade", "delivered") if key in event}
    line = {
        "type": "event",
        "trace": trace,
        "id": f"e{number}",
        "channel": event["channel"],
        "sender": event.get("from"),
        "to": [{"actor": name, **told} for name in to],
        "content": _text(event.get("holds", []), f"Message {number}"),
    }
    minute = event.get("at", number)
    if minute != "none":
        line["time"] = f"2026-03-03T{9 + minute // 60:02}:{minute % 60:02}:00Z"
    return {**line, "seq": event["seq"]} if "seq" in event else line


def _text(holds: str | list[str], start: str) -> str:
    values = [holds] if isinstance(holds, str) else holds
    return f"{start}: " + "; ".join(f"the {v} is {TEXTS[v]}" for v in values) if values else f"{start}: nothing new."


def _policy(spec: Spec) -> dict[str, Any]:
    values = spec.get("values", ["account"])
    return {
        "default": "sanitize",
        "roster": [{"name": name, "aliases": other} for name, other in spec.get("aliases", {}).items()],
        "values": [{"attribute": v, "value": TEXTS[v], "value_type": "format_dependent"} for v in values],
        "rules": [{"id": "may", "effect": "allow", "recipients": spec["allow"]}] if spec["allow"] else [],
    }


def keyed(case: Case, spec: Spec, rows: list[tuple[Any, ...]]) -> dict[str, tuple[Any, ...]]:
    """Rows of (value, recipient, ...) by recipient, or by value and recipient where there are several values."""
    several = len(spec.get("values", [])) > 1
    attribute = dict(case.rows("SELECT value, attribute FROM vault"))
    return {f"{attribute[v]}/{r}" if several else r: tuple(rest) for v, r, *rest in rows}


def line_of(ways: Ways, exposure: int) -> str:
    """A way as `a -> b -> c`."""
    table = ways.table[ways.way(exposure)]
    return " -> ".join([table["teacher"][0] or "?", *table["recipient"]])
