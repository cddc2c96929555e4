"""Records as no recorder writes them: whatever is changed in a sample, every record is accounted for."""

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest

from earwitness.ingest.loader import Loader
from earwitness.schema.case import Case

GOLDEN = Path(__file__).parent.parent / "golden" / "ingest"
SAMPLES = sorted(p for p in GOLDEN.glob("*/*.in.json*") if p.suffix in (".json", ".jsonl"))
STRANGE: list[Any] = [
    None,
    True,
    0,
    -1,
    2**70,
    1.5,
    "",
    "x",
    "\ud800",
    [],
    {},
    [None],
    {"a": None},
    [[]],
    "{",
    "[1]",
    "\x00",
]


def load(path: Path) -> list[Any]:
    text = path.read_text("utf-8")
    try:
        return [json.loads(text)]
    except ValueError:
        return [value for line in text.splitlines() if (value := _decoded(line)) is not None]


def _decoded(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) in a value."""
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [pair for key in keys for pair in ((value, key), *places(value[key]))]


def mutate(record: Any, chance: random.Random) -> Any:
    """A record with one to three changes: a value replaced, dropped, doubled or nested."""
    record = json.loads(json.dumps(record))
    for _ in range(chance.randint(1, 3)):
        found = places(record)
        if not found:
            break
        holder, key = chance.choice(found)
        change = chance.randint(0, 3)
        if change == 0 and isinstance(holder, dict):
            del holder[key]
        elif change == 1:
            holder[key] = [holder[key]]
        elif change == 2:
            holder[key] = str(holder[key])
        else:
            holder[key] = copy.deepcopy(chance.choice(STRANGE))  # which may be changed, too
    return record


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda p: f"{p.parent.name}/{p.name.split('.')[0]}")
def test_changed_samples_are_accounted_for(tmp_path: Path, sample: Path) -> None:
    chance = random.Random(sample.name)
    records = load(sample)
    changed = [mutate(r, chance) for _ in range(max(3, 40 // max(len(records), 1))) for r in records]
    path = tmp_path / "changed.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in changed))
    with Case() as case:
        (source,) = Loader(case).load([path])
        assert source.records >= 1
        assert sum(source.outcomes.values()) == source.records
        assert min(source.outcomes.values()) >= 0
        assert not source.problem, source.problem
        assert case.count("records") == source.records - source.outcomes["mapped"]
        assert case.one("SELECT count(*) FROM actors WHERE actor IN ('', 'unknown', 'None', 'null')") == 0
