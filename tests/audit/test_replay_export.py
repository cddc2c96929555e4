"""What `replay export` writes, and that it shows no protected value unless that is asked for."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from earwitness.audit.pipeline import Request as AuditRequest
from earwitness.audit.pipeline import audit, read_request
from earwitness.audit.replay.condition import find
from earwitness.audit.replay.export import WITHHELD, Ask, lay_out
from earwitness.audit.replay.replay import Request, replay, rules_in_force
from earwitness.audit.rulesets import DEFAULT
from earwitness.audit.transform.keys import Keys
from earwitness.cli import cli
from earwitness.ingest.loader import Loader
from earwitness.reports.sanitized import write_sanitized
from earwitness.schema.case import Case
from earwitness.schema.errors import CaseError, InputError
from earwitness.schema.policy import PolicyValue, parse_policy

SAMPLE = Path(__file__).parents[2] / "src" / "earwitness" / "sample_traces" / "topologies"
POLICY = SAMPLE / "policy.yaml"
CONDITIONS = ("none", "static", "dynamic", "oracle")
VALUES = ("219-09-9999", "ulcerative colitis", "2417.50", "2,417.50")
# Events that were split have ids of their own: an occurrence is known by its run, order, parties and value.
LEFT = """
    SELECT t.trace_id, e.time, e.channel, e.sender, {o}.recipient, p.attribute, {o}.{truth}
    FROM {table} {o} JOIN events e USING (event) JOIN traces t ON t.trace = {o}.trace JOIN vault p USING (value)
    WHERE {wanted}
"""


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("export") / "case.duckdb"
    with Case(path) as case:
        Loader(case).load([SAMPLE / "traces.jsonl"])
        audit(case, read_request(POLICY, None, DEFAULT))
        replay(case, Request([find(name) for name in CONDITIONS], Keys(bytes(32))))
    return path


def left(path: Path, query: str) -> Counter[tuple[Any, ...]]:
    with Case(path, create=False) as case:
        return Counter(case.rows(query))


def run(path: Path, out: Path, *more: str) -> Result:
    return CliRunner().invoke(cli, ["replay", "export", str(path), "-o", str(out), "--replace", *more])


def export(path: Path, out: Path, *more: str) -> Result:
    done = run(path, out, *more)
    assert done.exit_code == 0, done.output
    return done


@pytest.mark.parametrize(
    "words", [("static", "paper", "independent"), ("dynamic", "extended", "propagate"), ("none", "paper", "propagate")]
)
def test_the_loop_is_closed_by_the_commands(replayed: Path, tmp_path: Path, words: tuple[str, str, str]) -> None:
    out, again = tmp_path / "sanitized.jsonl", tmp_path / "again.duckdb"
    condition, setting, mode = words
    asked = ("--condition", condition, "--recipients", setting, "--mode", mode, "--with-values", "--reveal", "--json")
    told = json.loads(export(replayed, out, *asked).stdout)
    with Case(again) as case:
        Loader(case).load([out])
        audit(case, read_request(POLICY, None, DEFAULT))
    flag = "remains" if mode == "independent" else "downstream"
    wanted = f"r.condition = '{condition}' AND r.setting = '{setting}' AND r.{flag}"
    said = left(replayed, LEFT.format(o="r", truth="truth", table="replays", wanted=wanted))
    found = left(again, LEFT.format(o="v", truth="dynamic", table="verdicts", wanted="v.standing = 'confirmed'"))
    assert found == said
    assert found.total() == told["remaining"] + told["allowed"]
    assert (told["introduced"], told["introduced_allowed"], told["unconfirmed"], told["differing"]) == (0, 0, 0, 0)


def test_nothing_protected_is_shown_unless_revealed(replayed: Path, tmp_path: Path) -> None:
    """Under `none` every value remains: an audit by the very values finds none that stands whole in a text."""
    out = tmp_path / "sanitized.jsonl"
    done = export(replayed, out, "--condition", "none")
    written = out.read_text()
    assert '"type":"value"' not in written
    assert not any(value in written + done.output for value in VALUES)
    assert "[ssn #" in written
    assert not done.stderr
    with Case(replayed, create=False) as case:
        known = [PolicyValue(attribute=a, value=t, aliases=tuple(n or ())) for a, t, n in case.rows(
            "SELECT attribute, text, aliases FROM vault WHERE length(text) >= 4")]  # fmt: skip
    with Case() as again:
        Loader(again).load([out])
        audit(again, AuditRequest(policy=parse_policy(b"default: sanitize\n", "policy.yaml"), vault=known))
        assert again.rows("SELECT form, value FROM matches WHERE standing = 'confirmed' AND event IS NULL") == []


def test_texts_are_revealed_with_a_warning(replayed: Path, tmp_path: Path) -> None:
    out = tmp_path / "sanitized.jsonl"
    done = export(replayed, out, "--condition", "none", "--reveal")
    assert '"type":"value"' not in out.read_text()
    assert "219-09-9999" in out.read_text()
    assert "(REVEALED)" in done.stdout
    assert "holds protected values in clear" in done.stderr
    assert not any(value in done.output for value in VALUES)


def test_values_need_to_be_revealed(replayed: Path, tmp_path: Path) -> None:
    out = tmp_path / "sanitized.jsonl"
    done = run(replayed, out, "--condition", "dynamic", "--with-values")
    assert done.exit_code == 2
    assert "--with-values writes protected values in clear; add --reveal" in done.stderr
    assert not out.exists()
    with Case(replayed, create=False) as case, pytest.raises(InputError, match="--reveal"):
        write_sanitized(case, out, values=True, reveal=False, replace=False)
    assert not out.exists()


def test_what_was_not_replayed_cannot_be_written(replayed: Path, tmp_path: Path) -> None:
    out = tmp_path / "sanitized.jsonl"
    done = run(replayed, out, "--condition", "presidio")
    assert done.exit_code != 0
    assert not out.exists()


# Two recipients who must not get the same, contexts, an initial input, a message that never arrived.
SSN = "536-22-8417"
RUN = f"run of {SSN}"
FILE = f"Please file the SSN {SSN} today."
CLERK: tuple[dict[str, Any], ...] = (
    {"type": "value", "attribute": "ssn", "value": SSN, "value_type": "format_dependent"},
    {"type": "rule", "effect": "allow", "attributes": ["ssn"], "recipients": ["clerk"]},
    {"type": "sighting", "actor": "planner", "kind": "initial", "seq": 0, "content": f"The SSN is {SSN}."},
    {"type": "event", "id": "e1", "seq": 1, "channel": "C2", "sender": "planner", "to": ["clerk", "guest"]}
    | {"content": FILE},
    {"type": "sighting", "actor": "guest", "kind": "input", "seq": 2, "event": "e1", "content": FILE},
    {"type": "sighting", "actor": "clerk", "kind": "input", "seq": 2, "event": "e1", "content": FILE},
    {"type": "sighting", "actor": "planner", "kind": "response", "seq": 2, "event": "e1", "content": FILE},
    {"type": "sighting", "actor": "guest", "kind": "history", "seq": 3, "content": f"user: x\nplanner: SSN {SSN}"},
    {"type": "event", "seq": 4, "channel": "C2", "sender": "planner", "flags": ["not_delivered"]}
    | {"to": [{"actor": "guest", "delivered": False}], "content": f"Once more: {SSN}"},
    {"type": "event", "id": "e3", "seq": 5, "channel": "C2", "sender": "guest", "to": ["clerk"], "parent": "e1"}
    | {"content": "Nothing here is anybody's business."},
    {"type": "label", "event": "e1", "leaked": ["ssn"]},
)


@pytest.fixture(scope="module")
def clerk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clerk")
    lines = [{"type": "trace", "id": RUN, "request": f"Look up {SSN}"}, *({"trace": RUN} | item for item in CLERK)]
    (folder / "traces.jsonl").write_text("\n".join(map(json.dumps, lines)))
    with Case(folder / "case.duckdb") as case:
        Loader(case).load([folder / "traces.jsonl"])
        audit(case, AuditRequest())
        replay(case, Request([find("dynamic")], Keys(bytes(32))))
    return folder / "case.duckdb"


def written(path: Path, tmp_path: Path, *, reveal: bool = True, keep: bool = False) -> list[dict[str, Any]]:
    with Case(path) as case:
        lay_out(case, Ask("dynamic", "paper", keep=keep), rules_in_force(case))
        write_sanitized(case, tmp_path / "out.jsonl", values=reveal, reveal=reveal, replace=True)
    return [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]


def test_recipients_of_different_texts_have_an_event_each(clerk: Path, tmp_path: Path) -> None:
    lines = written(clerk, tmp_path)
    events = [e for e in lines if e["type"] == "event"]
    first = {e["to"][0]: e for e in events if e["seq"] == 1}
    assert SSN in first["clerk"]["content"]
    assert SSN not in first["guest"]["content"]
    assert {e["id"] for e in first.values()} == {"e1", "e1~2"}
    assert {e["attributes"]["original"] for e in first.values()} == {"e1"}
    assert [e["parent"] for e in events if e["seq"] == 5] == ["e1"]
    seen = {s["actor"]: s for s in lines if s["type"] == "sighting" and s["kind"] == "input"}
    assert {a: (s["content"], s["event"]) for a, s in seen.items()} == {
        a: (e["content"], e["id"]) for a, e in first.items()
    }
    assert not [i for i in lines if i["type"] == "label"]


@pytest.mark.parametrize("keep", [False, True])
def test_what_no_sanitizer_saw_is_withheld_or_kept(clerk: Path, tmp_path: Path, keep: bool) -> None:
    lines = written(clerk, tmp_path, keep=keep)
    unsent = [i for i in lines if i.get("kind") in ("initial", "history", "response") or i.get("flags")]
    assert len(unsent) == 4
    assert all((SSN in i["content"]) is keep and (i["content"] == WITHHELD) is not keep for i in unsent)


@pytest.mark.parametrize("keep", [False, True])
def test_names_requests_and_texts_are_masked(clerk: Path, tmp_path: Path, keep: bool) -> None:
    lines = written(clerk, tmp_path, reveal=False, keep=keep)
    assert not [i for i in lines if i["type"] in ("value", "rule", "label")]
    assert SSN not in (tmp_path / "out.jsonl").read_text()
    masked = [i for i in lines if "[ssn #" in i.get("content", "")]
    assert len(masked) == (6 if keep else 2), "the clerk's own message, and its copy; and what nobody sanitized"


def test_a_replay_that_is_older_than_the_audit_is_refused(clerk: Path, tmp_path: Path) -> None:
    copy = tmp_path / "case.duckdb"
    copy.write_bytes(clerk.read_bytes())
    with Case(copy) as case:
        audit(case, AuditRequest())
        with pytest.raises(CaseError, match="audited anew since the last replay"):
            lay_out(case, Ask("dynamic", "paper"), DEFAULT)
