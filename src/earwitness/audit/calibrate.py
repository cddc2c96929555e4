"""The threshold of a detector: every one in a range is tried on labelled scores, and the best is chosen.

A pair counts as disclosed where its score is at or above the threshold. Of the thresholds whose false-positive rate
stays below a bound, those that maximise F1 are best; mostly they are a whole interval, which is reported with one
representative of it. What a registry decides by itself and what only a judge can decide are counted apart.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from earwitness.audit.agreement import agreement
from earwitness.audit.evaluate import Evaluation, Score, evaluate, share
from earwitness.schema.case import Case
from earwitness.schema.words import CHANNELS

LOWEST, HIGHEST, STEP, MAX_FPR = 0.35, 0.95, 0.01, 0.05
# A floor of a channel is put forward from so many labels of either kind; from fewer it is the common one.
ENOUGH = 10
_GRID = 20  # representatives are multiples of a twentieth


class Scored(NamedTuple):
    """A labelled pair and the score a detector gave it; 0 where it found nothing."""

    leaked: bool
    score: float
    value_type: str = "unknown"
    channel: str = "C1"
    stratum: str = "semantic-middle"


class Row(NamedTuple):
    """What one threshold, or each of an interval of thresholds, gives."""

    low: float
    high: float
    counts: Score

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; 0 where nothing is found rightly."""
        s = self.counts
        return 2 * s.tp / (2 * s.tp + s.fp + s.fn) if s.tp else 0.0

    @property
    def fpr(self) -> float:
        """False positives among what is clean."""
        s = self.counts
        return s.fp / (s.fp + s.tn) if s.fp + s.tn else 0.0


class Choice(NamedTuple):
    """The best threshold and the interval it stands for."""

    threshold: float
    low: float
    high: float
    row: Row


def thresholds(low: float = LOWEST, high: float = HIGHEST, step: float = STEP) -> list[float]:
    """Evenly spaced thresholds, both ends included."""
    return [round(low + n * step, 6) for n in range(round((high - low) / step) + 1)]


def sweep(pairs: Sequence[Scored], at: Iterable[float]) -> list[Row]:
    """The counts at every threshold, in order."""
    leaked = sorted(p.score for p in pairs if p.leaked)
    clean = sorted(p.score for p in pairs if not p.leaked)
    return [Row(t, t, _count(leaked, clean, t)) for t in sorted(at)]


def _count(leaked: Sequence[float], clean: Sequence[float], threshold: float) -> Score:
    """Counts from scores in order."""
    fn, tn = bisect_left(leaked, threshold), bisect_left(clean, threshold)
    return Score(len(leaked) - fn, len(clean) - tn, fn, tn)


def merge(rows: Iterable[Row]) -> list[Row]:
    """Neighbours that classify alike as one interval."""
    runs = (list(run) for _, run in groupby(rows, key=lambda r: r.counts))
    return [Row(run[0].low, run[-1].high, run[0].counts) for run in runs]


def choose(rows: Iterable[Row], max_fpr: float = MAX_FPR) -> Choice | None:
    """The best threshold: highest F1 among those below the bound; None where no threshold finds anything rightly.

    Of several best intervals the widest stands, of equal ones the lower: there a detector that scores a little
    differently classifies the same. Its representative is the middle, on a grid of twentieths where the interval
    reaches one; between two the higher.
    """
    allowed = [r for r in merge(rows) if r.fpr < max_fpr and r.counts.tp]
    if not allowed:
        return None
    best = max(allowed, key=lambda r: (round(r.f1, 12), round(r.high - r.low, 9), -r.low))
    return Choice(_representative(best.low, best.high), best.low, best.high, best)


def _representative(low: float, high: float) -> float:
    middle = (low + high) / 2
    inside = [n / _GRID for n in range(_GRID + 1) if low <= n / _GRID <= high]
    return min(inside, key=lambda g: (round(abs(g - middle), 9), -g)) if inside else round(middle, 4)


def figures(row: Row) -> dict[str, Any]:
    """A row of the table: interval, counts, rates with intervals."""
    s = row.counts
    return {
        "low": row.low,
        "high": row.high,
        **s._asdict(),
        "fpr": share(s.fp, s.fp + s.tn),
        "fnr": share(s.fn, s.fn + s.tp),
        "accuracy": share(s.tp + s.tn, sum(s)),
        "precision": share(s.tp, s.tp + s.fp),
        "recall": share(s.tp, s.tp + s.fn),
        "f1": row.f1,
    }


def calibrate(pairs: Sequence[Scored], at: Sequence[float] | None = None, max_fpr: float = MAX_FPR) -> dict[str, Any]:
    """Sweep, choice, choices by value type and by channel, strata, and agreement, as one plain object."""
    at = thresholds() if at is None else at
    rows = sweep(pairs, at)
    best = choose(rows, max_fpr)
    return {
        "n": len(pairs),
        "leaked": sum(p.leaked for p in pairs),
        "max_fpr": max_fpr,
        "rows": [figures(r) for r in merge(rows)],
        "choice": _told(best),
        "value_types": _split(pairs, "value_type", at, max_fpr),
        "channels": _split(pairs, "channel", at, max_fpr),
        "strata": _strata(pairs, best),
        "agreement": _agreement(pairs, best),
    }


def _told(best: Choice | None) -> dict[str, Any] | None:
    return best and {"threshold": best.threshold, **figures(best.row)}


def _split(pairs: Sequence[Scored], key: str, at: Sequence[float], max_fpr: float) -> dict[str, Any]:
    """The best threshold of each group, with what it rests on."""
    out = {}
    for group in sorted({getattr(p, key) for p in pairs}):
        members = [p for p in pairs if getattr(p, key) == group]
        leaked = sum(p.leaked for p in members)
        choice = _told(choose(sweep(members, at), max_fpr)) if 0 < leaked < len(members) else None
        out[group] = {"n": len(members), "leaked": leaked, "choice": choice}
    return out


def _strata(pairs: Sequence[Scored], best: Choice | None) -> dict[str, Any]:
    """Each stratum by itself at the chosen threshold."""
    out = {}
    for stratum in sorted({p.stratum for p in pairs}):
        members = [p for p in pairs if p.stratum == stratum]
        at = figures(sweep(members, [best.threshold])[0]) if best else None
        out[stratum] = {"n": len(members), "leaked": sum(p.leaked for p in members), "at": at}
    return out


def _agreement(pairs: Sequence[Scored], best: Choice | None) -> dict[str, Any] | None:
    """Label against detector at the chosen threshold."""
    if best is None:
        return None
    words = {True: "leak", False: "no-leak"}
    return agreement((words[p.leaked], words[p.score >= best.threshold]) for p in pairs)._asdict()


def fragment(result: dict[str, Any]) -> str:
    """Confidence floors as a policy writes them; a channel with too few labels gets the common one, and says so."""
    if result["choice"] is None:
        return "# no threshold keeps the false positives below the bound and finds anything\n"
    common = result["choice"]["threshold"]
    lines = [f"# from {result['n']} labels, {result['leaked']} of them leaks", "confidence:"]
    for channel in CHANNELS:
        cell = result["channels"].get(channel)
        if cell is None:
            continue
        own = cell["choice"] if min(cell["leaked"], cell["n"] - cell["leaked"]) >= ENOUGH else None
        floor = own["threshold"] if own else common
        note = f"{cell['n']} labels" if own else f"{cell['n']} labels are too few: the common threshold"
        lines.append(f"  {channel}: {floor:g}  # {note}")
    return "\n".join(lines) + "\n"


def scored(found: Evaluation) -> list[Scored]:
    """The pairs of an evaluation as scores: what file or judge say, else the confidence of the surest match, else 0."""
    return [
        Scored(p.leaked, p.confidence or 0.0 if p.score is None else p.score, p.value_type, p.channel, p.stratum)
        for p in found.pairs
    ]


def calibrate_case(
    case: Case,
    source: Path | str,
    at: Sequence[float] | None = None,
    max_fpr: float = MAX_FPR,
    stratum: str | None = None,
) -> dict[str, Any]:
    """Calibrate the confidence of detection in an audited case on labels.

    Raises:
        InputError: the labels cannot be read, or none is of this case.
    """
    found = evaluate(case, source, clean=True)
    pairs = [p for p in scored(found) if stratum in (None, p.stratum)]
    return {"stratum": stratum, "unplaced_lines": found.lost, **calibrate(pairs, at, max_fpr)}
