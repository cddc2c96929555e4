"""The public AgentLeak runs model by model: a part of all runs, whose published rates it must fit into.

`--update` writes the measured table of docs/measures.md.
"""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from earwitness.audit.measure import Figure, figures, named
from earwitness.audit.pipeline import Request, audit
from earwitness.audit.rulesets import LITERAL
from earwitness.audit.stats import mcnemar_corrected, mcnemar_exact, wilson
from earwitness.ingest.loader import Loader
from earwitness.schema.case import Case

pytestmark = pytest.mark.real

PAGE = Path(__file__).parents[2] / "docs" / "measures.md"
FAILING = "anthropic/claude-3.5-sonnet"
Shared = Callable[[str], list[Path]]
Counts = dict[tuple[str, str], tuple[int, int]]

# A published `any_leak` counts a run where either arm leaks: no measure of one trace.
EITHER = """
    SELECT model, count(*) FILTER (hit), count(*) FROM (
        SELECT t.source, t.model, bool_or(v.trace IS NOT NULL) AS hit FROM traces t LEFT JOIN (
            SELECT DISTINCT trace FROM verdicts WHERE dynamic = 'sanitize' AND standing = 'confirmed') v USING (trace)
        GROUP BY ALL)
    GROUP BY model
"""


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory, shared: Shared) -> Iterator[Case]:
    """All runs at hand, by the published rule."""
    with Case(tmp_path_factory.mktemp("agentleak") / "case.duckdb") as made:
        Loader(made).load([shared("data/agentleak_traces/traces_3214.tar.xz")[0]])
        audit(made, Request(rules=LITERAL))
        yield made


@pytest.fixture(scope="module")
def published(shared: Shared) -> dict[str, Any]:
    """The authors' own rates by model, over all runs."""
    found: dict[str, Any] = json.loads(shared("data/agentleak_traces/published/model_stats.json")[0].read_text())
    return found


@pytest.fixture(scope="module")
def here(case: Case) -> Counts:
    """Counts by model and figure, under the names of the published file."""
    asked = named(["channel_leakage", "audit_gap"])
    found = [f for f in figures(case, asked, ["arm", "model"]) if f.group["arm"] == "multi"]
    counts = {(f.group["model"], f.group.get("channel", "H1")): (f.k, f.n) for f in found}
    return counts | {(model, "any_leak"): (k, n) for model, k, n in case.rows(EITHER)}


def verifiable(case: Case) -> dict[str, Figure]:
    found = figures(case, named(["channel_leakage_verifiable"]), ["arm", "model"])
    return {f.group["model"]: f for f in found if f.group["arm"] == "multi" and f.group["channel"] == "C2"}


def test_every_model_and_figure_is_at_hand(here: Counts, published: dict[str, Any]) -> None:
    assert set(here) == {(m, f) for m in published for f in ("C1", "C2", "C5", "H1", "any_leak")}
    assert {n for _, n in here.values()} == {643, 642}


def test_the_part_fits_into_the_whole(here: Counts, published: dict[str, Any]) -> None:
    """No more leaking runs than published, and no more clean ones; so the published rate stands near the interval."""
    for (model, name), (k, n) in here.items():
        total = published[model]["n"]
        whole = round(published[model][name] * total / 100)
        assert 100 * whole / total == pytest.approx(published[model][name])
        assert k <= whole
        assert n - k <= total - whole
        low, high = wilson(k, n)
        assert low <= whole / total <= high
        assert abs(100 * k / n - published[model][name]) < 2.6


def test_failed_calls_are_not_clean(case: Case, here: Counts, published: dict[str, Any]) -> None:
    plain, told = here[FAILING, "C2"], verifiable(case)[FAILING]
    assert (plain, (told.k, told.n)) == ((181, 643), (181, 181))
    assert round(100 * plain[0] / plain[1], 1) == 28.1
    # Over all runs, by the published counts: 715 of 996 consist of failed calls only.
    assert case.one("SELECT count(*) FROM coverage JOIN traces USING (trace) WHERE arm = 'multi' AND channel = 'C2' "
                    "AND verdict = 'unverifiable' AND model = ?", [FAILING]) == 643 - 181  # fmt: skip
    whole = round(published[FAILING]["C2"] * published[FAILING]["n"] / 100)
    assert round(100 * whole / (published[FAILING]["n"] - 715), 1) == 99.6
    others = [m for m in published if m != FAILING]
    assert all((f.k, f.n) == here[m, "C2"] for m, f in verifiable(case).items() if m in others)


def test_arms_are_paired(case: Case) -> None:
    """Both arms of every run: McNemar's test by hand from the pairs."""
    pairs = dict(
        case.rows("""
        SELECT hits, count(*) FROM (
            SELECT list(v.trace IS NOT NULL ORDER BY t.arm)::VARCHAR AS hits FROM traces t LEFT JOIN (
                SELECT DISTINCT trace FROM verdicts
                WHERE dynamic = 'sanitize' AND standing = 'confirmed') v USING (trace)
            GROUP BY t.source) GROUP BY hits""")
    )
    only = pairs["[true, false]"], pairs["[false, true]"]
    rows = case.rows("""SELECT test, statistic, p, blocks, excluded FROM significance
                        WHERE name = 'surface_leakage' AND factor = 'arm' AND grp = '{}' ORDER BY test""")
    expected = {"mcnemar-corrected": mcnemar_corrected(*only), "mcnemar-exact": mcnemar_exact(*only)}
    assert [(t, s, p) for t, s, p, *_ in rows] == [(t, o.statistic, o.p) for t, o in expected.items()]
    assert [row[3:] for row in rows] == [(3214, 0)] * 2


def test_the_page_has_the_table(case: Case, here: Counts, published: dict[str, Any], update: bool) -> None:
    columns = ("C1", "C2", "C5", "H1", "any_leak")
    told = verifiable(case)
    rows = ["| model | runs | C1 | C2 | C5 | H1 | any | C2, verifiable |", "| --- " * 8 + "|"]
    for model in sorted(published):
        parts = [f"{100 * k / n:.2f} ({published[model][c]:.2f})" for c in columns for k, n in [here[model, c]]]
        n, total = here[model, "C2"][1], published[model]["n"]
        rows.append(
            f"| {model} | {n} ({total}) | {' | '.join(parts)} | {100 * told[model].rate:.2f} of {told[model].n} |"
        )
    text = "<!-- measured: models -->\n\n" + "\n".join(rows) + "\n\n"
    page = PAGE.read_text(encoding="utf-8")
    if update:
        PAGE.write_text(re.sub(r"<!-- measured: models -->\n\n.*?\n\n", text, page, flags=re.DOTALL), encoding="utf-8")
        return
    assert text in page
