# needs: data/agentleak_traces/traces_3214.tar.xz

# %% [markdown]
# # Replay: what a sanitizer would have left, and why
#
# The runs are recorded. What would have remained of them, had a sanitizer stood in the way of every delivery? A replay
# detects, decides, transforms and measures again, for several *conditions* on the same occurrences.
# [docs/replay.md](../docs/replay.md) defines the words. Three corpora, as unlike as can be: 16 runs made to show what
# knowing the recipient is worth (`made`), 1,128 scripted runs of LangGraph and AutoGen in six cells (`lab`), and public
# runs of AgentLeak with real models. The last is not part of this repository; without it two corpora are shown.

# %%
import os
import tarfile
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from earwitness.audit.pipeline import Request, audit, read_request
from earwitness.audit.replay import replay as replaying
from earwitness.audit.replay.condition import shipped
from earwitness.audit.rulesets import DEFAULT
from earwitness.audit.transform.keys import Keys
from earwitness.ingest.loader import Loader
from earwitness.ingest.manifest import apply_manifest, read_manifest
from earwitness.reports import plots
from earwitness.schema.case import Case

pl.Config(tbl_rows=30, tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, float_precision=2, tbl_width_chars=140)
bundled = Path(str(files("earwitness") / "sample_traces"))
archive = Path(os.environ.get("EARWITNESS_CORPORA", "../../shared")) / "data" / "agentleak_traces" / "traces_3214.tar.xz"
made, lab, leak = Case(), Case(), Case()
Loader(made).load([bundled / "topologies" / "traces.jsonl"])
seconds = audit(made, read_request(bundled / "topologies" / "policy.yaml", None, DEFAULT))
Loader(lab).load([bundled / "lab" / "langgraph.tar.zst", bundled / "lab" / "autogen.jsonl.zst"])
cells = apply_manifest(lab, read_manifest(bundled / "lab" / "manifest.csv"), bundled / "lab" / "manifest.csv")
seconds = audit(lab, read_request(bundled / "lab" / "policy.yaml", None, DEFAULT))
corpora = {"made": made, "lab": lab}

# %% [markdown]
# Of AgentLeak's 3,214 files every eighth is taken, in the order of their names, so that this takes a
# minute. All of them are replayed in [docs/replay.md](../docs/replay.md).

# %%
if archive.exists():
    with TemporaryDirectory() as folder, tarfile.open(archive) as packed:
        chosen = sorted((m for m in packed.getmembers() if m.isfile()), key=lambda m: m.name)[::8]
        packed.extractall(folder, chosen, filter="data")
        Loader(leak).load([Path(folder)])
    seconds = audit(leak, Request(rules=DEFAULT))
    corpora["AgentLeak"] = leak
    print(f"AgentLeak: {len(chosen):,} files of runs")
else:
    print("AgentLeak: left out, the runs are not here; EARWITNESS_CORPORA names the folder that holds data/")

# %% [markdown]
# The conditions are named one by one. `presidio` is not among them: it is an extra and reads minutes where the others
# take seconds. The key is fixed so that pseudonyms repeat; the values are invented or public.

# %%
CONDITIONS = ["none", "blanket", "static", "dynamic", "no-confidence", "fail-closed", "oracle"]
key = Keys(b"earwitness notebook 04".ljust(32, b"."))
for case in corpora.values():
    skipped = replaying.replay(case, replaying.Request([shipped()[c] for c in CONDITIONS], key))
    assert not skipped


def figures(measures: list[str], names: list[str] = CONDITIONS, setting: str = "paper", mode: str = "independent") -> pl.DataFrame:
    """Figures of all corpora, by condition and corpus; `cell` is their group."""
    order, parts = pl.col("condition").replace_strict({c: n for n, c in enumerate(CONDITIONS)}, return_dtype=pl.Int64), []
    for corpus, case in corpora.items():
        parts.append(case.frame(f"""
            SELECT measure, condition, coalesce(json_extract_string(grp, '$.*')[1], '') AS cell, k, n, rate, low, high
            FROM replay_figures WHERE measure = ANY({measures}) AND condition = ANY({names})
            AND setting = '{setting}' AND mode = '{mode}' ORDER BY cell""").with_columns(corpus=pl.lit(corpus)))
    return pl.concat(parts).sort(order, maintain_order=True)


# %% [markdown]
# ## What is left, and what is kept
#
# `residual` counts what should have been sanitized and is still there, `correct_allow` what was allowed and is still
# there. `none` leaves all and keeps all; `blanket` redacts whatever it detects. Each event by itself, recipients known
# as in the published protocol (messages and memory reads).

# %%
headlines = figures(["residual", "correct_allow"])
plots.tradeoff(
    headlines, "condition", series="corpus",
    title="Deciding by field and recipient keeps most of what is allowed; blanket redaction keeps little or nothing",
    note="occurrences, 95 % Wilson intervals",
)

# %% [markdown]
# Occurrences of one scenario are not independent, so the table has the wider interval of a bootstrap over scenarios, too.

# %%
boots = [case.frame("""
    SELECT condition, measure, round(100 * rate, 2) AS "%", round(100 * boot_low, 2) AS low, round(100 * boot_high, 2) AS high
    FROM replay_figures WHERE measure IN ('residual', 'correct_allow') AND condition IN ('blanket', 'dynamic')
    AND setting = 'paper' AND mode = 'independent' ORDER BY measure DESC, condition""").with_columns(corpus=pl.lit(corpus))
    for corpus, case in corpora.items()]
pl.concat(boots).select("corpus", "measure", "condition", "%", "low", "high")

# %% [markdown]
# ## Why it is left
#
# Each residual occurrence has one cause: it was never seen, its recipient is not known and the field allowed it, the
# policy let it through, or it is found again after the transform. `static` goes by field alone. On `made` that leaves
# most, because most of its values may be known by somebody. On `lab` nothing is missed: its tools tell every value
# under its key. There the decision is tested, and no detector.

# %%
CAUSES = ["detection_miss", "no_recipient", "policy_gap", "post_transform"]
left = {
    setting: pl.concat([
        case.frame(f"""
            SELECT condition, count(*) FILTER (cause = 'detection_miss') AS detection_miss,
                   count(*) FILTER (cause = 'no_recipient') AS no_recipient, count(*) FILTER (cause = 'policy_gap') AS policy_gap,
                   count(*) FILTER (cause = 'post_transform') AS post_transform
            FROM replays WHERE setting = '{setting}' AND condition IN ('blanket', 'static', 'dynamic', 'oracle') GROUP BY condition
            ORDER BY list_position(['blanket', 'static', 'dynamic', 'oracle'], condition)"""
        ).with_columns(corpus=pl.lit(corpus)) for corpus, case in corpora.items()
    ])
    for setting in ("paper", "extended")
}
plots.causes(
    left["paper"].with_columns(row=pl.format("{}, {}", "corpus", "condition")), "row",
    title="Where anything is left under dynamic, most of it was never seen",
    note="occurrences left, by cause",
)

# %% [markdown]
# ## Known recipients
#
# In the extended setting a recipient counts wherever the record names one. That does away with `no_recipient`. It has a
# price: more uncertain finds are judged for a known recipient, and an uncertain find is protected from whoever
# receives it. `no-confidence` does not protect them, and pays nothing.

# %%
both = pl.concat([
    figures(["correct_allow"], ["dynamic", "no-confidence", "fail-closed"], setting).with_columns(setting=pl.lit(setting))
    for setting in ("paper", "extended")
]).with_columns(row=pl.format("{}, {}", "corpus", "condition")).sort("corpus", "condition", "setting", descending=[True, False, True])
plots.dots(
    both, "row", series="setting",
    title="Knowing more recipients saves fail-closed and costs dynamic a little",
    note="allowed occurrences that remain, by which recipients count as known",
)

# %%
pl.concat([frame.filter(pl.col("condition") == "dynamic").with_columns(setting=pl.lit(s)) for s, frame in left.items()]).select(
    "corpus", "setting", *CAUSES).sort("corpus", "setting", descending=True)

# %% [markdown]
# Uncertain finds are also why correct-allow is not exact. What is blurred by noise (`mldp`) may land so near the
# amount that it still counts as told. Another key, another noise: these may fall on either side.

# %%
pl.concat([case.frame("""
    SELECT done AS "done to allowed values", count(*) FILTER (remains) AS "still found", count(*) AS n FROM replays
    WHERE condition = 'dynamic' AND setting = 'paper' AND truth = 'allow' AND action <> 'allow' GROUP BY done ORDER BY done"""
).with_columns(corpus=pl.lit(corpus)) for corpus, case in corpora.items()])

# %% [markdown]
# ## By channel, by type, by cell
#
# Where real models talk, residual stands far below the published figures (upright lines) on every channel, and for every
# type. Published is another corpus, with seven channels and detection that also counts what is told in other words;
# here only what is literally or by its form the value counts. Contextual values, worst there, are not worst here.

# %%
real = "AgentLeak" if "AgentLeak" in corpora else "made"
PRINTED = {
    "blanket": {"C1": 32.6, "C2": 25.7, "C3": 41.4, "C4": 24.1, "C5": 31.6, "C6": 17.4, "C7": 29.1},
    "dynamic": {"C1": 32.5, "C2": 25.2, "C3": 43.9, "C4": 26.5, "C5": 32.2, "C6": 19.8, "C7": 31.0,
                "value_dependent": 17.6, "format_dependent": 23.3, "contextual": 55.7},
}


def beside(frame: pl.DataFrame) -> pl.DataFrame:
    """The published rate of each row, where there is one."""
    told = [PRINTED[r["condition"]].get(r["cell"]) for r in frame.iter_rows(named=True)]
    return frame.with_columns(published=pl.Series(told, dtype=pl.Float64) / 100)


by_channel = figures(["residual_by_channel"], ["blanket", "dynamic"]).filter(pl.col("corpus") == real).sort("cell", maintain_order=True)
plots.dots(beside(by_channel), "cell", series="condition", mark="published", title=f"{real}: dynamic and blanket leave alike by channel",
           note="occurrences that should be sanitized and remain; upright lines: published")

# %%
by_type = figures(["residual_by_type"], ["blanket", "dynamic"]).filter(pl.col("corpus") == real).sort("cell", maintain_order=True)
plots.dots(beside(by_type), "cell", series="condition", mark="published", title=f"{real}: what is left by value type",
           note="occurrences that should be sanitized and remain; upright lines: published, of dynamic alone")

# %% [markdown]
# Agents that the topology introduced, in the laboratory: all that reached them unsanitized, against what would. CW-2
# has none and no row. Published under dynamic: 25.1 to 26.9 %. All that `static` leaves is in one scenario, whose rule
# grants two fields to the team and not to the newcomers. Apart from what tools return, the other rules grant a field to
# everybody, so that recipients decide nothing there. 44 occurrences are a thin base for what recipient conditioning is worth.

# %%
cell = {c: n for n, c in enumerate(["CW-7", "P2P-4", "P2P-7", "P2P-10", "Hier-7"])}
new = figures(["new_agent_residual"], ["none", "blanket", "static", "dynamic"]).filter(pl.col("corpus") == "lab").sort(
    pl.col("cell").replace_strict(cell), maintain_order=True)
plots.dots(new, "cell", series="condition", title="Every sanitizer flattens the topology where nothing is missed",
           note="lab: occurrences for introduced agents that should be sanitized and remain")

# %% [markdown]
# ## What was sanitized is not passed on
#
# Who did not receive a value cannot tell it. Counted so, what may be kept falls, most where the source itself is
# sanitized: `fail-closed` withholds what the tool returns, and then there is little left to allow.

# %%
modes = pl.concat([
    figures(["correct_allow"], ["static", "dynamic", "no-confidence", "fail-closed"], mode=mode).with_columns(mode=pl.lit(name))
    for mode, name in (("independent", "each by itself"), ("propagate", "passed on"))
]).filter(pl.col("corpus") == "lab").sort("condition", "mode")
plots.dots(modes, "condition", series="mode", title="A refusal at the source costs everything behind it",
           note="lab: allowed occurrences that remain")

# %%
pl.concat([figures(["residual"], ["static", "dynamic", "oracle"], mode=m).with_columns(mode=pl.lit(m)) for m in ("independent", "propagate")]
          ).pivot("mode", index=["corpus", "condition", "n"], values="k").sort("corpus", "condition", descending=True)

# %% [markdown]
# ## Against the published shape
#
# Published for 34,884 occurrences of real models: dynamic leaves 29.25 %, blanket 28.3 %; they keep 94.1 % and 20.5 %,
# 4.6 times; 95.5 % of what dynamic leaves was never seen and 4.5 % had no known recipient. The same three questions of
# these corpora:

# %%
rows = []
for corpus, case in corpora.items():
    at = {(r["measure"], r["condition"]): r for r in headlines.filter(pl.col("corpus") == corpus).iter_rows(named=True)}
    causes = left["paper"].filter((pl.col("corpus") == corpus) & (pl.col("condition") == "dynamic")).row(0, named=True)
    total, blanket = sum(causes[c] for c in CAUSES), at["correct_allow", "blanket"]["rate"]
    points = 100 * (at["residual", "dynamic"]["rate"] - at["residual", "blanket"]["rate"])
    kept = at["correct_allow", "dynamic"]["rate"]
    rows.append({
        "corpus": corpus, "points above blanket": points, "within 2": abs(points) <= 2,
        "times kept": kept / blanket if blanket else None, "at least 4": kept >= 4 * blanket, "left": total,
        "never seen, %": 100 * causes["detection_miss"] / total if total else None,
        "no recipient, %": 100 * causes["no_recipient"] / total if total else None,
    })
pl.DataFrame(rows)

# %% [markdown]
# Why it differs where it differs, counted: how much of what should be sanitized is detected (published 69.2 %), how much
# of it has no known recipient in the setting of the paper, and how much of that the field alone would allow. Only these
# last can become `no_recipient`.

# %%
pl.concat([case.frame("""
    SELECT count(*) AS "should be sanitized", 100 * avg(r.detected::INT) AS "detected, %",
           count(*) FILTER (NOT r.resolved) AS "recipient unknown", count(*) FILTER (NOT r.resolved AND v.static = 'allow') AS "and field allows"
    FROM replays r JOIN (SELECT event, value, recipient, any_value(static) AS static FROM verdicts WHERE standing = 'confirmed' GROUP BY ALL) v
      ON v.event = r.event AND v.value = r.value AND v.recipient IS NOT DISTINCT FROM r.recipient
    WHERE r.condition = 'dynamic' AND r.setting = 'paper' AND r.truth = 'sanitize'"""
).select(pl.lit(corpus).alias("corpus"), pl.all()) for corpus, case in corpora.items()])

# %% [markdown]
# - **Within 2 points of blanket**: yes on `lab` and AgentLeak, no on `made`, where dynamic stands 12 points above. Its 4
#   occurrences more have no known recipient, and the field allows them. In the extended setting all 4 are gone.
# - **At least 4 times what blanket keeps**: yes on all three. On `lab` blanket keeps nothing, so there is no quotient.
# - **Detection**: on AgentLeak nearly all of what is left, as published; on `made` 7 of 11; on `lab` there is nothing left
#   to divide. The level is lower because nearly everything is detected. Part of that is what is counted: values told in
#   other words are no confirmed occurrences, and these are the ones a detector misses.
# - **No recipient**: none on AgentLeak and `lab`. Recipients are unknown there, too, but the field decides as the
#   recipient would, so nothing is lost by not knowing. The corpora cannot show this loss; `made` was built to.
