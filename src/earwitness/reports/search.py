"""Single changes of a replayed condition, ranked by what they would remove; each in a sentence."""

from pathlib import Path
from typing import Any

from rich.console import Console

from earwitness.audit.replay.search import Ask
from earwitness.reports.printing import dim, head, section
from earwitness.reports.shown import Shown
from earwitness.reports.text import interval, percent
from earwitness.schema.errors import InputError

Row = dict[str, Any]

_DOING = {
    "detect": "Detecting", "resolve": "Resolving", "sanitize": "Sanitizing", "judge": "Judging",
    "protect": "Protecting", "decide": "Deciding", "redact": "Redacting", "refuse": "Refusing", "add": "Adding",
}  # fmt: skip
# What a change is called within a cell, where the words for the whole do not do.
_WITHIN = {
    ("detect also every known value", "attribute"): "detect also every {0}",
    ("detect also every known value", "value_type"): "detect also every {0} value",
    ("detect also every known value", "channel"): "detect also every known value in {0}",
    ("detect also by presidio", "entity"): "detect also what presidio calls {0}",
    ("detect also by the recognizers", "recognizer"): "detect also what the recognizer {0} finds",
    ("detect without what one alone finds", "recognizer"): "detect without what the recognizer {0} alone finds",
    ("detect without what one alone finds", "entity"): "detect without what presidio alone calls {0}",
    ("resolve recipients by every grade", "channel"): "resolve recipients of {0} by every grade of evidence",
    ("resolve recipients by every grade", "grade"): "resolve recipients by {0} evidence",
    ("resolve recipients by every grade", "channel, grade"): "resolve recipients of {0} by {1} evidence",
    ("redact whatever else was done", "value_type"): "redact every {0} value",
    ("add a rule that denies", "attribute"): "add a rule that denies {0}",
    ("add a rule that denies", "attribute, channel"): "add a rule that denies {0} in {1}",
    ("add a rule that denies", "attribute, recipient"): "add a rule that denies {0} to {1}",
    ("add a rule that denies", "attribute, role"): "add a rule that denies {0} to the role {1}",
}
_WHOLE = {
    "resolve recipients by every grade": "resolve recipients by every grade of evidence",
    "redact whatever else was done": "redact every value, whatever else was done",
}
_GRADES = {"consumed": "consumption"}
_CHANNELS = {
    "C1": "final outputs", "C2": "messages between agents", "C3": "tool arguments", "C4": "tool results",
    "C5": "shared memory", "C6": "reasoning and logs", "C7": "artifacts",
}  # fmt: skip


def search_report(shown: Shown, found: Row, ask: Ask, limit: int) -> Row:
    """What `audit.replay.search.search` found, as one object; `docs/policy-search.md` describes it."""
    changes = [_shown(shown, c) for c in found["changes"][:limit]]
    steps = [_shown(shown, c) for c in found["steps"]]
    asked = {"condition": shown.mask(ask.condition.name), "setting": ask.setting, "mode": ask.mode}
    report = shown.stamp("replay-search") | asked
    rest = {"changes": changes, "more": max(0, len(found["changes"]) - limit), "steps": steps}
    rest["final"] = _final(shown, found["final"], steps)
    return report | found | rest


def _shown(shown: Shown, change: Row) -> Row:
    """A change without protected values, and with its sentence."""
    masked = change | {k: shown.name(change[k]) for k in ("cell", "condition", "policy")}
    return masked | {"sentence": sentence(masked)}


def _final(shown: Shown, file: str | None, steps: list[Row]) -> str | None:
    """The condition after all steps as a file; what no condition can say stands in comments."""
    if file is None:
        return None
    lines = [f"# {n}. {s['sentence']}\n" for n, s in enumerate(steps, 1)]
    for n, s in enumerate(steps, 1):
        if s["condition"] is None:
            lines.append(
                f"# No condition can say step {n}" + (": it is a rule of the policy.\n" if s["policy"] else ".\n")
            )
        if s["family"] == "rule":
            lines.append(f"# rules:\n#   {s['policy']}\n")
    return "".join(lines) + str(shown.name(file))


def write_final(path: Path, report: Row) -> None:
    """Write the condition after the steps.

    Raises:
        InputError: no change helped, or the file stands already.
    """
    if report["final"] is None:
        raise InputError("no change lowers what remains: there is no condition to write; leave --write out")
    try:
        with path.open("x", encoding="utf-8") as handle:
            handle.write(report["final"])
    except FileExistsError:
        raise InputError(f"{path}: exists already; give another name") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}; give another path") from None


def sentence(change: Row) -> str:
    """What a change would do, in plain words."""
    kept, allowed = change["residual"]["k"] + change["net_removed"], change["correct_allow"]["k"] + change["net_lost"]
    verb, _, rest = words(change).partition(" ")
    text = f"{_DOING[verb]} {rest} would {_removed(change, kept)} and {_lost(change, allowed)}."
    if change["assumed"]:
        n, total = change["assumed"], change["removed"]
        text += f" Assumed, not measured: that {'they' if n == total else f'{n:,} of them'} are gone."
    if change["under_changed"]:
        after = change["under_changed"]["residual"]
        text += f" Under the policy so changed {after['k']:,} of {after['n']:,} would remain."
    return text + (" Nobody can do that: it is a bound." if change["bound"] else "")


def words(change: Row) -> str:
    """What is changed, with the cell it is restricted to."""
    by, cell = change["by"], change["cell"]
    if by is None:
        return _WHOLE.get(change["change"], str(change["change"]))
    cells = [_named(b, c) for b, c in zip(by.split(", "), _parts(by, cell), strict=True)]
    within = _WITHIN.get((change["change"], by))
    return within.format(*cells) if within else f"{change['change']}, in {cells[0]}"


def _parts(by: str, cell: str | None) -> list[str]:
    """The cells of several columns; names of attributes and recipients may hold commas."""
    return str(cell).rsplit(", ", by.count(", ")) if cell else [""] * (by.count(", ") + 1)


def _named(by: str, cell: str) -> str:
    if by == "channel":
        return f"{_CHANNELS.get(cell, 'channel')} ({cell})"
    if by == "grade":
        return _GRADES.get(cell, cell)
    return cell.replace("_", "-") if by == "value_type" else cell


def _removed(change: Row, kept: int) -> str:
    net = change["net_removed"]
    if net < 0:
        return f"add {-net:,} to {kept:,} residual occurrences"
    share = f" ({100 * net / kept:.0f} %)" if kept else ""
    both = f", {change['added']:,} others added," if change["added"] else ""
    return f"remove {net:,} of {kept:,} residual occurrences{share}{both}"


def _lost(change: Row, allowed: int) -> str:
    net = change["net_lost"]
    if net < 0:
        return f"regain {-net:,} authorised ones"
    return f"lose {net or 'none':{',' if net else ''}} of {allowed:,} authorised ones"


def print_search(console: Console, report: Row) -> None:
    """The tables of changes and steps at 100 columns, and their sentences."""
    residual, allowed = report["residual"], report["correct_allow"]
    rest = (
        f"{report['condition']}, {report['setting']}, {report['mode']}: {residual['k']:,} of {residual['n']:,} remain"
    )
    head(console, report, "single changes", f"{rest}; correct-allow {allowed['k']:,} of {allowed['n']:,}")
    columns = ("change", "removed", "share", "residual %", "95 %", "allowed lost")
    section(console, "what each would remove", columns, [_line(n, c) for n, c in enumerate(report["changes"], 1)])
    _sentences(console, "in words", report["changes"])
    if not report["changes"]:
        dim(console, "no single change that was tried changes what remains")
    section(console, "one after the other", columns, [_line(n, c) for n, c in enumerate(report["steps"], 1)])
    _sentences(console, "each after those before", report["steps"])
    _remarks(console, report)


def _sentences(console: Console, title: str, changes: list[Row]) -> None:
    """A sentence for each, and what to write into which file."""
    rows = []
    for n, change in enumerate(changes, 1):
        rows.append((f"{n}.", change["sentence"]))
        rows += [("", f"condition   {line}") for line in (change["condition"] or "").splitlines()]
        if change["policy"]:
            rows.append(("", f"policy      {change['policy']}"))
    section(console, title, ("", ""), rows, left=2)


def _remarks(console: Console, report: Row) -> None:
    if report["more"]:
        dim(console, f"{report['more']:,} more: raise --limit")
    for left in report["left_out"]:
        dim(console, f"not tried: {left['what']}, {left['why']}" + (f"; run: {left['run']}" if left["run"] else ""))
    dim(console, "Judged again from what is stored; no text was scanned. Lost: authorised disclosures.")


def _line(number: int, change: Row) -> tuple[Any, ...]:
    after = change["residual"]
    share = percent(change["share"]) if (change["share"] or 0) > 0 else "-"
    rate = ("-", "-") if after["rate"] is None else (percent(after["rate"]), interval(after["low"], after["high"]))
    return f"{number}. {words(change)}", f"{change['net_removed']:,}", share, *rate, f"{change['net_lost']:,}"
