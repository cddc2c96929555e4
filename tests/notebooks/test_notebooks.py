"""The notebooks: each is run, gives what is kept, and its key figures are counted a second time without the audit."""

import json
import re
import runpy
import tarfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import networkx as nx
import polars as pl
import pytest
import yaml

from earwitness.audit.pipeline import audit, read_request
from earwitness.audit.replay.condition import shipped
from earwitness.audit.replay.replay import Request, replay
from earwitness.audit.rulesets import DEFAULT
from earwitness.audit.transform.keys import Keys
from earwitness.ingest.loader import Loader
from earwitness.ingest.manifest import apply_manifest, read_manifest
from earwitness.schema.case import Case

pytest.importorskip("nbclient", reason="the extra `notebooks` is not installed")
pytest.importorskip("matplotlib", reason="the extra `notebooks` is not installed")
ROOT = Path(__file__).resolve().parents[2]
tool = SimpleNamespace(**runpy.run_path(str(ROOT / "tests" / "tools" / "notebooks.py")))
NAMES = tool.names()
LAB = ROOT / "sample_traces" / "lab"
ORIGINAL = {"coordinator", "analyst"}
INTRODUCED = {"liaison", "reviewer", "drafter", "auditor", "archivist", "scheduler", "translator", "courier"}
Shared = Callable[[str], list[Path]]
Figures = dict[str, tuple[int, int]]

_RATE = re.compile(r"^(.+?): ([\d,]+) of ([\d,]+): [\d.]+ %", re.MULTILINE)


@cache
def made(name: str) -> Any:
    return tool.run(name)


@pytest.fixture
def run(shared: Shared) -> Callable[[str], Any]:
    """Runs a notebook, once in a session; skips where it reads corpora that are absent."""

    def found(number: str) -> Any:
        (name,) = [n for n in NAMES if n.startswith(number)]
        for pattern in tool.needs(name):
            shared(pattern)
        return made(name)

    return found


def texts(book: Any) -> list[str]:
    """All text that came out, cell by cell."""
    return ["".join(t for o in c["outputs"] for _, t in tool._texts(o)) for c in book.cells if c.cell_type == "code"]


def figures(book: Any) -> Figures:
    """Every `label: k of n` that is drawn."""
    return {m[1]: (number(m[2]), number(m[3])) for text in texts(book) for m in _RATE.finditer(text)}


def number(text: str) -> int:
    return int(text.replace(",", ""))


# The kept notebooks.


@pytest.mark.parametrize("name", NAMES)
def test_a_kept_notebook_is_what_comes_out(name: str, run: Callable[[str], Any]) -> None:
    assert tool.differences(name, tool.read(name), run(name)) == []


def test_every_notebook_has_its_source() -> None:
    assert sorted(p.stem for p in (ROOT / "notebooks").glob("*.ipynb")) == NAMES
    assert len(NAMES) >= 6


@pytest.mark.parametrize("name", NAMES)
def test_a_kept_notebook_ran_through_and_draws(name: str) -> None:
    book = tool.read(name)
    kept = tool.outputs(book)
    assert not any(o["output_type"] == "error" for c in book.cells for o in c.get("outputs", []))
    images = [image for out in kept for image in out.images]
    assert len(images) >= 2
    assert not any(map(tool.blank, images))


@pytest.mark.parametrize("name", NAMES)
def test_no_value_stands_in_a_kept_notebook(name: str) -> None:
    text = (ROOT / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8")
    policy = yaml.safe_load((ROOT / "sample_traces" / "topologies" / "policy.yaml").read_text())
    values = [v["value"] for v in policy["values"]] + pl.read_csv(LAB / "vault.csv", infer_schema=False)[
        "value"
    ].to_list()
    assert [v for v in values if v in text] == []
    # Whole paths: a short one stands in the letters of some image by chance.
    assert str(ROOT) not in text
    assert f"{Path.home()}/" not in text


def test_a_check_sees_what_changed() -> None:
    kept, changed = tool.read(NAMES[0]), tool.read(NAMES[0])
    cell = next(c for c in changed.cells if any("text/plain" in o.get("data", {}) for o in c.get("outputs", [])))
    output = next(o for o in cell["outputs"] if "text/plain" in o.get("data", {}))
    output["data"]["text/plain"] += " 1"
    drawn = next(o for c in changed.cells for o in c.get("outputs", []) if "image/png" in o.get("data", {}))
    drawn["data"]["image/png"] = "AAAA"
    told = "\n".join(tool.differences("x", kept, changed))
    assert "text differs" in told
    assert "an image is missing or blank" in told


# 01 and 07: the bundled corpus, against the figures counted by hand.


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / "sample_traces" / "topologies" / "expected.json").read_text())
    return found


def test_first_audit(run: Callable[[str], Any], expected: dict[str, Any]) -> None:
    out = "\n".join(texts(run("01")))
    for m in (m for m in expected["measures"] if m["name"] in ("any_leakage", "audit_gap")):
        assert re.search(rf"^{m['name']} +{m['k']} of {m['n']}:", out, re.MULTILINE)
    assert "29 of 82 unauthorised" in out
    for channel, n in expected["channels"].items():
        line = rf"^{channel}  .*: leak {n['leak']}, unverifiable {n['unverifiable']}, clean {n['clean']}$"
        assert re.search(line, out, re.MULTILINE)
    assert re.search(r"assessor may know the diagnosis ┆ 82 +┆ 56 +┆ 26 ", out)


def test_one_incident(run: Callable[[str], Any]) -> None:
    out = "\n".join(texts(run("07")))
    # sample_traces/README.md: the six disclosures of hier7-3, one of them to nobody named.
    assert len(re.findall(r"^\d+ C\d .*: unauthorised$", out, re.MULTILINE)) == 6
    assert "letters -> nobody named: unauthorised" in out
    assert re.findall(r"^(\w+) knew since \d+: unauthorised$", out, re.MULTILINE) == [
        "operations", "fraud_check", "memory", "letters",
    ]  # fmt: skip
    assert "the file is the one that was audited" in out
    assert re.search(r"coordinator > operations ┆ 4 +┆ 0 ", out)
    assert "no guard: 29" in out


# 02, 03 and 05: the laboratory, against what its script wrote down. What the registry cannot find is left out there:
# paraphrases, identifiers in two parts, and addresses turned round.


@pytest.fixture(scope="module")
def truth() -> pl.DataFrame:
    rows = pl.read_parquet(LAB / "truth.parquet")
    cells = pl.read_csv(LAB / "manifest.csv").select("run", "scenario", "topology", "adversary", "horizon", "pair")
    turned = (pl.col("form") == "reformatted") & (pl.col("attribute") == "home_address")
    found = pl.col("form").is_in(["verbatim", "reformatted"]) & ~turned
    rows = rows.join(cells, on="run").with_columns(told=pl.col("attribute").is_not_null(), found=found.fill_null(False))
    known = rows.join(granted(), on=["scenario", "attribute"], how="left").with_columns(
        pl.col("to").fill_null("nobody")
    )
    to_team, to_new = pl.col("recipient").is_in(ORIGINAL).fill_null(False), introduced()
    # Where nobody is named the field decides; a rule for the team leaves out the agents that were introduced.
    may = (pl.col("to") == "everybody") | ((pl.col("to") == "team") & ~to_new)
    return known.with_columns(granted=may | ((pl.col("channel") == "C4") & to_team))


def granted() -> pl.DataFrame:
    """Attributes that rules grant in a scenario, and whether to everybody or to the team and all that is no agent."""
    rules = [r for r in yaml.safe_load((LAB / "policy.yaml").read_text())["rules"] if "scenario" in r]
    keys = {frozenset(r) - {"id", "scenario", "effect", "attributes"} for r in rules}
    assert keys <= {frozenset(), frozenset({"roles"}), frozenset({"kinds"})}
    rows = {
        (r["scenario"], a, "everybody" if not {"roles", "kinds"} & set(r) else "team")
        for r in rules
        for a in r["attributes"]
    }
    return pl.DataFrame(sorted(rows), schema=["scenario", "attribute", "to"], orient="row")


def introduced() -> pl.Expr:
    return pl.col("recipient").is_in(sorted(INTRODUCED)).fill_null(False)


def test_topology_exposure(run: Callable[[str], Any], truth: pl.DataFrame) -> None:
    drawn = figures(run("02"))
    usual = truth.filter((pl.col("horizon") == 5) & (pl.col("pair") == "tau") & (pl.col("adversary") == "A0"))
    bad = pl.col("found") & ~pl.col("granted")
    by_run = usual.group_by("run", "framework", "topology").agg(surface=bad.any(), new=(bad & introduced()).any())
    counted = by_run.group_by("framework", "topology").agg(pl.col("surface", "new").sum(), n=pl.len())
    assert len(counted) == 12
    for framework, cell, surface, new, n in counted.iter_rows():
        name = {"langgraph": "LangGraph", "autogen": "AutoGen"}[framework]
        assert drawn[f"any disclosure, {name}, {cell}"] == (surface, n)
        assert drawn[f"to an introduced agent, {name}, {cell}"] == (new, n)
    assert counted.filter(pl.col("topology") == "CW-2")["new"].sum() == 0
    assert counted.filter(pl.col("topology") != "CW-2")["new"].min() > 0  # type: ignore[operator]


def test_relays(run: Callable[[str], Any], truth: pl.DataFrame) -> None:
    drawn = figures(run("03"))
    usual = truth.filter((pl.col("horizon") == 5) & (pl.col("pair") == "tau") & (pl.col("topology") != "CW-2"))
    for framework, name in (("langgraph", "LangGraph"), ("autogen", "AutoGen")):
        counted = by_distance(usual.filter(pl.col("framework") == framework))
        assert [drawn[f"{name}, {hops}"] for hops, (_, n) in counted.items() if n >= 100] == [
            told for told in counted.values() if told[1] >= 100
        ]
        out = "\n".join(texts(run("03")))
        assert all(f"not drawn: {name}, {hops}: {k} of {n}," in out for hops, (k, n) in counted.items() if n < 100)
    assert drawn["by shared state (C5), AutoGen"][0] == 0
    k, n = drawn["by shared state (C5), LangGraph"]
    assert k > n / 2
    for way in ("direct-access", "relay-required"):
        assert drawn[f"{way}, LangGraph"][1] == drawn[f"{way}, AutoGen"][1]


def by_distance(rows: pl.DataFrame) -> dict[int, tuple[int, int]]:
    """Introduced agents that learned a value without leave, by messages from whoever looked it up."""
    count: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    for _, part in rows.group_by("run"):
        looked = part.filter((pl.col("channel") == "C4") & (pl.col("sender") == "vault_lookup") & pl.col("found"))
        edges = part.filter(pl.col("channel") == "C2").select("sender", "recipient").unique()
        graph = nx.DiGraph(edges.rows())
        learned = set(part.filter(pl.col("found") & ~pl.col("granted")).select("recipient", "attribute").iter_rows())
        for origin, attribute in looked.select("recipient", "attribute").unique().iter_rows():
            for agent, hops in nx.single_source_shortest_path_length(graph, origin).items() if origin in graph else ():
                if agent in INTRODUCED:
                    count[hops][0] += (agent, attribute) in learned
                    count[hops][1] += 1
    return {hops: (k, n) for hops, (k, n) in count.items()}


# 04: the bundled corpora replayed once more; counted occurrence by occurrence with plain Polars.

CAUSES = ("detection_miss", "no_recipient", "policy_gap", "post_transform")
REPLAYED = ["none", "blanket", "static", "dynamic", "no-confidence", "fail-closed", "oracle"]


def occurrences(folder: Path, *files: str) -> pl.DataFrame:
    """Table `replays` of a bundled corpus, with cell and scenario, after a look at `verdicts`."""
    case = Case()
    Loader(case).load([folder / name for name in files])
    if (folder / "manifest.csv").exists():
        apply_manifest(case, read_manifest(folder / "manifest.csv"), folder / "manifest.csv")
    audit(case, read_request(folder / "policy.yaml", None, DEFAULT))
    keys = Keys(b"earwitness notebook 04".ljust(32, b"."))
    replay(case, Request([shipped()[name] for name in REPLAYED], keys))
    judged = case.frame("SELECT event, dynamic FROM verdicts WHERE standing = 'confirmed' AND dynamic <> 'unruled'")
    rows = case.frame("FROM replays")
    for truth in ("sanitize", "allow"):
        one = rows.filter((pl.col("condition") == "none") & (pl.col("setting") == "paper") & (pl.col("truth") == truth))
        assert len(one) == judged.filter(pl.col("dynamic") == truth).height
    traces = case.frame("SELECT trace, topology, scenario FROM traces")
    return rows.join(traces, on="trace")


@pytest.fixture(scope="module")
def replays() -> dict[str, pl.DataFrame]:
    lab = occurrences(LAB, "langgraph.tar.zst", "autogen.jsonl.zst")
    return {"made": occurrences(LAB.parent / "topologies", "traces.jsonl"), "lab": lab}


@pytest.mark.real
def test_replay_headlines(run: Callable[[str], Any], replays: dict[str, pl.DataFrame]) -> None:
    drawn = figures(run("04"))
    for corpus, rows in replays.items():
        for condition, setting, remain in product(REPLAYED, ("paper", "extended"), ("sanitize", "allow")):
            part = rows.filter(
                (pl.col("condition") == condition) & (pl.col("setting") == setting) & (pl.col("truth") == remain)
            )
            counted = (int(part["remains"].sum()), len(part))
            if setting == "paper":
                measure = {"sanitize": "residual", "allow": "correct_allow"}[remain]
                assert drawn[f"{measure}, {condition}, {corpus}"] == counted
            if remain == "allow" and condition in ("dynamic", "no-confidence", "fail-closed"):
                assert drawn[f"{corpus}, {condition}, {setting}"] == counted
            if (corpus, setting, remain) == ("lab", "paper", "allow") and f"{condition}, passed on" in drawn:
                assert drawn[f"{condition}, passed on"] == (int(part["downstream"].sum()), len(part))


@pytest.mark.real
def test_replay_causes_and_cells(run: Callable[[str], Any], replays: dict[str, pl.DataFrame]) -> None:
    drawn, out = figures(run("04")), "\n".join(texts(run("04")))
    bad = {name: rows.filter((pl.col("setting") == "paper") & (pl.col("truth") == "sanitize")) for name, rows in
           replays.items()}  # fmt: skip
    for corpus, condition in product(bad, ("blanket", "static", "dynamic", "oracle")):
        part = bad[corpus].filter((pl.col("condition") == condition) & pl.col("remains"))
        told = ", ".join(f"{c.replace('_', ' ')} {(part['cause'] == c).sum()}" for c in CAUSES)
        assert f"{corpus}, {condition}: {told}" in out
    new = bad["lab"].filter(introduced() & pl.col("condition").is_in(["none", "blanket", "static", "dynamic"]))
    counted = new.group_by("topology", "condition").agg(pl.col("remains").sum(), n=pl.len())
    assert len(counted) == 20
    for cell, condition, k, n in counted.iter_rows():
        assert drawn[f"{cell}, {condition}"] == (k, n)
    # What the text says: one scenario, and only agents that were introduced.
    static = bad["lab"].filter((pl.col("condition") == "static") & pl.col("remains"))
    assert set(static["scenario"]) == {"S0042"}
    assert set(static["recipient"]) <= INTRODUCED
    assert len(static) == 44


@pytest.mark.real
def test_replay_against_the_published_shape(run: Callable[[str], Any]) -> None:
    out = "\n".join(texts(run("04")))
    assert re.search(r"made +┆ 12\.12 +┆ false +┆ 5\.20 +┆ true +┆ 11 ", out)
    assert re.search(r"lab +┆ 0\.00 +┆ true +┆ null +┆ true +┆ 0 ", out)
    points, times, never = re.search(  # type: ignore[union-attr]
        r"AgentLeak +┆ ([\d.]+) +┆ true +┆ ([\d.]+) +┆ true +┆ \d+ +┆ ([\d.]+) +┆ 0\.00 ", out
    ).groups()
    assert float(points) < 2
    assert float(times) > 4
    assert float(never) > 90


def test_detector(run: Callable[[str], Any], truth: pl.DataFrame) -> None:
    drawn = figures(run("05"))
    kinds = pl.read_csv(LAB / "vault.csv").select("scenario", "attribute", "value_type").unique()
    told = truth.filter("told").unique(["run", "seq", "attribute", "form"]).join(kinds, on=["scenario", "attribute"])
    for kind, k, n in told.group_by("value_type").agg(pl.col("found").sum(), pl.len()).iter_rows():
        assert drawn[kind.replace("_", "-")] == (k, n)
    for form, kind, k, n in told.group_by("form", "value_type").agg(pl.col("found").sum(), pl.len()).iter_rows():
        assert drawn[f"{form}, {kind.replace('_', '-')}"] == (k, n)
    # docs/recognizers.md: every identifier in messages, nearly nine in ten of the others.
    for channel in ("C1", "C2", "C5"):
        k, n = drawn[f"format-dependent, {channel}"]
        assert k == n > 0


def test_calibration(run: Callable[[str], Any]) -> None:
    out = "\n".join(texts(run("05")))
    # As published.
    assert "chosen 0.5 of 0.35 to 0.6: precision 0.9091, recall 0.9375, F1 0.9231" in out
    assert "0.71 to 0.80: recall 81.2 %, precision 89.7 %, F1 85.2 %, false positives 1.1 %" in out
    alarms = re.search(r"at 0\.\d+: (\d+) of 100 near misses count as disclosures", out)
    assert alarms
    assert int(alarms[1]) > 85
    assert "best below the bound: none that finds anything" in out


# 06: the public runs, against the outcomes inside the files.


@pytest.fixture(scope="module")
def outcomes(shared: Shared) -> dict[str, Counter[str]]:
    """By model: runs, runs in which a channel leaked, runs whose calls all failed."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for told in documents(shared("data/agentleak_traces/traces_3214.tar.xz")[0]):
        count = counts[told["model"].rpartition("/")[2]]
        count["n"] += 1
        count.update(c for c in ("C1", "C2", "C5") if told["results"][f"{c.lower()}_leaked"])
        inside = told["results"]["c2_leaked"] or told["results"]["c5_leaked"]
        count["gap"] += inside and not told["results"]["c1_leaked"]
        count["failed"] += all(call.get("error") for call in told["llm_calls"])
    return counts


def documents(archive: Path) -> Iterator[Any]:
    with tarfile.open(archive) as files:
        for member in files:
            handle = files.extractfile(member) if member.isfile() else None
            if handle:
                yield json.load(handle)


@pytest.mark.real
def test_agentleak(run: Callable[[str], Any], outcomes: dict[str, Counter[str]]) -> None:
    drawn = figures(run("06"))
    assert len(outcomes) == 5
    for model, count in outcomes.items():
        for channel in ("C1", "C2", "C5"):
            assert drawn[f"{model}, {channel}"] == (count[channel], count["n"])
        assert drawn[model] == (count["gap"], count["n"])
        assert drawn[f"{model}, all runs"] == (count["C2"], count["n"])
        assert drawn[f"{model}, recorded runs"] == (count["C2"], count["n"] - count["failed"])
    assert drawn["claude-3.5-sonnet, all runs"] == (181, 643)
    assert drawn["claude-3.5-sonnet, recorded runs"] == (181, 181)


@pytest.mark.real
def test_agentleak_as_published(run: Callable[[str], Any]) -> None:
    out = "\n".join(texts(run("06")))
    assert "17,401 agree, 0 only in the files, 0 only found here" in out
    assert len(re.findall(r"┆ true +│", out)) == 15
    assert "┆ false" not in out
