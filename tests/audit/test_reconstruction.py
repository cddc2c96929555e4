"""Reconstruction: counts and scores against brute force, a case worked by hand, the audit by people."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from hashlib import blake2b
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
import yaml
from click.testing import CliRunner
from hypothesis import example, given, settings
from hypothesis import strategies as st

from earwitness.audit.judge.endpoint import Answer, Endpoint
from earwitness.audit.judge.options import JudgeOptions
from earwitness.audit.judge.prompt import Pair, prompt_sha256
from earwitness.audit.judge.verdicts import save
from earwitness.audit.pipeline import Request, audit
from earwitness.audit.reconstruction import nearness
from earwitness.audit.reconstruction.decisions import Decided, read_decisions, record, tally, waiting
from earwitness.audit.reconstruction.eligible import AXES
from earwitness.audit.reconstruction.find import SearchOptions, find
from earwitness.audit.reconstruction.judged import judge
from earwitness.audit.semantic.sentences import read
from earwitness.audit.semantic.stems import stem
from earwitness.audit.semantic.weights import weights
from earwitness.cli import cli
from earwitness.ingest.loader import Loader
from earwitness.reports.reconstruction import cards, reconstruction
from earwitness.reports.shown import Shown
from earwitness.schema.case import Case
from earwitness.schema.errors import CaseError, InputError

GOLDEN = Path(__file__).parents[1] / "golden" / "studies"
Line = dict[str, Any]


def load(case: Case, folder: Path, lines: list[Line]) -> None:
    path = folder / "traces.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    Loader(case).load([path])
    audit(case, Request())


# Brute force: every instance made, every pair of sentences looked at.


class Found(NamedTuple):
    eligible: int
    positive: int
    single: int


def sentences(text: str) -> list[set[str]]:
    found = read(pa.array([text], pa.large_string()))
    said: list[set[str]] = [set() for _ in found.rows]
    for sentence, word in zip(found.of_word.tolist(), found.words.kind.tolist(), strict=True):
        root = stem(found.words.distinct[word])
        if root:
            said[sentence].add(root)
    return said


class Brute:
    """The definitions, word by word, over the tables of the import and the matches."""

    def __init__(self, case: Case, options: SearchOptions) -> None:
        self.case, self.options = case, options
        self.values = {v: (t, text, kind) for v, t, text, kind in case.rows(
            "SELECT value, trace, text, value_type FROM vault")}  # fmt: skip
        self.heard = case.rows("""
            SELECT DISTINCT e.trace, d.recipient, e.channel, e.event, c.text FROM events e
            JOIN deliveries d USING (event) JOIN contents c USING (content)
            JOIN actors a ON a.trace = e.trace AND a.actor = d.recipient
            WHERE d.recipient <> e.sender AND a.kind = 'agent'""")
        hearers = {(t, a) for t, a, *_ in self.heard}  # whoever was only shown something has no view
        shown = case.rows("SELECT trace, actor, text FROM sightings JOIN contents USING (content)")
        self.seen = {(t, a, x) for t, a, _, _, x in self.heard} | {row for row in shown if row[:2] in hearers}
        self.holders = self._holders()
        self.share = self._shares()

    def _holders(self) -> set[tuple[int, str, int]]:
        told = set(
            self.case.rows("""
            SELECT c.text, m.value FROM matches m JOIN contents c USING (content)
            WHERE standing = 'confirmed' AND m.event IS NULL""")
        )
        met = self.seen | set(self.case.rows("SELECT trace, sender, text FROM events JOIN contents USING (content)"))
        split = set(self.case.rows("SELECT event, value FROM matches WHERE event IS NOT NULL"))
        own = {(t, a, v) for t, a, _, e, _ in self.heard for n, v in split if n == e}
        own |= set(self.case.rows("""SELECT e.trace, e.sender, m.value FROM matches m JOIN events e USING (event)"""))
        return own | {(t, a, v) for t, a, x in met for v, (owner, _, _) in self.values.items()
                      if owner == t and (x, v) in told}  # fmt: skip

    def outside(self, trace: int, actor: str, value: int) -> bool:
        allowed = self.case.rows(
            "SELECT 1 FROM rules r JOIN vault v ON v.value = ? AND list_contains(r.attributes, v.attribute) "
            "WHERE r.trace = ? AND list_contains(r.recipients, ?)", [value, trace, actor])  # fmt: skip
        return self.values[value][0] == trace and not allowed and (trace, actor, value) not in self.holders

    def _shares(self) -> dict[str, dict[str, float]]:
        roots = {text: sorted({r for s in sentences(text) for r in s}) for _, text, _ in self.values.values()}
        vocabulary = sorted({r for told in roots.values() for r in told})
        asked = {x for t, a, x in self.seen for v in self.values if self.outside(t, a, v)}
        said = [s for x in asked for s in sentences(x)]
        counts = Counter(r for s in said for r in s)
        weight = dict(zip(vocabulary, weights(vocabulary, [counts[r] for r in vocabulary], len(said)), strict=True))  # type: ignore[arg-type]
        return {
            text: {r: weight[r] / sum(weight[k] for k in told) for r in told} if len(told) > 1 else {}
            for text, told in roots.items()
        }

    def tells(self, texts: set[str], value: int) -> bool:
        _, wording, kind = self.values[value]
        share = self.share[wording]
        least = self.options.least if kind == "contextual" else self.options.exact
        said = [s for x in texts for s in sentences(x)]
        unions = ((a | b) & share.keys() for a in said for b in said)
        return any(len(u) > 1 and sum(share[r] for r in u) >= least - 1e-9 for u in unions)

    def instances(self, axis: str) -> Iterator[tuple[int, list[set[str]]]]:
        agents = sorted({(t, a) for t, a, *_ in self.heard})
        for value in self.values:
            out = [(t, a) for t, a in agents if self.outside(t, a, value)]
            events = [(who, c, x) for who in out for t, a, c, _, x in self.heard if (t, a) == who]
            if axis == "inference":
                yield from ((value, [{x}]) for _, _, x in events)
            elif axis == "cross-channel":
                yield from ((value, [{a[2]}, {b[2]}]) for a, b in combinations(events, 2)
                            if a[0] == b[0] and a[1] != b[1])  # fmt: skip
            else:
                views = [{x for t, a, x in self.seen if (t, a) == who} for who in out]
                yield from ((value, [a, b]) for a, b in combinations(views, 2))

    def count(self, axis: str) -> Found:
        eligible = positive = single = 0
        for value, parts in self.instances(axis):
            alone = any(self.tells(p, value) for p in parts)
            eligible += 1
            single += alone
            positive += alone or self.tells(set().union(*parts), value)
        return Found(eligible, positive, single)


class BruteNear(Brute):
    """The same by embeddings: each text gives its sentence nearest to the value."""

    def _shares(self) -> dict[str, dict[str, float]]:
        return {}

    def tells(self, texts: set[str], value: int) -> bool:
        _, wording, kind = self.values[value]
        if kind != "contextual":
            return False
        (v,) = Toy().encode([wording])
        nearest = []
        for text in sorted(texts):
            found = read(pa.array([text], pa.large_string()))
            said = [found.text(n) for n in range(len(found.rows))]
            vectors = Toy().encode([s for s in said if telling(s)])
            nearest += [vectors[(vectors @ v).argmax()]] if len(vectors) else []
        sums = [a + b for a in nearest for b in nearest]
        best = max((float(s @ v / np.linalg.norm(s)) for s in sums), default=0.0)
        return bool(best >= self.options.least - 1e-6)


def telling(sentence: str) -> bool:
    """Whether a sentence has two content words."""
    found = read(pa.array([sentence], pa.large_string())).words
    words = [found.distinct[k] for k in found.kind.tolist()]
    return len([w for w in words if stem(w) is not None and w.isalpha()]) > 1


class Toy:
    """An encoder of twelve dimensions: sums of vectors drawn by word."""

    def encode(self, texts: list[str]) -> npt.NDArray[np.float32]:
        out = np.zeros((len(texts), 12))
        for n, text in enumerate(texts):
            for word in text.lower().replace(".", " ").split():
                out[n] += np.random.default_rng(list(word.encode())).normal(size=12)
        unit: npt.NDArray[np.float32] = (out / np.linalg.norm(out, axis=1, keepdims=True)).astype(np.float32)
        return unit


# Wordings of one sentence without a full stop, so that each value has one wording.
VALUES = {
    "landing": ("contextual", "the silver heron lands beyond Marrow quay at midnight"),
    "illness": ("contextual", "treated for recurring lupus nephritis since childhood"),
    "person": ("value_dependent", "Quill Abernathy"),
    "code": ("format_dependent", "QX-7719-4402"),
}
WORDS = sorted({w for _, text in VALUES.values() for w in text.replace("-", " ").split()} | {"invoice", "today"})
AGENTS = ("ana", "ben", "cid", "dot")
# Halves of values: what only together tells them.
PIECES = [" ".join(text.replace("-", " ").split()[half]) for _, text in VALUES.values()
          for half in (slice(0, 2), slice(2, None), slice(0, 1), slice(1, None))]  # fmt: skip
SENTENCE = st.one_of(
    st.sampled_from([p for p in PIECES if p]),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join),
).map(lambda words: f"So {words}.")
WHOLE = st.sampled_from([text + "." for _, text in VALUES.values()])
TEXT = st.lists(st.one_of(SENTENCE, SENTENCE, SENTENCE, SENTENCE, WHOLE), min_size=1, max_size=2).map(" ".join)


@st.composite
def runs(draw: st.DrawFn) -> list[Line]:
    lines: list[Line] = []
    for trace in ("t1", "t2")[: draw(st.integers(1, 2))]:
        lines.append({"type": "trace", "id": trace, "framework": "test"})
        lines += [{"type": "actor", "trace": trace, "name": a, "kind": "agent"} for a in AGENTS]
        for name in draw(st.sets(st.sampled_from(sorted(VALUES)), min_size=1, max_size=3)):
            kind, text = VALUES[name]
            lines.append({"type": "value", "trace": trace, "attribute": name, "value": text, "value_type": kind})
            lines.append({"type": "rule", "trace": trace, "effect": "allow", "attributes": [name],
                          "recipients": draw(st.lists(st.sampled_from(AGENTS), min_size=1, max_size=1))})  # fmt: skip
        for n in range(draw(st.integers(1, 6))):
            sender, *to = draw(st.lists(st.sampled_from(AGENTS), min_size=2, max_size=3, unique=True))
            lines.append({"type": "event", "trace": trace, "id": f"e{n}", "seq": n, "sender": sender, "to": to,
                          "channel": draw(st.sampled_from(["C2", "C5", "C6"])), "content": draw(TEXT)})  # fmt: skip
        if draw(st.booleans()):
            shown: Line = {"type": "sighting", "trace": trace, "seq": 9, "content": draw(TEXT)}
            lines.append(shown | {"actor": draw(st.sampled_from(AGENTS)), "kind": "input"})
    return lines


# One agent is shown a text and receives nothing: how rare its words are does not count.
ONLY_SHOWN: list[Line] = [
    {"type": "trace", "id": "t1", "framework": "test"},
    *({"type": "actor", "trace": "t1", "name": a, "kind": "agent"} for a in AGENTS),
    {"type": "value", "trace": "t1", "attribute": "landing", "value": VALUES["landing"][1], "value_type": "contextual"},
    {"type": "rule", "trace": "t1", "effect": "allow", "attributes": ["landing"], "recipients": ["ana"]},
    {"type": "event", "trace": "t1", "id": "e0", "seq": 0, "sender": "ana", "to": ["ben"], "channel": "C2",
     "content": "So the silver."},
    {"type": "event", "trace": "t1", "id": "e1", "seq": 1, "sender": "ana", "to": ["ben"], "channel": "C2",
     "content": "So the silver. So Marrow heron."},
    {"type": "sighting", "trace": "t1", "seq": 9, "actor": "cid", "kind": "input",
     "content": "So heron lands beyond Marrow quay at midnight."},
]  # fmt: skip


@given(runs(), st.sampled_from([0.4, 0.6, 0.9]))
@example(ONLY_SHOWN, 0.4)
@settings(max_examples=30)
def test_counts_and_scores_are_those_of_brute_force(
    tmp_path_factory: pytest.TempPathFactory, lines: list[Line], threshold: float
) -> None:
    options = SearchOptions(threshold=threshold, exact=min(1.0, threshold + 0.1))
    with Case() as case:
        load(case, tmp_path_factory.mktemp("runs"), lines)
        find(case, options)
        brute = Brute(case, options)
        for one in tally(case):
            expected = brute.count(one.axis)
            assert one.eligible == expected.eligible, one.axis
            assert one.positive == expected.positive, one.axis
            if one.axis != "inference":
                assert one.single_source == (expected.single if expected.eligible else None), one.axis


@given(runs(), st.sampled_from([0.4137, 0.5613, 0.7371]))
@settings(max_examples=15)
def test_nearness_is_that_of_brute_force(
    tmp_path_factory: pytest.TempPathFactory, lines: list[Line], threshold: float
) -> None:
    options = SearchOptions(method="minilm", threshold=threshold)
    with Case() as case, pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearness, "_encoder", lambda method: Toy())
        load(case, tmp_path_factory.mktemp("runs"), lines)
        find(case, options)
        brute = BruteNear(case, options)
        for one in tally(case):
            assert (one.axis, one.eligible, one.positive) == (one.axis, *brute.count(one.axis)[:2])


# By hand.


@pytest.fixture
def halves(tmp_path: Path) -> Iterator[Case]:
    with Case() as case:
        load(case, tmp_path, yaml.safe_load((GOLDEN / "two_halves.yaml").read_text())["lines"])
        yield case


def test_two_halves_on_two_channels(halves: Case) -> None:
    wanted = yaml.safe_load((GOLDEN / "two_halves.yaml").read_text())
    assert halves.count("matches") == 0
    assert find(halves) == wanted["items"]
    found = {one.axis: [one.eligible, one.positive, one.single_source] for one in tally(halves)}
    assert found == wanted["counts"]
    assert halves.rows("SELECT axis, round(score, 6), instances FROM candidates") == [("cross-channel", 0.5, 1)]


def test_a_value_told_outright_is_not_eligible(tmp_path: Path) -> None:
    lines = yaml.safe_load((GOLDEN / "two_halves.yaml").read_text())["lines"]
    told = "zorblat quindrix vorrmo mastuk"
    lines.append({"type": "sighting", "trace": "t", "actor": "ana", "kind": "initial", "content": told})
    with Case() as case:
        load(case, tmp_path, lines)
        find(case)
        assert [one.eligible for one in tally(case)] == [2, 0, 0]


def test_values_of_one_word_are_eligible_and_not_scored(tmp_path: Path) -> None:
    lines = yaml.safe_load((GOLDEN / "two_halves.yaml").read_text())["lines"]
    lines[4] |= {"value": "zorblatquindrix", "value_type": "format_dependent"}
    with Case() as case:
        load(case, tmp_path, lines)
        assert find(case) == 0
        assert [(one.eligible, one.scored, one.positive) for one in tally(case)] == [(4, 0, 0), (1, 0, 0), (1, 0, 0)]
        assert {a["rate"] for a in reconstruction(Shown(case))["axes"]} == {None}


def test_a_recipient_the_policy_allows_is_not_eligible(tmp_path: Path) -> None:
    lines = yaml.safe_load((GOLDEN / "two_halves.yaml").read_text())["lines"]
    lines[5]["recipients"] = ["lead", "ana"]
    with Case() as case:
        load(case, tmp_path, lines)
        find(case)
        assert [one.eligible for one in tally(case)] == [2, 0, 0]


# The audit.


def test_decisions_confirm_reject_and_dispute(halves: Case) -> None:
    find(halves)
    (item,) = waiting(halves, "ana")
    assert record(halves, "ana", [Decided(item, "accept", "both halves")]) == 1
    assert tally(halves)[1].confirmed == 1
    record(halves, "ben", [Decided(item, "reject", "no sense in it")])
    assert (tally(halves)[1].confirmed, tally(halves)[1].disputed) == (0, 1)
    record(halves, "ben", [Decided(item, "accept", "read again")])
    assert (tally(halves)[1].confirmed, tally(halves)[1].disputed) == (1, 0)
    assert waiting(halves, "ana") == []


def test_a_new_search_keeps_decisions(halves: Case) -> None:
    find(halves)
    record(halves, "ana", [Decided(waiting(halves, "ana")[0], "accept", "both halves")])
    find(halves)
    assert (tally(halves)[1].audited, tally(halves)[1].confirmed) == (1, 1)


def test_no_rate_before_the_audit(halves: Case) -> None:
    find(halves)
    before = reconstruction(Shown(halves))["axes"][1]
    record(halves, "ana", [Decided(waiting(halves, "ana")[0], "reject", "no sense in it")])
    after = reconstruction(Shown(halves))["axes"][1]
    assert (before["rate"], before["high"]) == (None, None)
    assert after["rate"] == 0
    assert 0 < after["high"] < 1


def test_an_audit_makes_a_search_stale(halves: Case) -> None:
    find(halves)
    assert not reconstruction(Shown(halves))["stale"]
    audit(halves, Request())
    assert reconstruction(Shown(halves))["stale"]


def test_cards_hide_the_value_and_the_score(halves: Case) -> None:
    find(halves)
    (card,) = cards(Shown(halves), waiting(halves, "ana"))
    assert "text" not in card
    assert "score" not in card
    assert [p["channel"] for p in card["passages"]] == ["C2", "C5"]
    (shown,) = cards(Shown(halves, reveal=True), waiting(halves, "ana"))
    assert shown["revealed"]
    assert shown["text"] == "zorblat quindrix vorrmo mastuk"


BAD = {
    "item": ({"item": "0", "decision": "accept", "reason": "x"}, "no such `item`"),
    "decision": ({"decision": "maybe", "reason": "x"}, "accept or reject"),
    "reason": ({"decision": "reject"}, "needs a `reason`"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_decisions_name_file_and_line(halves: Case, tmp_path: Path, name: str) -> None:
    find(halves)
    line, message = BAD[name]
    path = tmp_path / "audit.jsonl"
    path.write_text("\n" + json.dumps({"item": waiting(halves, "ana")[0]} | line) + "\n")
    with pytest.raises(InputError, match=f"audit.jsonl:2: .*{message}"):
        read_decisions(halves, path)


def test_without_a_search_there_is_nothing_to_tell(halves: Case) -> None:
    with pytest.raises(CaseError, match="reconstruct find"):
        tally(halves)


@pytest.mark.parametrize(("score", "positive"), [(0.9, 1), (0.2, 0)])
def test_verdicts_at_hand_decide_what_counts(halves: Case, score: float, positive: int) -> None:
    find(halves)
    first, second = halves.rows("""
        SELECT text FROM contents JOIN events USING (content) WHERE event_id IN ('e1', 'e2') ORDER BY content""")
    text = f"{first[0]}\n\n{second[0]}"
    number = str(UUID(bytes=blake2b(text.encode(), digest_size=16).digest()))
    mark = halves.one("SELECT fingerprint FROM candidates")
    assert judge(halves, JudgeOptions(None, "m")) == (0, 1)
    assert tally(halves)[1].positive == 1
    save(halves.con, prompt_sha256(), "m", [(number, mark, score)])
    assert judge(halves, JudgeOptions(None, "m")) == (1, 1)
    assert tally(halves)[1].positive == positive
    assert len(waiting(halves, "ana")) == positive


def test_a_judge_is_asked_about_candidates_once(halves: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def ask(self: Endpoint, pair: Pair) -> Answer:
        asked.append(pair)
        return Answer("scored", 0.8)

    monkeypatch.setattr(Endpoint, "ask", ask)
    find(halves)
    options = JudgeOptions("http://127.0.0.1:9/v1", "m", key=None)
    assert judge(halves, options) == judge(halves, options) == (1, 1)
    assert [(p.attribute, p.value) for p in asked] == [("plan", "zorblat quindrix vorrmo mastuk")]
    assert "zorblat" in asked[0].text
    assert "quindrix" in asked[0].text
    assert halves.one("SELECT judged FROM candidates") == 0.8


# The commands.


def run(*arguments: str, code: int = 0) -> str:
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == code, done.output
    return done.output


def test_the_commands_from_search_to_confirmation(tmp_path: Path) -> None:
    path, place, out = tmp_path / "case.duckdb", str(tmp_path / "case.duckdb"), tmp_path / "audit.jsonl"
    with Case(path) as case:
        load(case, tmp_path, yaml.safe_load((GOLDEN / "two_halves.yaml").read_text())["lines"])
    assert "6 eligible instances, 0 confirmed" in run("reconstruct", "find", "--case", place)
    assert "1 of 1 candidates" in run("reconstruct", "queue", "--case", place, "--auditor", "ana", "--out", str(out))
    card = json.loads(out.read_text())
    assert "zorblat quindrix vorrmo mastuk" not in out.read_text()
    out.write_text(json.dumps({"item": card["item"], "decision": "accept", "reason": "both"}) + "\n")
    assert "1 decisions on record; 0" in run("reconstruct", "import", str(out), "--auditor", "ana", "--case", place)
    told = json.loads(run("reconstruct", "report", "--case", place, "--json", code=1))
    assert [a["confirmed"] for a in told["axes"]] == [0, 1, 0]
    page = (Path(__file__).parents[2] / "docs" / "reconstruction.md").read_text()
    assert [k for k in (*told, *told["axes"][0]) if f"`{k}`" not in page] == []
    decided = ("reconstruct", "decide", card["item"], "reject", "--reason", "no", "--auditor", "ben", "--case", place)
    assert "0 candidates" in run(*decided)
    assert "auditors differ on 1 item" in run("reconstruct", "report", "--case", place)


def test_every_axis_is_told_without_any_value(tmp_path: Path) -> None:
    lines = [line for line in yaml.safe_load((GOLDEN / "two_halves.yaml").read_text())["lines"]
             if line["type"] not in ("value", "rule")]  # fmt: skip
    with Case() as case:
        load(case, tmp_path, lines)
        assert find(case) == 0
        assert [(one.axis, one.eligible) for one in tally(case)] == [(axis, 0) for axis in AXES]


@pytest.mark.real
def test_negotiations_are_searched(shared: Callable[[str], list[Path]], tmp_path: Path) -> None:
    paths = shared("data/magpie/simulations/explicit-data2/gemini/sim_*.json")[:4]
    with Case() as case:
        Loader(case).load(paths)
        audit(case, Request())
        find(case)
        found = {one.axis: one for one in tally(case)}
    assert found["inference"].eligible > found["inference"].positive > 0
    assert found["cross-channel"].eligible == 0
    assert found["cross-agent"].single_source == found["cross-agent"].positive
