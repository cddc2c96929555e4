"""Policy and vault files: what they mean, and that every mistake is located and quotes no value."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from earwitness.schema.errors import PolicyError
from earwitness.schema.policy import Policy, load_policy, parse_policy, review
from earwitness.schema.vaultfile import load_vault

WHOLE = b"""
version: 1
default: sanitize
roster:
  - {name: lead, roles: boss, aliases: [Lead Agent]}
  - {name: crm, kind: tool, position: unknown}
unlisted: introduced
values:
  - {attribute: dob, value: 2001-01-01, value_type: format_dependent}
  - {attribute: pin, value: 0042}
  - {attribute: consent, value: yes}
rules:
  - {id: r1, effect: allow, attributes: dob, recipients: [lead], channels: C2}
fallback: {C3: closed}
confidence: {C6: 0.6}
transforms: {contextual: rewrite}
"""


def test_whole_policy() -> None:
    policy = parse_policy(WHOLE, "p.yaml")
    assert policy.roster[0].roles == ("boss",)
    assert policy.rules[0].channels == ("C2",)
    assert policy.confidence == {"C6": 0.6}
    # What YAML would turn into a date, a number or a truth value stays the text that was written.
    assert [v.value for v in policy.values] == ["2001-01-01", "0042", "yes"]
    assert review(policy) == []


def test_empty_policy_denies() -> None:
    assert parse_policy(b"", "p.yaml") == Policy()
    assert Policy().default == "sanitize"


@pytest.mark.parametrize(
    ("text", "place", "cause"),
    [
        ("rules:\n  - effect: alow", ":2:", "$.rules[0].effect"),
        ("rules:\n  - {effect: allow}\n  - {effect: allow, atributes: [x]}", ":3:", "atributes"),
        ("rules: nothing", ":1:", "Expected `array`"),
        ("default: allow\nrooster: []", ":1:", "rooster"),
        ("- a\n- b", "", "a policy is a mapping"),
        ("a: [1", ":", "not YAML"),
        ("a: b: c", ":1:", "not YAML"),
        ("version: 2", ":1:", "$.version"),
        ("confidence: {C2: 1.5}", ":1:", "between 0 and 1"),
        ("confidence: {C2: high}", ":1:", "Expected `float`"),
        ("confidence: {C9: 0.5}", ":1:", "'C9'"),
        ("fallback: {C3: maybe}", ":1:", "$.fallback"),
        ("roster:\n- {name: a}\n- {name: b, aliases: [a]}", ":2:", "stands twice"),
        ("rules:\n- {id: x, effect: allow}\n- {id: x, effect: allow}", ":2:", "'x' stands twice"),
        ("values:\n- {attribute: a, value: x}\n- {attribute: a, value: ' '}", ":3:", "$.values[1].value"),
        ("values:\n- {attribute: a, value: [s3cret]}", ":2:", "Expected `str`"),
        ("&a [*a]", "", "p.yaml"),
        ("default: deny", ":1:", "known: allow, sanitize"),
        ("rules:\n- {effect: allow, recpients: [a]}", ":2:", "meant: `recipients`"),
        ("colour: red", ":1:", "known: version, default, roster"),
        ("fallback: {C9: closed}", ":1:", "known: C1, C2, C3, C4, C5, C6, C7"),
        ("fallback: {C3: maybe}", ":1:", "known: closed, field"),
        ("rules:\n- {effect: allow, channels: [X1]}", ":2:", "known: C1, C2"),
    ],
)
def test_mistakes_are_located(text: str, place: str, cause: str) -> None:
    with pytest.raises(PolicyError) as caught:
        parse_policy(text.encode(), "p.yaml")
    message = str(caught.value)
    assert message.startswith(f"p.yaml{place}")
    assert cause in message
    assert "s3cret" not in message


def test_bytes_that_are_no_text() -> None:
    with pytest.raises(PolicyError, match="not UTF-8 at byte 2"):
        parse_policy(b"a:\xff", "p.yaml")


def test_absent_file(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"absent\.yaml: cannot be read"):
        load_policy(tmp_path / "absent.yaml")


def test_review_finds_names_nobody_knows() -> None:
    policy = parse_policy(WHOLE + b"\n", "p.yaml")
    strange = parse_policy(WHOLE.replace(b"recipients: [lead]", b"recipients: [leed], subjects: [Ann]"), "p.yaml")
    assert review(policy) == []
    assert review(strange) == ["rule r1: recipients not named elsewhere in the policy: leed"]
    assert "nothing can be a leak" in review(parse_policy(b"default: allow", "p.yaml"))[0]


ROWS = [
    {"attribute": "ssn", "value": "123-45-6789", "value_type": "format_dependent", "subject": "Ann", "aliases": None},
    {"attribute": "pin", "value": "0042", "value_type": None, "subject": None, "aliases": None},
]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_vault_files(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"vault.{kind}"
    frame = pl.DataFrame(ROWS, schema_overrides={"aliases": pl.String})
    writers: dict[str, Callable[[Path], object]] = {
        "csv": frame.write_csv,
        "jsonl": frame.write_ndjson,
        "parquet": frame.write_parquet,
    }
    writers[kind](path)
    values = load_vault(path)
    assert [(v.attribute, v.value, v.value_type, v.subject) for v in values] == [
        ("ssn", "123-45-6789", "format_dependent", "Ann"),
        ("pin", "0042", None, None),
    ]


def test_vault_aliases_in_one_cell(tmp_path: Path) -> None:
    path = tmp_path / "vault.csv"
    path.write_text("attribute,value,aliases\nname,Ann Lee,A. Lee|Lee\n")
    assert load_vault(path)[0].aliases == ("A. Lee", "Lee")


@pytest.mark.parametrize(
    ("name", "text", "cause"),
    [
        ("v.csv", "attribute,secret\na,s3cret\n", "no column value"),
        ("v.csv", "attribute,value,colour\na,s3cret,red\n", "unknown column colour"),
        ("v.csv", "attribute,value,value_type\na,s3cret,odd\n", "row 1"),
        ("v.csv", "attribute,value,value_type\na,s3cret,odd\n", "known: contextual, format_dependent, value_dependent"),
        ("v.csv", 'attribute,value\na,"s3cret\nb', "cannot be parsed"),
        ("v.csv", "attribute,value\na,\n", "row 1"),
        ("v.jsonl", '{"attribute": "a", "value": s3cret}', "cannot be parsed"),
        ("v.txt", "s3cret", "ends in .csv, .jsonl or .parquet"),
        ("v.parquet", "s3cret", "cannot be parsed"),
    ],
)
def test_vault_mistakes(tmp_path: Path, name: str, text: str, cause: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(PolicyError) as caught:
        load_vault(tmp_path / name)
    assert cause in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_absent_vault(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="cannot be read"):
        load_vault(tmp_path / "absent.csv")
