"""The registry: protected values made ready to be looked for, and the names that stand for them in reports."""

import hmac
import os
from hashlib import sha256

import polars as pl
import pyarrow as pa

from earwitness.audit.rulesets import RuleSet
from earwitness.audit.valuetypes import infer_type
from earwitness.schema.case import Case

KEY_VARIABLE = "EARWITNESS_KEY"


def describe_values(case: Case) -> None:
    """Give every value a fingerprint and, where nobody gave one, a type."""
    key = fingerprint_key(case)
    if case.meta("described_with") != (mark := fingerprint(key, "")):
        case.execute("UPDATE vault SET fingerprint = NULL")
        case.set_meta("described_with", mark)
    # Values described before, under the same key, stay as they are.
    frame = case.frame("""
        SELECT value, attribute, text, value_type, type_origin FROM vault
        WHERE fingerprint IS NULL OR value_type IS NULL
    """)
    if frame.is_empty():
        return
    texts = {t: fingerprint(key, t) for t in frame["text"].unique()}
    pairs = zip(frame["attribute"], frame["text"], strict=True)
    inferred = {(a, t): infer_type(a, t) for a, t in dict.fromkeys(pairs)}
    given = [origin == "given" for origin in frame["type_origin"]]
    types = [
        kind if known else inferred[a, t]
        for a, t, kind, known in zip(frame["attribute"], frame["text"], frame["value_type"], given, strict=True)
    ]
    described = pa.table(
        {
            "value": frame["value"].to_arrow(),
            "fingerprint": [texts[t] for t in frame["text"]],
            "value_type": pa.array(types, pa.string()),
            "type_origin": ["given" if g else "inferred" for g in given],
        }
    )
    case.con.register("described", described)
    case.execute("""
        UPDATE vault SET fingerprint = d.fingerprint, value_type = d.value_type, type_origin = d.type_origin
        FROM described d WHERE d.value = vault.value
    """)
    case.con.unregister("described")


def fingerprint_key(case: Case) -> bytes:
    """The key of fingerprints: from the environment, so that cases can be compared, else the case's own."""
    return (os.environ.get(KEY_VARIABLE) or case.meta("key") or "").encode()


def fingerprint(key: bytes, text: str) -> str:
    """Keyed hash of a value, 12 hex digits: tells values apart without telling them."""
    return hmac.new(key, text.encode("utf-8", "backslashreplace"), sha256).hexdigest()[:12]


def patterns(case: Case, rules: RuleSet) -> pl.DataFrame:
    """What to look for: `pattern` (number), `needle` (lower-cased text), one row a distinct needle.

    Leaves the temporary table `needles` (pattern, value, form) in the case: which values a pattern stands for.
    """
    frame = case.frame("""
        SELECT value, text AS needle, 'verbatim' AS form FROM vault
        UNION ALL SELECT value, unnest(aliases), 'alias' FROM vault
    """)
    lowered = pl.Series("needle", [t.lower() for t in frame["needle"]], dtype=pl.String)
    frame = frame.with_columns(lowered).filter(pl.col("needle").str.len_chars() >= rules.shortest)
    frame = frame.filter(pl.col("needle").str.strip_chars() != "")
    distinct = frame.select(pl.col("needle").unique(maintain_order=True)).with_row_index("pattern")
    case.con.register("owners", frame.join(distinct, on="needle").select("pattern", "value", "form").to_arrow())
    case.execute("CREATE OR REPLACE TEMP TABLE needles AS SELECT * FROM owners")
    case.con.unregister("owners")
    return distinct
