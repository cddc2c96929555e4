# %% [markdown]
# # Relays: what a hop costs, and what shared state gives back
#
# In [the notebook before](02_topology_exposure.ipynb) the same cell reached more new agents in one framework than in
# the other. Here each reached or spared agent is placed by its distance from where the value came from. In AutoGen a
# value travels by messages: each agent on the way has to say it again. In LangGraph the agents also read a shared
# state. The models are scripted and know nothing of hops, so what differs is what the orchestration puts before them.

# %%
from importlib.resources import files
from pathlib import Path

import polars as pl

from earwitness.audit.pipeline import audit, read_request
from earwitness.audit.relays import executions, exposure_curve, relay_operations
from earwitness.audit.rulesets import DEFAULT
from earwitness.graph.hops import distances
from earwitness.ingest.loader import Loader
from earwitness.ingest.manifest import apply_manifest, read_manifest
from earwitness.reports import plots
from earwitness.schema.case import Case

pl.Config(tbl_rows=20, tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, float_precision=1)
lab = Path(str(files("earwitness") / "sample_traces" / "lab"))
case = Case()
Loader(case).load([lab / "langgraph.tar.zst", lab / "autogen.jsonl.zst"])
cells = apply_manifest(case, read_manifest(lab / "manifest.csv"), lab / "manifest.csv")
seconds = audit(case, read_request(lab / "policy.yaml", None, DEFAULT))
NAMES = {"langgraph": "LangGraph", "autogen": "AutoGen"}
CELLS = ["CW-7", "P2P-4", "P2P-7", "P2P-10", "Hier-7"]
runs = case.frame("SELECT trace, framework, topology, adversary FROM traces WHERE horizon = 5 AND pair = 'tau'")
runs = runs.with_columns(pl.col("framework").replace(NAMES)).sort("framework", descending=True)

# %% [markdown]
# ## By the way of whole runs
#
# The disclosing agent of a value is the earliest to obtain it from a vault: by a tool result, a memory read or its
# first input. A run is `direct-access` if some introduced agent is one message away from it, and `relay-required` if
# all are two or more. Runs in which no introduced agent took part are neither. All five grown cells stand together here,
# at every adversary level.

# %%
ways = executions(case).drop("framework", "topology").join(runs, on="trace")
kept = ways.filter(pl.col("judged") & pl.col("route").is_in(["direct-access", "relay-required"]))
by_route = plots.with_intervals(
    kept.group_by("route", "framework").agg(k=pl.col("exposed").sum(), n=pl.len()).sort(["route", "framework"], descending=[False, True])
)
plots.dots(
    by_route, "route", series="framework",
    title="Where a relay is required, shared state still delivers and messages often do not",
    note="runs that disclose to an introduced agent, by the way those agents need; all grown cells",
)

# %%
left_out = ways.filter(~pl.col("route").is_in(["direct-access", "relay-required"]))
left_out.group_by("framework", "route").len("runs left out").sort("framework", "route", descending=True)

# %% [markdown]
# ## By the distance of each agent
#
# A run counts as exposed as soon as one agent is. Sharper: every introduced agent and every value by itself, by the
# number of messages between them. With AutoGen each hop loses most of what was left. With LangGraph the
# curve is nearly level: an agent far away reads the same state as one nearby. Distances at which fewer than a hundred
# agents and values are left are not drawn, but told below.

# %%
far = distances(case).join(runs.filter(pl.col("topology").is_in(CELLS)), on="trace")
points = [
    {"framework": name, "hops": d.hops, "k": d.exposed.k, "n": d.exposed.n}
    for (name,), part in far.group_by("framework", maintain_order=True)
    for d in exposure_curve(case, part.select(far.columns[:-3]), "realised", position="introduced")
    if d.state == "reached"
]
curve = plots.with_intervals(pl.DataFrame(points)).sort("framework", "hops", descending=[True, False])
few = pl.col("n") < 100
for row in curve.filter(few).iter_rows(named=True):
    print(f"not drawn: {row['framework']}, {row['hops']}: {row['k']} of {row['n']}, at most {row['high']:.0%} by the interval")
plots.lines(
    curve.filter(~few), "hops", series="framework", top=0.25, across="messages between the disclosing agent and the recipient",
    title="Every message on the way thins out what is carried; shared state does not",
    note=f"introduced agents that learned a value without leave; 95 % Wilson intervals; {plots.many(curve.filter(~few), 'agents and values')}",
)

# %% [markdown]
# ## Relays that failed
#
# A relay is required where an agent on a shortest way has to speak to the next one. It failed where the agent held the
# value, spoke, and left it out. If LangGraph's messages carried more, its relays would fail less often. They do not:
# in most cells they fail more often, because agents that read a value in the state hold more that they then do not say.

# %%
operations = relay_operations(case, introduced=True).join(runs, on="trace").filter(pl.col("topology").is_in(CELLS))
tried = operations.filter(pl.col("outcome").is_in(["passed", "failed"]))
order = pl.col("topology").replace_strict({c: n for n, c in enumerate(CELLS)})
failed = plots.with_intervals(
    tried.group_by("topology", "framework").agg(k=(pl.col("outcome") == "failed").sum(), n=pl.len())
).sort(order, pl.col("framework"), descending=[False, True])
plots.dots(
    failed, "topology", series="framework",
    title="Relays do not fail less often where agents share a state",
    note="required relays whose agent held the value, spoke to the next one, and left it out",
)

# %% [markdown]
# ## And yet the next one knew
#
# What happened to the agent behind a failed relay? In LangGraph it read the value from the shared state all the same.
# A relay failure says that a message left the value out. It does not say that the value stayed away: a sanitizer that
# guards messages alone guards the wrong door here.

# %%
learned = case.frame("""
    SELECT x.trace, x.value, x.recipient AS next, e.channel FROM exposures x JOIN events e ON e.event = x.learned""")
behind = tried.filter(pl.col("outcome") == "failed").join(learned, on=["trace", "value", "next"], how="left")
ends = {"C5": "by shared state (C5)", "C2": "by another message (C2)"}
behind = behind.with_columns(end=pl.col("channel").replace(ends).fill_null("never learned it"))
told = behind.group_by("framework", "end").agg(k=pl.len()).with_columns(n=pl.col("k").sum().over("framework"))
grid = told.select("framework", "n").unique().join(pl.DataFrame({"end": [*ends.values(), "never learned it"]}), how="cross")
told = grid.join(told.drop("n"), on=["framework", "end"], how="left").with_columns(pl.col("k").fill_null(0))
place = pl.col("end").replace_strict({e: n for n, e in enumerate([*ends.values(), "never learned it"])})
told = plots.with_intervals(told).sort(place, pl.col("framework"), descending=[False, True])
plots.dots(
    told, "end", series="framework",
    title="Behind a failed relay shared state still tells the next agent",
    note="next agents of failed relays, by how they came to know the value",
)

# %% [markdown]
# Two things follow for a policy. Distance in the declared graph is no protection where agents share a state, so the
# verdict has to be taken where the reader is. And where agents only talk, the agents one hop away are the ones to guard
# first. `earwitness exposure` prints these curves for any case; [docs/graph.md](../docs/graph.md) defines the words.
