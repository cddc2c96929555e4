"""Words of others as Google ADK puts them into a model's input: reported, and from 2.x on between markers."""

import re

_BEGIN = "<<<BEGIN_QUOTED_AGENT_CONTENT>>>"
_BLOCK = re.compile(_BEGIN + r"\n+(.*?)\n+<<<END_QUOTED_AGENT_CONTENT>>>", re.DOTALL)
_PREAMBLE = "For context:"
_REPORTED = re.compile(r"\[[^\]\n]+\] (?:said:|called tool `[^`\n]+` with|`[^`\n]+` tool returned)")


def bare(text: str) -> str:
    """The words between markers; any other text as it is."""
    found = _BLOCK.search(text) if _BEGIN in text else None
    return found[1] if found else text


def is_quotation(text: str) -> bool:
    """Whether a text reports what another agent did, or announces such reports: nothing that is said here."""
    return text.startswith(_PREAMBLE) or _REPORTED.match(text) is not None
