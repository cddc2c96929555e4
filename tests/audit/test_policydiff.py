"""Policies held against each other: what the files say, what it does to verdicts, and that a case stays as it is."""

import json
from pathlib import Path

from click.testing import CliRunner

from earwitness.audit.pipeline import audit, read_request
from earwitness.audit.policydiff import Change, differences, read_policy, verdict_changes
from earwitness.audit.rulesets import DEFAULT
from earwitness.cli import cli
from earwitness.ingest.loader import Loader
from earwitness.schema.case import Case

SAMPLE = Path(__file__).parents[2] / "src" / "earwitness" / "sample_traces" / "topologies"
POLICY = SAMPLE / "policy.yaml"

OLD = """
version: 1
default: sanitize
roster: [{name: lead, roles: [boss]}, {name: box, kind: tool, position: unknown}]
values: [{attribute: ssn, value: 123-45-6789}, {attribute: name, value: Ann Lee}]
rules:
  - {id: one, effect: allow, attributes: [ssn], recipients: [lead]}
  - {effect: allow, subjects: [Ann Lee], recipients: ["123-45-6789"]}
fallback: {C3: closed}
confidence: {C6: 0.5}
"""
NEW = """
version: 1
default: allow
roster: [{name: lead, roles: [clerk]}, {name: box, kind: tool}]
values: [{attribute: ssn, value: 123-45-6789}, {attribute: ssn, value: 987-65-4321}]
rules:
  - {effect: allow, subjects: [Ann Lee], recipients: ["123-45-6789"]}
  - {id: one, effect: sanitize, attributes: [ssn], recipients: [lead]}
confidence: {C6: 0.7}
"""


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_files(tmp_path: Path) -> None:
    old, new = (read_policy(written(tmp_path, f"{n}.yaml", t)) for n, t in enumerate((OLD, NEW)))
    assert differences(old, new) == [
        Change("changed", "", "default", "sanitize", "allow"),
        Change("changed", "roster", "lead", "roles: boss", "roles: clerk"),
        Change("removed", "values", "name", "1 value", ""),
        Change("added", "values", "ssn", "", "1 value"),
        Change(
            "changed",
            "rules",
            "one",
            "effect: allow; attributes: ssn; recipients: lead",
            "effect: sanitize; attributes: ssn; recipients: lead",
        ),
        Change("removed", "fallback", "C3", "closed", ""),
        Change("changed", "confidence", "C6", "0.5", "0.7"),
    ]
    assert differences(old, old) == []


def test_no_value_is_told(tmp_path: Path) -> None:
    lenient = NEW.replace('recipients: ["123-45-6789"]', 'recipients: ["987-65-4321"]')
    files = [str(written(tmp_path, f"{n}.yaml", t)) for n, t in enumerate((OLD, lenient))]
    for more in ((), ("--json",)):
        done = CliRunner().invoke(cli, ["policy", "diff", *files, *more])
        assert done.exit_code == 1, done.output
        assert not any(secret in done.output for secret in ("6789", "4321", "Ann Lee"))
    assert CliRunner().invoke(cli, ["policy", "diff", files[0], files[0]]).exit_code == 0


def test_verdicts_that_change_and_a_case_that_does_not(tmp_path: Path) -> None:
    text = POLICY.read_text().replace("attributes: [amount], roles", "attributes: [amount, ssn], roles")
    lenient = written(
        tmp_path, "lenient.yaml", "\n".join(x for x in text.splitlines() if "nothing-to-the-web" not in x)
    )
    path = tmp_path / "case.duckdb"
    with Case(path) as case:
        Loader(case).load([SAMPLE / "traces.jsonl"])
        audit(case, read_request(POLICY, None, DEFAULT))
        before = {t: sorted(map(repr, case.rows(f"SELECT * FROM {t}"))) for t in ("verdicts", "vault", "runs", "rules")}
        found = verdict_changes(case, read_policy(POLICY), read_policy(lenient))
        assert {t: sorted(map(repr, case.rows(f"SELECT * FROM {t}"))) for t in before} == before
        cells = "channel, recipient, dynamic, count(*)"
        sure = "standing = 'confirmed'"
        expected = {}
        for policy in (POLICY, lenient):
            audit(case, read_request(policy, None, DEFAULT))
            expected[policy] = case.rows(f"SELECT {cells} FROM verdicts WHERE {sure} GROUP BY ALL")
    turned = found.filter(found["before"] != found["after"])
    gained = {(c, r): n for c, r, verdict, n in expected[lenient] if verdict == "allow"}
    had = {(c, r): n for c, r, verdict, n in expected[POLICY] if verdict == "allow"}
    assert {cell: n - had.get(cell, 0) for cell, n in gained.items() if n != had.get(cell, 0)} == {
        (row["channel"], row["recipient"]): row["n"] for row in turned.to_dicts()
    }
    assert set(turned.select("channel", "recipient").rows()) == {("C2", "assessor"), ("C3", "web_search")}
    done = CliRunner().invoke(cli, ["policy", "diff", str(POLICY), str(lenient), "--case", str(path), "--json"])
    assert done.exit_code == 1
    assert [r["after_rule"] for r in json.loads(done.output)["verdicts"]] == [
        "team-knows-the-amount",
        "tools-take-the-amount",
    ]
