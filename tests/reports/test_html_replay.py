"""The page, the object and the terminal tell a replay and the tests of significance, masked, and say when it is old."""

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from rich.console import Console
from test_html import EVIL, SSN, Reader, lines, load

from earwitness.audit.pipeline import Request, audit, read_request
from earwitness.audit.replay.condition import Condition, shipped
from earwitness.audit.replay.replay import Request as Replayed
from earwitness.audit.replay.replay import replay
from earwitness.audit.rulesets import DEFAULT
from earwitness.audit.transform.keys import Keys
from earwitness.ingest.loader import Loader
from earwitness.reports.html import page
from earwitness.reports.page.markup import own
from earwitness.reports.page.scatter import Point, scatter, spans
from earwitness.reports.page.significance import chance
from earwitness.reports.summary import summary
from earwitness.reports.terminal import print_audit
from earwitness.schema.case import Case
from earwitness.schema.jsonschemas import read_schema
from earwitness.schema.policy import load_policy

SAMPLES = Path(__file__).parents[2] / "sample_traces" / "topologies"
NAMES = ("none", "blanket", "dynamic", "oracle")
TITLE = "What a sanitizer would have changed"


def replayed(case: Case, *more: Condition) -> Case:
    conditions = [shipped()[name] for name in NAMES]
    replay(case, Replayed([*conditions, *more], Keys(bytes(32))))
    return case


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled topologies, audited and replayed once."""
    path = tmp_path_factory.mktemp("replay") / "case.duckdb"
    with Case(path) as case:
        Loader(case).load([SAMPLES / "traces.jsonl"])
        audit(case, read_request(SAMPLES / "policy.yaml", None, DEFAULT))
        replayed(case, Condition(name=f"mine {SSN} {EVIL}", decision="static"))
    return path


@pytest.fixture
def case(base: Path, tmp_path: Path) -> Iterator[Case]:
    """A copy that a test may change."""
    copy = tmp_path / "case.duckdb"
    copy.write_bytes(base.read_bytes())
    with Case(copy) as opened:
        yield opened


def valid(report: dict[str, Any]) -> dict[str, Any]:
    Draft202012Validator(json.loads(read_schema("audit"))).validate(json.loads(json.dumps(report)))
    return report


def printed(case: Case) -> str:
    console = Console(file=io.StringIO(), width=100)
    print_audit(console, summary(case))
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def test_the_object_holds_what_the_tables_hold(case: Case) -> None:
    told = valid(summary(case))["replay"]
    assert told["default"] == "dynamic"
    assert told["stale"] == []
    rows = case.rows("""SELECT condition, setting, mode, k, n FROM replay_figures
                        WHERE measure = 'residual' AND condition <> ?""", [f"mine {SSN} {EVIL}"])  # fmt: skip
    found = {(f["condition"], f["setting"], f["mode"], f["k"], f["n"]) for f in told["figures"]
             if f["measure"] == "residual" and f["condition"] in NAMES}  # fmt: skip
    assert found == set(rows)
    assert len(rows) == len(NAMES) * 4


def test_causes_sum_to_the_residual(case: Case) -> None:
    told = summary(case)["replay"]
    for setting in ("paper", "extended"):
        (left,) = (f["k"] for f in told["figures"] if f["measure"] == "residual" and f["condition"] == "dynamic"
                   and (f["setting"], f["mode"]) == (setting, "independent"))  # fmt: skip
        assert left > 0
        for split in ("channel", "value_type"):
            assert sum(c["k"] for c in told["causes"] if (c["setting"], c["split"]) == (setting, split)) == left


def test_the_page_shows_figures_drawings_and_causes(case: Case) -> None:
    report = summary(case)
    seen = Reader(page(case, report))
    assert not seen.open
    assert TITLE in seen.words
    assert sum(tag == "svg" and g.get("class") == "scatter" for tag, g in seen.elements) == 4
    (one,) = (f for f in report["replay"]["figures"] if f["measure"] == "residual" and f["condition"] == "dynamic"
              and (f["setting"], f["mode"]) == ("paper", "independent"))  # fmt: skip
    assert (
        f"{100 * one['rate']:.1f} %{100 * one['low']:.1f}–{100 * one['high']:.1f}{one['k']} / {one['n']}" in seen.words
    )
    assert "detection miss" in seen.words
    assert "Tests of significance" in seen.words
    assert str(case.one("SELECT policy_sha256 FROM runs WHERE stage = 'decide'")) in seen.words
    assert "older than what else this page tells" not in seen.words


def test_names_of_conditions_are_masked_and_escaped(tmp_path: Path) -> None:
    with load(tmp_path, lines()) as case:
        replayed(case, Condition(name=f"mine {SSN} {EVIL}", decision="static"))
        report = valid(summary(case))
        source, shown = page(case, report), printed(case).partition("Replayed sanitizers")[2]
    for text in (source, shown, json.dumps(report["replay"]), json.dumps(report["significance"])):
        assert SSN not in text
    assert "mine [ssn" in source
    assert "<img" not in source
    assert TITLE in source


def test_a_later_audit_makes_it_stale(case: Case) -> None:
    audit(case, read_request(SAMPLES / "policy.yaml", None, DEFAULT))
    (reason,) = valid(summary(case))["replay"]["stale"]
    assert reason.startswith("the case was audited again after it")
    assert "older than what else this page tells" in Reader(page(case, summary(case))).words
    assert "STALE: the case was audited again" in printed(case)
    assert summary(case)["replay"]["occurrences"]["unruled"] is None


def test_another_policy_is_named_and_a_new_replay_is_current(case: Case) -> None:
    then = case.one("SELECT policy_sha256 FROM runs WHERE stage = 'decide'")
    policy, _ = load_policy(SAMPLES / "policy.yaml")
    audit(case, Request(rules=DEFAULT, policy=policy, policy_sha256="f" * 64))
    _, reason = summary(case)["replay"]["stale"]
    assert reason == f"it went by policy file {then[:12]}, the last audit by policy file {'f' * 12}"
    assert summary(case)["replay"]["policy_sha256"] == then
    replayed(case)
    told = summary(case)["replay"]
    assert (told["stale"], told["policy_sha256"]) == ([], "f" * 64)


def test_an_import_makes_it_stale(case: Case, tmp_path: Path) -> None:
    more = tmp_path / "more.jsonl"
    more.write_text('{"type": "trace", "id": "new"}\n', "utf-8")
    Loader(case).load([more])
    (reason,) = summary(case)["replay"]["stale"]
    assert reason.startswith("traces were imported after it")


def test_what_was_left_out_is_told(case: Case) -> None:
    """Presidio is left out where its extra is missing; the case then holds nothing of it."""
    for table in ("replays", "replay_figures"):
        case.execute(f"DELETE FROM {table} WHERE condition = 'dynamic'")
    told = summary(case)["replay"]
    (missing,) = (c for c in told["conditions"] if not c["replayed"])
    assert missing == {"condition": "dynamic", "replayed": False, "reason": "no reason is on record"}
    assert told["default"] == "none"
    assert "Left out: dynamic: no reason is on record." in Reader(page(case, summary(case))).words


def test_a_replay_of_what_no_policy_rules() -> None:
    with Case() as case:
        Loader(case).load([SAMPLES / "traces.jsonl"])
        audit(case, Request(rules=DEFAULT))
        replayed(case)
        told = valid(summary(case))["replay"]
        assert (told["default"], told["figures"]) == (None, [])
        assert "Nothing could be counted" in Reader(page(case, summary(case))).words
        assert "nothing was counted" in printed(case)


def test_without_replay_and_tests_nothing_is_said() -> None:
    with Case() as case:
        Loader(case).load([])
        audit(case, Request(rules=DEFAULT))
        report = valid(summary(case))
        assert (report["replay"], report["significance"]) == (None, [])
        words = Reader(page(case, report)).words
        assert TITLE not in words
        assert "Tests of significance" not in words
        assert "Replayed" not in printed(case)


def test_significance_is_told_whole(case: Case) -> None:
    told = summary(case)["significance"]
    rows = case.rows("SELECT name, factor, p, blocks, excluded FROM significance")
    assert sorted((t["name"], t["factor"], str(t["p"]), t["blocks"], t["excluded"]) for t in told) == sorted(
        (name, factor, str(p), blocks, excluded) for name, factor, p, blocks, excluded in rows
    )
    assert rows


@pytest.mark.parametrize(
    ("numbers", "told"), [([], ""), ([3], "3"), ([1, 2], "1, 2"), ([1, 2, 3], "1–3"), ([1, 4, 5, 6, 9], "1, 4–6, 9")]
)
def test_spans(numbers: list[int], told: str) -> None:
    assert spans(numbers) == told


@pytest.mark.parametrize(
    ("p", "told"), [(None, "–"), (0.5, "0.500"), (0.0004, "4.0e-04"), (0.0, "&lt; 1e-300"), (1.0, "1.000")]
)
def test_chance(p: float | None, told: str) -> None:
    assert chance(p) == told


def test_labels_of_a_drawing_do_not_overlap() -> None:
    def figure(rate: float) -> dict[str, float]:
        return {"rate": rate, "low": max(0.0, rate - 0.05), "high": min(1.0, rate + 0.05)}

    spots = [(0.0, 1.0), (0.02, 0.97), (0.0, 0.97), (1.0, 1.0), (0.97, 0.0), (0.5, 0.5), (0.53, 0.5), (0.5, 0.5)]
    points = [Point(n, own("c"), figure(x), figure(y)) for n, (x, y) in enumerate(spots, start=1)]
    drawn = scatter(points, own("t"), "x", "y")
    labels = re.findall(r'<text x="([\d.]+)" y="([\d.]+)" text-anchor="middle" class="mark">([^<]+)', drawn)
    assert sorted(text for *_, text in labels) == ["1", "2, 3", "4", "5", "6, 8", "7"]
    boxes = [(float(x), float(y), 3.2 * len(text)) for x, y, text in labels]
    for i, (x, y, half) in enumerate(boxes):
        assert all(abs(x - u) >= half + other - 0.1 or abs(y - v) >= 11.9 for u, v, other in boxes[i + 1 :])
