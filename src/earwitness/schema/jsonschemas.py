"""The shipped JSON Schemas: canonical lines in, report objects out."""

from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from earwitness.schema.model import Item

NAMES = ("canonical", "audit", "inspect", "compare")


@cache
def read_schema(name: str) -> str:
    """The text of a shipped schema: `canonical`, `audit`, `inspect` or `compare`."""
    return (files("earwitness.schema") / f"{name}.schema.json").read_text("utf-8")


def canonical_schema() -> dict[str, Any]:
    """The schema of a canonical line, made from the types; the shipped file is checked against it."""
    schema = msgspec.json.schema(Item)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Earwitness canonical JSONL: one of these objects a line",
        **schema,
    }
