"""Long LangGraph threads: what is kept of a message is small, waits on disk, and is told as if it had not waited."""

import json
import tracemalloc
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earwitness.ingest import shelf
from earwitness.ingest.adapters.langgraph_updates import ADAPTER as UPDATES
from earwitness.ingest.langchain import book, dialogue, index, threads
from earwitness.ingest.langchain.book import Book
from earwitness.ingest.langchain.dialogue import Dialogue
from earwitness.ingest.langchain.drafts import Asked, Draft, Said, Seen, To
from earwitness.ingest.langchain.index import Groups, Index
from earwitness.ingest.langchain.messages import Call, Msg
from earwitness.ingest.loader import Loader
from earwitness.ingest.record import Made, Place, Record, Source
from earwitness.ingest.spans import texts
from earwitness.schema.case import Case
from earwitness.schema.model import Event, Loss, Sighting, Trace

GOLDEN = Path(__file__).parent.parent / "golden" / "ingest"
PLACE = Place(1, 0, 1, "", 0)
TABLES = ("traces", "actors", "aliases", "contents", "events", "deliveries", "sightings", "losses", "records")
SAMPLES = sorted(p for name in ("langchain-*", "langgraph-*", "langsmith-*") for p in GOLDEN.glob(f"{name}/*.in.*"))


@pytest.fixture
def crowded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hardly anything stays in memory."""
    monkeypatch.setattr(book, "_PAGE", 2)
    monkeypatch.setattr(book, "_AT_HAND", 1)
    monkeypatch.setattr(dialogue, "_EVERY", 1)
    monkeypatch.setattr(dialogue, "_VIEWERS", 1)
    monkeypatch.setattr(index, "_RECENT", 3)
    monkeypatch.setattr(index, "_BUCKETS", 16)
    monkeypatch.setattr(index, "_LAST", 15)
    monkeypatch.setattr(threads, "_PIECES", 0)


def _told(path: Path) -> list[list[tuple[Any, ...]]]:
    with Case() as case:
        Loader(case).load([path])
        return [case.rows(f"SELECT * FROM {table} ORDER BY ALL") for table in TABLES]


@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: f"{p.parent.name}-{p.name.partition('.')[0]}")
def test_threads_that_wait_on_disk_are_told_as_ever(path: Path, request: pytest.FixtureRequest) -> None:
    expected = _told(path)
    request.getfixturevalue("crowded")
    assert _told(path) == expected


KEYS = st.integers(0, 60).map(lambda n: (f"k{n}", n % 7))


@given(st.lists(st.tuples(KEYS, st.integers(0, 2**32 - 1)), max_size=300), st.integers(1, 40))
def test_an_index_says_what_a_dict_says(puts: list[tuple[tuple[str, int], int]], recent: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("_RECENT", recent), ("_BUCKETS", 4), ("_LAST", 3)):
            patch.setattr(index, name, value)
        found, known = Index(), dict[tuple[str, int], int]()
        for key, number in puts:
            assert found.get(key) == known.get(key)
            found.put(key, number)
            known[key] = number
        assert all(found.get((f"k{n}", n % 7)) == known.get((f"k{n}", n % 7)) for n in range(61))


def test_an_index_is_not_led_astray_by_bytes_that_look_like_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "_RECENT", 1)
    found, step = Index(), index._BUCKETS
    # In the bucket of 0 the number of the first row and the key of the second begin like the key that is asked for.
    low, high = step << 8, 5
    found.put(0, low)
    found.put(high * step, 7)
    raw = bytes(found._buckets[0])
    inside = [int.from_bytes(raw[at : at + 8], "little", signed=True) for at in range(len(raw) - 7) if at % 12]
    alike = [key for key in inside if key % step == 0 and hash(key) == key and key not in (0, high * step)]
    assert alike
    assert [found.get(key) for key in alike] == [None] * len(alike)
    assert (found.get(0), found.get(high * step)) == (low, 7)


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=60))
def test_groups_hold_all_numbers_whenever_they_are_first_asked_for(steps: list[tuple[int, bool]]) -> None:
    log: list[tuple[int, int]] = []
    groups, known = Groups(), defaultdict[int, list[int]](list)
    for number, (key, asks) in enumerate(steps):
        groups.put(key, number)
        log.append((key, number))
        known[key].append(number)
        assert not asks or list(groups.of(key, log)) == known[key]
    assert [list(groups.of(key, log)) for key in range(6)] == [known[key] for key in range(6)]


def _row(n: int) -> Draft:
    """A draft; some hold what MessagePack cannot."""
    texts = ("plain", "half \ud800 of a pair", "plain too")
    time = (n, 10**30, "2026-01-02", 1.5, None)[n % 5]
    to: To = (("desk", "declared"),) if n % 2 else ()
    return Draft(f"e{n}", "C2", texts[n % 3] if n % 4 else n, "message", Place(n, n, n, f"/{n}", 0), n, None, to, time)


def _fields(row: Draft) -> tuple[Any, ...]:
    return tuple(getattr(row, name) for name in row.__struct_fields__)


@pytest.mark.usefixtures("crowded")
@pytest.mark.parametrize("seed", range(5))
def test_a_book_keeps_what_was_changed_in_any_of_its_pages(seed: int) -> None:
    rows, known, chosen = Book(Draft), list[Draft](), Random(seed)
    for n in range(200):
        assert rows.append(_row(n)) == n
        known.append(_row(n))
        at = chosen.randrange(n + 1)
        assert _fields(rows[at]) == _fields(known[at])
        if chosen.random() < 0.5:
            rows[at].kind = known[at].kind = f"changed {n}"
        rows.rest()
        assert len(rows._pages) <= 2
    assert len(rows) == 200
    assert [_fields(row) for row in rows] == [_fields(row) for row in known]


@pytest.mark.usefixtures("crowded")
@pytest.mark.parametrize(
    "row",
    [
        Seen(None, "initial", "text", PLACE, 3, None, "e1"),
        Said("ai", None, True, ("c1", None), True, False, "desk", PLACE, 2**64 - 1, -(2**63), 7, (1, 2), ("desk",), 4),
        Asked("look_up", None, 2**63 - 1, "desk", 7, "handoff", "lead", None, True, False, 9, True),
        _row(3),
    ],
    ids=lambda row: type(row).__name__,
)
def test_every_kind_of_row_comes_back_as_it_was(row: Any) -> None:
    rows: Book[Any] = Book(type(row))
    for _ in range(9):
        rows.append(row)
    rows.rest()
    assert 0 not in rows._pages
    assert _fields(rows[0]) == _fields(row)
    assert type(rows[0].place if hasattr(row, "place") else PLACE) is Place


def _step(n: int) -> dict[str, Any]:
    """An update of 1 kB: four messages, behind one that the last update had, too."""
    call = {"name": "look_up", "args": {"customer": f"c{n}"}, "id": f"call_{n}", "type": "tool_call"}
    rest = "additional_kwargs={} response_metadata={'model_name': 'scripted-1'} name='desk'"
    messages = [
        f"content='Look up customer {n}.' additional_kwargs={{}} response_metadata={{}} id='h{n}'",
        f"content='I will look it up.' {rest} id='a{n}' tool_calls=[{call}] invalid_tool_calls=[]",
        f"content='{{\"customer\": \"c{n}\"}}' name='look_up' id='t{n}' tool_call_id='call_{n}'",
        f"content='It is customer {n}.' {rest} id='b{n}' tool_calls=[] invalid_tool_calls=[]",
    ]
    return {"desk": {"messages": [*_again(n - 1), *messages]}}


def _again(n: int) -> Iterator[str]:
    if n >= 0:
        yield f"content='It is customer {n}.' additional_kwargs={{}} response_metadata={{}} name='desk' id='b{n}'"


def grown(step: Callable[[int], object], first: int, more: int) -> float:
    """MB of Python objects that `more` steps leave behind, after the first ones."""
    tracemalloc.start()
    try:
        for n in range(first):
            step(n)
        before = tracemalloc.get_traced_memory()[0]
        for n in range(first, first + more):
            step(n)
        return (tracemalloc.get_traced_memory()[0] - before) / (1 << 20)
    finally:
        tracemalloc.stop()


def test_a_long_thread_of_updates_holds_little_of_each_message(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name, value in (
        *((book, "_PAGE", 64), (book, "_AT_HAND", 2), (shelf, "_BLOCK", 1 << 14)),
        *((index, "_RECENT", 500), (index, "_BUCKETS", 256), (index, "_LAST", 255)),
        (texts, "_REMEMBERED", -1),  # a few thousand fingerprints of any trace are remembered besides
    ):
        monkeypatch.setattr(module, name, value)
    with Case() as case:
        reader = UPDATES.open(Loader(case, sources=[Source("run.jsonl")]))

        def feed(n: int) -> None:
            list(reader.feed(Record(json.loads(json.dumps(_step(n))), Place(n + 1, 0, 1, "", 0))))

        assert grown(feed, 1000, 1500) < 0.7  # 6,000 messages and 1,500 calls; as objects they take 8 MB
        told = [made.item for made in reader.finish() if isinstance(made, Made)]
    events = [i for i in told if isinstance(i, Event)]
    assert [e.content for e in events[3::4]] == [f"It is customer {n}." for n in range(2500)]
    assert [e.id for e in events[2::4]] == [f"call_{n}:result" for n in range(2500)]
    assert len(events) == 10_000
    assert sum(isinstance(i, Sighting) for i in told) == 2500


@pytest.mark.usefixtures("crowded")
def test_copies_of_messages_without_ids_are_found_however_far_back() -> None:
    dialogue = Dialogue()
    for _ in range(2):
        for n in range(50):
            dialogue.meet(Msg(role="ai", text=f"word {n}", id=f"m{n}" if n % 3 else None), PLACE, agent="desk")
    dialogue.finish([])
    told = [e.id for e in _events(dialogue)]
    assert len(told) == 50
    assert [e for e in told if e and e.startswith("message")] == [f"message{n + 1}:text" for n in range(0, 50, 3)]


@pytest.mark.usefixtures("crowded")
def test_handoffs_land_in_order_and_late_words_change_what_was_told_long_before() -> None:
    dialogue = Dialogue()
    for n in range(40):
        call = Call("transfer_to_lead" if n % 2 else "transfer_to_nobody", "{}", f"c{n}")
        dialogue.meet(Msg(role="ai", calls=(call,), id=f"a{n}"), PLACE, agent="desk")
        dialogue.meet(Msg(role="ai", text=f"said {n}", id=f"s{n}"), PLACE, agent=None)
    for n in range(40):
        dialogue.meet(Msg(role="tool", text="ok", call_id=f"c{n}", id=f"t{n}"), PLACE)
        dialogue.meet(Msg(role="ai", text=f"said {n}", id=f"s{n}", name="lead"), PLACE)
    dialogue.finish(Msg(role="ai", text=f"said {n}", id=f"s{n}") for n in (38, 39))
    events = _events(dialogue)
    assert [e.kind for e in events[::2]] == ["handoff_request", "handoff"] * 20
    assert {e.sender for e in events[1::2]} == {"lead"}
    assert [e.kind for e in events[1::2]] == ["message"] * 39 + ["final"]


def _events(dialogue: Dialogue) -> list[Event]:
    told = (made.item for made in dialogue.ledger.tell(Trace(id="t"), PLACE) if isinstance(made, Made))
    return [item for item in told if isinstance(item, Event)]


def test_messages_are_shown_to_each_viewer_once_whatever_became_of_their_objects() -> None:
    """Messages without ids that say nothing are no copies of each other; all of their objects are forgotten at once."""
    dialogue = Dialogue()
    for n in range(300):
        call = Call("look_up", f'{{"n": {n}}}', None)
        dialogue.meet(Msg(role="ai", text="again", calls=(call,), name=f"agent {n % 3}"), PLACE, viewer="auditor")
    dialogue.finish([])
    told = [made.item for made in dialogue.ledger.tell(Trace(id="t"), PLACE) if isinstance(made, Made)]
    words = [i for i in told if isinstance(i, Event) and i.content == "again"]
    shown = [i for i in told if isinstance(i, Sighting) and i.content == "again"]
    assert len(words) == len(shown) == 300


@pytest.mark.usefixtures("crowded")
def test_a_message_that_many_are_shown_is_shown_to_each_once() -> None:
    dialogue = Dialogue()
    for _ in range(2):
        for n in range(30):
            dialogue.meet(Msg(role="human", text="hello", id="h"), PLACE, viewer=f"agent {n}")
    dialogue.finish([])
    told = [made.item for made in dialogue.ledger.tell(Trace(id="t"), PLACE) if isinstance(made, Made)]
    assert [i.actor for i in told if isinstance(i, Sighting)] == [f"agent {n}" for n in range(30)]


@pytest.mark.usefixtures("crowded")
def test_what_is_hidden_counts_on_the_channel_that_shows_at_the_end() -> None:
    dialogue = Dialogue()
    for n in range(9):
        dialogue.meet(Msg(role="ai", text="[REDACTED]", id=f"m{n}"), PLACE, agent="desk")
    dialogue.finish([Msg(role="ai", text="[REDACTED]", id="m4")])
    told = [made.item for made in dialogue.ledger.tell(Trace(id="t"), PLACE) if isinstance(made, Made)]
    assert {(i.channel, i.kind): i.n for i in told if isinstance(i, Loss)} == {("C1", "masked"): 1, ("C2", "masked"): 8}
    assert [i.channel for i in told if isinstance(i, Event)] == ["C2"] * 4 + ["C1"] + ["C2"] * 4


def test_agents_behind_tools_are_told_from_tools_that_others_call() -> None:
    dialogue = Dialogue()
    calls = dialogue.calls
    numbers = [calls.ask(Call("ask_lead", f'{{"q": "{n}"}}', f"c{n}"), "desk", PLACE, None) for n in range(3)]
    for number in numbers[:2]:
        calls.delegate(number, "lead")
    assert "ask_lead" in dialogue.ledger.actors  # the third call is of a tool
    calls.delegate(numbers[2], "lead")
    assert "ask_lead" not in dialogue.ledger.actors
    dialogue.finish([])
    assert [(e.kind, e.content) for e in _events(dialogue)] == [("delegation", str(n)) for n in range(3)]
