"""Tables of figures: what could be seen, measures, tests of significance."""

from earwitness.schema.columns import Table, columns

MEASURED = (
    Table(
        "coverage",
        "What can be said of each channel of each trace.",
        "measure",
        columns("""
        trace INTEGER the trace
        channel VARCHAR the channel
        verdict VARCHAR leak, clean or unverifiable
        reason VARCHAR why it is unverifiable"""),
    ),
    Table(
        "measures",
        "Every figure, in long form.",
        "measure",
        columns("""
        name VARCHAR which measure
        grp JSON its cell
        k BIGINT numerator
        n BIGINT denominator
        rate DOUBLE k / n
        low DOUBLE lower end of the 95 % Wilson interval
        high DOUBLE upper end"""),
    ),
)
