"""A policy to start from, where no policy rules: observed actors and attributes, no values."""

import json

from earwitness.reports.page.markup import View
from earwitness.schema.case import Case
from earwitness.schema.words import VALUE_TYPES

MOST = 40
_ACTORS = """
    SELECT actor, min(kind), min(position), count(*) AS n FROM parties GROUP BY actor ORDER BY n DESC, actor LIMIT ?
"""
_HOLDERS = """
    SELECT agent, list_sort(list(DISTINCT w.attribute))[:?] FROM origins o JOIN vault w USING (value)
    GROUP BY agent ORDER BY count(*) DESC, agent LIMIT ?
"""
_HEAD = """\
# Built from what was observed; edit it, then audit again with --policy. It holds no protected value.
version: 1
default: sanitize            # who is not allowed below may not know
"""
_VALUES = """
# Name the protected values here or in a file beside this one, unless the traces carry them:
# values:
#   - {attribute: ssn, value: "...", value_type: format_dependent, subject: "..."}
# vault: vault.csv
"""


def draft(view: View) -> str:
    """The text of a `policy.yaml` that would decide every exposure: only first holders may know."""
    parts = [_HEAD, _roster(view), "unlisted: introduced         # agents not named above\n", _values(view.case)]
    return "".join([*parts, _rules(view)])


def _text(view: View, word: object) -> str:
    """A double-quoted scalar: every JSON string is one."""
    return json.dumps(view.mask(str(word)), ensure_ascii=True)


def _roster(view: View) -> str:
    rows = view.case.rows(_ACTORS, [MOST])
    lines, seen = (
        ["roster:                      # original: may be there; introduced: only the topology needs it\n"],
        set(),
    )
    for actor, kind, position, _ in rows:
        name = _text(view, actor)
        if name not in seen:
            seen.add(name)
            lines.append(f"  - {{name: {name}, kind: {kind}, position: {_position(kind, position)}}}\n")
    return "".join(lines) if rows else "roster: []\n"


def _position(kind: str, position: str) -> str:
    return "original" if kind == "agent" and position == "unknown" else position


def _values(case: Case) -> str:
    return "" if case.count("vault") else _VALUES


def _rules(view: View) -> str:
    """Least privilege to begin with: who had a value before anyone told it may know it."""
    held = view.case.rows(_HOLDERS, [MOST, MOST])
    lines = ["\nrules:                       # deny beats allow; an empty selector matches everything\n"]
    for number, (agent, attributes) in enumerate(held, 1):
        named = ", ".join(dict.fromkeys(_text(view, a) for a in attributes))
        lines.append(
            f"  - {{id: holder-{number}, effect: allow, recipients: [{_text(view, agent)}],\n"
            f"     attributes: [{named}]}}\n"
        )
    if not held:
        types = ", ".join(VALUE_TYPES)
        lines.append("  - {id: roster-may-know, effect: allow, positions: [original],\n")
        lines.append(f"     value_types: [{types}]}}\n")
    return "".join(lines)
