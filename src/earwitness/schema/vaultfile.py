"""Vault files: protected values kept apart from the policy, as CSV, JSONL or Parquet.

Columns: `attribute` and `value` are required; `value_type`, `subject`, `scenario` and `aliases` (a list,
or text separated by `|`) are optional.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from earwitness.schema.cures import cure
from earwitness.schema.errors import PolicyError
from earwitness.schema.policy import PolicyValue

_KNOWN = ("attribute", "value", "value_type", "subject", "scenario", "aliases")


def load_vault(path: Path) -> tuple[PolicyValue, ...]:
    """The values of a vault file.

    Raises:
        PolicyError: naming the file and the row, never a value.
    """
    frame = _read(path)
    missing = [c for c in _KNOWN[:2] if c not in frame.columns]
    if missing:
        raise PolicyError(f"{path}: no column {' and no column '.join(missing)}; a vault needs `attribute` and `value`")
    unknown = [c for c in frame.columns if c not in _KNOWN]
    if unknown:
        raise PolicyError(f"{path}: unknown column {', '.join(unknown)}; known are {', '.join(_KNOWN)}")
    return tuple(_value(row, path, n) for n, row in enumerate(frame.iter_rows(named=True), start=1))


def _read(path: Path) -> pl.DataFrame:
    readers: dict[str, Callable[[Path], pl.DataFrame]] = {
        ".csv": _read_csv,
        ".jsonl": pl.read_ndjson,
        ".ndjson": pl.read_ndjson,
        ".parquet": pl.read_parquet,
    }
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise PolicyError(f"{path}: a vault file ends in .csv, .jsonl or .parquet")
    try:
        return reader(path)
    except OSError as error:
        raise PolicyError(f"{path}: cannot be read: {error.strerror or 'no such file'}") from None
    except pl.exceptions.PolarsError:
        # Polars quotes the offending text in its message, and that text may be a protected value.
        raise PolicyError(
            f"{path}: cannot be parsed as {path.suffix[1:]}; check quoting and that every row has all columns"
        ) from None


def _read_csv(path: Path) -> pl.DataFrame:
    return pl.read_csv(path, infer_schema=False)


def _value(row: dict[str, Any], path: Path, number: int) -> PolicyValue:
    aliases = row.get("aliases")
    given = {k: str(v) for k, v in row.items() if v is not None and k != "aliases"}
    listed = aliases.split("|") if isinstance(aliases, str) else (aliases or [])
    try:
        value = msgspec.convert({**given, "aliases": listed}, PolicyValue)
    except msgspec.ValidationError as error:
        raise PolicyError(f"{path}: row {number}: {str(error).replace('$.', '')}{cure(PolicyValue, error)}") from None
    if not value.value.strip():
        raise PolicyError(f"{path}: row {number}: a protected value must not be empty")
    return value
