"""The case store: one DuckDB file that holds everything about one body of traces."""

import secrets
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import duckdb
import msgspec
import pyarrow as pa

from earwitness import __version__
from earwitness.schema.errors import CaseError
from earwitness.schema.tables import SCHEMA_VERSION, TABLES
from earwitness.schema.views import VIEWS

if TYPE_CHECKING:
    import polars as pl

# DuckDB may keep this much in memory before it spills beside the case file.
MEMORY_LIMIT = "400MB"
_MAGIC = b"DUCK"


class _UndoError(Exception):
    """Leaves a case as it was."""


class Case:
    """An open case. Stages read tables and write tables; use it as a context manager.

    Args:
        path: file of the case; None keeps it in memory.
        create: make the file where it does not exist.
        read_only: open without write access.

    Raises:
        CaseError: the file is missing, no case, locked, or of another schema version.
    """

    def __init__(self, path: Path | str | None = None, *, create: bool = True, read_only: bool = False) -> None:
        self.path = Path(path) if path else None
        self.con = _connect(self.path, create, read_only)
        self._open = False
        self._prepare(read_only)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Write everything out and let go of the file."""
        self.con.close()

    def execute(self, query: str, parameters: Any = None) -> None:
        """Run a statement whose result nobody reads."""
        self.con.execute(query, parameters or []).fetchall()

    def rows(self, query: str, parameters: Any = None) -> list[tuple[Any, ...]]:
        """All rows of a query as tuples."""
        return self.con.execute(query, parameters or []).fetchall()

    def one(self, query: str, parameters: Any = None) -> Any:
        """First column of the first row, or None."""
        found = self.con.execute(query, parameters or []).fetchall()
        return found[0][0] if found else None

    def frame(self, query: str) -> "pl.DataFrame":
        """A query as a Polars frame."""
        frame: pl.DataFrame = self.con.sql(query).pl()
        return frame

    def arrow(self, query: str) -> pa.Table:
        """A query as an Arrow table."""
        return self.con.sql(query).to_arrow_table()

    def insert(self, table: str, batch: pa.Table) -> int:
        """Append an Arrow batch whose columns stand in the table's order; gives the number of rows."""
        if batch.num_rows:
            names = ", ".join(f'"{n}"' for n in batch.schema.names)
            # DuckDB finds `batch` in this frame. A registered view would keep it in memory until the stage ends.
            self.con.execute(f'INSERT INTO "{table}" ({names}) SELECT * FROM batch').fetchall()
        return int(batch.num_rows)

    def clear(self, *tables: str) -> None:
        """Empty tables, so that a stage can be run again."""
        for table in tables:
            self.execute(f'DELETE FROM "{table}"')

    def count(self, table: str) -> int:
        """Number of rows of a table."""
        return int(self.one(f'SELECT count(*) FROM "{table}"'))

    def meta(self, key: str) -> str | None:
        """A fact about the case."""
        found = self.one("SELECT value FROM meta WHERE key = ?", [key])
        return None if found is None else str(found)

    def set_meta(self, key: str, value: str) -> None:
        """State a fact about the case."""
        self.execute("DELETE FROM meta WHERE key = ?", [key])
        self.execute("INSERT INTO meta VALUES (?, ?)", [key, value])

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing: what fails or is killed inside leaves the case as it was. Transactions may be nested."""
        if self._open:
            yield
            return
        self.execute("BEGIN")
        self._open = True
        try:
            yield
        except BaseException:
            self.execute("ROLLBACK")
            raise
        else:
            self.execute("COMMIT")
        finally:
            self._open = False

    @contextmanager
    def setting(self, name: str, value: str, back: str) -> Iterator[None]:
        """A setting of DuckDB for a while; `back` is what it is again afterwards, whatever happens."""
        self.execute(f"SET {name} = '{value}'")
        try:
            yield
        except BaseException:
            with suppress(duckdb.Error):  # a transaction that failed takes no statement any more
                self.execute(f"SET {name} = '{back}'")
            raise
        self.execute(f"SET {name} = '{back}'")

    def confined(self, memory: str) -> AbstractContextManager[None]:
        """Less memory for a while than DuckDB may keep else."""
        return self.setting("memory_limit", memory, MEMORY_LIMIT)

    @contextmanager
    def undone(self) -> Iterator[None]:
        """A transaction of which nothing stays: to try something."""
        try:
            with self.transaction():
                yield
                raise _UndoError
        except _UndoError:
            pass

    @contextmanager
    def stage(self, name: str, parameters: dict[str, Any], policy_sha256: str | None = None) -> Iterator[None]:
        """A transaction that is put on record when it has succeeded."""
        started = time.monotonic()
        with self.transaction():
            yield
            self._record(name, parameters, policy_sha256, time.monotonic() - started)

    def _record(self, name: str, parameters: dict[str, Any], policy: str | None, seconds: float) -> None:
        made = sum(self.count(t.name) for t in TABLES.values() if t.stage == name)
        text = msgspec.json.encode(parameters).decode()
        self.execute(
            "INSERT INTO runs SELECT coalesce(max(run), 0) + 1, ?, ?, ?, ?, "
            "(now() AT TIME ZONE 'UTC')::TIMESTAMP_NS, ?, ? FROM runs",
            [name, __version__, text, policy, seconds, made],
        )

    def _prepare(self, read_only: bool) -> None:
        known = {r[0] for r in self.rows("SELECT table_name FROM duckdb_tables()")}
        if "meta" in known:
            self._check_version()
        elif known or read_only:
            raise CaseError(f"{self.path}: a DuckDB file, but not a case; give another --case path")
        else:
            self._create()

    def _create(self) -> None:
        with self.transaction():  # one commit, not one a table
            for statement in (*(t.ddl for t in TABLES.values()), *VIEWS):
                self.execute(statement)
            self.set_meta("schema", str(SCHEMA_VERSION))
            self.set_meta("key", secrets.token_hex(16))

    def _check_version(self) -> None:
        found = self.meta("schema")
        if found != str(SCHEMA_VERSION):
            raise CaseError(
                f"{self.path}: case of schema version {found}, this program writes {SCHEMA_VERSION}; "
                "import the traces again"
            )


def _connect(path: Path | None, create: bool, read_only: bool) -> duckdb.DuckDBPyConnection:
    if path is not None:
        _check_file(path, create)
    try:
        con = duckdb.connect(str(path) if path else ":memory:", read_only=read_only)
    except duckdb.Error as error:
        raise CaseError(f"{path}: cannot be opened as a case: {_first_line(error)}") from None
    con.execute(f"SET memory_limit = '{MEMORY_LIMIT}'" if path else "SELECT 1").fetchall()
    con.execute("SET preserve_insertion_order = false").fetchall()
    # In Jupyter without ipywidgets there is no bar, and DuckDB refuses to be told that there shall be none.
    if con.execute("SELECT current_setting('enable_progress_bar')").fetchall() != [(False,)]:
        con.execute("SET enable_progress_bar = false").fetchall()
    return con


def _check_file(path: Path, create: bool) -> None:
    if path.is_dir():
        raise CaseError(f"{path}: is a folder; a case is one file, such as {path / 'case.duckdb'}")
    if not path.exists():
        if not create:
            raise CaseError(f"{path}: no such case; make one with `earwitness import TRACES --case {path}`")
        if not path.parent.is_dir():
            raise CaseError(f"{path}: the folder {path.parent} does not exist; make it first")
        return
    with path.open("rb") as handle:
        head = handle.read(12)
    if head[8:12] != _MAGIC:
        raise CaseError(f"{path}: not a case (not a DuckDB file); give another --case path")


def check_replaceable(path: Path) -> None:
    """Refuse to write over what is no case, and where none can be made; a case of an older version may go.

    Raises:
        CaseError: saying why.
    """
    _check_file(path, create=True)
    if path.exists():
        with closing(_connect(path, create=False, read_only=True)) as con:
            if ("meta",) not in con.execute("SELECT table_name FROM duckdb_tables()").fetchall():
                raise CaseError(f"{path}: a DuckDB file, but not a case; give another --case path")


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0][:200]
