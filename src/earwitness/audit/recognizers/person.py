"""Names of persons behind a title, a greeting or a word for who they are. Weak: a company can be dear, too."""

import re
from collections.abc import Iterator

from earwitness.audit.recognizers.base import Found, Recognizer

_PART = r"[A-ZÀ-ÖØ-Þ][a-zà-öø-ÿ'’-]+(?:[A-Z][a-zà-öø-ÿ]+)?"
_NAME = rf"{_PART}(?: (?:[A-Z]\.|{_PART}|van|von|de|der|da|bin|al|la)){{0,3}}(?: {_PART})?"
_FULL = rf"{_PART}(?: (?:[A-Z]\.|van|von|de|der|da|bin|al|la)){{0,2}}(?: {_PART}){{1,2}}"
_TITLES = r"(?:Mr|Mrs|Ms|Miss|Mx|Dr|Prof|Professor|Doctor|Herr|Frau|Sir|Judge|Attorney|Nurse)\.? "
_CALLS = (
    r"(?i:my name is|name is|i am|i'm|this is|named|dear|hi|hello|regards,?|sincerely,?|attn:?|signed"
    r"|signed by|on behalf of)[ \n]{1,2}"
)
_ROLES = (
    r"(?i:patient|client|customer|employee|candidate|applicant|claimant|plaintiff|defendant|witness|manager|supervisor|physician|doctor"
    r"|therapist|contact|user|member|student|teacher|passenger|guest|tenant|borrower|beneficiary|spouse|wife|husband|son|daughter|mother|father"
    r"|brother|sister|colleague|attorney|lawyer|party)(?:'s name is|:| is)?,? "
)
_TITLED = re.compile(rf"\b{_TITLES}(?P<name>{_NAME})")
_BARE = re.compile(rf"(?<![\w'-]){_FULL}(?!\w)")
_BEFORE = ((re.compile(_CALLS + "$"), 0.55), (re.compile(_ROLES + "$"), 0.45))
_OPENERS = frozenset(re.findall(r"[a-z]+", (_CALLS + _ROLES).lower()))
# Words that open a phrase in capitals which names no person.
_NO_NAME = re.compile(
    r"\b(?:The|This|That|These|Please|Here|There|Thank|Thanks|Best|Kind|New|San|Los|Las|United|North|South|East|West|Data|Agent|Team|Report|Case"
    r"|Task|User|Account|Customer|Worker|Summary|Analysis|Review|Department|University|Company|Inc|LLC|Ltd|Bank|Hospital|Street|City|Act|Policy"
    r"|System|Service|Support|January|February|March|April|June|July|August|September|October|November|December|Monday|Tuesday|Wednesday|Thursday"
    r"|Friday|Saturday|Sunday|Google|Microsoft|Python|Security|Number|Date|Information|Records?|Details|Instructions|Request|Status|Type|Assistant"
    r"|Coordinator|Orchestrator|Terminal|Expert|Manager|Center|Museum|Park|Road|Avenue|Wikipedia|Search|API|Step|Note|Insurance|Credit|Financial)\b"
)


def _look(text: str, start: int, stop: int, /) -> Iterator[Found]:
    for match in _TITLED.finditer(text, start, stop):
        if not _NO_NAME.search(match["name"]):
            yield Found(*match.span("name"), 0.6, match["name"].replace("’", "'"))
    for match in _BARE.finditer(text, start, stop):
        name, begin = match.group(), match.start()
        first, _, rest = name.partition(" ")
        # At the beginning of a sentence the cue itself has a capital.
        if first.lower() in _OPENERS:
            name, begin = rest, begin + len(first) + 1
        cue = _cue(text, begin)
        if cue and " " in name and not _NO_NAME.search(name):
            yield Found(begin, match.end(), cue, name.replace("’", "'"))


def _cue(text: str, at: int) -> float | None:
    """How much the words before a name say that it is one."""
    before = text[max(0, at - 24) : at]
    return next(
        (sure for cue, sure in _BEFORE if (m := cue.search(before)) and not before[: m.start()][-1:].isalnum()), None
    )


RECOGNIZER = Recognizer(
    name="person",
    entity="PERSON",
    value_type="value_dependent",
    prefilter=rf"{_TITLES}{_NAME}|(?:{_CALLS}|{_ROLES}){_FULL}",
    look=_look,
    reach=(2, 2),
    seeds=True,
)
