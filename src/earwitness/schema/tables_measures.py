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
    Table(
        "significance",
        "Tests of whether paired runs differ: Cochran's Q for three or more levels of a factor, McNemar's for two.",
        "measure",
        columns("""
        name VARCHAR the measure whose outcome is tested
        factor VARCHAR arm, framework, model, topology or adversary
        test VARCHAR cochran-q, mcnemar-exact or mcnemar-corrected
        grp JSON cell of the other factors; empty: over all of them
        levels VARCHAR[] levels that were compared
        statistic DOUBLE Q or chi-squared; for mcnemar-exact the smaller count of discordant pairs; NULL if undefined
        df INTEGER degrees of freedom
        p DOUBLE probability of a statistic so large if the levels were alike
        blocks BIGINT runs of one scenario that are alike but for the factor: those with every level
        excluded BIGINT blocks left out because a level is missing
        note VARCHAR what else was left out, and what weakens the test"""),
    ),
)
