"""LangGraph's checkpointer tables: whatever way a run was stored, it gives the same events; nothing in it is built.

The golden rows were written by the checkpointers themselves, from one small graph; `as_tables` is their `list()`.
"""

import base64
import io
import json
import pickle
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from earwitness.ingest.langchain.unpack import ClosedError, CutError, UnpackError, unpack
from earwitness.ingest.loader import Loader
from earwitness.ingest.record import Source
from earwitness.reports.canonical import export
from earwitness.schema.case import Case

GOLDEN = Path(__file__).parent.parent / "golden" / "ingest"
ROWS = GOLDEN / "langgraph-sqlite" / "sqlite.in.jsonl"
Items = list[dict[str, Any]]
_TABLES = """
CREATE TABLE checkpoints (thread_id TEXT, checkpoint_ns TEXT, checkpoint_id TEXT, parent_checkpoint_id TEXT, type TEXT,
    checkpoint BLOB, metadata BLOB);
CREATE TABLE writes (thread_id TEXT, checkpoint_ns TEXT, checkpoint_id TEXT, task_id TEXT, task_path TEXT, idx INTEGER,
    channel TEXT, type TEXT, value BLOB);
"""
# {"set": {1}, "path": Path("/a/b"), "uuid": UUID(int=5), "dec": Decimal("1.50"), "date": date(2026, 1, 2),
# "td": timedelta(1), "bytes": b"\xff\0", "deque": deque([1, 2]), "re": re.compile("x"), "exc": ValueError("bad"),
# "ip": ip_address("10.0.0.1"), "send": Send("n", {"k": [AIMessage("hi")]}), 1: "intkey"}, as LangGraph 1.2 stores it.
EVERY_KIND = (
    "8da3736574d80093a86275696c74696e73a37365749101a470617468c71a0193a7706174686c6962a9506f7369785061746893a12fa1"
    "61a162a475756964c72d0093a475756964a455554944d920303030303030303030303030303030303030303030303030303030303030"
    "3035a3646563c7160093a7646563696d616ca7446563696d616ca4312e3530a464617465c7150193a86461746574696d65a464617465"
    "93cd07ea0102a27464c7180193a86461746574696d65a974696d6564656c746193010000a56279746573c402ff00a56465717565c716"
    "0093ab636f6c6c656374696f6e73a56465717565920102a27265d80193a27265a7636f6d70696c6592a17820a3657863b156616c7565"
    "4572726f7228276261642729a26970c7200093a9697061646472657373ab4950763441646472657373a831302e302e302e31a473656e"
    "64c7ce0193af6c616e6767726170682e7479706573a453656e6492a16e81a16b91c7ae0594ba6c616e67636861696e5f636f72652e6d"
    "657373616765732e6169a941494d65737361676589a7636f6e74656e74a26869b16164646974696f6e616c5f6b776172677380b17265"
    "73706f6e73655f6d6574616461746180a474797065a26169a46e616d65c0a26964c0aa746f6f6c5f63616c6c7390b2696e76616c6964"
    "5f746f6f6c5f63616c6c7390ae75736167655f6d65746164617461c0b36d6f64656c5f76616c69646174655f6a736f6e01a6696e746b"
    "6579"
)


def load(*paths: Path) -> tuple[Items, list[Source]]:
    with Case() as case:
        sources = Loader(case).load(list(paths))
        out = io.BytesIO()
        export(case, out)
    for source in sources:
        assert sum(source.outcomes.values()) == source.records > 0
        assert source.problem is None
    return [json.loads(line) for line in out.getvalue().splitlines()], sources


def rows() -> Items:
    return [json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines()]


def stored(value: Any) -> Any:
    return bytes.fromhex(value) if isinstance(value, str) else value


def dump(path: Path, spelled: Callable[[bytes], Any]) -> Path:
    """The golden rows, their bytes spelled in another way."""
    found = []
    for row in rows():
        bare = {k: v for k, v in row.items() if k not in ("table", "metadata")}
        blobs: dict[str, Any] = {k: spelled(stored(bare[k])) for k in ("checkpoint", "value") if k in bare}
        found.append({**bare, **blobs})
    path.write_text("".join(json.dumps(r) + "\n" for r in found), encoding="utf-8")
    return path


def database(path: Path) -> Path:
    with sqlite3.connect(path) as db:
        db.executescript(_TABLES)
        for row in rows():
            table = row.pop("table")
            values = [stored(v) if k in ("checkpoint", "metadata", "value") else v for k, v in row.items()]
            db.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values))})", values)
    db.close()
    return path


@pytest.fixture(scope="module")
def listed() -> Items:
    return load(GOLDEN / "langgraph-checkpoints" / "as_tables.in.jsonl")[0]


def test_a_database_gives_what_the_checkpointer_lists(tmp_path: Path, listed: Items) -> None:
    items, [source] = load(database(tmp_path / "checkpoints.sqlite"))
    assert source.container == "sqlite"
    assert source.outcomes == {"mapped": len(rows())}
    assert items == listed


@pytest.mark.parametrize("name", ["sqlite", "postgres"])
def test_rows_give_what_the_checkpointer_lists(name: str, listed: Items) -> None:
    assert load(GOLDEN / "langgraph-sqlite" / f"{name}.in.jsonl")[0] == listed


SPELLINGS: dict[str, Callable[[bytes], Any]] = {
    "base64": lambda raw: base64.b64encode(raw).decode(),
    "repr": repr,
    "postgres": lambda raw: "\\x" + raw.hex(),
    "sqlite-utils": lambda raw: {"$base64": True, "encoded": base64.b64encode(raw).decode()},
    "node": lambda raw: {"type": "Buffer", "data": list(raw)},
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_bytes_are_read_however_they_are_spelled(name: str, tmp_path: Path, listed: Items) -> None:
    items, [source] = load(dump(tmp_path / "rows.jsonl", SPELLINGS[name]))
    assert source.outcomes == {"mapped": len(rows())}
    assert items == listed


def test_bytes_that_were_cut_are_said_to_be(tmp_path: Path) -> None:
    items, [source] = load(dump(tmp_path / "rows.jsonl", lambda raw: raw.hex()[:80] + "...(blob)"))
    assert source.outcomes["unparseable"] == sum(row["type"] != "null" for row in rows())
    assert ("truncated", source.outcomes["unparseable"]) in {(i["kind"], i["n"]) for i in items if i["type"] == "loss"}


def test_writes_are_told_without_their_checkpoint(tmp_path: Path, listed: Items) -> None:
    path = tmp_path / "writes.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in rows() if r["table"] == "writes"), encoding="utf-8")
    items, _ = load(path)
    texts = {i["content"] for i in items if i["type"] == "event"}
    assert texts == {i["content"] for i in listed if i["type"] == "event"}
    assert any(i["kind"] == "content_missing" for i in items if i["type"] == "loss")


def test_a_row_that_comes_again_is_a_duplicate(tmp_path: Path, listed: Items) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(ROWS.read_text(encoding="utf-8") * 2, encoding="utf-8")
    items, [source] = load(path)
    assert source.outcomes == {"duplicate": len(rows()), "mapped": len(rows())}
    assert items == listed


def test_every_kind_of_object_is_plain_data() -> None:
    found = unpack("msgpack", EVERY_KIND)
    assert found["set"] == [1]
    assert found["path"] == "/a/b"
    assert found["uuid"] == "00000000-0000-0000-0000-000000000005"
    assert (found["dec"], found["date"], found["ip"]) == ("1.50", [2026, 1, 2], "10.0.0.1")
    assert (found["deque"], found["bytes"], found["1"]) == ([1, 2], "/wA=", "intkey")
    assert found["send"]["node"] == "n"
    assert found["send"]["arg"]["k"][0]["content"] == "hi"
    assert found["exc"] == "ValueError('bad')"


class Bomb:
    def __reduce__(self) -> tuple[Any, ...]:
        return (pytest.fail, ("opened",))


def packed(code: int, *parts: Any) -> bytes:
    return msgspec.msgpack.encode(msgspec.msgpack.Ext(code, msgspec.msgpack.encode(parts)))


def test_a_named_class_is_neither_imported_nor_called() -> None:
    for code in range(6):
        assert unpack("msgpack", packed(code, "os", "system", "exit 1", "x")) == "exit 1"
    assert unpack("msgpack", packed(42, "os", "system", "exit 1")) == {"__ext__": 42, "bytes": 18}


@pytest.mark.parametrize(
    ("kind", "value", "error"),
    [
        ("pickle", pickle.dumps(Bomb()), ClosedError),
        ("msgpack+aes", b"\x00", ClosedError),
        ("later", b"\x00", ClosedError),
        ("msgpack", "8a00...", CutError),
        ("msgpack", "no hex", UnpackError),
        ("msgpack", b"\x81\xa1a", UnpackError),
        ("msgpack", b"\x91" * 5000, UnpackError),
        ("msgpack", [300], UnpackError),
        ("msgpack", 7, UnpackError),
        ("json", "{", UnpackError),
        ("json", '{"a": 1, "a": 2}', UnpackError),
    ],
)
def test_what_cannot_be_read_says_why(kind: str, value: Any, error: type[Exception]) -> None:
    with pytest.raises(error) as caught:
        unpack(kind, value)
    assert "exit" not in str(caught.value)


def test_extensions_within_extensions_come_to_an_end() -> None:
    data = msgspec.msgpack.encode("x")
    for _ in range(200):
        data = msgspec.msgpack.encode(msgspec.msgpack.Ext(7, data))
    with pytest.raises(UnpackError):
        unpack("msgpack", data)


def test_what_is_kept_closed_is_masked(tmp_path: Path) -> None:
    row = {**rows()[0], "type": "msgpack+aes"}
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    items, [source] = load(path)
    assert source.outcomes == {"masked": 1, "mapped": 0}
    assert [i["kind"] for i in items if i["type"] == "loss"] == ["masked"]


@pytest.mark.real
def test_recorded_rows_whose_bytes_were_cut_are_known(shared: Callable[[str], list[Path]]) -> None:
    for path in shared("samples/langgraph/*.sqlite_rows.jsonl"):
        _, [source] = load(path)
        assert list(source.dialects) == ["langgraph-sqlite"]
        assert source.outcomes.keys() == {"unparseable", "mapped"}
