"""Whose a value is, as far as the text tells: the name that stands shortly before it."""

import polars as pl

# Attributes whose value names somebody.
PERSONS = (
    r"(^|_)(patient|client|customer|employee|candidate|applicant|passenger|party|plaintiff|defendant|witness|user"
    r"|contact)($|_)"
)
_NAMED = rf"{PERSONS}|(^|_)name($|_)"
_NAME = r"^\p{Lu}[\p{L}'’.-]+( \p{Lu}[\p{L}'’.-]*){1,3}$"
# A name further away than this is that of somebody else.
_FAR = 600


def with_subjects(found: pl.DataFrame) -> pl.DataFrame:
    """Finds of `recognize` with the column `subject`, by row and start."""
    named = (pl.col("entity") == "PERSON") | pl.col("attribute").str.contains(_NAMED).fill_null(value=False)
    names = found.filter(named & pl.col("canonical").str.contains(_NAME)).select("row", "start", subject="canonical")
    ordered = found.sort("start")
    joined = ordered.join_asof(
        names.sort("start"), on="start", by="row", strategy="backward", tolerance=_FAR, check_sortedness=False
    )
    return joined.sort("row", "start")
