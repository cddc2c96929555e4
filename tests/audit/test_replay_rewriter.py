"""Replays that rewrite contextual values, by a model over a real loopback server or by the generaliser, and check."""

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from loopback import Answer, Loopback

from earwitness.audit.judge.errors import JudgeError
from earwitness.audit.judge.options import JudgeOptions
from earwitness.audit.pipeline import audit, read_request
from earwitness.audit.replay import rewriters
from earwitness.audit.replay.condition import Condition, Way, parse
from earwitness.audit.replay.replay import Request, replay
from earwitness.audit.rulesets import DEFAULT
from earwitness.audit.transform.fpe import Fpe
from earwitness.audit.transform.gate import DetectorGate, contained
from earwitness.audit.transform.keys import Keys
from earwitness.audit.transform.llm import prompt_sha256
from earwitness.audit.transform.options import Options
from earwitness.audit.transform.words import Task
from earwitness.cli import cli
from earwitness.cli.errors import guarded
from earwitness.ingest.loader import Loader
from earwitness.schema.case import Case
from earwitness.schema.errors import InputError
from earwitness.schema.model import Event, Line, Trace

KEYS, OTHER = Keys(bytes(range(32))), Keys(bytes(range(1, 33)))
SECRET = "sk-rewriter-0123456789"
VALUES = {
    "legal_status": "pending harassment lawsuit",
    "condition": "recurrent severe depression",
    "plan": "move the depot to Tallow Street",
}
POLICY = "values:\n" + "".join(
    f'  - {{attribute: {name}, value: "{text}", value_type: contextual}}\n' for name, text in VALUES.items()
)
ORACLE = Condition(name="mine", detector="oracle", transforms={"contextual": "rewrite"})


def load(case: Case, folder: Path, texts: list[str], policy: str = POLICY) -> None:
    events = [
        Event(trace="t", id=f"e{n}", seq=n, channel="C2", sender="a", to=("b",), content=text)
        for n, text in enumerate(texts)
    ]
    lines: list[Line] = [Trace(id="t", scenario="s"), *events]
    (folder / "t.jsonl").write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    (folder / "p.yaml").write_text(f"roster: [{{name: a}}, {{name: b}}]\n{policy}")
    Loader(case).load([folder / "t.jsonl"])
    audit(case, read_request(folder / "p.yaml", None, DEFAULT))


TEXTS = [f"Note {n}: {value}." for n in range(4) for value in VALUES.values()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with Case(tmp_path / "case.duckdb") as case:
        load(case, tmp_path, TEXTS)
    return tmp_path / "case.duckdb"


@pytest.fixture
def case(path: Path) -> Iterator[Case]:
    with Case(path) as case:
        yield case


class Server(Loopback):
    """Answers each question by a function of it, and keeps the questions. An answer is a status or a rewriting."""

    def __init__(self, says: Callable[[dict[str, Any]], int | str], together: int = 1) -> None:
        self.questions: list[dict[str, Any]] = []
        self.keys: set[str | None] = set()
        self._says, self._meeting = says, threading.Barrier(together)
        super().__init__(self.next)

    def next(self, path: str, body: dict[str, Any], headers: dict[str, str]) -> Answer:
        question = json.loads(body["messages"][1]["content"])
        self.questions.append(question)
        self.keys.add(headers.get("Authorization"))
        self._meeting.wait(20)
        told = self._says(question)
        content = told if isinstance(told, str) and told[:1] == "!" else json.dumps({"rewriting": told})
        return told if isinstance(told, int) else 200, {"choices": [{"message": {"content": content}}]}, 0.0, {}

    def options(self, model: str = "m", **options: Any) -> JudgeOptions:
        named = {"key": SECRET, "role": "rewriter", "key_variable": "MY_KEY", "backoff": 0.01, "retries": 1}
        return JudgeOptions(self.url, model, **{**named, **options})


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    pytest.importorskip("httpx", reason="the extra [judge] is not installed")
    servers: list[Server] = []

    def start(says: Callable[[dict[str, Any]], int | str], together: int = 1) -> Server:
        servers.append(Server(says, together))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def general(question: dict[str, Any]) -> str:
    """Other words that hold nothing of any value, a different one for each attribute."""
    return {"legal_status": "an official affair", "condition": "how they are", "plan": "something later"}[
        question["never_write"]
    ]


def run(case: Case, server: Server | None = None, *conditions: Condition, keys: Keys = KEYS, **options: Any) -> None:
    asked = server.options(**options) if server else None
    replay(case, Request(conditions or (ORACLE,), keys, ("extended",), rewriter=asked))


def texts(case: Case, condition: str = "mine") -> list[str]:
    rows = case.rows(
        "SELECT t.text FROM replay_deliveries d JOIN events e USING (event) JOIN replay_texts t USING (variant) "
        "WHERE d.condition = ? ORDER BY e.seq",
        [condition],
    )
    return [row[0] for row in rows]


def causes(case: Case) -> set[tuple[str, str | None, int]]:
    return set(case.rows("SELECT done, cause, tries FROM replay_exceptions"))


def parameters(case: Case) -> dict[str, Any]:
    told = case.one("SELECT parameters FROM runs WHERE stage = 'replay' ORDER BY run DESC LIMIT 1")
    found: dict[str, Any] = msgspec.json.decode(told)
    return found


# A model.


def test_each_value_is_asked_about_once_and_a_second_replay_asks_nothing(
    case: Case, serve: Callable[..., Server]
) -> None:
    server = serve(general)
    run(case, server)
    assert texts(case)[:3] == ["Note 0: an official affair.", "Note 0: how they are.", "Note 0: something later."]
    assert len(texts(case)) == 12
    assert sorted(q["protected"] for q in server.questions) == sorted(VALUES.values())
    assert server.keys == {f"Bearer {SECRET}"}
    told = {"kind": "model", "model": "m", "prompt_sha256": prompt_sha256(), "endpoint": server.host, "asked": 3}
    assert parameters(case)["rewriter"].items() >= {**told, "at_hand": 0}.items()

    run(case, server)
    run(case, server, keys=OTHER)
    run(case, server, Condition(name="mine", detector="oracle", transforms={"contextual": "rewrite"}, tries=5))
    assert len(server.questions) == 3
    assert parameters(case)["rewriter"]["at_hand"] == 3
    assert texts(case)[0] == "Note 0: an official affair."


def test_another_model_is_asked_and_its_texts_are_not_those_of_the_first(
    case: Case, serve: Callable[..., Server]
) -> None:
    run(case)
    local = texts(case)
    assert local[0] == "Note 0: a legal matter."
    server = serve(general)
    run(case, server)
    other = serve(lambda q: "a thing")
    run(case, other, model="n")
    assert (len(server.questions), len(other.questions)) == (3, 3)
    assert texts(case)[0] == "Note 0: a thing."
    run(case)
    assert texts(case) == local


def test_questions_are_put_several_at_a_time(case: Case, serve: Callable[..., Server]) -> None:
    server = serve(general, together=3)
    run(case, server, concurrency=3)
    assert len(server.questions) == 3
    assert texts(case)[1] == "Note 0: how they are."


def test_a_refused_rewriting_is_told_and_the_next_one_stands(case: Case, serve: Callable[..., Server]) -> None:
    def stubborn(question: dict[str, Any]) -> str:
        first = {"legal_status": "harassment, a lawsuit", "condition": "low mood: depression",
                 "plan": "off to Tallow Street, depot and all"}[question["never_write"]]  # fmt: skip
        return general(question) if question["refused"] else first

    server = serve(stubborn)
    run(case, server)
    assert texts(case)[:2] == ["Note 0: an official affair.", "Note 0: how they are."]
    assert len(server.questions) == 6
    assert causes(case) == {("rewrite", None, 2)}
    checks = {name: (k, n) for name, k, n in case.rows("SELECT name, k, n FROM replay_checks")}
    assert checks["rewrite_accepted"] == checks["rewrite_at_try_2"] == (3, 3)


def test_after_the_tries_of_the_condition_it_is_redacted_and_the_cause_kept(
    case: Case, serve: Callable[..., Server]
) -> None:
    server = serve(lambda q: f"a harassment lawsuit {len(q['refused'])}" if q["never_write"] == "legal_status" else "x")
    run(case, server, Condition(name="mine", detector="oracle", transforms={"contextual": "rewrite"}, tries=2))
    assert texts(case)[:2] == ["Note 0: [REDACTED].", "Note 0: x."]
    assert causes(case) == {("redact", "gate", 2)}
    assert len(server.questions) == 4
    loose = Condition(name="loose", detector="oracle", transforms={"contextual": "rewrite"}, gate=False)
    run(case, server, loose)
    assert texts(case, "loose")[0] == "Note 0: a harassment lawsuit 0."
    assert len(server.questions) == 4


def test_what_got_no_answer_is_redacted_and_asked_for_again_next_time(case: Case, serve: Callable[..., Server]) -> None:
    down = serve(lambda q: 503)
    run(case, down)
    assert set(texts(case)) == {f"Note {n}: [REDACTED]." for n in range(4)}
    assert causes(case) == {("redact", "error", 1)}
    assert len(down.questions) == 6
    prose = serve(lambda q: "!I cannot help with that.")
    run(case, prose)
    assert causes(case) == {("redact", "malformed", 1)}
    assert len(prose.questions) == 6
    up = serve(general)
    run(case, up)
    assert texts(case)[0] == "Note 0: an official affair."
    assert causes(case) == set()


def test_a_budget_is_no_fault_and_the_rest_is_asked_next_time(case: Case, serve: Callable[..., Server]) -> None:
    server = serve(general)
    run(case, server, max_calls=2)
    assert len(server.questions) == parameters(case)["rewriter"]["asked"] == 2
    assert causes(case) == {("redact", "budget", 1)}
    run(case, server)
    assert len(server.questions) == 3
    assert "[REDACTED]" not in "".join(texts(case))


def test_a_refused_key_stops_and_what_was_answered_stays(case: Case, serve: Callable[..., Server]) -> None:
    run(case)
    before = texts(case)
    server = serve(lambda q: 401 if q["never_write"] == "plan" else general(q))
    with pytest.raises(JudgeError, match=r"rewriter at http://127\.0\.0\.1:\d+/v1: .*MY_KEY") as caught:
        run(case, server, concurrency=1)
    assert not any(secret in str(caught.value) for secret in (SECRET, *VALUES.values()))
    assert texts(case) == before
    kept = case.count("rewritings")
    assert kept < 3
    again = serve(general)
    run(case, again)
    assert len(again.questions) == 3 - kept


def test_without_an_endpoint_only_answers_at_hand_are_used(case: Case, serve: Callable[..., Server]) -> None:
    run(case, serve(general))
    replay(case, Request((ORACLE,), OTHER, ("extended",), rewriter=JudgeOptions(None, "m")))
    assert texts(case)[0] == "Note 0: an official affair."
    assert parameters(case)["rewriter"]["endpoint"] is None
    replay(case, Request((ORACLE,), OTHER, ("extended",), rewriter=JudgeOptions(None, "unheard of")))
    assert causes(case) >= {("redact", "budget", 1)}
    assert texts(case)[0] == "Note 0: [REDACTED]."


def test_the_command_warns_and_tells_who_rewrote(
    path: Path, serve: Callable[..., Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(general)
    monkeypatch.setenv("MY_KEY", SECRET)
    (tmp_path / "mine.yaml").write_text("name: mine\ndetector: oracle\ntransforms: {contextual: rewrite}\n")
    asked = ["replay", str(path), "--condition", str(tmp_path / "mine.yaml"), "--rewriter", server.url,
             "--rewriter-model", "m", "--rewriter-key-env", "MY_KEY"]  # fmt: skip
    done = CliRunner().invoke(cli, [*asked, "--json"])
    assert done.stderr == "earwitness: warning: protected values are sent to 127.0.0.1 to be rewritten\n"
    told = msgspec.json.decode(done.stdout)["rewriter"]
    assert told.pop("gate").startswith("recognizers + containment")
    assert told == {"kind": "model", "model": "m", "prompt_sha256": prompt_sha256(), "endpoint": server.host,
                    "asked": 3, "at_hand": 0, "values": 3, "accepted": 3, "at_try": {"1": 3},
                    "refused": {}}  # fmt: skip
    assert server.keys == {f"Bearer {SECRET}"}
    assert SECRET.encode() not in path.read_bytes()
    monkeypatch.setenv("EARWITNESS_KEY", "11" * 32)
    shown = CliRunner().invoke(cli, asked)
    assert shown.exit_code == done.exit_code == 0
    assert f"rewriting by m at {server.host}, prompt a38cf042, 0 asked" in shown.output
    assert len(server.questions) == 3
    assert max(map(len, shown.stdout.splitlines())) <= 100
    assert not any(text in shown.output + done.output for text in (SECRET, *VALUES.values()))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--rewriter", "http://127.0.0.1:9/v1"], "--rewriter needs --rewriter-model NAME"),
        (["--rewriter", "ftp://user:hush@h/v1", "--rewriter-model", "m"], "the rewriter's URL must be like"),
        (
            ["--rewriter", "https://user:hush@h/v1", "--rewriter-model", "m"],
            "the key belongs into EARWITNESS_JUDGE_KEY",
        ),
    ],
)
def test_bad_input_is_told_in_a_line(
    path: Path, capsys: pytest.CaptureFixture[str], options: list[str], told: str
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["earwitness", "replay", str(path), "--condition", "dynamic", *options])
        assert guarded(cli) == 2
    err = capsys.readouterr().err
    assert told in err
    assert "hush" not in err
    assert "Traceback" not in err


# The gate, and how a condition sets it.


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("threshold: 1.2", "c.yaml: a threshold lies between 0 and 1 at `$.threshold`"),
        ("threshold: high", "$.threshold"),
        ("tries: 0", "c.yaml: tries are 1 to 5 at `$.tries`"),
        ("tries: 6", "c.yaml: tries are 1 to 5 at `$.tries`"),
        ("gate: perhaps", "$.gate"),
    ],
)
def test_keys_that_do_not_hold_together_are_named(text: str, told: str) -> None:
    with pytest.raises(InputError) as error:
        parse(f"name: x\n{text}\n".encode(), "c.yaml")
    assert told in str(error.value)


def test_conditions_that_check_otherwise_have_toolkits_of_their_own(case: Case) -> None:
    assert Condition(name="x").way == Way(True, True, 0.5, 3)
    assert Condition(name="x", gate=False, threshold=0.2).way == Condition(name="x", gate=False).way
    some = [Condition(name=str(n), tries=n) for n in (1, 2, 1)] + [Condition(name="4", gate=False)]
    kits = rewriters.toolkits(case, some, KEYS, None)
    assert [(str(way), kit.gate is None) for way, kit in kits.items()] == [
        ("gate 0.5, backstop, 1 try", False),
        ("gate 0.5, backstop, 2 tries", False),
        ("no gate, backstop, 3 tries", True),
    ]


def task(value: str) -> Task:
    return Task(0, len(value), "note", None, "contextual", value, "rewrite")


@pytest.mark.parametrize(
    ("value", "text", "refused"),
    [
        ("pending harassment lawsuit", "a legal matter", False),
        ("pending harassment lawsuit", "a pending matter", False),
        ("pending harassment lawsuit", "a lawsuit that is pending", True),
        ("Type 2 diabetes", "asthma", True),
        ("works for somebody", "reach them at 555-201-4477", True),
        ("lawsuits", "a lawsuit", True),
        ("", "", False),
    ],
)
def test_the_gate_refuses_what_a_detector_takes_for_a_disclosure(value: str, text: str, refused: bool) -> None:
    assert (DetectorGate()(text, task(value)) >= 0.5) is refused


def test_without_the_semantic_tier_the_recognizers_alone_decide(case: Case) -> None:
    gate = DetectorGate(())
    assert gate("a lawsuit that is pending", task("pending harassment lawsuit")) == 0
    assert contained("pending harassment lawsuit", "a lawsuit that is pending") > 0.5
    assert rewriters.gate_of(case).name == DetectorGate().name != gate.name
    case.execute("DELETE FROM tiers")
    assert rewriters.gate_of(case).name == gate.name


def test_embeddings_are_asked_where_the_audit_asked_them() -> None:
    pytest.importorskip("onnxruntime", reason="the extra [semantic] is not installed")
    near = DetectorGate(("minilm",))
    legal, pending = (near(text, task("pending harassment lawsuit")) for text in ("a thing", "a pending legal matter"))
    assert legal < 0.3 < pending
    assert near.name.startswith("recognizers + minilm")


# What stands for one value is no other.


def test_no_replacement_brings_in_another_protected_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ssn = "536-22-8417"
    sealed = Fpe(KEYS, Options()).encrypt(ssn, "ssn")
    assert sealed is not None
    policy = "values:\n" + "".join(f'  - {{attribute: ssn, value: "{v}"}}\n' for v in (ssn, sealed.text))
    found = {}
    for name in ("checked", "unchecked"):
        with Case(tmp_path / f"{name}.duckdb") as case:
            load(case, tmp_path, [f"The SSN is {ssn}."], policy)
            if name == "unchecked":
                monkeypatch.setattr(rewriters, "known_of", lambda case: None)
            replay(case, Request((Condition(name="mine", detector="oracle"),), KEYS, ("extended",)))
            k = case.one("SELECT k FROM replay_figures WHERE measure = 'introduced'")
            found[name] = (k, case.rows("SELECT exception, tries FROM replay_exceptions"))
    assert found == {"checked": (0, [("collision", 2)]), "unchecked": (1, [])}


def test_values_are_known_where_they_are_protected(case: Case) -> None:
    known = rewriters.known_of(case)
    assert known.clash(VALUES["plan"], VALUES["condition"].upper())
    assert known.has_word("depot")
    assert known.mark == rewriters.known_of(case).mark
    case.execute("UPDATE vault SET text = 'other' WHERE attribute = 'plan'")
    assert known.mark != rewriters.known_of(case).mark
