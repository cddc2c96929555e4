"""Predicted effects of single changes against real replays under the changed conditions and policies."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from msgspec.structs import replace

from earwitness.audit import ner
from earwitness.audit.pipeline import audit, read_request
from earwitness.audit.replay.condition import Condition, Mode, Setting, find, parse
from earwitness.audit.replay.replay import Request, replay
from earwitness.audit.replay.search import Ask, search
from earwitness.audit.rulesets import DEFAULT
from earwitness.audit.transform.keys import Keys
from earwitness.ingest.loader import Loader
from earwitness.ingest.manifest import apply_manifest, read_manifest
from earwitness.schema.case import Case
from earwitness.schema.errors import InputError

ROOT = Path(__file__).parents[2]
FOLDERS = {
    "topologies": ROOT / "src" / "earwitness" / "sample_traces" / "topologies",
    "ten-events": ROOT / "tests" / "golden" / "replay" / "ten-events",
}
KEYS = Keys(bytes(range(32)))
BASE = find("dynamic")
SETTINGS: tuple[Setting, ...] = ("paper", "extended")
MODES: tuple[Mode, ...] = ("independent", "propagate")
COLUMN = {"independent": "remains", "propagate": "downstream"}
Row = dict[str, Any]


def fill(case: Case, corpus: str, policy: Path | None = None) -> None:
    folder = FOLDERS[corpus]
    Loader(case).load([folder / "traces.jsonl"])
    audit(case, read_request(policy or folder / "policy.yaml", None, DEFAULT))


@pytest.fixture(scope="module", params=FOLDERS)
def master(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    path = tmp_path_factory.mktemp("search") / "case.duckdb"
    with Case(path) as case:
        fill(case, request.param)
        replay(case, Request([BASE, find("static"), find("none")], KEYS))
    return path, request.param


@pytest.fixture
def path(master: tuple[Path, str], tmp_path: Path) -> Path:
    return Path(shutil.copy(master[0], tmp_path / "case.duckdb"))


@pytest.fixture
def corpus(master: tuple[Path, str]) -> str:
    return master[1]


@pytest.fixture
def case(path: Path) -> Iterator[Case]:
    with Case(path) as case:
        yield case


def remaining(case: Case, name: str, setting: str, mode: str) -> tuple[int, int]:
    return case.rows(
        f"SELECT count(*) FILTER (truth = 'sanitize' AND {COLUMN[mode]}), "
        f"count(*) FILTER (truth = 'allow' AND {COLUMN[mode]}) FROM replays WHERE condition = ? AND setting = ?",
        [name, setting],
    )[0]


def told(row: Row) -> tuple[int, int]:
    return row["residual"]["k"], row["correct_allow"]["k"]


def written(base: Condition, lines: str, name: str) -> tuple[Condition, Setting | None]:
    """The condition that a change says, and the setting if it says one."""
    keys = msgspec.to_builtins(base) | yaml.safe_load(lines) | {"name": name}
    return parse(yaml.safe_dump(keys).encode(), "change.yaml"), keys.get("recipients")


@pytest.mark.parametrize(("name", "setting"), [("dynamic", "paper"), ("dynamic", "extended"), ("static", "paper")])
def test_every_change_that_a_condition_can_say_is_what_a_replay_gives(case: Case, name: str, setting: Setting) -> None:
    base = find(name)
    rows = {mode: [r for r in search(case, Ask(base, setting, mode))["changes"] if r["condition"]] for mode in MODES}
    said = sorted({r["condition"] for some in rows.values() for r in some})
    assert {r["family"] for r in rows["independent"]} >= {"decision", *(["detector"] if name == "dynamic" else [])}
    changed = {c: written(base, c, f"change {n}") for n, c in enumerate(said)}
    replay(case, Request([c for c, _ in changed.values()], KEYS, (setting,)))
    for mode, row in ((m, r) for m, some in rows.items() for r in some):
        condition, other = changed[row["condition"]]
        assert told(row) == remaining(case, condition.name, other or setting, mode), row


def test_closing_one_channel_is_among_them(case: Case) -> None:
    rows = [r for r in search(case, Ask(BASE))["changes"] if r["family"] == "fallback"]
    cells = [r for r in rows if r["by"] == "channel"]
    assert cells
    assert len(rows) == len(cells) + 1
    assert sum(r["removed"] for r in cells) == next(r for r in rows if r["by"] is None)["removed"]


def with_lines(corpus: str, row: Row, path: Path) -> Path:
    """The policy of a corpus with what a change says of it."""
    policy = yaml.load((FOLDERS[corpus] / "policy.yaml").read_text(), Loader=yaml.BaseLoader)
    lines = yaml.safe_load(row["policy"])
    if row["family"] == "rule":
        policy["rules"] += lines
    else:
        policy |= lines
    path.write_text(yaml.safe_dump(policy))
    return path


@pytest.mark.parametrize("name", ["dynamic", "static"])
def test_every_change_of_the_policy_is_what_an_audit_and_a_replay_give(
    path: Path, corpus: str, tmp_path: Path, name: str
) -> None:
    with Case(path) as case:
        rows = [r for r in search(case, Ask(find(name)))["changes"] if r["policy"]]
    assert {r["family"] for r in rows} == {"rule", "fallback"} if name == "dynamic" else {"rule"}
    seen: dict[tuple[str, str], int] = {}
    for row in rows:
        kind = (row["family"], row["by"])
        seen[kind] = seen.get(kind, 0) + 1
        if seen[kind] > 2:  # an audit and a replay each
            continue
        with Case() as other:
            fill(other, corpus, with_lines(corpus, row, tmp_path / "policy.yaml"))
            replay(other, Request([find(name)], KEYS, ("paper",)))
            assert told(row["under_changed"]) == remaining(other, name, "paper", "independent"), row["policy"]
            assert told(row) == under_old_truth(path, other, name), row["policy"]


HOST = {"attribute": "host", "value": "brandvold.org", "value_type": "contextual"}


def test_rules_for_a_recipient_and_for_a_role(tmp_path: Path) -> None:
    """A host that nobody may have stands inside an address that the mailer may: the find is judged as the address."""
    policy = yaml.load((FOLDERS["ten-events"] / "policy.yaml").read_text(), Loader=yaml.BaseLoader)
    policy["values"].append(HOST)
    policy["roster"].append({"name": "mailer", "position": "introduced", "roles": ["outbound"]})
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump(policy))
    with Case(tmp_path / "case.duckdb") as case:
        fill(case, "ten-events", tmp_path / "policy.yaml")
        replay(case, Request([BASE], KEYS, ("paper",)))
        assert case.one("SELECT count(*) FROM replays WHERE cause = 'policy_gap' AND resolved")
        rows = search(case, Ask(BASE, families=("rule",)))["changes"]
    narrow = {r["by"]: r for r in rows if r["by"] in ("attribute, recipient", "attribute, role")}
    assert {by: r["cell"] for by, r in narrow.items()} == {
        "attribute, recipient": "email, mailer",
        "attribute, role": "email, outbound",
    }
    for row in narrow.values():
        changed = policy | {"rules": policy["rules"] + yaml.safe_load(row["policy"])}
        (tmp_path / "changed.yaml").write_text(yaml.safe_dump(changed))
        with Case() as other:
            fill(other, "ten-events", tmp_path / "changed.yaml")
            replay(other, Request([BASE], KEYS, ("paper",)))
            assert told(row["under_changed"]) == remaining(other, "dynamic", "paper", "independent")
            assert told(row) == under_old_truth(tmp_path / "case.duckdb", other, "dynamic")


def under_old_truth(path: Path, other: Case, name: str) -> tuple[int, int]:
    """What remains after the change, counted by the truth before it."""
    other.execute(f"ATTACH '{path}' AS old (READ_ONLY)")
    query = """
        SELECT count(*) FILTER (o.truth = 'sanitize'), count(*) FILTER (o.truth = 'allow')
        FROM replays r JOIN old.replays o ON o.event = r.event AND o.value = r.value
             AND o.recipient IS NOT DISTINCT FROM r.recipient AND o.condition = r.condition AND o.setting = r.setting
        WHERE r.remains AND r.condition = ?
    """
    return other.rows(query, [name])[0]


def test_rules_only_deny_and_say_what_they_do_to_the_truth(case: Case) -> None:
    found = search(case, Ask(find("static"), families=("rule",)))
    assert found["changes"]
    for row in found["changes"]:
        assert yaml.safe_load(row["policy"])[0]["effect"] == "sanitize"
        assert row["net_removed"] > 0
        assert row["residual"]["n"] == found["residual"]["n"] <= row["under_changed"]["residual"]["n"]
        assert row["residual"]["k"] == found["residual"]["k"] - row["net_removed"]


_EXTRA = """
    INSERT INTO detections BY NAME
    SELECT DISTINCT p.content, p.start, p.stop, 'extra' AS recognizer, 'X' AS entity, v.attribute, v.value_type,
           1 AS tier, 1.0 AS confidence, v.text AS canonical, false AS strong
    FROM replay_places p JOIN vault v USING (value) WHERE v.attribute = ?
"""


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_detector_for_one_attribute_is_what_a_replay_with_its_finds_gives(case: Case, setting: Setting) -> None:
    rows = search(case, Ask(BASE, setting))["changes"]
    rows = [r for r in rows if (r["change"], r["by"]) == ("detect also every known value", "attribute")]
    assert rows
    unsure = case.one("SELECT count(*) FROM replays WHERE truth = 'allow' AND reason = 'uncertain'")
    for row in rows:
        case.execute(_EXTRA, [row["cell"]])
        replay(case, Request([BASE], KEYS, (setting,)))
        residual, allowed = remaining(case, "dynamic", setting, "independent")
        assert row["residual"]["k"] == residual
        # What was an uncertain find stays protected in a search; here the same span becomes a sure one.
        assert allowed - unsure <= row["correct_allow"]["k"] <= allowed
        case.execute("DELETE FROM detections WHERE recognizer = 'extra'")


def test_leaving_out_a_recognizer_is_what_a_replay_without_its_finds_gives(case: Case) -> None:
    rows = [r for r in search(case, Ask(BASE))["changes"] if r["change"] == "detect without what one alone finds"]
    assert rows
    case.execute("CREATE TEMP TABLE every AS FROM detections")
    for row in rows:
        case.execute("DELETE FROM detections WHERE recognizer = ?", [row["cell"]])
        replay(case, Request([BASE], KEYS, ("paper",)))
        assert told(row) == remaining(case, "dynamic", "paper", "independent"), row
        case.execute("DELETE FROM detections")
        case.execute("INSERT INTO detections FROM every")


def test_evidence_of_one_kind_makes_up_the_whole(case: Case) -> None:
    rows = [r for r in search(case, Ask(BASE))["changes"] if r["family"] == "resolution"]
    whole = next(r for r in rows if r["by"] is None)
    for by in ("channel", "grade"):
        assert sum(r["removed"] for r in rows if r["by"] == by) == whole["removed"] > 0


@pytest.mark.skipif(not ner.available(), reason="the extra `presidio` is not installed")
def test_presidio_once_it_has_looked(case: Case) -> None:
    pytest.importorskip("presidio_analyzer")
    before = search(case, Ask(BASE))
    assert "presidio" in {left["what"] for left in before["left_out"]}
    assert not any("presidio" in r["change"] for r in before["changes"])
    replay(case, Request([BASE, find("presidio")], KEYS))
    found = search(case, Ask(BASE))
    assert "presidio" not in {left["what"] for left in found["left_out"]}
    rows = [r for r in found["changes"] if r["change"] == "detect also by presidio"]
    whole = next(r for r in rows if r["by"] is None)
    assert max(r["removed"] for r in rows if r["by"] == "entity") <= whole["removed"]
    assert whole["removed"] > 0
    backwards = search(case, Ask(find("presidio"), families=("detector",)))
    assert all(r["change"] != "detect also by presidio" for r in backwards["changes"])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("families", [("fallback", "transform", "confidence", "decision"), ("resolution", "transform")])
def test_what_the_steps_lead_to_is_what_a_replay_gives(case: Case, families: tuple[str, ...], mode: Mode) -> None:
    found = search(case, Ask(BASE, "paper", mode, 3, families))
    assert found["steps"]
    left = [found["residual"]["k"], *(s["residual"]["k"] for s in found["steps"])]
    assert left == sorted(left, reverse=True)
    assert len(set(left)) == len(left)
    final = parse(found["final"].encode(), "final.yaml")
    assert final.recipients
    replay(case, Request([final], KEYS))
    if all(s["condition"] for s in found["steps"]):
        assert told(found["steps"][-1]) == remaining(case, "searched", final.recipients, mode)


def test_two_steps_do_what_neither_does_alone(case: Case) -> None:
    """Rules and detectors of earlier steps hold in later ones."""
    found = search(case, Ask(BASE, "paper", steps=9))
    assert found["steps"][-1]["residual"]["k"] == 0
    assert {s["family"] for s in found["steps"]} >= {"detector"}
    assert sum(s["net_removed"] for s in found["steps"]) == found["residual"]["k"]


def test_rules_of_earlier_steps_hold(case: Case, corpus: str, tmp_path: Path) -> None:
    found = search(case, Ask(find("static"), "paper", steps=3, families=("rule",)))
    assert len(found["steps"]) >= 2
    policy = FOLDERS[corpus] / "policy.yaml"
    lines = yaml.load(policy.read_text(), Loader=yaml.BaseLoader)
    lines["rules"] += [r for s in found["steps"] for r in yaml.safe_load(s["policy"])]
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump(lines))
    with Case() as other:
        fill(other, corpus, tmp_path / "policy.yaml")
        replay(other, Request([find("static")], KEYS, ("paper",)))
        assert told(found["steps"][-1]["under_changed"]) == remaining(other, "static", "paper", "independent")


def test_texts_are_not_needed(case: Case) -> None:
    asks = [Ask(BASE, "paper", "independent", 2), Ask(BASE, "extended", "propagate")]
    before = [search(case, ask) for ask in asks]
    case.execute("UPDATE contents SET text = ''")
    case.execute("UPDATE replay_texts SET text = '' WHERE text IS NOT NULL")
    assert [search(case, ask) for ask in asks] == before


def test_nothing_is_scanned_and_the_case_stays(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [t for (t,) in case.rows("SELECT table_name FROM duckdb_tables() ORDER BY ALL")]
    before = {t: case.rows(f"SELECT hash(list(x ORDER BY hash(x))) FROM {t} x") for t in names}

    def scanned(*_: object, **__: object) -> None:
        raise AssertionError("a text was scanned")

    for place in ("replayed.detector.contents", "replayed.runlocal.contents", "replay.presidio.contents",
                  "replay.replay.measure_again", "replay.replay.find_places"):  # fmt: skip
        monkeypatch.setattr(f"earwitness.audit.{place}", scanned)
    search(case, Ask(BASE, steps=2))
    assert names == [t for (t,) in case.rows("SELECT table_name FROM duckdb_tables() ORDER BY ALL")]
    assert before == {t: case.rows(f"SELECT hash(list(x ORDER BY hash(x))) FROM {t} x") for t in names}
    assert not case.rows("SELECT view_name FROM duckdb_views() WHERE temporary AND NOT internal")


def test_without_a_detector_the_recognizers_are_a_change(case: Case) -> None:
    blind = replace(BASE, name="blind", detector="none")
    replay(case, Request([blind, BASE], KEYS, ("paper",)))
    rows = search(case, Ask(blind, families=("detector",)))["changes"]
    for words in ("detect by the recognizers instead", "detect also by the recognizers"):
        row = next(r for r in rows if (r["change"], r["by"]) == (words, None))
        assert told(row) == remaining(case, "dynamic", "paper", "independent")
    assert [r for r in rows if r["by"] == "recognizer"]


def test_a_condition_that_asks_no_rule_has_none_to_add(case: Case) -> None:
    found = search(case, Ask(find("none")))
    assert found["residual"]["k"] == found["residual"]["n"]
    assert not [r for r in found["changes"] if r["family"] == "rule"]
    assert "the condition asks no rule" in {left["why"] for left in found["left_out"]}


@pytest.mark.parametrize("name", ["blanket", "topology-forwarded", "oracle", "fail-closed", "no-backstop"])
def test_every_base_can_be_searched(case: Case, name: str) -> None:
    replay(case, Request([find(name)], KEYS))
    for setting in SETTINGS:
        found = search(case, Ask(find(name), setting, "propagate", 2))
        kept, allowed = found["residual"]["k"], found["correct_allow"]["k"]
        for row in found["changes"]:
            assert told(row) == (kept - row["net_removed"], allowed - row["net_lost"])
        for step in found["steps"]:
            assert told(step) == (kept - step["net_removed"], allowed - step["net_lost"])
            kept, allowed = told(step)


def test_what_was_not_replayed_is_told(case: Case) -> None:
    with pytest.raises(InputError, match="not replayed"):
        search(case, Ask(find("blanket")))


STALE: dict[str, str] = {
    "an action": "UPDATE replays SET action = 'block' WHERE action <> 'allow'",
    "a find": "UPDATE replays SET detected = NOT detected",
    "a truth": "UPDATE replays SET truth = 'allow'",
    "what remains": "UPDATE replays SET remains = true",
    "a row too few": "DELETE FROM replays WHERE event = (SELECT min(event) FROM replays)",
    "a row too many": "INSERT INTO replays SELECT * REPLACE ('nobody' AS recipient) FROM replays LIMIT 1",
    "a verdict": "DELETE FROM verdicts WHERE event = (SELECT min(event) FROM replays)",
    "other values": "UPDATE meta SET value = 'otherwise' WHERE key = 'detected'",
    "a match": "DELETE FROM matches",
    "a text more": "INSERT INTO contents SELECT * REPLACE (uuid() AS content) FROM contents LIMIT 1",
}


@pytest.mark.parametrize("change", STALE)
def test_a_case_that_changed_since_is_told(case: Case, change: str) -> None:
    case.execute(STALE[change])
    with pytest.raises(InputError, match=r"changed since|not replayed"):
        search(case, Ask(BASE))


def test_a_condition_that_changed_since_is_told(case: Case) -> None:
    with pytest.raises(InputError, match="changed since"):
        search(case, Ask(replace(find("blanket"), name="dynamic")))


def test_the_same_again(case: Case) -> None:
    ask = Ask(BASE, "paper", "propagate", 2)
    assert search(case, ask) == search(case, ask)


LAB = ROOT / "sample_traces" / "lab"
DENIED = "{effect: sanitize, attributes: [diagnosis], channels: [C2]}"


@pytest.mark.real
def test_the_laboratory_gives_what_was_predicted(tmp_path: Path) -> None:
    """One rule by an audit and a replay, in both ways of counting."""
    for name in ("policy.yaml", "vault.csv"):
        shutil.copy(LAB / name, tmp_path / name)
    with Case(tmp_path / "case.duckdb") as case:
        Loader(case).load([LAB / "langgraph.tar.zst", LAB / "autogen.jsonl.zst"])
        apply_manifest(case, read_manifest(LAB / "manifest.csv"), LAB / "manifest.csv")
        audit(case, read_request(tmp_path / "policy.yaml", None, DEFAULT))
        replay(case, Request([find("static")], KEYS, ("paper",)))
        predicted = {
            mode: next(
                told(row["under_changed"])
                for row in search(case, Ask(find("static"), "paper", mode, families=("rule",)))["changes"]
                if row["policy"] == f"- {DENIED}"
            )
            for mode in MODES
        }
        lines = (tmp_path / "policy.yaml").read_text().replace("rules:\n", f"rules:\n  - {DENIED}\n", 1)
        (tmp_path / "policy.yaml").write_text(lines)
        audit(case, read_request(tmp_path / "policy.yaml", None, DEFAULT))
        replay(case, Request([find("static")], KEYS, ("paper",)))
        assert predicted == {mode: remaining(case, "static", "paper", mode) for mode in MODES}
