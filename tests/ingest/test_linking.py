"""One run in many traces: what joins them, what only links them, and what does neither."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from earwitness.ingest.adapters.datadog_llmobs import ADAPTER as DATADOG
from earwitness.ingest.adapters.jaeger import ADAPTER as JAEGER
from earwitness.ingest.loader import Loader
from earwitness.ingest.record import Place, Record
from earwitness.ingest.spans.evidence import contexts_of, conversation_of, member_of, tasks_of
from earwitness.ingest.spans.otlp import read_links
from earwitness.ingest.spans.span import Span
from earwitness.ingest.spans.tree import build
from earwitness.ingest.spans.unify import unified
from earwitness.reports.canonical import export
from earwitness.reports.inspection import inspect
from earwitness.schema.case import Case

Find = Callable[[str], list[Path]]
GOLDEN = Path(__file__).parent.parent / "golden" / "ingest" / "otlp-spans"
PROBLEMS = Path(__file__).parent.parent / "golden" / "problems"
A, B, C = ("a" * 31 + "1", "b" * 31 + "2", "c" * 31 + "3")
HERE = Place(1, 0, 10)


def links(case: Case) -> dict[tuple[str, bool], int]:
    """Links by kind and whether they joined."""
    return {(k, j): n for k, j, n in case.rows("SELECT kind, joined, count(*) FROM links GROUP BY ALL")}


def load(*paths: Path) -> Case:
    case = Case()
    sources = Loader(case).load(list(paths))
    assert all(s.problem is None and sum(s.outcomes.values()) == s.records for s in sources)
    return case


def write(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def span(trace: str, me: str, **more: Any) -> Span:
    return Span(trace_id=trace, span_id=me, place=HERE, **more)


# Files.


@pytest.mark.parametrize(
    ("name", "traces", "expected"),
    [
        ("parent", 1, {("parent", True): 1}),
        ("counted_ids", 2, {}),
        ("span_link", 1, {("span_link", True): 1}),
        ("batch", 2, {("span_link", False): 1}),
        ("traceparent", 2, {("traceparent", True): 1}),
        ("run_id", 2, {("run_id", True): 1}),
        ("agent", 1, {("agent", True): 1}),
        ("conversation_text", 1, {("conversation", True): 1}),
        ("conversation_handoff", 1, {("conversation", True): 1}),
        ("conversation_same_words", 2, {("conversation", True): 1, ("conversation", False): 1}),
        ("conversation_alone", 3, {("conversation", False): 1}),
        ("apart", 3, {("task", False): 1, ("text", False): 1, ("tool_call", False): 1}),
    ],
)
def test_each_kind_of_evidence(name: str, traces: int, expected: dict[tuple[str, bool], int]) -> None:
    with load(GOLDEN / f"linked_{name}.in.jsonl") as case:
        assert case.count("traces") == traces
        assert links(case) == expected


def all_spans() -> list[dict[str, Any]]:
    """Every span of the linked samples, each in an envelope; ids of one sample have nothing to do with another's."""
    out = []
    for n, path in enumerate(sorted(GOLDEN.glob("linked_*.in.jsonl"))):
        for line in path.read_text().splitlines():
            for row in json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"]:
                text = json.dumps(row)
                for letter in "abc":
                    text = text.replace(
                        f"{letter}0000000000000000000000000000", f"{letter}{n:02}00000000000000000000000000"
                    )
                    text = text.replace(f"{letter * 2}0000000000000", f"{letter * 2}{n:02}00000000000")
                text = text.replace("s-9", f"s-9-{n}").replace("asst_1", f"asst_{n}").replace("task-8", f"task-8-{n}")
                out.append({"resourceSpans": [{"scopeSpans": [{"spans": [json.loads(text)]}]}]})
    return out


SPANS = all_spans()


def partition(case: Case) -> tuple[set[Any], set[Any]]:
    """Runs and links, with links that stay apart as pairs without a direction."""
    query = "SELECT trace_id, other, kind, joined, n FROM links JOIN traces USING (trace)"
    rows = case.rows(query)
    pairs = {(tuple(sorted((a, b))) if not joined else (a, b), kind, joined, n) for a, b, kind, joined, n in rows}
    return {t for (t,) in case.rows("SELECT trace_id FROM traces")}, pairs


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None, max_examples=6
)
@given(order=st.permutations(range(len(SPANS))), cut=st.integers(0, len(SPANS)))
def test_joining_does_not_depend_on_the_order_of_lines_or_files(tmp_path: Path, order: list[int], cut: int) -> None:
    with load(write(tmp_path / "all.jsonl", *SPANS)) as case:
        expected = partition(case)
    lines = [SPANS[n] for n in order]
    with load(write(tmp_path / "1.jsonl", *lines[:cut]), write(tmp_path / "2.jsonl", *lines[cut:])) as case:
        assert partition(case) == expected


def test_traces_of_the_same_moment_with_the_same_words_are_not_one_run(tmp_path: Path) -> None:
    def chat(trace: str, name: str) -> dict[str, Any]:
        said = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "Gate 14, from noon on."}]}])
        attributes = {"gen_ai.operation.name": "chat", "gen_ai.output.messages": said}
        rows = [{"key": k, "value": {"stringValue": v}} for k, v in attributes.items()]
        row = {"traceId": trace, "spanId": name, "startTimeUnixNano": "1780000000000000000", "attributes": rows}
        return {"resourceSpans": [{"scopeSpans": [{"spans": [row]}]}]}

    with load(write(tmp_path / "f.jsonl", chat(A, "a" * 16), chat(B, "b" * 16))) as case:
        assert (case.count("traces"), case.count("links")) == (2, 0)


def test_a_joined_run_is_told_in_causal_order() -> None:
    """The clock of the consumer is behind: it took the message 15 ms before it was sent."""
    with load(GOLDEN / "linked_span_link.in.jsonl") as case:
        rows = case.rows(
            "SELECT text FROM events JOIN contents USING (content) WHERE channel IN ('C1', 'C2') ORDER BY seq"
        )
    assert [text for (text,) in rows] == [
        "Which gate has flight XQ 771?",
        "I have asked for the gate.",
        "Flight XQ 771 leaves from gate 14.",
    ]


# What names an id that was joined.


def test_lines_that_name_a_joined_id_mean_the_run(tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = [
        {"type": "label", "trace": "part", "event": "e2", "leaked": ["ssn"]},
        {"type": "value", "trace": "part", "attribute": "ssn", "value": "078-05-1120"},
        {"type": "event", "trace": "part", "id": "e2", "channel": "C2", "content": "two", "seq": 0, "time": 1780000002},
        {"type": "event", "trace": "run", "id": "e1", "channel": "C2", "content": "one", "seq": 0, "time": 1780000001},
        {"type": "rule", "trace": "part", "effect": "allow"},
        {"type": "link", "trace": "run", "other": "part", "kind": "span_link", "joined": True},
        {"type": "link", "trace": "else", "other": "part", "kind": "text"},
    ]
    with load(write(tmp_path / "f.jsonl", *lines)) as case:
        assert case.rows("SELECT trace_id FROM traces ORDER BY 1") == [("else",), ("run",)]
        run = case.one("SELECT trace FROM traces WHERE trace_id = 'run'")
        for table in ("labels", "vault", "rules", "events"):
            assert {t for (t,) in case.rows(f"SELECT trace FROM {table}")} == {run}, table
        query = "SELECT event_id FROM events ORDER BY seq"
        assert case.rows(query) == [("e1",), ("e2",)]
        assert case.rows("SELECT other FROM links WHERE NOT joined") == [("run",)]
        Loader(case).load([write(tmp_path / "later.jsonl", {**lines[0], "event": "e1"})])
        assert {t for (t,) in case.rows("SELECT trace FROM labels")} == {run}
        Loader(case).load([write(tmp_path / "new.jsonl", {**lines[0], "trace": "new"})])
        assert case.one("SELECT count(DISTINCT trace) = count(*) FROM traces")
        out = io.BytesIO()
        export(case, out)
    (tmp_path / "again.jsonl").write_bytes(out.getvalue())
    with load(tmp_path / "again.jsonl") as case:
        again = io.BytesIO()
        export(case, again)
    assert again.getvalue() == out.getvalue()


@pytest.mark.parametrize(
    ("pairs", "runs"),
    [
        ([("a", "b"), ("b", "c")], {"a"}),
        ([("a", "b"), ("b", "a")], {"a"}),
        ([("a", "a")], {"a", "b", "c"}),
        ([("c", "a"), ("a", "b")], {"c"}),
    ],
)
def test_chains_and_circles_of_links_end(tmp_path: Path, pairs: list[tuple[str, str]], runs: set[str]) -> None:
    events = [{"type": "event", "trace": t, "channel": "C2", "content": t, "id": t} for t in "abc"]
    joins = [{"type": "link", "trace": t, "other": o, "kind": "parent", "joined": True} for t, o in pairs]
    with load(write(tmp_path / "f.jsonl", *events, *joins)) as case:
        assert {t for (t,) in case.rows("SELECT trace_id FROM traces")} >= runs
        used = {t for (t,) in case.rows("SELECT DISTINCT trace_id FROM events JOIN traces USING (trace)")}
        assert runs <= used
        assert case.count("events") == 3
        assert not case.one("SELECT count(*) FROM links JOIN traces USING (trace) WHERE other = trace_id")


def test_links_of_the_tables_are_no_pairs_of_everything(tmp_path: Path) -> None:
    traces = [{"type": "trace", "id": f"t{n}", "attributes": {"conversation": "one"}} for n in range(50)]
    with load(write(tmp_path / "f.jsonl", *traces)) as case:
        assert links(case) == {("conversation", False): 49}


TEXT = "Please find the gate of flight XQ 771."


@pytest.mark.parametrize(
    ("extra", "linked"),
    [
        ([], 1),
        ([{"type": "sighting", "trace": "z", "actor": "q", "kind": "initial", "content": TEXT}], 0),
        ([{"type": "sighting", "trace": "a", "actor": "p", "kind": "initial", "content": TEXT}], 0),
        ([{"type": "trace", "id": t, "scenario": "s"} for t in "ab"], 0),
    ],
    ids=["crosses", "a third holds it", "the giver was given it", "two runs of one scenario"],
)
def test_a_text_links_two_traces_if_it_can_only_have_crossed(tmp_path: Path, extra: list[Any], linked: int) -> None:
    lines = [
        {"type": "event", "trace": "a", "channel": "C2", "sender": "p", "to": ["q"], "content": TEXT},
        {"type": "sighting", "trace": "b", "actor": "q", "kind": "initial", "content": TEXT},
        *extra,
    ]
    with load(write(tmp_path / "f.jsonl", *lines)) as case:
        assert links(case).get(("text", False), 0) == linked


def test_inspect_says_what_was_joined_and_linked() -> None:
    with load(GOLDEN / "linked_conversation_same_words.in.jsonl", GOLDEN / "linked_batch.in.jsonl") as case:
        one, two = inspect(case)
    assert two["links"] == {"joined": {}, "linked": {"span_link": 1}} or one["links"]["joined"]
    assert one["links"]["joined"] == {"conversation": 1}


# What spans say.


@pytest.mark.parametrize(
    "row",
    [
        {"traceId": A, "spanId": "b" * 16},
        {"trace_id": A, "span_id": "b" * 16},
        {"context": {"trace_id": "0x" + A, "span_id": "0x" + "b" * 16}, "attributes": {}},
        {"traceID": A.upper(), "spanID": "b" * 16},
    ],
)
def test_span_links_in_every_spelling(row: dict[str, Any]) -> None:
    assert read_links([row, {}, None, {"traceId": A}]) == ((A, "b" * 16),)


def test_jaeger_references_into_other_traces_are_links() -> None:
    child = {"refType": "CHILD_OF", "traceID": A, "spanID": "d" * 16}
    follows = {"refType": "FOLLOWS_FROM", "traceID": B, "spanID": "e" * 16}
    row = {"traceID": A, "spanID": "f" * 16, "references": [follows, child]}
    (part,) = JAEGER.split(Record({"traceID": A, "spans": [row], "processes": {}}, HERE))
    assert (part.value.parent_id, part.value.links) == ("d" * 16, ((B, "e" * 16),))
    row["references"] = [follows]
    (part,) = JAEGER.split(Record({"traceID": A, "spans": [row], "processes": {}}, HERE))
    assert (part.value.parent_id, part.value.links) == (None, ((B, "e" * 16),))


def test_datadog_span_links() -> None:
    link = {"trace_id": str(int(B, 16)), "span_id": str(int("e" * 16, 16)), "attributes": {"from": "output"}}
    row = {"trace_id": A, "span_id": "f" * 16, "start_ns": 1, "meta": {"kind": "llm"}, "span_links": [link]}
    (part,) = DATADOG.split(Record({"spans": [row]}, HERE))
    assert part.value.links == ((B, "e" * 16),)


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"traceparent": f"00-{A}-{'b' * 16}-01"}, [(A, "b" * 16)]),
        ({"http.request.header.traceparent": [f"00-{A}-{'b' * 16}-01"]}, [(A, "b" * 16)]),
        ({"a2a.message.metadata": json.dumps({"traceparent": f"00-{A}-{'b' * 16}-01"})}, [(A, "b" * 16)]),
        ({"gen_ai.output.messages": f"traceparent: 00-{A}-{'b' * 16}-01"}, []),
        ({"metadata": f"00-{A}-{'b' * 16}-01"}, []),
        ({"traceparent": "none"}, []),
    ],
)
def test_contexts_are_read_where_they_are_passed_on(attributes: dict[str, Any], expected: list[Any]) -> None:
    assert list(contexts_of(span(C, "s", attributes=attributes))) == expected


RUN, TEAM = "0123456789abcdef0123456789abcdef", "89550f8a-b534-4744-b1d0-40d7c1ee9503"


@pytest.mark.parametrize(
    ("name", "attributes", "expected"),
    [
        (f"autogen publish group_topic_{TEAM}.({TEAM})-T", {}, (TEAM, "group_topic")),
        ("", {"messaging.destination": f"desk_{RUN}.(default)-A"}, (RUN, "desk")),
        ("", {"messaging.destination": f"{RUN}.(default)-T"}, (RUN, "")),
        ("", {"gen_ai.agent.name": "desk", "gen_ai.agent.id": f"desk_{TEAM}/{TEAM}"}, (TEAM, "desk")),
        ("", {"gen_ai.agent.name": "desk", "gen_ai.agent.id": TEAM}, None),
        (f"GET /users/{TEAM}", {}, None),
        ("", {"messaging.destination": f"queue-{RUN}"}, None),
        ("autogen process notes.(default)-A", {}, None),
    ],
)
def test_ids_of_runs_stand_in_addresses_of_a_runtime(name: str, attributes: dict[str, Any], expected: Any) -> None:
    assert member_of(span(A, "s", name=name, attributes=attributes)) == expected


def test_ids_of_conversations_and_tasks() -> None:
    assert conversation_of(span(A, "s", attributes={"metadata": '{"thread_id": "t-1"}'})) == "t-1"
    assert conversation_of(span(A, "s", attributes={"thread.id": "4711", "session.id": " "})) is None
    assert tasks_of(span(A, "s", attributes={"a2a.task.id": "t", "gcp.a2a.context_id": "c", "task.id": "x"})) == {
        "task": "t",
        "context": "c",
    }


# Trees.


def test_equal_span_ids_of_two_traces_stay_apart() -> None:
    spans = [
        span(A, "1"),
        span(A, "2", parent_id="1"),
        span(B, "1"),
        span(B, "3", parent_id="1", links=((A, "2"),)),
        span(B, "4", parent_id="2"),
    ]
    tree = build(unified(spans, lambda _: None))
    below = {n.span.span_id: n.parent.span.span_id for n in tree.nodes if n.parent}
    assert below == {"2": f"1@{A}", "3": f"1@{B}"}
    assert [n.span.span_id for n in tree.orphans] == ["4"]
    assert tree.roots[0].span.trace_id == A


def test_causes_that_go_round_in_a_circle_are_ordered_by_time() -> None:
    spans = [
        span(A, "a", start=2, links=((B, "b"),)),
        span(B, "b", start=1, links=((A, "a"),)),
        span(C, "c", start=0, links=((A, "a"),)),
    ]
    assert [n.span.span_id for n in build(unified(spans, lambda _: None)).roots] == ["b", "a", "c"]


# Recordings.


@pytest.mark.real
@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("samples/autogen/swarm.native_otel.spans.jsonl", {"span_link": 52, "run_id": 51, "agent": 3}),
        ("samples/autogen/swarm.native_otel.otlp.jsonl", {"span_link": 52, "run_id": 51, "agent": 3}),
        ("samples/autogen/swarm.openinference.spans.jsonl", {"agent": 3}),
        ("samples/autogen/core_routed.native_otel.spans.jsonl", {"span_link": 7}),
        ("samples/semantic_kernel/handoff.native_otel.spans.jsonl", {"span_link": 15, "run_id": 11}),
        ("samples/semantic_kernel/handoff.native_otel.otlp.jsonl", {"span_link": 15, "run_id": 11}),
        ("samples/semantic_kernel/groupchat.native_otel.spans.jsonl", {"span_link": 19, "run_id": 15}),
        ("samples/semantic_kernel/magentic.native_otel.spans.jsonl", {"span_link": 9, "run_id": 8}),
        ("samples/semantic_kernel/sequential.native_otel.spans.jsonl", {"span_link": 8, "run_id": 7}),
        ("samples/semantic_kernel/plugin.native_otel.spans.jsonl", {}),
        ("samples/ag2/ag2_1.2.1_hub.native_otel.spans.jsonl", {"span_link": 7}),
        ("samples/ag2/ag2_1.2.1_hub.spans.jsonl", {}),  # its spans hold no content
        ("samples/langgraph/supervisor.openllmetry.otlp_json.jsonl", {"agent": 3}),
    ],
)
def test_a_recorded_run_is_one_run(shared: Find, pattern: str, expected: dict[str, int]) -> None:
    with load(*shared(pattern)) as case:
        assert links(case) == {(kind, True): n for kind, n in expected.items()}
        assert case.count("traces") <= 1


@pytest.mark.real
def test_traces_without_any_id_in_common_stay_apart(shared: Find) -> None:
    """The old group chat of Semantic Kernel: no links, no id of a run, no conversation; only the file is one."""
    with load(*shared("samples/semantic_kernel/legacy.native_otel.spans.jsonl")) as case:
        assert (case.count("traces"), links(case)) == (4, {})


@pytest.mark.real
def test_the_members_of_the_swarm_got_each_message_once(shared: Find) -> None:
    with load(*shared("samples/autogen/swarm.native_otel.spans.jsonl")) as case:
        rows = case.rows("""
            SELECT sender, list_sort(list(recipient)) FROM events JOIN contents USING (content)
            JOIN deliveries USING (event)
            WHERE channel = 'C2' AND text LIKE '%4000-1234-5678-9010%' AND grade = 'declared' GROUP BY event, sender
        """)
    assert sorted(rows) == [
        ("sub_coordinator", ["coordinator", "worker"]),
        ("worker", ["coordinator", "sub_coordinator"]),
    ]


@pytest.mark.real
def test_a_run_in_two_encodings_is_one_run(shared: Find) -> None:
    paths = [p for s in ("spans", "otlp") for p in shared(f"samples/autogen/swarm.native_otel.{s}.jsonl")]
    with load(paths[0]) as one, load(*paths) as both:
        assert both.count("traces") == 1
        assert both.count("events") == one.count("events")


# Problems 9, 10 and 25 of those that people report.


def test_traces_of_sub_agents_are_joined_by_session_and_text() -> None:
    with load(*sorted((PROBLEMS / "09_a_trace_of_its_own_for_each_sub_agent").glob("*.jsonl"))) as case:
        assert links(case) == {("conversation", True): 1}
        assert case.count("traces") == 2


def test_a_parent_from_the_turn_before_is_found_and_flagged() -> None:
    with load(*sorted((PROBLEMS / "10_parent_from_the_previous_turn").glob("*.jsonl"))) as case:
        assert links(case) == {("parent", True): 1}
        answers = case.rows("""SELECT text FROM events JOIN contents USING (content) JOIN traces USING (trace)
                               WHERE channel = 'C1' AND trace_id LIKE '7c3e%' ORDER BY seq""")
    assert [text for (text,) in answers] == ["Whom do you mean?", "Her account is ZK-4471-08."]


def test_two_services_that_lost_the_context_are_linked_by_their_task() -> None:
    with load(*sorted((PROBLEMS / "25_trace_context_lost_between_agents").glob("*.jsonl"))) as case:
        assert links(case) == {("task", False): 1}
        assert case.count("traces") == 2
