# %% [markdown]
# # A first audit
#
# Sixteen short runs of one task come with the program: a coordinator and an assessor settle a health insurance claim,
# alone or together with agents that are there only because the topology grew. A policy beside them says who may know
# the claimant's number, diagnosis and amount. Person, claim and figures are invented.
#
# **The question:** who came to know what they may not know?

# %%
from importlib.resources import files
from pathlib import Path

import polars as pl

from earwitness.audit.pipeline import Request, audit, read_request
from earwitness.audit.rulesets import DEFAULT
from earwitness.ingest.loader import Loader
from earwitness.reports import plots
from earwitness.reports.summary import summary
from earwitness.schema.case import Case
from earwitness.schema.policy import parse_policy
from earwitness.schema.words import CHANNEL_TITLES

pl.Config(tbl_rows=20, tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, fmt_str_lengths=60)
corpus = Path(str(files("earwitness") / "sample_traces" / "topologies"))

# %% [markdown]
# A case is one DuckDB database; without a path it lives in memory. `Loader` reads traces of any known format into it,
# `audit` looks for the protected values and judges every place where one was told.

# %%
case = Case()
Loader(case).load([corpus / "traces.jsonl"])
seconds = audit(case, read_request(corpus / "policy.yaml", None, DEFAULT))
case.frame("SELECT attribute, value_type, fingerprint FROM vault ORDER BY attribute")

# %% [markdown]
# Values are never shown: a keyed fingerprint stands for each. The headline says how many runs leak, and how many of
# these an audit of the final answer alone would have passed as clean.

# %%
report = summary(case)
for m in report["measures"]:
    if m["name"] in ("any_leakage", "audit_gap"):
        print(f"{m['name']:<12} {m['k']} of {m['n']}: {m['rate']:.1%}, 95 % interval {m['low']:.1%} to {m['high']:.1%}")
print(f"{'exposures':<12} {report['exposure_totals']['unauthorised']} of {report['exposure_totals']['total']} unauthorised")

# %% [markdown]
# ## Where
#
# Each channel of each run gets one of three verdicts. What could not be seen (a masked recording, a failed call, text
# kept by reference only) is never called clean.

# %%
verdicts = case.frame("""
    SELECT channel, count(*) FILTER (verdict = 'leak') AS leak,
           count(*) FILTER (verdict = 'unverifiable') AS unverifiable, count(*) FILTER (verdict = 'clean') AS clean
    FROM coverage GROUP BY channel ORDER BY channel""")
titled = verdicts.with_columns(channel=pl.col("channel") + "  " + pl.col("channel").replace_strict(CHANNEL_TITLES))
plots.coverage(
    titled, "channel",
    title="Most leaks are messages between agents, where no user looks",
    note="verdicts on 16 runs, channel by channel",
)

# %% [markdown]
# ## Who
#
# An exposure is a recipient that came to know a value in a run. The table `exposures` holds one row for each, with the
# event of the first disclosure and the policy's verdict. The assessor belongs to the task and may know the amount, yet
# it was also told the diagnosis and the number; and the agents below the second line, to which
# the policy grants nothing, were all told something.

# %%
learned = case.frame("""
    SELECT ['original agents', 'tools, stores, user', 'introduced agents'][place] AS "group", * EXCLUDE (place) FROM (
        SELECT CASE WHEN p.kind <> 'agent' THEN 2 WHEN p.position = 'original' THEN 1 ELSE 3 END AS place,
               x.recipient, v.attribute, count(DISTINCT x.trace) AS runs,
               count(DISTINCT x.trace) FILTER (x.authorised IS FALSE) AS unauthorised
        FROM exposures x JOIN vault v USING (value)
        JOIN parties p ON p.trace = x.trace AND p.actor = x.recipient GROUP BY ALL)
    ORDER BY place, recipient, attribute""")
plots.knowledge(
    learned,
    title="The six introduced agents may know nothing, and each of them learned something",
    note="in how many of 16 runs a recipient came to know a value",
)

# %% [markdown]
# ## How do we know
#
# Every finding says which rule decided, by which way the value came, and where in which file that stands: line, byte
# offset and the span inside the text. Anyone with the file can check it.

# %%
finding = report["findings"][0]
print(f"{finding['attribute']} #{finding['fingerprint']} reached {finding['recipient']} in {finding['trace']}, decided by: {finding['rule']}")
for hop in finding["way"]:
    print(f"  {hop['sender']} -> {hop['recipient']}  on {hop['channel']}, recipient {hop['grade']}")
print(f"{Path(finding['source']).name}, line {finding['line']}, byte {finding['offset']}, characters {finding['span']}")
print(f"sha256 {finding['sha256']}")

# %% [markdown]
# ## Another policy, the same case
#
# Suppose the assessor may know the diagnosis after all. A policy is a file; the same case is judged again without
# reading any trace anew, and only the judgement changes: nobody learned less, but three exposures are authorised now.

# %%
text = (corpus / "policy.yaml").read_text().replace(
    "{id: team-knows-the-amount, effect: allow, attributes: [amount],",
    "{id: team-knows-the-file, effect: allow, attributes: [amount, diagnosis],",
)
before = report["exposure_totals"]
seconds = audit(case, Request(policy=parse_policy(text.encode(), "wider")))
after = summary(case)["exposure_totals"]
pl.DataFrame([{"policy": "as given", **before}, {"policy": "assessor may know the diagnosis", **after}])

# %% [markdown]
# Next: [topology and exposure](02_topology_exposure.ipynb), or [one incident followed to its
# source](07_one_incident.ipynb). The same figures come from the command line with `earwitness demo`.
