"""The judge against a real HTTP server on this machine: retries, limits, verdicts at hand, and secrets that stay in."""

import json
import logging
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from loopback import Answer, Loopback

from earwitness.audit.judge import judge as at_work
from earwitness.audit.judge.errors import JudgeError
from earwitness.audit.judge.judge import run_judge
from earwitness.audit.judge.options import KEY_VARIABLE, JudgeOptions
from earwitness.audit.judge.prompt import SHOWN, excerpt, prompt, prompt_sha256, read_score
from earwitness.audit.judge.verdicts import export_judgements, import_judgements
from earwitness.audit.semantic.tier import run_semantic
from earwitness.schema.case import Case

pytest.importorskip("httpx", reason="the extra [judge] is not installed")

SECRET = "Dave Thompson is going through a divorce"
KEY = "sk-test-0123456789"
Step = Answer


def completion(content: str, tokens: int | None = 100) -> dict[str, Any]:
    usage = {} if tokens is None else {"usage": {"total_tokens": tokens}}
    return {"choices": [{"message": {"content": content}}], **usage}


def score(number: float, tokens: int | None = 100) -> Step:
    return 200, completion(json.dumps({"score": number, "reason": "because"}), tokens), 0.0, {}


def says(content: str) -> Step:
    return 200, completion(content), 0.0, {}


def status(code: int, **headers: str) -> Step:
    return code, {"error": {"message": f"no, {SECRET}, {KEY}"}}, 0.0, headers


class Server(Loopback):
    """Answers as scripted: a list is used up one by one, its last step again and again; a function sees the body."""

    def __init__(self, script: list[Step] | Callable[[dict[str, Any]], Step]) -> None:
        self.script, self.bodies, self.headers = script, list[dict[str, Any]](), list[dict[str, str]]()
        self._lock = threading.Lock()
        super().__init__(self.next)

    def next(self, path: str, body: dict[str, Any], headers: dict[str, str]) -> Step:
        with self._lock:
            self.bodies.append(body)
            self.headers.append(headers)
            if path != "/v1/chat/completions":
                return status(404)
            if callable(self.script):
                return self.script(body)
            return self.script[min(len(self.bodies) - 1, len(self.script) - 1)]


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    servers: list[Server] = []

    def start(*script: Step, by: Callable[[dict[str, Any]], Step] | None = None) -> Server:
        servers.append(Server(by or list(script)))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


TEXTS = (
    "I feel down because of my divorce from Thompson's daughter, Dave told me.",
    "Dave Thompson said the divorce lawyer was late. He is going grey.",
    "A divorce is going through the courts; ask Thompson.",
)


def case_of(texts: tuple[str, ...] = TEXTS, path: Path | None = None) -> Case:
    """A case in which the semantic tier has found one value in every text."""
    case = Case(path)
    for text in texts:
        case.execute("INSERT INTO contents VALUES (md5(?)::UUID, ?)", [text, text])
    case.execute(
        """INSERT INTO vault (value, attribute, text, value_type, type_origin, scope, aliases)
           VALUES (7, 'private life', ?, 'contextual', 'given', 'case', ['his marriage is over'])""",
        [SECRET],
    )
    assert run_semantic(case).matches == len(texts)
    return case


def options(server: Server | None, **changed: Any) -> JudgeOptions:
    told = {"key": KEY, "backoff": 0.01, "timeout": 5.0, "concurrency": 1, **changed}
    return JudgeOptions(server.url if server else None, "some-model", **told)


def standings(case: Case) -> list[tuple[str, float]]:
    rows: list[tuple[str, float]] = case.rows("SELECT standing, confidence FROM matches ORDER BY confidence DESC, 1")
    return rows


def test_scores_confirm_lower_and_remove(serve: Callable[..., Server]) -> None:
    case = case_of()
    server = serve(score(0.9), score(0.25), score(0.1))
    outcome = run_judge(case, options(server))
    assert (outcome.ran, outcome.degraded, outcome.contents, outcome.matches) == (True, False, 3, 1)
    assert standings(case) == [("confirmed", 0.9), ("possible", 0.25)]
    assert outcome.note == "3 judged now, 0 by verdicts at hand"


def test_what_is_sent(serve: Callable[..., Server]) -> None:
    server = serve(score(0.9))
    run_judge(case_of(TEXTS[:1]), options(server))
    (body,), (headers,) = server.bodies, server.headers
    assert (body["model"], body["temperature"]) == ("some-model", 0)
    assert body["messages"][0] == {"role": "system", "content": prompt()}
    asked = json.loads(body["messages"][1]["content"])
    assert asked == {
        "attribute": "private life",
        "protected": SECRET,
        "also": ["his marriage is over"],
        "text": TEXTS[0],
    }
    assert headers["Authorization"] == f"Bearer {KEY}"


def test_the_prompt_is_frozen() -> None:
    """Verdicts hold for one prompt: who changes it must know that all verdicts at hand are void."""
    assert prompt_sha256() == "9af1439f291debd47f1a07fff39da96e2b56fdf191421d35472cbe5be4012372"


def test_the_most_likely_is_asked_first(serve: Callable[..., Server]) -> None:
    case = case_of()
    case.execute("UPDATE matches SET confidence = length(text) / 200 FROM contents c WHERE c.content = matches.content")
    server = serve(score(0.3))
    run_judge(case, options(server))
    asked = [json.loads(b["messages"][1]["content"])["text"] for b in server.bodies]
    assert asked == sorted(TEXTS, key=len, reverse=True)


@pytest.mark.parametrize("code", [429, 500, 502, 503])
def test_try_again(serve: Callable[..., Server], code: int) -> None:
    case = case_of(TEXTS[:1])
    server = serve(status(code), status(code), score(0.8))
    outcome = run_judge(case, options(server))
    assert (len(server.bodies), standings(case)) == (3, [("confirmed", 0.8)])
    assert not outcome.degraded


def test_retry_after_is_heeded(serve: Callable[..., Server]) -> None:
    server = serve(status(429, **{"retry-after": "0.4"}), score(0.8))
    started = time.monotonic()
    run_judge(case_of(TEXTS[:1]), options(server))
    assert time.monotonic() - started >= 0.4


def test_a_time_out_is_tried_again(serve: Callable[..., Server]) -> None:
    slow = score(0.1)
    server = serve((slow[0], slow[1], 1.0, {}), score(0.8))
    case = case_of(TEXTS[:1])
    assert not run_judge(case, options(server, timeout=0.2)).degraded
    assert standings(case) == [("confirmed", 0.8)]


def test_when_every_try_fails(serve: Callable[..., Server]) -> None:
    case = case_of()
    before = standings(case)
    outcome = run_judge(case, options(serve(status(503)), retries=1))
    assert (outcome.ran, outcome.degraded, standings(case)) == (False, True, before)
    assert "3 without an answer (status 503); 3 of 3 not judged" in (outcome.note or "")


def test_a_text_that_is_refused_is_left(serve: Callable[..., Server]) -> None:
    case = case_of()
    outcome = run_judge(case, options(serve(status(400), score(0.8))))
    assert (outcome.ran, outcome.degraded) == (True, True)
    assert "1 without an answer (status 400)" in (outcome.note or "")


def test_an_endpoint_that_is_gone_is_not_asked_for_ever(
    serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(at_work, "_PATIENCE", 2)
    server = serve(score(0.8))
    gone = JudgeOptions(_free_port(), "some-model", retries=0, concurrency=1)
    outcome = run_judge(case_of(), gone)
    assert (outcome.ran, outcome.degraded, server.bodies) == (False, True, [])
    assert "the endpoint does not answer (no connection (ConnectError))" in (outcome.note or "")


def _free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}/v1"


@pytest.mark.parametrize(
    "content",
    [
        "",
        "yes",
        "{}",
        '{"score": "high"}',
        '{"score": 1.5}',
        '{"score": true}',
        '{"score": NaN}',
        '{"score": -1}',
        "[1]",
    ],
)
def test_malformed_once_is_asked_again(serve: Callable[..., Server], content: str) -> None:
    case = case_of(TEXTS[:1])
    outcome = run_judge(case, options(serve(says(content), score(0.8))))
    assert standings(case) == [("confirmed", 0.8)]
    assert "1 malformed answers" in (outcome.note or "")


@pytest.mark.parametrize("body", [b"<html>", b"null", b"[]", b'{"choices": []}', b'{"choices": [{"message": null}]}'])
def test_malformed_twice_is_left(serve: Callable[..., Server], body: bytes) -> None:
    case = case_of(TEXTS[:1])
    before = standings(case)
    server = serve((200, body, 0.0, {}))
    outcome = run_judge(case, options(server))
    assert (len(server.bodies), standings(case), outcome.degraded) == (2, before, True)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('{"score": 0.7, "reason": "x"}', 0.7),
        ('```json\n{"score": 1, "reason": "x"}\n```', 1.0),
        ('Here you are: {"reason": "a {brace}", "score": 0}', 0.0),
    ],
)
def test_scores_are_read(content: str, expected: float) -> None:
    assert read_score(completion(content)) == expected


def test_budget_of_calls(serve: Callable[..., Server]) -> None:
    case = case_of()
    server = serve(score(0.8))
    outcome = run_judge(case, options(server, max_calls=2))
    assert (len(server.bodies), outcome.ran, outcome.degraded, outcome.matches) == (2, True, True, 2)
    assert outcome.note == (
        "2 judged now, 0 by verdicts at hand; 1 of 3 not judged; the budget is used up: 2 calls, 200 tokens"
    )


def test_what_is_under_way_when_the_budget_ends_is_kept(serve: Callable[..., Server]) -> None:
    texts = tuple(f"Note {n}: Dave Thompson and the divorce that is going on." for n in range(12))
    server = serve((200, score(0.8)[1], 0.2, {}))
    outcome = run_judge(case_of(texts), options(server, max_calls=3, concurrency=4))
    assert (len(server.bodies), outcome.matches, outcome.degraded) == (3, 3, True)


@pytest.mark.parametrize("told", [100, None])
def test_budget_of_tokens(serve: Callable[..., Server], told: int | None) -> None:
    """An endpoint that counts no tokens is estimated."""
    server = serve(score(0.8, told))
    outcome = run_judge(case_of(), options(server, max_tokens=150 if told else 600))
    assert (len(server.bodies), outcome.degraded) == (2, True)


def test_a_retry_costs_a_call(serve: Callable[..., Server]) -> None:
    server = serve(status(500), score(0.8))
    outcome = run_judge(case_of(), options(server, max_calls=2))
    assert (len(server.bodies), outcome.matches) == (2, 1)


def test_verdicts_at_hand_need_no_network(serve: Callable[..., Server]) -> None:
    case = case_of()
    server = serve(score(0.9), score(0.25), score(0.1))
    asked = options(server)
    run_judge(case, asked)
    found = standings(case)
    server.close()
    run_semantic(case)
    outcome = run_judge(case, asked)
    assert (standings(case), outcome.degraded) == (found, False)
    assert outcome.note == "0 judged now, 3 by verdicts at hand"


def test_what_was_judged_before_a_stop_is_kept(serve: Callable[..., Server], tmp_path: Path) -> None:
    """An audit that fails is rolled back; what the judge was paid for is not."""
    path = tmp_path / "case.duckdb"
    with case_of(path=path) as case:
        with pytest.raises(JudgeError), case.transaction():
            run_judge(case, options(serve(score(0.9), score(0.3), status(401))))
        assert {s for s, _ in standings(case)} == {"possible"}
    server = serve(score(0.8))
    with Case(path) as case:
        outcome = run_judge(case, options(server))
        assert outcome.note == "1 judged now, 2 by verdicts at hand"
    assert len(server.bodies) == 1


def test_another_model_or_threshold(serve: Callable[..., Server]) -> None:
    case = case_of(TEXTS[:1])
    server = serve(score(0.6), score(0.9))
    run_judge(case, options(server))
    assert standings(case) == [("confirmed", 0.6)]
    run_judge(case, options(None, threshold=0.72))
    assert standings(case) == [("possible", 0.6)]
    other = JudgeOptions(server.url, "another-model", key=None)
    assert run_judge(case, other).note == "1 judged now, 0 by verdicts at hand"


def test_verdicts_travel_without_values(serve: Callable[..., Server], tmp_path: Path) -> None:
    case, path = case_of(), tmp_path / "verdicts.jsonl"
    run_judge(case, options(serve(score(0.9), score(0.25), score(0.1))))
    assert export_judgements(case, path) == 3
    text = path.read_text()
    assert not re.search(r"(?i)divorce|thompson|marriage", text)
    other = case_of()
    other.set_meta("key", str(case.meta("key")))
    assert import_judgements(other, path) == 3
    assert import_judgements(other, path) == 0
    outcome = run_judge(other, options(None))
    assert (standings(other), outcome.degraded) == (standings(case), False)
    assert other.rows("SELECT DISTINCT origin FROM judgements") == [("imported",)]


def test_verdicts_of_another_key_fit_nothing(serve: Callable[..., Server], tmp_path: Path) -> None:
    case, path = case_of(), tmp_path / "verdicts.jsonl"
    run_judge(case, options(serve(score(0.9))))
    export_judgements(case, path)
    with pytest.raises(JudgeError, match="set EARWITNESS_KEY"):
        import_judgements(case_of(), path)


@pytest.mark.parametrize("line", [b"{}", b"nonsense", b'{"content": "x"}'])
def test_a_damaged_file_of_verdicts(tmp_path: Path, line: bytes) -> None:
    case, path = case_of(), tmp_path / "verdicts.jsonl"
    export_judgements(case, path)
    path.write_bytes(path.read_bytes() + line + b"\n")
    with pytest.raises(JudgeError, match="line 2"):
        import_judgements(case, path)
    path.write_bytes(line)
    with pytest.raises(JudgeError, match="no file of verdicts"):
        import_judgements(case, path)


@pytest.mark.parametrize(("code", "cure"), [(401, KEY_VARIABLE), (403, KEY_VARIABLE), (404, "base URL"), (302, "302")])
def test_refusals_name_cause_and_cure(serve: Callable[..., Server], code: int, cure: str) -> None:
    server = serve(status(code, location="http://127.0.0.1:1/"))
    with pytest.raises(JudgeError, match=cure) as caught:
        run_judge(case_of(), options(server))
    assert server.url in str(caught.value)
    assert len(server.bodies) == 1


def test_secrets_stay_in(serve: Callable[..., Server], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    case = case_of()
    outcome = run_judge(case, options(serve(status(500), says(SECRET), score(0.9), status(400), score(0.4))))
    with pytest.raises(JudgeError) as caught:
        run_judge(case_of(), options(serve(status(401))))
    error = caught.value
    told = [outcome.note, str(error), repr(error), repr(error.__context__), repr(options(None)), caplog.text]
    told += [str(row) for row in case.rows("SELECT * FROM judgements")]
    for text in told:
        assert not re.search(rf"(?i)divorce|thompson|{KEY}", str(text))


@pytest.mark.parametrize(
    "url", ["", "localhost:8000", "ftp://h/v1", "http://", "http://h:x/v1", "http://u:p@h/v1", "https://h/v1?key=abc"]
)
def test_urls_that_are_none(url: str) -> None:
    with pytest.raises(JudgeError, match="must be like") as caught:
        run_judge(case_of(), JudgeOptions(url, "m"))
    assert "abc" not in str(caught.value)


@pytest.mark.parametrize("key", ["sk-\nabc", "sk-abc\u00e9"])
def test_keys_that_are_none(key: str) -> None:
    with pytest.raises(JudgeError, match=KEY_VARIABLE) as caught:
        run_judge(case_of(), JudgeOptions("http://127.0.0.1:9/v1", "m", key))
    assert "abc" not in str(caught.value)


def test_the_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    assert JudgeOptions(None, "m").key == KEY


def test_many_at_the_same_time(serve: Callable[..., Server]) -> None:
    texts = tuple(f"Note {n}: Dave Thompson and the divorce that is going on." for n in range(40))

    def answer(body: dict[str, Any]) -> Step:
        text = json.loads(body["messages"][1]["content"])["text"]
        return 200, score(0.9 if int(text.split()[1][:-1]) % 2 else 0.3)[1], 0.02, {}

    case = case_of(texts)
    server = serve(by=answer)
    started = time.monotonic()
    outcome = run_judge(case, options(server, concurrency=8))
    assert time.monotonic() - started < 5
    assert (len(server.bodies), outcome.matches, outcome.degraded) == (40, 20, False)
    odd = case.rows("""SELECT regexp_extract(text, '\\d+')::INT % 2, standing, count(*) FROM matches
                       JOIN contents USING (content) GROUP BY ALL ORDER BY 1""")
    assert odd == [(0, "possible", 20), (1, "confirmed", 20)]


def test_weak_registry_matches_on_request(serve: Callable[..., Server]) -> None:
    case = case_of(TEXTS[:1])
    case.execute("UPDATE matches SET tier = 1, form = 'verbatim'")
    assert run_judge(case, options(serve(score(0.9)))).note == "0 judged now, 0 by verdicts at hand"
    assert run_judge(case, options(serve(score(0.9)), weak=True)).matches == 1
    assert standings(case) == [("confirmed", 0.9)]


def test_without_an_endpoint_only_verdicts_at_hand_count() -> None:
    case = case_of()
    outcome = run_judge(case, options(None))
    assert (outcome.ran, outcome.degraded) == (False, True)
    assert outcome.note == "0 judged now, 0 by verdicts at hand; 3 of 3 not judged; no endpoint was named"


def test_nothing_to_judge() -> None:
    outcome = run_judge(Case(), options(None))
    assert (outcome.ran, outcome.degraded, outcome.contents) == (True, False, 0)


def test_excerpts_hold_the_place_in_question() -> None:
    text = "x" * 20_000 + "here" + "y" * 20_000
    assert "here" in excerpt(text, 20_000, 20_004)
    assert len(excerpt(text, 0, 4)) == SHOWN
    assert excerpt("short", 0, 5) == "short"
