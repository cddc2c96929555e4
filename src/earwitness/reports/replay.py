"""What replayed conditions would have left, and why: tables of figures, and one JSON object."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
from rich.console import Console

from earwitness.reports.printing import dim, head, many, section
from earwitness.reports.shown import Shown
from earwitness.reports.text import percent

Row = dict[str, Any]

_FIGURES = """
    SELECT condition, setting, mode, measure, grp, k, n, rate, low, high, boot_low, boot_high FROM replay_figures
"""
_KEYS = ("condition", "setting", "mode", "measure", "group", "k", "n", "rate", "low", "high", "boot_low", "boot_high")
_PAIRS = """
    SELECT setting, mode, truth, condition, other, under_both, only_condition, only_other, neither, p FROM replay_pairs
"""
_PAIR = ("setting", "mode", "truth", "condition", "other", "under_both", "only_condition", "only_other", "neither", "p")
_TOTALS = """
    SELECT count(*) FILTER (dynamic = 'sanitize'), count(*) FILTER (dynamic = 'allow'),
           count(*) FILTER (dynamic = 'unruled') FROM verdicts WHERE standing = 'confirmed'
"""


def replay_report(shown: Shown, skipped: dict[str, str], key: str | None = None) -> Row:
    """The last replay of a case, as one object; `docs/replay.md` describes it.

    Args:
        shown: the case, after `replay`.
        skipped: conditions that could not be replayed, and why.
        key: what is to be said of the key of the transforms.
    """
    case, name = shown.case, shown.mask
    totals = dict(zip(("should_sanitize", "should_allow", "unruled"), case.rows(_TOTALS)[0], strict=True))
    report = shown.stamp("replay") | {"occurrences": totals, "conditions": _conditions(shown)}
    report["figures"] = [
        dict(zip(_KEYS, (name(row[0]), *row[1:4], _group(shown, row[4]), *row[5:]), strict=True))
        for row in case.rows(_FIGURES)
    ]
    report["pairs"] = [
        dict(zip(_PAIR, (*row[:3], name(row[3]), name(row[4]), *row[5:]), strict=True)) for row in case.rows(_PAIRS)
    ]
    report["skipped"] = [{"condition": name(c), "reason": reason} for c, reason in skipped.items()]
    return report | {"key": key, "case": str(case.path) if case.path else None}


def _conditions(shown: Shown) -> list[Row]:
    """Names of what was replayed, in order."""
    told = shown.case.one("SELECT parameters FROM runs WHERE stage = 'replay' ORDER BY run DESC LIMIT 1")
    names = msgspec.json.decode(told)["conditions"] if told else []
    return [{"condition": shown.mask(n)} for n in names]


def _group(shown: Shown, text: str) -> dict[str, str | None]:
    """Attributes and topologies are words of a trace."""
    return {column: shown.name(cell) for column, cell in msgspec.json.decode(text).items()}


def has_residual(report: Row) -> bool:
    """Whether anything would have remained that should not."""
    return any(f["k"] for f in report["figures"] if f["measure"] == "residual")


# Which figures stand in which table of the terminal: measure, and what its group is called.
_SPLITS = (
    ("residual_by_type", "value type"),
    ("residual_by_channel", "channel"),
    ("residual_by_topology", "topology cell"),
    ("residual_by_position", "position of the recipient"),
    ("residual_by_hops", "hops the value had travelled"),
    ("new_agent_residual", "cell, introduced recipients alone"),
)
_MODES = {"independent": "each event by itself", "propagate": "what was sanitized is not passed on"}
_CAUSES = ("detection_miss", "no_recipient", "policy_gap", "post_transform")
_COSTS = ("under_sanitization", "over_sanitization", "collateral", "content_kept")
_Find = Callable[..., Row | None]


def print_replay(console: Console, report: Row) -> None:
    """Print the conditions beside each other, setting by setting: headlines, causes, decisions; then the splits of the
    first setting.
    """
    totals = report["occurrences"]
    told = f"{many(totals['should_sanitize'], 'occurrence')} should be sanitized, {totals['should_allow']:,} allowed"
    told += f"; {totals['unruled']:,} without a policy, left out" if totals["unruled"] else ""
    head(console, report, "Earwitness replay", told)
    find, settings = _finder(report["figures"]), _settings(report)
    for setting in settings:
        names = [c["condition"] for c in report["conditions"] if find(c["condition"], setting, "residual")]
        for mode, title in _MODES.items():
            _headlines(console, f"Recipients as in the {setting} setting, {title}", find, names, setting, mode)
        _causes(console, find, names, setting)
        _decisions(console, find, names, setting)
    for measure, title in _SPLITS if settings else ():
        _split(console, report, settings[0], measure, title)
    for skip in report["skipped"]:
        dim(console, f"left out: {skip['condition']}: {skip['reason']}")
    if report["key"]:
        dim(console, report["key"])


def _finder(figures: Iterable[Row]) -> _Find:
    index = {(f["condition"], f["setting"], f["mode"], f["measure"]): f for f in figures if not f["group"]}

    def find(condition: str, setting: str, measure: str, mode: str = "independent") -> Row | None:
        return index.get((condition, setting, mode, measure))

    return find


def _settings(report: Row) -> list[str]:
    seen = {f["setting"] for f in report["figures"]}
    return [s for s in ("paper", "extended") if s in seen]


def _rate(figure: Row | None) -> tuple[str, str, str]:
    """Percent, Wilson interval, bootstrap interval."""
    if figure is None:
        return "-", "-", "-"
    boot = "-" if figure["boot_low"] is None else _short(figure["boot_low"], figure["boot_high"])
    return percent(figure["rate"]), _short(figure["low"], figure["high"]), boot


def _short(low: float, high: float) -> str:
    return f"{100 * low:.1f}-{100 * high:.1f}"


def _headlines(console: Console, title: str, find: _Find, names: Sequence[str], setting: str, mode: str) -> None:
    rows = [
        (n, *_rate(find(n, setting, "residual", mode)), *_rate(find(n, setting, "correct_allow", mode))) for n in names
    ]
    columns = ("condition", "residual %", "95 %", "bootstrap", "correct-allow %", "95 %", "bootstrap")
    section(console, title, columns, rows)


def _causes(console: Console, find: _Find, names: Sequence[str], setting: str) -> None:
    rows = []
    for name in names:
        found = [find(name, setting, f"cause_{cause}") for cause in _CAUSES]
        if found[0]:
            cells = [f"{f['k']:,} ({percent(f['rate'])})" for f in found if f]
            rows.append((name, f"{found[0]['n']:,}", *cells))
    columns = ("condition", "remain", *(c.replace("_", " ") for c in _CAUSES))
    section(console, f"Why it remains, {setting} setting (%)", columns, rows)


def _decisions(console: Console, find: _Find, names: Sequence[str], setting: str) -> None:
    """Decision correctness on what is detected and has a known recipient."""
    rows = []
    for name in names:
        under, over, collateral, kept = (_of(find(name, setting, m)) for m in _COSTS)
        rows.append((name, *under, *over, collateral[1], kept[1]))
    columns = ("condition", "under-sanitized", "%", "over-sanitized", "%", "collateral %", "words kept %")
    section(console, f"Decisions on what is detected and has a known recipient, {setting} setting", columns, rows)


def _of(figure: Row | None) -> tuple[str, str]:
    return ("-", "-") if figure is None else (f"{figure['k']:,} of {figure['n']:,}", percent(figure["rate"]))


def _split(console: Console, report: Row, setting: str, measure: str, title: str) -> None:
    """One figure by a group: a line a condition, a column a cell."""
    cells: dict[str, dict[str, str]] = {}
    for f in report["figures"]:
        if (f["measure"], f["mode"], f["setting"]) == (measure, "independent", setting):
            cells.setdefault(f["condition"], {})[next(iter(f["group"].values())) or "-"] = percent(f["rate"])
    names = sorted({name for row in cells.values() for name in row})[:_WIDEST]
    rows = [(c["condition"], *(cells[c["condition"]].get(n, "-") for n in names)) for c in report["conditions"]
            if c["condition"] in cells]  # fmt: skip
    section(console, f"Residual % by {title}, {setting} setting", ("condition", *names), rows)


# So many columns fit; `--json` has all.
_WIDEST = 8
