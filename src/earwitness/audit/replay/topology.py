"""Where a value could go after a delivery, and where it did go: the two topology extensions of the decision."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from earwitness.graph.distances import bfs
from earwitness.schema.case import Case
from earwitness.schema.policy import Policy

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_OUTSIDE = """
    CREATE OR REPLACE TEMP TABLE rp_outside AS
    SELECT q.trace, q.recipient AS agent, q.attribute, q.value_type, q.subject
    FROM question q LEFT JOIN answer w USING (question) JOIN rulings r ON r.trace = q.trace AND r.ruled
    WHERE q.channel = 'C2' AND q.kind = 'agent'
      AND (w.deny_dynamic IS NOT NULL OR w.allow_dynamic IS NULL AND '{default}' = 'sanitize')
"""
_REACHABLE = """
    CREATE OR REPLACE TEMP TABLE rp_reachable AS
    SELECT DISTINCT g.trace, g.agent, o.attribute, o.value_type, o.subject
    FROM ways g JOIN rp_outside o ON o.trace = g.trace AND o.agent = g.reached
"""
_EDGES = """
    SELECT DISTINCT f.trace, f.sender, f.recipient FROM flows f
    JOIN parties p ON p.trace = f.trace AND p.actor = f.recipient AND p.kind = 'agent'
    JOIN parties s ON s.trace = f.trace AND s.actor = f.sender AND s.kind = 'agent'
    WHERE f.channel = 'C2'
"""


def mark_reachable(case: Case, policy: Policy) -> None:
    """Leave `rp_reachable` (trace, agent, attribute, value_type, subject): agents from which messages (C2) led, in
    whatever order, to an agent that may not know such a value. After `answer`.
    """
    case.execute(_OUTSIDE.format(default=policy.default))
    case.con.register("ways", _ways(case))
    case.execute(_REACHABLE)
    case.con.unregister("ways")
    case.execute("DROP TABLE rp_outside")


def _ways(case: Case) -> pa.Table:
    """Pairs of agents of a trace, the second reachable from the first in one hop or more."""
    edges = case.frame(_EDGES)
    nodes = case.frame(f"""
        SELECT *, row_number() OVER (ORDER BY trace, agent) - 1 AS node FROM (
            SELECT trace, sender AS agent FROM ({_EDGES}) UNION SELECT trace, recipient FROM ({_EDGES})) ORDER BY node
    """)
    numbered = [
        edges.join(nodes, left_on=["trace", end], right_on=["trace", "agent"], how="left", maintain_order="left")
        for end in ("sender", "recipient")
    ]
    tails, heads = (n["node"].to_numpy().astype(np.int64) for n in numbered)
    found = bfs(tails, heads, np.arange(len(nodes)), nodes["trace"].to_numpy().astype(np.int64))
    far = found.hops > 0
    names, traces = nodes["agent"].to_arrow(), nodes["trace"].to_arrow()
    start, node = pa.array(found.start[far]), pa.array(found.node[far])
    return pa.table({"trace": traces.take(start), "agent": names.take(start), "reached": names.take(node)})


# Sends of a value between agents: who held it, when, and whether the receiver may not know it.
_SENDS = """
    SELECT v.event, v.value, c.class, f.seq, v.dynamic = 'sanitize' AS barred,
           dense_rank() OVER (ORDER BY v.trace, v.value, f.sender) - 1 AS sender,
           v.trace, f.sender AS sender_name, v.recipient
    FROM verdicts v JOIN flows f ON f.event = v.event AND f.recipient = v.recipient
    JOIN rp_flow c ON c.event = v.event AND c.recipient = v.recipient
    JOIN parties p ON p.trace = v.trace AND p.actor = v.recipient AND p.kind = 'agent'
    WHERE v.standing = 'confirmed' AND f.sender IS NOT NULL AND {channel}
"""
_LINKED = """
    CREATE OR REPLACE TEMP TABLE rp_send AS
    WITH send AS ({sends}), got AS ({every}),
    holder AS (SELECT DISTINCT trace, value, sender_name, sender FROM send)
    SELECT g.class, g.value, g.seq, h.sender AS receiver, NULL::BIGINT AS sender, false AS barred
    FROM got g JOIN holder h ON h.trace = g.trace AND h.value = g.value AND h.sender_name = g.recipient
    UNION ALL
    SELECT s.class, s.value, s.seq, h.sender, s.sender, s.barred
    FROM send s LEFT JOIN holder h ON h.trace = s.trace AND h.value = s.value AND h.sender_name = s.recipient
"""
_FORWARDED = "CREATE OR REPLACE TEMP TABLE rp_forwarded AS SELECT DISTINCT class, value FROM travelled"


def mark_forwarded(case: Case) -> None:
    """Leave `rp_forwarded` (class, value): deliveries of a value to an agent that later sent it, by itself or by way of
    others, in messages (C2) to an agent that may not know it.
    """
    case.execute(_LINKED.format(sends=_SENDS.format(channel="f.channel = 'C2'"), every=_SENDS.format(channel="true")))
    frame = case.frame("SELECT * FROM rp_send")
    receiver, sender = (frame[c].fill_null(-1).to_numpy().astype(np.int64) for c in ("receiver", "sender"))
    seq, barred = frame["seq"].to_numpy().astype(np.int64), frame["barred"].to_numpy().astype(np.bool_)
    onward = _onward(receiver, sender, seq, barred)
    table = frame.select("class", "value").to_arrow().filter(pa.array(onward))
    case.con.register("travelled", table)
    case.execute(_FORWARDED)
    case.con.unregister("travelled")
    case.execute("DROP TABLE rp_send")


def _onward(receiver: Ints, sender: Ints, seq: Ints, barred: Bools) -> Bools:
    """Which deliveries were later forwarded to somebody barred: rounds of array operations until nothing changes."""
    holders = int(max(receiver.max(initial=-1), sender.max(initial=-1))) + 1
    sends, held = sender >= 0, receiver >= 0
    onward = np.zeros(len(seq), np.bool_)
    while True:
        latest = np.full(holders + 1, np.iinfo(np.int64).min)
        bad = sends & (barred | onward)
        np.maximum.at(latest, sender[bad], seq[bad])
        found = held & (latest[receiver] > seq)
        if (found == onward).all():
            return onward
        onward = found
