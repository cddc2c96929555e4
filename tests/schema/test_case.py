"""The case store: refuses what is no case, keeps stages all or nothing, ships schemas that match the types."""

import json
from pathlib import Path

import duckdb
import pytest

from earwitness.schema.case import Case
from earwitness.schema.errors import CaseError
from earwitness.schema.jsonschemas import NAMES, canonical_schema, read_schema
from earwitness.schema.tables import TABLES


def _killed(case: Case) -> None:
    with case.stage("import", {}):
        case.execute("INSERT INTO meta VALUES ('a', 'b')")
        raise RuntimeError("killed")


def test_stage_is_all_or_nothing(tmp_path: Path) -> None:
    with Case(tmp_path / "c.duckdb") as case:
        with pytest.raises(RuntimeError, match="killed"):
            _killed(case)
        assert case.meta("a") is None
        assert case.count("runs") == 0
        with case.stage("import", {"of": "nothing"}):
            pass
        assert case.rows("SELECT stage, parameters FROM runs") == [("import", '{"of":"nothing"}')]


def test_case_survives_closing(tmp_path: Path) -> None:
    path = tmp_path / "c.duckdb"
    with Case(path) as case:
        key = case.meta("key")
    with Case(path, create=False) as case:
        assert case.meta("key") == key


def test_refusals(tmp_path: Path) -> None:
    (tmp_path / "text.duckdb").write_text("no case at all")
    duckdb.connect(str(tmp_path / "foreign.duckdb")).execute("CREATE TABLE t (a INT)").fetchall()
    with Case(tmp_path / "old.duckdb") as case:
        case.set_meta("schema", "0")
    for name, cause in {
        "absent.duckdb": "no such case",
        "text.duckdb": "not a DuckDB file",
        "foreign.duckdb": "but not a case",
        "old.duckdb": "schema version 0",
        "nowhere/c.duckdb": "no such case",
        "": "is a folder",
    }.items():
        with pytest.raises(CaseError, match=cause):
            Case(tmp_path / name, create=False)
    with pytest.raises(CaseError, match="does not exist"):
        Case(tmp_path / "nowhere" / "c.duckdb")


def test_tables_are_as_declared() -> None:
    with Case() as case:
        for table in TABLES.values():
            columns = case.rows(f'DESCRIBE "{table.name}"')
            assert [c[0] for c in columns] == [c.name for c in table.columns]
            assert all(c.doc for c in table.columns)
            assert table.doc


def test_shipped_canonical_schema_is_that_of_the_types() -> None:
    assert json.loads(read_schema("canonical")) == json.loads(json.dumps(canonical_schema()))


@pytest.mark.parametrize("name", NAMES)
def test_schemas_are_schemas(name: str) -> None:
    from jsonschema import Draft202012Validator

    Draft202012Validator.check_schema(json.loads(read_schema(name)))
