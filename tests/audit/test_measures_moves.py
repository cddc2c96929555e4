"""Whatever is changed in a record moves each measure as docs/measures.md says: on any small runs, and on ten events.

A figure here is k, summed over the cells the table of moves names. Runs stand twice in each case, as repetitions.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from earwitness.audit.decide import decide
from earwitness.audit.fidelity import assess_fidelity
from earwitness.audit.measure import MEASURES, figures, measure
from earwitness.audit.pipeline import Request, audit, read_request
from earwitness.audit.rulesets import DEFAULT
from earwitness.graph.exposures import find_exposures
from earwitness.ingest.loader import Loader
from earwitness.schema.case import Case
from earwitness.schema.policy import Member, Policy, PolicyRule, PolicyValue

ROOT = Path(__file__).parents[2]
TABLE = json.loads((ROOT / "tests/golden/measures/moves.json").read_text())
VALUES = {"account": "KX-4711-0815", "ssn": "412-55-9087"}
POLICY = Policy(
    values=tuple(PolicyValue(attribute=a, value=v) for a, v in VALUES.items()),
    rules=(
        PolicyRule(effect="allow", recipients=("a", "user")),
        PolicyRule(effect="allow", attributes=("ssn",), recipients=("b",)),
    ),
    roster=(Member(name="a"), Member(name="b")),
    unlisted="introduced",
)
HOLDS: dict[str, Callable[[int, int], bool]] = {
    "same": lambda before, after: after == before,
    "up": lambda before, after: after > before,
    "down": lambda before, after: after < before,
    "not down": lambda before, after: after >= before,
    "not up": lambda before, after: after <= before,
    "either": lambda before, after: True,
}
AGENTS = ("a", "b", "x", "y")

event = st.fixed_dictionaries(
    {
        "channel": st.sampled_from(["C2", "C2", "C2", "C6", "C1", "C3"]),
        "sender": st.sampled_from(AGENTS),
        "to": st.lists(st.sampled_from(AGENTS), min_size=1, max_size=3, unique=True),
        "tells": st.sampled_from(["", "account", "ssn", "account ssn"]),
        "archetype": st.sampled_from(["A", "B", "G"]),
    }
)
runs = st.lists(st.lists(event, min_size=2, max_size=6), min_size=1, max_size=2)


def test_every_measure_has_its_moves() -> None:
    assert [row["measure"] for row in TABLE["moves"]] == [m.name for m in MEASURES]
    assert {row[m] for row in TABLE["moves"] for m in TABLE["mutations"]} <= set(HOLDS)


def test_the_page_says_the_same() -> None:
    names = list(TABLE["mutations"])
    rows = []
    for row in TABLE["moves"]:
        cell = " ".join(f"{k} {v}" for k, v in row.get("group", {}).items())
        rows.append(f"| `{row['measure']}`{', ' + cell if cell else ''} | {' | '.join(row[m] for m in names)} |")
    page = (ROOT / "docs/measures.md").read_text(encoding="utf-8")
    assert "\n".join(rows) + "\n" in page
    assert [m for m, text in TABLE["mutations"].items() if f"| {m} | {text} |" not in page] == []


def lines(made: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Each run twice; the first has horizon 1, the second 3."""
    out: list[dict[str, Any]] = []
    for n, events in enumerate(made):
        for again in ("", "-again"):
            trace = f"t{n}{again}"
            out.append({"type": "trace", "id": trace, "scenario": "s", "domain": "d", "horizon": 1 + 2 * n})
            told = ". ".join(VALUES.values())
            out.append({"type": "sighting", "trace": trace, "actor": "a", "kind": "initial", "content": told, "seq": 0})
            for place, e in enumerate(events, 1):
                text = " and ".join(VALUES[v] for v in e["tells"].split()) or f"nothing {place}"
                to = [r for r in e["to"] if r != e["sender"]]
                to = ["user"] if e["channel"] == "C1" else ["api"] if e["channel"] == "C3" else to
                out.append(
                    {"type": "event", "trace": trace, "id": f"e{place}", "seq": place, "turn": place, "to": to}
                    | {"channel": e["channel"], "sender": e["sender"], "content": text, "archetype": e["archetype"]}
                )
    return out


def counted(case: Case) -> dict[str, int]:
    """k of every measure, over the cells that the table of moves names."""
    cells = {row["measure"]: row.get("group", {}) for row in TABLE["moves"]}
    out = dict.fromkeys(cells, 0)
    for f in figures(case):
        if cells[f.name].items() <= f.group.items():
            out[f.name] += f.k
    return out


def flip(case: Case) -> bool:
    """The first allowed occurrence with a recipient."""
    row = case.rows("""
        SELECT event, value, recipient FROM verdicts
        WHERE dynamic = 'allow' AND standing = 'confirmed' AND recipient IS NOT NULL ORDER BY ALL LIMIT 1""")
    for where in row:
        case.execute(
            "UPDATE verdicts SET dynamic = 'sanitize' WHERE event = ? AND value = ? AND recipient = ?", list(where)
        )
    return bool(row)


def drop(case: Case) -> bool:
    """The first unauthorised recipient of a message that has another."""
    row = case.rows("""
        SELECT v.event, v.recipient FROM verdicts v
        JOIN (SELECT event FROM flows WHERE channel = 'C2' GROUP BY event HAVING count(*) > 1) USING (event)
        WHERE v.dynamic = 'sanitize' AND v.standing = 'confirmed' ORDER BY ALL LIMIT 1""")
    for where in row:
        case.execute("DELETE FROM deliveries WHERE event = ? AND recipient = ?", list(where))
        decide(case, POLICY, DEFAULT)
    return bool(row)


def swap(case: Case) -> bool:
    """The last pair: an event that discloses and an earlier one of its trace that does not, in a repetition."""
    rows = case.rows("""
        WITH told AS (SELECT DISTINCT event FROM verdicts WHERE dynamic = 'sanitize' AND standing = 'confirmed')
        SELECT a.event, b.event FROM events a JOIN events b ON b.trace = a.trace AND a.seq < b.seq
        JOIN traces t ON t.trace = a.trace
        WHERE t.trace_id LIKE '%-again' AND b.event IN (FROM told) AND a.event NOT IN (FROM told)
          AND a.content <> b.content ORDER BY ALL DESC LIMIT 1""")
    for first, second in rows:
        exchange(case, first, second)
    return bool(rows)


def exchange(case: Case, first: int, second: int) -> None:
    """Two events change order and turn."""
    places = dict(case.rows("SELECT event, (seq, turn) FROM events WHERE event IN (?, ?)", [first, second]))
    for event, other in ((first, second), (second, first)):
        seq, turn = places[other] if isinstance(places[other], tuple) else tuple(places[other].values())
        case.execute("UPDATE events SET seq = ?, turn = ? WHERE event = ?", [seq, turn, event])


MUTATIONS: dict[str, Callable[[Case], bool]] = {"flip": flip, "drop": drop, "swap": swap}


# What every run begins with, so that each mutation finds something to change.
BEGINNING: list[dict[str, Any]] = [
    {"channel": "C6", "sender": "a", "to": ["b"], "tells": "", "archetype": "A"},
    {"channel": "C2", "sender": "a", "to": ["b", "x"], "tells": "account ssn", "archetype": "B"},
]


class Undone(Exception):
    """Takes a mutation back."""


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(made=runs)
def test_moves_on_any_runs(made: list[list[dict[str, Any]]], tmp_path: Path) -> None:
    source = tmp_path / "traces.jsonl"
    source.write_text("".join(json.dumps(line) + "\n" for line in lines([[*BEGINNING, *run] for run in made])))
    with Case() as case:
        Loader(case).load([source])
        audit(case, Request(policy=POLICY, fidelity=True))
        before = counted(case)
        after = {name: mutated(case, change) for name, change in MUTATIONS.items()}
        assert counted(case) == before
    wrong = {
        (row["measure"], name): (before[row["measure"]], row[name], after[name][row["measure"]])
        for row in TABLE["moves"]
        for name in MUTATIONS
        if not HOLDS[row[name]](before[row["measure"]], after[name][row["measure"]])
    }
    assert wrong == {}


def mutated(case: Case, change: Callable[[Case], bool]) -> dict[str, int]:
    """What is counted after a change, which is taken back."""
    found: dict[str, int] = {}
    with suppress(Undone), case.transaction():
        assert change(case)
        anew(case)
        found = counted(case)
        raise Undone
    return found


def anew(case: Case) -> None:
    """Graph and measures once more; distances too, which an audit keeps while nothing was imported."""
    case.set_meta("accessed", "")
    find_exposures(case)
    assess_fidelity(case)
    measure(case)


# -- ten events -------------------------------------------------------------------------------------------------------

FOLDER = ROOT / "tests/golden/measures/ten-events"
CHANGES = json.loads((FOLDER / "mutations.json").read_text())


@pytest.fixture
def ten() -> Iterator[Case]:
    """The worked example, audited."""
    with Case() as case:
        Loader(case).load([FOLDER / "traces.jsonl"])
        audit(case, replace(read_request(FOLDER / "policy.yaml", None, DEFAULT), fidelity=True))
        yield case


def number(case: Case, name: str) -> int:
    """`r1 e2` as the number of the event."""
    found = case.one("SELECT event FROM events JOIN traces USING (trace) WHERE trace_id || ' ' || event_id = ?", [name])
    return int(found)


def apply(case: Case, change: dict[str, Any]) -> None:
    if change["mutation"] == "swap":
        exchange(case, *(number(case, name) for name in change["events"]))
    elif change["mutation"] == "flip":
        case.execute(
            """UPDATE verdicts SET dynamic = 'sanitize' WHERE event = ? AND recipient = ?
               AND value IN (SELECT value FROM vault WHERE attribute = ?)""",
            [number(case, change["event"]), change["recipient"], change["attribute"]],
        )
    else:
        case.execute("DELETE FROM deliveries WHERE event = ?", [number(case, change["event"])])
        decide(case, read_request(FOLDER / "policy.yaml", None, DEFAULT).policy, DEFAULT)


def cells(case: Case) -> dict[str, list[int]]:
    """Every figure of the worked example, by measure and cell."""
    return {" ".join([f.name, *map(str, f.group.values())]): [f.k, f.n] for f in figures(case)}


@pytest.mark.parametrize("change", CHANGES, ids=lambda c: c["mutation"])
def test_moves_of_the_worked_example(change: dict[str, Any], ten: Case) -> None:
    """Exactly these figures change, and to this."""
    before = cells(ten)
    apply(ten, change)
    anew(ten)
    after = cells(ten)
    changed = {
        name: [before.get(name), after.get(name)] for name in before | after if before.get(name) != after.get(name)
    }
    assert changed == change["figures"]
