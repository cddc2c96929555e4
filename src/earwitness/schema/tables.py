"""Every table of a case: columns, DuckDB and Arrow types, and what they mean. The one place they are written."""

from functools import cache

import pyarrow as pa

from earwitness.schema.columns import Table
from earwitness.schema.tables_audit import AUDITED
from earwitness.schema.tables_import import IMPORTED
from earwitness.schema.tables_labels import LABELLED
from earwitness.schema.tables_measures import MEASURED
from earwitness.schema.tables_replay import REPLAYED
from earwitness.schema.tables_study import STUDIED

SCHEMA_VERSION = 4

_TABLES: tuple[Table, ...] = (
    *IMPORTED,
    *AUDITED,
    *MEASURED,
    *LABELLED,
    *REPLAYED,
    *STUDIED,
)

TABLES: dict[str, Table] = {t.name: t for t in _TABLES}
IMPORT_TABLES = tuple(t.name for t in _TABLES if t.stage == "import")


@cache
def arrow_schema(name: str) -> pa.Schema:
    """The Arrow schema of table `name`."""
    return TABLES[name].arrow
