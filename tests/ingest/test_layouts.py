"""Containers that hold tables or text: Parquet, SQLite, server-sent events, log lines, and what is refused."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from earwitness.ingest.layouts import READERS, recognise
from earwitness.ingest.limits import DEFAULT_LIMITS
from earwitness.ingest.loader import Loader
from earwitness.ingest.record import Record
from earwitness.ingest.stream import CountingStream
from earwitness.schema.case import Case

EVENT = {"type": "event", "trace": "t", "channel": "C2", "content": "naïve"}


def read(path: Path) -> tuple[str, list[Any]]:
    """The container of a file and the values of its records."""
    with path.open("rb") as file:
        container = recognise(CountingStream(file))
        if container.reason:
            return container.name, [container.reason]
        found = READERS[container.name](container, DEFAULT_LIMITS)
        return container.name, [f.value if isinstance(f, Record) else f for f in found]


def test_parquet_rows(tmp_path: Path) -> None:
    pl.DataFrame([{"a": 1, "b": {"c": "x"}}, {"a": 2, "b": None}]).write_parquet(tmp_path / "x.parquet")
    assert read(tmp_path / "x.parquet") == ("parquet", [{"a": 1, "b": {"c": "x"}}, {"a": 2, "b": None}])


def test_sqlite_rows(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "x.db") as db:
        db.execute('CREATE TABLE "odd ""name" (id INTEGER PRIMARY KEY, text TEXT, raw BLOB)')
        db.execute('INSERT INTO "odd ""name" VALUES (1, ?, ?)', ("naïve", b"\xff"))
        db.execute("CREATE TABLE empty (a)")
    db.close()
    assert read(tmp_path / "x.db") == ("sqlite", [{"_table": 'odd "name', "id": 1, "text": "naïve", "raw": b"\xff"}])


def test_server_sent_events(tmp_path: Path) -> None:
    text = ': hello\nevent: values\ndata: {"a": 1}\n\ndata: {"a": 2}\ndata: not json\n\nevent: end\nid: 7\n'
    (tmp_path / "x.txt").write_text(text)
    assert read(tmp_path / "x.txt") == (
        "event-stream",
        [
            {"id": None, "event": "values", "data": {"a": 1}},
            {"id": None, "event": None, "data": {"a": 2}},
            {"id": None, "event": None, "data": "not json"},
            {"id": "7", "event": "end", "data": None},
        ],
    )


def test_log_lines_with_json_behind_a_prefix(tmp_path: Path) -> None:
    (tmp_path / "x.log").write_text(
        '2026-01-01T00:00:00Z [info] message: {"a": {"b": 1}}\r\nplain {words} only\nx {"c": 2}\n'
    )
    assert read(tmp_path / "x.log") == ("log", [{"a": {"b": 1}}, {"_line": "plain {words} only"}, {"c": 2}])


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-29 20:27:19: started\n",
        "12\n13\n",
        "def f():\n    return {}\n",
        "null\n",
        "event happened\n",
        "id,name\n1,x\n",
    ],
)
def test_other_text_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.txt").write_text(text)
    name, found = read(tmp_path / "x.txt")
    assert name == "text"
    assert "looked for" in found[0]


def test_lines_that_are_batches(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(f"{json.dumps([EVENT, EVENT])}\n{json.dumps([EVENT])}\n[1, 2]\n")
    with Case() as case:
        (source,) = Loader(case).load([tmp_path / "x.jsonl"])
        assert source.outcomes == {"mapped": 3, "unknown": 1}
        assert case.rows("SELECT line, pointer FROM events ORDER BY event") == [(1, "/0"), (1, "/1"), (2, "/0")]
