"""Golden pairs of every adapter: `tests/golden/ingest/<adapter>/<case>.in.*` and `<case>.expected.jsonl`.

`pytest --update` writes the expected files; read the diff.
"""

import io
from pathlib import Path

import msgspec
import pytest

from earwitness.ingest.loader import Loader
from earwitness.ingest.record import Source
from earwitness.ingest.registry import find_adapters
from earwitness.reports.canonical import export
from earwitness.schema.case import Case

GOLDEN = Path(__file__).parent.parent / "golden" / "ingest"
CASES = sorted(GOLDEN.glob("*/*.in.*"))


def load(path: Path) -> tuple[bytes, list[Source], list[tuple[object, ...]]]:
    """The canonical export of a file, its sources, and the records that were not mapped."""
    with Case() as case:
        sources = Loader(case).load([path])
        out = io.BytesIO()
        export(case, out)
        skipped = case.rows("SELECT line, pointer, outcome, reason FROM records ORDER BY ALL")
    return out.getvalue(), sources, skipped


def outcome_lines(sources: list[Source], skipped: list[tuple[object, ...]]) -> bytes:
    """What an import says of its records, as comment lines before the items."""
    counts = [{"records": s.records, "outcomes": s.outcomes, "dialects": s.dialects} for s in sources]
    rows = [dict(zip(("line", "pointer", "outcome", "reason"), row, strict=True)) for row in skipped]
    return b"".join(b"# " + msgspec.json.encode(row, order="sorted") + b"\n" for row in [*counts, *rows])


@pytest.mark.parametrize("path", CASES, ids=lambda p: f"{p.parent.name}/{p.name.split('.')[0]}")
def test_import_gives_the_expected_items(path: Path, *, update: bool) -> None:
    exported, sources, skipped = load(path)
    got = outcome_lines(sources, skipped) + exported
    expected = path.with_name(path.name.split(".in.")[0] + ".expected.jsonl")
    if update:
        expected.write_bytes(got)
    assert got.decode().splitlines() == expected.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("path", CASES, ids=lambda p: f"{p.parent.name}/{p.name.split('.')[0]}")
def test_every_record_is_accounted_for_and_read_by_its_adapter(path: Path) -> None:
    _, sources, _ = load(path)
    for source in sources:
        assert sum(source.outcomes.values()) == source.records > 0
        assert path.parent.name in source.dialects


@pytest.mark.parametrize("adapter", find_adapters(), ids=lambda a: a.NAME)
def test_every_adapter_has_a_sample(adapter: object) -> None:
    assert list((GOLDEN / adapter.NAME).glob("*.in.*"))  # type: ignore[attr-defined]
