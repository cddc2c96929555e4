"""What several recognizers share that find `keyword: token`: the way from a keyword to its token."""

import re

from earwitness.audit.recognizers.base import Find, Found, by_pattern

# Between keyword and token: "number", "is", a colon, quotes, stars of Markdown.
GAP = (
    r"(?:[ _-]?(?:number|numbers|num|no\.?|nr\.?|id|ids|code|#))?[\"'*]{0,3}(?: (?:is|was|of|for|under"
    r"|are))?[ \t:=#\"'*]{1,8}"
)
SHAPE = r"(?=[A-Za-z0-9_#/-]*[0-9])[A-Za-z0-9#][A-Za-z0-9_/-]{2,24}"


def keyed(words: str, confidence: float = 0.8, token: str = SHAPE, entity: str | None = None) -> Find:
    """A finder of tokens that follow one of the `words`."""
    pattern = re.compile(rf"(?<![A-Za-z0-9])(?:{words}){GAP}(?P<token>{token})(?![\w-])", re.IGNORECASE)

    def judge(text: str, match: "re.Match[str]") -> Found:
        return Found(*match.span("token"), confidence, match["token"].lstrip("#"), entity=entity)

    return by_pattern(pattern, judge)
