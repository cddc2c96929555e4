"""Values too short or too common to mean anything alone: they need their attribute or their subject nearby.

Nothing is dropped: without such context a hit is `possible`, with it `confirmed` at a lower confidence.
"""

import re

import polars as pl

from earwitness.schema.case import Case

SHORTEST = 4
# One word in these attributes is a category that half of all texts hold, whatever its letters.
_CATEGORY = re.compile(
    r"(department|status|tier|type|category|level|priority|rating|gender|sex|role|country|state|city|currency|merchant"
    r"|language|plan|segment|grade|class|severity|outcome|result|stage|position|occupation|religion|ethnicity)"
)
_NAME = re.compile(r"(name|patient|client|customer|person|witness|user|party|subject)")
_WORD = re.compile(r"[^\W\d_]+")
_SPLIT = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
# Words of attributes that say nothing of what the value is.
_EMPTY = frozenset({"real", "value", "data", "info", "last", "list", "details", "the", "field", "text", "item", "code"})
CONTEXT = 80

# A grade among others ("A/B/C", "D or F") is a scale; a short value in other case is an article or the end of a word.
_CHOICE = r"""^["'`*]*\s*(/|\||or\b|vs\b)"""
_CHOSEN = r"""(/|\||\bor|\bvs\.?)\s*["'`*]*$"""
_SETTLE = f"""
    UPDATE matches SET
        confidence = CASE WHEN near THEN least(confidence, 0.7) ELSE least(confidence, 0.4) END,
        standing = CASE WHEN near AND confidence >= 0.7 THEN 'confirmed' ELSE 'possible' END
    FROM (
        SELECT m.content, m.value,
               NOT (m.stop - m.start < {SHORTEST} AND (
                   m.form = 'case' OR regexp_matches(lower(substr(c.text, m.stop + 1, 8)), $choice)
                   OR regexp_matches(lower(substr(c.text, greatest(m.start - 8, 0) + 1, least(m.start, 8))), $chosen)))
               AND coalesce(list_bool_or(list_transform(w.words, lambda x: contains(
                   lower(substr(c.text, greatest(m.start - {CONTEXT}, 0) + 1, m.stop - m.start + 2 * {CONTEXT})), x))),
                   false) AS near
        FROM matches m JOIN weak w USING (value) JOIN contents c USING (content)
    ) told
    WHERE matches.content = told.content AND matches.value = told.value
"""


def is_weak(attribute: str, text: str) -> bool:
    """Whether a value says too little to be known by itself: by its length, or as a word of a category."""
    bare = text.strip()
    if len(bare) < SHORTEST or (bare.isdigit() and len(bare) < SHORTEST):
        return True
    if not _WORD.fullmatch(bare):
        return bool(_CATEGORY.search(attribute.lower())) and len(bare.split()) <= 2 and not any(map(str.isdigit, bare))
    return bare.islower() or (bool(_CATEGORY.search(attribute.lower())) and not _NAME.search(attribute.lower()))


def context_words(attribute: str, text: str, subject: str | None) -> list[str]:
    """What may stand near a value that needs it, in lower case: the words of its attribute, and its subject.

    A number needs the last word: 402 beside "credits" is no credit score.
    """
    words = [w.lower() for w in _SPLIT.findall(attribute)]
    told = [w for w in words if len(w) > 2 and w not in _EMPTY] or words
    return [
        *(told[-1:] if text.strip().isdigit() else told),
        *([subject.lower()] if subject and subject.strip() else []),
    ]


def settle(case: Case) -> None:
    """Look around every match of a weak value."""
    frame = case.frame("SELECT value, attribute, text, subject FROM vault")
    weak = [r for r in frame.iter_rows() if is_weak(r[1], r[2])]
    if not weak:
        return
    columns = {"value": [r[0] for r in weak], "words": [context_words(r[1], r[2], r[3]) for r in weak]}
    table = pl.DataFrame(columns, {"value": pl.Int64, "words": pl.List(pl.String)}).to_arrow()
    case.con.register("weak", table)
    try:
        case.execute(_SETTLE, {"choice": _CHOICE, "chosen": _CHOSEN})
    finally:
        case.con.unregister("weak")
