"""A few findings with their evidence, one of every pattern: for the object and the terminal."""

from typing import Any

from earwitness.reports.evidence import Evidence, Finding
from earwitness.reports.mask import Mask
from earwitness.schema.case import Case

PATTERNS = 20


def examples(case: Case) -> list[dict[str, Any]]:
    """One finding of each of the worst patterns: what, who, by which way, which rule, and where it stands.

    `Evidence` masks protected values in every name and path it gives.
    """
    return [_told(f) for f in Evidence(case, Mask(case)).findings(1, PATTERNS)]


def _told(finding: Finding) -> dict[str, Any]:
    cite = finding.citation
    told = ("attribute", "fingerprint", "recipient", "channel", "rule", "distance")
    return {
        **{name: getattr(finding, name) for name in told},
        "trace": finding.trace_id,
        "way": [{k: getattr(h, k) for k in ("sender", "recipient", "channel", "grade")} for h in finding.way],
        **{name: getattr(cite, name) for name in ("source", "sha256", "line", "offset", "pointer")},
        "span": [cite.start, cite.stop],
    }
