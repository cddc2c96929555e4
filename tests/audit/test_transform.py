"""Transforming texts: golden splices, JSON that stays JSON, hostile texts, keys, pseudonyms, noise, verification."""

import base64
import json
import math
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from earwitness.audit.replayed.bulk import recognize
from earwitness.audit.transform.dpcheck import dp_inequality
from earwitness.audit.transform.keys import KEY_VARIABLE, Keys, TransformKeyError, hkdf, read_keys
from earwitness.audit.transform.noise import Noise, laplace, read_amount, write_amount
from earwitness.audit.transform.options import RANGES, Options, Range
from earwitness.audit.transform.pseudonyms import Pseudonyms, kind_of
from earwitness.audit.transform.rewriting import remains
from earwitness.audit.transform.shapes import is_json
from earwitness.audit.transform.splice import transform, transform_many
from earwitness.audit.transform.toolkit import Toolkit
from earwitness.audit.transform.verification import verify
from earwitness.audit.transform.words import ACTIONS, CAUSES, EXCEPTIONS, Changed, Task
from earwitness.ingest.loader import Loader
from earwitness.schema.case import Case

MASTER = bytes(range(32))
KEYS = Keys(MASTER)
GOLDEN = Path(__file__).parents[1] / "golden" / "transform" / "splices.yaml"
QUICK = settings(max_examples=300, deadline=None, database=None)


def task(text: str, told: dict[str, Any]) -> Task:
    start = told.get("start", text.find(told.get("value", "")))
    assert start >= 0, told
    stop = told.get("stop", start + len(told.get("value", "")))
    canonical = told.get("canonical", told.get("value", ""))
    return Task(start, stop, told.get("attribute"), told.get("entity"), "value_dependent", canonical, told["action"])


def change(text: str, value: str, action: str, attribute: str | None = None, kit: Toolkit | None = None) -> Changed:
    asked = task(text, {"value": value, "action": action, "attribute": attribute})
    return transform(text, [asked], kit or Toolkit(KEYS))


# Splicing.


@pytest.mark.parametrize("case", yaml.safe_load(GOLDEN.read_text()), ids=lambda c: c["name"])
def test_golden_splices(case: dict[str, Any]) -> None:
    tasks = [task(case["text"], t) for t in case["tasks"]]
    changed = transform(case["text"], tasks, Toolkit(KEYS))
    assert changed.text == case["becomes"]
    for piece in changed.pieces:
        assert piece.asked in ACTIONS
        assert piece.done in ACTIONS
        assert piece.cause is None or piece.cause in CAUSES
        assert piece.exception is None or piece.exception in EXCEPTIONS
    assert [p.start for p in changed.pieces] == sorted(p.start for p in changed.pieces)


SECRETS = st.sampled_from(("Alice Smith", "123-45-6789", 'Bob "X" Roe', "95000", "a\nb7", "diabetes", "é😀Zoë", "\\"))
SCALARS = st.one_of(
    SECRETS, st.integers(-(10**9), 10**9), st.floats(allow_nan=False, allow_infinity=False), st.booleans(), st.none()
)
DOCUMENTS = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(SECRETS, inner, max_size=3), max_leaves=8
)
KIT = Toolkit(KEYS)


def holes(value: Any) -> Any:
    """The shape of a document: its types and lists, without keys and values."""
    if isinstance(value, dict):
        return [holes(v) for v in value.values()]
    return [holes(v) for v in value] if isinstance(value, list) else "x"


@given(DOCUMENTS, st.booleans(), st.data())
@settings(max_examples=600, deadline=None, database=None)
def test_json_stays_json_of_the_same_shape(document: Any, ascii_only: bool, data: Any) -> None:
    document = document if isinstance(document, dict | list) else [document]
    text = json.dumps(document, ensure_ascii=ascii_only)
    spans = st.tuples(st.integers(0, len(text)), st.integers(0, 30), st.sampled_from(ACTIONS[:-1]))
    tasks = [
        Task(a, a + n, "name", None, "x", text[a : a + n], act) for a, n, act in data.draw(st.lists(spans, max_size=4))
    ]
    changed = transform(text, tasks, KIT)
    assert is_json(text)
    assert holes(json.loads(changed.text)) == holes(document)


@given(
    st.text(max_size=80),
    st.lists(st.tuples(st.integers(-3, 90), st.integers(-3, 40), st.sampled_from(ACTIONS)), max_size=5),
)
@settings(max_examples=600, deadline=None, database=None)
def test_any_text_keeps_what_no_task_touches(text: str, spans: list[tuple[int, int, str]]) -> None:
    tasks = [Task(a, a + n, "x", None, "x", text[max(a, 0) : max(a + n, 0)], act) for a, n, act in spans]
    changed = transform(text, tasks, KIT)
    at = 0
    for piece in changed.pieces:
        assert at <= piece.start <= piece.stop <= len(changed.text)
        at = piece.stop
    if not any(t.action == "block" for t in tasks):
        free = set(range(len(text))) - {
            n for t in tasks if t.action != "allow" for n in range(max(t.start, 0), max(t.stop, 0))
        }
        kept = "".join(changed.text[a:b] for a, b in between(changed))
        whole = "".join(text[n] for n in sorted(free))
        # Escapes and numbers that a span touches are taken whole: what is kept is never more than what was free.
        assert is_subsequence(kept, whole)


def between(changed: Changed) -> list[tuple[int, int]]:
    """What stands between the pieces, and what is allowed."""
    edges = [0, *(n for p in changed.pieces if p.done != "allow" for n in (p.start, p.stop)), len(changed.text)]
    return list(zip(edges[::2], edges[1::2], strict=True))


def is_subsequence(short: str, long: str) -> bool:
    rest = iter(long)
    return all(c in rest for c in short)


HOSTILE = ["\ud800 x", "\x00\x1b[2J", "\u202eabc", "%%%41", "\\u00", '{"a": "\\', "```" * 50, "a" * 100_000, "[" * 5000]


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts_are_texts(text: str, action: str) -> None:
    changed = transform(text, [Task(0, len(text), text[:50], "person", "x", text, action)], Toolkit(KEYS))
    assert action == "allow" or changed.text != text


def test_many_texts_are_what_each_alone_is() -> None:
    texts = ["Alice Smith 123-45-6789", None, "nothing", '{"s": 95000}']
    asked = [(0, 0, 11, "pseudonym"), (3, 6, 11, "redact"), (0, 12, 23, "fpe"), (1, 0, 2, "redact")]
    rows = [(row, *task(texts[row] or "", {"start": a, "stop": b, "canonical": (texts[row] or "")[a:b], "action": act}))
            for row, a, b, act in asked]  # fmt: skip
    names = ["row", *Task._fields]
    frame = pl.DataFrame(
        rows, schema={n: pl.Int64 if n in ("row", "start", "stop") else pl.String for n in names}, orient="row"
    )
    done = transform_many(pl.Series(texts), frame, Toolkit(KEYS))
    assert done["row"].to_list() == [0, 3]
    for row, text, pieces in done.iter_rows():
        alone = transform(texts[row] or "", [Task(*r[1:]) for r in rows if r[0] == row], Toolkit(KEYS))
        assert text == alone.text
        assert [{**p._asdict(), "tasks": list(p.tasks)} for p in alone.pieces] == pieces
    assert transform_many(pl.Series(texts), frame.clear(), Toolkit(KEYS)).is_empty()


# Keys.


def test_hkdf_gives_the_published_answers() -> None:
    """RFC 5869, test cases 1 and 3."""
    one = hkdf(b"\x0b" * 22, bytes(range(13)), bytes(range(0xF0, 0xFA)), 42)
    three = hkdf(b"\x0b" * 22, b"", b"", 42)
    assert one.hex() == "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
    assert three.hex() == "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"


@pytest.mark.parametrize(
    "told", [MASTER.hex(), base64.b64encode(MASTER).decode(), base64.urlsafe_b64encode(MASTER).decode()]
)
def test_keys_are_read_from_file_and_environment(told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key").write_text(told + "\n")
    monkeypatch.setenv(KEY_VARIABLE, told)
    assert read_keys(tmp_path / "key").derive("x") == read_keys().derive("x") == KEYS.derive("x")
    assert read_keys().note is None


@pytest.mark.parametrize("told", ["SECRETPASSPHRASE", "00" * 31, "zz" * 32, "é" * 32])
def test_what_is_no_key_is_refused_without_showing_it(
    told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "key").write_text(told)
    monkeypatch.setenv(KEY_VARIABLE, told)
    for path in (tmp_path / "key", None):
        with pytest.raises(TransformKeyError, match="32 bytes") as caught:
            read_keys(path)
        assert told not in str(caught.value)
    with pytest.raises(TransformKeyError, match="cannot be read"):
        read_keys(tmp_path / "none")


def test_keys_show_themselves_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    kit = Toolkit(KEYS)
    change("Alice Smith", "Alice Smith", "pseudonym", "name", kit)
    shown = " ".join(map(repr, (KEYS, kit, kit.fpe, kit.pseudonyms, kit.noise, kit.noise.ledger)))
    assert MASTER.hex() not in shown
    assert "Alice" not in shown
    with pytest.raises(TypeError):
        pickle.dumps(KEYS)
    assert "this run only" in (read_keys().note or "")
    assert read_keys().derive("x") != read_keys().derive("x")


# Pseudonyms.

PROGRAM = """
from earwitness.audit.transform.keys import Keys
from earwitness.audit.transform.pseudonyms import Pseudonyms
made = Pseudonyms(Keys(bytes(range(32))))
values = {"name": "Alice Smith", "address": "9 Elm St, Rye, NY 10580", "email": "a.b@c.org", "code": "K-9"}
for attribute, value in values.items():
    print(made.make(value, value, attribute, None).text)
"""


def test_pseudonyms_are_the_same_in_every_process() -> None:
    told = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(told) == 1
    assert len(told.pop().splitlines()) == 4


def made(canonical: str, shown: str | None = None, attribute: str = "name") -> str:
    found = Pseudonyms(KEYS).make(canonical, shown or canonical, attribute, None)
    assert found is not None
    return found.text


def test_forms_of_one_name_agree() -> None:
    first, last = made("Alice Smith").split()
    assert made("Alice Smith", "ALICE SMITH") == f"{first} {last}".upper()
    assert made("Alice Smith", "Smith, Alice") == f"{last}, {first}"
    assert made("Alice Smith", "alice") == first.lower()
    assert made("Alice") == first
    assert made("Alice Smith", "Dr. Smith") == f"Dr. {last}"
    assert made("Alice Smith", "A. Smith") == f"{first[0]}. {last}"
    assert made("Alice Smith", "Аlice  Smith") == f"{first}  {last}"  # a Cyrillic A
    assert made("Alice Smith", "A l i c e") not in ("A l i c e",)
    assert made("alice.smith@acme.com", attribute="email").split("@")[0] == f"{first}.{last}".lower()


def test_forms_of_one_number_agree() -> None:
    plain = made("5409619", attribute="amount")
    assert made("5409619", "$5,409,619", "amount") == f"${int(plain):,}"
    assert made("95000", "95'000.00", "amount").split(".")[0].replace("'", "") == made("95000", attribute="amount")


def test_pseudonyms_are_of_the_kind_of_their_value() -> None:
    assert made("a.b@c.org", attribute="email").endswith(".example")
    assert made("https://acme.com/a?b=c", attribute="website").startswith("https://")
    assert ".example/" in made("https://acme.com/a?b=c", attribute="website")
    address = made("742 Evergreen Terrace, Springfield, IL 62704", attribute="address")
    assert address.split()[2] == "Terrace,"
    assert len(address.split()[0]) == 3
    assert len(address.split()[-1]) == 5
    assert made("Acme Health Inc", attribute="employer").endswith(" Inc")
    assert made("ticket ABC", attribute="thing").startswith("ref-")
    assert made("ticket ABC", attribute="thing") == made("Ticket-abc", attribute="thing")
    assert [kind_of("x y", "customer_name", None), kind_of("12", "name", None), kind_of("x", None, "address")] == [
        "person",
        "number",
        "address",
    ]


def test_many_values_have_as_many_pseudonyms() -> None:
    pseudonyms = Pseudonyms(KEYS)
    names = ["".join((a, b, c, d)) for a in "BCDFG" for b in "aeiou" for c in "lmnrstvw" for d in "aeiouyxz"]
    told = {pseudonyms.make(n, n, "name", None).text for n in names}  # type: ignore[union-attr]
    assert len(told) == len(set(names)) == 1600
    for low, high, width in (
        (0, 10, 1),
        (10, 100, 2),
        (0, 10, 2),
        (100, 1000, 3),
        (10_000, 15_000, 5),
        (100_000, 105_000, 6),
    ):
        asked = [f"{n:0{width}}" for n in range(low, high)]
        numbers = [pseudonyms.number(n) for n in asked]
        assert len(set(numbers)) == len(asked)
        for one, other in zip(asked, numbers, strict=True):
            assert one != other
            assert len(one) == len(other)
            assert width == 1 or (one[0] == "0") == (other[0] == "0")
    assert pseudonyms.collisions > 0  # thousands of 900,000: some were taken, and the next candidate stands
    assert pseudonyms.make("900001", "900001", "number", None) is not None


def test_another_key_gives_other_pseudonyms() -> None:
    other = Pseudonyms(Keys(bytes(32))).make("Alice Smith", "Alice Smith", "name", None)
    assert other is not None
    assert other.text != made("Alice Smith")


@given(st.text("abcdefghijklmnop ", min_size=8, max_size=20).filter(lambda t: len(t.strip()) > 6))
@QUICK
def test_nothing_of_a_name_is_left(name: str) -> None:
    text = made(name.title())
    assert not remains(text, name.title(), Task(0, 0, "name", None, "x", name.title(), "pseudonym"))


# Noise.


@pytest.mark.parametrize(("epsilon", "unit"), [(1.0, 1000.0), (0.1, 1.0), (3.0, 30.0)])
def test_noise_has_the_distribution_of_laplace(epsilon: float, unit: float) -> None:
    uniform = np.random.default_rng(7).random(20_000)
    noise = laplace(0.0, Range(unit, -1e300, 1e300), epsilon, uniform)
    assert stats.kstest(noise, stats.laplace(scale=unit / epsilon).cdf).pvalue > 0.01
    assert stats.kstest(noise, stats.laplace(scale=1.2 * unit / epsilon).cdf).pvalue < 1e-6


def test_seeded_noise_has_it_too_over_values() -> None:
    noise = Noise(KEYS, Options())
    released = [
        float(noise.release(f"{n}.000000", f"{n}.000000", "salary") or "nan") - n for n in range(20_000, 24_000)
    ]
    assert stats.kstest(released, stats.laplace(scale=1000).cdf).pvalue > 0.01
    assert abs(np.mean(released)) < 4 * math.sqrt(2) * 1000 / math.sqrt(4000)


def test_the_inequality_holds_and_a_broken_mechanism_fails_it() -> None:
    span = RANGES["amount"]
    good = dp_inequality(span, 1.0, span.unit)
    broken = dp_inequality(span, 2.0, span.unit, claimed=1.0)
    assert (good.bins, good.held) == (24, 24)
    assert broken.held < 18
    assert dp_inequality(span, 1.0, 2 * span.unit).held == 24


def test_releasing_a_value_again_costs_nothing_and_tells_nothing() -> None:
    noise = Noise(KEYS, Options())
    told = {noise.release("95000", shown, "salary") for shown in ("$95,000.00", "$95,000.00")}
    assert len(told) == 1
    other = noise.release("95000", "95000.00", "salary")
    assert {t.replace("$", "").replace(",", "") for t in told if t} == {other}
    (line,) = noise.ledger.lines()
    assert (line.releases, line.epsilon, noise.ledger.epsilon) == (1, 1.0, 1.0)
    assert "95000" not in repr(noise.ledger.lines())
    assert Noise(KEYS, Options()).release("95000", "95000.00", "salary") == other


def test_unseeded_releases_differ_and_are_paid_for() -> None:
    noise = Noise(KEYS, Options(seeded=False, epsilon=0.5))
    assert len({noise.release("95000", "95000.00", "salary") for _ in range(10)}) == 10
    (line,) = noise.ledger.lines()
    assert (line.releases, line.epsilon) == (10, 5.0)


@pytest.mark.parametrize(
    ("shown", "pattern"),
    [
        ("$95,000", r"\$\d{1,3},\d{3}"),
        ("€95.000,50", r"€\d{1,3}\.\d{3},\d{2}"),
        ("USD 1'250'000.00", r"USD \d'\d{3}'\d{3}\.\d{2}"),
        ("-1200.5 EUR", r"-?\d+\.\d EUR"),
        ("+5000000", r"[+]\d{7}"),
        ("95k", r"\d{2,3}k"),
        ("1985-03-12", r"\d{4}-\d\d-\d\d"),
        ("March 3rd, 1985", r"[A-Z][a-z]+ \d\d?(st|nd|rd|th), \d{4}"),
    ],
)
def test_noisy_numbers_keep_their_form(shown: str, pattern: str) -> None:
    import re

    released = Noise(KEYS, Options()).release("95000" if shown == "95k" else shown, shown, "salary")
    assert released is not None
    assert re.fullmatch(pattern, released), released


@pytest.mark.parametrize("shown", ["many", "12-34-56", "1,23", "", "1e5", "0x12", "12 of 30"])
def test_what_is_no_number_gets_no_noise(shown: str) -> None:
    if shown == "1,23":  # a decimal comma
        assert Noise(KEYS, Options()).release(shown, shown, "salary") is not None
        return
    assert Noise(KEYS, Options()).release(shown, shown, "salary") is None


@given(st.decimals(-(10**12), 10**12, places=2))
@QUICK
def test_amounts_are_written_as_they_were_read(number: Any) -> None:
    for text in (f"${number:,}", f"{number} EUR", f"{number}"):
        shown = read_amount(text.replace("$-", "-$"))
        assert shown is not None
        assert write_amount(shown, shown.number).replace("-$", "$-").replace("-0.00", "0.00") == text.replace(
            "-0.00", "0.00"
        )


def test_bounds_hold() -> None:
    noise = Noise(KEYS, Options(noise={**RANGES, "age": Range(50.0, 0.0, 120.0)}))
    told = [int(noise.release(str(n), str(n), "age") or -1) for n in range(100)]
    assert min(told) == 0
    assert max(told) == 120


# Verification.


def test_verification_recounts_what_was_made() -> None:
    kit = Toolkit(KEYS)
    for n in range(200):
        change(f"x {n:03}-45-6789 y", f"{n:03}-45-6789", "fpe", "ssn", kit)
        change(f"x {100 + n} y", str(100 + n), "fpe", "score", kit)
        change(f"Al{chr(97 + n % 26)} Roe{n}", f"Al{chr(97 + n % 26)}", "pseudonym", "name", kit)
    change("José", "José", "fpe", "name", kit)
    change("has diabetes", "diabetes", "rewrite", "note", kit)
    told = {c.check: (c.k, c.n) for c in verify(kit)}
    assert told["fpe_round_trip"] == told["fpe_character_set"] == told["fpe_length"] == (400, 400)
    assert told["fpe_wrong_key"] == (200, 200)
    assert told["fpe_wrong_key_short_domain"][1] == 200
    assert told["determinism"][0] == told["determinism"][1] == 426
    assert told["pseudonym_distinct"] == (26, 26)
    assert told["exception_short_domain"][0] == 200
    assert told["cause_format"][0] == 1
    assert told["rewrite_at_try_1"] == told["rewrite_accepted"] == (1, 1)
    assert told["dp_inequality_amount"] == (24, 24)


def test_verification_sees_a_broken_outcome() -> None:
    kit = Toolkit(KEYS)
    change("x 123-45-6789 y", "123-45-6789", "fpe", "ssn", kit)
    asked, outcome = next(iter(kit.made.items()))
    kit._made[asked] = outcome._replace(text="999-99-99999x")
    told = {c.check: (c.k, c.n) for c in verify(kit)}
    for name in ("fpe_round_trip", "fpe_length", "fpe_character_set", "determinism"):
        assert told[name] == (0, 1), name


@pytest.mark.real
def test_real_recordings_keep_their_format(shared: Callable[[str], list[Path]]) -> None:
    """Everything recognised in 46 recorded conversations is transformed by its type; the texts stay what they were."""
    with Case() as case:
        Loader(case).load(shared("data/tau_bench/MockRetailDomainEnv-few_shot.jsonl"))
        texts = pl.Series([row[0] for row in case.rows("SELECT text FROM contents ORDER BY content")], dtype=pl.String)
    found = recognize(texts.to_arrow())
    action = pl.col("value_type").replace_strict(
        {"format_dependent": "fpe", "value_dependent": "pseudonym", "contextual": "rewrite"}
    )
    kit = Toolkit(KEYS)
    done = transform_many(texts, found.with_columns(action=action), kit)
    documents = [row for row in done["row"] if is_json(texts[row])]
    after = dict(zip(done["row"], done["text"], strict=True))
    assert len(documents) > 100
    assert [row for row in documents if not is_json(after[row])] == []
    told = {c.check: (c.k, c.n) for c in verify(kit)}
    for name in (
        "fpe_round_trip",
        "fpe_wrong_key",
        "fpe_character_set",
        "determinism",
        "pseudonym_distinct",
        "value_gone",
    ):
        assert told[name][0] == told[name][1] > 100, name
