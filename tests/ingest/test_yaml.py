"""YAML as a container: one document a record, taken only where an adapter knows it, and never more than was written."""

import base64
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from earwitness.ingest.containers import Container
from earwitness.ingest.layouts import READERS, recognise
from earwitness.ingest.limits import Limits
from earwitness.ingest.loader import Loader
from earwitness.ingest.record import Record, Skip
from earwitness.ingest.stream import CountingStream
from earwitness.ingest.yamltext import YamlError, load_yaml
from earwitness.schema.case import Case

EVENT = {"type": "event", "trace": "t", "channel": "C2", "content": "naïve: yes"}


def container_of(raw: bytes) -> str:
    return recognise(CountingStream(io.BytesIO(raw))).name


def documents(raw: bytes, limits: Limits = Limits()) -> list[Record | Skip]:  # noqa: B008 - frozen
    found = READERS["yaml"](Container("yaml", CountingStream(io.BytesIO(raw))), limits)
    return [f for f in found if isinstance(f, Record | Skip)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\nb: [2.5, -3, yes, Off, ~, '4', 0x1F, 1_000, 12:30:00, 2026-01-02, 1e999, .nan]\n",
         {"a": 1, "b": [2.5, -3, True, False, None, "4", "0x1F", "1_000", "12:30:00", "2026-01-02", "1e999", ".nan"]}),
        ("a: |\n  one\n  --- two\nb: >-\n  three\n  four\n", {"a": "one\n--- two\n", "b": "three four"}),
        ("{a: {b: [1, {c: d}]}}", {"a": {"b": [1, {"c": "d"}]}}),
        ("a: !!python/object/apply:os.system ['exit 1']\n", {"a": ["exit 1"]}),
        ("a: !mine {b: 1}\nc: !!str 5\nd: !!binary aGk=\n", {"a": {"b": 1}, "c": "5", "d": b"hi"}),
        ("a: &one 1\n", {"a": 1}),
        ("<<: 1\n1: x\nyes: y\n", {"<<": 1, "1": "x", "yes": "y"}),
        ("# nothing\n", None),
    ],
)  # fmt: skip
def test_a_document_is_plain_data(text: str, expected: object) -> None:
    assert load_yaml(text.encode()) == expected


LAUGHS = "a: &a [x, x]\n" + "".join(f"{c}: &{c} [*{p}, *{p}]\n" for p, c in zip("abcdefgh", "bcdefghi", strict=True))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (LAUGHS, "aliases"),
        ("a: &x {b: 1}\nc:\n  <<: *x\n", "aliases"),
        ("a: 1\na: 2\n", "repeats a key"),
        ("a: {b: 1, 'b': 2}\n", "repeats a key"),
        ("? [a]\n: 1\n", "a key that is no text"),
        ("[" * 500 + "]" * 500, "too deep"),
        ("a: [1\n", "line 2"),
        ("a: 'SECRET\n", "not YAML"),
        ("a: \x07\n", "not YAML"),
    ],
)
def test_what_is_not_taken_says_why_and_quotes_nothing(text: str, reason: str) -> None:
    with pytest.raises(YamlError) as caught:
        load_yaml(text.encode())
    assert reason in str(caught.value)
    assert "SECRET" not in str(caught.value)


def test_documents_know_their_lines_and_bytes() -> None:
    raw = "# head\n---\na: ü\n--- # two\nb: |\n  x\n...\n\n---\nc: [\n---\nd: 4".encode()
    found = documents(raw)
    assert [(type(f).__name__, f.place.line) for f in found] == [
        ("Record", 2), ("Record", 4), ("Skip", 9), ("Record", 11)
    ]  # fmt: skip
    for item in found:
        assert raw[item.place.offset :].startswith(b"---")
        assert raw.splitlines()[item.place.line - 1].startswith(b"---")
    assert found[-1] == Record({"d": 4}, found[-1].place)


def test_a_document_over_the_limit_costs_itself_alone() -> None:
    raw = b"a: 1\nb: 2\nc: 3\n---\nd: 4\n"
    skip, record = documents(raw, Limits(block=8, line=12))
    assert isinstance(skip, Skip)
    assert (skip.outcome, skip.place.length) == ("oversized", 15)
    assert isinstance(record, Record)
    assert record.value == {"d": 4}


def test_any_size_of_block_gives_the_same_documents() -> None:
    raw = "---\na: ü\r\nb: |\n  x\n\n  y\n---\n\nc: 1\n...\n---\nd: 2\n".encode()
    whole = documents(raw)
    assert len(whole) == 3
    for block in range(1, 40):
        assert documents(raw, Limits(block=block)) == whole


def test_yaml_of_a_known_format_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    text = yaml.safe_dump_all([EVENT, {**EVENT, "content": "two"}], explicit_start=True, allow_unicode=True)
    path.write_text(text, encoding="utf-8")
    with Case() as case:
        [source] = Loader(case).load([path])
        rows = case.rows("SELECT text FROM contents ORDER BY ALL")
    assert (source.container, source.outcomes) == ("yaml", {"mapped": 2})
    assert rows == [("naïve: yes",), ("two",)]


def test_a_list_of_known_records_is_read() -> None:
    assert container_of(yaml.safe_dump([EVENT, {**EVENT}]).encode()) == "yaml"


def test_a_document_longer_than_what_is_looked_at_is_known_by_its_beginning() -> None:
    assert container_of(yaml.safe_dump({**EVENT, "zz": ["x" * 70] * 9000}).encode()) == "yaml"


@pytest.mark.parametrize(
    "text",
    [
        "Loading:\n  x: 1\n",
        "name: build\non: [push]\njobs:\n  test:\n    steps: []\n",
        "INFO: started\nWARN: stopped\n",
        "Note: all is well\nand more text\n",
        "- first: a list\n- second: of notes\n",
        "version: 1\nroster: [{name: a}]\nrules: []\n",
        "interactions:\n- request: {body: 'a=1', method: POST}\n  response: {body: {string: 'ok'}}\n",
        "a: &x 1\nb: *x\n",
        "key: 'never closed\n",
        "---\n---\n",
        "just text\n",
    ],
)
def test_other_yaml_and_other_text_is_refused_as_before(text: str) -> None:
    assert container_of(text.encode()) == "text"


def test_bodies_of_a_cassette_are_records() -> None:
    packed = base64.b64encode(gzip.compress(json.dumps(EVENT).encode())).decode()
    bomb = base64.b64encode(gzip.compress(b"[" + b" " * 4_000_000 + b"]")).decode()
    raw = (
        f"interactions:\n- request: {{body: '{json.dumps(EVENT)}'}}\n"
        f"  response: {{body: {{string: !!binary '{packed}'}}}}\n"
        f"- request: {{body: null}}\n  response: {{body: {{string: !!binary '{bomb}'}}}}\n"
        "- request: {body: {a: 1}}\n"
    ).encode()
    assert container_of(raw) == "yaml"
    found = documents(raw, Limits(expand_free=1_000_000))
    told = [(f.place.pointer, f.value if isinstance(f, Record) else f.reason) for f in found]
    assert told == [
        ("/interactions/0/request/body", EVENT),
        ("/interactions/0/response/body/string", EVENT),
        ("/interactions/1/request/body", "an empty body"),
        ("/interactions/1/response/body/string", "a body without JSON"),
        ("/interactions/2/request/body", {"a": 1}),
        ("/interactions/2", "a response that was not recorded"),
    ]


@pytest.mark.real
def test_the_recorded_cassette_is_read(shared: Callable[[str], list[Path]]) -> None:
    with Case() as case:
        [source] = Loader(case).load(shared("samples/obs/datadog_llmobs/*.yaml"))
        events = case.one("SELECT count(*) FROM events WHERE channel <> 'C6'")
    assert source.container == "yaml"
    assert source.dialects == {"datadog-llmobs": 2}
    assert source.outcomes == {"ignored": 1, "mapped": 2}  # a response of `{}`, two spans
    assert events == 2
