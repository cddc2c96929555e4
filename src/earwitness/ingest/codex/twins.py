"""Which event messages of a thread repeat its response items: found by numbers for texts, nearly always."""

from collections import Counter
from collections.abc import Iterator

from earwitness.ingest.chronicle import folded
from earwitness.ingest.codex.survey import Records, Said, Survey


def repeated(survey: Survey) -> Iterator[int]:
    """Numbers of the records that do."""
    for kind in [kind for kind, twin in survey.said if twin]:
        others = survey.said.get((kind, False), Said()).since(survey.copied)
        if others.records:
            twins = survey.said[kind, True].since(survey.copied)
            whole = kind == "reasoning"
            yield from twins.records if _within(twins, others) else _loosely(survey.records, twins, others, whole)


def _within(twins: Said, others: Said) -> bool:
    """Whether all of them are repeated word for word, as nearly all are."""
    left = Counter(others.texts)
    for text in twins.texts:
        if left[text] < 1:
            return False
        left[text] -= 1
    return True


def _loosely(records: Records, twins: Said, others: Said, sections: bool) -> Iterator[int]:
    said = Counter(hash(folded(records.text(n))) for n in others.records)
    whole = _Whole(records, twins, others) if sections else None
    for n in twins.records:
        text = records.text(n)
        key = hash(folded(text))
        if said[key] > 0 or (whole and whole.holds(text)):
            said[key] -= 1
            yield n


class _Whole:
    """Reasoning comes in sections as events, and whole as an item: found by the first line of a section."""

    def __init__(self, records: Records, twins: Said, others: Said) -> None:
        self._records = records
        wanted = {_first(records.text(n).strip()) for n in twins.records}
        # By a line with which a section begins, the texts with such a line, each once, and where they stand.
        self._by_line: dict[int, dict[int, int]] = {}
        for n in others.records:
            text = records.text(n)
            for line in wanted.intersection(map(hash, map(folded, text.split("\n")))):
                self._by_line.setdefault(line, {})[hash(folded(text))] = n

    def holds(self, section: str) -> bool:
        """Whether a section stands in some reasoning."""
        text = section.strip()
        wholes = self._by_line.get(_first(text), {}).values() if text else ()
        return any(folded(text) in folded(self._records.text(n)) for n in wholes)


def _first(text: str) -> int:
    return hash(folded(text.split("\n")[0]))
