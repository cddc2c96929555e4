"""The study of neighbouring pairs in words: the advantage of each horizon, and what is confounded."""

from collections.abc import Iterator
from typing import Any

from rich.console import Console

from earwitness.audit.distinguish.classify import Advantage
from earwitness.audit.distinguish.confounds import DIRECTIONAL
from earwitness.audit.distinguish.features import FEATURES
from earwitness.audit.distinguish.study import Horizon, Study
from earwitness.reports.printing import dim, head, many, section
from earwitness.reports.shown import Row, Shown

# Significance over all horizons together.
_LEVEL = 0.05
_MANY = 8
# From here on order or length is said to go with the label.
_STRONG = 0.3


def distinguish(shown: Shown, study: Study) -> Row:
    """The study as an object."""
    tested = sum(h.advantage is not None for h in study.horizons)
    return shown.stamp("distinguish") | {
        "features": {f.name: f.doc for f in FEATURES},
        "horizons": [_horizon(h, tested) for h in study.horizons],
        "left_out": {"disclosed": study.disclosed, "unpaired": study.unpaired},
        "level": _LEVEL / max(tested, 1),
    }


def _horizon(h: Horizon, tested: int) -> Row:
    strong = [d for d in h.directions if d.t is None or abs(d.t) >= DIRECTIONAL]
    found = h.advantage is not None and h.advantage.p <= _LEVEL / tested
    row: Row = {"horizon": h.horizon, "pairs": h.pairs, "scenarios": h.scenarios}
    row |= {"advantage": _advantage(h.advantage), "distinguishable": found}
    row |= {"order": h.order._asdict(), "lengths": h.lengths._asdict()}
    row |= {"directional": len(strong), "directions": [d._asdict() for d in h.directions]}
    row |= {"control": _advantage(h.control.advantage), "control_ratios": h.control.ratios}
    return row | {"says": list(_says(h, found, len(strong)))}


def _advantage(a: Advantage | None) -> Row | None:
    """Figures that are no numbers (a null without permutations) are none."""
    return None if a is None else {k: None if v != v else v for k, v in a._asdict().items()}


def _says(h: Horizon, found: bool, strong: int) -> Iterator[str]:
    """What the figures mean, in plain words."""
    if h.advantage is None:
        yield f"{many(h.scenarios, 'scenario')} with pairs: too few to learn from"
        return
    if not found:
        yield "the members of a pair cannot be told apart better than with shuffled labels"
    else:
        yield "the members of a pair can be told apart; that alone does not say that the value is why"
    yield from _order(h)
    yield from _length(h)
    if strong:
        yield f"{strong} of {many(len(h.directions), 'feature')} that vary favour one member (|t| >= {DIRECTIONAL:g})"
    yield from _control(h)


def _order(h: Horizon) -> Iterator[str]:
    o = h.order
    rest = f", not known for {o.unknown:,}" if o.unknown else ""
    if o.correlation is None:
        yield "the order of generation is not known, so an effect of order cannot be ruled out"
    elif abs(o.correlation) == 1:
        yield (
            f"CONFOUNDED: one member was generated later in all {o.later + o.earlier:,} pairs of known order{rest} (by "
            f"{o.basis}; correlation {o.correlation:+.3f}), so an effect of the value and one of order cannot be "
            "told apart"
        )
    elif abs(o.correlation) >= _STRONG:
        yield f"partly confounded: order of generation goes with the member (correlation {o.correlation:+.3f})"


def _length(h: Horizon) -> Iterator[str]:
    r = h.lengths.within
    if h.lengths.n == 0:
        yield "no run brings values of its own, so their lengths cannot be checked"
    elif r is not None and abs(r) >= _STRONG:
        yield f"partly confounded: longer values go with longer answers within pairs (r = {r:+.2f})"


def _control(h: Horizon) -> Iterator[str]:
    smaller, all_ = sum(r < 1 for r in h.control.ratios.values()), len(h.control.ratios)
    if h.control.advantage is None:
        yield "no cell has pairs enough for the control that order plays no part in"
    elif h.control.advantage.p <= _LEVEL:
        yield (
            f"control: true pairs are told from re-paired ones ({smaller} of {all_} features differ less in true "
            "pairs): runs of one scenario are alike, which is no trace of the value"
        )


def print_distinguish(console: Console, report: Row) -> None:
    """Print the figures of each horizon and what they say."""
    found = report["horizons"]
    pairs = sum(h["pairs"] for h in found)
    head(console, report, "Earwitness distinguishability", f"{many(pairs, 'pair')}, {len(report['features'])} features")
    left = report["left_out"]
    if left["disclosed"]:
        dim(console, f"{many(left['disclosed'], 'pair')} left out: a side discloses a value (--disclosed keeps them)")
    if left["unpaired"]:
        dim(console, f"{many(left['unpaired'], 'run')} without a partner left out")
    columns = ("horizon", "pairs", "scenarios", "advantage", "95 % interval", "null", "p", "control", "null")
    section(console, "Advantage over guessing (accuracy - 0.5)", columns, [_line(h) for h in found])
    for h in found:
        told = [(d["feature"], _t(d["t"]), d["first"], d["second"], f"{d['mean']:+.2f}") for d in h["directions"]]
        title = f"Horizon {_name(h)}: features by direction ({min(_MANY, len(told))} of {len(told)} that vary)"
        section(console, title, ("feature", "t", "first more", "second more", "mean"), told[:_MANY])
        for sentence in h["says"]:
            console.print(f"[yellow]note[/yellow] horizon {_name(h)}: {sentence}")
        console.print()


def _name(h: Row) -> str:
    return "all" if h["horizon"] is None else f"T{h['horizon']}"


def _t(t: float | None) -> str:
    return "always" if t is None else f"{t:+.2f}"


def _line(h: Row) -> tuple[str, ...]:
    a, c = h["advantage"], h["control"]
    if a is None:
        return (_name(h), f"{h['pairs']:,}", f"{h['scenarios']:,}", "-", "", "-", "-", "-", "-")
    reach = f"[{a['low']:+.3f}, {a['high']:+.3f}]"
    beside = ("-", "-") if c is None else (f"{c['estimate']:+.3f}", _signed(c["null"]))
    counts = (_name(h), f"{h['pairs']:,}", f"{h['scenarios']:,}")
    return (*counts, f"{a['estimate']:+.3f}", reach, _signed(a["null"]), f"{a['p']:.3f}", *beside)


def _signed(value: float | None) -> str:
    return "-" if value is None else f"{value:+.3f}"


def has_findings(report: dict[str, Any]) -> bool:
    """Whether pairs are told apart at some horizon."""
    return any(h["distinguishable"] for h in report["horizons"])
