"""Runs: the steps that LangChain's callbacks, its event stream and LangSmith all record."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from earwitness.ingest.langchain import names
from earwitness.ingest.langchain.messages import clean, plain
from earwitness.ingest.record import Place

_NOWHERE = Place(0, 0, 0)


@dataclass(eq=False, slots=True)
class Run:
    """One step.

    Attributes:
        kind: chain, llm, tool, retriever, prompt, parser or embedding.
        call_id: of a tool run, the call it answers.
        place: where its start stands.
        closed: where its end stands, or its start if both are one record.
        order: text that sorts runs of a trace, parents before children.
        agent: in whose run it stands.
        references: contents that the record says are kept elsewhere.
        interrupts: what a human was shown when the run stopped.
    """

    id: str
    kind: str = "chain"
    name: str = ""
    parent: str | None = None
    trace: str | None = None
    inputs: Any = None
    outputs: Any = None
    error: str | None = None
    start: Any = None
    end: Any = None
    metadata: dict[str, Any] = field(default_factory=dict)
    model: str | None = None
    call_id: str | None = None
    place: Place = _NOWHERE
    closed: Place | None = None
    order: str = ""
    pieces: list[str] = field(default_factory=list)
    logs: list[str] = field(default_factory=list)
    references: int = 0
    interrupts: list[Any] = field(default_factory=list)
    agent: str | None = None
    children: list["Run"] = field(default_factory=list)
    above: "Run | None" = None

    @property
    def own_agent(self) -> str | None:
        """The agent that the record of the run names itself."""
        return names.of_metadata(self.metadata)

    @property
    def is_node(self) -> bool:
        """Whether this is the run of a graph's node as a whole."""
        return self.metadata.get("langgraph_node") == self.name and self.kind == "chain"


def build(runs: Iterable[Run]) -> tuple[list[Run], int]:
    """The roots of the trees, agents resolved; and how many runs have a parent that is not in the record."""
    known = {r.id: r for r in runs}
    roots, orphans = [], 0
    for run in known.values():
        above = known.get(run.parent or "")
        if above is None or above is run or _circular(run, above, known):
            orphans += run.parent is not None and above is None
            roots.append(run)
        else:
            run.above = above
            above.children.append(run)
    for root in roots:
        _resolve(root)
    return sorted(roots, key=lambda r: r.order), orphans


def _circular(run: Run, above: Run, known: dict[str, Run]) -> bool:
    seen: set[str] = set()
    at: Run | None = above
    while at is not None and at.id not in seen:
        if at is run:
            return True
        seen.add(at.id)
        at = known.get(at.parent or "")
    return False


def walk(root: Run) -> list[tuple[Run, bool]]:
    """Each run twice: entered (True) before its children, left (False) after them; iterative, for trees may be deep."""
    steps: list[tuple[Run, bool]] = []
    waiting = [(root, True)]
    while waiting:
        run, entering = waiting.pop()
        steps.append((run, entering))
        if entering:
            waiting.append((run, False))
            waiting.extend((child, True) for child in sorted(run.children, key=lambda r: r.order, reverse=True))
    return steps


def _resolve(root: Run) -> None:
    """The agent of each run: what its metadata says, else the agent above; a plain chain's root may be one by name."""
    steps = [run for run, entering in walk(root) if entering]
    named = any(run.own_agent for run in steps)
    for run in steps:
        own = run.own_agent
        if own is None and run.above is None and not named and run.kind == "chain" and not names.is_plumbing(run.name):
            own = clean(run.name)
        run.agent = own or (run.above.agent if run.above else None)


def child_agent(tool: Run) -> str | None:
    """The first agent whose run begins below the run of a tool, other than its caller."""
    for run, entering in walk(tool):
        if entering and run.agent and run.agent != tool.agent:
            return run.agent
    return None


def model_of(metadata: dict[str, Any], given: Any) -> str | None:
    """The model that a run says it called."""
    params = given if isinstance(given, dict) else {}
    found = metadata.get("ls_model_name") or params.get("model") or params.get("model_name")
    return found if isinstance(found, str) else None


def unwrapped(outputs: Any) -> Any:
    """What a run returned, without the `output` that the recorder put around anything but a dict."""
    outputs = plain(outputs)
    if isinstance(outputs, dict) and len(outputs) == 1 and "output" in outputs:
        return plain(outputs["output"])
    return outputs


def moment(run_id: str) -> int | None:
    """The start of a run in milliseconds, where its id holds it."""
    digits = run_id.replace("-", "")
    if len(digits) != 32 or digits[12] != "7":
        return None
    try:
        return int(digits[:12], 16)
    except ValueError:
        return None
