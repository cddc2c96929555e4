"""The replayed detector: two passes in a run, what it is promoted to, and its figures on public data.

Attribute names were split in two halves before any was looked at: a name whose SHA-256 is odd was held out. While the
recognizers were written only names and values of the even half were looked at (ssn, dob, diagnosis, insurance_id,
confidential_notes, phone_real, customer_name, account_last4, income, ... and zip, email, passenger of tau-bench; of the
odd half those five that the corpus's own description shows: name, balance, credit_score, street and payment_id).
Targets are set on the odd half. After its figures had been taken a listing showed some names of it; the one rule tried
since (labels with bracketed values) was dropped again. Canary tokens are left out of every figure: anybody finds them.
"""

import socket
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pyarrow as pa
import pytest

from earwitness.audit import ner
from earwitness.audit.detect import detect
from earwitness.audit.ner import NameFinder, prose
from earwitness.audit.promote import lacking, promote, soften
from earwitness.audit.recognizers.attributes import normal, sensitive, structural, telling, worth
from earwitness.audit.replay.presidio import offline_engine
from earwitness.audit.replayed import reading, runlocal
from earwitness.audit.replayed.detector import replayed
from earwitness.audit.replayed.reading import pieces
from earwitness.audit.rulesets import LITERAL
from earwitness.ingest.loader import Loader
from earwitness.schema.case import Case
from earwitness.schema.errors import MissingExtraError
from earwitness.schema.model import Actor, Event, Line, Trace, Value

Shared = Callable[[str], list[Path]]

RECORD = '{"customer_name": "Zed Quimby", "employer": "Acme Rockets", "income": 98500, "tier": "gold"}'
TALK = "\U0001f600 Mr. Quimby of Acme Rockets earns 98,500. Quimby it is."


def write(path: Path, texts: dict[str, list[str]], *more: Line) -> Path:
    lines: list[Line] = list(more)
    for trace, contents in texts.items():
        lines += [Trace(id=trace), Actor(trace=trace, name="lead", kind="agent")]
        for n, text in enumerate(contents):
            event = Event(trace=trace, id=f"{trace}{n}", seq=n, channel="C2", sender="lead", to=("b",), content=text)
            lines.append(event)
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    return path


@pytest.fixture
def case() -> Iterator[Case]:
    with Case() as case:
        yield case


def load(case: Case, path: Path, texts: dict[str, list[str]], *more: Line) -> None:
    Loader(case).load([write(path / "t.jsonl", texts, *more)])


def covered(case: Case, trace: str, where: str = "true") -> set[str]:
    """The texts under the detections of a trace."""
    rows = case.rows(f"""
        SELECT DISTINCT substr(c.text, d.start + 1, d.stop - d.start) FROM detections d JOIN contents c USING (content)
        JOIN events e USING (content) JOIN traces t ON t.trace = e.trace
        WHERE t.trace_id = ? AND (d.trace IS NULL OR d.trace = t.trace) AND {where}
    """, [trace])  # fmt: skip
    return {row[0] for row in rows}


def test_what_a_key_told_is_found_in_the_rest_of_its_run_only(case: Case, tmp_path: Path) -> None:
    load(case, tmp_path, {"a": [RECORD, TALK], "b": [TALK]})
    assert replayed(case) == case.count("detections") > 0
    assert {"Acme Rockets", "98,500", "Quimby"} <= covered(case, "a")
    assert "Acme Rockets" not in covered(case, "b")
    assert covered(case, "a", "d.recognizer = 'run_local'") == {"Acme Rockets", "98,500", "Quimby"}


def test_every_place_is_told_not_only_the_first(case: Case, tmp_path: Path) -> None:
    load(case, tmp_path, {"a": [RECORD, "Acme Rockets, acme rockets; AcmeRockets and Acme Rockets2, ACME ROCKETS."]})
    replayed(case)
    assert covered(case, "a", "d.recognizer = 'run_local'") == {"Acme Rockets", "acme rockets", "ACME ROCKETS"}


def test_a_name_in_two_fields_is_a_whole_name_too(case: Case, tmp_path: Path) -> None:
    record = '{"name": {"first_name": "Zed", "last_name": "Quimby"}}'
    load(case, tmp_path, {"a": [record, "It was Zed Quimby."]})
    replayed(case)
    assert "Zed Quimby" in covered(case, "a", "d.recognizer = 'run_local'")


def test_actors_are_no_secrets(case: Case, tmp_path: Path) -> None:
    load(case, tmp_path, {"a": ['{"assigned_user": "lead"}', "ask lead"]})
    replayed(case)
    assert covered(case, "a", "d.recognizer = 'run_local'") == set()


def test_whose_a_value_is(case: Case, tmp_path: Path) -> None:
    load(case, tmp_path, {"a": [RECORD]})
    replayed(case)
    rows = dict(case.rows("SELECT attribute, subject FROM detections WHERE recognizer = 'json_key'"))
    assert rows["employer"] == rows["income"] == rows["customer_name"] == "Zed Quimby"


def test_nothing_is_done_twice(case: Case, tmp_path: Path) -> None:
    load(case, tmp_path, {"a": [RECORD, TALK]})
    n = replayed(case)
    case.execute("UPDATE detections SET confidence = 0.123")
    assert replayed(case) == n
    assert case.one("SELECT max(confidence) FROM detections") == 0.123
    Loader(case).load([write(tmp_path / "more.jsonl", {"c": ["mail a@b.co"]})])
    assert replayed(case) == n + 1
    assert case.one("SELECT max(confidence) FROM detections") > 0.9


def test_the_registry_is_never_read(tmp_path: Path) -> None:
    found = []
    for vault in ((), (Value(attribute="secret_word", value="earns", trace="a"),)):
        with Case() as case:
            load(case, tmp_path, {"a": [RECORD, TALK]}, *vault)
            replayed(case)
            found.append(case.rows("SELECT * EXCLUDE (content) FROM detections ORDER BY ALL"))
    assert found[0] == found[1]


def test_a_long_text_is_read_in_pieces(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\u00e9 mail a@b.co now\n" * 60
    load(case, tmp_path, {"a": [text]})
    replayed(case)
    whole = case.rows("SELECT start, stop FROM detections ORDER BY ALL")
    monkeypatch.setattr(reading, "BATCH_BYTES", 200)
    case.set_meta("replayed", "")
    replayed(case)
    assert case.rows("SELECT start, stop FROM detections ORDER BY ALL") == whole
    assert len(whole) == 60
    assert [len(p) for _, p in pieces("x" * 250, 100)] == [100, 100, 50]
    assert "".join(p for _, p in pieces(text, 100)) == text


def test_runs_in_groups_give_the_same(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {f"t{n}": [RECORD.replace("Acme", f"Acme{n}"), f"at Acme{n} Rockets"] for n in range(7)}
    load(case, tmp_path, texts)
    replayed(case)
    together = case.rows("SELECT * FROM detections ORDER BY ALL")
    assert "50000" in runlocal._GROUPS
    monkeypatch.setattr(runlocal, "_GROUPS", runlocal._GROUPS.replace("50000", "5"))
    case.set_meta("replayed", "")
    replayed(case)
    assert case.rows("SELECT * FROM detections ORDER BY ALL") == together
    assert all(f"Acme{n} Rockets" in covered(case, f"t{n}", "d.recognizer = 'run_local'") for n in range(7))


def test_no_model_no_silence(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load(case, tmp_path, {"a": [RECORD]})
    n = replayed(case)
    monkeypatch.setattr(ner, "VERSION", "0.0.0")
    ner._load.cache_clear()
    with pytest.raises(MissingExtraError, match=r"earwitness\[ner\]"):
        replayed(case, ner=True)
    assert case.count("detections") == n


def test_prose_is_what_stands_outside_of_json() -> None:
    text = 'Hello Bo.\n{\n  "name": "Eva Demo",\n  "n": 3\n}\nThen Cy.'
    assert [text[a:b] for a, b in prose(text)] == ["Hello Bo.\n", "Eva Demo", "Then Cy."]
    assert list(prose("")) == []


@pytest.mark.parametrize(
    ("name", "expected"), [("customerName", "customer_name"), ("Customer  Name", "customer_name"), ("E-Mail", "e_mail")]
)
def test_names_of_attributes(name: str, expected: str) -> None:
    assert normal(name) == expected
    assert sensitive("customer_name")
    assert not sensitive("theme")
    assert structural("tool_calls")
    assert structural("created_at")
    assert not structural("employer")


def test_what_a_value_is() -> None:
    assert worth("Bo")
    assert not any(map(worth, ("", "x", "[Name]", "N/A", "pending", "***", "https://example.com", "<id>", "—")))
    assert telling("Type 2")
    assert telling("Bo Sample")
    assert not any(map(telling, ("please do", "a long sentence that says nothing At all")))


# Promotion


def test_values_are_promoted_where_there_are_none(case: Case, tmp_path: Path) -> None:
    texts = {"a": [RECORD, "mail ann@example.com or ANN@example.com"], "b": ["mail bob@example.com"]}
    load(case, tmp_path, texts, Value(trace="b", attribute="x", value="xyz"))
    replayed(case)
    assert lacking(case) == 1
    n = promote(case)
    assert promote(case) == n == case.count("vault") - 1
    rows = case.rows(
        "SELECT attribute, text, aliases, origin, subject FROM vault WHERE origin <> 'trace' ORDER BY text"
    )
    assert ("email_address", "ANN@example.com", ["ann@example.com"], "recognized", None) in rows
    assert ("employer", "Acme Rockets", [], "suspected", "Zed Quimby") in rows
    assert not any("bob" in row[1] for row in rows)
    assert case.one("SELECT count(*) = count(DISTINCT (trace, lower(text))) FROM vault")


def test_promoted_values_are_matched_like_others(case: Case, tmp_path: Path) -> None:
    load(case, tmp_path, {"a": [RECORD, "Acme Rockets again"]})
    replayed(case)
    promote(case)
    detect(case, LITERAL)
    assert (
        case.one("SELECT count(DISTINCT content) FROM matches JOIN vault USING (value) WHERE attribute = 'employer'")
        == 2
    )


def test_what_is_suspected_is_only_possible(case: Case, tmp_path: Path) -> None:
    load(case, tmp_path, {"a": [RECORD, "Acme Rockets, ssn 536-22-8726"]})
    replayed(case)
    promote(case)
    detect(case, LITERAL)
    soften(case)
    rows = case.rows("SELECT DISTINCT origin, standing FROM matches JOIN vault USING (value) ORDER BY 1")
    assert rows == [("recognized", "confirmed"), ("suspected", "possible")]


def test_a_case_wide_value_leaves_no_trace_without(case: Case, tmp_path: Path) -> None:
    load(case, tmp_path, {"a": [RECORD]}, Value(attribute="x", value="xyz"))
    replayed(case)
    assert lacking(case) == 0
    assert promote(case) == 0


def test_weak_finds_need_the_floor(case: Case, tmp_path: Path) -> None:
    load(case, tmp_path, {"a": ["On 2024-05-01 write to a@b.co"]})
    replayed(case)
    assert promote(case) == 1
    assert promote(case, floor=0.2) == 2


# Public data. Figures are printed: run with `pytest -s`.

# Which occurrences of given values some detection overlaps. `extra` narrows the detections.
_RECALL = """
    WITH occurrence AS (
        SELECT e.event, e.trace, v.value, v.attribute, v.value_type, m.content, m.start, m.stop
        FROM matches m JOIN vault v USING (value) JOIN events e USING (content) JOIN traces t ON t.trace = e.trace
        WHERE (v.trace = e.trace OR v.subject = json_extract_string(t.attributes, '$.user_id'))
          AND length(v.text) > 3 AND NOT starts_with(v.text, 'CANARY')
    ), hit AS (
        SELECT DISTINCT o.event, o.value FROM occurrence o JOIN {detections} d ON d.content = o.content
        WHERE (d.trace IS NULL OR d.trace = o.trace) AND d.start < o.stop AND d.stop > o.start
    )
    SELECT o.attribute, o.value_type, count(*) AS n, count(h.event) AS found
    FROM occurrence o LEFT JOIN hit h USING (event, value) GROUP BY ALL
"""


def held_out(name: str) -> bool:
    return int(sha256(name.encode()).hexdigest(), 16) % 2 == 1


def recall(case: Case, title: str, detections: str = "detections") -> dict[str, float]:
    """Recall by value type over the names held out; all figures are printed."""
    frame = case.frame(_RECALL.format(detections=detections))
    halves = [held_out(a) for a in frame["attribute"]]
    sums = (
        frame.with_columns(pl.Series("half", ["held out" if h else "seen" for h in halves]))
        .group_by("half", "value_type").agg(pl.col("n", "found").sum()).sort("half", "value_type")
    )  # fmt: skip
    for half, kind, n, found in sums.iter_rows():
        print(f"\n{title:32} {half:9} {kind:17} {found:6} of {n:6} = {found / n:.3f}", end="")
    return {kind: found / n for half, kind, n, found in sums.iter_rows() if half == "held out"}


def marked(case: Case) -> float:
    """Share of the characters of all messages that lie under a detection: what a sanitizer would touch."""
    rows = case.rows("""
        SELECT DISTINCT e.event, d.start, d.stop FROM events e JOIN detections d ON d.content = e.content
        WHERE d.trace IS NULL OR d.trace = e.trace ORDER BY ALL
    """)
    total, event, high = 0, -1, 0
    for at, start, stop in rows:
        event, high = (event, high) if at == event else (at, 0)
        total += max(stop - max(start, high), 0)
        high = max(high, stop)
    return float(total / case.one("SELECT sum(length(text)) FROM events JOIN contents USING (content)"))


@pytest.fixture(scope="module")
def agentleak(tmp_path_factory: pytest.TempPathFactory, shared: Shared) -> Iterator[Case]:
    with Case(tmp_path_factory.mktemp("replayed") / "case.duckdb") as case:
        Loader(case).load(shared("data/agentleak_traces/traces/*.json"))
        detect(case, LITERAL)
        yield case


def forget_sightings(case: Case) -> None:
    """Leave the messages alone: no system prompt that holds the whole record as JSON."""
    case.execute("DELETE FROM sightings")
    case.execute("DELETE FROM contents WHERE content NOT IN (SELECT content FROM events)")


@pytest.mark.real
def test_recall_on_agentleak(agentleak: Case) -> None:
    replayed(agentleak)
    found = recall(agentleak, "agentleak, whole runs")
    assert found["format_dependent"] >= 0.95
    assert found["value_dependent"] >= 0.85
    assert found["contextual"] >= 0.55
    one_pass = "(SELECT * FROM detections WHERE recognizer <> 'run_local')"
    recall(agentleak, "agentleak, first pass only", one_pass)
    share = agentleak.rows("SELECT recognizer, count(*), sum(strong::INT) FROM detections GROUP BY 1 ORDER BY 2 DESC")
    print("\nagentleak, detections by recognizer (strong):", ", ".join(f"{r} {n} ({s})" for r, n, s in share))
    print(f"agentleak, characters under a detection: {marked(agentleak):.3f}")
    assert marked(agentleak) < 0.25


@pytest.mark.real
def test_recall_on_the_messages_of_agentleak_alone(tmp_path: Path, shared: Shared) -> None:
    """No context but what the agents said: the harder question, and that of the published figures."""
    with Case(tmp_path / "case.duckdb") as case:
        Loader(case).load(shared("data/agentleak_traces/traces/*.json"))
        forget_sightings(case)
        detect(case, LITERAL)
        replayed(case)
        found = recall(case, "agentleak, messages alone")
        assert found["format_dependent"] >= 0.95
        assert found["value_dependent"] >= 0.85
        assert found["contextual"] >= 0.55


@pytest.mark.real
def test_names_and_presidio_beside_them(tmp_path: Path, shared: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    if not ner.available():
        pytest.skip("the extra [ner] is not installed")
    with Case(tmp_path / "case.duckdb") as case:
        Loader(case).load(shared("data/agentleak_traces/traces/*.json")[::4])
        forget_sightings(case)
        detect(case, LITERAL)
        replayed(case)
        without = recall(case, "a quarter, messages alone")
        replayed(case, ner=True)
        found = recall(case, "the same with names")
        assert found["value_dependent"] >= max(0.92, without["value_dependent"])
        assert found["format_dependent"] >= 0.95
        _presidio(case, monkeypatch)
        others = recall(case, "presidio alone", "presidio")
        assert all(found[kind] > others.get(kind, 0) for kind in found)


def _presidio(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fill a table like `detections` with what presidio finds; a socket that is opened fails the test."""
    analyzer = _analyzer(monkeypatch)
    rows = case.rows("SELECT content::VARCHAR, text FROM contents")
    found = [
        (content, r.start, r.end) for content, text in rows for r in analyzer.analyze(text, "en") if r.score >= 0.35
    ]
    ids, starts, stops = zip(*found, strict=True)
    table = pa.table({"content": ids, "start": starts, "stop": stops})
    case.con.register("told", table)
    case.execute(
        "CREATE TABLE presidio AS SELECT content::UUID AS content, NULL::INTEGER AS trace, start, stop FROM told"
    )
    case.con.unregister("told")


def _analyzer(monkeypatch: pytest.MonkeyPatch) -> Any:
    pytest.importorskip("presidio_analyzer", reason="the extra [presidio] is not installed")

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    return offline_engine()


@pytest.mark.real
def test_names_are_found_by_the_model() -> None:
    if not ner.available():
        pytest.skip("the extra [ner] is not installed")
    found = NameFinder().find(pa.array(["\U0001f600 Ask John Smith in Rome.", '{"a": "Ask John Smith in Rome"}']))
    assert found.select("row", "start", "stop", "entity").rows() == [
        (0, 6, 16, "PERSON"), (0, 20, 24, "LOCATION"), (1, 11, 21, "PERSON"), (1, 25, 29, "LOCATION"),
    ]  # fmt: skip


@pytest.mark.real
def test_long_lines_are_read_in_pieces() -> None:
    if not ner.available():
        pytest.skip("the extra [ner] is not installed")
    text = "Then John Smith went to Rome. " * 40_000
    found = NameFinder().find(pa.array([text[:60_000]]))
    assert len(found) > 3_000
    assert all(len(piece) <= 20_000 for piece, _ in ner._pieces([text]))


@pytest.mark.real
def test_a_model_that_is_not_the_known_one_is_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    if not ner.available():
        pytest.skip("the extra [ner] is not installed")
    monkeypatch.setattr(ner, "_SHA256", "0" * 64)
    ner._load.cache_clear()
    with pytest.raises(MissingExtraError, match="not the one published"):
        NameFinder()


@pytest.mark.real
def test_recall_on_tau_bench(tmp_path: Path, shared: Shared) -> None:
    with Case(tmp_path / "case.duckdb") as case:
        Loader(case).load(shared("data/tau_bench/**/*.json"))
        detect(case, LITERAL)
        replayed(case)
        found = recall(case, "tau-bench, whole runs")
        assert found["format_dependent"] >= 0.95
        assert found["value_dependent"] >= 0.85


@pytest.mark.real
def test_few_sure_alarms_where_nobody_has_a_secret(tmp_path: Path, shared: Shared) -> None:
    with Case(tmp_path / "case.duckdb") as case:
        Loader(case).load(shared("data/who_and_when/**/*.json"))
        replayed(case)
        messages = case.count("events")
        rows = case.rows("""
            SELECT recognizer, count(*), count(*) FILTER (strong) FROM detections d
            JOIN events e ON e.content = d.content AND (d.trace IS NULL OR d.trace = e.trace) GROUP BY 1 ORDER BY 2 DESC
        """)
        for name, n, strong in rows:
            every, sure = 1000 * n / messages, 1000 * strong / messages
            print(f"\nwho_and_when, {name:16} {every:7.1f} per 1,000 messages, strong {sure:5.1f}", end="")
        assert 1000 * sum(strong for _, _, strong in rows) / messages <= 100
        assert all(
            strong == 0 for name, _, strong in rows if name in ("run_local", "json_key", "label", "date", "money")
        )
        print(f"\nwho_and_when, characters under a detection: {marked(case):.3f}")
        assert marked(case) < 0.1
        promoted = promote(case)
        sure = case.one("SELECT count(*) FROM vault WHERE origin = 'recognized'")
        print(f"\nwho_and_when, promoted {promoted} values in {lacking(case)} runs, {sure} of them sure")
        assert case.one("SELECT coalesce(max(n), 0) FROM (SELECT count(*) AS n FROM vault GROUP BY trace)") <= 500
