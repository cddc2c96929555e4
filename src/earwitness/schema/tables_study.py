"""Tables of studies over many runs: reconstruction, distinguishability."""

from earwitness.schema.columns import Table, columns

STUDIED: tuple[Table, ...] = (
    Table(
        "reconstructions",
        "What could have been put together: one row an axis, trace and value. Found by `reconstruct find`.",
        "reconstruct",
        columns("""
        axis VARCHAR inference, cross-channel or cross-agent
        trace INTEGER the trace
        value BIGINT the value
        eligible BIGINT instances in which the value was not disclosed to whom it may not be known
        scored BIGINT of them those that were scored: 0 or all, as the method can compare the value or not
        positive BIGINT of the scored ones those at or above the threshold
        single_source BIGINT positives that one part alone would give, too; NULL for inference, which has one part"""),
    ),
    Table(
        "candidates",
        "Texts that, put together, seem to tell a value none of them discloses: what a person is to audit.",
        "reconstruct",
        columns("""
        item VARCHAR short hash that names the candidate
        axis VARCHAR inference, cross-channel or cross-agent
        value BIGINT the value; of several with one text the first
        fingerprint VARCHAR which value
        attribute VARCHAR attribute of the value
        score DOUBLE how much of the value the texts tell, 0 to 1
        judged DOUBLE score of the LLM judge, where one was asked
        instances BIGINT eligible instances it stands for
        trace INTEGER the trace of one of them
        first UUID the first text
        first_start BIGINT first code point of the passage in it
        first_stop BIGINT one past its last code point
        second UUID the second text; NULL where one is enough
        second_start BIGINT likewise
        second_stop BIGINT likewise"""),
    ),
    Table(
        "audits",
        "What auditors decided on candidates. A new search keeps it.",
        "reconstruct",
        columns("""
        item VARCHAR the candidate
        auditor VARCHAR who decided
        decision VARCHAR accept: the texts give the value away; reject: they do not
        reason VARCHAR why, in the auditor's words
        decided_at TIMESTAMP_NS when it was put on record, UTC"""),
    ),
    Table(
        "distinguishability",
        "Figures of the study of neighbouring pairs, in long form.",
        "distinguish",
        columns("""
        horizon INTEGER turns allowed; NULL where traces name none
        figure VARCHAR which figure, such as advantage, null_advantage, order_correlation
        feature VARCHAR for figures of one feature
        estimate DOUBLE the figure
        low DOUBLE lower end of its 95 % interval
        high DOUBLE upper end
        n BIGINT pairs it rests on"""),
    ),
)
