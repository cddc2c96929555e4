"""Words after which four characters are the end of a longer number."""

import re

_CUE = re.compile(
    r"(?:\bend(?:s|ing)?(?: in| with)?|\blast(?: ?-? ?(?:four|4))(?: digits?)?(?: of(?: \w+){0,4})?|\.{2,}|[*]{2,}|…)"
    r"(?:\s+(?:is|are|was))?[\s:*#\"'(-]*$"
)


def is_cued(before: str) -> bool:
    """Whether the skeleton of the text before a hit ends in such words."""
    return _CUE.search(before) is not None
