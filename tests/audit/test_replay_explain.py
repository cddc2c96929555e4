"""One occurrence explained: every step by hand, what is refused, what is never shown."""

import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from earwitness.audit import ner
from earwitness.audit.pipeline import STAGES, audit, read_request
from earwitness.audit.replay import condition
from earwitness.audit.replay.anonymizer import PresidioKit
from earwitness.audit.replay.condition import Condition, find, shipped
from earwitness.audit.replay.explain import explain, fates, wanted
from earwitness.audit.replay.explain_names import drop_names, find_named, name_all
from earwitness.audit.replay.explain_pieces import Cut, cuts, joined_cuts, stretches
from earwitness.audit.replay.replay import Request, replay
from earwitness.audit.rulesets import DEFAULT, LITERAL
from earwitness.audit.transform.keys import Keys
from earwitness.audit.transform.options import Options
from earwitness.audit.transform.splice import transform
from earwitness.audit.transform.toolkit import Toolkit
from earwitness.audit.transform.words import ACTIONS, EXCEPTIONS, Task
from earwitness.audit.transform.words import CAUSES as FELL_BACK
from earwitness.ingest.loader import Loader
from earwitness.reports import replay_explain_words as words
from earwitness.reports.replay_explain import explained, has_residual
from earwitness.reports.replay_explain_excerpt import Label, around, near, replaced, settled
from earwitness.reports.shown import Shown
from earwitness.schema.case import Case
from earwitness.schema.errors import CaseError, InputError
from earwitness.schema.model import Actor, Event, Line, Trace
from earwitness.schema.words import CAUSES, GRADES

GOLDEN = Path(__file__).parents[1] / "golden" / "replay"
TEN = GOLDEN / "ten-events"
KEYS = Keys(bytes(range(32)))
ALL = [c for c in shipped().values() if c.detector != "presidio"]
SSN = "536-22-8417"
Row = dict[str, Any]


def loaded(case: Case, folder: Path, conditions: Sequence[Condition] = ALL) -> None:
    Loader(case).load([folder / "traces.jsonl"])
    audit(case, read_request(folder / "policy.yaml", None, DEFAULT))
    replay(case, Request(list(conditions), KEYS))


@pytest.fixture(scope="module")
def ten() -> Iterator[Case]:
    with Case() as case:
        loaded(case, TEN)
        yield case


def handle(case: Case, event: str, attribute: str, recipient: str | None) -> str:
    """The handle of an occurrence, by what it is."""
    name_all(case)
    found = case.rows(
        """SELECT n.name FROM rp_name n JOIN events e USING (event) JOIN vault v ON v.value = n.value
           WHERE e.event_id = ? AND v.attribute = ? AND n.recipient IS NOT DISTINCT FROM ? ORDER BY n.name""",
        [event, attribute, recipient],
    )
    drop_names(case)
    return str(found[0][0])


def handles(case: Case) -> list[str]:
    name_all(case)
    found = [name for (name,) in case.rows("SELECT name FROM rp_name ORDER BY event, value, recipient")]
    drop_names(case)
    return found


# Ten events, worked out by hand.

TABLE: list[Row] = yaml.safe_load((GOLDEN / "explain-ten-events.yaml").read_text())


def plain(text: str) -> str:
    """Without what depends on a key: fingerprints, and lengths of pseudonyms."""
    return re.sub(r"<pseudonym, \d+ characters>", "<pseudonym>", re.sub(r" #[0-9a-f]{8}\]", " #]", text))


def rule(told: Row | None) -> list[Any] | None:
    return None if told is None else [told["rule"], told["line"]]


def worked(report: Row) -> Row:
    """What the golden file says of a report, by its keys."""
    step, told, truth = report["steps"][0], report["record"], report["truth"]
    record = {k: told[k] for k in ("channel", "sender", "recipient", "recipient_kind", "grade", "origin")}
    return {
        "record": {"line": told["at"]["line"], **record},
        "hops": told["hops"],
        "distance": told["distance"],
        "truth": [truth["verdict"], truth["rule"]["rule"], truth["rule"]["line"]],
        "by_field": [truth["by_field"], truth["field_rule"]["rule"], truth["field_rule"]["line"]],
        **{k: step[k] for k in ("resolved", "closed", "floor")},
        "places": [place(p) for p in step["places"]],
        "measured": step["measured"]["why"],
        "fate": [step["remains"], step["downstream"], step["cause"]],
        "tellers": [
            f"{t['at']['event']} {t['sender']} {'still' if t['downstream'] else 'gone'}" for t in step["tellers"]
        ],
    }


def place(told: Row) -> Row:
    kept = ("span", "entity", "recognizers", "confidence", "uncertain", "attribute", "action", "reason")
    finds = [{k: f[k] for k in kept} | {"rule": rule(f["rule"])} for f in told["finds"]]
    texts = {k: plain(told[k]) for k in ("before", "after")}
    return {k: told[k] for k in ("span", "form", "transforms")} | {"finds": finds} | texts


@pytest.mark.parametrize("row", TABLE, ids=lambda r: f"{r['occurrence']}, {r['plan']}")
def test_steps_as_worked_out_by_hand(row: Row, ten: Case) -> None:
    event, attribute, recipient = row["occurrence"].split()
    name, setting = row["plan"].split(", ")
    word = handle(ten, event, attribute, None if recipient == "-" else recipient)
    report = explained(Shown(ten), word, [name], [setting], TEN / "policy.yaml")
    found = worked(report)
    assert {k: found[k] for k in row if k in found} == {k: v for k, v in row.items() if k not in ("occurrence", "plan")}
    assert report["occurrence"] == word
    assert has_residual(report) == (row["fate"][2] is not None)


def test_the_table_of_all_conditions_is_what_the_replay_stored(ten: Case) -> None:
    report = explained(Shown(ten), handle(ten, "e9", "ssn", "smtp"), [], ["paper"], None)
    assert [s["condition"] for s in report["steps"]] == ["dynamic"]
    assert [f["condition"] for f in report["conditions"][::2]] == [c.name for c in ALL]
    stored = ten.rows("""SELECT condition, setting, action, remains, downstream, cause FROM replays
                         JOIN events e USING (event) JOIN vault v USING (value)
                         WHERE e.event_id = 'e9' AND v.attribute = 'ssn'""")
    told = [tuple(f[k] for k in ("condition", "setting", "action", "remains", "downstream", "cause"))
            for f in report["conditions"]]  # fmt: skip
    assert sorted(told, key=str) == sorted(stored, key=str)
    # No line is told without the file.
    assert report["truth"]["rule"]["line"] is None


def test_every_occurrence_of_every_condition_agrees_with_what_is_stored(ten: Case) -> None:
    """The check that the steps lead to what is stored is made inside; nothing of the case changes."""
    names, both = [c.name for c in ALL], ["paper", "extended"]
    before = {t: ten.rows(f"SELECT hash(list(x ORDER BY hash(x))) FROM {t} x") for t in tables(ten)}
    some = handles(ten)[::2]
    name_all(ten)
    for word in some:
        named = find_named(ten, word)
        known = fates(ten, named)
        assert len(explain(ten, named, known, wanted(known, names, both))) == len(known) == 2 * len(names)
    drop_names(ten)
    assert before == {t: ten.rows(f"SELECT hash(list(x ORDER BY hash(x))) FROM {t} x") for t in tables(ten)}


def tables(case: Case) -> list[str]:
    return [t for (t,) in case.rows("SELECT table_name FROM duckdb_tables() ORDER BY ALL")]


# Small traces: what the ten events have none of.

POLICY = f"""
roster: [{{name: a}}, {{name: b}}]
unlisted: introduced
values:
  - {{attribute: ssn, value: "{SSN}", value_type: format_dependent}}
  - {{attribute: pin, value: "4521", value_type: format_dependent}}
  - {{attribute: visits, value: "%s", value_type: value_dependent}}
  - {{attribute: plan, value: move the depot to Tallow Street, value_type: contextual}}
rules:
  - {{id: a-knows, effect: allow, recipients: [a]}}
  - {{id: b-has-no-pin, effect: sanitize, attributes: [pin], recipients: [b]}}
"""


@pytest.fixture
def case() -> Iterator[Case]:
    with Case() as case:
        yield case


def event(n: int, sender: str | None, to: tuple[str, ...], content: str, channel: str = "C2") -> Event:
    return Event(trace="t", id=f"e{n}", seq=n, channel=channel, sender=sender, to=to, content=content)  # type: ignore[arg-type]


def small(case: Case, folder: Path, lines: list[Line], conditions: Sequence[Condition], policy: str = "") -> None:
    every: list[Line] = [Trace(id="t", scenario="s"), *lines]
    (folder / "traces.jsonl").write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in every))
    (folder / "policy.yaml").write_text(policy or POLICY % "8841")
    loaded(case, folder, conditions)


def step(case: Case, *what: str, conditions: Sequence[str] = ("oracle",), reveal: bool = False) -> Row:
    event, attribute, recipient = what
    report = explained(
        Shown(case, reveal=reveal), handle(case, event, attribute, recipient), conditions, ["extended"], None
    )
    found: Row = report["steps"][0]
    return found


def test_too_short_for_a_cipher(case: Case, tmp_path: Path) -> None:
    small(case, tmp_path, [event(1, "a", ("b",), "the pin is 4521, really")], [find("oracle")])
    told = step(case, "e1", "pin", "b")
    (made,) = told["places"][0]["transforms"]
    assert (made["asked"], made["done"], made["exception"], made["tries"]) == ("fpe", "fpe", "short_domain", 1)
    assert told["rule"]["rule"] == "b-has-no-pin"
    assert told["rule"]["selectors"] == {"attributes": ["pin"], "recipients": ["b"]}
    assert plain(told["places"][0]["after"]) == "the pin is <fpe, 4 characters>, really"


def test_what_is_found_again_after_the_transform(case: Case, tmp_path: Path) -> None:
    """Noise may leave a count as it was: of these counts it does so to some, under this key."""
    policy = POLICY.partition("values:")[0] + "values:\n"
    policy += "".join(
        f"  - {{attribute: visits, value: '{n}', value_type: value_dependent}}\n" for n in range(8840, 8848)
    )
    lines: list[Line] = [event(n, "a", ("c",), f"{n} visits are 88{40 + n}") for n in range(8)]
    small(case, tmp_path, lines, [find("oracle")], policy)
    causes = [r for (r,) in case.rows("SELECT cause FROM replays WHERE setting = 'extended' ORDER BY event")]
    assert set(causes) == {None, "post_transform"}
    for n, cause in enumerate(causes):
        told = step(case, f"e{n}", "visits", "c")
        (made,) = told["places"][0]["transforms"]
        assert told["cause"] == cause
        assert told["measured"]["why"] == ("same" if cause else "nothing")
        assert made["as_before"] == bool(cause)
        assert plain(told["places"][0]["after"]) == f"{n} visits are <mldp, 4 characters>"


def test_each_place_is_told_with_its_form(case: Case, tmp_path: Path) -> None:
    text = f"SSN {SSN}, once more 536 22 8417, and \\u0035\\u0033\\u0036-22-8417"
    small(case, tmp_path, [event(1, "a", ("c",), text)], [find("blanket"), find("oracle")])
    places = step(case, "e1", "ssn", "c")["places"]
    assert [p["form"] for p in places] == ["verbatim", "separators", "json"]
    assert SSN not in str(places)
    assert all("8417" not in p["before"] + p["after"] for p in places)


def test_a_value_split_over_messages(case: Case, tmp_path: Path) -> None:
    lines: list[Line] = [
        event(1, "a", ("c",), "we shall move the depot"),
        event(2, "a", ("c",), "to Tallow Street, I hear"),
    ]
    small(case, tmp_path, lines, [find("dynamic"), find("oracle")])
    missed, seen = (step(case, "e2", "plan", "c", conditions=[c]) for c in ("dynamic", "oracle"))
    assert (missed["cause"], missed["measured"]["why"]) == ("detection_miss", "unchanged")
    assert (seen["cause"], seen["measured"]["why"]) == (None, "nothing")
    assert seen["places"][0]["after"].startswith("<redact")


def test_a_text_that_is_blocked(case: Case, tmp_path: Path) -> None:
    blocking = Condition(name="blocking", transforms={"format_dependent": "block"})
    small(case, tmp_path, [event(1, "a", ("c",), f"the SSN {SSN} of somebody")], [blocking])
    (tmp_path / "c.yaml").write_text("name: blocking\ntransforms: {format_dependent: block}\n")
    told = step(case, "e1", "ssn", "c", conditions=[str(tmp_path / "c.yaml")])
    assert told["places"][0]["after"] == "<block, 9 characters>"


def test_initial_inputs_and_senders_nobody_knows(case: Case, tmp_path: Path) -> None:
    small(case, tmp_path, [event(1, None, ("a",), f"SSN {SSN}"), event(2, "c", ("a",), f"SSN {SSN}")], [find("none")])
    for name in ("e1", "e2"):
        told = step(case, name, "ssn", "a", conditions=["none"])
        assert (told["given"], told["tellers"], told["downstream"]) == (False, [], True)


def test_what_is_found_too_unsurely_does_not_count(case: Case, tmp_path: Path) -> None:
    """The policy asks for more on this channel than a form behind an encoding has."""
    hidden = b64encode(f"the number is {SSN}".encode()).decode()
    lines: list[Line] = [event(1, "a", ("c",), f"SSN {SSN}, and once more {hidden} as it came.")]
    policy = POLICY % "8841"
    small(case, tmp_path, lines, [find("blanket")], policy)
    assert step(case, "e1", "ssn", "c", conditions=["blanket"])["measured"]["why"] == "found"
    with Case() as other:
        small(other, tmp_path, lines, [find("blanket")], policy + "confidence: {C2: 0.98}\n")
        told = step(other, "e1", "ssn", "c", conditions=["blanket"])
    assert (told["measured"]["why"], told["measured"]["floor"], told["remains"]) == ("below_floor", 0.98, False)
    assert [h["form"] for h in told["measured"]["hits"]] == ["base64"]


def test_a_name_that_others_share_does_not_count_alone(case: Case, tmp_path: Path) -> None:
    """The number said who is meant; once it is gone the name may be another's."""
    people = [("name", "Ann Lee", "one"), ("name", "Ann Lee", "two"), ("ssn", SSN, "one")]
    values = "".join(f"  - {{attribute: {a}, value: '{v}', subject: {who}}}\n" for a, v, who in people)
    policy = POLICY.partition("values:")[0] + "values:\n" + values
    by_number = Condition(name="by number", decision="all_detected")
    small(case, tmp_path, [event(1, "a", ("c",), f"ann lee {SSN} came")], [by_number], policy)
    (tmp_path / "c.yaml").write_text("name: by number\ndecision: all_detected\n")
    told = step(case, "e1", "name", "c", conditions=[str(tmp_path / "c.yaml")])
    assert (told["measured"]["why"], told["remains"]) == ("namesake", False)
    assert told["places"][0]["finds"] == []


def test_what_a_judge_had_confirmed_counts_until_its_place_is_changed(case: Case, tmp_path: Path) -> None:
    text = f"they will leave for the other street; SSN {SSN}"
    (tmp_path / "policy.yaml").write_text(POLICY % "8841")
    (tmp_path / "traces.jsonl").write_bytes(
        b"".join(msgspec.json.encode(line) + b"\n" for line in (Trace(id="t"), event(1, "a", ("c",), text)))
    )
    request = read_request(tmp_path / "policy.yaml", None, DEFAULT)
    Loader(case).load([tmp_path / "traces.jsonl"])
    audit(case, request)
    case.execute("""
        INSERT INTO matches SELECT e.content, v.value, 0, 36, 1, 3, 'semantic', 0.9, 'confirmed', NULL
        FROM events e, vault v WHERE v.attribute = 'plan'
    """)
    audit(case, request, STAGES[2:])
    replay(case, Request([find("dynamic"), find("oracle")], KEYS))
    left, gone = (step(case, "e1", "plan", "c", conditions=[c]) for c in ("dynamic", "oracle"))
    assert (left["measured"]["why"], left["cause"]) == ("vouched", "detection_miss")
    assert (gone["measured"]["why"], gone["remains"]) == ("nothing", False)
    assert left["places"][0]["form"] == "semantic"


def test_what_stands_in_the_request_is_spared(case: Case, tmp_path: Path) -> None:
    """By the published rule."""
    lines = (Trace(id="t", request=f"Is it {SSN}?"), event(1, "a", ("c",), f"SSN {SSN}!"))
    (tmp_path / "traces.jsonl").write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    (tmp_path / "policy.yaml").write_text(POLICY % "8841")
    Loader(case).load([tmp_path / "traces.jsonl"])
    audit(case, read_request(tmp_path / "policy.yaml", None, LITERAL))
    replay(case, Request([find("dynamic")], KEYS))
    report = explained(Shown(case), handles(case)[0], [], ["extended"], None)
    assert report["truth"]["rule"]["rule"] == "in-request"
    assert report["steps"][0]["reason"] == "in request"


# Names.


def test_handles_stay_and_their_beginnings_will_do(ten: Case) -> None:
    first = handles(ten)
    assert first == handles(ten)
    assert len(set(first)) == len(first) == 14
    digits = name_all(ten)
    assert digits == 8
    for name in first:
        assert find_named(ten, name[:digits]).name == name
        assert find_named(ten, f" {name.upper()} ").name == name
    drop_names(ten)


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("abc", "at least 4 hexadecimal digits"),
        (SSN, "at least 4 hexadecimal digits"),
        ("'; DROP TABLE replays", "at least 4 hexadecimal digits"),
        ("0000000000ff", "no occurrence of that handle"),
    ],
)
def test_unknown_handles(word: str, told: str, ten: Case) -> None:
    with pytest.raises(InputError, match=told) as error:
        explained(Shown(ten), word, [], ["paper"], None)
    assert "earwitness replay list" in str(error.value)
    assert word not in str(error.value)
    assert not [t for t in tables(ten) if t.startswith("rp_")]


def test_a_value_that_stands_in_the_vault_twice_has_two_handles(case: Case, tmp_path: Path) -> None:
    """Same event, attribute, fingerprint and recipient: then they are numbered."""
    twins = "".join(f"  - {{attribute: ssn, value: '{SSN}'{more}}}\n" for more in ("", ", scenario: s"))
    policy = POLICY.partition("values:")[0] + "values:\n" + twins
    small(case, tmp_path, [event(1, "a", ("c",), f"SSN {SSN}")], [find("none")], policy)
    one, other = handles(case)
    assert other == f"{one}-2"
    with pytest.raises(InputError, match=f"2 occurrences have that handle; give more of it: {one}, {other}"):
        explained(Shown(case), one[:6], [], ["paper"], None)
    assert [explained(Shown(case), w, [], ["paper"], None)["occurrence"] for w in (one, other)] == [one, other]


# What is refused.


def test_conditions_that_were_not_replayed(case: Case, tmp_path: Path) -> None:
    mine = Condition(name="mine", decision="static")
    small(case, tmp_path, [event(1, "a", ("c",), f"SSN {SSN}")], [find("dynamic"), mine])
    (word,) = handles(case)
    for name, told in (("oracle", "was not replayed"), ("mine", "came from a file"), ("reckless", "no such condition")):
        with pytest.raises(InputError, match=told):
            explained(Shown(case), word, [name], ["paper"], None)
    (tmp_path / "mine.yaml").write_text("name: mine\ndecision: static\n")
    assert (
        explained(Shown(case), word, [str(tmp_path / "mine.yaml")], ["paper"], None)["steps"][0]["condition"] == "mine"
    )
    (tmp_path / "mine.yaml").write_text("name: mine\ndecision: all_detected\n")
    with pytest.raises(CaseError, match="is not what comes out now"):
        explained(Shown(case), word, [str(tmp_path / "mine.yaml")], ["paper"], None)


def test_a_case_that_changed_since_is_refused(case: Case, tmp_path: Path) -> None:
    with pytest.raises(CaseError, match="nothing was replayed"):
        explained(Shown(case), "abcdef", [], ["paper"], None)
    small(case, tmp_path, [event(1, "a", ("c",), f"SSN {SSN}")], [find("dynamic")])
    (word,) = handles(case)
    case.execute("UPDATE replays SET confidence = 0.5")
    with pytest.raises(CaseError, match=r"is not what comes out now.*earwitness audit .* and `earwitness replay"):
        explained(Shown(case), word, [], ["paper"], None)
    case.execute("UPDATE replays SET confidence = 0.95")
    assert explained(Shown(case), word, [], ["paper"], None)["steps"]
    case.execute("UPDATE replay_texts SET text = 'another text'")
    with pytest.raises(CaseError, match="is not what comes out now"):
        explained(Shown(case), word, [], ["paper"], None)
    audit(case, read_request(tmp_path / "policy.yaml", None, DEFAULT))
    with pytest.raises(CaseError, match="audited anew since the last replay"):
        explained(Shown(case), word, [], ["paper"], None)


def test_the_policy_must_be_that_of_the_audit(ten: Case, tmp_path: Path) -> None:
    other = tmp_path / "policy.yaml"
    other.write_text("# another line\n" + (TEN / "policy.yaml").read_text())
    with pytest.raises(InputError, match="not the policy of the last audit"):
        explained(Shown(ten), handles(ten)[0], [], ["paper"], other)


# What is shown.


def test_revealed_is_stamped_and_in_clear(ten: Case) -> None:
    report = explained(Shown(ten, reveal=True), handle(ten, "e2", "ssn", "reviewer"), [], ["paper"], None)
    told = report["steps"][0]["places"][0]
    assert report["revealed"] is True
    assert report["value"]["text"] == SSN
    assert told["before"] == f"Please check the SSN {SSN}."
    assert re.fullmatch(r"Please check the SSN \d{3}-\d{2}-\d{4}\.", told["after"])
    assert SSN not in told["after"]


_SECRETS = [SSN, "4521", "8841", "move the depot to Tallow Street"]
_WORDS = st.sampled_from(
    [*_SECRETS, "536 22 8417", "NTM2LTIyLTg0MTc=", "SSN", "[bold]", "\x1b[31m", "pin:", "\n", '{"a":', "}"]
)
_SAID = st.lists(_WORDS, min_size=1, max_size=12)


@settings(max_examples=4)
@example(said=[["NTM2LTIyLTg0MTc="] * 3])
@given(said=st.lists(_SAID, min_size=1, max_size=3))
def test_no_value_is_shown_whatever_was_said(tmp_path_factory: pytest.TempPathFactory, said: list[list[str]]) -> None:
    lines: list[Line] = [event(n, "a", ("b", "c"), f"{n}: {' '.join(words)}") for n, words in enumerate(said)]
    with Case() as case:
        small(case, tmp_path_factory.mktemp("said"), lines, [find("dynamic"), find("oracle")])
        for word in handles(case):
            report = explained(Shown(case), word, ["dynamic", "oracle"], ["extended"], None)
            # Hashes, handles and counts are no texts of the trace.
            shown = " ".join(p[k] for s in report["steps"] for p in s["places"] for k in ("before", "after"))
            text = re.sub(r"#[0-9a-f]{8}", "#", shown)
            assert not any(secret in text for secret in [*_SECRETS, "536 22 8417", "NTM2LTIyLTg0MTc="])


def test_a_value_of_another_run_is_masked_in_the_text_around(case: Case, tmp_path: Path) -> None:
    """Its scope is another scenario, so that it is no find of this one; a report shows it no more than its own."""
    policy = POLICY % "8841" + "default: sanitize\n"
    other = "  - {attribute: account, value: QX-7741-0098-35, scenario: elsewhere}\nrules:"
    lines: list[Line] = [event(1, "a", ("c",), f"SSN {SSN}, account QX-7741-0098-35.")]
    small(case, tmp_path, lines, [find("none")], policy.replace("rules:", other))
    (at,) = step(case, "e1", "ssn", "c", conditions=["none"])["places"]
    assert plain(re.sub(r"#[0-9a-f]{12}", "#", at["before"])) == "SSN [ssn #], account [account #]."


_SPANS = st.lists(st.tuples(st.integers(0, 80), st.integers(1, 15)), max_size=6)


@settings(max_examples=200)
@given(spans=_SPANS, pieces=_SPANS, at=st.integers(0, 80))
def test_what_is_labelled_is_never_shown(spans: list[tuple[int, int]], pieces: list[tuple[int, int]], at: int) -> None:
    """Capitals stand for what is protected: none of them comes through."""
    hidden = {n for a, size in spans for n in range(a, a + size)}
    text = "".join("X" if n in hidden else "q" for n in range(100))
    labels = settled(Label(a, a + size, "[v]", a % 2 == 0) for a, size in spans)
    cut = settled(Label(a, a + size, "<p>") for a, size in pieces)
    assert all(a.stop <= b.start for some in (labels, cut) for a, b in pairwise(some))
    focus = (at, at + 5)
    for shown in (labels, replaced(labels, cut)):
        assert all(a.stop <= b.start for a, b in pairwise(shown))
        out = around(text, focus, near(shown, focus), str)
        assert "X" not in out
    gone = {n for k in [*labels, *cut] for n in range(k.start, k.stop)}
    assert around(text, focus, replaced(labels, cut), str).count("q") <= 100 - len(gone)


def test_only_so_much_of_the_text_around_is_shown() -> None:
    text = "a" * 500 + " SECRET " + "b" * 500
    out = around(text, (501, 507), [Label(501, 507, "[v]", True)], str)
    assert out == "..." + "a" * 59 + " [v] " + "b" * 59 + "..."
    assert around("x SECRET y", (2, 8), [Label(2, 8, "[v]", True)], str) == "x [v] y"


# Pieces of a changed text.

_TEXTS = st.text('ab c{}":,1\\n', max_size=40)


@settings(max_examples=200)
@given(text=_TEXTS, spans=st.lists(st.tuples(st.integers(0, 40), st.integers(1, 12)), max_size=4), data=st.data())
def test_pieces_are_found_in_the_text_they_were_put_into(
    text: str, spans: list[tuple[int, int]], data: st.DataObject
) -> None:
    actions = st.sampled_from(["redact", "pseudonym", "fpe", "rewrite", "mldp"])
    tasks = [Task(a, a + n, "x", None, "contextual", text[a : a + n], data.draw(actions)) for a, n in spans]
    made = transform(text, tasks, Toolkit(KEYS, Options()))
    found = cuts(text, tasks)
    assert [c.asked for c in found] == [p.asked for p in made.pieces]
    told = stretches(text, made.text, found)
    assert told is not None
    assert [c for s in told for c in s.cuts] == found
    at, pieces = 0, list(made.pieces)
    for stretch in told:
        some, pieces = pieces[: len(stretch.cuts)], pieces[len(stretch.cuts) :]
        assert (stretch.low, stretch.high) == (some[0].start, some[-1].stop)
        at = max(at, stretch.high)


def test_replacements_that_cannot_be_told_apart_are_told_as_one() -> None:
    found = [Cut(0, 2, "pseudonym", (0, 2)), Cut(3, 5, "pseudonym", (3, 5)), Cut(8, 9, "fpe", (8, 9))]
    told = stretches("aa bb, c", "x y z, w", [*found[:2], Cut(7, 8, "fpe", (7, 8))])
    assert told is not None
    assert [(len(s.cuts), s.low, s.high) for s in told] == [(2, 0, 5), (1, 7, 8)]
    assert stretches("aa bb", "aa cc", []) is None
    assert stretches("aa bb, c", "xx", found[:2]) is None


def test_a_trace_that_names_things_after_values(case: Case, tmp_path: Path) -> None:
    """Actors and events may be called like values, and like markup."""
    lines: list[Line] = [
        Actor(trace="t", name=f"desk {SSN}", kind="agent"),
        Event(trace="t", id=f"e {SSN}", seq=1, channel="C2", sender="[red]a[/red]", to=(f"desk {SSN}",),
              content=f"SSN {SSN} \x1b[2J [bold]now[/bold]"),
    ]  # fmt: skip
    small(case, tmp_path, lines, [find("dynamic")])
    (word,) = handles(case)
    report = explained(Shown(case), word, [], ["extended"], tmp_path / "policy.yaml")
    assert SSN not in msgspec.json.encode(report, enc_hook=str).decode()
    assert report["record"]["recipient"].startswith("desk [ssn #")


def test_every_word_of_a_replay_is_told_in_a_sentence() -> None:
    judging = Path(condition.__file__).with_name("judging.py").read_text()
    reasons = set(re.findall(r"""_how\([^,()]+, "([a-z :]+)\"""", judging))
    assert len(reasons) >= 9
    assert reasons <= set(words.REASONS)
    assert set(words.ACTIONS) == set(ACTIONS)
    assert set(words.EXCEPTIONS) >= set(EXCEPTIONS)
    assert set(words.FALLBACKS) >= set(FELL_BACK)
    assert set(words.CAUSES) == set(CAUSES)
    assert set(words.GRADES) == set(GRADES)
    assert set(words.DETECTORS) == set(get_args(condition.Detector))
    assert set(words.DECISIONS) == set(get_args(condition.Decision))
    assert set(words.SETTINGS) == set(condition.SETTINGS)


# Presidio, where it is installed.


@pytest.mark.parametrize("word", ["e7 project reviewer", "e9 email smtp"])
def test_presidio_is_explained_too(word: str, case: Case) -> None:
    if not (ner.available() and find_spec("presidio_analyzer") and find_spec("presidio_anonymizer")):
        pytest.skip("the extra [presidio] is not installed")
    loaded(case, TEN, [find("presidio")])
    event, attribute, recipient = word.split()
    report = explained(Shown(case), handle(case, event, attribute, recipient), [], ["paper"], None)
    told = report["steps"][0]
    assert (told["condition"], told["detector"], told["remains"]) == ("presidio", "presidio", False)
    (at,) = told["places"]
    assert at["finds"]
    assert all(f["action"] == "redact" and f["recognizers"] == [] for f in at["finds"])
    assert "<redact, " in at["after"]


_KINDS = st.sampled_from(["PERSON", "EMAIL_ADDRESS", "DATE_TIME"])
_FOUND = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9), _KINDS), max_size=5)


@settings(max_examples=100)
@given(text=st.text("ab c\n", min_size=40, max_size=50), spans=_FOUND)
def test_pieces_of_presidio_are_found_in_its_texts(text: str, spans: list[tuple[int, int, str]]) -> None:
    if not find_spec("presidio_anonymizer"):
        pytest.skip("the extra [presidio] is not installed")
    tasks = [Task(a, a + n, None, kind, "contextual", text[a : a + n], "redact") for a, n, kind in spans]
    made = PresidioKit(KEYS, Options()).anonymized(text, tasks)
    told = stretches(text, made.text, joined_cuts(text, tasks))
    assert told is not None
    assert sum(s.high - s.low for s in told) >= 10 * bool(tasks)
