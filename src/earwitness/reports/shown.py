"""Names, values and places as investigations show them: masked, and with the place of their evidence."""

from collections.abc import Callable, Iterable
from typing import Any

from earwitness import __version__
from earwitness.reports.mask import Mask
from earwitness.schema.case import Case

Row = dict[str, Any]
Pair = tuple[int, int | None]

# How moments are written: ISO 8601, UTC.
ISO = "'%Y-%m-%dT%H:%M:%S.%fZ'"

_PLACES = f"""
    WITH asked AS (SELECT unnest(?::BIGINT[]) AS event, unnest(?::BIGINT[]) AS value)
    SELECT a.event, a.value, e.event_id, e.seq, strftime(e.time, {ISO}), s.name, s.sha256, e.line, e."offset",
           e.pointer, m.start, m.stop
    FROM asked a JOIN events e USING (event) JOIN sources s ON s.source = e.source
    LEFT JOIN matches m ON m.content = e.content AND m.value = a.value AND (m.event IS NULL OR m.event = e.event)
    QUALIFY row_number() OVER (PARTITION BY a.event, a.value ORDER BY m.standing, m.tier, m.start) = 1
"""
_VALUES = """
    SELECT value, attribute, fingerprint, value_type, subject, text FROM vault
    WHERE value IN (SELECT unnest(?::BIGINT[]))
"""
VERDICTS = {True: "authorised", False: "unauthorised", None: "unruled"}


def _clear(text: str) -> str:
    return text


class Shown:
    """What may be shown of a case.

    Args:
        case: after an audit.
        reveal: show protected values in clear; everything made with this is stamped.
    """

    def __init__(self, case: Case, *, reveal: bool = False) -> None:
        self.case, self.revealed = case, reveal
        self.mask: Callable[[str], str] = _clear if reveal else Mask(case)

    def name(self, text: str | None) -> str | None:
        """Words of a trace or a policy, without protected values."""
        return None if text is None else self.mask(text)

    def stamp(self, what: str) -> Row:
        """How an object begins."""
        stamp = {"format": f"earwitness.{what}/1", "version": __version__}
        return stamp | {"revealed": True} if self.revealed else stamp

    def value(self, attribute: str, fingerprint: str, value_type: str | None, subject: str | None, text: str) -> Row:
        """A protected value by its names; its text only where that was asked for."""
        row: Row = {"attribute": self.mask(attribute), "fingerprint": fingerprint, "value_type": value_type}
        row["subject"] = self.name(subject)
        return row | {"text": text} if self.revealed else row

    def unruled(self) -> int:
        """Exposures on which no policy rules."""
        return int(self.case.one("SELECT count(*) FROM exposures WHERE authorised IS NULL"))

    def values(self, numbers: Iterable[int]) -> dict[int, Row]:
        """Values by number."""
        rows = self.case.rows(_VALUES, [sorted(set(numbers))])
        return {number: self.value(*rest) for number, *rest in rows}

    def traces(self, numbers: Iterable[int]) -> dict[int, str]:
        """Ids of traces by number."""
        query = "SELECT trace, trace_id FROM traces WHERE trace IN (SELECT unnest(?::INTEGER[]))"
        return {number: self.mask(name) for number, name in self.case.rows(query, [sorted(set(numbers))])}

    def places(self, pairs: Iterable[Pair]) -> dict[Pair, Row]:
        """Where events stand, and where in their text a value does: by event and value (None: the event alone)."""
        asked = sorted(set(pairs), key=lambda p: (p[0], -1 if p[1] is None else p[1]))
        rows = self.case.rows(_PLACES, [[e for e, _ in asked], [v for _, v in asked]])
        return {(event, value): {"event": self.name(name)} | self.place(*rest) for event, value, name, *rest in rows}

    def place(
        self,
        seq: int | None,
        time: str | None,
        source: str,
        sha256: str,
        line: int | None,
        offset: int | None,
        pointer: str | None,
        start: int | None = None,
        stop: int | None = None,
    ) -> Row:
        """When something happened and where it stands."""
        row = {"seq": seq, "time": time, "source": self.mask(source), "sha256": sha256, "line": line}
        row |= {"offset": offset, "pointer": self.name(pointer)}
        return row if start is None else row | {"span": [start, stop]}
