"""No replacement is another protected value: pseudonyms, ciphertexts, and what is on record of that."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from earwitness.audit.transform.fpe import Fpe
from earwitness.audit.transform.keys import Keys
from earwitness.audit.transform.known import EVERYWHERE, Known
from earwitness.audit.transform.options import Options
from earwitness.audit.transform.shapes import Spot
from earwitness.audit.transform.toolkit import Toolkit
from earwitness.audit.transform.verification import verify
from earwitness.audit.transform.words import Outcome, Task

KEYS = Keys(bytes(range(32)))
FPE = Fpe(KEYS, Options())
SSN, CODE = "536-22-8417", "ACCT-4521"


def known(**places: int) -> Known:
    return Known(pl.Series(list(places), dtype=pl.String), pl.Series(list(places.values()), dtype=pl.Int64))


def knowing(*texts: str) -> Known:
    return known(**dict.fromkeys(texts, 1))


def made(text: str, action: str, attribute: str, known: Known | None, kit: Toolkit | None = None) -> Outcome:
    kit = kit or Toolkit(KEYS, known=known)
    return kit.outcome(text, Task(0, len(text), attribute, None, "", text, action), Spot(0, len(text), "plain"))


def first(text: str, attribute: str, number: int = 0) -> str:
    sealed = FPE.encrypt(text, attribute, number)
    assert sealed is not None
    return sealed.text


def test_forms_are_letters_and_digits() -> None:
    told = knowing("536-22-8417", "Ilse Brandvold")
    assert told.anywhere("536 22 8417")
    assert told.anywhere("ILSE-BRANDVOLD")
    assert not told.anywhere("Ilse")
    assert not told.anywhere("")
    assert told.has_word("Brandvold")
    assert not told.has_word("Brand")
    assert "536" not in repr(told)


def test_values_of_different_scenarios_may_be_alike() -> None:
    told = known(**{"1111": 1, "2222": 2, "3333": EVERYWHERE, "4444": 1})
    assert told.clash("1111", "4444")
    assert not told.clash("1111", "2222")
    assert told.clash("1111", "3333")
    assert told.clash("3333", "2222")
    assert told.clash("no value", "2222")
    assert not told.clash("1111", "5555")


def test_a_pseudonym_holds_no_word_of_a_known_value() -> None:
    alone = made("Mara Quill", "pseudonym", "name", None)
    taken = alone.text.split()[0]
    other = made("Mara Quill", "pseudonym", "name", knowing("Mara Quill", f"{taken} Holt"))
    assert taken.lower() not in other.text.lower()
    assert (other.done, other.exception, other.tries) == ("pseudonym", "collision", 2)
    assert other.text.split()[1] == alone.text.split()[1]


@pytest.mark.parametrize("number", ["4521", "555-123-4567", "9876543210", "1,234"])
def test_a_number_does_not_become_a_known_one(number: str) -> None:
    alone = made(number, "pseudonym", "number", None)
    other = made(number, "pseudonym", "number", knowing(number, alone.text))
    assert other.text not in (alone.text, number)
    assert (other.done, other.exception) == ("pseudonym", "collision")
    assert other == made(number, "pseudonym", "number", knowing(number, alone.text))


def test_numbers_of_further_permutations_are_not_given_twice() -> None:
    numbers = [f"{n}" for n in range(100, 400)]
    kit = Toolkit(KEYS, known=knowing(*numbers))
    told = [made(n, "pseudonym", "number", None, kit) for n in numbers]
    kept = [o.text for o in told if o.done == "pseudonym"]
    assert len(kept) == len(set(kept)) == 300
    assert not set(kept) & set(numbers)
    assert sum(o.exception == "collision" for o in told) > 50


def test_a_ciphertext_that_is_a_known_value_is_made_again_and_comes_back() -> None:
    kit = Toolkit(KEYS, known=knowing(SSN, first(SSN, "ssn")))
    told = made(SSN, "fpe", "ssn", None, kit)
    assert told == Outcome(first(SSN, "ssn", 1), "fpe", "collision", tries=2, reversible=True)
    assert kit.recover(told.text, "ssn", told.tries) == SSN
    assert kit.recover(told.text, "ssn") != SSN


def test_a_short_domain_stays_one_and_the_collision_is_counted_beside_it() -> None:
    kit = Toolkit(KEYS, known=knowing(CODE, first(CODE, "account"), first(CODE, "account", 1)))
    told = made(CODE, "fpe", "account", None, kit)
    assert (told.exception, told.tries) == ("short_domain", 3)
    checks = {c.check: (c.k, c.n) for c in verify(kit)}
    assert checks["exception_short_domain"] == checks["exception_collision"] == (1, 1)
    assert checks["fpe_round_trip"] == checks["determinism"] == (1, 1)


@pytest.mark.parametrize("action", ["fpe", "pseudonym"])
def test_where_nothing_is_free_the_value_is_redacted(action: str) -> None:
    everything = knowing(*(str(n) for n in range(10)))
    told = made("7", action, "grade", everything)
    assert (told.text, told.done, told.cause) == ("[REDACTED]", "redact", "collision")


def test_what_belongs_to_another_scenario_changes_nothing() -> None:
    elsewhere = known(**{SSN: 1, first(SSN, "ssn"): 2})
    assert made(SSN, "fpe", "ssn", elsewhere) == made(SSN, "fpe", "ssn", None)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.from_regex(r"\A[A-Z]{2}-[0-9]{2}\Z"), min_size=2, max_size=40, unique=True))
def test_no_ciphertext_is_a_known_value_and_all_come_back(values: list[str]) -> None:
    kit = Toolkit(KEYS, known=knowing(*values))
    told = [made(v, "fpe", "code", None, kit) for v in values]
    assert not {o.text for o in told} & set(values)
    assert [kit.recover(o.text, "code", o.tries) for o in told if o.done == "fpe"] == [
        v for v, o in zip(values, told, strict=True) if o.done == "fpe"
    ]


@pytest.mark.parametrize(
    ("shown", "canonical", "distinct"),
    [
        (["Roe, Ann", "Ann Roe"], ["Ann Roe", "Ann Roe"], (1, 1)),
        (["Roe, Ann", "Roe, Ann"], ["Ann Roe", "Roe, Ann"], (1, 1)),
        (["Roe", "Roe"], ["Ann Roe", "Bo Roe"], (1, 1)),
        (["Ann Roe", "Bo Roe"], ["Ann Roe", "Bo Roe"], (2, 2)),
    ],
)
def test_forms_of_one_value_share_a_pseudonym_without_fault(
    shown: list[str], canonical: list[str], distinct: tuple[int, int]
) -> None:
    kit = Toolkit(KEYS)
    for text, value in zip(shown, canonical, strict=True):
        task = Task(0, len(text), "name", None, "value_dependent", value, "pseudonym")
        kit.outcome(text, task, Spot(0, len(text), "plain"))
    assert {c.check: (c.k, c.n) for c in verify(kit)}["pseudonym_distinct"] == distinct


def test_two_values_with_one_pseudonym_are_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("earwitness.audit.transform.pseudonyms.Pseudonyms.word", lambda self, token: "same")
    kit = Toolkit(KEYS)
    for text in ("Ann", "Bo", "Cy"):
        made(text, "pseudonym", "name", None, kit)
    assert {c.check: (c.k, c.n) for c in verify(kit)}["pseudonym_distinct"] == (0, 3)
