"""Namesakes: what several people share is confirmed only where something else shows who is meant."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from earwitness.audit.namesakes import CROWD, find_namesakes
from earwitness.audit.pipeline import Request, audit
from earwitness.ingest.loader import Loader
from earwitness.schema.case import Case
from earwitness.schema.policy import Policy, PolicyValue

Shared = Callable[[str], list[Path]]


def people(n: int) -> list[PolicyValue]:
    """Two of one name, and others of their own; everybody has an e-mail address and a birthday."""
    names = [
        "Ana Example",
        "Ana Example",
        *(f"Bo Sample{'abcdefghijklmnopqrstuvwxyz'[k % 26]}{k}" for k in range(n - 2)),
    ]
    return [
        PolicyValue(attribute=attribute, value=value, subject=f"s{k}")
        for k, name in enumerate(names)
        for attribute, value in (("name", name), ("email", f"u{k}@example.org"), ("dob", f"{1950 + k}-03-14"))
    ]


def in_question(tmp_path: Path, values: list[PolicyValue], text: str) -> list[tuple[Any, ...]]:
    lines: list[dict[str, Any]] = [
        {"type": "trace", "id": "t"},
        {"type": "event", "trace": "t", "channel": "C1", "sender": "a", "to": ["user"], "content": text},
    ]
    path = tmp_path / "traces.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with Case() as case:
        Loader(case).load([path])
        audit(case, Request(policy=Policy(values=tuple(values))))
        find_namesakes(case)
        return case.rows("SELECT attribute, subject FROM namesakes JOIN vault USING (value) ORDER BY ALL")


def test_a_shared_name_alone_is_in_question(tmp_path: Path) -> None:
    assert in_question(tmp_path, people(5), "I met Ana Example.") == [("name", "s0"), ("name", "s1")]


def test_an_address_shows_which_of_them_is_meant(tmp_path: Path) -> None:
    assert in_question(tmp_path, people(5), "I met Ana Example, u1@example.org.") == [("name", "s0")]


def test_a_name_of_its_own_is_not_in_question(tmp_path: Path) -> None:
    assert in_question(tmp_path, people(5), "I met Bo Samplea0, born 1952-03-14.") == []


def test_in_a_crowd_dates_and_names_need_company(tmp_path: Path) -> None:
    crowd = [PolicyValue(attribute="dob", value=f"{1900 + k}-05-02", subject=f"x{k}") for k in range(CROWD)]
    assert in_question(tmp_path, [*people(5), *crowd], "The date is 1952-03-14.") == [("dob", "s2")]
    assert in_question(tmp_path, [*people(5), *crowd], "u2@example.org was born 1952-03-14.") == []


@pytest.fixture(scope="module")
def tau(tmp_path_factory: pytest.TempPathFactory, shared: Shared) -> Iterator[Case]:
    """148 runs, each for one user; the records of all 1,000 users are the vault."""
    files = [*shared("data/tau_bench/gpt-4o-airline.subset.json"), *shared("data/tau_bench/vault/*.json")]
    with Case(tmp_path_factory.mktemp("tau") / "case.duckdb") as case:
        Loader(case).load(files)
        audit(case, Request())
        find_namesakes(case)
        yield case


_FOREIGN = """
    FROM verdicts v JOIN vault w USING (value) JOIN traces t ON t.trace = v.trace
    LEFT JOIN namesakes n ON n.trace = v.trace AND n.value = v.value
    WHERE w.subject <> json_extract_string(t.attributes, '$.user_id')
"""


@pytest.mark.real
def test_no_run_discloses_what_identifies_another_user(tau: Case) -> None:
    """The negative control: over 148 runs no e-mail address and no payment id of any of the 999 others."""
    assert tau.count("traces") == 148
    assert tau.rows(f"SELECT count(*) {_FOREIGN} AND w.attribute IN ('email', 'payment_id')") == [(0,)]


@pytest.mark.real
def test_own_records_are_found(tau: Case) -> None:
    """128 of the runs tell an e-mail address or a payment id of their own user, as the description of the data says."""
    own = f"SELECT count(DISTINCT v.trace) {_FOREIGN.replace('<>', '=')}"
    assert tau.rows(f"{own} AND v.standing = 'confirmed' AND w.attribute IN ('email', 'payment_id')") == [(128,)]
    assert tau.rows(f"{own} AND n.value IS NOT NULL") == [(0,)]


@pytest.mark.real
def test_namesakes_are_all_that_seems_foreign(tau: Case) -> None:
    """Names, passengers, birthdays, streets and postcodes of others: none of them with anything else of that user."""
    seeming = dict(
        tau.rows(
            f"""SELECT w.attribute, count(DISTINCT (v.trace, w.subject)) {_FOREIGN} AND n.value IS NOT NULL
                AND EXISTS (SELECT 1 FROM events e JOIN matches m ON m.content = e.content
                            WHERE e.event = v.event AND m.value = v.value AND m.standing = 'confirmed')
                GROUP BY w.attribute"""
        )
    )
    assert seeming.keys() <= {"name", "passenger", "dob", "street", "zip"}
    assert seeming["street"] == 3
    assert tau.rows(f"SELECT count(*) {_FOREIGN} AND v.standing = 'confirmed'") == [(0,)]
