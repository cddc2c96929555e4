"""Tables of attributes: what they set, what they report, and what is refused."""

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from earwitness.ingest.loader import Loader
from earwitness.ingest.manifest import Applied, apply_manifest, read_manifest
from earwitness.schema.case import Case
from earwitness.schema.errors import InputError

SAID = '{"type":"event","trace":"%s","id":"e%s","channel":"C2","sender":"ada","to":["bo"],"content":"hello %s"}\n'
TRACE = '{"type":"trace","id":"%s","topology":"CW-2","attributes":{"host":"h1"}}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "one.jsonl").write_text(TRACE % "t1" + SAID % ("t1", 1, 1) + SAID % ("t1", 2, 2))
    (tmp_path / "runs" / "two.jsonl").write_text(
        TRACE % "t2" + SAID % ("t2", 1, 3) + TRACE % "t3" + SAID % ("t3", 1, 4)
    )
    return tmp_path


@pytest.fixture
def case(folder: Path) -> Case:
    with Case(folder / "case.duckdb") as case:
        Loader(case).load([folder / "runs"])
        return Case(folder / "case.duckdb")


def setting(case: Case, folder: Path, text: str, name: str = "m.csv") -> Applied:
    (folder / name).write_text(text)
    return apply_manifest(case, read_manifest(folder / name), folder / name)


def row(case: Case, trace: str, *columns: str) -> tuple[object, ...]:
    found: tuple[object, ...] = case.rows(f"SELECT {', '.join(columns)} FROM traces WHERE trace_id = ?", [trace])[0]
    return found


def test_by_trace(case: Case, folder: Path) -> None:
    done = setting(case, folder, "trace,scenario,horizon,note\nt1,S1,5,x\nt2,S2,,y\nt3,S3,20,\n")
    assert done == Applied("traces", 3, 3, (), (), (), ("scenario", "horizon", "note"))
    columns = ("scenario", "horizon", "topology", "attributes")
    told = {t: row(case, t, *columns) for t in ("t1", "t2", "t3")}
    assert {t: r[:3] for t, r in told.items()} == {
        "t1": ("S1", 5, "CW-2"),
        "t2": ("S2", None, "CW-2"),
        "t3": ("S3", 20, "CW-2"),
    }
    assert [json.loads(str(told[t][3])) for t in ("t1", "t2", "t3")] == [
        {"host": "h1", "note": "x"},
        {"host": "h1", "note": "y"},
        {"host": "h1"},
    ]


def test_by_file(case: Case, folder: Path) -> None:
    done = setting(case, folder, "file,arm\none.jsonl,left\n")
    assert (done.found, [n for _, n in done.unnamed]) == (1, [2])
    assert row(case, "t1", "arm") == ("left",)
    assert row(case, "t2", "arm") == (None,)


def test_by_the_whole_name_of_a_file(case: Case, folder: Path) -> None:
    (name,) = [name for (name,) in case.rows("SELECT name FROM sources") if name.endswith("one.jsonl")]
    assert setting(case, folder, f"file,arm\n{name},left\n").found == 1
    with pytest.raises(InputError, match="none of its 1 rows"):
        setting(case, folder, f"file,arm\nelsewhere/{name},left\n")


def test_a_file_of_several_traces_is_told(case: Case, folder: Path) -> None:
    done = setting(case, folder, "file,arm\none.jsonl,left\ntwo.jsonl,right\n")
    assert done.shared == ((2, 2),)
    assert row(case, "t3", "arm") == ("right",)


def test_both_keys_must_fit(case: Case, folder: Path) -> None:
    done = setting(case, folder, "file,trace,arm\ntwo.jsonl,t2,left\none.jsonl,t3,right\n")
    assert (done.found, done.unused) == (1, (2,))
    assert row(case, "t3", "arm") == (None,)


def test_what_names_nothing_is_counted(case: Case, folder: Path) -> None:
    done = setting(case, folder, "trace,arm\nt1,left\nt9,right\nt8,right\n")
    assert (done.unused, sum(n for _, n in done.unnamed)) == ((2, 3), 2)


def test_events(case: Case, folder: Path) -> None:
    done = setting(case, folder, "trace,event,turn,archetype\nt1,e1,1,BASE\nt1,e2,2,G\nt1,e9,3,A\n")
    assert (done.what, done.found, done.unused, sum(n for _, n in done.unnamed)) == ("events", 2, (3,), 2)
    assert case.rows("SELECT event_id, turn, archetype FROM events WHERE turn IS NOT NULL ORDER BY 1") == [
        ("e1", 1, "BASE"),
        ("e2", 2, "G"),
    ]


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_other_kinds_of_file(case: Case, folder: Path, kind: str) -> None:
    path = folder / f"m.{kind}"
    frame = pl.DataFrame({"trace": ["t1", "t2"], "horizon": [3, None], "cost": [0.5, 1.5]})
    frame.write_ndjson(path) if kind == "jsonl" else frame.write_parquet(path)
    assert apply_manifest(case, read_manifest(path), path).found == 2
    assert row(case, "t1", "horizon", "attributes ->> 'cost'") == (3, "0.5")


REFUSED = {
    "no key": ("m.csv", "scenario\nS1\n", "no column `trace` and no column `file`"),
    "key missing": ("m.csv", "trace,arm\nt1,x\n,y\n", "row 2: neither `trace` nor `file`"),
    "key twice": ("m.csv", "trace,arm\nt1,x\nt2,x\nt1,y\n", "rows 1 and 3 name the same run"),
    "not a number": ("m.csv", "trace,horizon\nt1,five\n", "row 1: horizon is no whole number"),
    "below zero": ("m.csv", "trace,horizon\nt1,-1\n", "row 1: horizon is no whole number"),
    "recorded": ("m.csv", "trace,started_at\nt1,2024-01-01\n", "started_at comes from the recording"),
    "suffix": ("m.txt", "trace,arm\nt1,x\n", "ends in .csv, .jsonl or .parquet"),
    "nested": ("m.jsonl", '{"trace":"t1","arm":["x"]}\n', "arm holds lists or objects"),
    "not JSON": ("m.jsonl", "trace,arm\n", "cannot be parsed as jsonl"),
    "events and cells": ("m.csv", "trace,event,arm\nt1,e1,x\n", "put arm into a table without `event`"),
    "no event": ("m.csv", "trace,event,turn\nt1,,1\n", "row 1: no event is given"),
    "event twice": ("m.csv", "trace,event,turn\nt1,e1,1\nt1,e1,2\n", "rows 1 and 2 name the same event"),
}


@pytest.mark.parametrize(("name", "text", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as error:
        read_manifest(tmp_path / name)
    assert message in str(error.value)
    assert str(tmp_path / name) in str(error.value)


def test_two_rows_of_one_trace_are_refused_and_change_nothing(case: Case, folder: Path) -> None:
    with pytest.raises(InputError, match="rows 1 and 2 name the same trace"):
        setting(case, folder, "file,trace,arm\none.jsonl,,x\n,t1,y\n")
    assert row(case, "t1", "arm") == (None,)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_manifest(tmp_path / "none.csv")


def command(*words: object) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "earwitness", *map(str, words)]
    return subprocess.run(line, capture_output=True, text=True, check=False)


def test_command_line(folder: Path) -> None:
    (folder / "m.csv").write_text("file,trace,scenario\none.jsonl,,S1\n,t9,S9\n")
    done = command("import", folder / "runs", "--case", folder / "c.duckdb", "--attributes", folder / "m.csv")
    assert done.returncode == 0
    assert "1 traces set from 2 rows (scenario)" in done.stderr
    assert "1 rows name none of the traces: row 2" in done.stderr
    assert "2 traces are named by no row" in done.stderr
    assert "two.jsonl" in done.stderr
    again = command("audit", "--case", folder / "c.duckdb", "--attributes", folder / "m.csv", "--json")
    assert again.returncode == 0


def test_bad_table_costs_no_import(folder: Path) -> None:
    (folder / "m.csv").write_text("scenario\nS1\n")
    done = command("import", folder / "runs", "--case", folder / "c.duckdb", "--attributes", folder / "m.csv")
    assert done.returncode == 2
    assert f"earwitness: {folder / 'm.csv'}: no column `trace`" in done.stderr
    assert not (folder / "c.duckdb").exists()
