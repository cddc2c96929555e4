"""Semantic Kernel: several files of one run are told as one, whatever their order; what no file shows is no clean."""

import io
import json
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from earwitness.audit.pipeline import Request, audit
from earwitness.ingest.kernelcalls import call_of, nested
from earwitness.ingest.kernelruns import merged
from earwitness.ingest.loader import Loader
from earwitness.ingest.record import Place, Source
from earwitness.reports.canonical import export
from earwitness.schema.case import Case
from earwitness.schema.policy import Policy, PolicyValue

PASSPORT = "P8842176"


def seen(agent: str | None, function: str, arguments: Any, result: str = "") -> dict[str, Any]:
    return {"agent": agent, "function": function, "arguments": arguments, "result": result, "is_streaming": False}


def message(role: str, name: str | None, *items: dict[str, Any], id: str | None = None) -> dict[str, Any]:
    metadata = {"id": id, "created": 1777881600} if id else {}
    return {"metadata": metadata, "content_type": "message", "role": role, "name": name, "items": list(items)}


def asks(call: str, function: str, arguments: str) -> dict[str, Any]:
    plugin, _, name = function.partition("-")
    return {
        "content_type": "function_call",
        "id": call,
        "name": function,
        "plugin_name": plugin,
        "function_name": name,
        "arguments": arguments,
    }


def gives(call: str, function: str, result: str) -> dict[str, Any]:
    return {**asks(call, function, ""), "content_type": "function_result", "result": result}


def text(said: str) -> dict[str, Any]:
    return {"content_type": "text", "text": said}


SEEN = [
    seen("seats", "Tools-find", {"name": "Mara Lind"}, PASSPORT),
    seen("booker", "seats-seats", {"messages": "Seat for Mara Lind", "instructions_override": "None"}, "12A"),
    seen("booker", "Tools-find", {"name": "Mara Lind"}, PASSPORT),
]
SAID = [
    message("assistant", "booker", asks("c1", "seats-seats", '{"messages": "Seat for Mara Lind"}'), id="r1"),
    message("tool", "booker", gives("c1", "seats-seats", "12A")),
    message("assistant", "booker", asks("c2", "Tools-find", '{"name": "Mara Lind"}'), id="r2"),
    message("tool", "booker", gives("c2", "Tools-find", f"{{'passport': '{PASSPORT}'}}")),
    message("assistant", "booker", text("Rebooked on 12A."), id="r3"),
]
TOLD = [
    ("C2", "booker", '{"messages": "Seat for Mara Lind"}'),
    ("C3", "seats", '{"name":"Mara Lind"}'),
    ("C4", "Tools-find", PASSPORT),
    ("C2", "seats", "12A"),
    ("C3", "booker", '{"name": "Mara Lind"}'),
    ("C4", "Tools-find", f"{{'passport': '{PASSPORT}'}}"),
    ("C1", "booker", "Rebooked on 12A."),
]


def written(folder: Path, **files: list[dict[str, Any]]) -> list[Path]:
    """Files of one run, by what they hold."""
    paths = [folder / f"run.{kind}.jsonl" for kind in files]
    for path, records in zip(paths, files.values(), strict=True):
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return paths


def exported(paths: list[Path]) -> tuple[bytes, list[Source]]:
    with Case() as case:
        sources = Loader(case).load(paths)
        assert all(sum(source.outcomes.values()) == source.records for source in sources)
        out = io.BytesIO()
        export(case, out)
        return out.getvalue(), sources


def told(paths: list[Path]) -> list[tuple[str, str, str]]:
    lines = [json.loads(line) for line in exported(paths)[0].splitlines()]
    events = sorted((e for e in lines if e["type"] == "event"), key=lambda e: e["seq"])
    return [(e["channel"], e["sender"], e["content"]) for e in events]


def verdicts(paths: list[Path]) -> dict[str, str]:
    """What an audit says of each channel when nobody may know a value that nobody wrote."""
    with Case() as case:
        Loader(case).load(paths)
        audit(case, Request(policy=Policy(values=(PolicyValue(attribute="pin", value="9917-2204"),))))
        return dict(case.rows("SELECT channel, verdict FROM coverage"))


def test_messages_and_filter_tell_each_call_once_in_the_order_of_both(tmp_path: Path) -> None:
    paths = written(tmp_path, filter=SEEN, messages=SAID)
    assert told(paths) == TOLD
    assert exported(paths)[0] == exported(paths[::-1])[0]
    outcomes = {s.name.split(".")[-2]: s.outcomes for s in exported(paths)[1]}
    assert outcomes == {"filter": {"duplicate": 2, "mapped": 1}, "messages": {"mapped": 5}}


def test_the_order_of_files_changes_nothing(tmp_path: Path) -> None:
    history = [message("user", None, text("Rebook Mara Lind.")), *SAID]
    paths = written(tmp_path, filter=SEEN, callback=SAID[:3], history=history, again=SEEN[1:])
    turned = [paths[n:] + paths[:n] for n in range(len(paths))]
    all_ways = {exported(ordered)[0] for way in turned for ordered in (way, way[::-1])}
    assert len(all_ways) == 1
    assert told(paths) == TOLD


def test_a_filter_gives_the_answer_that_messages_miss(tmp_path: Path) -> None:
    paths = written(tmp_path, filter=SEEN, messages=[SAID[0], SAID[4]])
    assert told(paths) == [*TOLD[:4], ("C3", "booker", '{"name":"Mara Lind"}'), ("C4", "Tools-find", PASSPORT), TOLD[6]]


def test_calls_of_agents_without_messages_stand_inside_of_the_call_to_an_agent(tmp_path: Path) -> None:
    """The filter is on the kernel of the inner agent only."""
    assert told(written(tmp_path, filter=SEEN[:1], messages=SAID)) == TOLD


def test_calls_come_before_the_words_of_their_agent_where_messages_hold_none(tmp_path: Path) -> None:
    said = [message("assistant", name, text(f"{name} speaks"), id=name) for name in ("desk", "booker", "seats")]
    calls = [seen("booker", "Tools-find", {"n": 1}, "one"), seen("seats", "Tools-find", {"n": 2}, "two")]
    senders = [(channel, sender) for channel, sender, _ in told(written(tmp_path, filter=calls, messages=said))]
    assert senders == [
        ("C2", "desk"),
        ("C3", "booker"),
        ("C4", "Tools-find"),
        ("C2", "booker"),
        ("C3", "seats"),
        ("C4", "Tools-find"),
        ("C1", "seats"),
    ]


def test_a_result_without_id_is_a_copy(tmp_path: Path) -> None:
    done = message("assistant", "booker", asks("c9", "Handoff-complete_task", '{"task_summary": "Done."}'), id="r9")
    result = message("assistant", "booker", text("Task is completed with summary: Done."))
    calls = [seen("booker", "Handoff-complete_task", {"task_summary": "Done."})]
    assert told(written(tmp_path, a_result=[result], callback=[done], filter=calls)) == [("C1", "booker", "Done.")]
    assert told(written(tmp_path, filter=calls)[-1:]) == [("C1", "booker", "Done.")]


def test_what_agents_do_as_plugins_is_clean_only_where_it_is_seen(tmp_path: Path) -> None:
    said, calls = written(tmp_path, messages=SAID, filter=SEEN)
    hidden, shown = verdicts([said]), verdicts([said, calls])
    assert [hidden[c] for c in ("C1", "C2", "C3", "C4")] == ["clean"] + ["unverifiable"] * 3
    assert [shown[c] for c in ("C1", "C2", "C3")] == ["clean"] * 3
    assert [shown[c] for c in ("C4", "C5", "C6", "C7")] == ["unverifiable"] * 4


def test_histories_without_calls_prove_nothing_of_calls(tmp_path: Path) -> None:
    verdict = verdicts(written(tmp_path, history=[message("user", None, text("Go.")), SAID[4]]))
    assert [verdict[f"C{n}"] for n in range(1, 8)] == ["clean"] * 2 + ["unverifiable"] * 5


@pytest.mark.parametrize(
    ("ended", "outer"),
    [
        ([("a", "x"), ("b", "a-a")], [("b", "a-a", ["x"])]),
        ([("b", "x"), ("a", "y"), ("b", "a-a")], [("b", "x", []), ("b", "a-a", ["y"])]),
        ([("a", "x"), ("b", "a-a"), ("a", "y"), ("b", "a-a")], [("b", "a-a", ["x"]), ("b", "a-a", ["y"])]),
        ([("a", "x"), ("c", "y"), ("b", "a-a"), ("b", "c-c")], [("b", "a-a", ["x"]), ("b", "c-c", ["y"])]),
        ([("a", "x"), ("a", "a-a")], [("a", "x", []), ("a", "a-a", [])]),
        ([("a", "x"), ("a", "Handoff-transfer_to_b"), ("b", "a-a")], [("a", "x", []), ("b", "a-a", [])]),
    ],
)
def test_what_ended_before_a_call_to_its_agent_was_inside_of_it(ended: Any, outer: Any) -> None:
    calls = [call_of(seen(agent, function, {}), Place(n, 0, 0)) for n, (agent, function) in enumerate(ended)]
    found = [(c.caller, f"{c.tool}-{c.tool}" if c.agent else c.tool, [i.tool for i in c.inside]) for c in nested(calls)]
    assert found == outer


@pytest.mark.parametrize(
    ("files", "order", "copies"),
    [
        (["abc", "abc"], "abc", "abc"),
        (["ac", "abc"], "abc", "ac"),
        (["bc", "abcd"], "abcd", "bc"),
        (["aba", "aab"], "aba", "aab"),
        (["ab", "cd"], "abcd", ""),
        (["", "ab"], "ab", ""),
        (["ad", "abd", "acd"], "abcd", "adad"),
    ],
)
def test_files_of_one_run_are_merged_at_what_they_share(files: list[str], order: str, copies: str) -> None:
    got, repeated = merged([list(file) for file in files], str)
    assert sorted("".join(got)) == sorted(order)
    assert sorted(repeated) == sorted(copies)
    assert all("".join(c for c in got if c in file).startswith(file[:1]) for file in files)


def test_calls_nested_beyond_any_limit_are_told(tmp_path: Path) -> None:
    calls = [seen(f"a{n + 1}", f"a{n}-a{n}", {"messages": "go"}, "went") for n in range(3000)]
    assert len(told(written(tmp_path, filter=calls))) == 6000


@pytest.mark.real
def test_recordings_of_a_run_are_told_once_in_any_order(shared: Callable[[str], list[Path]]) -> None:
    kinds = ("function_filter.jsonl", "on_intermediate_message.jsonl", "chat_history_serialize.json")
    paths = [p for kind in kinds for p in shared(f"samples/semantic_kernel/plugin.{kind}")]
    assert len({exported(list(ordered))[0] for ordered in permutations(paths)}) == 1
    channels = [channel for channel, _, _ in told(paths)]
    assert channels == ["C2", "C2", "C3", "C4", "C2", "C2", "C1"]


@pytest.mark.real
def test_all_files_of_a_handoff_say_the_same(shared: Callable[[str], list[Path]]) -> None:
    kinds = ("agent_response_callback.jsonl", "streaming_callback.jsonl", "result.json", "function_filter.jsonl")
    paths = [p for kind in kinds for p in shared(f"samples/semantic_kernel/handoff.{kind}")]
    assert told(paths) == told(paths[:1])
    assert told(paths[::-1]) == told(paths[:1])
