"""Views every stage reads: flows and occurrences."""

# One row an event and recipient, names resolved through the roster's aliases. Undelivered events are left
# out; an event without any recipient stands with NULL; what an actor sends to itself is no flow.
FLOWS = """
CREATE OR REPLACE VIEW flows AS
SELECT e.event, e.trace, e.seq, e.channel, coalesce(s.actor, e.sender) AS sender,
       coalesce(r.actor, d.recipient) AS recipient, d.grade, e.content, e.flags
FROM events e
LEFT JOIN deliveries d ON d.event = e.event AND d.delivered
LEFT JOIN aliases s ON s.alias = e.sender
LEFT JOIN aliases r ON r.alias = d.recipient
WHERE NOT coalesce(list_contains(e.flags, 'not_delivered'), false)
  AND (d.event IS NOT NULL OR e.event NOT IN (SELECT event FROM deliveries WHERE NOT delivered))
  AND (d.event IS NULL OR coalesce(s.actor, e.sender) IS DISTINCT FROM coalesce(r.actor, d.recipient))
"""

# Where each protected value may be looked for: its own trace, the traces of its scenario, or everywhere.
IN_SCOPE = "(v.scope = 'case' OR v.trace = {trace} OR (v.scope = 'scenario' AND v.scenario = {scenario}))"

VIEWS = (FLOWS,)
