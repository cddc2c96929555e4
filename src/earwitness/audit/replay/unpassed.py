"""Texts without what their senders would never have had: what was kept from them at an earlier hop.

A value that is gone downstream is redacted at every place where the measuring detector finds it in the text as it would
have been delivered. Places are found by a case of its own that holds those texts and values alone.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from earwitness.audit.replay.apart import apart, carry
from earwitness.audit.replay.places import find_places
from earwitness.audit.rulesets import RuleSet
from earwitness.audit.transform.keys import Keys
from earwitness.audit.transform.options import Options
from earwitness.audit.transform.splice import transform
from earwitness.audit.transform.toolkit import Toolkit
from earwitness.audit.transform.words import Task
from earwitness.ingest.columns import content_ids, encode, uuids
from earwitness.schema.case import Case
from earwitness.schema.progress import silent

_BATCH = 2_000
# Which values each delivered text must lose, for which event; events that lose the same are one task.
_GONE = """
    CREATE OR REPLACE TEMP TABLE rx_gone AS
    SELECT r.event, r.recipient, x.content, x.shown, r.value FROM replays r
    JOIN rx_sent x ON x.event = r.event AND x.recipient IS NOT DISTINCT FROM r.recipient
    WHERE r.condition = $condition AND r.setting = $setting AND r.remains AND NOT r.downstream
"""
# Where the value was found, in texts as recorded and in changed ones; for a value split over messages in one event.
_MATCHES = """
    SELECT DISTINCT g.shown AS content, g.value, m.start, m.stop, 1 AS hits, 1 AS tier, m.form, m.confidence,
           'confirmed' AS standing, m.event
    FROM rx_gone g JOIN matches m ON m.content = g.shown AND m.value = g.value
    WHERE m.event IS NULL OR m.event = g.event
    UNION
    SELECT DISTINCT g.shown, g.value, m.start, m.stop, 1, 1, m.form, m.confidence, 'confirmed', m.event
    FROM rx_gone g JOIN replay_matches m ON m.content = g.shown AND m.value = g.value
    WHERE m.standing = 'confirmed' AND (m.stream IS NULL OR m.event = g.event)
"""
_TEXT = """
    SELECT DISTINCT ON (content) content, text FROM (
        SELECT content, text FROM contents WHERE content IN (SELECT shown FROM rx_gone)
        UNION ALL SELECT changed, text FROM replay_texts
        WHERE text IS NOT NULL AND changed IN (SELECT shown FROM rx_gone))
"""
_EVENTS = "SELECT DISTINCT ON (shown) event, 0 AS trace, shown AS content FROM rx_gone"
_VAULT = "SELECT * FROM vault WHERE value IN (SELECT value FROM rx_gone)"
# Deliveries of one text that lose the same values are cut once.
_CUTS = """
    CREATE OR REPLACE TEMP TABLE rx_task AS
    WITH lost AS (
        SELECT event, recipient, shown, list(DISTINCT value ORDER BY value) AS gone FROM rx_gone GROUP BY ALL
    ), local AS (
        SELECT *, CASE WHEN EXISTS (FROM place p WHERE p.content = lost.shown AND p.event = lost.event
                                    AND list_contains(gone, p.value)) THEN event END AS alone FROM lost
    )
    SELECT *, dense_rank() OVER (ORDER BY shown, gone, alone) - 1 AS task FROM local
"""
_WORK = """
    SELECT k.task, any_value(x.text) AS text, list(DISTINCT struct_pack(start := p.start, stop := p.stop)) AS spots
    FROM (SELECT DISTINCT task, shown, gone, alone FROM rx_task WHERE task BETWEEN {first} AND {last}) k
    JOIN place p ON p.content = k.shown AND list_contains(k.gone, p.value) AND (p.event IS NULL OR p.event = k.alone)
    JOIN ({text}) x ON x.content = k.shown GROUP BY k.task
"""
_APPLY = """
    UPDATE rx_sent SET shown = m.shown FROM made m JOIN rx_task k USING (task)
    WHERE rx_sent.event = k.event AND rx_sent.recipient IS NOT DISTINCT FROM k.recipient
"""


def cut_unpassed(case: Case, condition: str, setting: str, rules: RuleSet) -> None:
    """Put cut texts into `rx_cut` and in their place in `rx_sent`."""
    case.execute(_GONE, {"condition": condition, "setting": setting})
    if case.count("rx_gone"):
        _find(case, rules)
        case.execute(_CUTS)
        kit = Toolkit(Keys(bytes(32)), Options())  # a redaction asks for no key
        last = int(case.one("SELECT max(task) FROM rx_task"))
        for first in range(0, last + 1, _BATCH):
            _cut(case, case.arrow(_WORK.format(first=first, last=first + _BATCH - 1, text=_TEXT)), kit)
        case.execute("DROP TABLE rx_task")
        case.execute("DROP TABLE place")
    case.execute("DROP TABLE rx_gone")


_TABLES = {"vault": _VAULT, "contents": _TEXT, "events": _EVENTS, "matches": _MATCHES}
_PLACE = "CREATE OR REPLACE TEMP TABLE place (content UUID, value BIGINT, start BIGINT, stop BIGINT, event BIGINT)"


def _find(case: Case, rules: RuleSet) -> None:
    """Leave the temporary table `place`."""
    with apart(case, _TABLES) as other:
        find_places(other, rules, silent)
        case.execute(_PLACE)
        carry(other, case, {"place": "SELECT * FROM replay_places"})


def _cut(case: Case, work: pa.Table, kit: Toolkit) -> None:
    tasks, texts = work.column("task").to_pylist(), list(_redacted(work, kit))
    made = pa.table({"task": pa.array(tasks, pa.int64()), "shown": uuids(content_ids(encode(texts)[0])), "text": texts})
    case.con.register("made", made)
    try:
        case.execute(_APPLY)
        case.execute("INSERT INTO rx_cut SELECT DISTINCT ON (shown) shown, text FROM made "
                     "WHERE shown NOT IN (SELECT shown FROM rx_cut)")  # fmt: skip
    finally:
        case.con.unregister("made")


def _redacted(work: pa.Table, kit: Toolkit) -> Iterator[str]:
    for row in work.to_pylist():
        yield transform(row["text"], [_task(s) for s in row["spots"]], kit).text


def _task(spot: dict[str, Any]) -> Task:
    return Task(spot["start"], spot["stop"], None, None, "contextual", "", "redact")
