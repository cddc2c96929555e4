"""Hops with their evidence: from events and recipients to source, line and pointer."""

from collections.abc import Sequence

from earwitness.graph.exposures import Step
from earwitness.schema.case import Case
from earwitness.schema.words import GRADES

_STEPS = """
    WITH asked AS (SELECT unnest(range(len(?))) AS n, unnest(?::BIGINT[]) AS event, unnest(?::VARCHAR[]) AS recipient)
    SELECT a.event, f.sender, a.recipient, f.channel, f.grade, s.name, e.line, e.pointer
    FROM asked a JOIN flows f ON f.event = a.event AND f.recipient = a.recipient
    JOIN events e ON e.event = a.event JOIN sources s USING (source)
    QUALIFY row_number() OVER (PARTITION BY a.n ORDER BY list_position(?, f.grade), f.sender) = 1
    ORDER BY a.n
"""


def cite(case: Case, hops: Sequence[tuple[int, str]]) -> list[Step]:
    """Each (event, recipient) as a step, in the order given."""
    events, recipients = [event for event, _ in hops], [recipient for _, recipient in hops]
    return [Step(*row) for row in case.rows(_STEPS, [events, events, recipients, list(GRADES)])] if hops else []
