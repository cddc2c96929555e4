"""Conservation and totals over every file beside the repository. `--update` writes tests/golden/real/totals.csv."""

import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

TOOL = runpy.run_path(str(Path(__file__).parent.parent / "tools" / "real.py"))
FOLDERS = [row["folder"] for row in TOOL["read"]("corpora.csv")]


def test_every_corpus_has_a_licence_a_source_and_totals() -> None:
    corpora = TOOL["read"]("corpora.csv")
    assert all(row["licence"] and row["source"] for row in corpora)
    assert [row["folder"] for row in TOOL["read"]("totals.csv")] == FOLDERS


@pytest.mark.real
def test_no_folder_is_left_out(shared: Callable[[str], list[Path]]) -> None:
    found = {f"{p.parent.name}/{p.name}" for kind in ("data", "samples") for p in shared(f"{kind}/*") if p.is_dir()}
    assert found - {"samples/how_recorded"} == set(FOLDERS)


@pytest.mark.real
def test_every_record_of_every_file_has_an_outcome(shared: Callable[[str], list[Path]], *, update: bool) -> None:
    rows = []
    for folder in FOLDERS:
        shared(f"{folder}/*")
        sources, row = TOOL["measure"](folder)
        rows.append(row)
        for source in sources:
            assert sum(source.outcomes.values()) == source.records, source.name
            assert all(n >= 0 for n in source.outcomes.values()), source.name
            assert source.problem is None or source.outcomes == {"unsupported": 1, "mapped": 0}, source.name
    if update:
        TOOL["write"]("totals.csv", TOOL["HEAD"], [row.values() for row in rows])
    assert rows == TOOL["read"]("totals.csv")
