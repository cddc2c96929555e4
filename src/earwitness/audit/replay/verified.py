"""Whether what a replay made is what was promised, and what its changed texts hold that was not there before."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from earwitness.audit.replay.condition import Way
from earwitness.audit.transform.toolkit import Toolkit
from earwitness.audit.transform.verification import Check, verify
from earwitness.schema.case import Case
from earwitness.schema.tables import TABLES, arrow_schema
from earwitness.schema.views import IN_SCOPE

# Promises; collisions by chance, exceptions and tries are counted only.
JUDGED = ("fpe_round_trip", "fpe_wrong_key", "fpe_character_set", "determinism", "pseudonym_distinct")

# A value counts in a text if it is sure, of that trace, and was in no way found in the text as it was recorded.
_INTRODUCED = f"""
    INSERT INTO rp_cost
    WITH changed AS (
        SELECT s.plan, s.class, c.trace, c.scenario, c.content, t.changed
        FROM rp_sent s JOIN rp_class c USING (class) JOIN replay_texts t USING (variant) WHERE t.text IS NOT NULL
    ), sure AS (
        SELECT DISTINCT content, value FROM replay_matches WHERE stream IS NULL AND standing = 'confirmed'
    ), fresh AS (
        SELECT DISTINCT x.plan, x.class FROM changed x JOIN sure m ON m.content = x.changed
        JOIN vault v ON v.value = m.value AND {IN_SCOPE.format(trace="x.trace", scenario="x.scenario")}
        WHERE NOT EXISTS (FROM matches k WHERE k.content = x.content AND k.value = m.value)
    )
    SELECT x.plan, 'introduced', count(f.class), count(*)
    FROM changed x LEFT JOIN fresh f USING (plan, class) GROUP BY x.plan
"""


def note_introduced(case: Case) -> None:
    """Count, for every plan, the changed texts of deliveries that hold a value they did not hold before."""
    case.execute(_INTRODUCED)


def keep_checks(case: Case, kits: Mapping[Way, Toolkit], made: int) -> int:
    """Fill `replay_checks` with what the toolkits made in this run; gives the number of rows.

    Args:
        case: while `rp_sent` stands.
        kits: by how they check rewritings.
        made: texts that were made in this run; the others were kept by an earlier one and are not verified again.
    """
    # Made anew: a case that was imported before may have it with fewer columns, or not at all.
    case.execute("DROP TABLE IF EXISTS replay_checks")
    case.execute(TABLES["replay_checks"].ddl)
    total = int(case.one("SELECT count(DISTINCT variant) FROM rp_sent"))
    kept = Check("texts_made", made, total, "texts kept from an earlier replay are not verified again")
    rows: list[tuple[Way | None, Check]] = [(None, kept)]
    rows += [(way, check) for way, kit in kits.items() if kit.made for check in verify(kit) if check.n]
    return _insert(case, rows)


def _insert(case: Case, rows: Sequence[tuple[Way | None, Check]]) -> int:
    columns = {
        "name": [c.check for _, c in rows],
        "backstop": [way is None or way.backstop for way, _ in rows],
        "way": [None if way is None else str(way) for way, _ in rows],
        "judged": [is_judged(c.check) for _, c in rows],
        "k": [c.k for _, c in rows],
        "n": [c.n for _, c in rows],
        "note": [c.note or None for _, c in rows],
    }
    return case.insert("replay_checks", pa.table(columns, schema=arrow_schema("replay_checks")))


def is_judged(name: str) -> bool:
    """Whether less than all is a fault."""
    return name in JUDGED or name.startswith("dp_inequality_")
