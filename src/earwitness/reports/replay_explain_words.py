"""The sentences in which a replay of one occurrence is told, as data."""

DETECTORS = {
    "replayed": "the recognizers, which know shapes and labels but none of the values",
    "presidio": "presidio, which knows shapes and the words of a language model but none of the values",
    "oracle": "the measuring detector itself, which knows the values: nothing is missed",
    "none": "nothing: nobody looks",
}
GRADES = {
    "declared": "the record names the recipient",
    "structural": "follows from how the run is built",
    "broadcast": "a member of a group to which it was sent",
    "consumed": "was later seen to have been shown the text",
}
# What each kind of decision looks at.
DECISIONS = {
    "allow_all": "lets everything pass",
    "all_detected": "sanitizes whatever is detected, whoever receives it",
    "static": "decides by what the value is, without looking at who receives it",
    "dynamic": "decides by what the value is and who receives it",
    "topology-reachable": "decides by value and recipient, and withholds what could travel on to who may not have it",
    "topology-forwarded": "decides by value and recipient, and withholds what did travel on to who may not have it",
}
SETTINGS = {
    "paper": "only recipients of messages between agents, and agents that read from memory, count as known",
    "extended": "every recipient that the record gives counts as known",
}
REASONS = {
    "everything passes": "this condition lets everything pass",
    "detected": "this condition sanitizes whatever is detected",
    "field": "decided without looking at the recipient, so that a rule for anybody counts",
    "recipient": "decided by what it is and who receives it",
    "fallback: field": "its recipient does not count as known, so that a rule for anybody counts",
    "fallback: closed": "its recipient does not count as known, and this channel is closed to unknown recipients",
    "uncertain": "the find is less sure than the floor asks for, and uncertain finds are protected from everybody",
    "in request": "the value stands in what the user asked, and is spared",
    "unruled": "no policy is in force over the run",
    "reachable": "this recipient may have it, but from there messages lead to an agent that may not",
    "forwarded": "this recipient may have it, but did pass it on to an agent that may not",
}
ACTIONS = {
    "allow": "let it pass",
    "fpe": "encrypt, keeping the format (fpe)",
    "pseudonym": "put a pseudonym in its place (pseudonym)",
    "mldp": "blur the number or date with noise (mldp)",
    "rewrite": "say it in more general words (rewrite)",
    "redact": "redact",
    "block": "block the whole text",
}
EXCEPTIONS = {
    "short_domain": "too few values of this layout for a cipher: a keyed permutation was used, which is weaker",
    "length": "the replacement is longer or shorter than the value",
    "long": "too long for FF3-1: FF1 was used",
    "collision": "the first replacement was taken, or is another protected value: the next one stands",
    "structure": "the span ran over several parts of a JSON document: each part was redacted",
}
FALLBACKS = {
    "format": "its form is none that the transform can keep",
    "encoded": "it stands inside an encoding or behind escapes",
    "number": "no number came out where one must stand",
    "key": "it is the key of a JSON object",
    "collision": "every replacement that was made is another protected value",
    "gate": "the detector still saw a disclosure in every proposal",
    "backstop": "every proposal still held the value, or named the attribute",
    "no_rule": "no more general word for it is known",
    "malformed": "the answer of the endpoint is none that may stand there",
    "error": "the endpoint gave no usable answer",
    "budget": "no request was left",
}
MEASURED = {
    "unchanged": "nothing that bears on it was changed, so it is there as recorded",
    "same": "what was put in its place is what stood there before, so it is still there",
    "found": "it is still found",
    "vouched": "a judge or a person had confirmed it here, and nothing on its place was changed: it counts as there",
    "namesake": "it is still found, but what showed whose it is has gone: it may be another's and does not count",
    "below_floor": "it is found, but less surely than the policy asks for on this channel: it does not count",
    "possible": "something that may be it is found, not surely enough to count",
    "nothing": "it is not found any more, in any form",
}
CAUSES = {
    "detection_miss": "at some place nothing was found, so nothing was done there",
    "no_recipient": "it was found and let pass, as its recipient does not count as known and the fallback allows it",
    "policy_gap": "it was found and let pass, although the recipient may not have it",
    "post_transform": "every place was acted on, and the value can still be found",
}
TRUTHS = {"sanitize": "it should be sanitized", "allow": "it may pass"}


def outcome(truth: str, remains: bool, downstream: bool, cause: str | None) -> str:
    """What became of an occurrence, in two or three words."""
    if not remains:
        return "gone" if truth == "sanitize" else "lost"
    kept = "kept" if truth == "allow" else f"REMAINS: {cause}"
    return kept if downstream else f"{kept} *"


LEGEND = (
    ("found", "at every place where it stands"),
    ("outcome", "kept or lost where it may pass; gone or REMAINS, with the cause, where it should be sanitized"),
    ("paper", SETTINGS["paper"]),
    ("extended", SETTINGS["extended"]),
)
STARRED = ("*", "gone where what was sanitized is not passed on: its sender would not have had it")
