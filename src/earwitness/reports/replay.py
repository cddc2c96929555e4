"""What replayed conditions would have left, and why: tables of figures, and one JSON object."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec
from rich.console import Console

from earwitness.reports.printing import dim, head, many, section
from earwitness.reports.shown import Shown
from earwitness.reports.text import percent, plain

Row = dict[str, Any]

_FIGURES = """
    SELECT condition, setting, mode, measure, grp, k, n, rate, low, high, boot_low, boot_high FROM replay_figures
"""
_KEYS = ("condition", "setting", "mode", "measure", "group", "k", "n", "rate", "low", "high", "boot_low", "boot_high")
_PAIRS = """
    SELECT setting, mode, truth, condition, other, under_both, only_condition, only_other, neither, p FROM replay_pairs
"""
_PAIR = ("setting", "mode", "truth", "condition", "other", "under_both", "only_condition", "only_other", "neither", "p")
_CHECKS = "SELECT name, backstop, way, judged, k, n, note FROM replay_checks ORDER BY backstop DESC, rowid"
_CHECK = ("check", "backstop", "way", "judged", "k", "n", "note")
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
    report["checks"] = [dict(zip(_CHECK, row, strict=True)) for row in case.rows(_CHECKS)]
    report["rewriter"] = _rewriter(shown, report["checks"])
    report["skipped"] = [{"condition": name(c), "reason": reason} for c, reason in skipped.items()]
    return report | {"key": key, "case": str(case.path) if case.path else None}


def _conditions(shown: Shown) -> list[Row]:
    """Names of what was replayed, in order."""
    return [{"condition": shown.mask(n)} for n in _parameters(shown).get("conditions", [])]


def _parameters(shown: Shown) -> Row:
    told = shown.case.one("SELECT parameters FROM runs WHERE stage = 'replay' ORDER BY run DESC LIMIT 1")
    found: Row = msgspec.json.decode(told) if told else {}
    return found


def _rewriter(shown: Shown, checks: Sequence[Row]) -> Row:
    """Who rewrote in this run and what became of it; values are counted once for each way to check them."""
    counted = [c for c in checks if c["check"].startswith("rewrite_")]

    def summed(start: str) -> dict[str, int]:
        found = [(c["check"].removeprefix(start), c["k"]) for c in counted if c["check"].startswith(start)]
        return {name: sum(k for other, k in found if other == name) for name, _ in sorted(found)}

    accepted = [c for c in counted if c["check"] == "rewrite_accepted"]
    told = _parameters(shown).get("rewriter", {})
    return {
        **{name: told.get(name) for name in ("kind", "model", "prompt_sha256", "endpoint", "asked", "at_hand", "gate")},
        "values": sum(c["n"] for c in accepted),
        "accepted": sum(c["k"] for c in accepted),
        "at_try": summed("rewrite_at_try_"),
        "refused": summed("rewrite_refused_"),
    }


def _group(shown: Shown, text: str) -> dict[str, str | None]:
    """Attributes and topologies are words of a trace."""
    return {column: shown.name(cell) for column, cell in msgspec.json.decode(text).items()}


def has_residual(report: Row) -> bool:
    """Whether anything would have remained that should not."""
    return any(f["k"] for f in report["figures"] if f["measure"] == "residual")


# What `--by` splits by: the end of the name of a measure, and what its groups are called.
SPLITS = {
    "type": ("type", "value type"),
    "channel": ("channel", "channel"),
    "attribute": ("attribute", "attribute"),
    "cell": ("topology", "topology cell"),
    "hops": ("hops", "hops the value had travelled"),
    "distance": ("distance", "realised distance"),
    "position": ("position", "position of the recipient"),
}
_CAUSES = ("detection_miss", "no_recipient", "policy_gap", "post_transform")
_COSTS = ("under_sanitization", "over_sanitization", "introduced", "collateral", "content_kept")
_PASSED = "propagate"
_WIDTH, _FIRST = 100, 19
_Find = Callable[..., Row | None]


def print_replay(console: Console, report: Row, by: Sequence[str] = ()) -> None:
    """Print the conditions under each other, setting by setting: headlines in both modes; causes and costs; then the
    splits that are asked for, and what it comes to.

    Args:
        console: where to.
        report: of `replay_report`.
        by: names of `SPLITS`.
    """
    totals = report["occurrences"]
    told = f"{many(totals['should_sanitize'], 'occurrence')} should be sanitized, {totals['should_allow']:,} allowed"
    told += f"; {totals['unruled']:,} without a policy, left out" if totals["unruled"] else ""
    head(console, report, "Earwitness replay", told)
    find, settings = _finder(report["figures"]), _settings(report)
    for setting in settings:
        names = [c["condition"] for c in report["conditions"] if any(find(c["condition"], setting, m) for m in _HEADS)]
        _headlines(console, find, names, setting)
        _reasons(console, find, names, setting)
    for name in dict.fromkeys(by):
        for setting in settings:
            _splits(console, report, setting, name)
    _checks(console, report["checks"])
    _rewriting(console, report["rewriter"])
    for setting in settings:
        _sentence(console, find, setting)
    for skip in report["skipped"]:
        dim(console, f"left out: {skip['condition']}: {skip['reason']}")
    if report["key"]:
        dim(console, report["key"])


_HEADS = ("residual", "correct_allow")


def _finder(figures: Iterable[Row]) -> _Find:
    index = {(f["condition"], f["setting"], f["mode"], f["measure"]): f for f in figures if not f["group"]}

    def find(condition: str, setting: str, measure: str, mode: str = "independent") -> Row | None:
        return index.get((condition, setting, mode, measure))

    return find


def _settings(report: Row) -> list[str]:
    seen = {f["setting"] for f in report["figures"]}
    return [s for s in ("paper", "extended") if s in seen]


def _rate(figure: Row | None) -> tuple[str, str]:
    """Percent, and its interval: of the bootstrap where there is one."""
    if figure is None:
        return "-", "-"
    ends = ("low", "high") if figure["boot_low"] is None else ("boot_low", "boot_high")
    low, high = (100 * figure[end] for end in ends)
    return percent(figure["rate"]), f"{low:.1f}-{high:.1f}"


def _headlines(console: Console, find: _Find, names: Sequence[str], setting: str) -> None:
    rows = []
    for name in names:
        passed = [_rate(find(name, setting, m, _PASSED))[0] for m in _HEADS]
        rows.append((name, *(cell for m in _HEADS for cell in _rate(find(name, setting, m))), *passed))
    columns = (
        "condition",
        "residual %",
        "95 %",
        "correct-allow %",
        "95 %",
        "passed on:\nresidual %",
        "\ncorrect-allow %",
    )
    section(console, f"Recipients as in the {setting} setting", columns, rows)


def _reasons(console: Console, find: _Find, names: Sequence[str], setting: str) -> None:
    """Causes of what remains, as shares of it, and what protection costs."""
    rows = []
    for name in names:
        causes = [find(name, setting, f"cause_{cause}") for cause in _CAUSES]
        remain = f"{causes[0]['n']:,}" if causes[0] else "0"
        shares = [_rate(f)[0] for f in (*causes, *(find(name, setting, m) for m in _COSTS))]
        rows.append((name, remain, *shares))
    columns = (
        "condition",
        "remain",
        "missed",
        "no recip.",
        "policy",
        "transf.",
        "under",
        "over",
        "introd.",
        "collat.",
        "kept",
    )
    section(console, f"Why it remains, decisions and costs, {setting} setting (%)", columns, rows)


def _splits(console: Console, report: Row, setting: str, name: str) -> None:
    """The figures that there are by one thing."""
    ending, title = SPLITS[name]
    for measure, what in (("residual", "Residual"), ("correct_allow", "Correct-allow")):
        _split(console, report, setting, f"{measure}_by_{ending}", f"{what} % by {title}, {setting} setting")
    if name == "cell":
        title = f"Residual % by topology cell, introduced recipients alone, {setting} setting"
        _split(console, report, setting, "new_agent_residual", title)


def _split(console: Console, report: Row, setting: str, measure: str, title: str) -> None:
    """One figure by a group: a line a condition, a column a cell, as many tables as that takes."""
    cells: dict[str, dict[str, str]] = {}
    for f in report["figures"]:
        if (f["measure"], f["mode"], f["setting"]) == (measure, "independent", setting):
            cells.setdefault(f["condition"], {})[next(iter(f["group"].values())) or "-"] = percent(f["rate"])
    for names in _fitting(sorted({name for row in cells.values() for name in row})):
        rows = [(c["condition"], *(cells[c["condition"]].get(n, "-") for n in names)) for c in report["conditions"]
                if c["condition"] in cells]  # fmt: skip
        section(console, title, ("condition", *map(plain, names)), rows)


def _fitting(names: Sequence[str]) -> Iterator[list[str]]:
    """Columns in groups that fit beside the names of the conditions."""
    some: list[str] = []
    used = _FIRST
    for name in names:
        width = min(max(len(name), 6), _WIDTH - _FIRST - 1) + 1
        if some and used + width > _WIDTH:
            yield some
            some, used = [], _FIRST
        some.append(name)
        used += width
    if some:
        yield some


def _checks(console: Console, checks: Sequence[Row]) -> None:
    """What was verified of the transforms, in a line or two; JSON has each check."""
    judged = [c for c in checks if c["judged"] and c["n"]]
    made = next((c for c in checks if c["check"] == "texts_made"), None)
    if made is None or not made["n"]:
        return
    told = f"transforms: {made['k']:,} of {many(made['n'], 'changed text')} made in this run"
    if judged:
        failed = [f"{c['check']} {c['n'] - c['k']:,} of {c['n']:,}" for c in judged if c["k"] < c["n"]]
        told += f", {len(judged) - len(failed)} of {len(judged)} checks of them hold"
        told += f"; not in all: {', '.join(failed)}" if failed else ""
    dim(console, told)


def _rewriting(console: Console, told: Row) -> None:
    """Who rewrote, and what became of it."""
    if not told["values"] and told["kind"] != "model":
        return
    who = "the local generaliser"
    if told["kind"] == "model":
        place = f" at {told['endpoint']}" if told["endpoint"] else ", nobody asked"
        who = f"{told['model']}{place}, prompt {told['prompt_sha256'][:8]}, {told['asked']:,} asked, "
        who += f"{many(told['at_hand'], 'answer')} at hand"
    dim(console, f"rewriting by {who}; gate: {told['gate'] or 'none'}")
    if not told["values"]:
        dim(console, "no value was rewritten in this run")
        return
    tries = ", ".join(f"{k:,} at try {n}" for n, k in told["at_try"].items())
    causes = ", ".join(f"{cause} {k:,}" for cause, k in told["refused"].items())
    text = f"{told['accepted']:,} of {many(told['values'], 'value')} rewritten{f': {tries}' if tries else ''}"
    dim(console, f"{text}; redacted instead: {causes or 'none'}")


def _sentence(console: Console, find: _Find, setting: str) -> None:
    """Recipients against redaction of everything."""
    cells = [[find(name, setting, m) for m in _HEADS] for name in ("dynamic", "blanket")]
    (left, kept), (left_all, kept_all) = cells
    told = []
    if left and left_all:
        points = 100 * (left["rate"] - left_all["rate"])
        told.append(f"leaves {abs(points):.2f} points {'less' if points < 0 else 'more'} than blanket")
    if kept and kept_all:
        times = (
            f"{kept['k'] / kept_all['k']:.1f} times"
            if kept_all["k"]
            else f"{kept['k']:,}, where blanket keeps none, of"
        )
        told.append(f"keeps {times} the authorised occurrences")
    missed = find("dynamic", setting, "cause_detection_miss")
    found = [f"dynamic {'; '.join(told)}"] if told else []
    if missed:
        found.append(f"{percent(missed['rate'])} % of what {'it' if told else 'dynamic'} leaves was never detected")
    if found:
        dim(console, f"{setting}: {'; '.join(found)}")
