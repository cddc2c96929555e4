# needs: data/agentleak_traces/traces_3214.tar.xz
# needs: data/agentleak_traces/published/*.json

# %% [markdown]
# # AgentLeak's public runs: published figures recomputed
#
# AgentLeak is a public benchmark (repository `Privatris/AgentLeak`, MIT licence). Two agents and a single agent solve
# the same tasks over private records, with five models. Its authors publish leak rates for each channel and model. Here
# they are recomputed from the recorded runs themselves, 3,214 of the 4,979, with nothing but the published rule.
#
# The corpus is not part of this repository. `EARWITNESS_CORPORA` names the folder it lies in; without it this notebook
# stops at the next cell. Only figures are shown, no text and no value of the runs.

# %%
import json
import os
from pathlib import Path

import polars as pl

from earwitness.audit.pipeline import Request, audit
from earwitness.audit.rulesets import LITERAL
from earwitness.ingest.loader import Loader
from earwitness.reports import plots
from earwitness.reports.summary import summary
from earwitness.schema.case import Case

pl.Config(tbl_rows=20, tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, float_precision=1)
corpus = Path(os.environ.get("EARWITNESS_CORPORA", "../../shared")) / "data" / "agentleak_traces"
if not (corpus / "traces_3214.tar.xz").exists():
    raise FileNotFoundError("the AgentLeak runs are not here: set EARWITNESS_CORPORA to the folder that holds data/")

# %% [markdown]
# Each run becomes two traces, `multi` (two agents) and `single`. The published rule calls a field leaked where its value
# is a substring of a message; `LITERAL` is that rule. The labels inside the files are compared afterwards: detection
# never reads them.

# %%
case = Case()
Loader(case).load([corpus / "traces_3214.tar.xz"])
seconds = audit(case, Request(rules=LITERAL))
report = summary(case, labels=True)
labels = report["labels"]
print(f"{report['traces']:,} traces, {report['events']:,} messages")
print(f"labels: {labels['agree']:,} agree, {labels['label_only']} only in the files, {labels['analyzer_only']} only found here")

# %% [markdown]
# ## By model
#
# A rate is the share of runs that leak on a channel. Dots are recomputed, with 95 % intervals; upright lines are what
# the authors print for all 4,979 runs. All fifteen stand inside the intervals.

# %%
published = json.loads((corpus / "published" / "model_stats.json").read_text().replace("Infinity", "null"))
printed = pl.DataFrame(
    [{"model": model, "channel": c, "published": row[c] / 100, "published n": row["n"]}
     for model, row in published.items() for c in ("C1", "C2", "C5")]
)
counted = case.frame("""
    SELECT t.model, c.channel, count(*) FILTER (c.verdict = 'leak') AS k, count(*) AS n,
           count(*) FILTER (c.verdict <> 'unverifiable') AS seen
    FROM coverage c JOIN traces t USING (trace)
    WHERE t.arm = 'multi' AND c.channel IN ('C1', 'C2', 'C5') GROUP BY ALL ORDER BY ALL""")
rates = plots.with_intervals(counted).join(printed, on=["model", "channel"], maintain_order="left")
rates = rates.with_columns(model=pl.col("model").str.split("/").list.last())
plots.dots(
    rates, "model", series="channel", mark="published",
    title="Five models, three channels: the published rates come out of the recorded runs",
    note=f"runs of two agents that leak; upright lines: published, about 996 runs a model; {plots.many(rates, 'runs each')}",
)

# %%
shown = rates.select(
    "model", "channel", "k", "n", recomputed=100 * pl.col("rate"), published=100 * pl.col("published"),
    difference=100 * (pl.col("rate") - pl.col("published")),
    inside=(pl.col("low") <= pl.col("published")) & (pl.col("published") <= pl.col("high")),
)
shown

# %% [markdown]
# ## What was never recorded
#
# One model looks discreet: 28 % on the channel between agents. It is not. In 462 of its 643 runs every call failed for
# want of credit, and what stands in the messages is the error. A run that said nothing did not keep a secret. Counted
# over the runs that were recorded, the same model leaks in all of them.

# %%
c2 = counted.filter(pl.col("channel") == "C2").with_columns(model=pl.col("model").str.split("/").list.last())
both = pl.concat([
    plots.with_intervals(c2.select("model", "k", "n")).with_columns(over=pl.lit("all runs")),
    plots.with_intervals(c2.select("model", "k", n=pl.col("seen"))).with_columns(over=pl.lit("recorded runs")),
]).sort("model", "over")
plots.dots(
    both, "model", series="over",
    title="By the plain rate the most discreet model, by what was recorded the least",
    note="runs that leak on C2, messages between agents",
)

# %% [markdown]
# Earwitness keeps both: the plain rate as published, and the rate over what could be verified. The verdict on those 462
# runs is `unverifiable`, never `clean`.

# %%
overall = case.frame("""
    SELECT name, coalesce(grp->>'channel', 'any') AS channel, k, n, 100 * rate AS "%", 100 * low AS low, 100 * high AS high
    FROM measures WHERE name IN ('channel_leakage', 'channel_leakage_verifiable', 'audit_gap', 'audit_gap_verifiable')
    AND grp->>'arm' = 'multi' ORDER BY channel, name""")
overall

# %% [markdown]
# ## By field of work
#
# The order of the four domains is the published one on every channel: health care leaks most between agents and legal
# work most in the answer.

# %%
stated = json.loads((corpus / "published" / "paper_stats.json").read_text())["by_vertical"]
domains = pl.DataFrame(
    [{"domain": d, "channel": c, "published": row[f"{c.lower()}_rate"] / 100} for d, row in stated.items()
     for c in ("C1", "C2", "C5")]
)
by_domain = plots.with_intervals(case.frame("""
    SELECT t.domain, c.channel, count(*) FILTER (c.verdict = 'leak') AS k, count(*) AS n
    FROM coverage c JOIN traces t USING (trace)
    WHERE t.arm = 'multi' AND c.channel IN ('C1', 'C2', 'C5') GROUP BY ALL ORDER BY ALL""")
).join(domains, on=["domain", "channel"], maintain_order="left")
plots.dots(
    by_domain, "domain", series="channel", mark="published",
    title="The four domains keep their published order",
    note=f"runs of two agents that leak; upright lines: published; {plots.many(by_domain, 'runs')}",
)

# %% [markdown]
# ## What an audit of the answer misses
#
# The benchmark's first hypothesis: looking at the final answer alone misses runs that leak inside. `audit_gap` counts
# them: 41.4 % of these runs, 41.7 % as published.

# %%
gap = plots.with_intervals(case.frame("""
    SELECT t.model, count(*) FILTER (inside AND NOT output) AS k, count(*) AS n
    FROM (SELECT trace, bool_or(verdict = 'leak' AND channel <> 'C1') AS inside,
                 bool_or(verdict = 'leak' AND channel = 'C1') AS output FROM coverage GROUP BY trace)
    JOIN traces t USING (trace) WHERE t.arm = 'multi' GROUP BY ALL ORDER BY k / n DESC""")
).with_columns(published=pl.col("model").replace_strict({m: row["H1"] / 100 for m, row in published.items()}))
gap = gap.with_columns(model=pl.col("model").str.split("/").list.last())
plots.dots(
    gap, "model", mark="published",
    title="One run in four to three in five leaks inside behind a clean answer",
    note="runs with a leak on C2 or C5 and none on C1; upright lines: published",
)

# %% [markdown]
# More on this corpus, with the default rules beside the published one, in [docs/agentleak.md](../docs/agentleak.md).
