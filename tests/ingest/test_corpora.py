"""Research corpora, MCP and A2A logs: hand-derived counts on the recordings, and what golden pairs cannot hold."""

import json
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from earwitness.ingest.loader import Loader
from earwitness.ingest.record import Source
from earwitness.ingest.registry import find_adapters
from earwitness.schema.case import Case

Shared = Callable[[str], list[Path]]
MINE = {
    "data/who_and_when/*/*.json": "who-and-when",
    "data/magpie/*/*/*/*.json": "magpie",
    "data/magpie/analysis/*/*/*.json": "magpie",
    "data/agentdojo_exfil/*.json": "agentdojo-exfil",
    "data/tau_bench/**/*.json*": "tau-bench",
    "data/mast_human19/*.json": "mast-log",
    "data/muses_bench/*/*.jsonl": "muses-bench",
    "data/privacylens/*.json": "privacylens",
    "data/inspect_ai/*.json": "inspect-ai",
    "data/inspect_ai/*.eval": "inspect-ai",
    "data/swe_agent/*.traj": "swe-agent",
    "data/agentleak_examples/*.json": "agentleak-example",
    "data/agentleak_scenarios/examples/*.jsonl": "agentleak-events",
    "data/agentleak_scenarios/traces_internal_channels.jsonl": "agentleak-channels",
    "data/agentleak_traces/published/*.json": "agentleak-results",
    "data/agentleak_traces/tools_labels/*/*.json": "agentleak-results",
    "samples/obs/generated/mcp/*.jsonl": "mcp-log",
    "samples/obs/generated/a2a/*.jsonl": "a2a-log",
}
_EVENTS = """
    SELECT t.trace_id, e.event_id, e.seq, e.channel, e.kind, e.sender, c.text,
           (SELECT list(d.recipient ORDER BY d.recipient) FROM deliveries d
            WHERE d.event = e.event AND d.grade <> 'consumed')
    FROM events e JOIN traces t USING (trace) JOIN contents c USING (content) ORDER BY t.trace_id, e.seq
"""


def imported(paths: list[Path], case: Case) -> list[Source]:
    """The sources of an import; nothing may have vanished, and nobody may be called by what is no name."""
    sources = Loader(case).load(paths)
    for source in sources:
        assert sum(source.outcomes.values()) == source.records, source.name
    names = {str(n).lower() for (n,) in case.rows("SELECT actor FROM actors")}
    assert not names & {"", "unknown", "none", "null", "undefined"}
    return sources


def events(case: Case) -> list[tuple[Any, ...]]:
    """Trace, id, seq, channel, kind, sender, text, recipients."""
    return case.rows(_EVENTS)


def channels(case: Case) -> dict[str, int]:
    """Events of each channel."""
    return dict(case.rows("SELECT channel, count(*) FROM events GROUP BY channel ORDER BY channel"))


@pytest.mark.real
@pytest.mark.parametrize(("pattern", "dialect"), MINE.items(), ids=lambda x: str(x).rsplit("/", 1)[-1])
def test_every_file_is_read_by_its_adapter(pattern: str, dialect: str, shared: Shared) -> None:
    with Case() as case:
        for source in imported(shared(pattern), case):
            assert source.problem is None
            assert set(source.dialects) <= {dialect}
            assert source.records == 0 or set(source.outcomes) <= {"mapped", "ignored", "duplicate"}


@pytest.mark.real
def test_every_file_of_the_corpora_is_recognised_or_refused_with_a_reason(shared: Shared) -> None:
    paths = [p for p in shared("data/**/*") if p.is_file() and "agentleak_traces/traces" not in str(p)]
    with Case() as case:
        sources = imported(paths, case)
        reasons = {r for (r,) in case.rows("SELECT reason FROM records WHERE outcome IN ('unsupported', 'unknown')")}
    texts = {"README.md", "SOURCE.md", "MANIFEST.tsv"}
    for source in sources:
        if Path(source.name).name not in texts and source.container != "zip":
            assert source.dialects, source.name
            assert not source.outcomes.get("unknown"), source.name
    assert all(reasons)


@pytest.mark.real
def test_seqs_number_events_and_sightings_on_one_count(shared: Shared) -> None:
    with Case() as case:
        imported(shared("data/who_and_when/*/1*.json") + shared("data/inspect_ai/*.json"), case)
        steps = case.rows("SELECT trace, seq FROM events UNION ALL SELECT trace, seq FROM sightings ORDER BY ALL")
    counted: dict[int, list[int]] = {}
    for trace, seq in steps:
        counted.setdefault(trace, []).append(seq)
    assert all(seqs == list(range(len(seqs))) for seqs in counted.values())


# Who&When


@pytest.mark.real
def test_the_sender_of_the_labelled_step_is_the_labelled_agent(shared: Shared) -> None:
    paths = shared("data/who_and_when/*/*.json")
    with Case() as case:
        imported(paths, case)
        said = {(t, e): sender for t, e, _, _, _, sender, _, _ in events(case)}
        labels = case.rows("SELECT trace_id, attributes FROM traces")
    hits = 0
    for trace, attributes in labels:
        label = json.loads(attributes)
        hits += said.get((trace, f"h{label['mistake_step']}")) == label["mistake_agent"]
    assert len(labels) == 123
    assert hits >= 119


@pytest.mark.real
def test_who_and_when_channels(shared: Shared) -> None:
    """1,954 hand-crafted turns of which 39 are the user's; 724 turns of group chats, 197 by the terminal."""
    with Case() as case:
        imported(shared("data/who_and_when/*/*.json"), case)
        assert channels(case) == {"C2": 1402, "C4": 202, "C6": 1034}
        alone = case.rows("SELECT DISTINCT e.kind FROM events e ANTI JOIN deliveries USING (event)")
    assert {k for (k,) in alone} <= {"thought", "termination condition", "message"}


# MAGPIE


def conversation(paths: list[Path]) -> Iterator[tuple[set[str], dict[str, Any]]]:
    """Names of the agents, and each message."""
    for path in paths:
        run = json.loads(path.read_text(encoding="utf-8"))
        names = {a["name"] for a in run["scenario_data"]["agents"]}
        yield from ((names, m) for m in run["conversation_log"])


@pytest.mark.real
def test_magpie_recipients_are_agents_of_the_scenario(shared: Shared) -> None:
    paths = shared("data/magpie/simulations/*/*/*.json")
    spoken = [m for _, m in conversation(paths) if m["type"] != "system_message"]
    with Case() as case:
        imported(paths, case)
        told = [e for e in events(case) if e[3] == "C2"]
        cast = {(t, a) for t, a in case.rows("SELECT trace_id, actor FROM actors JOIN traces USING (trace)")}
        strangers = case.one("SELECT count(*) FROM losses WHERE kind = 'orphan'")
    roster = {(name, a) for name, a in cast}
    assert len(told) == len(spoken) == 1021
    assert strangers == 0
    assert all((e[0], r) in roster and r != e[5] for e in told for r in e[7])
    assert all(" (" not in name for _, name in cast)


@pytest.mark.real
def test_magpie_labels_find_their_runs(shared: Shared) -> None:
    """103 judged items could be parsed: 19 partial, 2 full."""
    with Case() as case:
        imported(shared("data/magpie/*/*/*/*.json"), case)
        assert case.one("SELECT count(*) FROM traces") == 29
        assert case.one("SELECT count(*) FROM labels WHERE attribute IS NOT NULL") == 21
        assert case.one("SELECT count(*) FROM labels l ANTI JOIN events e USING (trace)") == 0


# AgentDojo


@pytest.mark.real
def test_exfiltrated_values_are_in_arguments_and_in_earlier_results(shared: Shared) -> None:
    """SOURCE.md: of 151 values 143 stand literally in the arguments, 48 in an earlier result; 8 hold line breaks."""
    (path,) = shared("data/agentdojo_exfil/*.json")
    with Case() as case:
        imported([path], case)
        told: dict[str, list[tuple[Any, ...]]] = {}
        for event in events(case):
            told.setdefault(event[0], []).append(event)
        values = case.rows("SELECT t.trace_id, lower(v.text) FROM vault v JOIN traces t USING (trace)")
    found = [_where(value, told[trace]) for trace, value in values]
    assert len(found) == 151
    assert [sum(column) for column in zip(*found, strict=True)] == [143, 151, 48]


def _where(value: str, told: list[tuple[Any, ...]]) -> tuple[bool, bool, bool]:
    """Whether a value is in the arguments of an exfiltrating call, as JSON writes it, and in an earlier result."""
    written = json.dumps(value, ensure_ascii=False)[1:-1]
    left = [e[6].lower() for e in told if e[3] == "C3" and e[1].startswith("x")]
    first = next(e[2] for e in told if e[1] == "x0")
    earlier = [e[6].lower() for e in told if e[3] == "C4" and e[2] < first]
    return any(value in x for x in left), any(written in x for x in left), any(value in x for x in earlier)


# tau-bench


@pytest.mark.real
def test_tau_calls_and_results_pair(shared: Shared) -> None:
    with Case() as case:
        imported(shared("data/tau_bench/gpt-4o-airline.subset.json"), case)
        assert channels(case) == {"C1": 917, "C3": 835, "C4": 835, "C6": 58}
        unpaired = case.rows("SELECT * FROM events WHERE channel = 'C4' AND parent_id IS NULL")
        assert not unpaired
        crossed = case.one("""
            SELECT count(*) FROM events r JOIN events c ON r.trace = c.trace AND r.parent_id = c.event_id
            JOIN deliveries d ON d.event = c.event WHERE r.channel = 'C4' AND r.sender <> d.recipient""")
        assert crossed == 0
        # 1,065 user turns, 148 system prompts, 148 instructions of the simulated user
        assert case.rows("SELECT kind, count(*) FROM sightings GROUP BY kind") == [("initial", 1361)]


@pytest.mark.real
def test_tau_users_are_values(shared: Shared) -> None:
    with Case() as case:
        imported(shared("data/tau_bench/vault/*.json"), case)
        assert case.one("SELECT count(DISTINCT subject) FROM vault") == 1000
        assert case.one("SELECT count(*) FROM vault WHERE attribute = 'email'") == 1000


# PrivacyLens, Muses-Bench, AgentLeak


@pytest.mark.real
def test_privacylens_items_and_calls(shared: Shared) -> None:
    (path,) = shared("data/privacylens/*.json")
    cases = json.loads(path.read_text(encoding="utf-8"))
    shown = [c["trajectory"]["executable_trajectory"] for c in cases]
    calls = sum(len(re.findall(r"^Action Input:", s, re.MULTILINE)) for s in shown)
    results = sum(len(re.findall(r"^Observation:", s, re.MULTILINE)) for s in shown)
    with Case() as case:
        imported([path], case)
        assert case.one("SELECT count(*) FROM vault") == 961
        assert channels(case) == {"C3": calls, "C4": results}


@pytest.mark.real
def test_muses_decisions_become_rules(shared: Shared) -> None:
    paths = shared("data/muses_bench/access_control/*.jsonl")
    lines = [json.loads(x) for p in paths for x in p.read_text(encoding="utf-8").splitlines()]
    truth = {(x["id"], u): d for x in lines for u, d in x["expected_result"]["decisions"].items()}
    effects = {"allow": "ACCEPT", "sanitize": "REJECT"}
    with Case() as case:
        imported(paths, case)
        rules = case.rows("SELECT scenario, unnest(recipients), effect FROM rules")
    assert {(s, u): effects[e] for s, u, e in rules} == truth


@pytest.mark.real
def test_agentleak_examples(shared: Shared) -> None:
    """Each of the six has one event on C1, C3, C4, C5 and C6; five have a message between agents."""
    with Case() as case:
        imported(shared("data/agentleak_examples/*.json"), case)
        assert channels(case) == {"C1": 6, "C2": 5, "C3": 6, "C4": 6, "C5": 6, "C6": 6}


@pytest.mark.real
def test_agentleak_lines(shared: Shared) -> None:
    with Case() as case:
        imported(shared("data/agentleak_scenarios/examples/*") + shared("data/agentleak_scenarios/traces_*"), case)
        assert channels(case) == {"C1": 1, "C2": 4, "C3": 2, "C4": 1, "C5": 4}
        assert case.one("SELECT count(*) FROM labels l ANTI JOIN events e USING (trace, event_id)") == 0


# SWE-agent, MAST


@pytest.mark.real
def test_swe_agent_steps(shared: Shared) -> None:
    paths = shared("data/swe_agent/*.traj")
    runs = [json.loads(p.read_text(encoding="utf-8")) for p in paths]
    steps = [s for r in runs for s in r.get("trajectory") or []]
    with Case() as case:
        imported(paths, case)
        found = channels(case)
    # function_calling_simple has no steps, but five turns in its history
    assert found["C3"] == len(steps) + 5 == 47
    assert found["C4"] == sum(bool(s["observation"]) for s in steps) + 5
    assert found["C7"] == 5


@pytest.mark.real
def test_mast_turns(shared: Shared) -> None:
    """ChatDev turns, AppWorld messages and MetaGPT actions counted in the texts by other patterns."""
    paths = shared("data/mast_human19/*.json")
    logs = {p.stem: json.loads(p.read_text(encoding="utf-8"))["trace_text"] for p in paths}
    with Case() as case:
        imported(paths, case)
        told = events(case)
    assert len({e[0] for e in told}) == 13
    for name, log in logs.items():
        mine = [e for e in told if e[0] == f"{int(name[:2])}{name[2:]}"]
        if "ChatDev" in name:
            assert sum(e[3] == "C2" for e in mine) == log.count(", turn ")
            assert sum(e[3] == "C7" for e in mine) == log.count("**[Update Codes]**")
        if "AppWorld" in name:
            assert sum(e[4] == "delegation" for e in mine) == log.count("\nEntering ")
            assert sum(e[4] == "code" for e in mine) == log.count("Response from ") - log.count("send_message API")
        if "OpenManus" in name:
            assert sum(e[3] == "C3" for e in mine) == log.count("🔧 Tool arguments: ") == 18


# Inspect


@pytest.mark.real
def test_inspect_browser_run(shared: Shared) -> None:
    """Four tool calls, four results, one answer; the log's texts are attachments that are put back."""
    with Case() as case:
        imported(shared("data/inspect_ai/*browser.json"), case)
        assert channels(case) == {"C1": 1, "C3": 4, "C4": 4, "C5": 3}
        assert not case.rows("SELECT * FROM contents WHERE text LIKE 'attachment://%'")
        assert case.one("SELECT count(*) FROM losses") == 0


@pytest.mark.real
def test_inspect_archive_and_json_are_the_same_sample(shared: Shared) -> None:
    with Case() as case:
        imported(shared("data/inspect_ai/log_formats.*"), case)
        assert case.one("SELECT count(*) FROM traces") == 1
        assert channels(case) == {"C1": 1}
        assert case.one("SELECT count(*) FROM records WHERE outcome = 'duplicate'") == 1


def test_inspect_archive_names_its_samples_by_its_header(tmp_path: Path) -> None:
    members: dict[str, Any] = {
        "_journal/start.json": {"version": 2, "eval": {"eval_id": "ev-1", "task": "who", "model": "m"}, "plan": {}},
        "samples/7_epoch_2.json": {
            "id": 7,
            "epoch": 2,
            "input": "Say no",
            "target": "No",
            "messages": [{"role": "user", "content": "Say no"}, {"role": "assistant", "content": "No"}],
        },
        "summaries.json": [{"id": 7, "epoch": 2, "input": "Say no", "target": "No", "scores": {}}],
        "reductions.json": [{"scorer": "match", "samples": []}],
    }
    with zipfile.ZipFile(tmp_path / "log.eval", "w") as archive:
        for name, value in members.items():
            archive.writestr(name, json.dumps(value))
    with Case() as case:
        sources = imported([tmp_path / "log.eval"], case)
        assert case.rows("SELECT trace_id, scenario, model FROM traces") == [("ev-1/7/2", "who", "m")]
    assert Counter(o for s in sources for o, n in s.outcomes.items() if n) == {"ignored": 3, "mapped": 1}


# MCP and A2A


@pytest.mark.real
def test_mcp_proxy_log(shared: Shared) -> None:
    with Case() as case:
        imported(shared("samples/obs/generated/mcp/*.jsonl"), case)
        assert channels(case) == {"C3": 2, "C4": 2}
        assert sum("jane.doe@example.com" in e[6] for e in events(case)) == 1
        assert case.rows("SELECT kind, n FROM losses") == [("failed_call", 1)]


@pytest.mark.real
@pytest.mark.parametrize(("name", "artifacts"), [("a2a_v03", 2), ("a2a_v1", 1)])
def test_a2a_logs(name: str, artifacts: int, shared: Shared) -> None:
    """The question is said once and seen again in the history; the IBAN is in one artifact."""
    with Case() as case:
        imported(shared(f"samples/obs/generated/a2a/{name}_jsonrpc.jsonl"), case)
        assert channels(case) == {"C2": 2, "C7": artifacts}
        told = [e[6] for e in events(case)]
        assert sum("jane.doe@example.com" in x for x in told) == 1
        assert sum("DE89370400440532013000" in x for x in told) == 1
        assert case.rows("SELECT kind, count(*) FROM sightings GROUP BY kind") == [("history", 1)]


def test_mcp_ids_are_told_apart_by_server_and_direction(tmp_path: Path) -> None:
    def line(way: str, server: str, **message: Any) -> str:
        return json.dumps({"dir": way, "server": server, "msg": {"jsonrpc": "2.0", **message}})

    out, back = "client->server", "server->client"
    call = {"method": "tools/call"}
    lines = [
        line(out, "a", id=1, **call, params={"name": "x", "arguments": {"q": 1}}),
        line(out, "b", id=1, **call, params={"name": "x", "arguments": {"q": 2}}),
        line(back, "b", id=1, result={"content": [{"type": "text", "text": "of b"}]}),
        line(back, "a", id=1, result={"content": [{"type": "text", "text": "of a"}]}),
    ]
    (tmp_path / "log.jsonl").write_text("\n".join(lines), encoding="utf-8")
    with Case() as case:
        imported([tmp_path / "log.jsonl"], case)
        assert [(e[5], e[6]) for e in events(case) if e[3] == "C4"] == [("b.x", "of b"), ("a.x", "of a")]


def damaged(value: Any, root: Any) -> Iterator[str]:
    """The record as often as it has parts, each time with another part taken out or replaced."""
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        kept = value[key]
        for junk in (None, 7, "", [], {}, [None], {"x": [1]}):
            value[key] = junk
            yield json.dumps(root)
        value[key] = kept
        yield from damaged(kept, root)


def golden_records(dialect: str) -> Iterator[Any]:
    folder = Path(__file__).parent.parent / "golden" / "ingest" / dialect
    for path in [p for p in folder.glob("*.in.*") if p.suffix != ".log"]:
        raw = path.read_text(encoding="utf-8")
        values = map(json.loads, raw.splitlines()) if path.suffix == ".jsonl" else [json.loads(raw)]
        for value in values:
            yield from value if isinstance(value, list) else [value]


@pytest.mark.parametrize("dialect", sorted(set(MINE.values())))
def test_damaged_records_are_accounted_for(dialect: str, tmp_path: Path) -> None:
    lines = [line for record in golden_records(dialect) for line in damaged(record, record)]
    (tmp_path / "damaged.jsonl").write_text("\n".join(lines), encoding="utf-8")
    with Case() as case:
        (source,) = Loader(case).load([tmp_path / "damaged.jsonl"])
    assert source.records >= len(lines)
    assert sum(source.outcomes.values()) == source.records
    assert source.outcomes["mapped"] >= 0


@pytest.mark.parametrize("value", [None, 3, "x", [], [1], {}, {"_line": 3}, {"jsonrpc": "2.0"}, {"events": [None]}])
def test_sniffing_never_raises(value: Any) -> None:
    for adapter in find_adapters():
        assert adapter.sniff(value) in (True, False)


@pytest.mark.parametrize("dialect", sorted(set(MINE.values()) | {"agent-text-log"}))
def test_no_other_adapter_wants_the_golden_records(dialect: str) -> None:
    """First come, first served would hide that two formats look alike."""
    folder = Path(__file__).parent.parent / "golden" / "ingest" / dialect
    for path in folder.glob("*.in.jsonl"):
        for raw in path.read_text(encoding="utf-8").splitlines():
            wanted = [a.NAME for a in find_adapters() if a.sniff(json.loads(raw))]
            # An error of JSON-RPC is of A2A or MCP; the lines around it decide.
            assert dialect in wanted
            assert wanted[0] == dialect or ('"error"' in raw and wanted[0] == "mcp-log"), path.name
