"""Files of one name in several folders, and files that recorded one run side by side."""

import json
from pathlib import Path
from typing import Any

import pytest

from earwitness.ingest.loader import Loader
from earwitness.ingest.stems import Stems
from earwitness.schema.case import Case

RUN = "9" * 31 + "e"
# Too short for the link of two traces that share one text.
WORDS = ("Ines Roth lives in Jena.", "Write to her on Monday.")


@pytest.mark.parametrize(
    ("names", "stems"),
    [
        (["a/run.jsonl", "a/run.state.json", "run.jsonl"], ["run", "run", "./run"]),
        (["run.jsonl", "a/run.jsonl", "b/run.jsonl", "a/run.jsonl"], ["run", "a/run", "b/run", "a/run"]),
        (["a/x/run.jsonl", "b/x/run.jsonl", "c/x/run.jsonl"], ["run", "x/run", "c/x/run"]),
        (["a/x.zip!run.jsonl", "a\\y.zip!run.jsonl"], ["run", "y.zip/run"]),
        (["a/run_0.2.jsonl", "b/swarm.run_stream.jsonl"], ["run_0.2", "swarm"]),
    ],
)
def test_stems(names: list[str], stems: list[str]) -> None:
    known = Stems()
    assert [known.of(name) for name in names] == stems
    assert [known.of(name) for name in names] == stems


def message(name: str, text: str, **more: Any) -> dict[str, Any]:
    part = {"content_type": "text", "text": text, "metadata": {}}
    return {"content_type": "message", "role": "assistant", "name": name, "items": [part], "metadata": {}, **more}


def write(path: Path, *rows: Any) -> Path:
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def load(*paths: Path) -> Case:
    case = Case()
    assert all(s.problem is None for s in Loader(case).load(list(paths)))
    return case


def traces(case: Case) -> list[str]:
    return [name for (name,) in case.rows("SELECT trace_id FROM traces ORDER BY ALL")]


def test_files_of_one_name_in_two_folders_are_two_runs(tmp_path: Path) -> None:
    paths = [write(tmp_path / f / "run.callback.jsonl", message("clerk", f"In {f} it rains.")) for f in ("x", "y")]
    more = write(tmp_path / "y" / "run.other.jsonl", message("desk", "So it does in the south."))
    with load(*paths, more) as case:
        assert traces(case) == ["sk-run", "sk-y/run"]
        assert case.rows("SELECT count(*) FROM events GROUP BY trace ORDER BY ALL") == [(1,), (2,)]


def runtime(number: str, *said: tuple[str, str]) -> list[dict[str, Any]]:
    """A log of a runtime in which each agent says something to all."""
    return [
        {
            "payload": json.dumps({"body": message(name, text)}),
            "sender": f"{name}_{number}/default",
            "receiver": f"{number}/default",
            "kind": "MessageKind.PUBLISH",
            "delivery_stage": "DeliveryStage.SEND",
            "type": "Message",
        }
        for name, text in said
    ]


def links(case: Case) -> list[tuple[str, str, str, int]]:
    query = "SELECT least(trace_id, other), greatest(trace_id, other), kind, n FROM links JOIN traces USING (trace)"
    return case.rows(f"{query} ORDER BY ALL")


SAID = (("clerk", WORDS[0]), ("desk", WORDS[1]))


def test_same_agents_and_same_words_link_the_files_of_a_run(tmp_path: Path) -> None:
    callback = write(tmp_path / "a.callback.jsonl", *(message(*said) for said in SAID))
    log = write(tmp_path / "a.runtime.jsonl", *runtime(RUN, *SAID))
    with load(callback, log) as case:
        assert links(case) == [(f"sk-{RUN}", "sk-a", "text", 2)]


def test_one_text_in_common_links_nothing(tmp_path: Path) -> None:
    callback = write(tmp_path / "a.callback.jsonl", message(*SAID[0]), message("desk", "No, do not write to her."))
    log = write(tmp_path / "a.runtime.jsonl", *runtime(RUN, *SAID))
    with load(callback, log) as case:
        assert links(case) == []


def test_two_runs_that_say_the_same_are_not_told_apart_by_words(tmp_path: Path) -> None:
    callback = write(tmp_path / "a.callback.jsonl", *(message(*said) for said in SAID))
    logs = [write(tmp_path / f"{n}.runtime.jsonl", *runtime(f"{n}" * 32, *SAID)) for n in (1, 2)]
    with load(callback, *logs) as case:
        assert links(case) == []


def test_the_number_of_an_orchestration_links_its_logs(tmp_path: Path) -> None:
    head = "2026-03-02 09:00:01,060 semantic_kernel.agents.orchestration."
    text = tmp_path / "other.plain.log"
    text.write_text(
        f"{head}group_chat DEBUG Registered agent actor of type clerk_{RUN}\n"
        f"2026-03-02 09:00:02,060 semantic_kernel.connectors.ai.chat_completion_client_base ERROR No answer came.\n",
        encoding="utf-8",
    )
    log = write(tmp_path / "a.runtime.jsonl", *runtime(RUN, *SAID))
    with load(text, log) as case:
        assert traces(case) == [f"sk-{RUN}", f"sk-log-{RUN}"]
        assert links(case) == [(f"sk-{RUN}", f"sk-log-{RUN}", "run_id", 1)]
