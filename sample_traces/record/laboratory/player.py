"""Plays the runs of a list, one after the other, and writes recordings and truth."""

import io
import json
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

from record.laboratory.jobs import Job
from record.laboratory.truth import Truth

Record = Callable[[Job], tuple[bytes, Truth]]


def play_files(record: Record) -> None:
    """Play the jobs of a JSON file, `sys.argv[1]`, each into a file of its own in an archive, `sys.argv[2]`."""
    with tarfile.open(_part(), mode="w") as archive:

        def keep(name: str, data: bytes) -> None:
            member = tarfile.TarInfo(f"{name}.jsonl")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))

        truth = _play(record, keep)
    _finish(truth)


def play_lines(record: Record) -> None:
    """The same into one file, `sys.argv[2]`, where the framework's own lines say which run they are of."""
    with _part().open("wb") as file:
        truth = _play(record, lambda _, data: file.write(data))
    _finish(truth)


def _play(record: Record, keep: Callable[[str, bytes], object]) -> list[str]:
    rows = []
    for row in json.loads(Path(sys.argv[1]).read_text()):
        data, truth = record(Job(**row))
        keep(truth.trace, data)
        rows += [json.dumps(told) for told in truth.rows()]
    return rows


def _part() -> Path:
    out = Path(sys.argv[2])
    return out.with_name(f"{out.name}.part")


def _finish(truth: list[str]) -> None:
    """The truth is put beside the recordings, and these get their name."""
    out = Path(sys.argv[2])
    out.with_suffix(".truth.jsonl").write_text("\n".join(truth) + "\n")
    _part().rename(out)
