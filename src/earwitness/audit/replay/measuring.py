"""Changed texts measured again, by the detector of the audit itself: a case of its own is filled with them and matched.

What the audit does to texts is done to them, with the same values in the same scopes, weak values and suspected ones
included. Values split over messages are looked for in what each sender would have sent, in its order.
"""

from collections.abc import Sequence

from earwitness.audit.match_forms import match_forms
from earwitness.audit.match_literal import match_literally
from earwitness.audit.promote import soften
from earwitness.audit.replay.apart import apart
from earwitness.audit.replay.condition import Plan
from earwitness.audit.replay.ordering import as_written
from earwitness.audit.rulesets import RuleSet
from earwitness.schema.case import Case
from earwitness.schema.progress import Progress

# Every text that somebody received, as it was recorded, and what stands in its place under plans.
_MAIL = """
    CREATE OR REPLACE TEMP TABLE rp_mail AS
    SELECT f.trace, coalesce(f.sender, '') AS sender, f.seq, f.event, f.channel, f.content, c.class
    FROM rp_flow c JOIN flows f ON f.event = c.event AND f.recipient IS NOT DISTINCT FROM c.recipient
"""
_SHOWN = """
    CREATE OR REPLACE TEMP TABLE rp_shown AS
    SELECT s.plan, s.class, t.changed FROM rp_sent s JOIN replay_texts t USING (variant) WHERE t.text IS NOT NULL
"""
# What a plan leaves of each event, each text once; of senders of whom something was changed.
_OUTBOX = """
    CREATE OR REPLACE TEMP TABLE rp_outbox AS
    SELECT DISTINCT m.trace, m.sender, m.seq, m.event, m.channel, coalesce(s.changed, m.content) AS content
    FROM rp_mail m SEMI JOIN (
        SELECT trace, sender FROM rp_mail SEMI JOIN (SELECT class FROM rp_shown WHERE plan = {plan}) USING (class)
    ) USING (trace, sender)
    LEFT JOIN (SELECT class, changed FROM rp_shown WHERE plan = {plan}) s USING (class)
"""
_STREAMS = """
    INSERT INTO rp_stream
    SELECT {plan}, trace, sender, md5(concat_ws('|', trace, sender, list(struct_pack(e := event, c := content)
               ORDER BY seq, event, content)))::UUID AS stream
    FROM rp_outbox GROUP BY trace, sender
"""
_NEW = """
    INSERT INTO rp_copy
    SELECT (SELECT count(*) FROM rp_copy) + row_number() OVER (ORDER BY s.stream, o.seq, o.event, o.content) - 1,
           s.stream, o.event, o.trace, o.seq, o.channel, o.content
    FROM rp_stream s JOIN rp_outbox o ON o.trace = s.trace AND o.sender = s.sender
    WHERE s.plan = {plan} AND s.stream NOT IN (SELECT stream FROM replay_streams)
      AND s.stream NOT IN (SELECT stream FROM rp_copy)
"""
_PREPARE = (
    "CREATE OR REPLACE TEMP TABLE rp_stream (plan INTEGER, trace INTEGER, sender VARCHAR, stream UUID)",
    """CREATE OR REPLACE TEMP TABLE rp_copy (copy BIGINT, stream UUID, event BIGINT, trace INTEGER, seq BIGINT,
        channel VARCHAR, content UUID)""",
)
# Runs are taken in groups of about so many characters, so that memory holds the values and texts of one group.
_GROUP = 6_000_000
_GROUPS = f"""
    WITH sized AS (
        SELECT c.trace, sum(length(coalesce(t.text, x.text))) AS size
        FROM (SELECT DISTINCT trace, content FROM rp_copy) c LEFT JOIN contents x ON x.content = c.content
        LEFT JOIN (SELECT DISTINCT ON (changed) changed, text FROM replay_texts WHERE text IS NOT NULL) t
             ON t.changed = c.content GROUP BY c.trace)
    SELECT min(trace), max(trace) FROM (
        SELECT trace, sum(size) OVER (ORDER BY trace) // {_GROUP} AS bucket FROM sized) GROUP BY bucket ORDER BY 1
"""
_HERE = "SELECT * FROM rp_copy WHERE trace BETWEEN {first} AND {last}"
_VAULT = """
    SELECT * FROM vault WHERE scope <> 'trace' OR trace IN (SELECT trace FROM rp_here)
"""
_CONTENTS = """
    SELECT DISTINCT ON (content) content, text FROM (
        SELECT changed AS content, text FROM replay_texts WHERE text IS NOT NULL
        UNION ALL SELECT content, text FROM contents)
    WHERE content IN (SELECT content FROM rp_here)
"""
_EVENTS = """
    SELECT copy AS event, trace, seq, channel, stream::VARCHAR AS sender, content FROM rp_here ORDER BY copy
"""
_TRACES = "SELECT * FROM traces WHERE trace IN (SELECT trace FROM rp_here)"
_TABLES = {"traces": _TRACES, "vault": _VAULT, "contents": _CONTENTS, "events": _EVENTS}
# Matches of whole texts that were measured before stand already.
_KEEP = """
    INSERT INTO replay_matches
    WITH found AS (SELECT * REPLACE (content::UUID AS content) FROM measured)
    SELECT m.content, m.value, m.start, m.stop, m.form, m.confidence, m.standing, NULL, NULL
    FROM found m WHERE m.event IS NULL AND m.content IN (SELECT changed FROM replay_texts WHERE text IS NOT NULL)
      AND (m.content, m.value) NOT IN (SELECT (content, value) FROM replay_matches WHERE stream IS NULL)
    UNION ALL
    SELECT m.content, m.value, m.start, m.stop, m.form, m.confidence, m.standing, c.stream, c.event
    FROM found m JOIN rp_here c ON c.copy = m.event
"""


# Plans that deliver the same texts leave the same streams.
_ALIKE = """
    SELECT min(plan) AS first, list(plan ORDER BY plan)[2:] FROM (
        SELECT plan, count(*) AS n, sum(hash(class, changed)) AS total, bit_xor(hash(changed, class)) AS mixed
        FROM rp_shown WHERE list_contains(?, plan) GROUP BY plan)
    GROUP BY n, total, mixed ORDER BY first
"""
_LIKE = "INSERT INTO rp_stream SELECT {plan}, trace, sender, stream FROM rp_stream WHERE plan = {first}"


def _alike(case: Case, plans: Sequence[Plan]) -> list[tuple[int, list[int]]]:
    """Plans that deliver different texts, and with each those that deliver the same; none that changes nothing."""
    case.execute(_MAIL)
    case.execute(_SHOWN)
    return [(first, others) for first, others in case.rows(_ALIKE, [[p.number for p in plans]])]


def measure_again(case: Case, plans: Sequence[Plan], rules: RuleSet, progress: Progress) -> int:
    """Fill `replay_matches` for all that `rp_sent` delivers and that was not measured before; gives the messages read.

    Leaves `rp_stream` (plan, trace, sender, stream).
    """
    for statement in _PREPARE:
        case.execute(statement)
    with as_written(case):
        for number, others in _alike(case, plans):
            for statement in (_OUTBOX, _STREAMS, _NEW):
                case.execute(statement.format(plan=number))
            for other in others:
                case.execute(_LIKE.format(plan=other, first=number))
    for table in ("rp_mail", "rp_shown", "rp_outbox"):
        case.execute(f"DROP TABLE IF EXISTS {table}")
    copies = case.count("rp_copy")
    if copies:
        for first, last in case.rows(_GROUPS):
            case.execute("CREATE OR REPLACE TEMP TABLE rp_here AS " + _HERE.format(first=first, last=last))
            _group(case, rules, progress)
        case.execute(_SEEN)
        case.execute("DROP TABLE rp_here")
    case.execute("DROP TABLE rp_copy")
    return copies


def _group(case: Case, rules: RuleSet, progress: Progress) -> None:
    with apart(case, _TABLES) as again:
        _match(again, rules, progress)
        _collect(case, again)


_SEEN = """
    INSERT INTO replay_streams SELECT DISTINCT ON (stream) stream, trace, sender FROM rp_stream
    WHERE stream NOT IN (SELECT stream FROM replay_streams)
"""


def _match(again: Case, rules: RuleSet, progress: Progress) -> None:
    if rules.forms:
        match_forms(again, progress)
    else:
        match_literally(again, rules, progress)
    soften(again)


def _collect(case: Case, again: Case) -> None:
    found = again.arrow("SELECT content, value, start, stop, form, confidence, standing, event FROM matches")
    case.con.register("measured", found)
    try:
        case.execute(_KEEP)
    finally:
        case.con.unregister("measured")
