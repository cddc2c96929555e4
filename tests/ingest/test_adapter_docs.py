"""Every adapter says how a user gets such a file, which versions were read, and what the order is taken from."""

import runpy
from pathlib import Path
from typing import Any

import pytest

from earwitness.ingest.registry import find_adapters

TOOL = runpy.run_path(str(Path(__file__).parent.parent / "tools" / "docs.py"))


@pytest.mark.parametrize("adapter", find_adapters(), ids=lambda a: a.NAME)
def test_an_adapter_says_where_its_files_come_from(adapter: Any) -> None:
    said = TOOL["notes"](type(adapter).__module__)
    assert all(said), f"its module needs lines for {TOOL['NOTES']}"
    assert not any(label in line for label in TOOL["NOTES"] for line in said)
    assert TOOL["summary"](type(adapter).__module__)
