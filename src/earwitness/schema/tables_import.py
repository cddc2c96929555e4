"""Tables that an import fills."""

from earwitness.schema.columns import Table, columns

_PLACE = """
source INTEGER the source it was read from
line BIGINT line in the source, from 1
offset BIGINT byte offset of the record in the (decompressed) source
"""

IMPORTED = (
    Table(
        "sources",
        "One row for every file read, and for every member of an archive.",
        "import",
        columns("""
        source INTEGER number of the source
        parent INTEGER the archive it is a member of
        name VARCHAR path as given; members as archive!member
        sha256 VARCHAR of the bytes read (after decompression for members)
        bytes BIGINT bytes read
        container VARCHAR how records are laid out
        dialects VARCHAR[] formats found in it
        records BIGINT records read
        problem VARCHAR why reading stopped, if it did"""),
    ),
    Table(
        "outcomes",
        "Conservation: what became of the records of each source. The counts sum to `records`.",
        "import",
        columns("""
        source INTEGER the source
        outcome VARCHAR mapped, duplicate, ignored, unknown, unparseable, oversized, masked, unsupported
        records BIGINT how many records"""),
    ),
    Table(
        "records",
        "One row for every record that was not mapped.",
        "import",
        columns(
            _PLACE
            + """
        length BIGINT bytes of the record
        pointer VARCHAR JSON pointer inside the line or file
        outcome VARCHAR what became of it
        reason VARCHAR why"""
        ),
    ),
    Table(
        "traces",
        "One logical run.",
        "import",
        columns("""
        trace INTEGER number of the trace
        trace_id VARCHAR id as recorded
        source INTEGER the source that first named it
        framework VARCHAR what ran it
        scenario VARCHAR task the run belongs to: runs are paired by it
        domain VARCHAR field of work of the scenario
        topology VARCHAR declared cell, such as CW-7
        model VARCHAR generator
        arm VARCHAR arm of the experiment
        adversary VARCHAR A0, A1 or A2
        horizon INTEGER turns allowed
        pair VARCHAR member of a neighbouring pair
        started_at TIMESTAMP_NS first known moment
        request VARCHAR what the user asked for
        observable VARCHAR[] channels the format can show; NULL means all
        attributes JSON what else was recorded"""),
    ),
    Table(
        "actors",
        "Parties of a trace.",
        "import",
        columns("""
        trace INTEGER the trace
        actor VARCHAR name, after aliases are resolved
        kind VARCHAR agent, tool, memory, artifact_store, log, user
        position VARCHAR original, introduced, unknown
        roles VARCHAR[] roles as recorded
        aliases VARCHAR[] other names of the same party
        evidence VARCHAR the rung that gave the name"""),
    ),
    Table(
        "contents",
        "Distinct texts: each is stored and scanned once.",
        "import",
        columns("""
        content UUID BLAKE2b-128 of the text
        text VARCHAR!zstd the text"""),
    ),
    Table(
        "events",
        "The one record that produced a content on a channel.",
        "import",
        columns(
            """
        event BIGINT number of the event
        trace INTEGER the trace
        event_id VARCHAR id as recorded
        seq BIGINT order in the trace
        time TIMESTAMP_NS moment, UTC
        channel VARCHAR C1 to C7
        kind VARCHAR what it was called in the format
        sender VARCHAR who produced it; NULL where the record does not tell
        content UUID the text
        parent_id VARCHAR id of the causing event, as recorded
        turn INTEGER turn of the conversation
        archetype VARCHAR interaction archetype, if annotated
        flags VARCHAR[] failed, masked, truncated, reference, escaped, not_delivered
        attributes JSON what else was recorded
        """
            + _PLACE
            + """
        pointer VARCHAR JSON pointer inside the line or file"""
        ),
    ),
    Table(
        "deliveries",
        "Who received an event, and how that is known.",
        "import",
        columns("""
        event BIGINT the event
        recipient VARCHAR actor
        grade VARCHAR declared, structural, broadcast, consumed
        delivered BOOLEAN false where the record shows it never arrived"""),
    ),
    Table(
        "sightings",
        "Later copies of a content, and initial inputs: evidence that an actor was shown it.",
        "import",
        columns(
            """
        trace INTEGER the trace
        actor VARCHAR who was shown it
        kind VARCHAR initial, input, history, state, response, result, artifact
        seq BIGINT order in the trace, on the same count as events
        time TIMESTAMP_NS moment, UTC
        content UUID the text
        event_id VARCHAR the event it is a copy of, where known
        """
            + _PLACE
            + """
        pointer VARCHAR JSON pointer inside the line or file"""
        ),
    ),
    Table(
        "vault",
        "Protected values (called `values` in prose; the word is reserved in SQL).",
        "import",
        columns("""
        value BIGINT number of the value
        attribute VARCHAR what it is, such as ssn
        value_type VARCHAR format_dependent, value_dependent, contextual
        type_origin VARCHAR given or inferred
        subject VARCHAR whose it is
        scope VARCHAR trace, scenario or case
        trace INTEGER for scope trace
        scenario VARCHAR for scope scenario
        text VARCHAR the value; never shown unless asked for
        aliases VARCHAR[] other ways to write it
        fingerprint VARCHAR keyed hash to show in its place
        origin VARCHAR trace, policy or vault file"""),
    ),
    Table(
        "rules",
        "Policy rules, from the policy file and from the traces themselves.",
        "import",
        columns("""
        rule INTEGER number of the rule; lower decides first among equals
        rule_id VARCHAR name
        effect VARCHAR allow or sanitize
        trace INTEGER only in this trace
        scenario VARCHAR only in this scenario
        attributes VARCHAR[] attribute names, wildcards allowed
        value_types VARCHAR[] value types
        subjects VARCHAR[] subjects
        channels VARCHAR[] channels
        recipients VARCHAR[] actor names
        roles VARCHAR[] actor roles
        kinds VARCHAR[] actor kinds
        positions VARCHAR[] actor positions
        origin VARCHAR trace or policy"""),
    ),
    Table(
        "losses",
        "What the recording does not hold although it happened.",
        "import",
        columns("""
        trace INTEGER the trace
        channel VARCHAR the channel it concerns; NULL means all
        kind VARCHAR failed_call, masked, truncated, reference, content_missing, dropped, orphan
        n BIGINT how often
        detail VARCHAR in the recorder's terms, never content"""),
    ),
    Table(
        "links",
        "Evidence that one logical run was recorded under several trace ids: one row for every other id and kind.",
        "import",
        columns(
            """
        trace INTEGER the run
        other VARCHAR the other id, as recorded
        kind VARCHAR parent, span_link, traceparent, run_id, agent, conversation, tool_call, task, text
        joined BOOLEAN the other id is part of this run; else it is a trace of its own
        n BIGINT pieces of evidence
        """
            + _PLACE
        ),
    ),
    Table(
        "labels",
        "Published truth, one row a labelled event and leaked attribute; never read by detection.",
        "import",
        columns("""
        trace INTEGER the trace
        event_id VARCHAR the event
        attribute VARCHAR leaked attribute; NULL says the event was labelled clean"""),
    ),
)
