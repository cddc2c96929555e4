"""Two policies held against each other: in their files, and in the verdicts of a case."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from earwitness import __version__
from earwitness.audit.policies import apply_policy
from earwitness.audit.policydiff import Read, differences, verdict_changes
from earwitness.reports.mask import Mask
from earwitness.reports.printing import dim, head, many, section
from earwitness.reports.shown import Row, Shown
from earwitness.schema.case import Case
from earwitness.schema.policy import PolicyValue

_TURNED = ("channel", "attribute", "recipient", "before", "before_rule", "after", "after_rule", "n")


def policy_diff(
    old: Read, new: Read, names: tuple[Path, Path], shown: Shown | None = None, values: Sequence[PolicyValue] = ()
) -> Row:
    """What differs between two policies; with a case also which confirmed occurrences are judged otherwise.

    Args:
        old: a policy.
        new: the policy to hold against it.
        names: their files.
        shown: an audited case and what may be shown of it.
        values: of a vault file beside both policies.
    """
    mask = _mask((*old.values, *new.values, *values))
    changes = [{k: mask(v) for k, v in c._asdict().items()} for c in differences(old, new)]
    report: Row = {"format": "earwitness.policy-diff/1", "version": __version__}
    report |= {"old": _file(names[0], old), "new": _file(names[1], new), "changes": changes, "verdicts": None}
    if shown:
        table = verdict_changes(shown.case, old, new, values)
        rows = [{**row, "recipient": row["recipient"] and shown.mask(row["recipient"])} for row in table.to_dicts()]
        report["verdicts"] = [{k: row[k] for k in _TURNED} for row in rows]
    return report


def _mask(values: Sequence[PolicyValue]) -> Mask:
    """Rules and rosters may name what the policy protects."""
    with Case() as case:
        apply_policy(case, None, tuple(dict.fromkeys(values)))
        return Mask(case)


def _file(path: Path, read: Read) -> Row:
    return {"file": str(path), "sha256": read.sha256}


def differ(report: Row) -> bool:
    """Whether there is any difference."""
    return bool(report["changes"] or report["verdicts"])


def print_policy_diff(console: Console, report: Row) -> None:
    """Print a report of `policy_diff`."""
    head(console, report, report["new"]["file"], f"held against {report['old']['file']}")
    changes = [(c["change"], c["part"] or "policy", c["name"], c["before"], c["after"]) for c in report["changes"]]
    section(console, "Files", ("change", "part", "name", "before", "after"), changes, left=5)
    if not changes:
        dim(console, "The files say the same.")
    if report["verdicts"] is None:
        return
    turned = [r for r in report["verdicts"] if r["before"] != r["after"]]
    columns = ("channel", "attribute", "recipient", "before", "by", "after", "by", "n")
    section(console, "Verdicts that change", columns, [[r[k] for k in _TURNED] for r in turned], left=7)
    n, same = sum(r["n"] for r in turned), sum(r["n"] for r in report["verdicts"]) - sum(r["n"] for r in turned)
    dim(console, f"{many(n, 'confirmed occurrence')} judged otherwise; {same:,} more judged alike by another rule.")
