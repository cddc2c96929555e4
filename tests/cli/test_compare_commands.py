"""`compare` and `baseline`: golden pairs, what CI sees, what a baseline file gives away, hostile names."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from earwitness.cli import cli
from earwitness.reports.compare_markdown import code
from earwitness.schema.jsonschemas import read_schema

GOLDEN = Path(__file__).parents[1] / "golden" / "compare"
KEY = "0123456789abcdef0123456789abcdef"
WORDS = {"regression": (), "policies": (), "frameworks": ("--by", "framework")}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EARWITNESS_KEY", KEY)


def run(*words: object, code: int = 0) -> str:
    result = CliRunner().invoke(cli, [str(w) for w in words])
    assert result.exit_code == code, (result.output, result.exception)
    return result.stdout


def failing(*words: object) -> str:
    result = CliRunner().invoke(cli, [str(w) for w in words])
    assert result.exit_code != 0
    return result.output + str(result.exception)


def cases(name: str, out: Path) -> list[Path]:
    """The audited cases of a golden pair: what the right side has not of its own is that of the left."""
    made = []
    for side in ("left", "right"):
        traces, policy = (GOLDEN / name / f"{side}.jsonl", GOLDEN / name / f"{side}.yaml")
        if not traces.exists() and not policy.exists():
            continue
        traces = traces if traces.exists() else traces.with_name("left.jsonl")
        policy = policy if policy.exists() else policy.with_name("left.yaml")
        run("audit", traces.name, "--policy", policy.name, "--case", out / f"{side}.duckdb", code=1)
        made.append(out / f"{side}.duckdb")
    return made


def steady(node: Any) -> Any:
    """Without what differs from place to place: paths of cases, the version, the last digits of numbers."""
    if isinstance(node, dict):
        return {k: steady(v) for k, v in node.items() if k not in ("case", "version")}
    if isinstance(node, list):
        return [steady(v) for v in node]
    return round(node, 9) if isinstance(node, float) else node


@pytest.fixture
def regression(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    monkeypatch.chdir(GOLDEN / "regression")
    return cases("regression", tmp_path)


@pytest.mark.parametrize("name", sorted(WORDS))
def test_golden(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, update: bool) -> None:
    monkeypatch.chdir(GOLDEN / name)
    words = ("compare", *cases(name, tmp_path), *WORDS[name], "--fail-on", "never", "--json")
    report = json.loads(run(*words))
    Draft202012Validator(json.loads(read_schema("compare"))).validate(report)
    file = GOLDEN / name / "compare.json"
    if update:
        file.write_text(json.dumps(steady(report), indent=1) + "\n", encoding="utf-8")
    assert steady(report) == json.loads(file.read_text(encoding="utf-8"))
    assert max(map(len, run(*words[:-1]).splitlines())) <= 100


def test_what_the_golden_regression_says_was_worked_out_by_hand(regression: list[Path]) -> None:
    report = json.loads(run("compare", *regression, "--json", code=1))
    (one,) = report["comparisons"]
    # s1 is the same, s2 has gone, s3 comes by the reviewer now, s4 is told to the user; one run a side has no partner.
    assert one["exposures"]["counts"] == {"new": 1, "moved": 1, "gone": 1, "same": 1, "suppressed": 0}
    rows = {(r["status"], r["scenario"], r["recipient"]): r for r in one["exposures"]["rows"]}
    assert set(rows) == {("new", "s4", "user"), ("moved", "s3", "mailer"), ("gone", "s2", "mailer")}
    moved = rows["moved", "s3", "mailer"]
    assert ([w["sender"] for w in moved["left"]], [w["sender"] for w in moved["right"]]) == (["planner"], ["reviewer"])
    assert rows["new", "s4", "user"]["at"]["line"] == 5
    assert (one["pairs"], one["alone"]["left"]["scenarios"], one["alone"]["right"]["scenarios"]) == (
        4,
        ["lone"],
        ["fresh"],
    )
    (leak,) = (m for m in one["measures"] if m["measure"] == "any_leakage")
    # Left: s1, s2, s3 of four; right: s1, s3, s4.
    assert (leak["left"]["k"], leak["right"]["k"], leak["pairs"], leak["difference"]) == (3, 3, 4, 0)
    assert (leak["left_only"], leak["right_only"], leak["p"], leak["method"]) == (1, 1, 1.0, "tango")
    assert [round(100 * leak[end], 2) for end in ("low", "high")] == [-60.41, 60.41]  # docs/comparing.md


def test_verdicts_that_change_by_rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(GOLDEN / "policies")
    (one,) = json.loads(run("compare", *cases("policies", tmp_path), "--json", code=1))["comparisons"]
    told = {
        (r["left_verdict"], r["left_rule"], r["right_verdict"], r["right_rule"]): r["n"]
        for r in one["verdicts"]["rules"]
    }
    # The reviewer lost its role in both runs; the user gained what it was told in one.
    assert told == {
        ("allow", "staff-may-know", "sanitize", "default"): 2,
        ("sanitize", "default", "allow", "user-asked"): 1,
    }
    assert {r["was"] for r in one["exposures"]["rows"]} == {"authorised"}
    assert one["exposures"]["counts"] == {"new": 2, "moved": 0, "gone": 1, "same": 1, "suppressed": 0}


def test_cochrans_q_of_the_frameworks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(GOLDEN / "frameworks")
    report = json.loads(run("compare", *cases("frameworks", tmp_path), "--by", "framework", "--json"))
    (test,) = (t for t in report["tests"] if t["measure"] == "any_leakage")
    # Columns 3, 1, 2; rows 3, 1, 2, 0: Q = 2 (3 * 14 - 36) / (3 * 6 - 14) = 3.
    assert (test["q"], test["df"], test["n"]) == (pytest.approx(3), 2, 4)
    assert [s["name"] for s in report["sides"]] == ["autogen", "crewai", "langgraph"]
    other = json.loads(run("compare", tmp_path / "left.duckdb", "--by", "framework", "--reference", "crewai", "--json"))
    assert [c["left"] for c in other["comparisons"]] == ["crewai", "crewai"]
    assert "no group 'x'" in failing("compare", tmp_path / "left.duckdb", "--by", "framework", "--reference", "x")
    assert "nothing to compare by model" in failing("compare", tmp_path / "left.duckdb", "--by", "model")


def test_when_it_fails(regression: list[Path], tmp_path: Path) -> None:
    left, right = regression
    run("compare", left, right, "--fail-on", "never")
    run("compare", left, left)
    run("compare", left, left, "--fail-on", "any")
    run("compare", left, right, code=1)
    run("compare", left, right, "--fail-on", "worse", code=1)
    run("compare", right, right, "--fail-on", "worse")


def test_a_renamed_scenario_does_not_hide_a_leak(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (GOLDEN / "regression" / "left.jsonl").read_text(encoding="utf-8")
    (tmp_path / "renamed.jsonl").write_text(text.replace('"s1"', '"s9"'), encoding="utf-8")
    for name, traces in (("l", GOLDEN / "regression" / "left.jsonl"), ("r", Path("renamed.jsonl"))):
        run("audit", traces, "--policy", GOLDEN / "regression" / "left.yaml", "--case", f"{name}.duckdb", code=1)
    (one,) = json.loads(run("compare", "l.duckdb", "r.duckdb", "--json", code=1))["comparisons"]
    assert one["exposures"]["counts"]["new"] == 0
    assert one["alone"]["right"] == {"runs": 1, "unauthorised": 1, "suppressed": 0, "scenarios": ["s9"]}


def test_a_baseline_accepts_what_was_seen_and_nothing_else(regression: list[Path], tmp_path: Path) -> None:
    left, right, file = *regression, tmp_path / "accepted.json"
    run("baseline", "write", left, "-o", file, "--reason", "seen", "--author", "ana")
    report = json.loads(run("compare", left, "--baseline", file, "--json"))
    assert report["comparisons"][0]["exposures"]["counts"] == {
        "new": 0,
        "moved": 0,
        "gone": 0,
        "same": 0,
        "suppressed": 4,
    }
    assert {r["suppressed"]["author"] for r in report["comparisons"][0]["exposures"]["rows"]} == {"ana"}
    report = json.loads(run("compare", right, "--baseline", file, "--json", code=1))
    (one,) = report["comparisons"]
    # s4 and the run that only the right side has are new; that of s3 came to the same recipient on the same channel.
    assert [r["scenario"] for r in one["exposures"]["rows"] if r["suppressed"] is None] == ["s4", "fresh"]
    assert [r["scenario"] for r in one["exposures"]["rows"] if r["suppressed"]] == ["s1", "s3"]
    # The entries of s2 and of the run that only the left side has match nothing.
    assert ([e["attribute"] for e in report["baseline"]["stale"]], report["baseline"]["entries"]) == (
        ["salary", "ssn"],
        4,
    )
    run("baseline", "write", right, "-o", file)
    entries = json.loads(file.read_text(encoding="utf-8"))["entries"]
    assert sorted(e.get("author", "") for e in entries) == ["", "", "ana", "ana"]
    run("compare", right, "--baseline", file, "--fail-on", "any")
    run("compare", left, right, "--baseline", file)


def test_an_expired_entry_suppresses_nothing(regression: list[Path], tmp_path: Path) -> None:
    file = tmp_path / "accepted.json"
    run("baseline", "write", regression[0], "-o", file, "--expires", "2001-01-31")
    report = json.loads(run("compare", regression[0], "--baseline", file, "--json", code=1))
    assert report["comparisons"][0]["exposures"]["counts"]["new"] == 4
    assert len(report["baseline"]["expired"]) == 4
    assert {r["lapsed"]["expires"] for r in report["comparisons"][0]["exposures"]["rows"]} == {"2001-01-31"}


def test_another_channel_than_was_accepted_is_new(regression: list[Path], tmp_path: Path) -> None:
    file = tmp_path / "accepted.json"
    run("baseline", "write", regression[0], "-o", file)
    file.write_text(file.read_text(encoding="utf-8").replace('"C2"', '"C3"'), encoding="utf-8")
    report = json.loads(run("compare", regression[0], "--baseline", file, "--json", code=1))
    assert report["comparisons"][0]["exposures"]["counts"]["new"] == 4
    assert len(report["baseline"]["stale"]) == 4


def test_a_baseline_needs_its_key(regression: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "accepted.json"
    run("baseline", "write", regression[0], "-o", file)
    monkeypatch.setenv("EARWITNESS_KEY", "another key of some length")
    assert "written with another key" in failing("compare", regression[0], "--baseline", file)
    monkeypatch.setenv("EARWITNESS_KEY", "short")
    assert "fewer than 16" in failing("baseline", "write", regression[0], "-o", tmp_path / "x.json")
    # Without one it is the key of the case, and fits that case and what it is compared with.
    monkeypatch.delenv("EARWITNESS_KEY")
    run("baseline", "write", regression[0], "-o", tmp_path / "own.json")
    run("compare", regression[0], "--baseline", tmp_path / "own.json")
    assert "written with another key" in failing("compare", regression[1], "--baseline", tmp_path / "own.json")
    run("compare", *regression, "--baseline", tmp_path / "own.json", code=1)


def test_a_baseline_file_tells_no_value(regression: list[Path], tmp_path: Path) -> None:
    import hashlib
    import hmac

    file = tmp_path / "accepted.json"
    run("baseline", "write", regression[0], "-o", file)
    text = file.read_text(encoding="utf-8")
    values = ("219-09-9999", "61200", "078-05-1120", "457-55-5462")
    assert not any(v in text for v in values)
    # Whoever has the file but not the key cannot try values: no hash of a value without it stands there.
    ids = {e["id"] for e in json.loads(text)["entries"]}
    for value in values:
        for guess in (hashlib.sha256(value.encode()), hmac.new(b"", value.encode(), "sha256")):
            assert not any(i in guess.hexdigest() for i in ids)


@pytest.mark.parametrize(
    ("text", "told"),
    [("{", "not a baseline file"), ('{"format": "x"}', "not a baseline file"), ("[]", "not a baseline file")],
)
def test_a_bad_baseline_is_told(regression: list[Path], tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "bad.json").write_text(text, encoding="utf-8")
    said = failing("compare", regression[0], "--baseline", tmp_path / "bad.json")
    assert told in said
    assert "bad.json" in said
    assert "cannot be read" in failing("compare", regression[0], "--baseline", tmp_path / "none.json")


def test_bad_words_are_told(regression: list[Path], tmp_path: Path) -> None:
    assert "name a second case" in failing("compare", regression[0])
    assert "not both" in failing("compare", *regression, "--by", "model")
    assert "policy diff" in failing("compare", regression[0], "--by", "policy")
    assert "nothing can be compared by 'x'" in failing("compare", regression[0], "--by", "x")
    assert "no such case" in failing("compare", regression[0], tmp_path / "none.duckdb")
    run("import", "left.jsonl", "--case", tmp_path / "raw.duckdb")
    assert "has not been audited" in failing("compare", regression[0], tmp_path / "raw.duckdb")


def test_values_are_masked_unless_asked_for(regression: list[Path], tmp_path: Path) -> None:
    words = ("compare", *regression, "--markdown", tmp_path / "m.md")
    shown = run(*words, code=1) + run(*words[:3], "--json", code=1) + (tmp_path / "m.md").read_text(encoding="utf-8")
    assert "DE-4711-0815" not in shown
    revealed = run(*words, "--reveal", code=1)
    assert "DE-4711-0815" in revealed
    assert "REVEALED" in revealed
    assert "REVEALED" in (tmp_path / "m.md").read_text(encoding="utf-8")


def test_hostile_names_stay_text_in_markdown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "a`|\n# b @all <img src=x> [x](http://y)\u202e"
    lines = [
        json.loads(line) for line in (GOLDEN / "regression" / "right.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    for line in lines:
        if "to" in line:
            line["to"] = [name if a == "mailer" else a for a in line["to"]]
        line.update({"scenario": name} if line.get("scenario") == "s1" else {})
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    policy = GOLDEN / "regression" / "left.yaml"
    run("audit", GOLDEN / "regression" / "left.jsonl", "--policy", policy, "--case", "l.duckdb", code=1)
    run("audit", "r.jsonl", "--policy", policy, "--case", "r.duckdb", code=1)
    run("compare", "l.duckdb", "r.duckdb", "--markdown", "m.md", code=1)
    text = (tmp_path / "m.md").read_text(encoding="utf-8")
    assert code(name) == "`a\\x60\\|\\x0a# b @all <img src=x> [x](http://y)\\x202e`"
    assert code(name) in text
    spans = [part for line in text.splitlines() for part in line.split("`")[1::2]]
    outside = "".join("".join(line.split("`")[::2]) for line in text.splitlines())
    assert any("@all" in s for s in spans)
    assert not any(mark in outside for mark in ("@", "<img", "http"))
