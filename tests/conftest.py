"""What every test may use, and the import path they run with."""

import sys
from collections.abc import Callable
from pathlib import Path

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
