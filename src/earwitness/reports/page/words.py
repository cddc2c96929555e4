"""Labels and sentences of the page, as data."""

from earwitness.schema.words import CHANNEL_TITLES

KINDS = {
    "agent": "agent",
    "tool": "tool",
    "memory": "memory",
    "artifact_store": "artifact store",
    "log": "log",
    "user": "user",
    "unresolved": "unresolved recipient",
    None: "recipient of unknown kind",
}
# In the heading of a pattern: "ssn to ... on C2".
WHOM = {
    "tool": "tools",
    "memory": "stores",
    "artifact_store": "artifact stores",
    "log": "logs",
    "user": "the user",
    "unresolved": "recipients that are not resolved",
    None: "recipients of unknown kind",
}
POSITIONS = {"original": "on the roster", "introduced": "added by the topology", "unknown": "position unknown"}
ROUTES = {
    "direct-access": "direct access",
    "relay-required": "relay required",
    "undefined": "undefined",
    "no-introduced": "no added agent",
    "holder": "holder itself",
    None: "not an agent",
}
ROUTE_MEANINGS = {
    "direct-access": "some added agent is one inter-agent hop away from the disclosing agent",
    "relay-required": "every added agent is two or more hops away, or out of reach",
    "undefined": "no agent is seen to obtain a protected value, so there is nothing to measure from",
    "no-introduced": "every agent of the trace stands on the roster, or its position is not known",
}
ACCESS = {
    "initial": "had it from its initial input",
    "C4": "had it from a tool result",
    "C5": "had it from shared memory",
}
TYPES = {"format_dependent": "format dependent", "value_dependent": "value dependent", "contextual": "contextual"}
DEFAULTS = {"default": "no rule allows it (default)", "fallback": "recipient unresolved (fallback)"}

# Summary: measure, name in the table.
KEY_FIGURES = (
    ("any_leakage", "Traces with an unauthorised disclosure"),
    ("any_leakage_verifiable", "the same, of the traces that could be verified"),
    ("audit_gap", "Traces that leak inside while the final output is clean"),
    ("audit_gap_verifiable", "the same, of the traces that could be verified"),
    ("field_disclosure", "Disclosed (event, value) pairs that are unauthorised"),
)
CELL_FIGURES = (
    ("surface_leakage", "Surface leakage"),
    ("new_agent_disclosure", "New-agent disclosure"),
    ("unauthorised_propagation", "Unauthorised propagation"),
)
CELL_MEANINGS = (
    "Surface leakage: a disclosure on any channel to someone who may not know. New-agent disclosure: one of these "
    "recipients is there only because the topology grew. Unauthorised propagation: the recipient is resolved and "
    "outside the authorised set."
)

HEADLINES = {
    "leak": "In {k} of {n} traces a protected value reached someone who may not know it.",
    "gap": "Auditing only the final output would have missed {gap} of them.",
    "no_gap": "Auditing the final output would have shown every one of them.",
    "clean": "In none of {n} judged traces did a protected value reach someone who may not know it.",
    "unverifiable": "{u} of {n} traces could not be cleared, because the recording does not hold all that happened.",
    "all_seen": "All other traces could be verified and are clean.",
    "all_clean": "Every one of them could be verified.",
    "unruled": "Exposures of protected values on record, on which nobody has ruled: {x}.",
    "nothing": "No protected value is known for these traces, so nothing was looked for.",
    "quiet": "No policy rules these traces, and no protected value was found to move.",
    "some_unruled": "Further exposures, in traces that no policy rules: {x}.",
}

VERDICT_MEANINGS = {
    "leak": "a protected value reached a recipient the policy does not allow",
    "clean": "recorded in full, and nothing unauthorised found",
    "unverifiable": "the recording does not hold enough to say",
}

LOSSES = {
    "failed_call": "model or tool calls that failed: what they would have said is not on record",
    "masked": "texts masked by the recorder",
    "truncated": "texts cut by the recorder",
    "reference": "texts that are only referred to, not held",
    "content_missing": "messages recorded without their text",
    "dropped": "records the recorder itself says it dropped",
    "orphan": "records whose parent is not in the recording",
}
OUTCOMES = {
    "mapped": "read and audited",
    "duplicate": "already read elsewhere",
    "ignored": "known, and without relevance to disclosure",
    "unknown": "of no known format",
    "unparseable": "could not be parsed",
    "oversized": "larger than the limit",
    "masked": "masked by the recorder",
    "unsupported": "of a format that is recognised but not read",
}

GLOSSARY = (
    *((f"{c}", title) for c, title in CHANNEL_TITLES.items()),
    (
        "protected value",
        "shown as its attribute and a keyed fingerprint, never as text; equal values have equal fingerprints",
    ),
    ("declared", "evidence for a recipient: the record names it"),
    ("structural", "evidence for a recipient: it follows from the run, such as a child run under the call"),
    ("broadcast", "evidence for a recipient: it was a member of the group addressed"),
    ("consumed", "evidence for a recipient: the text was seen in its input"),
    ("distance", "inter-agent hops that really occurred between the disclosing agent and the recipient"),
    ("interval", "95 % Wilson score interval of the proportion"),
    ("span", "first and one past the last code point of the value, in the text at the JSON pointer"),
    ("byte", "offset of the record in the decompressed source, from 0; lines count from 1"),
)

# -- replayed sanitizers

CAUSES = {
    "detection_miss": "detection miss",
    "no_recipient": "no recipient",
    "policy_gap": "policy gap",
    "post_transform": "post transform",
}
CAUSE_MEANINGS = {
    "detection_miss": "at some place where the value stands nothing was found at all",
    "no_recipient": "it was found and passed, since nobody knows who receives it",
    "policy_gap": "it was found and passed, since the recipient was not looked at or it was taken for another value",
    "post_transform": "it was acted on, and the value is still found",
}
MODES = {"independent": "each event by itself", "propagate": "what was sanitized is not passed on"}
SETTINGS = {
    "paper": (
        "Recipients known in messages and memory reads",
        "The paper’s setting: a recipient counts as known in a message between agents (C2) and where an agent reads "
        "from memory (C5).",
    ),
    "extended": (
        "Recipients known by any evidence",
        "The extended setting: a recipient counts as known wherever the record gives one, on every channel.",
    ),
}
REPLAY = {
    "what": "Sanitizers were replayed over every recorded delivery: what each would have left, and why. Nothing was "
    "sent anywhere and no recording was changed.",
    "rates": "Residual: of what should have been sanitized, the share that would still be there. Correct-allow: of "
    "what may be told, the share that would still be there. Intervals are 95 % Wilson intervals; where runs have "
    "scenarios, a bootstrap over scenarios stands beside them.",
    "causes": "What remains has one cause, the first of these that holds:",
    "nothing": "Nothing could be counted: no policy rules an occurrence of a protected value.",
    "stale": "This replay is older than what else this page tells",
    "again": "Its figures may not fit the rest of the page. Replay again: earwitness replay CASE.",
    "no_key": "not on record in the case",
    "ephemeral": "none was given: made for this replay alone, so that its pseudonyms cannot be made again",
    "pairs": "Counted are occurrences that remain under one of the two alone. "
    "Occurrences of one run are not independent: where one run holds many of them, p is too small.",
}

# -- tests of significance

TESTS = {
    "cochran-q": "Cochran’s Q",
    "mcnemar-exact": "McNemar, exact",
    "mcnemar-corrected": "McNemar, corrected",
}
SIGNIFICANCE = {
    "what": "Runs of one scenario that are alike but for one factor are a block. Blocks that miss a level of the "
    "factor are left out and counted. p is the probability of so large a difference if the levels were alike; no "
    "correction for the number of tests is made.",
}
