"""One JSON value of any size: an export with all its spans in one list. `python bench/values.py NAME MB [--one]`.

Prints seconds, CPU seconds and peak memory of the import of such a file. Contents are those of `formats.py`.
"""

import argparse
import json
import tempfile
from itertools import count
from pathlib import Path
from typing import Any

import copies
import formats
from measure import imported
from rich.console import Console

# Where the list stands.
LISTS: dict[str, tuple[str, ...]] = {
    "jaeger": ("spans",),
    "langfuse-trace": ("observations",),
    "mlflow-trace": ("data", "spans"),
    "otlp-spans": ("resourceSpans",),
}
_MARK = "@elements@"


def write(path: Path, adapter: str, size: float, indent: int | None = None, *, one: bool = False) -> int:
    """Copies of the elements of a sample in one list, `size` bytes of them, of one trace or many; gives how many."""
    sample = formats.sample_of(adapter)
    prepared = copies.prepare(sample, one=one, grow=formats.GOLDEN in sample.parents)
    first = json.loads(prepared.copy(0).splitlines()[0])
    owner, keys = first, LISTS[adapter]
    for key in keys[:-1]:
        owner = owner[key]
    owner[keys[-1]] = [_MARK]
    head, tail = json.dumps(first, indent=indent).split(json.dumps(_MARK))
    written = 0
    with path.open("w", encoding="utf-8", errors="surrogateescape") as out:
        out.write(head)
        for number in count():
            for row in (row for line in prepared.copy(number).splitlines() for row in _rows(json.loads(line), keys)):
                out.write(("," if written else "") + json.dumps(row, indent=indent))
                written += 1
            if out.tell() >= size:
                break
        out.write(tail)
    return written


def _rows(value: Any, keys: tuple[str, ...]) -> Any:
    for key in keys:
        value = value[key]
    return value


def main() -> None:
    """Measure one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("name", choices=LISTS)
    parser.add_argument("megabytes", type=float)
    parser.add_argument("--indent", action="store_true", help="over several lines")
    parser.add_argument("--one", action="store_true", help="one trace")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="earwitness-bench-") as name:
        path = Path(name) / "value.json"
        elements = write(path, asked.name, asked.megabytes * 1e6, 1 if asked.indent else None, one=asked.one)
        found = imported(path, Path(name))
        size = path.stat().st_size / 1e6
    Console(width=150).print(
        f"{asked.name}: {size:.0f} MB, {elements:,} elements, {found.seconds:.1f} s, {found.cpu:.1f} s of CPU, "
        f"peak {found.peak:.0f} MB, {found.outcomes}, {found.dialects}"
    )


if __name__ == "__main__":
    main()
