"""Investigating a case as a user does: dossier, subject, exposure, paths, guards, what-if, graph export."""

import base64
import io
import json
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from itertools import pairwise
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
import yaml

from earwitness.cli import cli
from earwitness.cli.errors import guarded

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "sample_traces" / "topologies"
GOLDEN = ROOT / "tests" / "golden" / "investigations"
PERSON = "Ilse Brandvold"

COMMANDS: dict[str, tuple[str, ...]] = {
    "dossier": ("dossier", "diagnosis", "--limit", "3"),
    "subject": ("subject", PERSON),
    "exposure": ("exposure", "--distance", "all"),
    "paths": ("paths", "--limit", "4"),
    "guards": ("guards", "--fewest", "--limit", "4"),
    "what-if": ("what-if", "--remove-edge", "coordinator>assessor", "--remove-channel", "C5", "--limit", "4"),
}


def run(*words: str | Path, cwd: Path, code: int = 0, typed: str | bytes = "") -> str:
    """What `earwitness WORDS` prints, in this process: there are many."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    stdin = io.TextIOWrapper(io.BytesIO(typed.encode() if isinstance(typed, str) else typed), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.chdir(cwd)
        patch.setenv("EARWITNESS_KEY", "golden")
        patch.setattr(sys, "argv", ["earwitness", *map(str, words)])
        patch.setattr(sys, "stdin", stdin)
        found = guarded(cli)
    shown, errors = (_bytes(stream).decode() for stream in (out, err))
    assert found == code, errors
    return shown if code < 2 else errors


def _bytes(stream: io.TextIOWrapper) -> bytes:
    stream.flush()
    return bytes(stream.buffer.getvalue())  # type: ignore[attr-defined]


def secrets() -> list[str]:
    return [str(v["value"]).lower() for v in yaml.safe_load((SAMPLE / "policy.yaml").read_text())["values"]]


def hidden(text: str) -> bool:
    return not any(secret in text.lower() for secret in secrets())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sample, audited: `c.duckdb`."""
    folder = tmp_path_factory.mktemp("investigate")
    for name in ("traces.jsonl", "policy.yaml"):
        shutil.copy(SAMPLE / name, folder / name)
    run("audit", "traces.jsonl", "--policy", "policy.yaml", "--case", "c.duckdb", cwd=folder, code=1)
    return folder


@pytest.mark.parametrize("name", COMMANDS)
def test_the_terminal_shows_what_it_showed(name: str, folder: Path, update: bool) -> None:
    shown = run(*COMMANDS[name], "--case", "c.duckdb", cwd=folder, code=1)
    shown = "".join(line.rstrip() + "\n" for line in shown.splitlines())
    if update:
        (GOLDEN / f"{name}.txt").write_text(shown)
    assert max(map(len, shown.splitlines())) <= 100
    assert hidden(shown)
    assert shown == (GOLDEN / f"{name}.txt").read_text()


def cited(value: Any) -> Iterator[dict[str, Any]]:
    """Every place in a report."""
    if isinstance(value, dict):
        if "sha256" in value:
            yield value
        for item in value.values():
            yield from cited(item)
    elif isinstance(value, list):
        for item in value:
            yield from cited(item)


def keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from keys(item)
    elif isinstance(value, list):
        for item in value:
            yield from keys(item)


@pytest.mark.parametrize("name", COMMANDS)
def test_objects_are_stamped_cited_and_masked(name: str, folder: Path) -> None:
    text = run(*COMMANDS[name], "--case", "c.duckdb", "--json", cwd=folder, code=1)
    report = json.loads(text)
    assert report["format"] == f"earwitness.{name}/1"
    assert "revealed" not in report
    assert hidden(text)
    lines = (folder / "traces.jsonl").read_bytes().split(b"\n")
    places = list(cited(report))
    assert places
    for place in places:
        assert place["source"] == "traces.jsonl"
        line = lines[place["line"] - 1]
        assert sum(len(before) + 1 for before in lines[: place["line"] - 1]) == place["offset"]
        if "span" in place:
            content = json.loads(line)["content"]
            assert content[slice(*place["span"])].lower() in secrets()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_top_key_is_documented(name: str, folder: Path) -> None:
    report = json.loads(run(*COMMANDS[name], "--case", "c.duckdb", "--json", cwd=folder, code=1))
    _, heading, text = (ROOT / "docs" / "reports.md").read_text().partition("\n## The investigation objects\n")
    assert heading
    assert [key for key in report if f"`{key}`" not in text] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_revealing_is_asked_for_and_stamped(name: str, folder: Path) -> None:
    words = (*COMMANDS[name], "--case", "c.duckdb", "--reveal")
    assert json.loads(run(*words, "--json", cwd=folder, code=1))["revealed"] is True
    assert "REVEALED" in run(*words, cwd=folder, code=1)


def test_a_value_may_be_named_by_anything_but_itself(folder: Path) -> None:
    def mark(*words: str, typed: str = "") -> str:
        report = json.loads(run("dossier", *words, "--case", "c.duckdb", "--json", cwd=folder, code=1, typed=typed))
        return str(report["value"]["fingerprint"])

    ssn = mark("ssn")
    assert mark(ssn[:6]) == mark(f"SSN#{ssn[:4]}") == mark(f"ssn #{ssn}") == ssn
    assert mark("--value-text", typed="219-09-9999\n") == mark("--value-text", typed="219 09 9999") == ssn
    assert mark("--value-text", typed="ULCERATIVE colitis\r\n") == mark("diagnosis")


def test_a_person_may_be_named_on_stdin(folder: Path) -> None:
    words = ("--case", "c.duckdb", "--json")
    asked = run("subject", "-", *words, cwd=folder, code=1, typed=f"{PERSON}\n")
    assert asked == run("subject", PERSON, *words, cwd=folder, code=1)


def test_a_value_given_in_clear_is_not_repeated(folder: Path) -> None:
    assert hidden(run("dossier", "219-09-9999", "--case", "c.duckdb", cwd=folder, code=2))
    message = run("dossier", "--value-text", "--case", "c.duckdb", cwd=folder, code=2, typed="219-09-9998\n")
    assert "219" not in message
    assert hidden(run("paths", "--to", "219-09-9999", "--case", "c.duckdb", cwd=folder, code=2))
    assert hidden(run("what-if", "--remove-agent", "agent 2417.50", "--case", "c.duckdb", cwd=folder, code=2))


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        (("dossier", "--case", "c.duckdb"), "name one VALUE"),
        (("dossier", "ssn", "--value-text", "--case", "c.duckdb"), "name one VALUE"),
        (("dossier", "iban", "--case", "c.duckdb"), "no protected value has that name"),
        (("dossier", "ssn#", "--case", "c.duckdb"), "no protected value has that name"),
        (("dossier", "", "--case", "c.duckdb"), "no protected value has that name"),
        (("dossier", "%", "--case", "c.duckdb"), "no protected value has that name"),
        (("subject", "Nobody", "--case", "c.duckdb"), "no value is known to be about that person"),
        (("subject", "", "--case", "c.duckdb"), "no value is known to be about that person"),
        (("exposure", "--case", "absent.duckdb"), "no such case"),
        (("exposure",), "--case"),
        (("paths", "--to", "paymets", "--case", "c.duckdb"), "is it payments?"),
        (("paths", "--trace", "cw2-9", "--case", "c.duckdb"), "no trace is called 'cw2-9'"),
        (("paths", "--pattern", "999", "--case", "c.duckdb"), "no such pattern"),
        (("paths", "--pattern", "a -> b", "--case", "c.duckdb"), "no such pattern"),
        (("guards", "--trace", "99", "--case", "c.duckdb"), "no trace is called '99'"),
        (("what-if", "--case", "c.duckdb"), "say what to remove"),
        (("what-if", "--remove-edge", "assessor", "--case", "c.duckdb"), "'sender>recipient'"),
        (("what-if", "--remove-edge", "assessor>x", "--case", "c.duckdb"), "no actor is called 'x'"),
        (("what-if", "--remove-channel", "C9", "--case", "c.duckdb"), "C9"),
        (
            ("graph", "export", "--trace", "cw2-1", "--kind", "value", "-o", "g", "--case", "c.duckdb"),
            "belong together",
        ),
        (("graph", "export", "--trace", "cw2-1", "-o", "no/where", "--case", "c.duckdb"), "no/where"),
        (
            (
                "graph",
                "export",
                "--trace",
                "p2p4-4",
                "--kind",
                "value",
                "--value",
                "ssn",
                "-o",
                "g",
                "--case",
                "c.duckdb",
            ),
            "does not stand in that trace",
        ),
    ],
)
def test_bad_input_is_told_with_its_cure(words: tuple[str, ...], cause: str, folder: Path) -> None:
    assert cause in run(*words, cwd=folder, code=2)


def test_a_case_that_was_not_audited_is_refused(folder: Path) -> None:
    run("import", "traces.jsonl", "--case", "bare.duckdb", "--replace", cwd=folder)
    for words in COMMANDS.values():
        assert "has not been audited" in run(*words, "--case", "bare.duckdb", cwd=folder, code=2)


def test_nothing_unauthorised_ends_with_zero(folder: Path) -> None:
    lenient = (folder / "policy.yaml").read_text().split("rules:")[0].replace("default: sanitize", "default: allow")
    (folder / "lenient.yaml").write_text(lenient)
    shutil.copy(folder / "c.duckdb", folder / "lenient.duckdb")
    run("audit", "--case", "lenient.duckdb", "--policy", "lenient.yaml", cwd=folder)
    for words in COMMANDS.values():
        run(*words, "--case", "lenient.duckdb", cwd=folder)


def test_ways_are_chosen(folder: Path) -> None:
    def ways(*words: str) -> list[tuple[str, str]]:
        text = run("paths", *words, "--case", "c.duckdb", "--limit", "99", "--json", cwd=folder, code=1)
        return [(w["trace_id"], w["recipient"]) for w in json.loads(text)["ways"]]

    assert len(ways()) == 29
    assert len(ways("--pattern", "1")) == len(ways("--pattern", "claims_db -> coordinator -> *")) == 11
    assert ways("--pattern", "coordinator>payments") == ways("--from", "payments", "--trace", "p2p4-2")
    assert ways("--value", "amount", "--to", "payments", "--trace", "hier7-1") == [("hier7-1", "payments")]
    assert len(ways("--by", "position", "--pattern", "1")) == 11


def test_the_weakest_edge_of_a_way_is_named(tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = [{"type": "trace", "id": "t"}]
    for number, (sender, to, grade) in enumerate(
        (("a", "b", "broadcast"), ("b", "c", "declared"), ("c", "d", "consumed"))
    ):
        lines.append(_event(number, sender, [{"actor": to, "grade": grade}]))
    _audited(tmp_path, lines)
    (way,) = json.loads(run("paths", "--to", "d", "--case", "c.duckdb", "--json", cwd=tmp_path, code=1))["ways"]
    assert [hop["grade"] for hop in way["way"]] == ["broadcast", "declared", "consumed"]
    assert (way["weakest"], way["weakest_hop"], way["hops"], way["held"]) == ("consumed", 3, 3, "unseen")
    assert "consumed (weakest)" in run("paths", "--to", "d", "--case", "c.duckdb", cwd=tmp_path, code=1)


def test_what_survives_is_told_with_its_other_source(tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = [{"type": "trace", "id": "t"}]
    lines += [{"type": "actor", "trace": "t", "name": name, "kind": "tool"} for name in ("db", "crm")]
    lines += [
        _event(n, a, [b], c) for n, (a, b, c) in enumerate((("db", "x", "C4"), ("x", "y", "C2"), ("crm", "y", "C4")))
    ]
    _audited(tmp_path, lines)
    words = ("what-if", "--remove-edge", "x>y", "--case", "c.duckdb")
    report = json.loads(run(*words, "--json", cwd=tmp_path, code=1))
    (row,) = [row for row in report["exposures"] if row["recipient"] == "y"]
    assert (row["outcome"], row["source"], row["source_after"]) == ("another source", "db", "crm")
    assert (row["at"]["line"], row["at_after"]["line"]) == (5, 6)
    assert "Survives through another source (1 of 1)" in run(*words, cwd=tmp_path, code=1)


# Documentation.


def sessions(text: str) -> Iterator[tuple[list[str], list[str]]]:
    """Each command of the console blocks with the lines shown for it."""
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *lines = part.rstrip("\n").split("\n")
            yield shlex.split(command)[1:], lines


def test_the_page_shows_what_is_printed(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "sample_traces" / "topologies", tmp_path / "sample_traces" / "topologies")
    for words, lines in sessions((ROOT / "docs" / "investigating.md").read_text()):
        real = [line.rstrip() for line in run(*words, cwd=tmp_path, code=0 if words[0] == "graph" else 1).splitlines()]
        at, free = 0, False
        for line in lines:
            if line == "[...]":
                free = True
                continue
            at = real.index(line, at) if free and line in real[at:] else at
            assert real[at : at + 1] == [line], words
            at, free = at + 1, False
        assert free or not any(real[at:]), words


# Graphs for other programs.


@pytest.mark.parametrize("kind", ["flow", "value", "execution"])
def test_graphs_are_written_in_every_format(kind: str, folder: Path) -> None:
    chosen = ("--kind", kind, *(("--value", "ssn") if kind == "value" else ()))
    for form in ("graphml", "dot", "json", "opengraph"):
        words = ("graph", "export", "--trace", "p2p4-2", "--format", form, *chosen, "-o", f"g.{form}")
        assert "nodes" in run(*words, "--case", "c.duckdb", cwd=folder)
        assert hidden((folder / f"g.{form}").read_text())
    document = json.loads((folder / "g.json").read_text())
    graph = nx.read_graphml(folder / "g.graphml")
    assert len(graph.nodes) == len(document["nodes"])
    assert {edge["source"] for edge in document["edges"]} <= {node["id"] for node in document["nodes"]}
    assert json.loads((folder / "g.opengraph").read_text())["graph"]["nodes"]
    rows = document["nodes"] if kind == "execution" else document["edges"]
    assert all(row["file"] == "traces.jsonl" and row["line"] for row in rows)


def test_a_revealed_graph_is_stamped(folder: Path) -> None:
    words = ("graph", "export", "--trace", "p2p4-2", "--reveal", "-o", "r.json", "--case", "c.duckdb")
    assert "(REVEALED)" in run(*words, cwd=folder)
    assert json.loads((folder / "r.json").read_text())["graph"]["revealed"] is True
    assert not hidden((folder / "r.json").read_text())


# Hostile traces.

SECRET = "QX-7741-0098-35"
ODD = (
    "\x1b[31mred\x1b[0m",
    "[bold red]markup[/bold red] [/]",
    ":bomb: a>b -> c",
    'q"uo\\te\\',
    "<script>alert(1)</script>&amp;",
    f"keeper of {SECRET}",
    f"b64 {base64.b64encode(SECRET.encode()).decode()}",
    "\u202egnp.exe",
    "line\nbreak\ttab",
    "x" * 300,
    "; DROP TABLE events --",
    "*",
)


def _event(number: int, sender: str, to: list[Any], channel: str = "C2", trace: str = "t") -> dict[str, Any]:
    line = {"type": "event", "trace": trace, "id": f"e{number}", "channel": channel, "sender": sender, "to": to}
    return line | {"content": f"Message {number}: the account is {SECRET}."}


def _audited(folder: Path, lines: list[dict[str, Any]], **value: str) -> None:
    told = {"attribute": "account", "value": SECRET, "value_type": "format_dependent"} | value
    (folder / "traces.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "policy.yaml").write_text(yaml.safe_dump({"default": "sanitize", "values": [told]}))
    run("audit", "traces.jsonl", "--policy", "policy.yaml", "--case", "c.duckdb", "--replace", cwd=folder, code=1)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A case whose every name is hostile; each hands the value to the next."""
    folder = tmp_path_factory.mktemp("hostile")
    trace = f"run \x1b]0;title\x07 [red]{SECRET}"
    lines: list[dict[str, Any]] = [{"type": "trace", "id": trace}]
    lines += [_event(n, a, [b], trace=trace) for n, (a, b) in enumerate(pairwise(ODD))]
    _audited(folder, lines, attribute=f"[u]acc{SECRET}", subject=f"\x1b[1m{PERSON} [/]")
    return folder


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_hostile_names_do_no_harm(form: tuple[str, ...], hostile: Path) -> None:
    mark = json.loads(run("paths", "--case", "c.duckdb", "--json", cwd=hostile, code=1))["ways"][0]["value"][
        "fingerprint"
    ]
    commands = (
        ("dossier", mark),
        ("subject", f"\x1b[1m{PERSON} [/]"),
        ("exposure",),
        ("paths", "--limit", "99"),
        ("paths", "--by", "role"),
        ("guards", "--fewest"),
        ("guards", "--at", "actor"),
        ("what-if", "--remove-agent", ODD[2]),
        ("what-if", "--remove-edge", f"{ODD[1]}->{ODD[2]}"),
        ("what-if", "--remove-edge", f"{ODD[2]}>{ODD[3]}"),
    )
    for words in commands:
        shown = run(*words, *form, "--case", "c.duckdb", cwd=hostile, code=1)
        assert SECRET.lower() not in shown.lower(), words
        assert SECRET.replace("-", "") not in shown
        assert ODD[6].split()[1] not in shown
        # In JSON what steers a terminal is escaped; what only misleads a reader is data.
        steering = "[\x00-\x09\x0b-\x1f]" if form else "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]"
        assert not re.search(steering, shown), words
        assert "\N{BOMB}" not in shown
        assert form or max(map(len, shown.splitlines())) <= 100, words
    assert "[bold red]markup[/bold red] [/]" in run("guards", "--case", "c.duckdb", cwd=hostile, code=1)


def test_hostile_names_are_found_by_what_is_shown(hostile: Path) -> None:
    report = json.loads(run("paths", "--case", "c.duckdb", "--json", cwd=hostile, code=1))
    trace = report["ways"][0]["trace_id"]
    assert "[" in trace
    assert SECRET not in trace
    keeper = next(hop["sender"] for way in report["ways"] for hop in way["way"] if "keeper" in (hop["sender"] or ""))
    found = run("paths", "--from", keeper, "--trace", trace, "--case", "c.duckdb", "--json", cwd=hostile, code=1)
    assert json.loads(found)["ways"]


@pytest.mark.parametrize("form", ["graphml", "dot", "json", "opengraph"])
def test_hostile_graphs_are_well_formed_and_masked(form: str, hostile: Path) -> None:
    run("graph", "export", "--trace", "0", "--format", form, "-o", "g", "--case", "c.duckdb", cwd=hostile)
    text = (hostile / "g").read_text()
    assert SECRET not in text
    assert "\x1b" not in text
    if form == "graphml":
        assert len(nx.read_graphml(hostile / "g").nodes) == len(ODD)
    elif form == "dot":
        assert len(
            re.findall(r'^  n\d+ \[("(?:[^"\\]|\\.)*"="(?:[^"\\]|\\.)*"(?:, )?)+\];$', text, re.MULTILINE)
        ) == len(ODD)
    else:
        assert "<script>" not in text
        assert json.loads(text)
