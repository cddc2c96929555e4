"""Routes to introduced recipients, and relays that failed on them."""

from earwitness.audit.measures.base import PAPER, Measure

_SOURCE = f"{PAPER}, section 5.8, table 14"
_RELAYS = """
SELECT f.*, r.position, r.outcome = 'failed' AS hit
FROM relay r JOIN fact f USING (trace) WHERE r.outcome IN ('passed', 'failed')
"""
_RELAYING = """
SELECT f.*, r.hit FROM fact f JOIN (
    SELECT trace, bool_or(outcome = 'failed') AS hit FROM relay WHERE outcome IN ('passed', 'failed') GROUP BY trace
) r USING (trace)
"""
_OUTCOMES = "SELECT f.*, r.position, r.outcome FROM relay r JOIN fact f USING (trace)"
_CELL = (("framework", "topology"),)

MEASURES = (
    Measure(
        "route",
        "executions by the route their introduced recipients need",
        _SOURCE,
        "SELECT * FROM fact",
        keep=("route",),
        kind="part",
    ),
    Measure(
        "route_exposure",
        "executions of a route that disclose to an introduced recipient",
        _SOURCE,
        "SELECT *, introduced AS hit FROM fact WHERE route <> 'no-introduced' AND judged",
        keep=("route",),
        needs="introduced agents",
    ),
    Measure(
        "exposure_route",
        "unauthorised exposures of introduced recipients by route",
        _SOURCE,
        "SELECT f.* EXCLUDE (route), x.route FROM exposures x JOIN fact f USING (trace)\n"
        "WHERE x.position = 'introduced' AND x.authorised IS FALSE",
        keep=("route",),
        kind="part",
        needs="introduced agents",
    ),
    Measure(
        "relay_failure",
        "required relays that held the value and spoke on without it",
        f"{PAPER}, section 5.8, table 15",
        _RELAYS,
        _CELL,
        cells=("position",),
        asked=True,
        relays=True,
        needs="an agent on the way between two others",
    ),
    Measure(
        "relay_failure_runs",
        "traces with a relay that failed, of those with any that held the value and spoke on",
        f"{PAPER}, section 5.8, table 15",
        _RELAYING,
        _CELL,
        asked=True,
        relays=True,
        needs="an agent on the way between two others",
    ),
    Measure(
        "relay_outcome",
        "required relays by outcome: passed, failed, silent, not-held",
        "own; see graph.md",
        _OUTCOMES,
        _CELL,
        ("outcome",),
        ("position",),
        kind="part",
        asked=True,
        relays=True,
        needs="an agent on the way between two others",
    ),
)
