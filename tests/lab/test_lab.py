"""On the laboratory's corpus every measured rate is the one that the script's own account gives, in both frameworks.

`plain.py` counts from the truth; nothing of the program has a part in it.
"""

import ast
import json
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from os import environ
from pathlib import Path

import plain
import polars as pl
import pytest

from earwitness.audit.measures.facts import fact
from earwitness.audit.pipeline import audit, read_request
from earwitness.audit.rulesets import RULE_SETS
from earwitness.audit.stats import wilson
from earwitness.ingest.loader import Loader
from earwitness.ingest.manifest import apply_manifest, read_manifest
from earwitness.schema.case import Case

SAMPLES = plain.LAB.parent
VERBATIM = frozenset({"verbatim"})
FOUND = frozenset({"verbatim", "reformatted"})
# The one reformatting in the corpus that the default rules do not know: an address with its parts in another order.
REARRANGED = "home_address"
COUNTED = {"event_leakage", "raw_leakage", "filtered_leakage", "field_disclosure"}
MAIN = {"adversary": "A0", "horizon": "5", "pair": "tau"}


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A case with both recordings and both tables of attributes."""
    path = tmp_path_factory.mktemp("lab") / "lab.duckdb"
    with Case(path) as case:
        Loader(case).load([plain.LAB / "langgraph.tar.zst", plain.LAB / "autogen.jsonl.zst"])
        for name in ("manifest.csv", "turns.parquet"):
            apply_manifest(case, read_manifest(plain.LAB / name), plain.LAB / name)
    return path


@pytest.fixture(scope="module")
def literal(imported: Path) -> Iterator[Case]:
    """The case as the published rule judges it."""
    yield from _audited(imported, "literal")


@pytest.fixture(scope="module")
def default(imported: Path) -> Iterator[Case]:
    """The case as this program judges it."""
    yield from _audited(imported, "default")


def _audited(imported: Path, rules: str) -> Iterator[Case]:
    path = imported.with_name(f"{rules}.duckdb")
    shutil.copy(imported, path)
    with Case(path, create=False) as case:
        audit(case, read_request(plain.LAB / "policy.yaml", None, RULE_SETS[rules]))
        yield case


@pytest.fixture(scope="module")
def runs() -> list[plain.Run]:
    """The runs as the script knows them."""
    return plain.runs()


def figures(case: Case) -> plain.Counts:
    """Every figure of a case: measure and group, k and n."""
    rows = case.rows("SELECT name, grp, k, n FROM measures")
    return {(name, " ".join(map(str, json.loads(grp).values()))): (k, n) for name, grp, k, n in rows}


def differing(case: Case, expected: plain.Counts) -> dict[plain.Key, object]:
    measured = figures(case)
    return {key: (measured.get(key), counts) for key, counts in expected.items() if measured.get(key) != counts}


def main_runs(runs: list[plain.Run]) -> list[plain.Run]:
    return [run for run in runs if MAIN.items() <= run.cell.items()]


def test_import_finds_every_event_and_every_recipient(literal: Case, runs: list[plain.Run]) -> None:
    told = Counter(
        (r.cell["run"], mark, channel, sender, recipient)
        for r in runs
        for mark, channel, sender, recipient in {(t.mark, t.channel, t.sender, t.recipient) for t in r.rows}
    )
    rows = literal.rows("""
        SELECT json_extract_string(t.attributes, '$.run'), e.event_id, e.channel, e.sender, d.recipient
        FROM events e JOIN traces t USING (trace) LEFT JOIN deliveries d ON d.event = e.event AND d.delivered
    """)
    assert len(told) > 30_000
    assert Counter(rows) == told


def test_nothing_is_lost_or_left_over(literal: Case) -> None:
    assert literal.count("losses") == 0
    assert literal.rows("SELECT DISTINCT outcome FROM outcomes") == [("mapped",)]


def test_literal_rates_are_the_scripts(literal: Case, runs: list[plain.Run]) -> None:
    expected = plain.figures(runs, VERBATIM) | plain.events(runs, VERBATIM)
    assert {name for name, _ in expected} >= {"surface_leakage", "new_agent_disclosure", "channel_leakage", *COUNTED}
    assert differing(literal, expected) == {}


@pytest.mark.parametrize("name", ["literal", "default"])
def test_routes_are_the_scripts(name: str, request: pytest.FixtureRequest, runs: list[plain.Run]) -> None:
    case: Case = request.getfixturevalue(name)
    forms = VERBATIM if name == "literal" else FOUND
    seen = runs if name == "literal" else [without(run) for run in runs]
    counts = plain.routes(seen, forms)[""]
    for key in [key for key in counts if key[1] == "no-introduced"]:
        del counts[key]
    ways = Counter(plain.route(run, forms) for run in seen)
    shares: plain.Counts = {("route", way): (n, len(runs)) for way, n in ways.items()}
    exposed = plain.exposure_routes(seen, forms)
    shares |= {("exposure_route", way): (n, sum(exposed.values())) for way, n in exposed.items()}
    assert differing(case, counts | shares) == {}


def without(run: plain.Run) -> plain.Run:
    """A run as the default rules can see it: an address in another order is missed."""
    rows = [t._replace(form="missed") if (t.attribute, t.form) == (REARRANGED, "reformatted") else t for t in run.rows]
    return run._replace(rows=rows)


def test_default_rates_are_the_scripts_but_for_what_is_listed(default: Case, runs: list[plain.Run]) -> None:
    seen = [without(run) for run in runs]
    assert differing(default, plain.figures(seen, FOUND) | plain.events(seen, FOUND)) == {}


def test_default_rules_miss_what_is_split_paraphrased_or_rearranged_and_find_nothing_else(
    default: Case, runs: list[plain.Run]
) -> None:
    told = {(r.cell["run"], t.mark, t.recipient, t.attribute): t.form for r in runs for t in r.rows if t.form}
    found = set(
        default.rows("""
        SELECT json_extract_string(t.attributes, '$.run'), e.event_id, v.recipient, w.attribute FROM verdicts v
        JOIN events e USING (event) JOIN traces t ON t.trace = v.trace JOIN vault w USING (value)
        WHERE v.standing = 'confirmed'
    """)
    )
    assert found <= told.keys()
    missed = Counter((form, key[3] == REARRANGED) for key, form in told.items() if key not in found)
    assert {form for form, address in missed if not address} == {"split", "paraphrased"}
    assert {form for form, address in missed if address} == {"reformatted"}


def test_no_agent_is_introduced_in_the_reference_cell(literal: Case, runs: list[plain.Run]) -> None:
    small = [run for run in runs if run.cell["topology"] == "CW-2"]
    assert small
    assert not any(run.grown() for run in small)
    cells = {key: counts for key, counts in figures(literal).items() if key[0] == "new_agent_disclosure"}
    assert {k for (_, cell), (k, _) in cells.items() if " CW-2 " in cell} == {0}
    assert all(k > 0 for (_, cell), (k, _) in cells.items() if " CW-2 " not in cell and cell.endswith("A0"))


def test_surface_leakage_is_flat_over_the_cells(runs: list[plain.Run]) -> None:
    rates = plain.figures(main_runs(runs), VERBATIM)
    for arm in ("langgraph", "autogen"):
        cells = [wilson(k, n) for (name, cell), (k, n) in rates.items() if name == "surface_leakage" and arm in cell]
        assert len(cells) == 6
        assert max(low for low, _ in cells) < min(high for _, high in cells)


def test_relays_attenuate_where_messages_are_passed_and_not_where_state_is_shared(literal: Case) -> None:
    """Same scenarios, same script, same calls: 68 and 192 runs a framework. The intervals are those of 95 %."""
    counts = {
        (arm, route): wilson(k, n)
        for arm, route, k, n in literal.rows(f"""
            SELECT arm, route, count(*) FILTER (introduced), count(*) FROM ({fact()})
            WHERE adversary = 'A0' AND horizon = 5 AND pair = 'tau' AND route <> 'no-introduced' GROUP BY ALL
        """)
    }
    passed, passed_near = counts["autogen", "relay-required"], counts["autogen", "direct-access"]
    shared, shared_near = counts["langgraph", "relay-required"], counts["langgraph", "direct-access"]
    assert passed[1] < passed_near[0]
    assert passed[1] < shared[0]
    assert max(shared[0], shared_near[0]) < min(shared[1], shared_near[1])


def test_both_frameworks_make_the_same_calls_up_to_what_agents_saw(runs: list[plain.Run]) -> None:
    """What differs is who is shown what: who is asked by whom is the same, run by run, at A0."""
    asked: dict[str, dict[str, list[tuple[str, str | None]]]] = {"langgraph": {}, "autogen": {}}
    for run in main_runs(runs):
        ways = [(t.sender, t.recipient) for t in run.rows if t.channel == "C2"]
        asked[run.cell["arm"]][run.cell["run"][2:]] = list(dict.fromkeys(ways))
    assert asked["langgraph"] == asked["autogen"]


def test_turns_and_archetypes_are_set_on_every_event(literal: Case) -> None:
    truth = pl.read_parquet(plain.LAB / "truth.parquet").select("run", "mark", "turn", "archetype").unique()
    rows = literal.frame("""
        SELECT json_extract_string(t.attributes, '$.run') AS run, event_id AS mark, turn, archetype
        FROM events JOIN traces t USING (trace)
    """)
    assert rows.sort(rows.columns).equals(truth.sort(truth.columns))
    assert set(truth["archetype"]) == {"BASE", "A", "B", "C", "D", "E", "F", "G"}


def test_values_are_distinct_and_long_enough(literal: Case) -> None:
    rows = literal.rows("SELECT scenario, lower(text) FROM vault")
    assert min(len(text) for _, text in rows) >= 4
    assert not [(a, b) for s, a in rows for z, b in rows if s == z and a != b and a in b]


def test_corpus_is_small() -> None:
    assert sum(path.stat().st_size for path in plain.LAB.iterdir()) < 1_500_000


def test_scripted_model_knows_no_framework_and_no_distance() -> None:
    tree = ast.parse((SAMPLES / "record" / "laboratory" / "mind.py").read_text(encoding="utf-8"))
    imported = {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    assert {m for m in imported if m and m.startswith("record")} == {"record.laboratory.chance"}
    words = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    words |= {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    words |= {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    assert not {w for w in words if any(p in w.lower() for p in ("graph", "autogen", "hop", "position", "topolog"))}


def test_frameworks_play_the_same_again(tmp_path: Path) -> None:
    venvs = Path(environ.get("EARWITNESS_RECORDING_VENVS", Path.home() / ".cache" / "earwitness-recordings"))
    if not all((venvs / name / ".requires").exists() for name in ("langgraph", "autogen")):
        pytest.skip(f"no environments of the frameworks in {venvs}; sample_traces/record/lab.py makes them")
    command: list[str | Path] = [sys.executable, SAMPLES / "record" / "lab.py", "--scenarios", "2"]
    subprocess.run([*command, "--out", tmp_path, "--venvs", venvs], check=True, capture_output=True)
    committed = pl.read_parquet(plain.LAB / "truth.parquet")
    for path in sorted(tmp_path.glob("*.truth.parquet")):
        again = pl.read_parquet(path)
        assert again["run"].n_unique() == 12
        assert again.equals(committed.filter(pl.col("run").is_in(again["run"].unique().to_list())))
