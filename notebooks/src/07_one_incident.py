# %% [markdown]
# # Investigating one incident
#
# A colleague found a diagnosis in a letter, in run `hier7-3` of the bundled corpus. Nobody asked the agent that writes
# letters to know it, and no user saw it in an answer. How did it get there, who else has it, and where would it have
# had to be stopped?

# %%
from hashlib import file_digest
from importlib.resources import files
from pathlib import Path

import polars as pl

from earwitness.audit.pipeline import audit, read_request
from earwitness.audit.rulesets import DEFAULT
from earwitness.graph.paths import find_paths
from earwitness.graph.ways import find_ways
from earwitness.ingest.loader import Loader
from earwitness.reports import plots
from earwitness.reports.dossier import dossier
from earwitness.reports.guards import guards
from earwitness.reports.lookup import find_trace, find_values
from earwitness.reports.shown import Shown
from earwitness.reports.whatif import counterfactual
from earwitness.schema.case import Case

pl.Config(tbl_rows=20, tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, fmt_str_lengths=60)
corpus = Path(str(files("earwitness") / "sample_traces" / "topologies"))
case = Case()
Loader(case).load([corpus / "traces.jsonl"])
seconds = audit(case, read_request(corpus / "policy.yaml", None, DEFAULT))

# %% [markdown]
# ## Everything known about one value
#
# A value is named by its attribute or fingerprint, never by its text, so that no notebook and no shell history keeps
# it. `Shown` decides what may be shown of a case: by default nothing that is protected.

# %%
shown = Shown(case)
value, run = find_values(case, "diagnosis"), find_trace(case, "hier7-3")
file = dossier(shown, value)
(here,) = [t for t in file["traces"] if t["trace_id"] == "hier7-3"]
print(f"diagnosis #{file['value']['fingerprint']}, in {file['totals']['traces']} runs of the case")
holders = pl.DataFrame(
    [{"holder": h["holder"], "seq": h["since"]["seq"], "how": h["how"], "from": h["sender"], "verdict": h["verdict"],
      "rule": h["rule"]} for h in here["holders"]]
)
holders

# %% [markdown]
# ## The way it took
#
# The run as lanes, one for each party. A lane turns thick from the moment its party knew the value. The coordinator had
# it from the start and may have it. Its first message hands it to a lead that the topology introduced, and from there
# it spreads: by message to `fraud_check`, by shared memory to `letters`, and into an artifact without a named reader.
# The last two arrows that hold it carry it back up, where it is no news.

# %%
events = case.frame(f"""
    SELECT f.seq, f.sender, f.recipient, f.channel,
           max(CASE v.dynamic WHEN 'sanitize' THEN 'unauthorised' WHEN 'allow' THEN 'authorised' END) AS verdict
    FROM flows f LEFT JOIN verdicts v ON v.event = f.event AND v.recipient IS NOT DISTINCT FROM f.recipient
         AND v.standing = 'confirmed' AND v.value IN ({", ".join(map(str, value))})
    WHERE f.trace = {run} GROUP BY f.seq, f.sender, f.recipient, f.channel ORDER BY f.seq, f.recipient""")
names = [pl.col(c).map_elements(shown.name, return_dtype=pl.String) for c in ("sender", "recipient")]
plots.incident(
    events.with_columns(names), holders,
    title="One message too many, and three agents and a memory hold the diagnosis",
    note="run hier7-3, event by event",
)

# %% [markdown]
# `find_paths` gives the same way hop by hop, with the evidence for each: how the recipient is known, and where in the
# file the event stands. The file's hash was taken when it was read, so it can be shown that it is still the same file.

# %%
(way,) = find_paths(case, find_ways(case), values=value, trace=run, recipient="letters")
for hop in way.steps:
    print(f"{hop.sender:>12} -> {hop.recipient:<12} {hop.channel}  {hop.grade}  {Path(hop.source).name}:{hop.line}")
with (corpus / "traces.jsonl").open("rb") as trace_file:
    same = file_digest(trace_file, "sha256").hexdigest() == case.one("SELECT sha256 FROM sources")
print(f"weakest evidence: {way.weakest}; the file is {'the one that was audited' if same else 'NOT the one that was audited'}")

# %% [markdown]
# ## What would have stopped it
#
# Take one edge out and let the values spread again from their sources. Without the first message nothing of this
# happens. Without the memory, `letters` never learns it, but `fraud_check` and `operations` still do.

# %%
removals = {
    "coordinator > operations": {"edges": [("coordinator", "operations")]},
    "operations > fraud_check": {"edges": [("operations", "fraud_check")]},
    "the shared memory": {"actors": ["memory"]},
}
told = [(name, counterfactual(shown, trace=run, **what)) for name, what in removals.items()]
pl.DataFrame([{"without": n, "unauthorised before": r["before"], "after": r["after"]} for n, r in told])

# %% [markdown]
# ## Was it the only one
#
# No. Over all sixteen runs there are 29 unauthorised exposures. A guard on an edge stops what its recipient may not
# have and lets everything else through; `guards` finds the ones that stop most, one after the other.

# %%
found = guards(shown)
curve = pl.DataFrame(
    [{"guard": f"{s['guard']['sender']} \u2192 {s['guard']['recipient']}", "stopped": s["stopped"],
      "remaining": s["remaining"]} for s in found["curve"]["stages"]]
)
plots.remaining(
    curve, total=found["curve"]["exposures"],
    title="Five guards stop two thirds of the unauthorised exposures",
    note="unauthorised exposures left after each guard",
)

# %% [markdown]
# What to write into the report: the value left the coordinator by one message; the policy forbids it by default; four
# holders have it without leave, one artifact lies with a reader nobody named; and the edge to watch first is the
# coordinator's own. `earwitness dossier`, `paths`, `what-if` and `guards` give all of this on a terminal as well.
