"""Medical record numbers and patient ids, beside their keyword."""

from earwitness.audit.recognizers.base import Recognizer
from earwitness.audit.recognizers.keyed import keyed

RECOGNIZER = Recognizer(
    name="medical_record",
    entity="MEDICAL_RECORD_NUMBER",
    value_type="format_dependent",
    prefilter=(
        r"[Mm][Rr][Nn]|[Mm]edical[ _-]?[Rr]ecord|[Pp]atient[ _-]?(?:[Ii][Dd]|[Nn]|#)|[Cc]hart"
        r"|[Hh]ospital[ _-]?(?:[Ii][Dd]|[Nn])"
    ),
    look=keyed(r"mrn|medical[ _-]?record|patient[ _-]?(?:id|number|no\.?|#)|chart|hospital[ _-]?(?:id|number)"),
    reach=(8, 72),
)
