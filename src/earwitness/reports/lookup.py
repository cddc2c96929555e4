"""What a user names, found in a case: values, traces, actors, edges.

What was typed may be a secret that should not have been: no message repeats it unmasked.
"""

import re
from difflib import get_close_matches

from earwitness.audit.forms.skeleton import compact, fold
from earwitness.graph.whatif import UNNAMED
from earwitness.reports.mask import Mask
from earwitness.schema.case import Case
from earwitness.schema.errors import CaseError

# Shorter beginnings of a fingerprint are words too often.
_MARK = re.compile("[0-9a-f]{4,12}")
_LISTED = 8
# So many letters and digits are a value whatever stands between them.
_SOLID = 6

_NAMED = """
    SELECT value, attribute, fingerprint FROM vault
    WHERE lower(attribute) = lower(?) OR (starts_with(fingerprint, ?) AND (? = '' OR lower(attribute) = lower(?)))
    ORDER BY value
"""


def find_values(case: Case, word: str, *, many: bool = False) -> list[int]:
    """Numbers of the value that has a name: fingerprint (or its beginning), attribute, or `attribute#fingerprint`.

    Args:
        case: after an audit.
        word: the name.
        many: take all values of an attribute; else the name must mean one value (in however many traces).

    Raises:
        CaseError: no value has the name, or several have.
    """
    attribute, sign, mark = word.strip().rpartition("#")
    mark = mark.strip().lower()
    # A byte that no fingerprint begins with.
    mark = mark if _MARK.fullmatch(mark) else "-"
    rows = case.rows(_NAMED, [word.strip(), mark, attribute.strip() if sign else "", attribute.strip()])
    return _one(case, rows, many=many)


def only_in(case: Case, trace: int, values: list[int]) -> list[int]:
    """Those of some values that stand in a trace, which must be one value under one or more numbers.

    Raises:
        CaseError: none does, or several values do.
    """
    rows = case.rows(
        """SELECT DISTINCT w.value, w.attribute, w.fingerprint FROM verdicts v JOIN vault w USING (value)
           WHERE v.trace = ? AND w.value IN (SELECT unnest(?::BIGINT[])) ORDER BY ALL""",
        [trace, values],
    )
    if not rows:
        raise CaseError(f"{case.path or 'case'}: the value does not stand in that trace")
    return _one(case, rows, many=False)


def find_value_text(case: Case, text: str) -> list[int]:
    """Numbers of the value that is written so, or has such an alias; case and separators do not matter.

    Raises:
        CaseError: no value of the case is, or several are.
    """
    wanted = _written(text)
    rows = case.rows("SELECT value, attribute, fingerprint, text, aliases FROM vault ORDER BY value")
    found = [row[:3] for row in rows if wanted & set().union(*map(_written, (row[3], *(row[4] or ()))))]
    return _one(case, found, many=False)


def _written(text: str) -> set[str]:
    """A value as it is, and without what stands between its letters and digits if they are many enough to tell it."""
    folded = fold(text.strip())
    solid = compact(folded)
    return ({folded} if folded else set()) | ({solid} if len(solid) >= _SOLID else set())


def _one(case: Case, rows: list[tuple[int, str, str]], *, many: bool) -> list[int]:
    marks = {(mark, attribute) for _, attribute, mark in rows}
    if not rows:
        raise CaseError(
            f"{case.path or 'case'}: no protected value has that name. Names are an attribute, a fingerprint (at least "
            "4 of its digits) or attribute#fingerprint, as `earwitness report` shows them; --value-text takes the "
            "value itself, out of sight"
        )
    if len({mark for mark, _ in marks}) > 1 and not many:
        raise CaseError(f"{case.path or 'case'}: {len(marks):,} values have that name; {_listed(case, rows)}")
    return [row[0] for row in rows]


def _listed(case: Case, rows: list[tuple[int, str, str]]) -> str:
    """The names of the values that reached most recipients."""
    top = case.rows(
        """SELECT attribute, fingerprint FROM vault LEFT JOIN exposures USING (value)
           WHERE value IN (SELECT unnest(?::BIGINT[])) GROUP BY ALL
           ORDER BY count(exposure) DESC, attribute, fingerprint LIMIT ?""",
        [[row[0] for row in rows], _LISTED],
    )
    mask = Mask(case)
    names = ", ".join(f"{mask(attribute)}#{mark}" for attribute, mark in top)
    return f"give one, most exposed first: {names}"


def find_trace(case: Case, word: str) -> int:
    """Number of the trace with an id as recorded or as shown, else of that number.

    Raises:
        CaseError: there is none.
    """
    found = case.one("SELECT min(trace) FROM traces WHERE trace_id = ?", [word])
    if found is None and word.isascii() and word.isdecimal() and len(word) < 10:
        found = case.one("SELECT trace FROM traces WHERE trace = ?", [int(word)])
    if found is None and "[" in word:
        mask = Mask(case)
        every = case.rows("SELECT trace, trace_id FROM traces ORDER BY trace")
        found = next((trace for trace, name in every if mask(name) == word), None)
    if found is None:
        names = [r[0] for r in case.rows("SELECT DISTINCT trace_id FROM traces ORDER BY trace_id LIMIT 5000")]
        raise CaseError(_unknown(case, "trace", word, names))
    return int(found)


class Actors:
    """The actors of a case, by the names they were recorded with or are shown with."""

    def __init__(self, case: Case) -> None:
        self._case, mask = case, Mask(case)
        rows = case.rows("""
            SELECT actor FROM parties UNION SELECT sender FROM flows WHERE sender IS NOT NULL
            UNION SELECT recipient FROM flows WHERE recipient IS NOT NULL ORDER BY ALL
        """)
        names = [row[0] for row in rows]
        self._names: dict[str, str] = {mask(name): name for name in names} | {name: name for name in names}
        others = case.rows("SELECT alias, actor FROM aliases WHERE alias NOT IN (SELECT actor FROM parties)")
        self._names |= dict(others)
        self._names.setdefault(UNNAMED, UNNAMED)

    def find(self, word: str) -> str:
        """The actor of that name.

        Raises:
            CaseError: there is none.
        """
        if word not in self._names:
            raise CaseError(_unknown(self._case, "actor", word, list(self._names)))
        return self._names[word]

    def find_edge(self, text: str) -> tuple[str, str]:
        """Sender and recipient of `A>B` or `A->B`; names may hold the sign, as long as one reading fits.

        Raises:
            CaseError: no reading fits.
        """
        for cut in [m.span() for m in re.finditer("->|>", text)]:
            sender, recipient = text[: cut[0]].strip(), text[cut[1] :].strip()
            if sender in self._names and recipient in self._names:
                return self._names[sender], self._names[recipient]
        sender, sign, recipient = text.partition(">")
        if not sign:
            raise CaseError("an edge is written 'sender>recipient'; quote it, since > means something to the shell")
        return self.find(sender.removesuffix("-").strip()), self.find(recipient.strip())


def _unknown(case: Case, what: str, word: str, names: list[str]) -> str:
    mask = Mask(case)
    close = [mask(name) for name in get_close_matches(word, names, 3, 0.6)]
    some = f"some are: {', '.join(mask(name) for name in names[:5])}" if names else "the case has none"
    cure = f"is it {' or '.join(close)}?" if close else some
    return f"{case.path or 'case'}: no {what} is called {mask(word)!r}; {cure}"
