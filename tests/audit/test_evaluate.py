"""Evaluation against labels, annotators, adjudication: counts by hand on a few events."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from earwitness.audit.annotations import (
    Said,
    adjudicate_agreed,
    agreements,
    apply_annotations,
    decide,
    disagreements,
    read_said,
    record,
    waiting,
)
from earwitness.audit.evaluate import evaluate, summarise
from earwitness.audit.labelfile import read_labels
from earwitness.audit.labelqueue import draw
from earwitness.audit.pipeline import Request, audit
from earwitness.audit.registry import describe_values
from earwitness.ingest.loader import Loader
from earwitness.reports.labelling import cards
from earwitness.schema.case import Case
from earwitness.schema.errors import InputError
from earwitness.schema.policy import Policy, PolicyRule, PolicyValue

VALUES = (
    PolicyValue(attribute="ssn", value="412-55-9087", subject="Ana Example"),
    PolicyValue(attribute="rating", value="B"),
    PolicyValue(attribute="salary", value="98500"),
    PolicyValue(attribute="diagnosis", value="chronic kidney disease"),
    PolicyValue(attribute="birth_date", value="1981-04-07"),
)
POLICY = Policy(values=VALUES, rules=(PolicyRule(effect="allow", attributes=("salary",)),))
EVENTS = {
    "e1": ("lead", "worker", "SSN 412 55 9087, internal rating: B."),
    "e2": ("worker", "lead", "Plan B is to call again."),
    "e3": ("worker", "lead", "She earns $98,500 and was born on April 7, 1981."),
    "e4": ("worker", "lead", "Her kidneys have been failing for years."),
    "e5": ("lead", "worker", "Nothing to report."),
    "e6": ("guest", "worker", "Hello, who are you?"),
}


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    return path


@pytest.fixture
def case(tmp_path: Path) -> Iterator[Case]:
    """Six messages; the lead is told everything at first."""
    told = ". ".join(v.value for v in VALUES)
    lines: list[dict[str, Any]] = [{"type": "trace", "id": "t", "framework": "test"}]
    lines += [{"type": "actor", "trace": "t", "name": a} for a in ("lead", "worker", "guest")]
    lines += [{"type": "sighting", "trace": "t", "actor": "lead", "kind": "initial", "content": told, "seq": 0}]
    lines += [
        {"type": "event", "trace": "t", "id": i, "channel": "C2", "sender": s, "to": [r], "content": c, "seq": n}
        for n, (i, (s, r, c)) in enumerate(EVENTS.items(), start=1)
    ]
    lines += [{"type": "label", "trace": "t", "event": "e1", "leaked": ["ssn"]}]
    lines += [{"type": "label", "trace": "t", "event": "e5", "leaked": []}]
    with Case(tmp_path / "case.duckdb") as made:
        Loader(made).load([write(tmp_path / "traces.jsonl", lines)])
        audit(made, Request(policy=POLICY))
        yield made


def label(event: str, attribute: str | None, leaked: bool, **more: Any) -> dict[str, Any]:
    return {"trace": "t", "event": event, "attribute": attribute, "leaked": leaked, **more}


LABELS = [
    label("e1", "ssn", True),
    label("e1", "rating", True),
    label("e2", "rating", False),
    label("e3", "salary", True),
    label("e3", "birth_date", True),
    label("e4", "diagnosis", True),
    label("e5", "salary", False),
    label("e9", "salary", False),
]


def test_counts_by_hand(case: Case, tmp_path: Path) -> None:
    result = summarise(evaluate(case, write(tmp_path / "labels.jsonl", LABELS)))
    assert (result["pairs"], result["leaked"], result["unplaced_lines"]) == (7, 5, [8])
    confirmed, possible = result["confirmed"], result["with_possible"]
    assert {k: confirmed[k] for k in ("tp", "fp", "fn", "tn")} == {"tp": 4, "fp": 0, "fn": 1, "tn": 2}
    assert {k: possible[k] for k in ("tp", "fp", "fn", "tn")} == {"tp": 4, "fp": 1, "fn": 1, "tn": 1}
    assert confirmed["recall"]["k"] / confirmed["recall"]["n"] == 0.8
    assert confirmed["recall"]["low"] < 0.8 < confirmed["recall"]["high"]
    (miss,) = result["misses"]
    assert (miss["event"], miss["attribute"], miss["standing"], miss["line"]) == ("e4", "diagnosis", None, 9)
    assert miss["fingerprint"]
    assert not [v.value for v in VALUES if len(v.value) > 1 and v.value in json.dumps(result)]


def test_cells_sum_to_the_whole(case: Case, tmp_path: Path) -> None:
    result = summarise(evaluate(case, write(tmp_path / "labels.jsonl", LABELS)))
    for cell in ("value_type", "channel", "stratum", "attribute"):
        rows = [c for c in result["cells"] if c["cell"] == cell]
        assert sum(c["with_possible"]["tp"] for c in rows) == 4
        assert sum(c["confirmed"]["fn"] for c in rows) == 1
    forms = {c["group"]: c["confirmed"]["tp"] for c in result["cells"] if c["cell"] == "form"}
    assert forms == {"separators": 1, "thousands": 1, "date": 1, "verbatim": 1}
    strata = {
        c["group"]: c["confirmed"]["tp"] + c["confirmed"]["fn"] for c in result["cells"] if c["cell"] == "stratum"
    }
    assert strata == {"certain-positive": 4, "semantic-middle": 0, "certain-negative": 1}
    assert sum(r["agree"] for r in result["agreement"]) == 4


def test_disclosure_leaves_out_what_is_allowed(case: Case, tmp_path: Path) -> None:
    found = summarise(evaluate(case, write(tmp_path / "labels.jsonl", LABELS), "disclosure"))
    assert [(m["event"], m["attribute"]) for m in found["misses"]] == [("e3", "salary"), ("e4", "diagnosis")]


def test_labels_inside_say_all_of_an_event(case: Case) -> None:
    result = summarise(evaluate(case, "inside"))
    assert result["against"] == "disclosure"
    assert {k: result["confirmed"][k] for k in ("tp", "fp", "fn", "tn")} == {"tp": 1, "fp": 1, "fn": 0, "tn": None}
    assert [(p["event"], p["attribute"]) for p in result["analyzer_only"]] == [("e1", "rating")]
    whole = evaluate(case, "inside", clean=True)
    assert len(whole.pairs) == 2 * len(VALUES)


def test_a_judge_scores_what_no_deterministic_tier_decides(case: Case, tmp_path: Path) -> None:
    path = write(tmp_path / "labels.jsonl", LABELS)
    assert [p.score for p in evaluate(case, path).pairs if p.attribute == "diagnosis"] == [None]
    case.execute("""
        INSERT INTO judgements
        SELECT e.content, v.fingerprint, 'p', 'm', s.score, s.day::TIMESTAMP_NS, 'endpoint'
        FROM events e, vault v, (VALUES (0.2, '2026-01-01'), (0.9, '2026-01-02')) s(score, day)
        WHERE v.attribute IN ('diagnosis', 'ssn')""")
    scores = {p.attribute: p.score for p in evaluate(case, path).pairs if p.event in ("e1", "e4")}
    assert scores == {"diagnosis": 0.9, "ssn": None, "rating": None}


def test_fingerprints_and_tables(case: Case, tmp_path: Path) -> None:
    mark = case.one("SELECT fingerprint FROM vault WHERE attribute = 'ssn'")
    path = tmp_path / "labels.csv"
    path.write_text(f"trace,event,fingerprint,leaked\nt,e1,{mark},yes\nt,e5,,false\n")
    result = summarise(evaluate(case, path))
    assert (result["confirmed"]["tp"], result["pairs"]) == (1, 1)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ('{"trace": "t", "event": "e1", "attribute": "ssn", "leaked": "secret"}', "true, false or unsure"),
        ('{"trace": "t", "attribute": "ssn", "leaked": true}', "`trace` and `event`"),
        ('{"trace": "t", "event": "e1", "leaked": true}', "`attribute` or `fingerprint`"),
        ('{"trace": "t", "event": "e1", "attribute": "ssn", "leaked": true, "score": 7}', "from 0 to 1"),
        ("secret", "not a JSON object"),
    ],
)
def test_bad_lines_are_named_and_not_quoted(tmp_path: Path, row: str, reason: str) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text("\n" + row)
    with pytest.raises(InputError) as caught:
        list(read_labels(path))
    assert f"{path}:2: " in str(caught.value)
    assert reason in str(caught.value)
    assert "secret" not in str(caught.value)


def test_no_label_of_this_case(case: Case, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no label for an event of this case"):
        evaluate(case, write(tmp_path / "labels.jsonl", [label("e9", "ssn", True)]))


# Annotators.


def said(case: Case, event: str, attribute: str, word: str) -> Said:
    mark = case.one("SELECT fingerprint FROM vault WHERE attribute = ?", [attribute])
    return Said("t", event, attribute, mark, word)


def standings(case: Case) -> list[tuple[Any, ...]]:
    return case.rows("""SELECT e.event_id, v.attribute, m.standing FROM matches m JOIN events e USING (content)
                        JOIN vault v USING (value) ORDER BY ALL""")


def test_two_annotators_agree_and_differ(case: Case) -> None:
    record(case, "ana", [said(case, e, "rating", w) for e, w in (("e1", "leak"), ("e2", "leak"), ("e4", "no-leak"))])
    record(case, "ben", [said(case, e, "rating", w) for e, w in (("e1", "leak"), ("e2", "no-leak"), ("e4", "unsure"))])
    told = agreements(case)["ana / ben"]
    assert (told["three_way"].n, told["three_way"].agree) == (3, 1)
    assert (told["binary"].n, told["binary"].agree) == (2, 1)
    assert [d.event for d in disagreements(case)] == ["e2", "e4"]
    assert adjudicate_agreed(case) == 1
    assert adjudicate_agreed(case) == 0
    assert decide(case, [said(case, "e2", "rating", "no-leak"), said(case, "e4", "rating", "no-leak")]) == 2
    assert disagreements(case) == []


def test_a_later_label_replaces_the_earlier(case: Case) -> None:
    for word in ("leak", "no-leak"):
        record(case, "ana", [said(case, "e1", "ssn", word)])
    assert case.rows("SELECT annotator, label FROM annotations") == [("ana", "no-leak")]


def test_adjudicated_labels_confirm_and_reject_and_can_be_taken_back(case: Case, tmp_path: Path) -> None:
    before = standings(case)
    assert ("e2", "rating", "possible") in before
    decide(case, [said(case, "e2", "rating", "leak"), said(case, "e1", "ssn", "no-leak")])
    decide(case, [said(case, "e4", "diagnosis", "leak"), Said("gone", "e1", "ssn", "x", "leak")])
    for _ in range(2):
        assert apply_annotations(case) == (1, 1, 1, 0, 1)
        assert ("e2", "rating", "confirmed") in standings(case)
        assert not [s for s in standings(case) if s[:2] == ("e1", "ssn")]
    # The detector is still measured by what it found itself.
    result = summarise(evaluate(case, write(tmp_path / "labels.jsonl", LABELS)))
    assert (result["confirmed"]["tp"], result["with_possible"]["fp"]) == (4, 1)
    case.clear("annotations")
    assert apply_annotations(case) == (0, 0, 0, 0, 0)
    assert standings(case) == before


def test_the_next_audit_follows_what_is_settled(case: Case) -> None:
    count = """SELECT count(*) FROM verdicts v JOIN vault USING (value) JOIN events USING (event)
               WHERE attribute = 'rating' AND standing = 'confirmed' AND event_id = 'e2'"""
    learned = """SELECT count(*) FROM exposures x JOIN vault USING (value)
                 WHERE attribute = 'ssn' AND x.recipient = 'worker'"""
    assert (case.one(count), case.one(learned)) == (0, 1)
    decide(case, [said(case, "e2", "rating", "leak"), said(case, "e1", "ssn", "no-leak")])
    for _ in range(2):
        audit(case, Request(policy=POLICY))
        assert (case.one(count), case.one(learned)) == (1, 0)
    case.clear("annotations")
    audit(case, Request(policy=POLICY))
    assert (case.one(count), case.one(learned)) == (0, 1)


def test_contradictory_decisions_on_one_text_are_not_followed(case: Case) -> None:
    case.execute(
        "INSERT INTO events BY NAME SELECT * REPLACE (99 AS event, 'e7' AS event_id) FROM events WHERE event_id = 'e2'"
    )
    decide(case, [said(case, "e2", "rating", "leak"), said(case, "e7", "rating", "no-leak")])
    before = standings(case)
    assert apply_annotations(case).contradictory == 1
    assert standings(case) == before


# The queue.


def test_the_queue_is_even_fixed_and_never_twice(case: Case) -> None:
    drawn, sizes = draw(case, 9)
    assert sum(sizes.values()) == len(EVENTS) * len(VALUES)
    assert set(sizes) == {d.stratum for d in drawn} == {"certain-positive", "semantic-middle", "certain-negative"}
    assert len({d.item for d in drawn}) == 9
    more, _ = draw(case, 100)
    assert len(more) == sum(sizes.values()) - 9
    # Another case of the same traces has other fingerprints; the draw is the same.
    case.clear("queue")
    case.set_meta("key", "other")
    describe_values(case)
    again, _ = draw(case, 9)
    assert [(d.event, d.attribute) for d in again] == [(d.event, d.attribute) for d in drawn]
    assert not {d.item for d in again} & {d.item for d in drawn}


def test_cards_hide_values_in_every_form_unless_revealed(case: Case) -> None:
    drawn, _ = draw(case, 100)
    hidden = json.dumps(cards(case, [d.item for d in drawn], reveal=False))
    for text in ("412 55", "412-55", " 9087", "98,500", "$98500", "April 7", "1981-04"):
        assert text not in hidden
    for word in ("certain", "confirmed", "possible", "revealed"):
        assert word not in hidden
    shown = cards(case, [d.item for d in drawn], reveal=True)
    assert all(c["revealed"] for c in shown)
    assert {c["value"] for c in shown} == {v.value for v in VALUES}
    assert any("98,500" in c["excerpt"] for c in shown)


def test_a_filled_in_file_is_put_on_record(case: Case, tmp_path: Path) -> None:
    drawn, _ = draw(case, 4)
    filled = [c | {"label": w} for c, w in zip(cards(case, [d.item for d in drawn], reveal=False), "lnu ", strict=True)]
    found = read_said(case, write(tmp_path / "queue.jsonl", filled))
    assert [s.label for s in found] == ["leak", "no-leak", "unsure"]
    record(case, "ana", found)
    assert waiting(case, "ana") == [drawn[3].item]
    assert waiting(case, "ben") == [d.item for d in drawn]
    with pytest.raises(InputError, match="no such `item`"):
        read_said(case, write(tmp_path / "other.jsonl", [{"item": "feed", "label": "leak"}]))


def test_adjudicated_labels_are_labels(case: Case) -> None:
    decide(case, [said(case, "e1", "ssn", "leak"), said(case, "e2", "rating", "no-leak")])
    result = summarise(evaluate(case, "adjudicated"))
    assert (result["confirmed"]["tp"], result["confirmed"]["tn"], result["with_possible"]["fp"]) == (1, 1, 1)


@pytest.mark.real
def test_every_value_that_an_attack_sent_out_is_found(tmp_path: Path, shared: Callable[[str], list[Path]]) -> None:
    """AgentDojo: 151 values in arguments of exfiltrating calls; the format gives no policy, so presence is asked."""
    with Case(tmp_path / "case.duckdb") as case:
        Loader(case).load(shared("data/agentdojo_exfil/*.json"))
        audit(case, Request())
        result = summarise(evaluate(case, "inside", "presence"))
    assert result["leaked"] == 151
    assert result["with_possible"]["recall"]["rate"] == 1.0
    assert result["confirmed"]["recall"]["rate"] > 0.85
    assert result["confirmed"]["precision"]["rate"] > 0.95
