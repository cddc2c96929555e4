"""Insurance, policy, member, claim and subscriber ids, beside their keyword."""

from earwitness.audit.recognizers.base import Recognizer
from earwitness.audit.recognizers.keyed import keyed

_KINDS = r"(?:insurance|policy|member(?:ship)?|subscriber|claim|group|medicare|medicaid|beneficiary|plan)"

RECOGNIZER = Recognizer(
    name="insurance",
    entity="INSURANCE_ID",
    value_type="format_dependent",
    prefilter=(
        r"(?:[Ii]nsurance|INSURANCE|[Pp]olicy|POLICY|[Mm]ember(?:ship)?|MEMBER|[Ss]ubscriber|[Cc]laim|[Gg]roup|[Mm]edica(?:re|id)"
        r"|[Bb]eneficiary|[Pp]lan)[ _-]?(?:[Ii][Dd]|[Nn]|#|[Pp]|[Cc])|[Mm]edica(?:re|id)"
    ),
    look=keyed(rf"{_KINDS}[ _-]?(?:policy|card|claim)?[ _-]?(?:id|number|no\.?|num|(?=#))|medicare|medicaid"),
    reach=(8, 80),
)
