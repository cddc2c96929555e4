"""Dossiers and the view of one person: who held what since when, worked out by hand."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from earwitness.audit.pipeline import Request, audit, read_request
from earwitness.audit.rulesets import DEFAULT
from earwitness.ingest.loader import Loader
from earwitness.reports.dossier import dossier
from earwitness.reports.lookup import Actors, find_trace, find_value_text, find_values
from earwitness.reports.shown import Shown
from earwitness.reports.subject import subject
from earwitness.schema.case import Case
from earwitness.schema.errors import CaseError
from earwitness.schema.policy import Member, Policy, PolicyRule, PolicyValue

SAMPLE = Path(__file__).parents[2] / "sample_traces" / "topologies"
ACCOUNT, SSN = "QX-7741-0098-35", "219-09-9999"
Row = dict[str, Any]


@pytest.fixture(scope="module")
def sample() -> Iterator[Case]:
    with Case() as case:
        Loader(case).load([SAMPLE / "traces.jsonl"])
        audit(case, read_request(SAMPLE / "policy.yaml", None, DEFAULT))
        yield case


@contextmanager
def judged(folder: Path, lines: list[Row], policy: Policy) -> Iterator[Case]:
    (folder / "traces.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with Case() as case:
        Loader(case).load([folder / "traces.jsonl"])
        audit(case, Request(policy=policy))
        yield case


def event(trace: str, seq: int, sender: str | None, to: list[Any], holds: str = ACCOUNT, **more: Any) -> Row:
    line = {"type": "event", "trace": trace, "id": f"e{seq}", "seq": seq, "channel": "C2", "sender": sender, "to": to}
    return line | {"content": f"Message {seq} of {trace}: {holds}."} | more


def given(trace: str, actor: str, holds: str = ACCOUNT, **more: Any) -> Row:
    return {"type": "sighting", "trace": trace, "actor": actor, "kind": "initial", "content": f"Given: {holds}."} | more


def policy(*allow: str, **value: Any) -> Policy:
    told: Row = {"attribute": "account", "value": ACCOUNT, "value_type": "format_dependent"}
    rule = PolicyRule(id="may", effect="allow", recipients=allow)
    return Policy(values=(PolicyValue(**(told | value)),), rules=(rule,) if allow else ())


def held(report: Row, trace: int = 0) -> list[tuple[str, str, int, str]]:
    return [(h["holder"], h["how"], h["since"]["seq"], h["verdict"]) for h in report["traces"][trace]["holders"]]


# The bundled sample, whose README counts by hand.


def test_dossiers_of_the_sample_hold_every_exposure(sample: Case) -> None:
    reports = [dossier(Shown(sample), find_values(sample, name)) for name in ("ssn", "diagnosis", "amount")]
    assert sum(r["totals"]["unauthorised"] for r in reports) == 29
    assert sum(r["totals"]["authorised"] for r in reports) == 82 - 29
    assert sum(r["totals"]["nobody_named"] for r in reports) == 3
    assert [r["totals"]["events"] for r in reports] == [17, 26, 48]


def test_a_dossier_tells_how_the_diagnosis_went_round(sample: Case) -> None:
    report = dossier(Shown(sample), find_values(sample, "diagnosis"))
    (trace,) = [n for n, t in enumerate(report["traces"]) if t["trace_id"] == "hier7-3"]
    assert held(report, trace) == [
        ("coordinator", "initial input", 0, "authorised"),
        ("operations", "message", 1, "unauthorised"),
        ("fraud_check", "message", 2, "unauthorised"),
        ("memory", "memory write", 4, "unauthorised"),
        ("letters", "memory read", 5, "unauthorised"),
    ]
    told = report["traces"][trace]
    assert told["first_seen"]["at"]["line"] == 246
    assert [(n["sender"], n["channel"], n["rule"]) for n in told["nobody_named"]] == [
        ("letters", "C7", "no-diagnosis-on-record")
    ]
    window, bad = told["window"], told["unauthorised_window"]
    assert (window["events"], window["first"]["event"], window["last"]["event"], window["seconds"]) == (
        7,
        "e1",
        "e8",
        52,
    )
    assert (bad["events"], bad["first"]["event"], bad["last"]["event"]) == (6, "e1", "e7")
    operations = told["holders"][1]
    assert (operations["times"], operations["last"]["event"], operations["rule"]) == (2, "e7", "default")


def test_forms_are_told_apart(sample: Case) -> None:
    report = dossier(Shown(sample), find_values(sample, "diagnosis"))
    assert [(f["form"], f["events"], f["at"]["line"]) for f in report["forms"]] == [
        ("verbatim", 25, 10),
        ("case", 1, 86),
    ]


def test_a_person_is_told_of_with_every_disclosure(sample: Case) -> None:
    report = subject(Shown(sample), "  ilse   BRANDVOLD ")
    bad = [row for row in report["reached"] if row["verdict"] == "unauthorised"]
    assert sum(row["times"] for row in bad) == sum(
        row["times"] for row in report["disclosures"] if row["verdict"] == "unauthorised"
    )
    assert sum(row["times"] for row in bad) == 33
    channels = [sum(row["times"] for row in bad if row["channel"] == f"C{n}") for n in range(1, 8)]
    assert channels == [1, 22, 1, 1, 4, 2, 2]
    assert report["totals"]["presumed"]["values"] == 0


# Small traces.


def test_how_everybody_came_to_know(tmp_path: Path) -> None:
    lines: list[Row] = [{"type": "trace", "id": "t"}]
    lines += [{"type": "actor", "trace": "t", "name": "db", "kind": "tool"}]
    lines += [
        given("t", "boss", seq=0),
        event("t", 1, "boss", ["aide"]),
        event("t", 2, "aide", ["boss"]),
        event("t", 3, "stranger", [{"actor": "clerk", "grade": "consumed"}]),
        event("t", 4, "db", ["stranger"], channel="C4"),
        event("t", 5, "clerk", [{"actor": "guest", "delivered": False}]),
        event("t", 6, None, ["guest"]),
    ]
    with judged(tmp_path, lines, policy("boss", "aide")) as case:
        report = dossier(Shown(case), find_values(case, "account"))
    assert held(report) == [
        ("boss", "initial input", 0, "authorised"),
        ("aide", "message", 1, "authorised"),
        ("stranger", "not recorded", 3, "unauthorised"),
        ("clerk", "message", 3, "unauthorised"),
        ("db", "held by the tool", 4, "not judged"),
        ("guest", "message", 6, "unauthorised"),
    ]
    holders = {h["holder"]: h for h in report["traces"][0]["holders"]}
    assert holders["clerk"]["grade"] == "consumed"
    assert holders["guest"]["sender"] is None
    assert holders["stranger"]["unauthorised_since"]["event"] == "e4"
    assert report["first_seen"]["by"] == "place in the files"
    assert report["traces"][0]["window"]["seconds"] is None


def test_one_value_is_grouped_over_traces_and_ordered_by_the_clock(tmp_path: Path) -> None:
    lines: list[Row] = [{"type": "trace", "id": name} for name in ("late", "early", "silent")]
    lines += [
        event("late", 1, "a", ["b"], time="2026-03-02T10:00:00Z"),
        event("early", 1, "c", ["b"], time="2026-03-01T10:00:00Z"),
        event("early", 2, "b", ["d"], time="2026-03-01T10:00:30Z"),
        event("silent", 1, "a", ["b"], holds="nothing"),
    ]
    with judged(tmp_path, lines, policy()) as case:
        report = dossier(Shown(case), find_values(case, "account"))
    assert [t["trace_id"] for t in report["traces"]] == ["late", "early"]
    assert (report["first_seen"]["trace_id"], report["first_seen"]["by"]) == ("early", "time")
    assert report["last_disclosure"]["trace_id"] == "late"
    (b,) = [h for h in report["holders"] if h["holder"] == "b"]
    assert (b["traces"], b["how"], b["verdicts"]) == (2, {"message": 2}, {"unauthorised": 2})
    assert report["totals"]["holders"] == 4


def test_a_value_nobody_sent_has_an_empty_dossier(tmp_path: Path) -> None:
    lines: list[Row] = [{"type": "trace", "id": "t"}, event("t", 1, "a", ["b"], holds="nothing")]
    with judged(tmp_path, lines, policy()) as case:
        report = dossier(Shown(case), find_values(case, "account"))
    assert (report["traces"], report["first_seen"], report["last_disclosure"]) == ([], None, None)


def test_what_was_given_and_never_sent_is_told(tmp_path: Path) -> None:
    lines: list[Row] = [
        {"type": "trace", "id": "t"},
        given("t", "a", seq=0),
        event("t", 1, "a", ["b"], holds="nothing"),
    ]
    with judged(tmp_path, lines, policy(subject="Ilse Brandvold")) as case:
        report = dossier(Shown(case), find_values(case, "account"))
        about = subject(Shown(case), "Ilse Brandvold")
    assert held(report) == [("a", "initial input", 0, "not judged")]
    assert report["traces"][0]["window"] is None
    assert [(row["recipient"], row["channel"], row["verdict"]) for row in about["reached"]] == [
        ("a", "initial", "not judged")
    ]


def test_values_of_nobody_are_presumed_only_where_nobody_else_is_spoken_of(tmp_path: Path) -> None:
    lines: list[Row] = [{"type": "trace", "id": name} for name in ("alone", "both", "other")]
    lines += [
        event("alone", 1, "a", ["b"], holds=f"{SSN} and {ACCOUNT}"),
        event("both", 1, "a", ["c"], holds=f"{SSN} and {ACCOUNT} and PL-5500-1234"),
        event("other", 1, "a", ["d"], holds=ACCOUNT),
    ]
    values = (
        PolicyValue(attribute="ssn", value=SSN, subject="Ilse Brandvold"),
        PolicyValue(attribute="iban", value="PL-5500-1234", subject="Otto"),
        PolicyValue(attribute="account", value=ACCOUNT),
    )
    with judged(tmp_path, lines, Policy(values=values)) as case:
        report = subject(Shown(case), "ILSE brandvold")
        other = subject(Shown(case), "otto")
    reached = [(r["basis"], r["recipient"], r["attribute"], r["traces"]) for r in report["reached"]]
    assert reached == [("stated", "b", "ssn", 1), ("stated", "c", "ssn", 1), ("presumed", "b", "account", 1)]
    assert report["totals"]["presumed"]["unauthorised_recipients"] == 1
    assert [r["attribute"] for r in other["reached"]] == ["iban"]


def test_a_person_is_known_by_other_names(tmp_path: Path) -> None:
    lines: list[Row] = [{"type": "trace", "id": "t"}, event("t", 1, "a", ["b"], holds=f"{SSN}, I. Brandvold, Ana Lund")]
    values = (
        PolicyValue(attribute="patient_name", value="Ilse Brandvold", aliases=("I. Brandvold",), subject="member 17"),
        PolicyValue(attribute="ssn", value=SSN, subject="Member 17"),
        PolicyValue(attribute="emergency_contact", value="Ana Lund", subject="member 17"),
    )
    roster = (Member(name="Ilse Brandvold", aliases=("the member",)),)
    with judged(tmp_path, lines, Policy(values=values, roster=roster)) as case:
        for name in ("I. Brandvold", "member 17", "the member"):
            assert {r["attribute"] for r in subject(Shown(case), name)["reached"]} == {
                "patient_name",
                "ssn",
                "emergency_contact",
            }
        # Ana is named in a value of somebody else: that is about her, the rest is not.
        ana = subject(Shown(case), "ana lund")
        assert {r["attribute"] for r in ana["reached"]} == {"emergency_contact"}
        assert "Ilse" not in json.dumps(report := subject(Shown(case), "member 17"))
        assert "revealed" not in report
        assert "Ilse" in json.dumps(subject(Shown(case, reveal=True), "member 17"))


def test_names_that_mean_several_values_are_refused_with_a_choice(tmp_path: Path) -> None:
    lines: list[Row] = [{"type": "trace", "id": "t"}, event("t", 1, "a", ["b"]), event("t", 2, "a", ["c"], holds=SSN)]
    values = tuple(PolicyValue(attribute="account", value=v) for v in (ACCOUNT, SSN))
    with judged(tmp_path, lines, Policy(values=values)) as case:
        marks = [m for (m,) in case.rows("SELECT fingerprint FROM vault ORDER BY value")]
        with pytest.raises(CaseError, match="2 values have that name; give one") as error:
            find_values(case, "Account")
        assert ACCOUNT not in str(error.value)
        assert all(f"account#{mark}" in str(error.value) for mark in marks)
        assert find_values(case, "account", many=True) == [0, 1]
        assert find_values(case, f"account#{marks[1]}") == find_value_text(case, "219099999") == [1]
        with pytest.raises(CaseError, match="no protected value"):
            find_values(case, f"iban#{marks[1]}")
        with pytest.raises(CaseError, match="no protected value"):
            find_value_text(case, "  ")


def test_names_of_actors_and_traces_are_looked_up(tmp_path: Path) -> None:
    lines: list[Row] = [{"type": "trace", "id": "7"}, event("7", 1, "a>b", ["c"]), event("7", 2, "a", ["b>c"])]
    roster = (Member(name="c", aliases=("see",)),)
    told = policy()
    with judged(tmp_path, lines, Policy(values=told.values, roster=roster)) as case:
        actors = Actors(case)
        assert actors.find("see") == "c"
        assert actors.find_edge("a>b->c") == ("a>b", "c")
        assert actors.find_edge("a > b>c") == ("a", "b>c")
        assert (find_trace(case, "7"), find_trace(case, "0")) == (0, 0)
        with pytest.raises(CaseError, match="no actor is called"):
            actors.find("z")
