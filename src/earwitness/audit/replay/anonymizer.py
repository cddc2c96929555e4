"""Presidio's own output: texts of a condition that names it are spliced by presidio-anonymizer, not by this program.

What the analyzer found, as far as it is decided to be sanitized, goes to the AnonymizerEngine as it is. Overlaps are
settled there, by presidio's rules: finds of one type that meet are one, finds inside others are dropped, finds of
different types that overlap are replaced one after the other. One mark stands for every type.
"""

from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from importlib.metadata import version
from typing import Any

from earwitness import __version__
from earwitness.audit.transform.splice import transform
from earwitness.audit.transform.toolkit import Toolkit
from earwitness.audit.transform.words import MARK, Changed, Piece, Task
from earwitness.schema.errors import MissingExtraError

_PACKAGE = "presidio-anonymizer"
# Of finds on the same characters the analyzer's surest was kept already; beyond that presidio asks for no score.
_SCORE = 1.0


class PresidioKit(Toolkit):
    """Stands for a toolkit where presidio makes the texts; the engine is loaded when it is first needed."""

    @cached_property
    def _presidio(self) -> tuple[Any, Any, Any]:
        package, entities = load()
        return package.AnonymizerEngine(), entities.RecognizerResult, _uniform(entities)

    def anonymized(self, text: str, tasks: Sequence[Task]) -> Changed:
        """A text as presidio writes it. Which task each piece answers presidio does not tell."""
        engine, result, operators = self._presidio
        found = [result(entity_type=t.entity or "", start=t.start, end=t.stop, score=_SCORE) for t in tasks]
        made = engine.anonymize(text, found, operators=dict(operators))
        items = sorted(made.items, key=lambda item: (item.start, item.end))
        return Changed(made.text, tuple(Piece(i.start, i.end, "redact", "redact") for i in items))


def _uniform(entities: Any) -> dict[str, Any]:
    """One mark for whatever was found."""
    return {"DEFAULT": entities.OperatorConfig("replace", {"new_value": MARK})}


def load() -> tuple[Any, Any]:
    """The package and its entities.

    Raises:
        MissingExtraError: the extra `[presidio]` is not installed.
    """
    try:
        return import_module("presidio_anonymizer"), import_module("presidio_anonymizer.entities")
    except ImportError:
        raise MissingExtraError("presidio is not installed; `pip install earwitness[presidio]`") from None


def spliced(text: str, tasks: Sequence[Task], kit: Toolkit) -> Changed:
    """A text after its tasks, by whoever splices for this toolkit."""
    return kit.anonymized(text, tasks) if isinstance(kit, PresidioKit) else transform(text, tasks, kit)


def maker(kit: Toolkit) -> str:
    """What tells texts of one program from those of another; texts kept from an earlier one are made anew."""
    return f"{__version__} {_PACKAGE} {version(_PACKAGE)}" if isinstance(kit, PresidioKit) else __version__
