"""Mapping files: any JSON by one expression a field; mistakes are located, nothing is mapped in silence."""

import json
from pathlib import Path
from typing import Any

import pytest

from earwitness.ingest.loader import Loader
from earwitness.ingest.mapdraft import draft
from earwitness.ingest.mapping import MappedAdapter, load_mapping
from earwitness.reports.mapped import preview
from earwitness.schema.case import Case
from earwitness.schema.errors import InputError

RUNS: list[dict[str, Any]] = [
    {
        "run_id": "r1",
        "tool": "in house",
        "steps": [
            {
                "type": "say",
                "who": "lead",
                "to": ["clerk", "helper"],
                "payload": {"text": "the pin is 4471"},
                "at": 1767268800,
            },
            {"type": "use", "who": "clerk", "to": "ledger", "payload": {"text": {"amount": 12}}, "at": 13},
            {"type": "tick", "who": "clock"},
            {"type": "odd", "who": "clerk", "payload": {"text": "x"}},
            {"type": "say", "who": "clerk", "to": None, "payload": {}},
        ],
    },
    {"run_id": "r2", "steps": []},
]
MAP = """
[records]
each = "steps[]"
[event]
trace = "run_id"
channel = "type"
content = "payload.text"
sender = "who"
to = "to"
time = "at"
[channels]
say = "C2"
use = "C3"
tick = "ignore"
[trace]
framework = "tool"
"""


def load(tmp_path: Path, mapping: str = MAP, runs: list[dict[str, Any]] = RUNS) -> Case:
    (tmp_path / "m.toml").write_text(mapping)
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(r) + "\n" for r in runs))
    case = Case()
    Loader(case, adapter=MappedAdapter(load_mapping(tmp_path / "m.toml"))).load([tmp_path / "t.jsonl"])
    return case


def test_events_of_a_record(tmp_path: Path) -> None:
    with load(tmp_path) as case:
        rows = case.rows(
            "SELECT channel, sender, text, pointer FROM events JOIN contents USING (content) ORDER BY event"
        )
        assert rows == [("C2", "lead", "the pin is 4471", "#0"), ("C3", "clerk", '{"amount":12}', "#1")]
        assert case.rows("SELECT recipient FROM deliveries ORDER BY rowid") == [("clerk",), ("helper",), ("ledger",)]
        assert case.rows("SELECT trace_id, framework FROM traces") == [("r1", "in house")]
        assert case.rows("SELECT outcome, records FROM outcomes ORDER BY 1") == [("ignored", 1), ("mapped", 1)]


def test_an_event_a_line(tmp_path: Path) -> None:
    mapping = '[event]\ncontent = "text"\nchannel = "\'C6\'"\n'
    with load(tmp_path, mapping, [{"text": "a"}, {"other": 1}, {"text": "b"}]) as case:
        assert case.rows("SELECT channel, count(*) FROM events GROUP BY 1") == [("C6", 2)]
        assert case.rows("SELECT outcome FROM records") == [("unparseable",)]
        assert case.one("SELECT trace_id FROM traces").endswith("t.jsonl")


def test_a_preview_masks_every_word(tmp_path: Path) -> None:
    with load(tmp_path) as case:
        shown = "\n".join(preview(case, 5))
    assert "xxx xxx xx xxxx" in shown
    assert "lead > clerk, helper" in shown
    assert "4471" not in shown


@pytest.mark.parametrize(
    ("mapping", "cause"),
    [
        ("[event]\ncontent = 'a'", "needs channel"),
        ("[event]\ncontent = 'a'\nchannel = 'b['", "event.channel: not a JMESPath"),
        ("[event]\ncontent = 'a'\nchannel = 3", "event.channel: not a JMESPath"),
        ("[event]\ncontent = 'a'\nchannel = 'b'\ncolour = 'c'", "unknown key event.colour"),
        ("[event]\ncontent = 'a'\nchannel = 'b'\n[channels]\nx = 'C9'", "maps to C9"),
        ("[event", "not TOML"),
    ],
)
def test_mistakes(tmp_path: Path, mapping: str, cause: str) -> None:
    (tmp_path / "m.toml").write_text(mapping)
    with pytest.raises(InputError, match=r"m\.toml: ") as caught:
        load_mapping(tmp_path / "m.toml")
    assert cause in str(caught.value)


def test_a_draft_is_a_mapping_that_works(tmp_path: Path) -> None:
    same = {"session_id": "s", "source": "a", "target": "b", "content": "the pin is 4471"}
    runs = [{**same, "type": kind} for kind in ("message", "tool_call")]
    text = draft(runs)
    assert "4471" not in text
    with load(tmp_path, text, runs) as case:
        assert case.rows("SELECT channel, sender FROM events ORDER BY event") == [("C2", "a"), ("C3", "a")]


def test_a_draft_finds_the_list_of_events() -> None:
    assert 'each = "steps[]"' in draft(RUNS)
