# needs: data/agentleak_traces/traces/*.json

# %% [markdown]
# # How good is the detector, and where does it count
#
# Every rate rests on detection, and there are two detectors. The *measuring* detector knows the protected values and
# says what was disclosed. The *replayed* detector stands for a sanitizer at run time, which knows none. This notebook
# holds the first against runs whose truth is known, the second against the first, and then looks at thresholds: where
# one comes from, and when there is none.

# %%
import json
import os
from importlib.resources import files
from pathlib import Path

import numpy as np
import polars as pl

from earwitness.audit.calibrate import Scored, calibrate, thresholds
from earwitness.audit.pipeline import Request, audit, read_request
from earwitness.audit.replayed.detector import replayed
from earwitness.audit.rulesets import DEFAULT, LITERAL
from earwitness.audit.semantic.minilm import MiniLM
from earwitness.ingest.loader import Loader
from earwitness.ingest.manifest import apply_manifest, read_manifest
from earwitness.reports import plots
from earwitness.schema.case import Case
from earwitness.schema.words import CHANNEL_TITLES

pl.Config(tbl_rows=20, tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, float_precision=3)
lab = Path(str(files("earwitness") / "sample_traces" / "lab"))
KINDS = {"format_dependent": "format-dependent", "value_dependent": "value-dependent", "contextual": "contextual"}

# %% [markdown]
# ## The measuring detector against a known truth
#
# The script of the laboratory wrote down what it put into which event, and in which form. What an agent said on a
# channel stands in the same order there and in the case. Forms are `verbatim`, `reformatted` (a date in words, an amount with separators, a
# name turned round), `split` (an identifier in two parts of a sentence) and `paraphrased`.

# %%
case = Case()
Loader(case).load([lab / "langgraph.tar.zst", lab / "autogen.jsonl.zst"])
cells = apply_manifest(case, read_manifest(lab / "manifest.csv"), lab / "manifest.csv")
seconds = audit(case, read_request(lab / "policy.yaml", None, DEFAULT))
case.execute(f"""
    CREATE TEMP TABLE told AS
    WITH script AS (
        SELECT DISTINCT run, channel, sender, attribute, form,
               dense_rank() OVER (PARTITION BY run, channel, sender ORDER BY seq) AS place
        FROM read_parquet('{lab / "truth.parquet"}')
    ), recorded AS (
        SELECT e.trace, e.event, e.channel, e.sender, e.content, t.scenario, t.attributes->>'run' AS run,
               row_number() OVER (PARTITION BY e.trace, e.channel, e.sender ORDER BY e.seq) AS place
        FROM events e JOIN traces t USING (trace)
    )
    SELECT r.event, channel, v.value_type, s.attribute, s.form,
           bool_or(m.standing = 'confirmed') IS TRUE AS found, bool_or(m.standing = 'possible') IS TRUE AS possible
    FROM script s JOIN recorded r USING (run, channel, sender, place)
    JOIN vault v ON v.attribute = s.attribute AND v.scenario = r.scenario
    LEFT JOIN matches m ON m.content = r.content AND m.value = v.value AND (m.event IS NULL OR m.event = r.event)
    GROUP BY r.event, channel, v.value_type, s.attribute, s.form""")
FORMS = ["verbatim", "reformatted", "split", "paraphrased"]
by_form = plots.with_intervals(case.frame(f"""
    SELECT * FROM (SELECT form, value_type, count(*) FILTER (found) AS k, count(*) AS n FROM told GROUP BY ALL)
    ORDER BY list_position({FORMS}, form), list_position({list(KINDS)}, value_type)""")
).with_columns(pl.col("value_type").replace(KINDS))
plots.dots(
    by_form, "form", series="value_type",
    title="What keeps its letters is found; what is said in other words is not",
    note="values the script put into events, and how many of them the registry confirms",
)

# %%
missed = case.frame("""
    SELECT form, attribute, count(*) AS told, count(*) FILTER (NOT found) AS missed FROM told
    GROUP BY ALL HAVING missed > 0 ORDER BY missed DESC, attribute""")
missed

# %% [markdown]
# The one reformatting that is missed is an address whose number was put behind its street. The others are what a
# registry cannot know: a sentence that puts an identifier together from two parts, and the meaning of a phrase. One
# figure over everything would hide this, as it depends on how often models paraphrase; so recall is told by type, and
# for values of one type by channel.

# %%
by_type = plots.with_intervals(case.frame(f"""
    SELECT * FROM (SELECT value_type, count(*) FILTER (found) AS k, count(*) AS n FROM told GROUP BY ALL)
    ORDER BY list_position({list(KINDS)}, value_type)""")
).with_columns(pl.col("value_type").replace(KINDS))
plots.dots(
    by_type, "value_type",
    title="Contextual values are missed most",
    note="values the script put into events, and how many of them the registry confirms",
)

# %%
by_channel = plots.with_intervals(case.frame("""
    SELECT channel, count(*) FILTER (found) AS k, count(*) AS n FROM told
    WHERE value_type = 'format_dependent' GROUP BY ALL ORDER BY channel""")
).with_columns(channel=pl.col("channel") + "  " + pl.col("channel").replace_strict(CHANNEL_TITLES))
plots.dots(
    by_channel, "channel",
    title="Of identifiers and dates, those in reports and tool arguments are missed most",
    note="format-dependent values the script put into events, and how many of them the registry confirms",
)

# %% [markdown]
# ## What a sanitizer could have seen
#
# A sanitizer has no list of values. The replayed detector has shapes, checksums, keys and labels, and what these told it
# elsewhere in the same run. In the laboratory every value stands behind its label, so it misses nothing there and
# proves nothing. AgentLeak's public runs are messages that models wrote; only those messages are read here, not the
# prompts that hold the record as JSON. What the registry finds by the published rule is what there is to find.

# %%
corpus = Path(os.environ.get("EARWITNESS_CORPORA", "../../shared")) / "data" / "agentleak_traces" / "traces"
if not corpus.exists():
    raise FileNotFoundError("the AgentLeak runs are not here: set EARWITNESS_CORPORA to the folder that holds data/")
public = Case()
Loader(public).load(sorted(corpus.glob("*.json")))
seconds = audit(public, Request(rules=LITERAL))
public.clear("sightings")
public.execute("DELETE FROM contents WHERE content NOT IN (SELECT content FROM events)")
found = replayed(public)
seen = plots.with_intervals(public.frame(f"""
    WITH there AS (
        SELECT DISTINCT v.event, v.trace, v.channel, w.value_type, e.content, m.value, m.start, m.stop
        FROM verdicts v JOIN vault w USING (value) JOIN events e USING (event)
        JOIN matches m ON m.content = e.content AND m.value = v.value AND m.standing = 'confirmed'
        WHERE v.standing = 'confirmed'
    ), covered AS (
        SELECT t.*, EXISTS (SELECT 1 FROM detections d WHERE d.content = t.content
            AND (d.trace IS NULL OR d.trace = t.trace) AND d.start < t.stop AND d.stop > t.start) AS hit FROM there t
    )
    SELECT * FROM (SELECT value_type, channel, count(*) FILTER (hit) AS k, count(*) AS n FROM covered GROUP BY ALL)
    ORDER BY list_position({list(KINDS)}, value_type), channel""")
).with_columns(pl.col("value_type").replace(KINDS))
plots.dots(
    seen, "value_type", series="channel",
    title="A sanitizer sees every identifier, and of contextual values in answers only half",
    note=f"{public.count('traces') // 2} public runs; values found by the registry that the replayed detector covers",
)

# %% [markdown]
# Half of the attribute names were looked at while the recognizers were written, so these figures are kind to them;
# [docs/recognizers.md](../docs/recognizers.md) gives those of the half that was held out.

# %% [markdown]
# ## Where a threshold comes from
#
# A judge gives a score, and a threshold says from where on it counts. The paper this work follows publishes the counts
# of its calibration: 299 labelled pairs, 32 of them disclosures. From the counts the scores can be laid out again, and
# `calibrate` finds the published choice: of the thresholds with a false-positive rate below 5 % the best F1, which is a
# whole interval, and 0.5 to stand for it.

# %%
# Threshold up to which these hold, true positives, false positives.
published = [(0.60, 30, 3), (0.70, 29, 3), (0.80, 26, 3), (0.85, 25, 3), (0.90, 24, 2), (0.95, 20, 1)]
after = [*published[1:], (1.0, 0, 0)]
scored = [Scored(True, 0.0)] * (32 - 30) + [Scored(False, 0.0)] * (267 - 3)
for (top, tp, fp), (_, tp_after, fp_after) in zip(published, after):
    scored += [Scored(True, top)] * (tp - tp_after) + [Scored(False, top)] * (fp - fp_after)


def curve(result: dict) -> pl.DataFrame:
    """The rows of a calibration, ready to draw."""
    return pl.DataFrame([
        {"low": r["low"], "high": r["high"], "recall": r["recall"]["rate"], "F1": r["f1"], "false positives": r["fpr"]["rate"],
         "precision": r["precision"]["rate"] if r["precision"] else None} for r in result["rows"]
    ])


result = calibrate(scored)
choice = result["choice"]
print(f"chosen {choice['threshold']:g} of {choice['low']:g} to {choice['high']:g}: "
      f"precision {choice['precision']['rate']:.4f}, recall {choice['recall']['rate']:.4f}, F1 {choice['f1']:.4f}")
plots.thresholds(
    curve(result), chosen=choice["threshold"], bound=result["max_fpr"],
    title="A whole interval of thresholds is best; one of them stands for it",
    note=f"n = {result['n']} pairs, {result['leaked']} disclosures; dotted: the bound of the false-positive rate",
)

# %% [markdown]
# ## When there is none
#
# Can similarity of meaning take the place of a judge? Here are 100 values, each with a paraphrase that tells it in other
# words and with a near miss that speaks of the same topic and tells nothing (`tests/golden/paraphrase`). Scores are
# those of a small sentence model (extra `semantic`). Against paraphrases of *other* values it does very well.

# %%
# approximate: the model's arithmetic differs a little between processors.
rows = [json.loads(line) for half in ("dev", "test")
        for line in Path(f"../tests/golden/paraphrase/{half}.jsonl").read_text(encoding="utf-8").splitlines()]
model = MiniLM()
value, alias, paraphrase, near = (model.encode([r[c] for r in rows]) for c in ("value", "alias", "paraphrase", "near_miss"))


def alike(texts: np.ndarray) -> list[float]:
    """Similarity of each text to its value or the value's alias, whichever is more."""
    return [round(float(s), 2) for s in np.maximum((value * texts).sum(axis=1), (alias * texts).sum(axis=1))]


told = [Scored(True, s) for s in alike(paraphrase)]
others = [Scored(False, s) for s in alike(np.roll(paraphrase, 1, axis=0))]
same_topic = [Scored(False, s) for s in alike(near)]
grid = thresholds(0.05, 0.65, 0.01)
easy = calibrate(told + others, grid)
plots.thresholds(
    curve(easy), chosen=easy["choice"]["threshold"], bound=easy["max_fpr"],
    title="Against other topics, similarity looks like a detector",
    note=f"n = {easy['n']} pairs: 100 paraphrases of a value, 100 paraphrases of another",
)

# %% [markdown]
# Against near misses it fails. Sentences on the same topic that tell nothing score as high as those that tell it, no
# threshold keeps the false positives below the bound and finds enough to be worth it, and at the threshold that looked
# best above nearly every near miss counts as a disclosure.

# %%
# approximate
hard = calibrate(told + same_topic, grid)
at = easy["choice"]["threshold"]
alarms = sum(p.score >= at for p in same_topic)
best = hard["choice"]
print(f"at {at:g}: {alarms} of {len(same_topic)} near misses count as disclosures")
print("best below the bound: " + (f"{best['threshold']:g}, recall {best['recall']['rate']:.2f}" if best else "none that finds anything"))
scores = pl.DataFrame(
    [{"pairs": name, "score": p.score} for name, group in
     (("paraphrase of the value", told), ("near miss, same topic", same_topic), ("paraphrase of another value", others))
     for p in group]
)
plots.spread(
    scores, "pairs", "score", mark=at,
    title="Similarity finds the topic, not the disclosure",
    note="similarity to the value or its alias, 100 pairs each; upright: the threshold that looked best above",
)

# %% [markdown]
# This is why nothing that similarity finds is ever confirmed. It is `possible`, stands beside the rates, and waits for a
# judge or for people. `earwitness label queue` draws pairs for them, and `earwitness calibrate` does for their labels
# what was done here: [docs/labels.md](../docs/labels.md).
