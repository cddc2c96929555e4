"""Each value is produced as often as it was, whatever the recording repeats: figures against what happened in the runs.

`--update` writes the tables of `tests/golden/produced`; a figure that differs from `truth.yaml` needs a reason there.
"""

import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

TOOL = runpy.run_path(str(Path(__file__).parent.parent / "tools" / "produced.py"))
STORED = TOOL["stored"]()


def test_every_table_has_rows() -> None:
    assert {row["file"].partition("/")[0] for row in STORED} == {p.stem for p in TOOL["FOLDER"].glob("*.csv")}


@pytest.mark.parametrize("row", STORED, ids=lambda row: f"{row['file']}-{row['value']}")
def test_figures_are_what_happened_or_have_a_reason(row: dict[str, str]) -> None:
    run = TOOL["run_of"](row)
    assert run, "no run of truth.yaml has this file"
    other = TOOL["deviation"](row, run)
    assert TOOL["channels"](row) == (other or run)["produced"]
    assert other is None or (other["why"] and other["produced"] != run["produced"])


def test_every_reason_is_needed() -> None:
    """A deviation that is mended leaves the list."""
    used = {id(d) for row in STORED if (d := TOOL["deviation"](row, TOOL["run_of"](row)))}
    listed = [d for run in TOOL["truth"]() for d in run.get("but", ())]
    assert [d["files"] for d in listed if id(d) not in used] == []


@pytest.mark.real
def test_tables_hold_what_is_measured(shared: Callable[[str], list[Path]], *, update: bool) -> None:
    shared("samples/*")
    measured = TOOL["beside"]()
    if update:
        for folder, rows in measured.items():
            TOOL["store"](folder, rows)
    assert [row for folder in sorted(measured) for row in measured[folder]] == TOOL["stored"]()
