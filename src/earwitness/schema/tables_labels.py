"""Tables of human judgement: what annotators said, what it changed; and how faithfully values were told."""

from earwitness.schema.columns import Table, columns

LABELLED = (
    Table(
        "queue",
        "Pairs drawn for annotators. Files of labels name them by `item`, as ids of a trace may hold a value.",
        "label",
        columns("""
        item VARCHAR short hash that names the pair
        place BIGINT order in which annotators get it
        trace VARCHAR id of the trace, as recorded
        event VARCHAR id of the event, as recorded
        attribute VARCHAR attribute of the value
        fingerprint VARCHAR which value of this attribute
        stratum VARCHAR certain-positive, semantic-middle or certain-negative, when it was drawn
        channel VARCHAR channel of the event
        value_type VARCHAR type of the value"""),
    ),
    Table(
        "annotations",
        "What annotators said of (event, value) pairs. Audits keep it; `adjudicated` is who decides in the end.",
        "label",
        columns("""
        trace VARCHAR id of the trace, as recorded
        event VARCHAR id of the event, as recorded
        attribute VARCHAR attribute of the value
        fingerprint VARCHAR which value of this attribute
        annotator VARCHAR who said it; `adjudicated` for the final decision
        label VARCHAR leak, no-leak or unsure: whether the text discloses the value, whoever may know it
        reason VARCHAR why, in the annotator's words
        said_at TIMESTAMP_NS when it was put on record, UTC"""),
    ),
    Table(
        "overruled",
        "Matches that an adjudicated label changed, as detection had left them.",
        "label",
        columns("""
        content UUID the text
        value BIGINT the value
        start BIGINT first code point of the first hit
        stop BIGINT one past its last code point
        hits BIGINT hits in this text
        tier INTEGER tier that had found it
        form VARCHAR form it had been found in
        confidence DOUBLE confidence it had been given
        standing VARCHAR confirmed or possible, before
        event BIGINT the only event it counts in; NULL: every event with the text
        label VARCHAR leak: now confirmed; no-leak: no longer a match"""),
    ),
    Table(
        "fidelity",
        "How faithfully a sender that held a value told its attribute: one row for every event and value told.",
        "measure",
        columns("""
        event BIGINT the event
        trace INTEGER its trace
        channel VARCHAR its channel
        value BIGINT the value
        verdict VARCHAR exact, corrupted (nearly the value) or substituted (another of the same shape)
        start BIGINT first code point of what was told
        stop BIGINT one past its last code point
        similarity DOUBLE edit similarity to the value; 1 where exact"""),
    ),
)
