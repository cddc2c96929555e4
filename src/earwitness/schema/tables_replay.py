"""Tables of the replayed sanitizer: what each condition would have done and what it would have left."""

from earwitness.schema.columns import Table, columns

_PLAN = """
condition VARCHAR name of the condition
setting VARCHAR which recipients are resolved: paper (C2, and C5 read by agents) or extended (every grade of evidence)
"""

REPLAYED = (
    Table(
        "replays",
        "What a condition would have done to each confirmed occurrence that a policy rules, and whether it remains.",
        "replay",
        columns(
            _PLAN
            + """
        event BIGINT the event
        trace INTEGER its trace
        channel VARCHAR its channel
        value BIGINT the value
        recipient VARCHAR who received it; NULL where the record does not tell
        grade VARCHAR evidence for the recipient
        truth VARCHAR what should have become of it: allow or sanitize, the dynamic verdict of the audit
        resolved BOOLEAN whether the recipient counts as known in this setting
        detected BOOLEAN the replayed detector found something at every place where the value stands
        action VARCHAR what was decided: allow, fpe, pseudonym, mldp, rewrite, redact, block; NULL if nothing was found
        done VARCHAR what was done; redact where an action could not be carried out
        reason VARCHAR why it was decided so
        rule VARCHAR the rule that decided it, if one did
        confidence DOUBLE of the surest find on it
        remains BOOLEAN the value is still found in the text as delivered; each event by itself
        downstream BOOLEAN it remains, and its sender would still have had it
        cause VARCHAR why it remains and should not: detection_miss, no_recipient, policy_gap, post_transform"""
        ),
    ),
    Table(
        "replay_figures",
        "Figures of a replay, in long form.",
        "replay",
        columns(
            _PLAN
            + """
        mode VARCHAR independent: each event by itself; propagate: what was sanitized is not passed on
        measure VARCHAR which figure
        grp JSON its cell
        k BIGINT numerator
        n BIGINT denominator
        rate DOUBLE k / n
        low DOUBLE lower end of the 95 % Wilson interval
        high DOUBLE upper end
        boot_low DOUBLE lower end of the 95 % interval of a bootstrap over scenarios; NULL where none was made
        boot_high DOUBLE upper end"""
        ),
    ),
    Table(
        "replay_pairs",
        "Two conditions on the same occurrences: McNemar's test on whether the value remains.",
        "replay",
        columns("""
        setting VARCHAR which recipients are resolved
        mode VARCHAR independent or propagate
        truth VARCHAR over the occurrences that should be allowed, or sanitized
        condition VARCHAR the one
        other VARCHAR the other
        under_both BIGINT occurrences that remain under both
        only_condition BIGINT under the one alone
        only_other BIGINT under the other alone
        neither BIGINT under neither
        p DOUBLE two-sided exact p-value; occurrences of one run are not independent"""),
    ),
    Table(
        "replay_deliveries",
        "Deliveries that a condition would have changed, and the text in their place.",
        "replay",
        columns(
            _PLAN
            + """
        event BIGINT the event
        recipient VARCHAR who received it; NULL where the record does not tell
        variant UUID what was done to its text"""
        ),
    ),
    Table(
        "replay_texts",
        "Texts after their tasks, each made once: kept between replays.",
        "replay",
        columns("""
        variant UUID hash of the content, its tasks and the way to transform
        content UUID the text it was made from
        changed UUID hash of the text it became
        text VARCHAR!zstd that text; NULL where nothing changed
        pieces BIGINT how many pieces of it were replaced"""),
    ),
    Table(
        "replay_exceptions",
        "Pieces of those texts that did not become what was asked for, or only after several tries.",
        "replay",
        columns("""
        variant UUID the text after its tasks
        start BIGINT where the piece begins in the original text
        stop BIGINT one past its last code point
        asked VARCHAR the action asked for
        done VARCHAR the action carried out
        exception VARCHAR what the operation promises and does not keep here
        cause VARCHAR why it fell back to redaction
        tries BIGINT candidates that were made"""),
    ),
    Table(
        "replay_checks",
        "Whether what the last replay made is what was promised; texts kept from earlier ones are not looked at.",
        "replay",
        columns("""
        name VARCHAR which check
        backstop BOOLEAN of the transforms with or without the backstop of rewritings
        way VARCHAR how rewritings were checked: gate and threshold, backstop, tries; NULL for all together
        judged BOOLEAN something is wrong where k is below n; other rows count only
        k BIGINT how many passed
        n BIGINT how many were looked at
        note VARCHAR what a reader should know of it"""),
    ),
    Table(
        "rewritings",
        "Answers of models that were asked for other words, kept so that nothing need be asked twice.",
        "replay",
        columns("""
        question VARCHAR keyed hash of prompt, model, value and what was refused before
        prompt VARCHAR sha256 of the prompt it was asked with
        model VARCHAR which model answered
        rewriting VARCHAR!zstd its words, whether they were taken or refused
        answered_at TIMESTAMP_NS when, UTC"""),
    ),
    Table(
        "replay_matches",
        "Values that the measuring detector finds in changed texts: kept between replays.",
        "replay",
        columns("""
        content UUID the changed text
        value BIGINT the value
        start BIGINT first code point
        stop BIGINT one past its last
        form VARCHAR form it is found in
        confidence DOUBLE 0 to 1
        standing VARCHAR confirmed or possible
        stream UUID for a value split over messages: the messages of its sender, as they were sent; NULL: in any
        event BIGINT and the event it counts in"""),
    ),
    Table(
        "replay_streams",
        "What one sender sent in one trace, as a condition would have left it: looked through once for split values.",
        "replay",
        columns("""
        stream UUID hash of its messages
        trace INTEGER the trace
        sender VARCHAR who sent them"""),
    ),
    Table(
        "replay_places",
        "Every place where a confirmed value stands in the text of an event; `matches` has the surest alone.",
        "replay",
        columns("""
        content UUID the text
        value BIGINT the value
        start BIGINT first code point
        stop BIGINT one past its last
        event BIGINT for a value split over messages the event it counts in; NULL: every event with the text"""),
    ),
    Table(
        "replay_found",
        "What presidio finds, for the condition that replays it.",
        "replay",
        columns("""
        content UUID the text
        start BIGINT first code point
        stop BIGINT one past its last
        entity VARCHAR what presidio calls it
        confidence DOUBLE its score"""),
    ),
)
