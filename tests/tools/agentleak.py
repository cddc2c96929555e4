"""The tables of docs/agentleak.md that are measured: made here, held against the page by tests/audit/test_agentleak.py.

`pytest tests/audit/test_agentleak.py --update` writes them anew.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from earwitness.audit.stats import wilson
from earwitness.schema.case import Case

ROOT = Path(__file__).resolve().parents[2]
PAGE, READ = ROOT / "docs" / "agentleak.md", ROOT / "docs" / "agentleak-adjudicated.csv"


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    cells = ["| " + " | ".join(map(_cell, row)) + " |" for row in (columns, ["---"] * len(columns), *rows)]
    return "\n".join(cells)


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def block(page: str, name: str) -> str:
    """The table that stands below its mark."""
    found = re.search(rf"<!-- measured: {name} -->\n\n(.*?)\n\n", page, re.DOTALL)
    assert found, f"the page has no table named {name}"
    return found[1]


def replaced(page: str, name: str, text: str) -> str:
    """The page with another table below that mark."""
    return page.replace(
        f"<!-- measured: {name} -->\n\n{block(page, name)}\n\n", f"<!-- measured: {name} -->\n\n{text}\n\n"
    )


def counts(case: Case) -> dict[str, int]:
    """What an audit left in its tables."""
    queries = {
        "matches in distinct texts, confirmed": "SELECT count(*) FROM matches WHERE standing = 'confirmed'",
        "the same, possible": "SELECT count(*) FROM matches WHERE standing = 'possible'",
        "occurrences, confirmed": "SELECT count(*) FROM verdicts WHERE standing = 'confirmed'",
        "of these disclosures": "SELECT count(*) FROM verdicts WHERE standing = 'confirmed' AND dynamic = 'sanitize'",
        "occurrences, possible": "SELECT count(*) FROM verdicts WHERE standing = 'possible'",
        "disclosures that a deny rule decides": """SELECT count(*) FROM verdicts WHERE standing = 'confirmed'
            AND dynamic = 'sanitize' AND dynamic_rule <> 'default'""",
        "occurrences spared because the value stands in the request": """SELECT count(*) FROM verdicts
            WHERE dynamic_rule = 'in-request'""",
        "exposures": "SELECT count(*) FROM exposures",
        "unauthorised exposures": "SELECT count(*) FROM exposures WHERE authorised IS FALSE",
    }
    return {name: int(case.one(query)) for name, query in queries.items()}


def figures(literal: dict[str, Any], default: dict[str, Any]) -> str:
    """Counts and rates by the published rule beside those by the default rules.

    Each argument is {"counts": of `counts`, "report": of `summary`}.
    """
    rows: list[Sequence[object]] = [
        (name, literal["counts"][name], default["counts"][name]) for name in literal["counts"]
    ]
    wanted = {"channel_leakage", "any_leakage", "audit_gap", "field_disclosure"}
    rates = [
        {
            (m["name"], *m["group"].values()): f"{m['k']:,} of {m['n']:,}: {100 * m['rate']:.2f} %"
            for m in r["report"]["measures"]
        }
        for r in (literal, default)
    ]
    rows += [(f"`{k[0]}`, {' '.join(k[1:])}", *(r[k] for r in rates)) for k in sorted(rates[0]) if k[0] in wanted]
    return table(("figure", "literal", "default"), rows)


def agreement(evaluation: dict[str, Any]) -> str:
    """Agreement with the labels by form."""
    names = ("agree", "label_only", "analyzer_only")
    rows = [(f"`{r['form']}`", *(r[n] for n in names)) for r in evaluation["agreement"]]
    rows.sort(key=lambda r: -sum(n for n in r[1:] if isinstance(n, int)))
    whole = ("all", *(sum(r[n] for r in evaluation["agreement"]) for n in names))
    return table(("form", "agree", "label only", "analyzer only"), [*rows, whole])


def recall(evaluation: dict[str, Any]) -> str:
    """Labelled fields found, by standing; then the attributes of those that are only possible."""
    rows: list[Sequence[object]] = []
    for title, name in (("of any standing", "with_possible"), ("confirmed", "confirmed")):
        r = evaluation[name]["recall"]
        rows.append((title, f"{r['k']:,} of {r['n']:,}", f"{r['rate']:.4f}", f"[{r['low']:.4f}, {r['high']:.4f}]"))
    for attribute, n in Counter(m["attribute"] for m in evaluation["misses"]).most_common():
        rows.append((f"only possible: `{attribute}`", n, "", ""))
    return table(("found", "fields", "recall", "95 % interval"), rows)


def possible(case: Case) -> str:
    """Occurrences that are only possible, by form."""
    rows = case.rows("""
        SELECT '`' || m.form || '`', count(*),
               array_to_string(list_sort(list(DISTINCT '`' || w.attribute || '`')), ', ')
        FROM verdicts v JOIN events e USING (event) JOIN vault w USING (value)
        JOIN matches m ON m.content = e.content AND m.value = v.value AND (m.event IS NULL OR m.event = e.event)
        WHERE v.standing = 'possible' GROUP BY ALL ORDER BY count(*) DESC, 1""")
    return table(("form", "occurrences", "attributes"), rows)


def read() -> list[dict[str, str]]:
    """The findings that somebody has read."""
    with READ.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def judged() -> str:
    """What reading them gave, by form."""
    rows = []
    found = read()
    for form in (*(f for f, _ in Counter(r["form"] for r in found).most_common()), None):
        verdicts = [r["verdict"] == "true" for r in found if form in (None, r["form"])]
        low, high = wilson(sum(verdicts), len(verdicts))
        share = f"{100 * sum(verdicts) / len(verdicts):.1f} % [{100 * low:.1f}, {100 * high:.1f}]"
        rows.append((f"`{form}`" if form else "all", len(verdicts), sum(verdicts), share))
    return table(("form", "read", "true", "precision"), rows)


def told(cells: list[dict[str, Any]]) -> str:
    """Value fidelity by channel and value type."""
    rows = []
    for c in cells:
        s = c["exact_share"]
        exact = f"{100 * s['rate']:.2f} % [{100 * s['low']:.2f}, {100 * s['high']:.2f}]"
        rows.append((c["channel"], c["value_type"], c["exact"], c["corrupted"], c["substituted"], exact))
    return table(("channel", "value type", "exact", "corrupted", "substituted", "told exactly"), rows)
