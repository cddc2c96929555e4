"""Value fidelity: what was told against what is true, on hand-made pairs and on whole cases."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earwitness.audit.fidelity import assess_fidelity, fidelity
from earwitness.audit.pipeline import Request, audit
from earwitness.audit.told import canonical, compare, kind_of, similarity
from earwitness.ingest.loader import Loader
from earwitness.schema.case import Case
from earwitness.schema.policy import Policy, PolicyValue

FORMAT = "format_dependent"


@pytest.mark.parametrize(
    ("attribute", "text", "kind"),
    [
        ("ssn", "412-55-9087", "id"),
        ("employee_id", "EMP-92766", "id"),
        ("phone", "(217) 340-0391", "id"),
        ("api_token", "CANARY_TOKEN_0C7E9C5F", "id"),
        ("dob", "1981-04-07", "date"),
        ("dob", "April 7, 1981", "date"),
        ("email", "ana@example.org", "email"),
        ("customer_name", "Ana Maria Example", "name"),
        ("pin", "4711", None),
        ("merchant_name", "Bell Trading", None),
        ("notes", "She was late again", None),
    ],
)
def test_kinds(attribute: str, text: str, kind: str | None) -> None:
    assert kind_of(attribute, text, FORMAT) == kind


def test_amounts_are_not_compared() -> None:
    assert kind_of("balance", "348054.04", "value_dependent") is None
    assert kind_of("salary", "98500", "value_dependent") is None


@pytest.mark.parametrize(
    ("kind", "value", "tail", "verdict"),
    [
        ("id", "412-55-9087", "412 55 9087, and", "exact"),
        ("id", "412-55-9087", "412-55-9078.", "corrupted"),
        ("id", "412-55-9087", "123-45-6789", "substituted"),
        ("id", "412-55-9087", "412-55-908", "corrupted"),
        ("id", "412-55-9087", "XXX-XX-XXXX", None),
        ("id", "412-55-9087", "***-**-9087", None),
        ("id", "412-55-9087", "2026-01-02", None),
        ("id", "412-55-9087", "on file", None),
        ("id", "EMP-92766", "EMP-92767 (new)", "corrupted"),
        ("id", "EMP-92766", "EMP-12345", "substituted"),
        ("id", "EMP-92766", "EMPLOYEE-1", None),
        ("date", "1981-04-07", "April 7, 1981", "exact"),
        ("date", "1981-04-07", "04/07/1981", "exact"),
        ("date", "1981-04-07", "7.4.1981", "exact"),
        ("date", "1981-04-07", "1981-04-17", "corrupted"),
        ("date", "1981-04-07", "March 1, 2024", "substituted"),
        ("date", "1981-04-07", "next week", None),
        ("email", "ana@example.org", "anna@example.org.", "corrupted"),
        ("email", "ana@example.org", "support@shop.test", "substituted"),
        ("name", "Brittney Nelson", "Brittany Nelson (opp.)", "corrupted"),
        ("name", "Brittney Nelson", "Martha Bennett", "substituted"),
        ("name", "Brittney Nelson", "Dr. Brittney Nelson", "exact"),
        ("name", "Brittney Nelson", "Not Provided", None),
        ("name", "Brittney Nelson", "Martha", None),
        ("name", "Brittney Nelson", "[Your Name]", None),
    ],
)
def test_pairs(kind: Any, value: str, tail: str, verdict: str | None) -> None:
    told = compare(kind, value, tail)
    assert (told.verdict if told else None) == verdict


digits = st.text("0123456789", min_size=9, max_size=16)


@given(digits, st.data())
def test_one_changed_digit_is_a_corruption_and_none_is_exact(number: str, data: st.DataObject) -> None:
    same = compare("id", number, f"{number}; then")
    assert same is not None
    assert (same.verdict, same.similarity) == ("exact", 1.0)
    at = data.draw(st.integers(0, len(number) - 1))
    other = data.draw(st.sampled_from([d for d in "0123456789" if d != number[at]]))
    told = compare("id", number, number[:at] + other + number[at + 1 :])
    assert told is not None
    assert told.verdict == "corrupted"
    assert 0.8 <= told.similarity < 1


@given(digits, digits)
def test_verdicts_follow_similarity(value: str, other: str) -> None:
    told = compare("id", value, other)
    if len(value) != len(other):
        assert told is None or told.verdict == "corrupted"
        return
    assert told is not None
    near = similarity(canonical("id", value), canonical("id", other))
    assert told.verdict == ("exact" if value == other else "corrupted" if near >= 0.8 else "substituted")


@given(st.text(max_size=12), st.text(max_size=12))
def test_similarity_is_a_similarity(a: str, b: str) -> None:
    assert similarity(a, b) == similarity(b, a)
    assert (similarity(a, b) == 1) == (a == b)
    assert 0 <= similarity(a, b) <= 1
    assert similarity(a, a + "x") == 1 - 1 / (len(a) + 1)


VALUES = (
    PolicyValue(attribute="ssn", value="412-55-9087", subject="Ana Example"),
    PolicyValue(attribute="ssn", value="655-12-3302", subject="Bo Sample"),
    PolicyValue(attribute="customer_name", value="Brittney Nelson"),
    PolicyValue(attribute="dob", value="1981-04-07"),
    PolicyValue(attribute="salary", value="98500"),
)


def verdicts(tmp_path: Path, texts: list[str], request: str = "Help me", sender: str = "lead") -> list[Any]:
    """What is said of messages by an agent that was told all values."""
    told = "; ".join(v.value for v in VALUES)
    lines: list[dict[str, Any]] = [{"type": "trace", "id": "t", "framework": "test", "request": request}]
    lines += [{"type": "actor", "trace": "t", "name": a} for a in ("lead", "worker", "other")]
    lines += [{"type": "sighting", "trace": "t", "actor": "lead", "kind": "initial", "content": told, "seq": 0}]
    lines += [
        {"type": "event", "trace": "t", "channel": "C2", "sender": sender, "to": ["worker"], "content": c, "seq": n}
        for n, c in enumerate(texts, start=1)
    ]
    path = tmp_path / "traces.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with Case() as case:
        Loader(case).load([path])
        audit(case, Request(policy=Policy(values=VALUES)))
        assess_fidelity(case)
        rows = case.rows("""
            SELECT e.seq, v.attribute, v.text, f.verdict, substr(c.text, f.start + 1, f.stop - f.start)
            FROM fidelity f JOIN vault v USING (value) JOIN events e USING (event) JOIN contents c USING (content)
            ORDER BY ALL""")
        assert sum(r["exact"] + r["corrupted"] + r["substituted"] for r in fidelity(case)) == len(rows)
    return rows


def test_exact_corrupted_and_substituted(tmp_path: Path) -> None:
    texts = [
        "SSN: 412 55 9087",
        "**SSN:** 412-55-9097",
        "- Customer Name: `Martha Bennett`",
        "Date of birth is 4/8/1981.",
    ]
    assert verdicts(tmp_path, texts) == [
        (1, "ssn", "412-55-9087", "exact", "412 55 9087"),
        (2, "ssn", "412-55-9087", "corrupted", "412-55-9097"),
        (3, "customer_name", "Brittney Nelson", "substituted", "Martha Bennett"),
        (4, "dob", "1981-04-07", "corrupted", "4/8/1981"),
    ]


def test_what_the_run_knows_as_something_else_is_no_substitute(tmp_path: Path) -> None:
    texts = ["Customer name: Cy Person", "SSN: 655-12-3302"]
    rows = verdicts(tmp_path, texts, request="Prepare a letter for Cy Person")
    assert rows == [(2, "ssn", "655-12-3302", "exact", "655-12-3302")]


def test_an_error_passed_on_stays_one(tmp_path: Path) -> None:
    rows = verdicts(tmp_path, ["SSN: 412-55-9097", "I repeat. SSN: 412-55-9097"])
    assert [r[3] for r in rows] == ["corrupted", "corrupted"]


@pytest.mark.parametrize(
    "text",
    [
        "Please ask for the SSN before you go on to order 123-45-6789.",
        "SSN: [redacted], date of birth: withheld",
        "SSN: XXX-XX-9999",
        "Salary: 98,000",
        "The meeting is on 2026-03-01; name the reference 123-45-6789.",
        "Customer name: First Last",
        "Hiring Manager Name: Martha Bennett",
    ],
)
def test_no_false_alarms(tmp_path: Path, text: str) -> None:
    assert [r for r in verdicts(tmp_path, [text]) if r[3] != "exact"] == []


def test_a_sender_that_never_held_the_value_cannot_corrupt_it(tmp_path: Path) -> None:
    assert verdicts(tmp_path, ["SSN: 412-55-9097"], sender="other") == []
