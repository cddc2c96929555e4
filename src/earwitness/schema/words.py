"""The closed vocabularies of the domain.

Channels follow the seven observable channels of the topology-leakage literature: C1 final output to the
user, C2 inter-agent message, C3 tool arguments, C4 tool results, C5 shared memory, C6 visible reasoning
and logs, C7 artifacts.
"""

from typing import Literal, get_args

Channel = Literal["C1", "C2", "C3", "C4", "C5", "C6", "C7"]
ActorKind = Literal["agent", "tool", "memory", "artifact_store", "log", "user"]
Position = Literal["original", "introduced", "unknown"]
Grade = Literal["declared", "structural", "broadcast", "consumed"]
SightingKind = Literal["initial", "input", "history", "state", "response", "result", "artifact"]
ValueType = Literal["format_dependent", "value_dependent", "contextual"]
Effect = Literal["allow", "sanitize"]
Flag = Literal["failed", "masked", "truncated", "reference", "escaped", "not_delivered"]
LinkKind = Literal["parent", "span_link", "traceparent", "run_id", "agent", "conversation", "tool_call", "task", "text"]
LossKind = Literal["failed_call", "masked", "truncated", "reference", "content_missing", "dropped", "orphan"]
Outcome = Literal["mapped", "duplicate", "ignored", "unknown", "unparseable", "oversized", "masked", "unsupported"]
Standing = Literal["confirmed", "possible"]
Coverage = Literal["leak", "clean", "unverifiable"]

# Why an occurrence remains after a replay; the first that holds.
Cause = Literal["detection_miss", "no_recipient", "policy_gap", "post_transform"]

CHANNELS: tuple[Channel, ...] = get_args(Channel)
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
VALUE_TYPES: tuple[ValueType, ...] = get_args(ValueType)
LOSS_KINDS: tuple[LossKind, ...] = get_args(LossKind)
LINK_KINDS: tuple[LinkKind, ...] = get_args(LinkKind)
CAUSES: tuple[Cause, ...] = get_args(Cause)

CHANNEL_TITLES: dict[Channel, str] = {
    "C1": "final output to the user",
    "C2": "inter-agent message",
    "C3": "tool arguments",
    "C4": "tool results",
    "C5": "shared memory",
    "C6": "visible reasoning and logs",
    "C7": "artifacts",
}

# Strongest first: a recipient the record names outranks one that is only seen to have read the content.
GRADES: tuple[Grade, ...] = get_args(Grade)
