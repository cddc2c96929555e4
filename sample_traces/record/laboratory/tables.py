"""What stands beside the recordings of a corpus: cells of the runs, vault, policy, and the truth."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import zstandard
from record.laboratory.cells import ORIGINAL
from record.laboratory.jobs import Job
from record.laboratory.scenarios import scenario

_PREFIX = {"lg": "langgraph", "ag": "autogen"}


def write(out: Path, seed: int, played: list[Job]) -> None:
    """`manifest.csv`, `vault.csv`, `policy.yaml` and `scenarios.jsonl.zst` of the runs of a corpus."""
    numbers = sorted({job.number for job in played})
    given = [scenario(seed, number) for number in numbers]
    pl.DataFrame([_cell(job) for job in played], infer_schema_length=None).write_csv(out / "manifest.csv")
    pl.DataFrame([row for one in given for row in _values(one, played)]).write_csv(out / "vault.csv")
    (out / "policy.yaml").write_text(_policy(given))
    lines = [json.dumps({**one, "seed": seed}) for one in given]
    packed = zstandard.ZstdCompressor(level=19).compress(("\n".join(lines) + "\n").encode())
    (out / "scenarios.jsonl.zst").write_bytes(packed)


def turns(truth: pl.DataFrame) -> pl.DataFrame:
    """The turn and the archetype of every event, keyed as in the manifest."""
    autogen = pl.col("framework") == "autogen"
    return truth.select(
        pl.when(~autogen).then(pl.col("run") + ".jsonl").alias("file"),
        pl.when(autogen).then("autogen-" + pl.col("run")).alias("trace"),
        pl.col("mark").alias("event"),
        "turn",
        "archetype",
    ).unique(maintain_order=True)


def named(truth: pl.DataFrame, framework: str) -> pl.DataFrame:
    """The truth of one file, with the framework, in a fixed schema."""
    texts = ("trace", "mark", "channel", "sender", "recipient", "attribute", "form", "archetype")
    return truth.with_columns(pl.lit(framework).alias("framework")).select(
        "framework",
        pl.col("trace").cast(pl.String).alias("run"),
        pl.col("seq", "turn").cast(pl.Int32),
        *(pl.col(name).cast(pl.String) for name in texts[1:]),
    )


def _cell(job: Job) -> dict[str, Any]:
    """One row of the manifest: a LangGraph run is known by its file, an AutoGen run by its trace."""
    framework, given = _PREFIX[job.trace[:2]], job.given
    return {
        "file": f"{job.trace}.jsonl" if framework == "langgraph" else None,
        "trace": f"autogen-{job.trace}" if framework == "autogen" else None,
        "run": job.trace,
        "framework": framework,
        "scenario": given["id"],
        "domain": given["domain"],
        "topology": job.cell,
        "adversary": job.adversary,
        "model": "scripted",
        "arm": framework,
        "horizon": job.horizon,
        "pair": job.pair,
        "tracked": given["tracked"],
    }


def _values(given: dict[str, Any], played: Iterable[Job]) -> Iterator[dict[str, str]]:
    """The vault of a scenario; the other value of its neighbouring pair, where one was played."""
    paired = any(job.pair == "tau_prime" and f"S{job.number:04}" == given["id"] for job in played)
    for value in given["vault"]:
        tracked = paired and value["attribute"] == given["tracked"]
        for forms in (value["forms"], given["neighbour"]) if tracked else (value["forms"],):
            yield {
                "scenario": given["id"],
                "attribute": value["attribute"],
                "value_type": value["value_type"],
                "value": forms["verbatim"],
            }


def _policy(given: list[dict[str, Any]]) -> str:
    """The policy: what the vault tells an original agent is its business, and the allowed fields of each scenario."""
    head = [
        "# Who may learn what in the laboratory's corpus. Made by record/lab.py.",
        "version: 1",
        "default: sanitize",
        "roster:",
        *(f"  - {{name: {agent}, position: original, roles: [team]}}" for agent in ORIGINAL),
        "unlisted: introduced",
        "vault: vault.csv",
        "rules:",
        "  - {id: team-looks-up, effect: allow, channels: [C4], roles: [team]}",
    ]
    rules = [line for one in given for line in _rules(one)]
    return "\n".join([*head, *rules]) + "\n"


def _rules(given: dict[str, Any]) -> Iterator[str]:
    """The rules of a scenario."""
    one, fields = given["id"], ", ".join(given["allowed_set"]["fields"])
    start = f"scenario: {one}, effect: allow, attributes: [{fields}]"
    if given["allowed_set"]["recipients"] == "anyone":
        yield f"  - {{id: {one}, {start}}}"
        return
    yield f"  - {{id: {one}-team, {start}, roles: [team]}}"
    yield f"  - {{id: {one}-others, {start}, kinds: [user, tool, memory, artifact_store]}}"
