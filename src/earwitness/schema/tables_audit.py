"""Tables that an audit fills: policy in force, detection, verdicts, graph, measures."""

from earwitness.schema.columns import Table, columns

AUDITED = (
    Table(
        "parties",
        "Actors as the policy in force sees them: the roster overrides what the trace says.",
        "policy",
        columns("""
        trace INTEGER the trace
        actor VARCHAR name
        kind VARCHAR agent, tool, memory, artifact_store, log, user
        position VARCHAR original, introduced, unknown
        roles VARCHAR[] roles"""),
    ),
    Table(
        "aliases",
        "Other names the roster of the policy gives to actors.",
        "policy",
        columns("""
        alias VARCHAR name as recorded
        actor VARCHAR name of the roster"""),
    ),
    Table(
        "matches",
        "Values found in contents.",
        "detect",
        columns("""
        content UUID the text
        value BIGINT the value
        start BIGINT first code point of the first hit
        stop BIGINT one past its last code point
        hits BIGINT hits in this text
        tier INTEGER 1 registry, 2 recogniser or NER, 3 semantic
        form VARCHAR how it is written there: verbatim, separators, base64, ...
        confidence DOUBLE 0 to 1
        standing VARCHAR confirmed or possible
        event BIGINT the only event it counts in, for a value split over messages; NULL: every event with the text"""),
    ),
    Table(
        "tiers",
        "The tiers of detection: which were asked for, which ran, on how much, at what cost.",
        "detect",
        columns("""
        tier VARCHAR name
        asked BOOLEAN whether the audit was to run it
        ran BOOLEAN whether it ran; asked for and not run makes the report degraded
        contents BIGINT distinct contents it looked at
        characters BIGINT and how long they are together
        matches BIGINT matches that are its own: no tier before had them
        seconds DOUBLE time it took
        note VARCHAR why it did not run, or ran on less than all"""),
    ),
    Table(
        "judgements",
        "Verdicts of an LLM judge, kept so that nothing need be asked twice; they hold no value and no text.",
        "judge",
        columns("""
        content UUID the text
        fingerprint VARCHAR keyed hash of the value
        prompt VARCHAR sha256 of the prompt it was asked with
        model VARCHAR which model answered
        score DOUBLE that the text tells the value, 0 to 1
        judged_at TIMESTAMP_NS when, UTC
        origin VARCHAR endpoint: asked for this case; imported: from a file"""),
    ),
    Table(
        "detections",
        "What a sanitizer could have found at run time, without any registry: the replayed detector.",
        "replay",
        columns("""
        content UUID the text
        trace INTEGER the only run it counts in, for what another part of that run told; NULL: every run with the text
        start BIGINT first code point
        stop BIGINT one past the last
        recognizer VARCHAR the recognizer that found it; run_local, ner
        entity VARCHAR what it is, such as US_SSN
        attribute VARCHAR name of the attribute, where the text tells it
        value_type VARCHAR format_dependent, value_dependent, contextual
        tier INTEGER 1 recognizers, 2 names by a language model
        confidence DOUBLE 0 to 1
        canonical VARCHAR!zstd the value, separators gone and escapes undone
        written VARCHAR!zstd what stands there, where that is not the canonical
        strong BOOLEAN a checksum holds or the shape is unmistakable
        subject VARCHAR whose it is, where a name stands near"""),
    ),
    Table(
        "verdicts",
        "One row an occurrence: event, value, recipient (NULL where unresolved).",
        "decide",
        columns("""
        event BIGINT the event
        trace INTEGER its trace
        channel VARCHAR its channel
        value BIGINT the value
        recipient VARCHAR who received it
        grade VARCHAR evidence for the recipient
        standing VARCHAR confirmed or possible
        static VARCHAR Static-A: allow, sanitize or unruled
        static_rule VARCHAR the rule that decided it
        dynamic VARCHAR Dynamic-A: allow, sanitize or unruled
        dynamic_rule VARCHAR the rule that decided it
        ruled BOOLEAN some rule mentions the value"""),
    ),
    Table(
        "rulings",
        "Whether a trace can be judged at all: without rules nothing is a leak, without values nothing is looked for.",
        "decide",
        columns("""
        trace INTEGER the trace
        ruled BOOLEAN some policy is in force over it
        valued BOOLEAN some protected value is in scope"""),
    ),
    Table(
        "exposures",
        "One row for every (trace, value, recipient): the first disclosure and the way to it.",
        "graph",
        columns("""
        exposure BIGINT number of the exposure
        trace INTEGER the trace
        value BIGINT the value
        recipient VARCHAR who learned it
        event BIGINT the event of first disclosure: the first unauthorised one, if there is any
        seq BIGINT its order
        sender VARCHAR who sent it
        learned BIGINT the event by which the recipient first came to know, authorised or not
        learned_seq BIGINT its order
        via BIGINT the exposure through which the sender had learned it; NULL where it had access itself
        origin VARCHAR disclosing agent of the value in this trace
        carried INTEGER hops the value travelled from an agent with access to the vault; NULL if unknown
        distance INTEGER realised distance: C2 edges from the disclosing agent; NULL if unreachable or undefined
        route VARCHAR for agents: holder, direct-access, relay-required or undefined
        position VARCHAR position of the recipient
        authorised BOOLEAN NULL where no policy rules"""),
    ),
    Table(
        "access",
        "Agents that obtained a value by a vault channel, before or beside being told.",
        "graph",
        columns("""
        trace INTEGER the trace
        value BIGINT the value
        agent VARCHAR who obtained it
        seq BIGINT when, for the first time
        access VARCHAR initial, C4 or C5"""),
    ),
    Table(
        "reached",
        "Realised distances: C2 edges that occurred, from each disclosing agent to the actors of its trace.",
        "graph",
        columns("""
        trace INTEGER the trace
        origin VARCHAR disclosing agent
        actor VARCHAR who can be reached
        hops INTEGER edges between them; 0 for the agent itself"""),
    ),
    Table(
        "origins",
        "The disclosing agent of each value in each trace: the earliest to obtain it by a vault channel.",
        "graph",
        columns("""
        trace INTEGER the trace
        value BIGINT the value
        agent VARCHAR disclosing agent
        seq BIGINT when it obtained it
        access VARCHAR initial, C4 or C5"""),
    ),
    Table(
        "distances",
        "The four distances of every agent and exposed party from the disclosing agent of a value, side by side. "
        "Fewest hops; NULL where there is no way. Found on demand: an audit does not fill it.",
        "distances",
        columns("""
        trace INTEGER the trace
        value BIGINT the value
        recipient VARCHAR whose distance it is; never the disclosing agent itself
        origin VARCHAR disclosing agent; NULL leaves every distance NULL
        nominal INTEGER in the graph that was meant: edges the trace lists, or those of its class
        basis VARCHAR of the nominal graph: edges, declared or inferred
        realised INTEGER over messages (C2) that occurred, in any order: that of `exposures`
        temporal INTEGER over messages in their order, each after its sender was reached
        carrying INTEGER over those of them that held the value
        realised_any INTEGER as realised, over every channel: tools and memories are stations
        temporal_any INTEGER as temporal, over every channel
        carrying_any INTEGER as carrying, over every channel
        realised_weakest VARCHAR weakest evidence for a recipient on that way
        temporal_weakest VARCHAR likewise
        carrying_weakest VARCHAR likewise
        realised_any_weakest VARCHAR likewise
        temporal_any_weakest VARCHAR likewise
        carrying_any_weakest VARCHAR likewise
        temporal_any_at BIGINT order of the event by which the recipient could first have known
        carrying_any_at BIGINT order of the event by which the value first arrived from there
        ordering VARCHAR what the carrying way, else the temporal one, rests on: timed, untimed or skewed"""),
    ),
    Table(
        "runs",
        "Every stage that was run, with what it was run on.",
        "all",
        columns("""
        run INTEGER number of the run
        stage VARCHAR import, policy, detect, decide, graph, measure
        version VARCHAR of earwitness
        parameters JSON what was asked for
        policy_sha256 VARCHAR of the policy file
        finished_at TIMESTAMP_NS when, UTC
        seconds DOUBLE how long
        rows BIGINT rows written"""),
    ),
    Table(
        "meta",
        "Facts about the case itself.",
        "all",
        columns("""
        key VARCHAR name
        value VARCHAR value"""),
    ),
)
