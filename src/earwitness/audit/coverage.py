"""What can be said of each channel of each trace: leak, clean or unverifiable. What cannot be seen is never clean."""

from earwitness.schema.case import Case
from earwitness.schema.words import CHANNELS

# Reasons in order of precedence; a leak outweighs every one of them.
_COVERAGE = """
    INSERT INTO coverage
    WITH cells AS (
        SELECT t.trace, c.channel, t.observable IS NULL OR list_contains(t.observable, c.channel) AS observable
        FROM traces t, (SELECT unnest({channels}) AS channel) c
    ), leaks AS (
        SELECT DISTINCT trace, channel FROM verdicts WHERE dynamic = 'sanitize' AND standing = 'confirmed'
    ), lost AS (
        SELECT trace, channel, min(kind) AS kind FROM losses WHERE channel IS NOT NULL GROUP BY ALL
    ), lost_anywhere AS (
        SELECT trace, min(kind) AS kind FROM losses WHERE channel IS NULL GROUP BY ALL
    ), flagged AS (
        SELECT trace, channel, min(flag) AS flag FROM (SELECT trace, channel, unnest(flags) AS flag FROM events)
        WHERE flag IN ('failed', 'masked', 'truncated', 'reference') GROUP BY ALL
    ), empty AS (
        SELECT trace FROM traces WHERE trace NOT IN (SELECT trace FROM events)
    )
    SELECT c.trace, c.channel,
           CASE WHEN k.trace IS NOT NULL THEN 'leak'
                WHEN coalesce(l.kind, f.flag, a.kind) IS NOT NULL OR NOT c.observable OR e.trace IS NOT NULL
                     OR NOT u.ruled OR NOT u.valued THEN 'unverifiable'
                ELSE 'clean' END,
           CASE WHEN k.trace IS NOT NULL THEN NULL
                WHEN NOT c.observable THEN 'not recorded by this format'
                WHEN e.trace IS NOT NULL THEN 'no event recorded'
                WHEN l.kind IS NOT NULL THEN l.kind WHEN f.flag IS NOT NULL THEN f.flag
                WHEN a.kind IS NOT NULL THEN a.kind
                WHEN NOT u.valued THEN 'no protected value known' WHEN NOT u.ruled THEN 'no policy' END
    FROM cells c
    LEFT JOIN leaks k USING (trace, channel) LEFT JOIN lost l USING (trace, channel)
    LEFT JOIN flagged f USING (trace, channel) LEFT JOIN lost_anywhere a USING (trace)
    LEFT JOIN empty e USING (trace) JOIN rulings u USING (trace)
"""

# A trace leaks if any channel does; else it is unverifiable if a channel its format records is.
TRACE_VERDICTS = """
    SELECT trace,
           CASE WHEN bool_or(verdict = 'leak') THEN 'leak'
                WHEN bool_or(verdict = 'unverifiable' AND reason IS DISTINCT FROM 'not recorded by this format')
                     OR bool_and(verdict = 'unverifiable') THEN 'unverifiable'
                ELSE 'clean' END AS verdict,
           min(reason) FILTER (reason IS DISTINCT FROM 'not recorded by this format') AS reason
    FROM coverage GROUP BY trace
"""


def assess(case: Case) -> None:
    """Fill `coverage`."""
    case.clear("coverage")
    case.execute(_COVERAGE.format(channels=list(CHANNELS)))
