"""MAST: logs of multi-agent systems with human failure labels, each log a text inside a JSON object.

Written by the MAST study (mas-failure-taxonomy, `mcemri/MAST-Data`): `mas_name`, `trace_text`, `human_labels`. The text
is the log of the system itself: AppWorld, ChatDev, HyperAgent, MetaGPT, OpenManus as text, AG2 and HyperAgent as JSON
with a `trajectory`. The labels are failure modes, not leaks; their number stands in the attributes. The JSON logs are
read without the object around them, too; the text logs then are those of the systems.

Cannot show: what the log of the system does not print, above all system prompts and the recipients of MetaGPT messages.

Obtained by: the MAST data set (MAD).
Versions tried: mkhvalch/mas-failure-taxonomy at commit fc23ad0.
Order: position in the text.
"""

from typing import Any

from earwitness.ingest.jsonrpc import log_name
from earwitness.ingest.jsontext import decode_text
from earwitness.ingest.record import Context, Place
from earwitness.ingest.script import Script, WholeRuns, is_name, text
from earwitness.ingest.transcripts import HyperAgent, Teller, teller_for
from earwitness.schema.model import Delivery

_HEAD = 1 << 18
_BARE = ({"instance_id", "problem_statement", "trajectory"}, {"run_id", "prompt", "content"})
_POINTER = "/trace_text"


class _MastLog:
    NAME = "mast-log"
    TITLE = "MAST human-labelled log"
    PRIORITY = 30

    def sniff(self, value: Any) -> bool:
        if not isinstance(value, dict):
            return False
        wrapped = "mas_name" in value and isinstance(value.get("trace_text"), str)
        return wrapped or (_is_bare(value) and "mas_name" not in value)

    def open(self, context: Context) -> WholeRuns:
        return WholeRuns(context, "a MAST log", _tell)


def _is_bare(value: dict[str, Any]) -> bool:
    """Whether a record is a log itself: a run of HyperAgent or AG2, or the text of one of MetaGPT."""
    if not any(keys <= value.keys() for keys in _BARE):
        return False
    return isinstance(value.get("trajectory"), list) or _log_of(value) is not None


def _log_of(value: dict[str, Any]) -> type[Teller] | None:
    shown = value.get("content")
    return teller_for(shown[:_HEAD]) if isinstance(shown, str) else None


def _tell(record: dict[str, Any], place: Place, name: str) -> Script:
    if "trace_text" not in record:
        return _tell_bare(record, place, name)
    script = Script("_".join(str(record.get(k)) for k in ("index", "mas_name", "benchmark_name")), place)
    labels = record.get("human_labels") or {}
    known = {
        "scenario": record.get("benchmark_name"),
        "attributes": {"mas_name": record["mas_name"], "human_failure_modes": sum(map(bool, labels.values()))},
    }
    inner = decode_text(record["trace_text"])
    if isinstance(inner, dict):
        _tell_run(script, inner, known, _POINTER)
    else:
        _log(script, record["trace_text"], known, _POINTER)
    return script


def _tell_bare(run: dict[str, Any], place: Place, name: str) -> Script:
    key = run.get("instance_id", run.get("run_id"))
    script = Script(f"{log_name(name)}/{key}", place)
    _tell_run(script, run, {}, "/trajectory" if "trajectory" in run else "/content")
    return script


def _tell_run(script: Script, run: dict[str, Any], known: dict[str, Any], pointer: str) -> None:
    if isinstance(run.get("trajectory"), list):
        _trajectory(script, run, known, pointer)
    else:
        _log(script, run["content"], {**known, "request": run.get("prompt")}, pointer)


def _log(script: Script, log: str, known: dict[str, Any], pointer: str) -> None:
    kind = teller_for(log[:_HEAD])
    if kind is None:
        raise ValueError("no system that is known")
    _read(kind(script, pointer), log.split("\n"), known)


def _read(teller: Teller, lines: list[str], known: dict[str, Any]) -> None:
    teller.begin(**known)
    for line in lines:
        teller.line(line, teller.script.place)
    teller.end()


def _trajectory(script: Script, run: dict[str, Any], known: dict[str, Any], pointer: str) -> None:
    steps = run["trajectory"]
    request = _joined(run.get("problem_statement"))
    if all(isinstance(step, str) for step in steps):
        _read(HyperAgent(script, pointer), steps, {**known, "request": request})
        return
    script.head("ag2", request=request, observable=("C2",), **known)
    members = list(dict.fromkeys(step["name"] for step in steps if is_name(step.get("name"))))
    for member in members:
        script.actor(member)
    script.sighting(request, pointer, actor=members[0] if members else None)
    for step in steps:
        to = [Delivery(m, "broadcast") for m in members if m != step["name"]]
        script.event("C2", _joined(step["content"]), pointer, sender=step["name"], to=to, kind="message")


def _joined(content: Any) -> str:
    """Texts of this corpus are lists of lines."""
    return "\n".join(map(text, content)) if isinstance(content, list) else text(content)


ADAPTER = _MastLog()
