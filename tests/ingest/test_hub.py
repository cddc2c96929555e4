"""AG2's hub as a folder: channels, the audit log, and how far each agent has read."""

import json
from pathlib import Path
from typing import Any

from earwitness.ingest.loader import Loader
from earwitness.schema.case import Case

DESK, CLERK, CHANNEL = "0" * 31 + "1", "0" * 31 + "2", "c" * 32


def envelope(n: int, text: str, audience: list[str] | None = None) -> dict[str, Any]:
    return {
        "envelope_id": f"{n:032x}",
        "channel_id": CHANNEL,
        "sender_id": DESK,
        "audience": audience,
        "event_type": "ag2.msg.text",
        "event_data": {"text": text},
    }


def hub(folder: Path, last: str) -> Path:
    """A hub of two agents, of whom one has read up to an envelope."""
    names = [
        {"agent_id": k, "at": "2026-05-04", "kind": "agent_registered", "name": n}
        for k, n in ((DESK, "desk"), (CLERK, "clerk"))
    ]
    created = {"at": "2026-05-04", "channel_id": CHANNEL, "kind": "channel_created", "participants": [DESK, CLERK]}
    sent = [envelope(11, "Mara Lind"), envelope(12, "a note to myself", [DESK]), envelope(13, "P8842176")]
    files: dict[str, list[Any]] = {
        "audit/audit.jsonl": [*names, created],
        f"channels/{CHANNEL}/wal.jsonl": sent,
        f"agents/{CLERK}/inbox.cursors.json": [{CHANNEL: last}],
    }
    for name, records in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("\n".join(json.dumps(r) for r in records), encoding="utf-8")
    return folder


def read(folder: Path) -> list[tuple[Any, ...]]:
    """Who has read what."""
    with Case() as case:
        sources = Loader(case).load([folder])
        assert all(s.outcomes["mapped"] == s.records for s in sources)
        assert case.one("SELECT count(*) FROM deliveries WHERE recipient = 'clerk'") == 2
        return case.rows("SELECT s.actor, s.kind, c.text FROM sightings s JOIN contents c USING (content) ORDER BY ALL")


def test_cursors_say_what_an_agent_has_read(tmp_path: Path) -> None:
    assert read(hub(tmp_path / "a", f"{12:032x}")) == [("clerk", "input", "Mara Lind")]
    assert read(hub(tmp_path / "b", f"{13:032x}")) == [("clerk", "input", t) for t in ("Mara Lind", "P8842176")]
    assert read(hub(tmp_path / "c", "f" * 32)) == []


def test_a_cursor_file_without_its_folder_is_nobodys(tmp_path: Path) -> None:
    (tmp_path / "cursors.json").write_text(json.dumps({CHANNEL: DESK}), encoding="utf-8")
    with Case() as case:
        (source,) = Loader(case).load([tmp_path / "cursors.json"])
    assert source.outcomes == {"ignored": 1, "mapped": 0}
