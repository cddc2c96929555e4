"""Replays of small traces: conditions as data, texts by delivery, split values, causes, what is printed."""

from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from earwitness.audit.pipeline import audit, read_request
from earwitness.audit.replay.condition import Condition, find, parse, plans, shipped
from earwitness.audit.replay.figures import FIGURES, compared, resampled
from earwitness.audit.replay.replay import Request, replay
from earwitness.audit.rulesets import DEFAULT, LITERAL, RuleSet
from earwitness.audit.transform.keys import Keys
from earwitness.cli import cli
from earwitness.cli.errors import guarded
from earwitness.ingest.loader import Loader
from earwitness.reports.replay import replay_report
from earwitness.reports.shown import Shown
from earwitness.schema.case import Case
from earwitness.schema.errors import InputError
from earwitness.schema.model import Event, Line, Trace

GOLDEN = Path(__file__).parents[1] / "golden" / "replay" / "ten-events"
KEYS = Keys(bytes(range(32)))
ALL = [c for c in shipped().values() if c.detector != "presidio"]
SSN, MAIL = "536-22-8417", "ilse.b@brandvold.org"
POLICY = f"""
roster:
  - {{name: a}}
  - {{name: b}}
unlisted: introduced
values:
  - {{attribute: ssn, value: "{SSN}", value_type: format_dependent, subject: Ilse Brandvold}}
  - {{attribute: email, value: {MAIL}, value_type: value_dependent, subject: Ilse Brandvold}}
  - {{attribute: plan, value: move the depot to Tallow Street, value_type: contextual}}
rules:
  - {{id: a-knows, effect: allow, recipients: [a]}}
  - {{id: b-mails, effect: allow, attributes: [email], recipients: [b]}}
"""


@pytest.fixture
def case() -> Iterator[Case]:
    with Case() as case:
        yield case


def load(
    case: Case,
    folder: Path,
    events: list[Event],
    rules: RuleSet = DEFAULT,
    policy: str = POLICY,
    request: str | None = None,
) -> None:
    lines: list[Line] = [Trace(id="t", scenario="s", request=request), *events]
    (folder / "t.jsonl").write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    (folder / "p.yaml").write_text(policy)
    Loader(case).load([folder / "t.jsonl"])
    audit(case, read_request(folder / "p.yaml", None, rules))


def event(n: int, sender: str, to: tuple[str, ...], content: str, channel: str = "C2") -> Event:
    return Event(trace="t", id=f"e{n}", seq=n, channel=channel, sender=sender, to=to, content=content)  # type: ignore[arg-type]


def texts(case: Case, condition: str) -> dict[tuple[str, str], str]:
    """What each recipient got instead, where it was changed."""
    rows = case.rows(
        "SELECT e.event_id, d.recipient, t.text FROM replay_deliveries d JOIN events e USING (event) "
        "JOIN replay_texts t USING (variant) WHERE d.condition = ?",
        [condition],
    )
    return {(e, r): t for e, r, t in rows}


def fates(case: Case, condition: str) -> list[tuple[Any, ...]]:
    return case.rows(
        "SELECT e.event_id, r.recipient, r.remains, r.cause FROM replays r JOIN events e USING (event) "
        "WHERE r.condition = ? AND r.setting = 'extended' ORDER BY ALL",
        [condition],
    )


# Conditions as data.


def test_shipped_conditions_are_known_by_the_name_of_their_file() -> None:
    assert list(shipped())[:3] == ["none", "blanket", "presidio"]
    assert all(c.title for c in shipped().values())
    assert find("oracle").detector == "oracle"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name: x\nfloor: 1\n", "unknown field `floor`"),
        ("name: x\ndecision: never\n", "$.decision"),
        ("name: x\ndecisoin: static\n", "meant: `decision`"),
        ("name: x\nconfidence: {C2: 1.5}\n", "between 0 and 1"),
        ("name: x\nconfidence: {C9: 0.5}\n", "C9"),
        ("name: [\n", "c.yaml:2: not YAML"),
        ("name: ''\n", "needs a name"),
        ("- 1\n", "c.yaml"),
    ],
)
def test_a_condition_that_does_not_hold_together_is_named(text: str, told: str) -> None:
    with pytest.raises(InputError) as error:
        parse(text.encode(), "c.yaml")
    assert told in str(error.value)
    assert str(error.value).startswith("c.yaml")


def test_unknown_names_and_names_given_twice() -> None:
    with pytest.raises(InputError, match=r"no such condition; known: none, blanket"):
        find("reckless")
    with pytest.raises(InputError, match=r"cannot be read"):
        find("absent.yaml")
    with pytest.raises(InputError, match=r"two conditions of this name"):
        plans([find("none"), Condition(name="none")], ("paper",))


def test_a_condition_may_name_its_setting() -> None:
    assert [p.setting for p in plans([Condition(name="x", recipients="paper"), find("none")], ("extended",))] == [
        "paper",
        "extended",
    ]


# Texts by delivery.


def test_each_recipient_gets_its_own_text(case: Case, tmp_path: Path) -> None:
    load(case, tmp_path, [event(1, "a", ("b", "c"), f"Write to {MAIL}.")])
    replay(case, Request([find("dynamic")], KEYS, ("extended",)))
    assert fates(case, "dynamic") == [("e1", "b", True, None), ("e1", "c", False, None)]
    changed = texts(case, "dynamic")
    assert set(changed) == {("e1", "c")}
    assert MAIL not in changed["e1", "c"]
    assert changed["e1", "c"].startswith("Write to ")


def test_every_place_of_a_value_counts(case: Case, tmp_path: Path) -> None:
    """One place is a shape that recognizers know, the other is not."""
    hidden = b64encode(f"the number is {SSN}".encode()).decode()
    load(case, tmp_path, [event(1, "a", ("b",), f"SSN {SSN}, and once more {hidden} as it came.")])
    replay(case, Request([find("blanket"), find("oracle")], KEYS, ("extended",)))
    assert fates(case, "blanket") == [("e1", "b", True, "detection_miss")]
    assert fates(case, "oracle") == [("e1", "b", False, None)]
    assert hidden not in texts(case, "oracle")["e1", "b"]


def test_what_is_hidden_in_the_same_way_twice_is_cut_twice(case: Case, tmp_path: Path) -> None:
    hidden = b64encode(f"the number is {SSN}".encode()).decode()
    load(case, tmp_path, [event(1, "a", ("b",), f"First {hidden} and then {hidden} again.")])
    replay(case, Request([find("oracle")], KEYS, ("extended",)))
    assert fates(case, "oracle") == [("e1", "b", False, None)]
    assert hidden not in texts(case, "oracle")["e1", "b"]


def test_a_value_split_over_two_messages(case: Case, tmp_path: Path) -> None:
    parts = "we shall move the depot", "to Tallow Street, I hear"
    load(case, tmp_path, [event(1, "a", ("b",), parts[0]), event(2, "a", ("b",), parts[1])])
    assert case.one("SELECT count(*) FROM matches WHERE event IS NOT NULL AND standing = 'confirmed'") == 1
    replay(case, Request([find("none"), find("dynamic"), find("oracle")], KEYS, ("extended",)))
    assert fates(case, "none") == fates(case, "dynamic") == [("e2", "b", True, "detection_miss")]
    assert fates(case, "oracle") == [("e2", "b", False, None)]


def test_a_split_value_is_gone_when_its_first_half_is(case: Case, tmp_path: Path) -> None:
    """The second message is as it was. What made it tell something is no longer before it."""
    parts = f"{MAIL}, move the depot", "to Tallow Street."
    policy = POLICY + "transforms: {value_dependent: block}\n"
    load(case, tmp_path, [event(1, "a", ("c",), parts[0]), event(2, "a", ("c",), parts[1])], policy=policy)
    replay(case, Request([find("dynamic")], KEYS, ("extended",)))
    assert ("e2", "c") not in texts(case, "dynamic")
    assert ("e2", "c", False, None) in fates(case, "dynamic")


def test_told_or_recognized(case: Case, tmp_path: Path) -> None:
    """The recognizer calls it an e-mail address; the policy calls it `contact` and lets b have it."""
    policy = POLICY.replace("attribute: email", "attribute: contact").replace("[email]", "[contact]")
    load(case, tmp_path, [event(1, "a", ("b",), f"Write to {MAIL}.")], policy=policy)
    blind = Condition(name="blind", attributes="recognized")
    replay(case, Request([Condition(name="told"), blind], KEYS, ("extended",)))
    assert fates(case, "told") == [("e1", "b", True, None)]
    assert fates(case, "blind") == [("e1", "b", False, None)]


def test_a_policy_that_says_what_is_done(case: Case, tmp_path: Path) -> None:
    policy = POLICY + "transforms: {format_dependent: redact}\nfallback: {C6: closed}\n"
    load(case, tmp_path, [event(1, "a", ("b",), f"SSN {SSN}"), event(2, "a", (), f"SSN {SSN}", "C6")], policy=policy)
    replay(case, Request([find("dynamic")], KEYS, ("extended",)))
    rows = case.rows("SELECT action, done, reason, rule FROM replays ORDER BY event")
    assert rows == [("redact", "redact", "recipient", "default"), ("redact", "redact", "fallback: closed", None)]


@pytest.mark.parametrize(("asked", "left"), [("Who is it?", [False, True, False]), (f"Is it {SSN}?", [True] * 3)])
def test_the_published_rule_is_replayed_with_itself(case: Case, tmp_path: Path, asked: str, left: list[bool]) -> None:
    """What stands in the request is spared, by that rule."""
    load(case, tmp_path, [event(1, "a", ("b",), f"SSN {SSN}!")], LITERAL, request=asked)
    replay(case, Request([find("none"), find("dynamic"), find("oracle")], KEYS, ("paper",)))
    assert [r for (r,) in case.rows("SELECT remains FROM replays ORDER BY condition")] == left
    assert case.rows("SELECT DISTINCT truth FROM replays") == [("allow" if all(left) else "sanitize",)]


def test_what_is_asked_twice_is_made_once(case: Case, tmp_path: Path) -> None:
    load(case, tmp_path, [event(n, "a", ("c",), f"SSN {SSN}") for n in range(3)])
    request = Request(ALL, KEYS)
    replay(case, request)
    kept = ("replays", "replay_texts", "replay_matches", "replay_streams", "replay_figures", "replay_pairs")
    before = {t: case.count(t) for t in kept}
    case.execute("UPDATE replay_texts SET pieces = 77")
    replay(case, request)
    assert {t: case.count(t) for t in kept} == before
    assert case.rows("SELECT DISTINCT pieces FROM replay_texts") == [(77,)]
    assert case.one("SELECT count(*) FROM duckdb_tables() WHERE table_name LIKE 'rp\\_%' ESCAPE '\\'") == 0


# Laws, over traces that nobody thought of.

_SAID = st.lists(
    st.sampled_from([SSN, MAIL, "move the depot to Tallow Street", f"ssn {SSN},", "well", "x"]), max_size=3
)
_EVENTS = st.lists(
    st.tuples(st.sampled_from("abc"), st.sets(st.sampled_from(["a", "b", "c", "tool"]), max_size=2), _SAID,
              st.sampled_from(["C1", "C2", "C3", "C5", "C6"])),
    min_size=1, max_size=8,
)  # fmt: skip


@settings(max_examples=12)
@given(drawn=_EVENTS)
def test_laws_between_conditions(tmp_path_factory: pytest.TempPathFactory, drawn: list[tuple[Any, ...]]) -> None:
    events = [event(n, s, tuple(sorted(to)), f"{n}: {' '.join(said)}", c) for n, (s, to, said, c) in enumerate(drawn)]
    with Case() as case:
        load(case, tmp_path_factory.mktemp("laws"), events)
        replay(case, Request(ALL, KEYS))
        left = {
            (c, s): (residual, kept)
            for c, s, residual, kept in case.rows("""
                SELECT condition, setting, count(*) FILTER (truth = 'sanitize' AND remains),
                       count(*) FILTER (truth = 'allow' AND remains) FROM replays GROUP BY ALL
            """)
        }
        assert case.one("SELECT count(*) FROM replays WHERE (cause IS NULL) = (remains AND truth = 'sanitize')") == 0
        assert case.one("SELECT count(*) FROM replays WHERE downstream AND NOT remains") == 0
        assert case.one("SELECT count(*) FROM replays WHERE condition = 'oracle' AND cause = 'detection_miss'") == 0
        assert case.one("SELECT count(*) FROM replays WHERE condition = 'none' AND NOT downstream") == 0
    for setting in ("paper", "extended") if left else ():
        assert left["dynamic", setting][0] <= left["static", setting][0]
        assert left["dynamic", setting][1] >= left["blanket", setting][1]
        assert left["fail-closed", setting][0] <= left["dynamic", setting][0]


# Figures.


def test_an_interval_over_scenarios() -> None:
    import numpy as np

    weights = np.array([[2.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    low, high = resampled(weights, np.array([1, 0]), np.array([2, 2]))
    assert low is not None
    assert high is not None
    assert 0 <= low < 0.25 < high <= 0.5
    assert resampled(weights * 0, np.array([1, 0]), np.array([2, 2])) == (None, None)


def test_pairs_of_conditions() -> None:
    import numpy as np

    one, other = np.array([True] * 6 + [False] * 2), np.array([False] * 6 + [False, True])
    assert compared(one, other)[:4] == (0, 6, 1, 1)
    assert compared(one, other)[4] == pytest.approx(2 * (1 + 7) / 2**7)
    assert compared(one, one) == (6, 0, 0, 2, None)


# What is printed.


@pytest.fixture(scope="module")
def ten(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ten") / "case.duckdb"
    with Case(path) as case:
        Loader(case).load([GOLDEN / "traces.jsonl"])
        audit(case, read_request(GOLDEN / "policy.yaml", None, DEFAULT))
    return path


def test_the_command_shows_tables_and_no_value(ten: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EARWITNESS_KEY", raising=False)
    done = CliRunner().invoke(cli, ["replay", str(ten), "--condition", "dynamic", "--condition", "static"])
    assert done.exit_code == 1
    for told in ("Why it remains", "correct-allow", "dynamic", "no key was given"):
        assert told in done.output
    assert not any(secret in done.output for secret in (SSN, MAIL, "Nightjar"))
    assert max(map(len, done.output.splitlines())) <= 100


def test_one_json_object(ten: Path) -> None:
    done = CliRunner().invoke(cli, ["replay", str(ten), "--condition", "oracle", "--recipients", "extended", "--json"])
    report = msgspec.json.decode(done.stdout)
    assert done.exit_code == 0
    assert report["format"] == "earwitness.replay/1"
    assert report["occurrences"] == {"should_sanitize": 9, "should_allow": 5, "unruled": 0}
    figures = {f["measure"]: f for f in report["figures"] if not f["group"] and f["mode"] == "independent"}
    assert (figures["residual"]["k"], figures["correct_allow"]["k"]) == (0, 5)


def test_bad_input_is_told_in_one_line(ten: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["earwitness", "replay", str(ten), "--condition", "reckless"])
        assert guarded(cli) == 2
    assert "no such condition" in capsys.readouterr().err


def test_every_figure_is_documented() -> None:
    text = (Path(__file__).parents[2] / "docs" / "replay.md").read_text()
    families = ("residual_by_", "correct_allow_by_", "cause_")
    missing = [f.name for f in FIGURES if f"`{f.name}`" not in text and not f.name.startswith(families)]
    assert missing == []
    assert all(f"`_{f.name.removeprefix('residual_by_')}`" in text or f"`{f.name}`" in text
               for f in FIGURES if f.name.startswith("residual_by_"))  # fmt: skip
    assert all(f"`{name}`" in text for name in [*shipped(), *Condition.__struct_fields__])


def test_the_report_says_which_conditions_were_left_out(ten: Path) -> None:
    with Case(ten, create=False) as case:
        replay(case, Request([find("none")], KEYS))
        report = replay_report(Shown(case), {"presidio": "not installed"})
    assert report["skipped"] == [{"condition": "presidio", "reason": "not installed"}]
