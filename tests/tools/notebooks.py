"""Makes the notebooks: runs each source in `notebooks/src` and keeps it, with what came out, as `notebooks/NAME.ipynb`.

    python tests/tools/notebooks.py [--check] [--out FOLDER] [NAME...]

A source is Python in the percent format: `# %%` begins a cell of code, `# %% [markdown]` one of prose. `--check` writes
nothing and tells where a kept notebook differs from what comes out now: text letter by letter, images by being there.
Of a cell with the comment `# approximate` only the first line of its text is compared.
"""

import argparse
import base64
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path
from typing import Any, NamedTuple

import nbformat as untyped
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

# nbformat has no types.
nbformat: Any = untyped
ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "notebooks"
SOURCES = FOLDER / "src"
# A fixed key keeps the fingerprints alike from run to run; the corpora are invented or public.
KEY = "notebooks"
_CELL = re.compile(r"^# %%(?P<kind> \[markdown\])?[^\n]*\n", re.MULTILINE)
_SMALLEST_PNG = 5_000
_KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
# What differs between two runs of the same code: paths, and how long it took.
_CHANGING = (
    (re.compile(re.escape(str(ROOT.parent))), "..."),
    (re.compile(r"/tmp/[\w./-]+"), "/tmp/..."),
    (re.compile(r"\d+\.\d+ s(econds)?\b"), "# s"),
)


class Output(NamedTuple):
    """What a cell gave: its text, and the images it drew."""

    text: str
    images: tuple[bytes, ...]


def needs(name: str) -> list[str]:
    """What of the public corpora a notebook reads: patterns below the folder beside the repository."""
    text = (SOURCES / f"{name}.py").read_text(encoding="utf-8")
    return re.findall(r"^# needs: (.+)$", text, re.MULTILINE)


def names() -> list[str]:
    """All notebooks, by number."""
    return sorted(p.stem for p in SOURCES.glob("[0-9]*.py"))


def read_source(name: str) -> Any:
    """A source as a notebook without outputs."""
    text = (SOURCES / f"{name}.py").read_text(encoding="utf-8")
    marks = list(_CELL.finditer(text))
    ends = [m.start() for m in marks[1:]] + [len(text)]
    spans = enumerate(zip(marks, ends, strict=True))
    cells = [_cell(bool(m["kind"]), text[m.end() : end].strip("\n"), n) for n, (m, end) in spans]
    book = nbformat.v4.new_notebook(cells=cells, metadata=_KERNEL)
    nbformat.validate(book)
    return book


def _cell(prose: bool, text: str, number: int) -> Any:
    if prose:
        text = re.sub(r"^# ?", "", text, flags=re.MULTILINE)
    made = (nbformat.v4.new_markdown_cell if prose else nbformat.v4.new_code_cell)(text)
    made["id"] = f"cell-{number}"
    return made


def run(name: str) -> Any:
    """The notebook with what comes out of it now, run where it lies; it writes nothing there."""
    book = read_source(name)
    with tempfile.TemporaryDirectory(prefix="earwitness-") as folder:
        env = os.environ | {"EARWITNESS_KEY": KEY, "NO_COLOR": "1", "COLUMNS": "100"}
        client = NotebookClient(book, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(FOLDER)}})
        manager = client.create_kernel_manager()
        if os.name == "posix":
            # Over files, not over a port of this machine.
            manager.transport, manager.ip = "ipc", f"{folder}/kernel"
        client.execute(env=env)
    for cell in book.cells:
        cell["metadata"] = {}
        _tidy(cell)
    book["metadata"] = _KERNEL
    return book


def _tidy(cell: Any) -> None:
    """Keep nothing that says where or when it was run."""
    for output in cell.get("outputs", []):
        for kind, text in _texts(output):
            _put(output, kind, _steady(text))


def _texts(output: Any) -> Iterator[tuple[str, str]]:
    if output["output_type"] == "stream":
        yield "text", output["text"]
    else:
        yield from ((k, v) for k, v in output.get("data", {}).items() if k.startswith("text/") and isinstance(v, str))


def _put(output: Any, kind: str, text: str) -> None:
    if output["output_type"] == "stream":
        output["text"] = text
    else:
        output["data"][kind] = text


def _steady(text: str) -> str:
    for pattern, instead in _CHANGING:
        text = pattern.sub(instead, text)
    return text


def outputs(book: Any) -> list[Output]:
    """What each cell of code gave."""
    return [_output(cell) for cell in book.cells if cell["cell_type"] == "code"]


def _output(cell: Any) -> Output:
    text = "".join(t for o in cell["outputs"] for kind, t in _texts(o) if kind in ("text", "text/plain"))
    images = (o["data"]["image/png"] for o in cell["outputs"] if "image/png" in o.get("data", {}))
    if re.search(r"^# approximate\b", cell["source"], re.MULTILINE):
        text = text.partition("\n")[0]
    return Output(_steady(text), tuple(map(base64.b64decode, images)))


def blank(image: bytes) -> bool:
    """Whether nothing is drawn on a PNG."""
    return not image.startswith(b"\x89PNG") or len(image) < _SMALLEST_PNG


def differences(name: str, kept: Any, made: Any) -> list[str]:
    """Where a kept notebook is not what its source gives now."""
    told = []
    for n, (a, b) in enumerate(zip(kept.cells, made.cells, strict=False)):
        if (a["cell_type"], a["source"]) != (b["cell_type"], b["source"]):
            told.append(f"{name} cell {n}: the source was changed")
    if len(kept.cells) != len(made.cells):
        told.append(f"{name}: {len(kept.cells)} cells are kept, the source has {len(made.cells)}")
    for n, (old, new) in enumerate(zip(outputs(kept), outputs(made), strict=False)):
        if old.text != new.text:
            told += [f"{name} cell of code {n}: text differs", *_lines(old.text, new.text)]
        if len(old.images) != len(new.images) or any(map(blank, (*old.images, *new.images))):
            told.append(f"{name} cell of code {n}: an image is missing or blank")
    return told


def _lines(old: str, new: str) -> list[str]:
    return list(unified_diff(old.splitlines(), new.splitlines(), "kept", "now", lineterm="", n=1))[:30]


def read(name: str, folder: Path = FOLDER) -> Any:
    """A kept notebook."""
    return nbformat.read(folder / f"{name}.ipynb", as_version=4)


def main() -> int:
    """Run what is asked for; 1 where a check fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", metavar="NAME", help="such as 01; all by default")
    parser.add_argument("--check", action="store_true", help="write nothing, tell what differs")
    asked = parser.parse_args()
    told: list[str] = []
    for name in [n for n in names() if not asked.names or any(n.startswith(a) for a in asked.names)]:
        started = time.monotonic()
        try:
            made = run(name)
        except CellExecutionError as error:
            told.append(f"{name}: {error.ename}: {error.evalue}")
            continue
        if asked.check:
            told += differences(name, read(name), made)
        else:
            nbformat.write(made, FOLDER / f"{name}.ipynb")
        print(f"{name}: {time.monotonic() - started:.1f} s")
    sys.stderr.write("".join(f"{line}\n" for line in told))
    return bool(told)


if __name__ == "__main__":
    sys.exit(main())
