"""What an import remembers and what waits on disk: small in memory, and nothing of it is lost or mixed up."""

import json
import pickle
import random
import tracemalloc
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earwitness.ingest.accounts import Accounts
from earwitness.ingest.adapters.autogen_core_log import ADAPTER as CORE_LOG
from earwitness.ingest.delegation import Delegation
from earwitness.ingest.digests import Counts, Digests, digest_of
from earwitness.ingest.langchain.dialogue import Dialogue
from earwitness.ingest.langchain.messages import Msg
from earwitness.ingest.loader import Loader
from earwitness.ingest.record import Made, Place, Record, Source
from earwitness.ingest.shelf import Integers, Shelf, Texts
from earwitness.ingest.tale import Tale
from earwitness.schema.case import Case
from earwitness.schema.model import Delivery, Event, Sighting, Trace

PLACE = Place(1, 0, 1, "", 0)
MB = 1 << 20


def long_text(n: int) -> str:
    """A text of 4 kB that no other number has."""
    return f"{n} {digest_of(str(n)).hex() * 128}"


@given(st.lists(st.lists(st.integers(0, 40), max_size=30), max_size=8))
def test_digests_say_what_a_set_says(batches: list[list[int]]) -> None:
    digests, known = Digests(), set[bytes]()
    digests.fresh([digest_of(f"before {n}") for n in range(1990)])  # the table begins among the first batches
    for batch in batches:
        asked = [digest_of(str(n)) for n in batch]
        fresh = [n for n, d in enumerate(asked) if d not in known and d not in asked[:n]]
        assert [d in digests for d in asked] == [d in known for d in asked]
        assert digests.fresh(asked) == fresh
        known |= set(asked)
    assert len(digests) == len(known) + 1990


def test_digests_that_all_want_the_last_slot_go_on_at_the_beginning() -> None:
    crowd = [b"\xff" * 8 + n.to_bytes(8, "big") for n in range(300)]
    others = [digest_of(str(n)) for n in range(20_000)]
    digests = Digests()
    assert digests.fresh([*others[:3000], *crowd]) == list(range(3300))
    assert len(digests.fresh(others)) == 17_000
    assert all(d in digests for d in (*crowd, *others))
    assert not any(digests.add(d) for d in (*crowd, *others))
    digests.clear()
    assert (len(digests), crowd[0] in digests, digests.add(crowd[0])) == (0, False, True)


def test_names_are_counted() -> None:
    counts, names = Counts(), [str(n % 3000) for n in range(7000)]
    assert [counts.nth(name) for name in names] == [n // 3000 + 1 for n in range(7000)]


def test_a_shelf_gives_back_in_any_order_what_is_written_and_what_is_not_yet() -> None:
    shelf, chosen = Shelf(), random.Random(3)
    values = [f"{n} " + "x" * chosen.choice((0, 10, 3_000, 70_000)) for n in range(400)]
    keys = []
    for value in values:
        keys.append(shelf.put(value))
        n = chosen.randrange(len(keys))
        assert shelf.get(keys[n]) == values[n]
    assert [shelf.get(k) for k in keys] == values
    assert [shelf.get(k) for k in reversed(keys)] == values[::-1]
    shelf.close()


def test_any_stretch_of_what_lies_on_a_shelf_can_be_read() -> None:
    shelf, chosen = Shelf(), random.Random(5)
    whole = b""
    for n in range(60):
        piece = bytes([n]) * chosen.choice((1, 700, 90_000, 300_000))
        assert shelf.put_bytes(piece) == len(whole)
        whole += piece
        assert shelf.size == len(whole)
        start = chosen.randrange(len(whole))
        end = chosen.randrange(start, len(whole) + 1)
        assert shelf.get_bytes(start, end - start) == whole[start:end]
    assert shelf.get_bytes(0, shelf.size) == whole
    assert shelf.get_bytes(shelf.size - 1, 10) == whole[-1:]
    shelf.close()


def test_what_there_is_no_room_for_is_not_on_the_shelf(monkeypatch: pytest.MonkeyPatch) -> None:
    shelf = Shelf()
    shelf.put_bytes(b"a" * 1_000_000)
    monkeypatch.setattr(Shelf, "_flush", _no_room)
    with pytest.raises(OSError, match="No space"):
        shelf.put_bytes(b"b" * 100_000)
    assert shelf.size == 1_000_000
    monkeypatch.undo()
    assert shelf.put_bytes(b"c" * 100_000) == 1_000_000
    assert shelf.get_bytes(999_999, 3) == b"acc"
    shelf.close()


def _no_room(shelf: Shelf) -> None:
    raise OSError(28, "No space left on device")


def test_texts_and_integers_beyond_the_first_mb_come_back() -> None:
    texts, integers = Texts(), Integers()
    said = [long_text(n) if n % 5 else f"\ud800 {n}" for n in range(700)]
    kept = [texts.keep(text) for text in said]
    assert {type(k) for k in kept} == {str, int}
    assert [texts.text(k) for k in kept] == said
    for n in range(100_000):
        integers.extend((n, -n))
    blocks = [block.tolist() for block in integers.blocks()]
    assert len(blocks) > 1
    assert [k for block in blocks for k in block] == [k for n in range(100_000) for k in (n, -n)]


def test_accounts_of_many_records_say_which_were_not_told() -> None:
    accounts, wanted = Accounts(), []
    for n in range(70_000):
        place = Place(n + 1, 100 * n, 99, "/parts/0" if n % 7 == 0 else "", 0)
        accounts.enter("some-format", place, ())
        if n % 3:
            accounts.told(_event_at(place))
        else:
            wanted.append(("some-format", place))
    assert list(accounts.untold()) == wanted


@pytest.mark.parametrize("said", ["a plain text", "half \ud800 of a pair"])
def test_calls_that_are_held_come_back_from_disk_and_with_what_holds_them(said: str) -> None:
    held, calls = Delegation(), [_call(n, f"{said} {long_text(n)}") for n in range(600)]
    for call in calls:
        held.hold("Look Up", [call])
    again = pickle.loads(pickle.dumps(held))
    assert again.meet("desk") == []
    assert list(again.rest()) == calls == list(held.rest())


def _call(n: int, content: str) -> Made:
    event = Event(trace="t", channel="C3", content=content, seq=n, to=(Delivery("look_up"),), attributes={"n": [n]})
    return Made(event, PLACE.at(f"/{n}"))


def _event_at(place: Place) -> Made:
    return Made(Event(trace="t", channel="C6", content="told"), place)


def test_a_long_tale_is_told_in_order_and_as_it_was_corrected() -> None:
    tale = Tale(Trace(id="t"), PLACE)
    for n in range(600):
        tale.sighting(PLACE.at(f"/{n}"), long_text(n), "desk", "input", time=n)
        tale.sighting(PLACE, long_text(n), "desk", "input")  # a copy
        tale.event(PLACE, "C2", long_text(-n - 1), key=f"k{n}", kind="message", sender="desk")
    tale.drafts["k0"].content += " and more"
    tale.drafts["k599"].channel = "C1"
    items = [made.item for made in tale.items() if isinstance(made.item, Event | Sighting)]
    assert [i.content for i in items[2:]] == [c for n in range(1, 600) for c in (long_text(n), long_text(-n - 1))]
    assert items[1].content == long_text(-1) + " and more"
    assert [i.seq for i in items] == list(range(1200))
    assert [i.channel for i in items if isinstance(i, Event)] == ["C2"] * 599 + ["C1"]


def held(step: Callable[[int], object], times: int) -> float:
    """MB of Python objects that stay after so many steps."""
    tracemalloc.start()
    try:
        for n in range(times):
            step(n)
        return tracemalloc.get_traced_memory()[0] / MB
    finally:
        tracemalloc.stop()


def _core_messages(n: int) -> Iterable[dict[str, Any]]:
    desk = "desk_11111111-2222-3333-4444-555555555555/11111111-2222-3333-4444-555555555555"
    body: dict[str, Any] = {
        "id": f"m{n}",
        "source": "desk",
        "models_usage": None,
        "metadata": {},
        "content": long_text(n),
    }
    sent = {"payload": json.dumps({"message": {**body, "type": "TextMessage"}}), "sender": desk, "receiver": desk}
    yield {**sent, "kind": "MessageKind.PUBLISH", "delivery_stage": "DeliveryStage.SEND", "type": "Message"}
    shown = [{"role": "user", "content": long_text(-n - 1)}]
    yield {"type": "LLMCall", "messages": shown, "response": {"content": long_text(10**6 + n)}, "agent_id": desk}
    tool = {"tool_name": "look_up", "arguments": {"q": long_text(2 * 10**6 + n)}, "result": long_text(3 * 10**6 + n)}
    yield {"type": "ToolCall", **tool, "agent_id": desk}


def test_a_core_run_of_16_mb_waits_on_disk() -> None:
    with Case() as case:
        reader = CORE_LOG.open(Loader(case, sources=[Source("run.jsonl")]))

        def feed(n: int) -> None:
            for value in _core_messages(n):
                list(reader.feed(Record(value, PLACE)))

        assert held(feed, 800) < 8
        told = [made.item for made in reader.finish() if isinstance(made, Made)]
    assert {type(i) for i in told} >= {Event, Sighting}
    contents = {getattr(i, "content", None) for i in told}
    assert {long_text(n) for n in (0, 799, -1, -800, 10**6, 10**6 + 799, 3 * 10**6 + 799)} <= contents


def test_messages_of_16_mb_of_one_thread_wait_on_disk() -> None:
    dialogue = Dialogue()

    def meet(n: int) -> None:
        role = ("human", "ai", "tool")[n % 3]
        msg = Msg(role=role, text=long_text(n), id=f"m{n}", name="look_up" if role == "tool" else None)
        dialogue.meet(msg, PLACE, agent="desk")
        dialogue.meet(msg, PLACE, viewer="auditor")  # a copy

    assert held(meet, 4000) < 9
    dialogue.finish([])
    items = [made.item for made in dialogue.ledger.tell(Trace(id="t"), PLACE) if isinstance(made, Made)]
    events = [i.content for i in items if isinstance(i, Event)]
    shown = [i.content for i in items if isinstance(i, Sighting) and i.actor == "auditor"]
    assert events == [long_text(n) for n in range(4000) if n % 3]
    assert shown == [long_text(n) for n in range(4000)]


@pytest.mark.parametrize("name", ["autogen-core-log", "langgraph-updates"])
def test_what_waits_on_disk_from_the_first_text_on_is_told_as_ever(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    golden = Path(__file__).parent.parent / "golden" / "ingest" / name
    paths = sorted(golden.glob("*.in.*"))
    expected = _told(paths)
    monkeypatch.setattr("earwitness.ingest.shelf._BLOCK", 1)
    monkeypatch.setattr("earwitness.ingest.shelf._SHORT", 0)
    assert _told(paths) == expected


def _told(paths: list[Path]) -> list[list[tuple[Any, ...]]]:
    with Case() as case:
        Loader(case).load(paths)
        return [case.rows(f"SELECT * FROM {t} ORDER BY ALL") for t in ("contents", "events", "sightings", "deliveries")]
