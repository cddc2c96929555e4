"""What every test may use, and the import path they run with."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# How long one example takes depends on what else the machine does: speed is measured in bench/, not here.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")

ROOT = Path(__file__).parent.parent
# `python -m pytest` puts the root on the path; its links `schema`, `ingest`, ... would shadow packages of those names.
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != ROOT.resolve()]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="write what comes out as the expected golden files")


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be written."""
    return bool(request.config.getoption("--update"))


@pytest.fixture
def tables() -> Callable[..., dict[str, list[tuple[Any, ...]]]]:
    """The rows of the tables of a case after an import by so many processes, but for those that say when it was."""

    def read(*paths: Path, jobs: int = 1) -> dict[str, list[tuple[Any, ...]]]:
        from earwitness.ingest.loader import Loader
        from earwitness.schema.case import Case

        with Case() as case:
            Loader(case, jobs=jobs).load(list(paths))
            names = [n for (n,) in case.rows("SELECT table_name FROM duckdb_tables() ORDER BY 1")]
            return {n: case.rows(f"SELECT * FROM {n} ORDER BY ALL") for n in names if n not in ("meta", "runs")}

    return read


@pytest.fixture(scope="session")
def shared() -> Callable[[str], list[Path]]:
    """The files of the public corpora that a pattern names; skips where the corpora are absent."""

    def find(pattern: str) -> list[Path]:
        base = ROOT.parent / "shared"
        found = sorted(base.glob(pattern)) if base.is_dir() else []
        if not found:
            pytest.skip(f"no corpora beside the repository: shared/{pattern}")
        return found

    return find
