"""The committed corpus of the laboratory, imported once."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import plain
import pytest

from earwitness.audit.pipeline import audit, read_request
from earwitness.audit.rulesets import RULE_SETS
from earwitness.ingest.loader import Loader
from earwitness.ingest.manifest import apply_manifest, read_manifest
from earwitness.schema.case import Case


@pytest.fixture(scope="session")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A case with both recordings and both tables of attributes."""
    path = tmp_path_factory.mktemp("lab") / "lab.duckdb"
    with Case(path) as case:
        Loader(case).load([plain.LAB / "langgraph.tar.zst", plain.LAB / "autogen.jsonl.zst"])
        for name in ("manifest.csv", "turns.parquet"):
            apply_manifest(case, read_manifest(plain.LAB / name), plain.LAB / name)
    return path


@pytest.fixture(scope="session")
def literal(imported: Path) -> Iterator[Case]:
    """The case as the published rule judges it."""
    yield from _audited(imported, "literal")


@pytest.fixture(scope="session")
def default(imported: Path) -> Iterator[Case]:
    """The case as this program judges it."""
    yield from _audited(imported, "default")


def _audited(imported: Path, rules: str) -> Iterator[Case]:
    path = imported.with_name(f"{rules}.duckdb")
    shutil.copy(imported, path)
    with Case(path, create=False) as case:
        audit(case, read_request(plain.LAB / "policy.yaml", None, RULE_SETS[rules]))
        yield case


@pytest.fixture(scope="session")
def runs() -> list[plain.Run]:
    """The runs as the script knows them."""
    return plain.runs()
