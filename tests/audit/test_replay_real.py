"""Replays over whole corpora: laws that hold between conditions, and the loop closed by auditing what was sanitized."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from earwitness.audit.pipeline import Request as AuditRequest
from earwitness.audit.pipeline import audit, read_request
from earwitness.audit.replay.condition import find
from earwitness.audit.replay.replay import Request, replay
from earwitness.audit.rulesets import DEFAULT
from earwitness.audit.transform.keys import Keys
from earwitness.ingest.loader import Loader
from earwitness.ingest.manifest import apply_manifest, read_manifest
from earwitness.schema.case import Case

pytestmark = pytest.mark.real

Shared = Callable[[str], list[Path]]
LAB = Path(__file__).parents[2] / "sample_traces" / "lab"
CONDITIONS = ("none", "blanket", "static", "dynamic", "topology-reachable", "topology-forwarded", "no-confidence",
              "fail-closed", "oracle")  # fmt: skip
SETTINGS = ("paper", "extended")


def lab(path: Path) -> tuple[Path, AuditRequest]:
    """The laboratory's corpus, audited."""
    request = read_request(LAB / "policy.yaml", None, DEFAULT)
    with Case(path) as case:
        Loader(case).load([LAB / "langgraph.tar.zst", LAB / "autogen.jsonl.zst"])
        for name in ("manifest.csv", "turns.parquet"):
            apply_manifest(case, read_manifest(LAB / name), LAB / name)
        audit(case, request)
    return path, request


def agentleak(path: Path, shared: Shared) -> tuple[Path, AuditRequest]:
    """The 3,214 public runs, audited by what they bring themselves."""
    with Case(path) as case:
        Loader(case).load(shared("data/agentleak_traces/traces_3214.tar.xz"))
        audit(case, AuditRequest())
    return path, AuditRequest()


@pytest.fixture(scope="module", params=["lab", "agentleak"])
def audited(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, shared: Shared
) -> tuple[Path, AuditRequest]:
    path = tmp_path_factory.mktemp("replay") / f"{request.param}.duckdb"
    return lab(path) if request.param == "lab" else agentleak(path, shared)


@pytest.fixture(scope="module")
def case(audited: tuple[Path, AuditRequest]) -> Iterator[Case]:
    """After a replay of all that needs no extra."""
    path, _ = audited
    with Case(path) as case:
        assert replay(case, Request([find(c) for c in CONDITIONS], Keys(bytes(32)))) == {}
        yield case


def rate(case: Case, condition: str, setting: str, measure: str, mode: str = "independent") -> float:
    found = case.one(
        "SELECT rate FROM replay_figures WHERE condition = ? AND setting = ? AND measure = ? AND mode = ?",
        [condition, setting, measure, mode],
    )
    assert found is not None, f"no {measure} of {condition}"
    return float(found)


@pytest.mark.parametrize("mode", ["independent", "propagate"])
@pytest.mark.parametrize("setting", SETTINGS)
def test_laws_between_conditions(case: Case, setting: str, mode: str) -> None:
    residual = {c: rate(case, c, setting, "residual", mode) for c in CONDITIONS}
    allowed = {c: rate(case, c, setting, "correct_allow", mode) for c in CONDITIONS}
    assert residual["none"] == allowed["none"] == 1
    assert residual["dynamic"] <= residual["static"]
    assert allowed["dynamic"] >= allowed["blanket"]
    assert allowed["dynamic"] <= allowed["no-confidence"]
    assert allowed["topology-reachable"] <= allowed["topology-forwarded"] <= allowed["dynamic"]
    assert residual["fail-closed"] <= residual["dynamic"]
    assert residual["oracle"] <= residual["dynamic"]


@pytest.mark.parametrize("setting", SETTINGS)
def test_near_blanket_in_what_remains_and_far_above_it_in_what_is_kept(case: Case, setting: str) -> None:
    assert rate(case, "dynamic", setting, "residual") - rate(case, "blanket", setting, "residual") <= 0.02
    assert rate(case, "dynamic", setting, "correct_allow") >= 4 * rate(case, "blanket", setting, "correct_allow")


def test_every_residual_has_one_cause(case: Case) -> None:
    assert case.one("SELECT count(*) FROM replays WHERE (cause IS NOT NULL) <> (remains AND truth = 'sanitize')") == 0
    rows = case.rows("""
        SELECT mode, sum(rate) FROM replay_figures WHERE measure LIKE 'cause\\_%' ESCAPE '\\' AND n > 0
        GROUP BY condition, setting, mode
    """)
    assert rows
    assert all(total == pytest.approx(1) for _, total in rows)


def test_the_oracle_misses_nothing_and_the_record_names_more_recipients(case: Case) -> None:
    count = "SELECT count(*) FROM replays WHERE condition = ? AND setting = ? AND cause = ?"
    assert case.one("SELECT count(*) FROM replays WHERE condition = 'oracle' AND NOT detected") == 0
    for condition in ("dynamic", "oracle"):
        counts = [case.one(count, [condition, setting, "no_recipient"]) for setting in SETTINGS]
        assert counts[1] <= counts[0]


def test_blanket_leaves_nothing_allowed_that_it_found(case: Case) -> None:
    assert (
        case.one("""
        SELECT count(*) FROM replays WHERE condition = 'blanket' AND detected AND remains AND truth = 'allow'
    """)
        <= case.one("SELECT count(*) FROM replays WHERE condition = 'blanket'") // 1000
    )
    assert case.one("SELECT count(*) FROM replays WHERE condition = 'blanket' AND detected AND action = 'allow'") == 0


def test_nothing_comes_back_downstream(case: Case) -> None:
    assert case.one("SELECT count(*) FROM replays WHERE downstream AND NOT remains") == 0


_SENT = """
    CREATE TEMP TABLE sent AS
    SELECT dense_rank() OVER (ORDER BY f.seq, f.event, coalesce(t.changed, f.content)) - 1 AS copy, f.*,
           coalesce(t.changed, f.content) AS shown, coalesce(t.text, x.text) AS text
    FROM flows f JOIN contents x ON x.content = f.content
    LEFT JOIN replay_deliveries d ON d.event = f.event AND d.recipient IS NOT DISTINCT FROM f.recipient
         AND d.condition = '{condition}' AND d.setting = '{setting}'
    LEFT JOIN replay_texts t ON t.variant = d.variant
"""


def sanitized(case: Case, again: Case, condition: str, setting: str) -> None:
    """What a condition would have left, as a case of its own: an event for each text that somebody received."""
    case.execute(_SENT.format(condition=condition, setting=setting))
    for table, query in {
        "sources": "SELECT * FROM sources",
        "traces": "SELECT * FROM traces",
        "actors": "SELECT * FROM actors",
        "vault": "SELECT * FROM vault WHERE origin = 'trace'",
        "rules": "SELECT * FROM rules WHERE origin = 'trace'",
        "contents": "SELECT DISTINCT ON (shown) shown AS content, text FROM sent",
        "events": "SELECT DISTINCT ON (copy) copy AS event, trace, copy::VARCHAR AS event_id, seq, channel, sender, "
        "shown AS content, flags FROM sent ORDER BY copy",
        "deliveries": "SELECT copy AS event, recipient, grade, true AS delivered FROM sent WHERE recipient IS NOT NULL",
    }.items():
        again.insert(table, case.arrow(query))


@pytest.mark.parametrize(("condition", "setting"), [("dynamic", "paper"), ("blanket", "paper"), ("oracle", "extended")])
def test_the_sanitized_corpus_audited_again_has_the_residual(
    case: Case, audited: tuple[Path, AuditRequest], tmp_path: Path, condition: str, setting: str
) -> None:
    with Case(tmp_path / "again.duckdb") as again:
        sanitized(case, again, condition, setting)
        audit(again, audited[1])
        found = again.arrow("""
            SELECT v.event AS copy, v.recipient, w.attribute, w.text, v.trace FROM verdicts v JOIN vault w USING (value)
            WHERE v.standing = 'confirmed'
        """)
    case.con.register("found", found)
    case.execute("""
        CREATE TEMP TABLE told AS
        SELECT DISTINCT s.event, s.recipient, f.attribute, f.text FROM found f
        JOIN (SELECT DISTINCT copy, event, recipient FROM sent) s
             ON s.copy = f.copy AND s.recipient IS NOT DISTINCT FROM f.recipient
    """)
    case.con.unregister("found")
    wrong = case.rows(f"""
        SELECT DISTINCT r.remains, t.event IS NOT NULL FROM replays r JOIN vault v USING (value)
        LEFT JOIN told t ON t.event = r.event AND t.recipient IS NOT DISTINCT FROM r.recipient
             AND t.attribute = v.attribute AND t.text = v.text
        WHERE r.condition = '{condition}' AND r.setting = '{setting}'
    """)
    case.execute("DROP TABLE told")
    case.execute("DROP TABLE sent")
    assert all(remains == seen for remains, seen in wrong)


def test_judged_again_under_another_policy_no_text_is_made_or_read_again(
    audited: tuple[Path, AuditRequest], case: Case, tmp_path: Path
) -> None:
    path, request = audited
    case.execute("CHECKPOINT")
    copy = tmp_path / "copy.duckdb"
    shutil.copy(path, copy)
    with Case(copy) as other:
        before = [other.count(t) for t in ("replay_texts", "replay_matches", "replay_places")]
        audit(other, request)
        replay(other, Request([find("dynamic"), find("blanket")], Keys(bytes(32))))
        assert [other.count(t) for t in ("replay_texts", "replay_matches", "replay_places")] == before
