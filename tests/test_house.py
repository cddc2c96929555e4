"""The house rules that tools do not check: layout, sizes, names, and that the built wheel works."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src" / "earwitness").rglob("*.py"))
ROOMS = ("schema", "ingest", "graph", "audit", "reports")


def test_the_bare_name_belongs_to_others() -> None:
    """PyPI's `schema` must not be shadowed by the link of that name in the root."""
    import schema  # noqa: TID251

    assert hasattr(schema, "Schema")


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_stand_in_the_root(room: str) -> None:
    link = ROOT / room
    if not link.is_symlink():
        pytest.skip("this checkout has no symbolic links")
    assert link.resolve() == ROOT / "src" / "earwitness" / room


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT / "src")))
def test_files_are_small_and_say_what_they_are(path: Path) -> None:
    text = path.read_text()
    assert ast.get_docstring(ast.parse(text)), "a module says in its first line what it is"
    assert len(text.splitlines()) <= 400


def test_functions_are_short() -> None:
    lengths = [
        node.end_lineno - node.lineno + 1
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno
    ]
    lengths.sort()
    assert lengths[len(lengths) // 2] <= 10
    assert lengths[len(lengths) * 95 // 100] <= 40


def test_starting_loads_nothing_heavy() -> None:
    heavy = ("duckdb", "polars", "pyarrow", "rich", "numpy")
    code = f"import sys, earwitness.cli; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.wheel
def test_wheel_works_in_a_clean_environment(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    constraints = ["--constraint", str(ROOT / "constraints.txt")]
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", *constraints, str(wheel)], check=True)
    command = [str(tmp_path / "venv" / "bin" / "earwitness"), "demo", "-o", str(tmp_path / "out")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "report.html").is_file()
