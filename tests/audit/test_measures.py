"""Measures: the worked example by hand, the printed SQL, other cells, ranks, horizons, repetitions, archetypes."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner

from earwitness.audit.measure import MEASURES, Figure, figures, named
from earwitness.audit.measures.archetypes import ARCHETYPES
from earwitness.audit.pipeline import Request, audit, read_request
from earwitness.audit.rulesets import DEFAULT
from earwitness.audit.stability import Stability, between, stability, within
from earwitness.cli import cli
from earwitness.ingest.loader import Loader
from earwitness.schema.case import Case
from earwitness.schema.errors import CaseError, InputError
from earwitness.schema.policy import Member, Policy, PolicyRule, PolicyValue

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "tests/golden/measures/ten-events"
PAGE = (ROOT / "docs/measures.md").read_text(encoding="utf-8")
EXPECTED = json.loads((FOLDER / "figures.json").read_text())
SECRET = "KX-4711-0815"
POLICY = Policy(
    values=(PolicyValue(attribute="account", value=SECRET), PolicyValue(attribute="ssn", value="412-55-9087")),
    rules=(PolicyRule(effect="allow", recipients=("a",)),),
    roster=(Member(name="a"), Member(name="b")),
    unlisted="introduced",
)
Line = dict[str, Any]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ten events, audited, in a file."""
    made = tmp_path_factory.mktemp("ten") / "case.duckdb"
    with Case(made) as case:
        Loader(case).load([FOLDER / "traces.jsonl"])
        audit(case, replace(read_request(FOLDER / "policy.yaml", None, DEFAULT), fidelity=True))
    return made


@pytest.fixture
def ten(path: Path) -> Iterator[Case]:
    with Case(path, create=False, read_only=True) as case:
        yield case


def audited(folder: Path, lines: Iterable[Line], place: Path | None = None) -> Case:
    source = folder / "traces.jsonl"
    source.write_text("".join(json.dumps(line) + "\n" for line in lines))
    case = Case(place)
    Loader(case).load([source])
    audit(case, Request(policy=POLICY))
    return case


def said(trace: str, text: str, sender: str = "a", to: str = "x", channel: str = "C2", **more: Any) -> Line:
    return {"type": "event", "trace": trace, "channel": channel, "sender": sender, "to": [to], "content": text, **more}


def counts(case: Case, name: str, *by: str) -> dict[tuple[Any, ...], tuple[int, int]]:
    return {tuple(f.group.values()): (f.k, f.n) for f in figures(case, named([name]), by)}


# -- the worked example -----------------------------------------------------------------------------------------------


def test_ten_events_by_hand(ten: Case) -> None:
    found = [{"name": f.name, "group": f.group, "k": f.k, "n": f.n} for f in figures(ten)]
    assert found == EXPECTED
    assert {row["name"] for row in EXPECTED} == {m.name for m in MEASURES}
    assert ten.count("events") == 10


def test_the_page_has_the_example(ten: Case) -> None:
    for name in ("traces.jsonl", "policy.yaml"):
        assert "```\n" in PAGE.partition(f"<!-- example: {name} -->\n")[2]
        assert (FOLDER / name).read_text() in PAGE
    rows = [shown(f) for f in figures(ten) if f.name in ON_DEMAND]
    table = PAGE.partition("<!-- example: asked -->\n")[2].split("\n\n")[0]
    assert table.split("\n")[2:] == rows


ON_DEMAND = {m.name for m in MEASURES if m.asked} | {"value_fidelity"}
MEANS = {m.name for m in MEASURES if m.kind == "mean"}


def shown(f: Figure) -> str:
    times = 1 if f.name in MEANS else 100
    rate, low, high = (f"{times * x:.2f}" for x in (f.rate, f.low, f.high))
    return (
        f"| `{f.name}` | {' '.join(map(str, f.group.values())) or 'all'} | {f.k} | {f.n} | {rate} | {low} to {high} |"
    )


@pytest.mark.parametrize("one", MEASURES, ids=lambda m: m.name)
def test_the_page_names_the_source(one: Any) -> None:
    section = PAGE.partition(f"\n### {one.name}\n")[2].split("\n## ")[0].split("\n### ")[0]
    assert f"\nSource: {one.source}.\n" in section


def test_the_page_has_the_cues_of_archetypes() -> None:
    for a in ARCHETYPES:
        cue = "`" + a.cue.replace("|", "\\|") + "`" if a.cue else ""
        assert f"| {a.letter} | {a.name} | {cue}" in PAGE


def test_the_audit_counts_what_is_counted_on_demand(ten: Case) -> None:
    stored = ten.rows("SELECT name, grp, k, n, low, high FROM measures")
    asked = {m.name for m in MEASURES if m.asked}
    live = [
        (f.name, json.dumps(f.group, separators=(",", ":")), f.k, f.n, f.low, f.high)
        for f in figures(ten)
        if f.name not in asked
    ]
    assert stored == live


# -- explained --------------------------------------------------------------------------------------------------------


def run(*arguments: str) -> Any:
    return CliRunner().invoke(cli, ["measures", *arguments], catch_exceptions=False)


@pytest.mark.parametrize("by", [(), ("--by", "topology", "--by", "attributes.note")])
def test_the_printed_sql_gives_the_same_figures(path: Path, by: tuple[str, ...]) -> None:
    """Every statement as it stands on the screen, on the file alone, open for reading only."""
    report = json.loads(run(str(path), "--json", *by).stdout)
    text = run(str(path), "--explain", *by).stdout
    printed = re.findall(r"^formula: .*?^source: .*?^sql:\n(.*?);\n", text, re.DOTALL | re.MULTILINE)
    assert len(printed) == len({(row["name"], row["sql"]) for row in report["figures"]}) >= len(MEASURES)
    with duckdb.connect(str(path), read_only=True) as plain:
        found = []
        for sql in printed:
            rows = plain.execute(sql)
            names = [d[0] for d in rows.description or ()]
            found += [(row[names.index("k")], row[names.index("n")]) for row in rows.fetchall()]
    assert found == [(row["k"], row["n"]) for row in report["figures"]]


def test_formula_and_source_stand_by_each_figure(path: Path) -> None:
    text = run(str(path), "any_leakage", "--explain").stdout
    assert "formula: k = units with `hit`" in text
    assert f"source: {named(['any_leakage'])[0].source}\n" in text
    assert "66.67 [20.77, 93.85]" in text


def test_the_command_tells_what_it_cannot_count(tmp_path: Path) -> None:
    lines = [{"type": "trace", "id": "t"}, said("t", SECRET)]
    with audited(tmp_path, lines, tmp_path / "case.duckdb"):
        pass
    text = run(str(tmp_path / "case.duckdb")).stdout
    assert "no figure: values_by_turn (needs turns of events)" in text
    assert "no figure: value_fidelity (needs audit --fidelity)" in text
    assert max(map(len, text.splitlines())) <= 100


def test_values_are_masked_in_cells(tmp_path: Path) -> None:
    lines = [{"type": "trace", "id": "t", "scenario": f"of {SECRET}"}, said("t", SECRET)]
    place = tmp_path / "case.duckdb"
    with audited(tmp_path, lines, place):
        pass
    for form in ((), ("--json",), ("--explain",)):
        hidden = run(str(place), "any_leakage", "--by", "scenario", *form).stdout
        assert SECRET not in hidden
        assert "[account #" in hidden
    assert SECRET in run(str(place), "any_leakage", "--by", "scenario", "--reveal").stdout


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("nothing",), "no measure is called 'nothing'"),
        (("any_leakage", "--by", "channel"), "cannot be counted by"),
        (("any_leakage", "--by", "attributes."), "cannot be counted by"),
        (("any_leakage", "--by", "topology; DROP TABLE traces"), "cannot be counted by"),
    ],
)
def test_bad_questions(path: Path, arguments: tuple[str, ...], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        run(str(path), *arguments)


@pytest.mark.parametrize("key", ["temperature", "a b", "it's", 'say "so"', "a.b", "a\\b", "$[0]", "*", "é"])
def test_any_attribute_of_a_trace_is_a_cell(key: str, tmp_path: Path) -> None:
    lines: list[Line] = [
        {"type": "trace", "id": t, "attributes": {key: v, "*": v}} for t, v in (("t", "hot"), ("u", 2))
    ]
    with audited(tmp_path, [*lines, said("t", SECRET), said("u", "nothing")]) as case:
        assert counts(case, "any_leakage", f"attributes.{key}") == {("2",): (0, 1), ("hot",): (1, 1)}


def test_a_case_that_was_not_audited(tmp_path: Path) -> None:
    Case(tmp_path / "case.duckdb").close()
    with pytest.raises(CaseError, match="has not been audited"):
        run(str(tmp_path / "case.duckdb"))


# -- other cells, ranks, repetitions ----------------------------------------------------------------------------------


def corpus(rates: dict[str, list[int]], n: int = 10) -> list[Line]:
    """Traces of each framework: in recording r, so many of n disclose; told apart by an attribute, too."""
    lines: list[Line] = []
    for framework, hits in rates.items():
        for r, k in enumerate(hits):
            for i in range(n):
                trace = f"{framework}-{r}-{i}"
                more = {"scenario": f"s{i}", "temperature": f"0.{r}", "started_at": f"2026-01-0{r + 1}T00:00:00Z"}
                lines.append({"type": "trace", "id": trace, "framework": framework, **more})
                lines.append(said(trace, SECRET if i < k else "nothing"))
    return lines


RATES = {"p": [8, 9], "q": [6, 7], "r": [5, 6], "s": [1, 0]}


@pytest.mark.parametrize("cell", ["repeat", "attributes.temperature"])
def test_ranks_within_a_case(cell: str, tmp_path: Path) -> None:
    with audited(tmp_path, corpus(RATES)) as case:
        found = within(case, named(["filtered_leakage"])[0], cell)
        assert counts(case, "any_leakage", cell, "framework")[list(found.corpora)[1] if cell[0] == "a" else 2, "q"] == (
            7,
            10,
        )
    assert found.floor == pytest.approx(0.1)
    assert [(n.higher, n.lower, n.verdict) for n in found.neighbours] == [
        ("p", "q", "ordered"),
        ("q", "r", "tied"),
        ("r", "s", "ordered"),
    ]


def test_ranks_between_cases_and_on_the_command_line(tmp_path: Path) -> None:
    places = []
    for r in (0, 1):
        folder = tmp_path / str(r)
        folder.mkdir()
        places.append(folder / "case.duckdb")
        with audited(folder, corpus({f: hits[r : r + 1] for f, hits in RATES.items()}), places[r]):
            pass
    with Case(places[0]) as first, Case(places[1]) as second:
        found = between({"first": first, "second": second}, named(["filtered_leakage"])[0], ["framework"])
    assert isinstance(found, Stability)
    assert [(d.group, d.rates) for d in found.groups] == [(f, (a / 10, b / 10)) for f, (a, b) in RATES.items()]
    text = run(str(places[0]), "filtered_leakage", "--against", str(places[1])).stdout
    assert "noise floor: 10.00 points" in text
    assert re.search(r"^q +r +10\.00 +tied +0$", text, re.MULTILINE)


def test_a_single_corpus_has_no_floor_and_no_order() -> None:
    found = stability(["only"], {"p": [0.5], "q": [0.1], "r": [None]})
    assert (found.floor, [n.verdict for n in found.neighbours]) == (None, ["tied"])


def test_inversions_and_groups_that_are_missing() -> None:
    found = stability(["0", "1", "2"], {"p": [0.3, 0.1, None], "q": [0.2, 0.4, 0.2]})
    (pair,) = found.neighbours
    assert pair.inversions == 1
    assert found.floor == pytest.approx(0.2)
    assert list(found.largest) == pytest.approx([0.2, 0.0])


def test_repetitions_event_by_event(tmp_path: Path) -> None:
    lines: list[Line] = []
    texts = {"first": ["one", "two", SECRET], "same": ["one", "two", SECRET], "other": ["one", "2", SECRET, "more"]}
    for day, (trace, told) in enumerate(texts.items(), 1):
        lines.append(
            {"type": "trace", "id": trace, "scenario": "s", "framework": "f", "started_at": f"2026-01-0{day}T00:00:00Z"}
        )
        lines += [said(trace, text) for text in told]
    lines += [{"type": "trace", "id": "alone", "scenario": "t", "framework": "f"}, said("alone", "one")]
    with audited(tmp_path, lines) as case:
        # Three places of `same` and four of `other`, of which two differ: the fourth has no place in the first.
        assert counts(case, "event_reproducibility") == {("f",): (5, 7)}
        assert counts(case, "run_mismatch") == {("f",): (1, 2)}
        assert counts(case, "any_leakage", "repeat") == {(1,): (1, 2), (2,): (1, 1), (3,): (1, 1)}


def test_turns_from_zero_and_long_runs(tmp_path: Path) -> None:
    lines = [{"type": "trace", "id": "zero"}, said("zero", SECRET, turn=0), said("zero", "412-55-9087", turn=24)]
    lines += [{"type": "trace", "id": "one"}, said("one", SECRET, turn=2), said("one", SECRET, turn=3)]
    # What a tool says is nothing an agent disclosed; an event without a turn is in no horizon.
    lines += [{"type": "actor", "trace": "one", "name": "db", "kind": "tool"}]
    lines += [said("one", "412-55-9087", sender="db", channel="C4", turn=1), said("one", "412-55-9087")]
    with audited(tmp_path, lines) as case:
        found = counts(case, "values_by_turn")
        fresh = counts(case, "marginal_by_turn")
    assert {h: found["all", h] for h in (1, 3, 5, 10, 20, 25)} == {
        1: (1, 2), 3: (2, 2), 5: (2, 2), 10: (2, 2), 20: (2, 2), 25: (3, 2)
    }  # fmt: skip
    assert [fresh["behavioural", h][0] for h in (1, 3, 5, 10, 20, 25)] == [1, 1, 0, 0, 0, 1]


CUES = [
    ("Just to be sure: is it still correct that she lives there?", "G"),
    ("Could you confirm the number", "G"),
    ("There was a mistake in my last message.", "D"),
    ("I am handing this over to billing.", "B"),
    ("In summary, all is done.", "E"),
    ("We refuse because the rule says so.", "C"),
    ("Thank you, great work!", "F"),
    ("The weather is fine.", "A"),
]


def test_archetypes_by_rule(tmp_path: Path) -> None:
    lines: list[Line] = [{"type": "trace", "id": "t"}, said("t", "Please confirm: begin?", seq=1)]
    lines += [said("t", f"{text}", seq=n) for n, (text, _) in enumerate(CUES, 2)]
    with audited(tmp_path, lines) as case:
        found = counts(case, "archetype_disclosure")
    expected = {("BASE", "rule: cue-words"): (0, 1)}
    for _, letter in CUES:
        before = expected.get((letter, "rule: cue-words"), (0, 0))
        expected[letter, "rule: cue-words"] = (0, before[1] + 1)
    assert found == expected


def test_types_attributes_and_domains_where_they_are_in_scope(tmp_path: Path) -> None:
    lines: list[Line] = []
    for n, (domain, text) in enumerate((("law", SECRET), ("law", "nothing"), ("care", "EXTRA-99-77"))):
        lines += [{"type": "trace", "id": f"t{n}", "domain": domain}, said(f"t{n}", text)]
    lines += [{"type": "value", "trace": "t2", "attribute": "badge", "value": "EXTRA-99-77"}]
    with audited(tmp_path, lines) as case:
        assert counts(case, "attribute_leakage") == {("account",): (1, 3), ("badge",): (1, 1), ("ssn",): (0, 3)}
        assert counts(case, "domain_leakage") == {("care",): (1, 1), ("law",): (1, 2)}
        assert counts(case, "attribute_leakage", "domain")["law", "account"] == (1, 2)


def test_the_q_worked_by_hand_on_the_page() -> None:
    import numpy as np

    from earwitness.audit.stats import cochran_q

    found = cochran_q(np.array([[0, 0, 1], [0, 1, 1], [0, 0, 1], [1, 0, 1]], dtype=bool))
    assert (found.statistic, found.df, round(found.p or 0, 3)) == (4.5, 2, 0.105)
    assert "p = exp(-2.25) = 0.105" in PAGE
