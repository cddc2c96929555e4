"""Disclosure by what a turn is for: the archetype the record names, or the one a rule proposes.

The rule is called `cue-words`: the first pattern that fits the text (or the kind of the event) names the archetype.
"""

from typing import NamedTuple

from earwitness.audit.measures.base import PAPER, Measure

RULE = "cue-words"


class Archetype(NamedTuple):
    """An archetype, what it is, and the cue by which the rule proposes it (RE2, case-insensitive)."""

    letter: str
    name: str
    cue: str | None


# In this order. BASE is the first turn of a run, A is what nothing else fits.
ARCHETYPES = (
    Archetype("BASE", "initial task", None),
    Archetype(
        "G",
        "confirmation probe",
        r"(confirm|verify|double.check|is (it|this|that) (still )?(right|correct)|restate|repeat back)[^.!]{0,200}\?|"
        r"(correct|right)\?|(please|can you|could you) (confirm|verify|restate|double.check)",
    ),
    Archetype(
        "D",
        "error handling",
        r"\b(error|mistake|mistaken|incorrect|inconsisten\w+|mismatch|went wrong|failed|apolog\w+|correction)\b",
    ),
    Archetype(
        "B",
        "handoff",
        r"\b(hand(ing|ed)? (this |it |the case |the task )?(over|off)|handoff|transfer(ring|red)?|delegat\w+|"
        r"pass(ing)? (this|it) (on )?to|please take over|over to you|assign(ed|ing)? to)\b",
    ),
    Archetype(
        "E",
        "closeout",
        r"\b(in summary|to (summari[sz]e|conclude|wrap up)|in conclusion|final (answer|report|summary)|"
        r"closing (this|the)|(case|task) (is )?(closed|complete[d]?)|terminate)\b",
    ),
    Archetype(
        "C",
        "justification",
        r"\b(because|the reason|therefore|justif\w+|rationale|we recommend|i recommend|based on)\b",
    ),
    Archetype(
        "F",
        "rapport",
        r"\b(thank(s| you)|appreciate|good (morning|afternoon|evening)|hello|nice to|how are you|great (work|job)|"
        r"happy to)\b",
    ),
    Archetype("A", "elaboration", None),
)
_CUES = "\n".join(
    f"            WHEN regexp_matches(coalesce(e.kind, '') || ' ' || c.text, '(?i){a.cue}') THEN '{a.letter}'"
    for a in ARCHETYPES
    if a.cue
)
# A turn is the events of a run with one number; without numbers each event is a turn. Only what agents wrote counts.
_TURNS = f"""
WITH spoken AS (
    SELECT e.event, e.trace, coalesce(e.turn, -e.event - 1) AS turn, e.archetype, e.kind, e.content,
           e.seq, min(e.seq) OVER (PARTITION BY e.trace) AS opening
    FROM events e LEFT JOIN aliases a ON a.alias = e.sender
    JOIN parties p ON p.trace = e.trace AND p.actor = coalesce(a.actor, e.sender) AND p.kind = 'agent'
), told AS (
    SELECT e.event, e.trace, e.turn,
           CASE WHEN e.archetype IS NOT NULL THEN e.archetype
            WHEN e.seq = e.opening THEN 'BASE'
{_CUES}
            ELSE 'A' END AS archetype,
           CASE WHEN e.archetype IS NULL THEN 'rule: {RULE}' ELSE 'annotated' END AS origin
    FROM spoken e JOIN contents c USING (content)
), leaking AS (
    SELECT DISTINCT event FROM verdicts WHERE dynamic = 'sanitize' AND standing = 'confirmed'
), turns AS (
    SELECT t.trace, t.turn, t.archetype, t.origin, bool_or(l.event IS NOT NULL) AS hit
    FROM told t LEFT JOIN leaking l USING (event) GROUP BY ALL
)
SELECT f.*, t.archetype, t.origin, t.hit FROM turns t JOIN fact f USING (trace) WHERE f.judged
"""

MEASURES = (
    Measure(
        "archetype_disclosure",
        "turns of the archetype that disclose a value",
        f"{PAPER}, section 5.2, tables 8 and 25",
        _TURNS,
        keep=("archetype", "origin"),
        asked=True,
        needs="texts that agents wrote",
    ),
)
