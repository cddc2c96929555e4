"""Files inside messages, and files that messages name."""

import base64
import binascii
from typing import Any

from earwitness.ingest.spans.facts import Part
from earwitness.ingest.spans.texts import as_text


def blob_part(block: dict[str, Any]) -> Part:
    """A file inside the message; its text where it is text, else the base64 that was recorded."""
    raw = next((block[k] for k in ("content", "data", "blob") if isinstance(block.get(k), str)), "")
    try:
        return Part("blob", base64.b64decode(raw, validate=True).decode("utf-8"), name=_mime(block))
    except (binascii.Error, ValueError):
        return Part("blob", raw, name=_mime(block))


def address_of(block: dict[str, Any]) -> str:
    """Where a file lies that a block names."""
    for key in ("uri", "file_id", "image_url", "url", "file_data", "file", "source"):
        value = block.get(key)
        if isinstance(value, dict):
            value = value.get("url") or value.get("uri") or value.get("file_uri") or value.get("data")
        if isinstance(value, str) and value:
            return value
    return as_text(block)


def _mime(block: dict[str, Any]) -> str | None:
    value = block.get("mime_type")
    return value if isinstance(value, str) and value else None
