"""Recipients by consumption: from sightings only, never from time, never of one's own words."""

from pathlib import Path

import msgspec
import pytest

from earwitness.ingest.loader import Loader
from earwitness.schema.case import Case
from earwitness.schema.model import Delivery, Event, Line, Sighting

RESULT = "balance of account 4417-ZX is 12,000 euro"


def consumed(tmp_path: Path, *lines: Line) -> list[tuple[str, str, str]]:
    """(event, recipient, grade) of all deliveries."""
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    with Case() as case:
        Loader(case).load([path])
        query = "SELECT event_id, recipient, grade FROM deliveries JOIN events USING (event) ORDER BY ALL"
        return case.rows(query)


def result(**more: object) -> Event:
    fields = {"trace": "t", "id": "r", "seq": 1, "channel": "C4", "sender": "crm", "content": RESULT}
    return msgspec.convert({**fields, **more}, Event)


def shown(**more: object) -> Sighting:
    fields = {"trace": "t", "actor": "clerk", "kind": "history", "seq": 2, "content": RESULT}
    return msgspec.convert({**fields, **more}, Sighting)


@pytest.mark.parametrize(
    "sighting",
    [
        shown(),
        shown(content=f"Known so far:\n{RESULT}\nNow decide."),
        shown(content="cut sho", event="r"),
        shown(kind="state"),
    ],
    ids=["same text", "contained", "named", "state"],
)
def test_whoever_is_shown_it_later_has_received_it(tmp_path: Path, sighting: Sighting) -> None:
    assert consumed(tmp_path, result(), sighting) == [("r", "clerk", "consumed")]


@pytest.mark.parametrize(
    "sighting",
    [
        shown(seq=0),
        shown(kind="response"),
        shown(actor=None),
        shown(actor="crm"),
        shown(trace="other"),
        shown(content=RESULT[:-1]),
    ],
    ids=["before", "own words", "nobody", "the sender", "other trace", "other text"],
)
def test_what_proves_nothing(tmp_path: Path, sighting: Sighting) -> None:
    assert consumed(tmp_path, result(), sighting) == []


def test_short_texts_prove_nothing_unless_named(tmp_path: Path) -> None:
    assert consumed(tmp_path, result(content="done"), shown(content="done")) == []
    assert consumed(tmp_path, result(content="done"), shown(content="done", event="r")) == [("r", "clerk", "consumed")]


def test_a_declared_recipient_stays_declared(tmp_path: Path) -> None:
    event = result(to=["clerk"])
    third = shown(actor="helper", seq=3)
    assert consumed(tmp_path, event, shown(), third) == [("r", "clerk", "declared"), ("r", "helper", "consumed")]


def test_a_denied_delivery_is_not_turned_into_one(tmp_path: Path) -> None:
    event = result(to=[{"actor": "clerk", "delivered": False}])
    assert consumed(tmp_path, event, shown()) == [("r", "clerk", "declared")]
    assert Delivery("clerk", delivered=False).delivered is False


def test_what_is_written_anew_reaches_later_readers_from_the_later_write(tmp_path: Path) -> None:
    first = result(channel="C5", kind="write", sender="ines", to=["notes"])
    second = result(channel="C5", kind="write", sender="mori", to=["notes"], id="r.2", seq=3)
    early, late = shown(event="r", seq=2), shown(actor="helper", event="r.2", seq=4)
    assert consumed(tmp_path, first, early, second, late) == [
        ("r", "clerk", "consumed"),
        ("r", "notes", "declared"),
        ("r.2", "helper", "consumed"),
        ("r.2", "notes", "declared"),
    ]
    unnamed = shown(actor="helper", seq=5)
    assert ("r", "helper", "consumed") in consumed(tmp_path, first, second, late, unnamed)
