"""The program as a user runs it: real processes, real files, exit codes and messages."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest
from jsonschema import Draft202012Validator

from earwitness.schema.jsonschemas import read_schema

SAMPLE = Path(__file__).parents[2] / "sample_traces" / "topologies"
TRACES, POLICY = str(SAMPLE / "traces.jsonl"), str(SAMPLE / "policy.yaml")


def run(*words: str | Path, cwd: Path | None = None, code: int = 0, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "earwitness", *map(str, words)],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **(env or {})},
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout if code < 2 else done.stderr


def secrets() -> list[str]:
    import yaml

    return [str(v["value"]).lower() for v in yaml.safe_load(Path(POLICY).read_text())["values"]]


def check(report: dict[str, Any], name: str) -> None:
    Draft202012Validator(json.loads(read_schema(name))).validate(report)


def test_version_and_help() -> None:
    assert run("--version").startswith("earwitness, version ")
    for command in ("audit", "demo", "export", "import", "inspect", "policy", "report", "schema"):
        assert command in run("--help")
        assert "Example" in run(command, "--help") or command == "policy"


def test_audit_prints_an_object_that_keeps_its_contract() -> None:
    report = json.loads(run("audit", TRACES, "--policy", POLICY, "--json", code=1))
    check(report, "audit")
    assert report["case"] is None
    assert report["traces"] == 16
    assert not [s for s in secrets() if s in json.dumps(report).lower()]


def test_audit_on_the_terminal_is_readable_and_masked() -> None:
    shown = run("audit", TRACES, "--policy", POLICY, code=1)
    assert "Leakage by channel" in shown
    assert max(map(len, shown.splitlines())) <= 100
    assert not [s for s in secrets() if s in shown.lower()]


def test_reveal_is_explicit_and_stamped() -> None:
    report = json.loads(run("audit", TRACES, "--policy", POLICY, "--json", "--reveal", code=1))
    check(report, "audit")
    assert report["revealed"] is True
    assert {v["text"].lower() for v in report["values"]} == set(secrets())


def test_without_policy_nothing_is_a_leak(tmp_path: Path) -> None:
    vault = tmp_path / "vault.csv"
    vault.write_text("attribute,value\n" + "".join(f'a{n},"{s}"\n' for n, s in enumerate(secrets())))
    report = json.loads(run("audit", TRACES, "--values", vault, "--json"))
    check(report, "audit")
    assert report["exposure_totals"]["unruled"] == report["exposure_totals"]["total"] > 0
    assert report["coverage"]["leak"] == report["coverage"]["clean"] == 0
    assert any("without a policy" in note for note in report["notes"])


def test_without_values_nothing_is_clean() -> None:
    report = json.loads(run("audit", TRACES, "--json"))
    assert report["coverage"] == {**report["coverage"], "leak": 0, "clean": 0, "unverifiable": 16}
    assert any("without a protected value" in note for note in report["notes"])


def test_a_case_is_judged_again_without_importing(tmp_path: Path) -> None:
    case = tmp_path / "c.duckdb"
    first = json.loads(run("audit", TRACES, "--policy", POLICY, "--case", case, "--json", code=1))
    lenient = tmp_path / "lenient.yaml"
    lenient.write_text(Path(POLICY).read_text().replace("default: sanitize", "default: allow").split("rules:")[0])
    again = json.loads(run("audit", "--case", case, "--policy", lenient, "--json"))
    assert again["exposure_totals"]["unauthorised"] == 0
    back = json.loads(run("audit", "--case", case, "--policy", POLICY, "--json", code=1))
    assert back == first


def test_output_folder_and_report(tmp_path: Path) -> None:
    shown = run("audit", TRACES, "--policy", POLICY, "-o", tmp_path / "out", code=1)
    assert "report.html" in shown
    assert {p.name for p in (tmp_path / "out").iterdir()} == {"case.duckdb", "report.html", "report.json"}
    report = json.loads(run("report", tmp_path / "out" / "case.duckdb", "--json"))
    assert report["measures"] == json.loads((tmp_path / "out" / "report.json").read_text())["measures"]


def test_import_export_import(tmp_path: Path) -> None:
    assert "16 traces" in run("import", TRACES, "--case", tmp_path / "a.duckdb")
    run("export", tmp_path / "a.duckdb", "-o", tmp_path / "a.jsonl", "--reveal")
    run("import", tmp_path / "a.jsonl", "--case", tmp_path / "b.duckdb")
    run("export", tmp_path / "b.duckdb", "-o", tmp_path / "b.jsonl", "--reveal")
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    validator = Draft202012Validator(json.loads(read_schema("canonical")))
    for line in (tmp_path / "a.jsonl").read_text().splitlines():
        validator.validate(json.loads(line))


def test_export_asks_for_consent(tmp_path: Path) -> None:
    run("import", TRACES, "--case", tmp_path / "a.duckdb")
    assert "--reveal" in run("export", tmp_path / "a.duckdb", "-o", tmp_path / "a.jsonl", code=2)


def test_inspect_accounts_for_every_record(tmp_path: Path) -> None:
    (tmp_path / "mixed.jsonl").write_text('{"type":"trace","id":"t"}\n{"nothing":1}\nnot json\n')
    lines = run("inspect", "--json", TRACES, tmp_path / "mixed.jsonl").splitlines()
    reports = [json.loads(line) for line in lines]
    for report in reports:
        check(report, "inspect")
        assert sum(report["outcomes"].values()) == report["records"]
    assert reports[1]["outcomes"] == {"mapped": 1, "unknown": 1, "unparseable": 1}
    shown = run("inspect", TRACES)
    assert "canonical" in shown
    assert not [s for s in secrets() if s in shown.lower()]


def test_demo(tmp_path: Path) -> None:
    shown = run("demo", cwd=tmp_path)
    assert "16 traces" in shown
    assert (tmp_path / "demo-report" / "report.html").is_file()


def test_policy_check(tmp_path: Path) -> None:
    assert ": good." in run("policy", "check", POLICY)
    (tmp_path / "bad.yaml").write_text("rules:\n- effect: alow\n")
    assert "bad.yaml:2:" in run("policy", "check", tmp_path / "bad.yaml", code=2)


def test_schema() -> None:
    assert "sender" in run("schema", "events")
    assert json.loads(run("schema", "--json-schema", "audit"))["title"]
    assert "no table" in run("schema", "nothing", code=2)


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        (("audit",), "give TRACES"),
        (("audit", "absent.jsonl"), "no such file"),
        (("audit", "--case", "absent.duckdb"), "no such case"),
        (("audit", TRACES, "--policy", "absent.yaml"), "cannot be read"),
        (("audit", "strange.txt"), "looked for JSON lines"),
        (("audit", "foreign.jsonl"), "recognised, not supported"),
        (("audit", "empty.jsonl"), "empty.jsonl"),
        (("report", "strange.txt"), "not a DuckDB file"),
        (("inspect", "strange.txt"), ""),
        (("no-such-command",), "No such command"),
        (("audit", TRACES, "--case", "nowhere/c.duckdb"), "does not exist"),
    ],
)
def test_bad_input_is_told_in_one_message(tmp_path: Path, words: tuple[str, ...], cause: str) -> None:
    (tmp_path / "strange.txt").write_text("just some words\n")
    (tmp_path / "foreign.jsonl").write_text('{"resourceMetrics": []}\n')
    (tmp_path / "empty.jsonl").write_text("")
    assert cause in run(*words, cwd=tmp_path, code=2)


def test_an_existing_case_is_not_overwritten_by_accident(tmp_path: Path) -> None:
    run("import", TRACES, "--case", tmp_path / "c.duckdb")
    assert "--replace" in run("import", TRACES, "--case", tmp_path / "c.duckdb", code=2)
    run("import", TRACES, "--case", tmp_path / "c.duckdb", "--replace")
    (tmp_path / "precious.txt").write_text("no case")
    run("import", TRACES, "--case", tmp_path / "precious.txt", "--replace", code=2)
    assert (tmp_path / "precious.txt").read_text() == "no case"


def test_an_import_that_fails_leaves_nothing_and_takes_nothing_away(tmp_path: Path) -> None:
    (tmp_path / "foreign.jsonl").write_text('{"resourceMetrics": []}\n')
    (tmp_path / "cells.csv").write_text("trace,arm\nno-such-run,x\n")
    attributed = ("import", TRACES, "--case", "c.duckdb", "--attributes", "cells.csv")
    for words in (attributed, ("audit", "foreign.jsonl", "--case", "c.duckdb")):
        run(*words, cwd=tmp_path, code=2)
        assert sorted(p.name for p in tmp_path.iterdir()) == ["cells.csv", "foreign.jsonl"]
    run("import", TRACES, "--case", "c.duckdb", cwd=tmp_path)
    before = (tmp_path / "c.duckdb").read_bytes()
    for words in (
        attributed,
        ("import", "foreign.jsonl", "--case", "c.duckdb"),
        ("audit", "away", "--case", "c.duckdb"),
    ):
        run(*words, "--replace", cwd=tmp_path, code=2)
    assert (tmp_path / "c.duckdb").read_bytes() == before


def test_a_case_of_an_older_version_can_be_replaced_and_another_database_cannot(tmp_path: Path) -> None:
    run("import", TRACES, "--case", tmp_path / "c.duckdb")
    with duckdb.connect(tmp_path / "c.duckdb") as con:
        con.execute("UPDATE meta SET value = '1' WHERE key = 'schema'")
    assert "import the traces again" in run("audit", "--case", tmp_path / "c.duckdb", code=2)
    run("import", TRACES, "--case", tmp_path / "c.duckdb", "--replace")
    with duckdb.connect(tmp_path / "other.duckdb") as con:
        con.execute("CREATE TABLE wages (name VARCHAR)")
    assert "not a case" in run("import", TRACES, "--case", tmp_path / "other.duckdb", "--replace", code=2)
    with duckdb.connect(tmp_path / "other.duckdb") as con:
        assert con.execute("SELECT count(*) FROM wages").fetchall() == [(0,)]


def test_fingerprints_can_be_compared_between_cases() -> None:
    def marks(key: str) -> set[str]:
        env = {"EARWITNESS_KEY": key}
        report = json.loads(run("audit", TRACES, "--policy", POLICY, "--json", code=1, env=env))
        return {v["fingerprint"] for v in report["values"]}

    assert marks("k1") == marks("k1")
    assert not marks("k1") & marks("k2")


def test_a_closed_pipe_is_no_error() -> None:
    command = f"{sys.executable} -m earwitness schema | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert done.stdout.startswith("sources")
