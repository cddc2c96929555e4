"""Hostile inputs: a clear outcome for each, nothing lost, nothing thrown."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from earwitness.ingest.limits import Limits
from earwitness.ingest.loader import Loader
from earwitness.ingest.record import Source
from earwitness.schema.case import Case

Load = Callable[..., tuple[list[Source], Case]]
SMALL = Limits(block=1 << 12, line=1 << 17)


@pytest.fixture
def load(tmp_path: Path) -> Any:
    """Imports bytes as a file; checks conservation in every source."""
    case = Case()

    def _load(data: bytes, limits: Limits = SMALL, name: str = "in.jsonl") -> tuple[list[Source], Case]:
        path = tmp_path / name
        path.write_bytes(data)
        sources = Loader(case, limits).load([path])
        for source in sources:
            assert sum(source.outcomes.values()) == source.records
        assert case.count("records") == sum(
            n for s in sources for outcome, n in s.outcomes.items() if outcome != "mapped"
        )
        return sources, case

    yield _load
    case.close()


def event(content: str = "hi", **more: object) -> bytes:
    return json.dumps({"type": "event", "trace": "t", "channel": "C2", "content": content, **more}).encode()


def raw(tail: bytes) -> bytes:
    return b'{"type":"event","trace":"t","channel":"C2",' + tail + b"}"


GOOD = event()
PRETTY = json.dumps(json.loads(GOOD), indent=2).encode()
DEEP = b"[" * 100_000

# name, bytes, mapped records, other outcomes
TEXTS: list[tuple[str, bytes, int, dict[str, int]]] = [
    ("empty", b"", 0, {}),
    ("blank", b" \r\n\t\n", 0, {}),
    ("cut in the middle", GOOD + b"\n" + GOOD[:20] + b"\n" + GOOD, 2, {"unparseable": 1}),
    ("cut at the end", GOOD + b"\n" + GOOD[:20], 1, {"unparseable": 1}),
    ("first line cut", GOOD[:20] + b"\n" + GOOD + b"\n" + GOOD, 2, {"unparseable": 1}),
    ("pretty, cut", PRETTY[:-9], 0, {"unparseable": 1}),
    ("pretty, one cut of three", PRETTY + b"\n" + PRETTY[:50] + b"\n" + PRETTY, 2, {"unparseable": 1}),
    ("pretty with prints", b"start\n" + PRETTY + b"\n>> 3 done\n" + PRETTY + b"\nbye", 2, {"unparseable": 3}),
    ("lines with prints", b"start\n" + GOOD + b"\nstep\n" + GOOD, 2, {"unparseable": 2}),
    ("lines with a log", b"[INFO] start\n" + GOOD + b"\n[INFO] step\n" + GOOD, 2, {"unparseable": 2}),
    ("blank lines", b"\n\n" + GOOD + b"\n\n \n" + GOOD + b"\n\n", 2, {}),
    ("windows line ends", GOOD + b"\r\n" + GOOD + b"\r\n", 2, {}),
    ("no line end", GOOD + b"\n" + GOOD, 2, {}),
    ("byte order mark", b"\xef\xbb\xbf" + GOOD + b"\n" + GOOD, 2, {}),
    ("utf-16", (GOOD + b"\n" + GOOD).decode().encode("utf-16"), 2, {}),
    ("utf-32, pretty", PRETTY.decode().encode("utf-32"), 1, {}),
    ("mixed formats", GOOD + b'\n{"what":1}\n[1]\n7\n' + GOOD, 2, {"unknown": 3}),
    ("array", b"[" + GOOD + b",\n" + GOOD + b"]", 2, {}),
    ("array of lines", b"[\n" + GOOD + b",\n" + GOOD + b"\n]\n", 2, {}),
    ("array, then array", b"[" + GOOD + b"]\n[" + GOOD + b"]", 2, {}),
    ("array not closed", b"[\n" + GOOD + b",\n" + GOOD + b"\n", 2, {"unparseable": 1}),
    ("array with a bad element", b"[\n  " + GOOD + b',\n  {"a" 1},\n  ' + GOOD + b"\n]", 2, {"unparseable": 1}),
    ("empty array", b"[]", 0, {}),
    ("two on a line", GOOD + GOOD, 2, {}),
    ("deep line", GOOD + b"\n" + DEEP + b"\n" + GOOD, 2, {"unparseable": 1}),
    ("deep file", DEEP, 0, {"unparseable": 2}),
    (
        "deep field",
        raw(b'"content":"x","attributes":{"a":' + b"[" * 50_000 + b"]" * 50_000 + b"}"),
        0,
        {"unparseable": 1},
    ),
    ("deep content", raw(b'"content":' + b"[" * 900 + b"]" * 900), 1, {}),
    ("line too long", GOOD + b"\n" + event("x" * 140_000) + b"\n" + GOOD, 2, {"oversized": 1}),
    ("last line too long", GOOD + b"\n" + event("x" * 140_000), 1, {"oversized": 1}),
    ("value too long", b"[\n" + GOOD + b",\n" + event("x" * 140_000) + b",\n" + GOOD + b"]", 2, {"oversized": 1}),
    ("key twice, line", raw(b'"content":"a","content":"b"') + b"\n" + GOOD, 1, {"unparseable": 1}),
    ("key twice, nested", raw(b'"content":"a","attributes":{"k":1,"k":2}') + b"\n" + GOOD, 1, {"unparseable": 1}),
    ("key twice, spaced", raw(b'"content" :"a","content"\t: "b"') + b"\n" + GOOD, 1, {"unparseable": 1}),
    (
        "key twice, hidden",
        raw(b'"content":"a","attributes":{"b\\\\":1,"b\\\\":2}') + b"\n" + GOOD,
        1,
        {"unparseable": 1},
    ),
    ("key twice, pretty", b'{\n"type":"event",\n"type":"event"}\n' + PRETTY, 1, {"unparseable": 1}),
    ("key twice, first of a file", b'{"a":{"k":1,"k":2},\n"b":[\n1]}', 0, {"unparseable": 1}),
    ("parquet", b"PAR1" + bytes(40), 0, {"unparseable": 1}),
    ("sqlite", b"SQLite format 3\x00" + bytes(40), 0, {"unparseable": 1}),
    ("prose", b"Dear all,\n[see below] it works.\n", 0, {"unsupported": 1}),
    ("binary", bytes(range(256)) * 9, 0, {"unsupported": 1}),
    ("zeroes after a crash", GOOD + b"\n" + GOOD + b"\n" + bytes(500), 2, {"unparseable": 1}),
    ("zeroes only", bytes(500), 0, {"unsupported": 1}),
]


@pytest.mark.parametrize(("data", "mapped", "others"), [c[1:] for c in TEXTS], ids=[c[0] for c in TEXTS])
def test_outcome(load: Load, data: bytes, mapped: int, others: dict[str, int]) -> None:
    sources, case = load(data)
    found = {k: n for k, n in sources[0].outcomes.items() if n}
    assert found == {**({"mapped": mapped} if mapped else {}), **others}
    assert case.count("events") == mapped
    assert all(reason for (reason,) in case.rows("SELECT reason FROM records"))


@pytest.mark.parametrize(
    ("name", "said"), [("parquet", "Parquet"), ("sqlite", "SQLite"), ("key twice, line", "repeats a key")]
)
def test_reason(load: Load, name: str, said: str) -> None:
    _, case = load(next(c[1] for c in TEXTS if c[0] == name))
    assert said in str(case.one("SELECT reason FROM records"))


CHARACTERS: list[tuple[str, bytes, str, bool]] = [
    ("lone surrogate", rb'"a\ud800b"', r"a\ud800b", True),
    ("pair", rb'"\ud83d\ude00"', "\U0001f600", False),
    ("invalid utf-8", b'"a\xffb"', r"a\udcffb", True),
    ("utf-8 cut off", b'"a\xe2\x82"', r"a\udce2\udc82", True),
    ("nul, escaped", rb'"a\u0000b"', "a\x00b", False),
    ("nul, raw", b'"a\x00b"', "a\x00b", False),
    ("tab, raw", b'"a\tb"', "a\tb", False),
    ("nan", b"NaN", "NaN", False),
    ("infinity inside", b"[-Infinity,1]", '["-Infinity",1]', False),
    ("beyond float", b"[1e999]", '["1e999"]', False),
    ("30 digits", b"1" + b"0" * 29, "1" + "0" * 29, False),
    ("starts with a colon", b'":-)"', ":-)", False),
]


@pytest.mark.parametrize("before", [b"", GOOD + b"\n", b"[\n"], ids=["alone", "in lines", "in an array"])
@pytest.mark.parametrize(("given", "kept", "escaped"), [c[1:] for c in CHARACTERS], ids=[c[0] for c in CHARACTERS])
def test_text_is_kept(load: Load, before: bytes, given: bytes, kept: str, escaped: bool) -> None:
    line = raw(b'"id":"odd","content":' + given)
    _, case = load(before + line + (b"]" if before.startswith(b"[") else b""))
    found = case.rows("SELECT text, flags FROM events JOIN contents USING (content) WHERE event_id = 'odd'")
    assert found == [(kept, ["escaped"] if escaped else None)]


NUMBERS = {"2^31": 2**31, "2^63": 2**63, "2^64": 2**64, "-2^63-1": -(2**63) - 1, "30 digits": 10**29}
FIELDS: list[tuple[str, bytes]] = [
    ("seq", raw(b'"content":"x","seq":%s')),
    ("turn", raw(b'"content":"x","turn":%s')),
    ("time", raw(b'"content":"x","time":%s')),
    ("attributes", raw(b'"content":"x","attributes":{"n":%s}')),
    ("sighting", b'{"type":"sighting","trace":"t","content":"x","seq":%s}'),
    ("sighting time", b'{"type":"sighting","trace":"t","content":"x","time":%s}'),
    ("horizon", b'{"type":"trace","id":"t","horizon":%s}'),
    ("started", b'{"type":"trace","id":"t","started_at":%s}'),
    ("loss", b'{"type":"loss","trace":"t","kind":"dropped","n":%s}'),
    ("value", b'{"type":"value","attribute":"a","value":%s}'),
]


@pytest.mark.parametrize(
    "number", [*NUMBERS.values(), "9" * 5000, "NaN", "1e999"], ids=[*NUMBERS, "5000", "nan", "1e999"]
)
@pytest.mark.parametrize("field", [f[1] for f in FIELDS], ids=[f[0] for f in FIELDS])
def test_numbers_beyond_the_columns(load: Load, field: bytes, number: object) -> None:
    line = field.replace(b"%s", str(number).encode())
    sources, case = load(GOOD + b"\n" + line + b"\n" + GOOD)
    assert sources[0].records == 3
    assert sources[0].outcomes["mapped"] in (2, 3)
    assert case.one("SELECT count(*) FROM events WHERE line IN (1, 3)") == 2


def test_a_time_that_is_none_is_kept_as_written(load: Load) -> None:
    _, case = load(event(time=10**29) + b"\n" + event(time="yesterday") + b"\n" + event(time=1))
    rows = case.rows("SELECT time IS NULL, attributes FROM events ORDER BY event")
    assert rows == [(True, f'{{"time":{10**29}}}'), (True, '{"time":"yesterday"}'), (False, None)]


def test_place_of_what_was_lost(load: Load) -> None:
    data = b"\xef\xbb\xbf" + GOOD + b"\n\n" + GOOD[:9] + b"\n" + GOOD
    _, case = load(data)
    ((line, offset, length),) = case.rows('SELECT line, "offset", length FROM records')
    assert (line, data[offset : offset + length]) == (3, GOOD[:9])


_BIG = """
import resource, sys
from pathlib import Path
from earwitness.ingest.loader import Loader
from earwitness.schema.case import Case

folder = Path(sys.argv[1])
with Case(folder / "big.duckdb") as case:
    sources = Loader(case).load([folder / sys.argv[2]])
    size = case.one("SELECT max(length(text)) FROM contents")
    print(sources[0].outcomes["mapped"], size, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


@pytest.mark.parametrize("name", ["line", "pretty"])
def test_100_megabytes_in_one_record(tmp_path: Path, name: str) -> None:
    size = 100_000_000
    before, after = (GOOD + b"\n", b"}\n" + GOOD) if name == "line" else (b"", b"\n}")
    head = raw(b'"content":"')[:-1].replace(b'"content"', b'\n"content"' if name == "pretty" else b'"content"')
    (tmp_path / name).write_bytes(before + head + b"lorem ip" * (size // 8) + b'"' + after)
    command = [sys.executable, "-c", _BIG, str(tmp_path), name]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    mapped, length, peak = map(int, done.stdout.split())
    assert (mapped, length) == (3 if name == "line" else 1, size)
    assert peak < 1500
