"""Verified rewriting: the gate, the backstop, the local generaliser, and a model over a real loopback server."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from loopback import Answer, Loopback

from earwitness.audit.judge.errors import JudgeError
from earwitness.audit.judge.options import JudgeOptions
from earwitness.audit.transform.generaliser import Generaliser, classify, taxonomy
from earwitness.audit.transform.keys import Keys
from earwitness.audit.transform.llm import LlmRewriter, prompt, prompt_sha256, read_text
from earwitness.audit.transform.options import Options
from earwitness.audit.transform.rewriting import Candidate, Rewriter, Score, names, remains, rewrite
from earwitness.audit.transform.splice import transform
from earwitness.audit.transform.toolkit import Toolkit
from earwitness.audit.transform.words import Outcome, Task

KEYS = Keys(bytes(range(32)))
VALUE = "pending harassment lawsuit"
SECRET = "sk-judge-0123456789"


def task(value: str = VALUE, attribute: str = "legal_status") -> Task:
    return Task(0, len(value), attribute, None, "contextual", value, "rewrite")


class Script:
    """Proposes what it was given, one after the other."""

    name = "script"

    def __init__(self, *candidates: str | Candidate) -> None:
        self.candidates, self.refused = list(candidates), list[tuple[str, ...]]()

    def propose(self, shown: str, task: Task, refused: tuple[str, ...]) -> Candidate:
        self.refused.append(refused)
        told = self.candidates.pop(0) if self.candidates else Candidate(None, "no_rule")
        return told if isinstance(told, Candidate) else Candidate(told)


def outcome(rewriter: Rewriter, gate: Score | None = None, **options: Any) -> Outcome:
    return rewrite(VALUE, task(), Options(**options), gate, rewriter)


# The checks.


def test_the_first_candidate_that_passes_stands() -> None:
    assert outcome(Script("a matter", "other")) == Outcome("a matter", "rewrite", tries=1)


def test_a_candidate_that_holds_the_value_is_refused() -> None:
    script = Script("a PENDING harassment-lawsuit", "pending harassment lawsuit", "a matter")
    assert outcome(script) == Outcome("a matter", "rewrite", tries=3)
    assert [len(r) for r in script.refused] == [0, 1, 2]


def test_after_three_tries_it_is_redacted() -> None:
    assert outcome(Script(*[VALUE] * 5)) == Outcome("", "redact", cause="backstop", tries=3)
    assert outcome(Script(*["x"] * 5), lambda text, task: 0.8) == Outcome("", "redact", cause="gate", tries=3)


def test_the_gate_decides_by_its_threshold() -> None:
    assert outcome(Script("x"), lambda text, task: 0.49).done == "rewrite"
    assert outcome(Script("x"), lambda text, task: 0.5).cause == "gate"
    assert outcome(Script("x"), lambda text, task: float("nan")).cause == "gate"
    assert outcome(Script("x"), lambda text, task: 0.5, threshold=0.6).done == "rewrite"


def test_without_the_backstop_a_literal_echo_passes() -> None:
    assert outcome(Script(VALUE), backstop=False) == Outcome(VALUE, "rewrite", tries=1)


@pytest.mark.parametrize("cause", ["error", "budget", "no_rule"])
def test_where_no_candidate_comes_the_cause_is_recorded(cause: Any) -> None:
    assert outcome(Script(Candidate(None, cause))) == Outcome("", "redact", cause=cause, tries=1)


def test_where_no_further_candidate_comes_the_refusal_is_the_cause() -> None:
    assert outcome(Script(VALUE)).cause == "backstop"
    assert outcome(Script(VALUE, Candidate(None, "budget"))).cause == "budget"


def test_a_candidate_may_not_name_the_attribute() -> None:
    assert names("their Legal Status", "legal_status")
    assert not names("a legal matter", "legal_status")
    assert not names("anything", None)
    assert outcome(Script("a legal status")).cause == "backstop"


@pytest.mark.parametrize(
    "text",
    [
        "Harassment lawsuit, pending; PENDING HARASSMENT LAWSUIT",
        "cGVuZGluZyBoYXJhc3NtZW50IGxhd3N1aXQ=",
        "pending%20harassment%20lawsuit",
    ],
)
def test_the_backstop_knows_the_forms_of_a_value(text: str) -> None:
    assert remains(text, VALUE, task())
    assert not remains("a legal matter", VALUE, task())


def test_for_the_key_of_an_object_nobody_is_asked() -> None:
    script = Script("a matter")
    asked = task()._replace(start=2, stop=2 + len(VALUE))
    changed = transform(json.dumps({VALUE: 1}), [asked], Toolkit(KEYS, rewriter=script))
    assert changed.text == '{"[REDACTED-1]": 1}'
    assert (changed.pieces[0].cause, script.refused) == ("key", [])


# The local generaliser.

CASES = {
    "Type 2 diabetes, diagnosed in 2019": "a health matter",
    "pending harassment lawsuit": "a legal matter",
    "severe depression and anxiety": "a matter of wellbeing",
    "going through a divorce": "a family matter",
    "salary of $185,000 with a bonus": "a financial matter",
    "acquisition of a competitor": "a business matter",
}


@pytest.mark.parametrize("value", CASES)
def test_the_generaliser_says_what_kind_of_matter_it_is(value: str) -> None:
    told = rewrite(value, task(value, "note"), Options(), None, Generaliser())
    assert (told.text, told.done, told.tries) == (CASES[value], "rewrite", 1)


def test_the_generaliser_becomes_more_general_and_then_gives_up() -> None:
    told = [
        rewrite("has diabetes", task("has diabetes"), Options(), strict, Generaliser())
        for strict in (below(1), below(2), below(3))
    ]
    assert [t.text for t in told] == ["a personal matter", "something private", ""]
    assert (told[-1].cause, told[-1].tries) == ("gate", 3)


def below(count: int) -> Score:
    """A gate that refuses the first candidates."""
    seen: set[str] = set()

    def gate(text: str, task: Task) -> float:
        seen.add(text)
        return 0.9 if len(seen) <= count else 0.1

    return gate


def test_what_no_class_knows_has_no_rule() -> None:
    assert rewrite("hums zarzuelas", task("hums zarzuelas", "habit"), Options(), None, Generaliser()).cause == "no_rule"
    assert Generaliser().propose("x", task("x", "medical_history"), ()).text == "a health matter"


def test_the_classes_are_whole() -> None:
    for one in taxonomy():
        assert len(one.says) == 3
        assert all(classify(said) is None or said for said in one.says)
    assert len(taxonomy()) >= 8


# A model.

Step = tuple[int, Any]


def says(text: Any, tokens: int = 50) -> Step:
    body = text if isinstance(text, str) and text.startswith("raw:") else json.dumps({"rewriting": text})
    return 200, {"choices": [{"message": {"content": body}}], "usage": {"total_tokens": tokens}}


@pytest.fixture
def serve() -> Iterator[Callable[..., "Server"]]:
    pytest.importorskip("httpx", reason="the extra [judge] is not installed")
    servers: list[Server] = []

    def start(*steps: Step) -> Server:
        servers.append(Server(list(steps)))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


class Server(Loopback):
    """Answers as told, the last answer again and again, and keeps what it was asked."""

    def __init__(self, steps: list[Step]) -> None:
        self.steps, self.bodies, self.headers = steps, list[dict[str, Any]](), list[dict[str, str]]()
        super().__init__(self.next)

    def next(self, path: str, body: dict[str, Any], headers: dict[str, str]) -> Answer:
        self.bodies.append(body)
        self.headers.append(headers)
        return *self.steps[min(len(self.bodies), len(self.steps)) - 1], 0.0, {}

    def rewriter(self, answers: dict[str, str] | None = None, **options: Any) -> LlmRewriter:
        return LlmRewriter(JudgeOptions(self.url, "m", SECRET, retries=2, backoff=0.01, **options), b"key", answers)


def test_a_model_rewrites(serve: Callable[..., Server]) -> None:
    server = serve(says("an official matter"))
    with server.rewriter() as rewriter:
        changed = transform(
            f"He has a {VALUE}.", [task()._replace(start=9, stop=9 + len(VALUE))], Toolkit(KEYS, rewriter=rewriter)
        )
    assert changed.text == "He has a official matter."
    (body,), (headers,) = server.bodies, server.headers
    asked = json.loads(body["messages"][1]["content"])
    assert asked == {"text": VALUE, "protected": VALUE, "never_write": "legal_status", "refused": []}
    assert body["messages"][0]["content"] == prompt()
    assert headers["Authorization"] == f"Bearer {SECRET}"


def test_a_refused_rewriting_is_told_to_the_model(serve: Callable[..., Server]) -> None:
    server = serve(says(f"the {VALUE}"), says("a matter"))
    with server.rewriter() as rewriter:
        told = outcome(rewriter)
    assert told == Outcome("a matter", "rewrite", tries=2)
    assert json.loads(server.bodies[1]["messages"][1]["content"])["refused"] == [f"the {VALUE}"]


def test_answers_are_known_by_hash(serve: Callable[..., Server]) -> None:
    server = serve(says("a matter"))
    with server.rewriter() as rewriter:
        assert [outcome(rewriter).text for _ in range(3)] == ["a matter"] * 3
        assert (rewriter.asked, rewriter.at_hand) == (1, 0)
        known = dict(rewriter.fresh)
    assert len(server.bodies) == 1
    assert VALUE not in json.dumps(known)
    again = serve((500, {}))
    with again.rewriter(known) as rewriter:
        assert outcome(rewriter).text == "a matter"
        assert (rewriter.asked, rewriter.at_hand, rewriter.fresh) == (0, 1, {})
    assert again.bodies == []


def test_without_an_endpoint_answers_at_hand_are_used_and_nothing_is_asked() -> None:
    asked = LlmRewriter(JudgeOptions(None, "m"), b"key")
    assert outcome(asked) == Outcome("", "redact", cause="budget", tries=1)
    assert (asked.asked, asked.host) == (0, None)


def test_faults_that_pass_are_tried_again(serve: Callable[..., Server]) -> None:
    server = serve((503, {}), (429, {}), says("a matter"))
    with server.rewriter() as rewriter:
        assert outcome(rewriter).text == "a matter"
    assert len(server.bodies) == 3


@pytest.mark.parametrize("step", [(503, {}), (400, {})], ids=["503", "400"])
def test_no_answer_is_an_error(serve: Callable[..., Server], step: Step) -> None:
    server = serve(step)
    with server.rewriter() as rewriter:
        assert outcome(rewriter) == Outcome("", "redact", cause="error", tries=1)
    assert len(server.bodies) == (3 if step[0] == 503 else 1)


@pytest.mark.parametrize(
    "step",
    [(200, {}), says("raw: no JSON"), says(""), says(7), says("x" * 2000)],
    ids=["empty", "prose", "blank", "number", "long"],
)
def test_what_cannot_be_read_is_asked_for_once_more(serve: Callable[..., Server], step: Step) -> None:
    server = serve(step)
    with server.rewriter() as rewriter:
        assert outcome(rewriter) == Outcome("", "redact", cause="malformed", tries=1)
        assert rewriter.fresh == {}
    assert len(server.bodies) == 2
    with serve(step, says("a matter")).rewriter() as rewriter:
        assert outcome(rewriter).text == "a matter"


def test_an_endpoint_that_is_gone_is_not_asked_for_ever(serve: Callable[..., Server]) -> None:
    server = serve((400, {}))
    with server.rewriter() as rewriter:
        causes = [rewriter.propose(f"{VALUE} {n}", task(), ()).cause for n in range(20)]
    assert causes == ["error"] * 20
    assert len(server.bodies) == 8


def test_the_budget_holds(serve: Callable[..., Server]) -> None:
    server = serve(says(VALUE, tokens=100))
    with server.rewriter(max_calls=2) as rewriter:
        assert outcome(rewriter) == Outcome("", "redact", cause="budget", tries=3)
    assert len(server.bodies) == 2
    with server.rewriter(max_tokens=50) as rewriter:
        assert outcome(rewriter).cause == "budget"


def test_a_refused_key_stops_and_shows_nothing(serve: Callable[..., Server]) -> None:
    with (
        serve((401, {"error": SECRET})).rewriter() as rewriter,
        pytest.raises(JudgeError, match="EARWITNESS_JUDGE_KEY") as caught,
    ):
        outcome(rewriter)
    assert SECRET not in str(caught.value)
    assert VALUE not in str(caught.value)


def test_quotes_and_control_signs_of_a_model_break_nothing(serve: Callable[..., Server]) -> None:
    with serve(says('say "it"\\ \x1b[2J\u2028now')).rewriter() as rewriter:
        text = json.dumps({"note": VALUE})
        asked = task()._replace(start=10, stop=10 + len(VALUE))
        changed = transform(text, [asked], Toolkit(KEYS, rewriter=rewriter))
    assert json.loads(changed.text)["note"].startswith("say 'it'/")
    assert "\x1b" not in changed.text


def test_the_prompt_is_frozen() -> None:
    assert prompt_sha256() == "a38cf042edabb1bc9879ea121602cd6264c2f8a0630c97e40ce5e36c49a7e8d0"
    assert read_text(None) is None
