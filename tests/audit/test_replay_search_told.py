"""What a search says: sentences, files, masks, exit codes."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from earwitness.audit.pipeline import audit, read_request
from earwitness.audit.replay.condition import find, parse
from earwitness.audit.replay.replay import Request, replay
from earwitness.audit.rulesets import DEFAULT, LITERAL
from earwitness.audit.transform.keys import Keys
from earwitness.cli import cli
from earwitness.ingest.loader import Loader
from earwitness.reports.search import sentence
from earwitness.schema.case import Case
from earwitness.schema.errors import InputError

ROOT = Path(__file__).parents[2]
TOPOLOGIES = ROOT / "src" / "earwitness" / "sample_traces" / "topologies"
SECRETS = ("219-09-9999", "ulcerative colitis", "2417.50", "Ilse Brandvold")
Row = dict[str, Any]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("told") / "case.duckdb"
    with Case(path) as case:
        Loader(case).load([TOPOLOGIES / "traces.jsonl"])
        audit(case, read_request(TOPOLOGIES / "policy.yaml", None, DEFAULT))
        replay(case, Request([find("dynamic"), find("static")], Keys(bytes(range(32)))))
    return path


def run(path: Path, *words: str, code: int = 1) -> str:
    done = CliRunner().invoke(cli, ["replay", "search", str(path), *words])
    assert done.exit_code == code, done.output
    return done.output


def told(path: Path, *words: str) -> Row:
    report: Row = json.loads(run(path, *words, "--json", "--limit", "500"))
    return report


CHANGE: Row = {
    "family": "resolution", "change": "resolve recipients by every grade", "by": "channel, grade",
    "cell": "C4, consumed", "removed": 12, "added": 0, "net_removed": 12, "net_lost": 0, "assumed": 0, "bound": False,
    "residual": {"k": 32, "n": 90}, "correct_allow": {"k": 1200, "n": 1300}, "under_changed": None,
}  # fmt: skip
SENTENCES: list[tuple[Row, str]] = [
    (
        {},
        "Resolving recipients of tool results (C4) by consumption evidence would remove 12 of 44 residual occurrences "
        "(27 %) and lose none of 1,200 authorised ones.",
    ),
    (
        {"net_lost": 3, "assumed": 5},
        "Resolving recipients of tool results (C4) by consumption evidence would remove 12 of 44 residual occurrences "
        "(27 %) and lose 3 of 1,203 authorised ones. Assumed, not measured: that 5 of them are gone.",
    ),
    (
        {"change": "detect without what one alone finds", "by": "recognizer", "cell": "label", "removed": 1, "added": 4,
         "net_removed": -3, "net_lost": -1},
        "Detecting without what the recognizer label alone finds would add 3 to 29 residual occurrences and regain 1 "
        "authorised ones.",
    ),
    (
        {"change": "add a rule that denies", "by": "attribute, recipient", "cell": "a, b, mailer", "family": "rule",
         "under_changed": {"residual": {"k": 33, "n": 95}}},
        "Adding a rule that denies a, b to mailer would remove 12 of 44 residual occurrences (27 %) and lose none of "
        "1,200 authorised ones. Under the policy so changed 33 of 95 would remain.",
    ),
    (
        {"change": "detect every known value", "by": None, "cell": None, "bound": True, "added": 2, "removed": 14},
        "Detecting every known value would remove 12 of 44 residual occurrences (27 %), 2 others added, and lose none "
        "of 1,200 authorised ones. Nobody can do that: it is a bound.",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("given", "expected"), SENTENCES)
def test_a_change_is_told_in_a_sentence(given: Row, expected: str) -> None:
    assert sentence(CHANGE | given) == expected


@pytest.mark.parametrize("condition", ["dynamic", "static"])
def test_the_object_and_its_sentences_agree(path: Path, condition: str) -> None:
    report = told(path, "--condition", condition, "--steps", "2")
    assert report["changes"]
    assert report["more"] == 0
    for row in [*report["changes"], *report["steps"]]:
        if row["net_removed"] > 0:
            assert f"remove {row['net_removed']:,} of " in row["sentence"]
        if row["net_lost"] > 0:
            assert f"lose {row['net_lost']:,} of " in row["sentence"]
    assert [s["step"] for s in report["steps"]] == list(range(1, len(report["steps"]) + 1))


def test_the_terminal_tells_the_same(path: Path) -> None:
    text = " ".join(run(path, "--steps", "2", "--limit", "3").split())
    report = told(path, "--steps", "2")
    for row in [*report["changes"][:3], *report["steps"]]:
        assert row["sentence"] in text
    assert "more: raise --limit" in text
    assert all(left["what"] in text and (left["run"] or "") in text for left in report["left_out"])


def test_no_value_is_shown(path: Path, tmp_path: Path) -> None:
    for words in ([], ["--json"], ["--condition", "static", "--write", str(tmp_path / "a.yaml")]):
        text = run(path, *words, "--steps", "5", "--limit", "500")
        assert not [s for s in SECRETS if s in text]
    assert not [s for s in SECRETS if s in (tmp_path / "a.yaml").read_text()]


def test_a_name_that_holds_a_value_is_masked(tmp_path: Path) -> None:
    """An attribute named after a value, in cells, snippets, sentences and files."""
    name = f"of {SECRETS[1]}"
    text = (TOPOLOGIES / "policy.yaml").read_text().replace("attribute: diagnosis", f"attribute: {name}")
    (tmp_path / "policy.yaml").write_text(
        text.replace("[diagnosis]", f"['{name}']").replace(", diagnosis", f", {name}")
    )
    with Case(tmp_path / "case.duckdb") as case:
        Loader(case).load([TOPOLOGIES / "traces.jsonl"])
        audit(case, read_request(tmp_path / "policy.yaml", None, DEFAULT))
        replay(case, Request([find("static")], Keys(bytes(range(32)))))
    words = ("--condition", "static", "--family", "rule", "--steps", "3", "--limit", "500")
    out = run(tmp_path / "case.duckdb", *words, "--json", "--write", str(tmp_path / "a.yaml"))
    out += run(tmp_path / "case.duckdb", *words) + (tmp_path / "a.yaml").read_text()
    assert "a rule that denies" in out
    assert SECRETS[1] not in " ".join(out.split())


def test_the_file_says_what_a_condition_cannot(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "next.yaml"
    words = (
        "--condition",
        "static",
        "--family",
        "rule",
        "--family",
        "detector",
        "--steps",
        "3",
        "--write",
        str(target),
    )
    run(path, *words)
    text = target.read_text()
    report = told(path, *words[:-2])
    assert text == report["final"]
    rules = [s["policy"] for s in report["steps"] if s["policy"]]
    assert rules
    assert all(f"#   {rule}" in text for rule in rules)
    assert text.count("# No condition can say") == sum(s["condition"] is None for s in report["steps"])
    assert parse(text.encode(), "next.yaml").decision == "static"


def test_a_file_that_is_there_is_not_written_over(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "next.yaml"
    target.write_text("name: mine\n")
    done = CliRunner().invoke(cli, ["replay", "search", str(path), "--steps", "1", "--write", str(target)])
    assert isinstance(done.exception, InputError)
    assert "exists already" in str(done.exception)
    assert target.read_text() == "name: mine\n"
    assert "--write needs --steps" in run(path, "--write", str(target), code=2)


def test_the_written_file_is_replayed_as_told(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "next.yaml"
    run(path, "--family", "fallback", "--family", "transform", "--steps", "2", "--write", str(target))
    steps = told(path, "--family", "fallback", "--family", "transform", "--steps", "2")["steps"]
    copy = tmp_path / "case.duckdb"
    copy.write_bytes(path.read_bytes())
    done = CliRunner().invoke(cli, ["replay", "run", str(copy), "--condition", str(target), "--json"])
    assert done.exit_code in (0, 1), done.output
    figures = [f for f in json.loads(done.stdout)["figures"] if f["mode"] == "independent"]
    found = {f["measure"]: f["k"] for f in figures if f["measure"] in ("residual", "correct_allow")}
    assert found == {m: steps[-1][m]["k"] for m in found}
    assert len(found) == 2


def test_a_rule_set_without_denials_has_no_rules_to_add(tmp_path: Path) -> None:
    with Case(tmp_path / "case.duckdb") as case:
        Loader(case).load([TOPOLOGIES / "traces.jsonl"])
        audit(case, read_request(TOPOLOGIES / "policy.yaml", None, LITERAL))
        replay(case, Request([find("static")], Keys(bytes(range(32)))))
    done = CliRunner().invoke(
        cli, ["replay", "search", str(tmp_path / "case.duckdb"), "--condition", "static", "--json"]
    )
    report = json.loads(done.output)
    assert not [r for r in report["changes"] if r["family"] == "rule"]
    assert "counts no rule that denies" in str(report["left_out"])


def test_what_helps_nothing_exits_with_zero(path: Path) -> None:
    assert "no single change" in run(path, "--condition", "static", "--family", "resolution", code=0)
