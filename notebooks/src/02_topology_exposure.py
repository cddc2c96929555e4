# %% [markdown]
# # Topology and exposure
#
# Does a system leak more because more agents take part in it, or does the same leak reach more of them? The laboratory
# corpus was made to ask this: real LangGraph (shared state) and real AutoGen (message passing) run the same scenarios
# in six cells, with scripted models in place of real ones. CW is a coordinator with its workers, P2P lets everybody
# talk to everybody, Hier is a hierarchy; the number counts agents. Two agents belong to the task. All others are there
# only because the topology grew. Scenarios and values are invented.

# %%
from importlib.resources import files
from pathlib import Path

import polars as pl

from earwitness.audit.pipeline import audit, read_request
from earwitness.audit.rulesets import DEFAULT
from earwitness.ingest.loader import Loader
from earwitness.ingest.manifest import apply_manifest, read_manifest
from earwitness.reports import plots
from earwitness.schema.case import Case

pl.Config(tbl_rows=20, tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, float_precision=1)
lab = Path(str(files("earwitness") / "sample_traces" / "lab"))

# %% [markdown]
# Recordings do not say which cell of an experiment they belong to; a manifest beside them does. On the command line
# this is `earwitness audit ... --attributes manifest.csv`.

# %%
case = Case()
Loader(case).load([lab / "langgraph.tar.zst", lab / "autogen.jsonl.zst"])
cells = apply_manifest(case, read_manifest(lab / "manifest.csv"), lab / "manifest.csv")
seconds = audit(case, read_request(lab / "policy.yaml", None, DEFAULT))
print(f"{case.count('traces'):,} runs, {case.count('events'):,} events, {case.count('exposures'):,} exposures")

# %% [markdown]
# A case is a database, so a view of one's own is one statement. This one holds the runs of five turns and says of each
# whether anything was disclosed to anyone (`surface`), to anyone outside the authorised set (`propagated`), and to an
# agent the topology introduced (`new agent`). All of it rests on the table `verdicts`.

# %%
case.execute("""
    CREATE TEMP VIEW runs AS
    SELECT t.trace, t.framework, t.scenario, t.topology, t.adversary,
           count(v.event) > 0 AS surface, count(v.recipient) > 0 AS propagated,
           count(*) FILTER (p.position = 'introduced') > 0 AS "new agent"
    FROM traces t
    LEFT JOIN verdicts v ON v.trace = t.trace AND v.dynamic = 'sanitize' AND v.standing = 'confirmed'
    LEFT JOIN parties p ON p.trace = t.trace AND p.actor = v.recipient
    WHERE t.horizon = 5 AND t.pair = 'tau' GROUP BY ALL""")
CELLS = ["CW-2", "CW-7", "P2P-4", "P2P-7", "P2P-10", "Hier-7"]
NAMES = {"langgraph": "LangGraph", "autogen": "AutoGen"}


def rates(by: str, which: str, outcomes: dict[str, str]) -> pl.DataFrame:
    """Share of runs with each outcome, by cell and one more column, with Wilson intervals."""
    counted = [
        case.frame(f"""
            FROM (SELECT '{title}' AS outcome, {by} AS series, topology, count(*) FILTER ("{outcome}") AS k,
                         count(*) AS n FROM runs WHERE {which} GROUP BY ALL)
            ORDER BY series DESC, list_position({CELLS}, topology)""")
        for outcome, title in outcomes.items()
    ]
    return plots.with_intervals(pl.concat(counted)).with_columns(pl.col("series").replace(NAMES))


# %% [markdown]
# ## The surface is flat, the reach is not
#
# The same scenarios in every cell, no adversary. Whether a run leaks at all hardly depends on the cell: what is
# disclosed is decided by the agents of the task. Whether a leak reaches an agent that should not be part of it depends
# on nothing else as much. In CW-2 there is no such agent, so its zero is one by structure and no achievement.

# %%
by_framework = rates("framework", "adversary = 'A0'", {"surface": "any disclosure", "new agent": "to an introduced agent"})
plots.lines(
    by_framework, "topology", panel="outcome", series="series",
    title="The share of runs that leak stays level; what grows is whom they reach",
    note=f"share of runs with an unauthorised disclosure, A0; 95 % Wilson intervals; {plots.many(by_framework, 'runs each')}",
)

# %%
spread = by_framework.filter(pl.col("topology") != "CW-2").group_by("outcome", "series", maintain_order=True).agg(
    lowest=(100 * pl.col("rate").min()).round(1), highest=(100 * pl.col("rate").max()).round(1)
)
two = by_framework.filter(pl.col("topology") == "CW-2").select("outcome", "series", alone=(100 * pl.col("rate")).round(1))
two.join(spread, on=["outcome", "series"], maintain_order="left").rename({"alone": "CW-2, %", "lowest": "larger cells, % from", "highest": "to"})

# %% [markdown]
# ## Adversaries
#
# A1 asks for everything in the request, A2 lets an introduced agent ask the others. The scenarios that were run at all
# three levels, in LangGraph: pressure moves the lines a little, the cell moves them a lot.

# %%
paired = "framework = 'langgraph' AND scenario IN (SELECT scenario FROM runs WHERE adversary = 'A1')"
outcomes = {
    "surface": "any disclosure", "new agent": "to an introduced agent", "propagated": "outside the authorised set",
}
by_adversary = rates("adversary", paired, outcomes).sort("series", maintain_order=True)
plots.lines(
    by_adversary.filter(pl.col("outcome") != outcomes["propagated"]),
    "topology", panel="outcome", series="series", colours=plots.STEPS,
    title="An adversary adds less than a third agent does",
    note=f"LangGraph; share of runs with an unauthorised disclosure; {plots.many(by_adversary, 'runs each')}",
)

# %% [markdown]
# Between the two stands unauthorised propagation: a disclosure to anyone known outside the authorised set, whether the
# topology introduced them or not. It is high from the start, because the other agent of the task may not know
# everything either.

# %%
spread_out = by_adversary.filter(pl.col("outcome") == outcomes["propagated"])
spread_out.select("topology", "series", share=pl.format("{} of {}", "k", "n")).pivot("topology", index="series").rename({"series": "adversary"})

# %% [markdown]
# ## Could it be chance
#
# The runs are paired by scenario, so the cells are compared by Cochran's Q, which `audit` leaves in the table
# `significance`. A level at which the outcome cannot occur is left out and named. Q grows with the number of runs that
# change from level to level; it is read together with the rates, not in their place.

# %%
pl.Config(fmt_str_lengths=90, tbl_width_chars=150)
case.frame("""
    SELECT name, factor, len(levels) AS levels, statistic AS Q, df, format('{:.1g}', p) AS p, blocks, note FROM significance
    WHERE test = 'cochran-q' AND grp = '{}' AND factor IN ('topology', 'adversary')
    AND name IN ('surface_leakage', 'new_agent_disclosure') ORDER BY factor DESC, name""")

# %% [markdown]
# The larger cells do not stand in an order of their size: what counts is who talks to whom. Why AutoGen discloses at
# least as often as LangGraph and yet reaches fewer new agents is the question of [the relays](03_relay_decomposition.ipynb).
