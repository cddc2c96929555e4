"""`earwitness replay list` and `replay explain` as a user meets them: tables, objects, exit codes, nothing in clear."""

import json
import re
import shutil
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from click.testing import CliRunner
from rich.console import Console

from earwitness.audit.pipeline import audit, read_request
from earwitness.audit.replay.condition import find, shipped
from earwitness.audit.replay.replay import Request, replay
from earwitness.audit.rulesets import DEFAULT
from earwitness.audit.transform.keys import Keys
from earwitness.cli import cli
from earwitness.cli.errors import guarded
from earwitness.ingest.loader import Loader
from earwitness.reports.mask import Mask
from earwitness.reports.replay_explain import explained
from earwitness.reports.replay_explain_text import print_explain
from earwitness.reports.shown import Shown
from earwitness.schema.case import Case
from earwitness.schema.model import Actor, Event, Line, Trace

ROOT = Path(__file__).parents[2]
TEN = ROOT / "tests" / "golden" / "replay" / "ten-events"
GOLDEN = TEN.parent
TOPOLOGIES = ROOT / "src" / "earwitness" / "sample_traces" / "topologies"
KEYS = Keys(bytes(range(32)))
Row = dict[str, Any]


def prepared(path: Path, folder: Path, names: list[str]) -> Path:
    """A case of a folder with traces and policy, audited and replayed; fingerprints are those of a fixed key."""
    with pytest.MonkeyPatch.context() as patch, Case(path) as case:
        patch.setenv("EARWITNESS_KEY", "golden")
        Loader(case).load([folder / "traces.jsonl"])
        audit(case, read_request(folder / "policy.yaml", None, DEFAULT))
        replay(case, Request([find(n) for n in names], KEYS))
    return path


@pytest.fixture(scope="module")
def ten(tmp_path_factory: pytest.TempPathFactory) -> Path:
    names = [c.name for c in shipped().values() if c.detector != "presidio"]
    return prepared(tmp_path_factory.mktemp("ten") / "ten.duckdb", TEN, names)


@pytest.fixture(scope="module")
def topologies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("topologies") / "topologies.duckdb"
    return prepared(path, TOPOLOGIES, ["blanket", "dynamic", "oracle"])


def run(*words: str | Path, code: int = 0) -> str:
    done = CliRunner().invoke(cli, ["replay", *map(str, words)])
    assert done.exit_code == code, done.output
    return done.stdout


def refused(capsys: pytest.CaptureFixture[str], *words: str | Path) -> str:
    """What is told in one line on stderr."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["earwitness", "replay", *map(str, words)])
        assert guarded(cli) == 2
    return capsys.readouterr().err


def listed(*words: str | Path, code: int = 0) -> list[Row]:
    report = json.loads(run("list", *words, "--limit", "1000", "--json", code=code))
    return [row | {"of": (f["condition"], f["setting"])} for f in report["lists"] for row in f["occurrences"]]


def handle(case: Path, event: str, attribute: str, recipient: str | None) -> str:
    rows = listed(case, "--condition", "none", code=1)
    return next(str(r["occurrence"]) for r in rows if (r["event"], r["value"]["attribute"], r["recipient"]) ==
                (event, attribute, recipient))  # fmt: skip


# What the terminal shows.

SHOWN = {
    "explain-e9-ssn-smtp": ("e9", "ssn", "smtp", "--condition", "dynamic", "--condition", "static"),
    "explain-e1-project-planner": ("e1", "project", "planner", "--recipients", "both"),
    "explain-e8-ssn-nobody": ("e8", "ssn", None, "--condition", "oracle", "--condition", "none"),
}


@pytest.mark.parametrize("name", SHOWN)
def test_the_terminal_shows_what_it_showed(name: str, ten: Path, update: bool) -> None:
    event, attribute, recipient, *more = SHOWN[name]
    word = handle(ten, str(event), str(attribute), recipient)[:8]
    options = [str(m) for m in more]
    shown = run("explain", ten, word, *options, "--policy", TEN / "policy.yaml", code=0 if "e1-" in name else 1)
    shown = "".join(line.rstrip() + "\n" for line in shown.splitlines())
    if update:
        (GOLDEN / f"{name}.txt").write_text(shown)
    assert shown == (GOLDEN / f"{name}.txt").read_text()
    assert max(map(len, shown.splitlines())) <= 100


def test_the_list_shows_what_it_showed(ten: Path, update: bool) -> None:
    shown = "".join(line.rstrip() + "\n" for line in run("list", ten, code=1).splitlines())
    if update:
        (GOLDEN / "explain-list.txt").write_text(shown)
    assert shown == (GOLDEN / "explain-list.txt").read_text()
    assert max(map(len, shown.splitlines())) <= 100


# Nothing in clear.


def secrets(folder: Path) -> list[str]:
    return [str(v["value"]).lower() for v in yaml.safe_load((folder / "policy.yaml").read_text())["values"]]


def checked(path: Path, folder: Path, conditions: list[str]) -> int:
    """Explain every occurrence, as tables and as an object; gives how many there were."""
    words = [str(r["occurrence"]) for r in listed(path, "--condition", conditions[0], code=1)]
    with Case(path, create=False) as case:
        shown, mask = Shown(case), Mask(case)
        for n, word in enumerate(words):
            report = explained(shown, word, conditions, [["paper", "extended"][n % 2]], None)
            console = Console(file=StringIO(), width=100, highlight=False, emoji=False)
            print_explain(console, report)
            told = msgspec.json.encode(report, enc_hook=str).decode() + console.file.getvalue()  # type: ignore[attr-defined]
            # Digits of hashes and handles are no value.
            text = re.sub(r"[0-9a-f]{64}|#?\b[0-9a-f]{8,12}\b", "", told)
            assert not [s for s in secrets(folder) if s in text.lower()], word
            assert mask(text) == text, word
    return len(words)


def test_no_value_of_the_topologies_is_shown(topologies: Path) -> None:
    assert checked(topologies, TOPOLOGIES, ["dynamic"]) == 93


def test_no_value_of_the_ten_events_is_shown(ten: Path) -> None:
    assert checked(ten, TEN, ["dynamic", "static", "none", "oracle"]) == 14
    text = run("list", ten, "--limit", "1000", "--recipients", "both", code=1)
    assert not [s for s in secrets(TEN) if s in text.lower()]


def test_revealed_output_is_stamped(ten: Path) -> None:
    word = handle(ten, "e2", "ssn", "reviewer")
    shown = run("explain", ten, word, "--reveal")
    assert "REVEALED" in shown
    assert "536-22-8417" in shown
    assert json.loads(run("explain", ten, word, "--reveal", "--json"))["revealed"] is True


def test_hostile_names_steer_nothing(tmp_path: Path) -> None:
    """Control characters, markup and values where names are expected."""
    lines: list[Line] = [
        Trace(id="t\x1b]0;x\x07", scenario="[blink]s"),
        Actor(trace="t\x1b]0;x\x07", name="[red]536-22-8417[/red]", kind="agent"),
        Event(trace="t\x1b]0;x\x07", id="e\x1b[2J", seq=1, channel="C2", sender=":bomb:",
              to=("[red]536-22-8417[/red]",),
              content="SSN 536-22-8417 \x1b[31mred\r\n[link=http://x]there[/link] \u202e"),
    ]  # fmt: skip
    (tmp_path / "traces.jsonl").write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    shutil.copy(TEN / "policy.yaml", tmp_path / "policy.yaml")
    path = prepared(tmp_path / "c.duckdb", tmp_path, ["dynamic", "none"])
    (word,) = {r["occurrence"] for r in listed(path, "--condition", "none", code=1)}
    for shown in (run("explain", path, word, "--condition", "none", code=1), run("list", path, code=0)):
        assert not [c for c in shown if not c.isprintable() and c != "\n"]
        assert "536-22-8417" not in shown
        assert ":bomb:" in shown
    assert "[link=http://x]there[/link]" in run("explain", path, word, "--condition", "none", code=1)


# Lists.


def test_a_list_is_what_the_replay_stored(ten: Path) -> None:
    rows = listed(ten, "--condition", "static", "--condition", "dynamic", "--recipients", "both", code=1)
    assert len(rows) == 4 * 14
    with Case(ten, create=False) as case:
        stored = case.rows("""SELECT condition, setting, e.event_id, attribute, recipient, truth, action, remains, cause
                              FROM replays JOIN events e USING (event) JOIN vault USING (value)
                              WHERE condition IN ('static', 'dynamic')""")
    names = ("recipient", "truth", "action", "remains", "cause")
    told = [(*r["of"], r["event"], r["value"]["attribute"], *(r[n] for n in names)) for r in rows]
    assert sorted(told, key=str) == sorted(stored, key=str)
    # What should not be there and is stands first, in each list.
    assert [r["cause"] is not None for r in rows[:14]] == sorted(
        (r["cause"] is not None for r in rows[:14]), reverse=True
    )


# The words of the ten events in docs/replay.md, dynamic: paper AAA..A.N.M.NnA, extended AxA..A...m...A.
FILTERS: list[tuple[tuple[str, ...], int, int]] = [
    ((), 14, 1),
    (("--truth", "sanitize"), 9, 1),
    (("--truth", "allow"), 5, 0),
    (("--remains",), 9, 1),
    (("--gone",), 5, 0),
    (("--remains", "--truth", "sanitize"), 4, 1),
    (("--cause", "no_recipient"), 3, 1),
    (("--cause", "no_recipient", "--mode", "propagate"), 2, 1),
    (("--cause", "detection_miss", "--recipients", "extended"), 1, 1),
    (("--cause", "detection_miss", "--recipients", "extended", "--mode", "propagate"), 0, 0),
    (("--attribute", "EMAIL"), 5, 1),
    (("--channel", "C5"), 2, 1),
    (("--recipient", "mailer"), 3, 0),
    (("--recipient", "mailer", "--attribute", "ssn", "--gone"), 2, 0),
]


@pytest.mark.parametrize(("options", "n", "code"), FILTERS, ids=lambda x: " ".join(x) if isinstance(x, tuple) else None)
def test_filters(options: tuple[str, ...], n: int, code: int, ten: Path) -> None:
    assert len(listed(ten, *options, code=code)) == n


def test_a_limit_hides_no_residual_and_is_told(ten: Path) -> None:
    report = json.loads(run("list", ten, "--limit", "1", "--json", code=1))
    assert [(f["total"], f["residual"], len(f["occurrences"])) for f in report["lists"]] == [(14, 4, 1)]
    assert report["lists"][0]["occurrences"][0]["cause"]
    assert "13 more: raise --limit" in run("list", ten, "--limit", "1", code=1)
    assert "no occurrence fits" in run("list", ten, "--channel", "C7")


# What is refused.


def test_bad_input_is_told_in_one_line(ten: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    word = handle(ten, "e9", "ssn", "smtp")
    for told, words in {
        "no occurrence of that handle; `earwitness replay list` tells": ("explain", ten, "ffff00000000"),
        "at least 4 hexadecimal digits of its handle": ("explain", ten, "536-22-8417"),
        "no such condition; known: none, blanket": ("explain", ten, word, "--condition", "reckless"),
        "presidio: was not replayed in this case; there are: none, blanket": (
            "explain", ten, word, "--condition", "presidio"),
        "not the policy of the last audit": ("explain", ten, word, "--policy", TOPOLOGIES / "policy.yaml"),
        "that condition was not replayed; there are: blanket, dynamic": ("list", ten, "--condition", "presidio"),
        "no value has that attribute; there are: email, project, ssn": ("list", ten, "--attribute", "iban"),
        "no actor is called 'mailr'; is it mailer?": ("list", ten, "--recipient", "mailr"),
        "no such case": ("list", tmp_path / "absent.duckdb"),
    }.items():  # fmt: skip
        error = refused(capsys, *words)
        assert told in error
        assert len(error.splitlines()) == 1
        assert "536-22-8417" not in error


def test_what_was_not_replayed_or_has_changed_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "c.duckdb"
    with Case(path) as case:
        Loader(case).load([TEN / "traces.jsonl"])
    assert "has not been audited" in refused(capsys, "list", path)
    with Case(path) as case:
        audit(case, read_request(TEN / "policy.yaml", None, DEFAULT))
    for words in (("list", path), ("explain", path, "abcdef")):
        assert "nothing was replayed; run `earwitness replay" in refused(capsys, *words)
    with Case(path) as case:
        replay(case, Request([find("dynamic")], KEYS))
    word = listed(path, code=1)[0]["occurrence"]
    assert run("explain", path, word, code=1)
    with Case(path) as case:
        case.execute("UPDATE verdicts SET dynamic_rule = 'x'")
        case.execute("DELETE FROM rules")
    assert "is not what comes out now" in refused(capsys, "explain", path, word)
    with Case(path) as case:
        audit(case, read_request(TEN / "policy.yaml", None, DEFAULT))
    assert "was audited anew since the last replay" in refused(capsys, "explain", path, word)


def test_every_key_of_the_objects_is_documented(ten: Path) -> None:
    text = (ROOT / "docs" / "replay-explain.md").read_text()
    told = json.loads(run("explain", ten, handle(ten, "e9", "ssn", "smtp"), "--recipients", "both", "--json", code=1))
    found = json.loads(run("list", ten, "--json", code=1))
    known = {"event", "seq", "time", "source", "sha256", "line", "offset", "pointer"}
    names = {key for report in (told, found) for key in keys(report)} - known
    assert sorted(n for n in names if f"`{n}`" not in text) == []


def keys(value: Any) -> list[str]:
    if isinstance(value, dict):
        inner = [] if "sha256" in value and "line" in value else [k for v in value.values() for k in keys(v)]
        return [*value, *inner]
    return [k for v in value for k in keys(v)] if isinstance(value, list) else []


def test_the_session_in_the_docs_is_what_the_terminal_shows() -> None:
    shown = (GOLDEN / "explain-e9-ssn-smtp.txt").read_text().splitlines()
    (block,) = re.findall(
        r"^```text\n(.*?)^```$", (ROOT / "docs" / "replay-explain.md").read_text(), re.DOTALL | re.MULTILINE
    )
    told = [line for line in block.splitlines() if line != "[...]"]
    assert len(told) > 10
    assert [line for line in told if line not in shown] == []
