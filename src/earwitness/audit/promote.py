"""Values for traces that bring none: what the replayed detector found there is protected and tracked like the rest.

Strong finds (a checksum, an unmistakable shape) get the origin `recognized`. The others get `suspected`: whatever is
matched with them can only be `possible` (`soften`). A trace for which anybody gave values is left alone.
"""

from earwitness.schema.case import Case

ORIGINS = ("recognized", "suspected")
# A trace gets so many values, strong ones first, then by confidence and frequency.
PER_TRACE = 500
FLOOR = 0.5

_LACKING = """
    SELECT trace FROM traces t
    WHERE NOT EXISTS (SELECT 1 FROM vault WHERE scope = 'case' AND origin NOT IN ('recognized', 'suspected'))
      AND NOT EXISTS (SELECT 1 FROM vault v WHERE v.scope = 'trace' AND v.trace = t.trace
                      AND origin NOT IN ('recognized', 'suspected'))
      AND NOT EXISTS (SELECT 1 FROM vault v WHERE v.scope = 'scenario' AND v.scenario = t.scenario
                      AND origin NOT IN ('recognized', 'suspected'))
"""
# One value a canonical text, named by its surest find; every other way it is written in that trace is an alias.
_PROMOTE = f"""
    INSERT INTO vault
    WITH held AS (
        SELECT DISTINCT content, trace FROM (
            SELECT content, trace FROM events UNION ALL SELECT content, trace FROM sightings)
        WHERE trace IN ({_LACKING})
    ), found AS (
        SELECT h.trace, coalesce(d.attribute, lower(d.entity)) AS attribute, d.canonical, d.value_type, d.subject,
               coalesce(d.written, d.canonical) AS written, d.strong, d.confidence
        FROM detections d JOIN held h ON h.content = d.content
        WHERE d.trace IS NULL AND (d.strong OR d.confidence >= ?) AND length(d.canonical) >= 3
    ), merged AS (
        SELECT trace, max_by(attribute, struct_pack(s := strong, c := confidence)) AS attribute,
               max_by(value_type, struct_pack(s := strong, c := confidence)) AS value_type,
               min(subject) AS subject, min(written) AS text,
               list_sort(list_distinct(list(written) || list(canonical))) AS written,
               bool_or(strong) AS strong, max(confidence) AS confidence, count(*) AS n
        FROM found GROUP BY trace, lower(canonical)
    ), kept AS (
        SELECT * FROM merged
        QUALIFY row_number() OVER (
            PARTITION BY trace ORDER BY strong DESC, confidence DESC, n DESC, text) <= {PER_TRACE}
    )
    SELECT (SELECT coalesce(max(value), -1) FROM vault) + row_number() OVER (ORDER BY trace, text), attribute,
           value_type, 'inferred', subject, 'trace', trace, NULL, text,
           list_filter(written, lambda w: w <> text)[:8], NULL,
           CASE WHEN strong THEN 'recognized' ELSE 'suspected' END
    FROM kept
"""


def lacking(case: Case) -> int:
    """How many traces no value is known for. Where there are none, the replayed detector need not run for `promote`."""
    return int(case.one(f"SELECT count(*) FROM ({_LACKING})"))


def promote(case: Case, floor: float = FLOOR) -> int:
    """Put what was found into `vault`, in the place of what an earlier call put there; gives the number of values.

    Args:
        case: after `replayed`, with the policy in force and its values in `vault`.
        floor: finds that are not strong need this confidence.
    """
    case.execute("DELETE FROM vault WHERE origin IN ('recognized', 'suspected')")
    case.execute(_PROMOTE, [floor])
    return int(case.one("SELECT count(*) FROM vault WHERE origin IN ('recognized', 'suspected')"))


def soften(case: Case) -> None:
    """After detection: what was matched with a value that is only suspected is only possible."""
    case.execute("""
        UPDATE matches SET standing = 'possible', confidence = least(confidence, 0.5)
        WHERE standing = 'confirmed' AND value IN (SELECT value FROM vault WHERE origin = 'suspected')
    """)
