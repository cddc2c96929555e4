"""Diseases by name, and whatever stands where a patient's condition or medicine is told."""

import re
from collections.abc import Iterator

from earwitness.audit.recognizers.base import Found, Recognizer

_NAMES = (
    r"(?:type [12] |gestational )?diabetes(?: mellitus)?(?: type [12])?|(?:chronic |essential )?hypertension"
    r"|asthma|copd"
    r"|chronic obstructive pulmonary disease|chronic kidney disease|(?:coronary |ischemic )?heart (?:disease|failure)"
    r"|atrial fibrillation|myocardial infarction|stroke|epilepsy|migraines?|parkinson'?s(?: disease)?"
    r"|alzheimer'?s(?: disease)?|dementia|multiple sclerosis|(?:rheumatoid |osteo|psoriatic )?arthritis"
    r"|osteoporosis|lupus"
    r"|crohn'?s(?: disease)?|ulcerative colitis|celiac disease|cirrhosis|hepatitis(?: [abc])?|hiv(?:/aids)?|aids"
    r"|tuberculosis|pneumonia|covid-19|(?:breast |lung |prostate |colon |skin |pancreatic |ovarian |thyroid )?cancer"
    r"|leuk(?:a?e)mia|lymphoma|melanoma|carcinoma|tumou?r|an(?:a?e)mia|h(?:a?e)mophilia|sickle cell(?: disease)?"
    r"|(?:major |clinical |postpartum )?depress(?:ion|ive disorder)|(?:generali[sz]ed )?anxiety(?: disorder)?"
    r"|bipolar(?: disorder)?|schizophrenia|ptsd|post-traumatic stress disorder|adhd|autism(?: spectrum disorder)?"
    r"|(?:anorexia|bulimia)(?: nervosa)?|alcoholism|(?:substance|alcohol|opioid|drug) (?:abuse|use disorder|addiction)"
    r"|hypothyroidism|hyperthyroidism|hypercholesterol(?:a?e)mia|hyperlipid(?:a?e)mia|obesity|psoriasis|eczema"
    r"|endometriosis|pregnan(?:t|cy)|miscarriage|abortion|infertility|syphilis|chlamydia|gonorrh(?:o?e)a|herpes"
)
_NAME = re.compile(rf"(?<![\w-])(?:{_NAMES})(?![\w-])", re.IGNORECASE)
_CUES = (
    r"(?i:diagnosed with|diagnosis (?:of|is)|suffer(?:s|ing|ed) from|treated for|(?:has|had|with|medical"
    r"|family|personal) (?:an? )?(?:long |family |medical )?history of|allergic to|prescribed"
    r"|tested positive for)"
)
_TOLD = re.compile(
    rf"\b{_CUES} (?:an? |the )?(?P<what>[A-Za-z][\w'-]*(?: (?!(?:and|but|who|which|that|in|since|for|by|on|at"
    rf"|with) )[\w'-]+){{0,5}})"
)


def _look(text: str, start: int, stop: int, /) -> Iterator[Found]:
    for match in _NAME.finditer(text, start, stop):
        yield Found(*match.span(), 0.6, match.group().lower())
    for match in _TOLD.finditer(text, start, stop):
        yield Found(*match.span("what"), 0.6, match["what"].lower(), entity="MEDICAL_CONDITION")


RECOGNIZER = Recognizer(
    name="disease",
    entity="DISEASE",
    value_type="contextual",
    prefilter=rf"(?i:{_NAMES})|{_CUES}(?: [A-Za-z][^ \n.,;:]*){{1,8}}",
    look=_look,
    reach=(2, 2),
    seeds=True,
)
