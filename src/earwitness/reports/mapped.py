"""A dry run of a mapping: outcomes, channels, and a few events whose words are masked."""

import re

from earwitness.schema.case import Case

_WORD = re.compile(r"\w")
_LONG = 60


def preview(case: Case, n: int) -> list[str]:
    """Lines that tell what a mapping makes of a file."""
    outcomes = case.rows("SELECT outcome, sum(records)::BIGINT FROM outcomes GROUP BY outcome ORDER BY outcome")
    channels = case.rows("SELECT channel, count(*) FROM events GROUP BY channel ORDER BY channel")
    reasons = case.rows("SELECT reason, count(*) FROM records GROUP BY reason ORDER BY count(*) DESC LIMIT 5")
    lines = [
        f"records: {_counts(outcomes) or 'none'}",
        f"events: {_counts(channels) or 'none'}; traces: {case.count('traces')}",
        *(f"not mapped: {reason} ({count})" for reason, count in reasons),
    ]
    return [*lines, *(_shown(*row) for row in case.rows(_EVENTS, [n]))]


_EVENTS = """
    SELECT e.channel, e.time, e.sender, list(d.recipient ORDER BY d.rowid) FILTER (d.recipient IS NOT NULL), c.text
    FROM events e JOIN contents c USING (content) LEFT JOIN deliveries d USING (event)
    GROUP BY e.event, e.channel, e.time, e.sender, c.text ORDER BY e.event LIMIT ?
"""


def _counts(rows: list[tuple[str, int]]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in rows)


def _shown(channel: str, time: object, sender: str | None, to: list[str] | None, text: str) -> str:
    """An event without its words: lengths and punctuation tell whether the right text was taken."""
    masked = _WORD.sub("x", "".join(c if c.isprintable() else " " for c in text[:_LONG]))
    names = "".join(c if c.isprintable() else "?" for c in f"{sender or '-'} > {', '.join(to or ['-'])}")
    more = "..." if len(text) > _LONG else ""
    return f"  {channel} {time or 'no time'}  {names}  [{len(text)} characters] {masked}{more}"
