"""A tree of runs told: what models said, what tools were asked and gave back, what nodes wrote."""

import re
from collections.abc import Iterator
from typing import Any

from earwitness.ingest.langchain.graph import Graph
from earwitness.ingest.langchain.index import Index
from earwitness.ingest.langchain.messages import Call, Msg, arguments_text, clean, plain, read_messages
from earwitness.ingest.langchain.runs import Run, build, child_agent, unwrapped, walk
from earwitness.ingest.langchain.stops import interrupts_in, is_control
from earwitness.ingest.record import Emit, Place
from earwitness.ingest.spans.texts import as_text, loads
from earwitness.schema.model import Trace
from earwitness.schema.words import Channel

_ANSWERS = ("output", "answer", "result", "response", "content", "text", "output_text")
_ASKED = ("input", "question", "query", "request", "text", "prompt")
_QUIET = {"prompt", "parser", "embedding"}
# What a tracer writes of a tool that failed while it read its arguments, before it was called.
_UNFIT = re.compile(
    r'Traceback \(most recent call last\):\s+File "[^"\n]*langchain_core[^"\n]*", line \d+, in a?run\n'
    r'(?:(?! *File )[^\n]*\n)* *File "[^"\n]*", line \d+, in _to_args_and_kwargs\n'
)


def tell(runs: list[Run], trace: str, framework: str, told: Index) -> Iterator[Emit]:
    """The items of one trace; `told` are messages of others, to which those of this one are added."""
    graph = Graph(told)
    roots = replay(graph, runs)
    graph.close()
    ledger = graph.dialogue.ledger
    observable = _observable(graph, runs)
    models = {r.model for r in runs if r.kind == "llm" and r.model}
    thread = next((str(r.metadata["thread_id"]) for r in runs if r.metadata.get("thread_id")), None)
    head = Trace(
        id=trace,
        framework=framework,
        model=models.pop() if len(models) == 1 else None,
        started_at=next((r.start for r in roots if r.start), None),
        request=graph.dialogue.request,
        observable=observable,
        attributes={"thread_id": thread} if thread else None,
    )
    yield from ledger.tell(head, roots[0].place)


def replay(graph: Graph, runs: list[Run]) -> list[Run]:
    """Lead runs past the state of their graph; gives the roots of their trees."""
    roots, orphans = build(runs)
    graph.written = True
    for root in roots:
        for run, entering in walk(root):
            (_enter if entering else _leave)(graph, run)
    ledger = graph.dialogue.ledger
    if orphans:
        ledger.lose("orphan", None, "the parent run is not in the record", orphans)
    elsewhere = sum(r.references for r in runs)
    if elsewhere:
        ledger.lose("reference", None, "inputs or outputs kept elsewhere", elsewhere)
    return roots


def _observable(graph: Graph, runs: list[Run]) -> tuple[Channel, ...] | None:
    """A lone root is not the whole run: its children were not recorded."""
    if any(r.above or r.children for r in runs) or all(r.kind in ("llm", "tool") for r in runs):
        return graph.dialogue.ledger.shown()
    channels: tuple[Channel, ...] = ("C2", "C3", "C4", "C5", "C6")
    for channel in channels:
        graph.dialogue.ledger.lose("content_missing", channel, "the record holds the root run only")
    return ("C1",)


def _enter(graph: Graph, run: Run) -> None:
    path = str(run.metadata.get("langgraph_checkpoint_ns") or run.metadata.get("checkpoint_ns") or "")
    graph.enter(path.split("|") if path else [])
    if run.kind == "tool":
        _ask(graph, run)
    elif run.kind == "llm":
        _prompt(graph, run)
    elif run.kind == "retriever":
        _query(graph, run)
    elif run.kind not in _QUIET and (run.above is None or run.is_node or _begins(run)):
        _given(graph, run)


def _begins(run: Run) -> bool:
    return run.above is not None and run.agent is not None and run.agent != run.above.agent


def _given(graph: Graph, run: Run) -> None:
    """What a node or an agent was given: its view of the state."""
    inputs = plain(run.inputs)
    if run.agent is None or run.name == "tools" or (isinstance(inputs, dict) and inputs.get("__type")):
        viewer = None
    else:
        viewer = run.agent
    resumed = inputs.get("resume") if isinstance(inputs, dict) and ("goto" in inputs or "__call__" in inputs) else None
    if resumed is not None:
        graph.reply(viewer, resumed, run.place.at("/inputs"), run.start)
    for msg in _messages_or_text(inputs, _ASKED, "human"):
        graph.dialogue.meet(msg, run.place.at("/inputs"), viewer=viewer, kind="state", time=run.start)
    if viewer and run.is_node and isinstance(inputs, dict):
        graph.show(viewer, {k: v for k, v in inputs.items() if k not in ("messages", "input")}, run.place, run.start)


def _messages_or_text(value: Any, keys: tuple[str, ...], role: str) -> list[Msg]:
    found = read_messages(value)
    if found:
        return found
    if isinstance(value, str) and value.strip():
        return [Msg(role=role, text=value)]
    texts = [value[k] for k in keys if isinstance(value.get(k), str)] if isinstance(value, dict) else []
    return [Msg(role=role, text=texts[0])] if texts and texts[0].strip() else []


def _prompt(graph: Graph, run: Run) -> None:
    inputs = plain(run.inputs)
    found = read_messages(inputs)
    if not found and isinstance(inputs, dict):
        prompts = inputs.get("prompts") or inputs.get("prompt") or inputs.get("input")
        prompts = prompts if isinstance(prompts, list) else [prompts]
        found = [Msg(role="human", text=p) for p in prompts if isinstance(p, str)]
    for msg in found:
        graph.dialogue.meet(msg, run.place.at("/inputs"), viewer=run.agent, kind="history", time=run.start)


def _ask(graph: Graph, run: Run) -> None:
    given = run.inputs
    if isinstance(given, dict) and given.keys() == {"input"}:
        given = loads(str(given["input"])) if isinstance(given["input"], str) else given["input"]
        given = run.inputs if given is None else given
    call = Call(run.name, arguments_text(given), run.call_id)
    calls = graph.dialogue.calls
    number = calls.ask(call, run.agent, run.place.at("/inputs"), run.start, running=True)
    child = child_agent(run)
    if child:
        calls.delegate(number, child)
    target = clean(run.metadata.get("__handoff_destination"))
    if target and calls.all[number].kind == "handoff" and not (run.error and not is_control(run.error)):
        calls.all[number].goto = target
    run.metadata["asked"] = number


def _query(graph: Graph, run: Run) -> None:
    inputs = run.inputs
    text = inputs.get("query") if isinstance(inputs, dict) else inputs
    call = Call(run.name, as_text(text if text is not None else inputs), f"run:{run.id}")
    graph.dialogue.calls.ask(call, run.agent, run.place.at("/inputs"), run.start, running=True)


def _leave(graph: Graph, run: Run) -> None:
    place = (run.closed or run.place).at("/outputs")
    if run.error:
        _fail(graph, run, place)
    if run.kind == "tool":
        _return(graph, run, place)
    elif run.kind == "llm":
        _complete(graph, run, place)
    elif run.kind == "retriever":
        _documents(graph, run, place)
    elif run.kind not in _QUIET:
        _end(graph, run, place)
    for stopped in (*run.interrupts, *(interrupts_in(run.error) if run.error else ())):
        graph.interrupt(stopped, place, run.end)
    for log in run.logs:
        graph.dialogue.ledger.event(
            "C6", log, kind="log", name=f"{run.id}:log", place=place, sender=run.agent, time=run.end
        )


def _fail(graph: Graph, run: Run, place: Place) -> None:
    """An error that climbs the tree is one error; a handoff raised as one is none."""
    below = any(child.error and not is_control(child.error) for child in run.children)
    if run.error and not is_control(run.error) and not below:
        channel: Channel | None = "C4" if run.kind == "tool" else None
        ledger = graph.dialogue.ledger
        if run.kind == "tool" and _UNFIT.search(run.error):
            graph.dialogue.calls.drop(run.metadata["asked"])
        else:
            ledger.lose("failed_call", channel, f"{run.kind} run that ended with an error")
        rest = {"sender": run.agent, "time": run.end}
        ledger.event("C6", run.error, kind="error", name=f"{run.id}:error", place=place, **rest)


def _complete(graph: Graph, run: Run, place: Place) -> None:
    found = read_messages(run.outputs)
    if not found:
        outputs = plain(run.outputs)
        rows = outputs.get("generations") if isinstance(outputs, dict) else None
        flat = [r for row in rows for r in (row if isinstance(row, list) else [row])] if isinstance(rows, list) else []
        texts = [r["text"] for r in flat if isinstance(r, dict) and isinstance(r.get("text"), str)]
        found = [Msg(role="ai", text=t) for t in texts] or _messages_or_text(unwrapped(outputs), _ANSWERS, "ai")
    if not found and run.pieces:
        found = [Msg(role="ai", text="".join(run.pieces))]
    if not found and not run.error:
        graph.dialogue.ledger.lose("content_missing", None, "model call without an output")
    for msg in found:
        graph.dialogue.meet(msg, place, agent=run.agent, time=run.end or run.start)
    if run.above is None and run.parent is None and found:
        graph.final = found


def _return(graph: Graph, run: Run, place: Place) -> None:
    number = run.metadata.pop("asked")
    output = unwrapped(run.outputs)
    if isinstance(output, dict) and ("goto" in output or output.get("__call__") == "Command"):
        _commanded(graph, run, number, output, place)
        return
    if output is None:
        return
    found = read_messages(output)
    answers = [m for m in found if m.role == "tool"]
    texts = answers or [Msg(role="tool", text=found[-1].text if found else as_text(output), name=run.name)]
    for msg in texts:
        call_id = msg.call_id or graph.dialogue.calls.all[number].id or f"run:{run.id}"
        graph.dialogue.calls.adopt(number, call_id)
        told = Msg(
            role="tool", text=msg.text, id=msg.id, name=msg.name or run.name, call_id=call_id, goto=msg.goto,
            failed=msg.failed, artifact=msg.artifact,
        )  # fmt: skip
        graph.dialogue.meet(told, place, agent=run.agent, time=run.end or run.start)


def _commanded(graph: Graph, run: Run, number: int, output: dict[str, Any], place: Place) -> None:
    """A tool that gives a `Command` says where control goes, and holds a copy of the state."""
    target, asked = output.get("goto"), graph.dialogue.calls.all[number]
    if isinstance(target, str) and asked.kind == "handoff":
        asked.goto = target
    for msg in read_messages(output.get("update")):
        if msg.role == "tool":
            graph.dialogue.meet(msg, place, agent=run.agent, time=run.end)


def _documents(graph: Graph, run: Run, place: Place) -> None:
    outputs = unwrapped(run.outputs)
    rows = outputs.get("documents", outputs) if isinstance(outputs, dict) else outputs
    texts = [_page(plain(row)) for row in rows] if isinstance(rows, list) else [as_text(rows)] if rows else []
    if texts:
        msg = Msg(role="tool", text="\n\n".join(texts), name=run.name, call_id=f"run:{run.id}")
        graph.dialogue.meet(msg, place, agent=run.agent, time=run.end or run.start)


def _page(row: Any) -> str:
    return as_text(row["page_content"]) if isinstance(row, dict) and "page_content" in row else as_text(row)


def _end(graph: Graph, run: Run, place: Place) -> None:
    """What a chain gave back: the writes of a node; at the root the answer."""
    output = unwrapped(run.outputs)
    time = run.end  # a chain may have started long before
    messages = read_messages(output)
    for msg in messages:
        graph.dialogue.meet(msg, place, agent=run.agent, time=time)
    if run.is_node and output is not None:
        for part in output if isinstance(output, list) and not messages else [output]:
            part = plain(part)
            if isinstance(part, dict):
                graph.wrote(["node"], run.agent, part, place, time)
    if run.above is None and run.parent is None:
        _finish(graph, run, output, messages, place, time)


def _finish(graph: Graph, run: Run, output: Any, messages: list[Msg], place: Place, time: Any) -> None:
    if not run.children and isinstance(output, dict) and run.kind == "chain" and messages:
        graph.write_all(None, output, place, time)  # nothing else tells who wrote it
    if not messages and isinstance(output, dict):  # the last update, node by node
        messages = [m for v in output.values() if isinstance(v, dict) for m in read_messages(v)]
        for msg in messages:
            graph.dialogue.meet(msg, place, agent=run.agent, time=time)
    if not messages:
        messages = _messages_or_text(_answer(output), _ANSWERS, "ai")
        for msg in messages:
            graph.dialogue.meet(msg, place, agent=run.agent, time=time)
    graph.final = messages or graph.final


def _answer(output: Any) -> Any:
    inner = output.get("return_values") if isinstance(output, dict) else None
    return inner if isinstance(inner, dict) else output
