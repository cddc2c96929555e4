"""What carries out the actions: key, options, gate and rewriter, and what was made before for the same value."""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple, Protocol
from urllib.parse import quote

from earwitness.audit.transform.encoded import hide_escapes, is_encoded, show_escapes
from earwitness.audit.transform.fpe import Fpe
from earwitness.audit.transform.generaliser import Generaliser
from earwitness.audit.transform.keys import Keys
from earwitness.audit.transform.known import Known
from earwitness.audit.transform.noise import Noise
from earwitness.audit.transform.options import Options
from earwitness.audit.transform.pseudonyms import Pseudonyms
from earwitness.audit.transform.rewriting import Gate, Rewriter, rewrite
from earwitness.audit.transform.shapes import Kind, Spot, number_or_null
from earwitness.audit.transform.words import BARE_MARK, MARK, Outcome, Task

# Signs that would end a string, break a line of code or begin an escape.
_UNSAFE = str.maketrans({'"': "'", "\\": "/", "`": "'", **{chr(n): " " for n in (*range(32), 127, 0x2028, 0x2029)}})


# All but the signs that stand for escapes.
_PLAIN = re.compile("[^\ue000-\uf8ff]+")
# Ciphertexts that are made of one value at most, until one is no other protected value.
_ROUNDS = 16


class Asked(NamedTuple):
    """All that an outcome depends on."""

    shown: str
    canonical: str
    attribute: str | None
    entity: str | None
    value_type: str
    action: str
    kind: Kind


class Question(NamedTuple):
    """All that a rewriting depends on."""

    shown: str
    canonical: str
    attribute: str | None


class Maker(Protocol):
    """Says what stands for a value."""

    def outcome(self, shown: str, task: Task, spot: Spot) -> Outcome:
        """What stands for a value where it is shown as it is."""


class Toolkit:
    """Transforms values; what it made for a value is kept, so that an equal one gets the same.

    Args:
        keys: the key.
        options: how values are transformed.
        gate: scores how surely a text still discloses a value, 0 to 1; None leaves the decision to the backstop.
        rewriter: gives other words for a contextual value; None is the local generaliser.
        known: protected values, none of which may stand for another.
    """

    def __init__(
        self,
        keys: Keys,
        options: Options | None = None,
        gate: Gate | None = None,
        rewriter: Rewriter | None = None,
        known: Known | None = None,
    ) -> None:
        self.keys, self.options = keys, options or Options()
        self.fpe, self.pseudonyms = Fpe(keys, self.options), Pseudonyms(keys, known)
        self.noise = Noise(keys, self.options)
        self.gate, self.rewriter, self.known = gate, rewriter or Generaliser(), known
        self._made: dict[Asked, Outcome] = {}
        self._rewritten: dict[Question, Outcome] = {}

    def __repr__(self) -> str:
        return f"Toolkit({self.options!r}, {len(self._made)} made)"

    def outcome(self, shown: str, task: Task, spot: Spot) -> Outcome:
        """What stands for a value where it is shown as it is.

        Args:
            shown: the text of the spot.
            task: the value, and what is to be done with it.
            spot: what the text is there.
        """
        asked = Asked(shown, task.canonical, task.attribute, task.entity, task.value_type, task.action, spot.kind)
        made = self._made.get(asked)
        if made is None:
            made = self._made[asked] = self._make(asked, task)
        return made

    def rewritten(self, shown: str, task: Task) -> Outcome:
        """What a contextual value is rewritten as; asked once, by whichever thread. Escapes are hidden in `shown`."""
        question = Question(shown, task.canonical, task.attribute)
        made = self._rewritten.get(question)
        if made is None:
            made = self._rewritten[question] = rewrite(shown, task, self.options, self.gate, self.rewriter)
        return made

    def clashes(self, task: Task, text: str) -> bool:
        """Whether a replacement would be another protected value."""
        return self.known is not None and self.known.clash(task.canonical, text)

    def again(self, keys: Keys) -> "Toolkit":
        """Another one that has made nothing yet, under the same or another key."""
        return Toolkit(keys, self.options, self.gate, self.rewriter, self.known)

    def recover(self, text: str, attribute: str | None, tries: int = 1) -> str | None:
        """The value of a ciphertext as it stands in a text, its escapes where they were; None for what is none.

        Args:
            text: the ciphertext.
            attribute: of the value.
            tries: as the outcome says; 1 unless a ciphertext before it was another protected value.
        """
        hidden, escapes = hide_escapes(text)
        found = self.fpe.decrypt(hidden, attribute, tries - 1)
        return None if found is None else show_escapes(found, escapes)

    @property
    def made(self) -> Mapping[Asked, Outcome]:
        """All that was made, by what was asked."""
        return MappingProxyType(self._made)

    @property
    def rewritings(self) -> Mapping[Question, Outcome]:
        """What became of every rewriting that was asked for."""
        return MappingProxyType(self._rewritten)

    def _make(self, asked: Asked, task: Task) -> Outcome:
        """The outcome in a form that may stand there."""
        if asked.action == "redact":
            return redacted(asked.kind)
        if is_encoded(asked.shown, asked.canonical):
            return redacted(asked.kind, "encoded")
        hidden, escapes = hide_escapes(asked.shown)
        made = _ACTIONS[asked.action](self, hidden, task)
        return made if made.done == "allow" else _fitted(made, escapes, asked.kind)


def redacted(kind: Kind, cause: str | None = None, tries: int = 1) -> Outcome:
    """The mark; in place of a JSON number null, and where brackets would break something a word without them."""
    mark = "null" if kind == "number" else BARE_MARK if kind in ("url", "code") else MARK
    return Outcome(mark, "redact", cause=cause, tries=tries)


def _fitted(made: Outcome, escapes: list[str], kind: Kind) -> Outcome:
    """An outcome as it may stand in its place; redaction where it may not."""
    if made.done == "redact":
        return redacted(kind, made.cause, made.tries)
    text = made.text
    if made.done in ("pseudonym", "rewrite"):
        text = (_PLAIN.sub(_quoted, text) if kind == "url" else text).translate(_UNSAFE)
    text = show_escapes(text, escapes)
    if kind == "number" and not number_or_null(text):
        return redacted(kind, "number", made.tries)
    return made._replace(text=text)


def _quoted(match: re.Match[str]) -> str:
    return quote(match[0], safe="@:/?&=._~-", errors="replace")


def _allow(kit: Toolkit, shown: str, task: Task) -> Outcome:
    return Outcome(shown, "allow", tries=0)


def _fpe(kit: Toolkit, shown: str, task: Task) -> Outcome:
    """The first ciphertext that is no other protected value; which one it is, is on record as the tries."""
    for tries in range(1, _ROUNDS + 1):
        sealed = kit.fpe.encrypt(shown, task.attribute, tries - 1)
        if sealed is None and tries == 1:
            return Outcome("", "redact", cause="format")
        if sealed is not None and not kit.clashes(task, sealed.text):
            longer = "length" if len(sealed.text) != len(shown) else None
            exception = sealed.exception or longer or ("collision" if tries > 1 else None)
            return Outcome(sealed.text, "fpe", exception, tries=tries, reversible=True)
    return Outcome("", "redact", cause="collision", tries=_ROUNDS)


def _pseudonym(kit: Toolkit, shown: str, task: Task) -> Outcome:
    made = kit.pseudonyms.make(task.canonical, shown, task.attribute, task.entity)
    if made is None:
        return Outcome("", "redact", cause="format")
    if kit.clashes(task, made.text):
        return Outcome("", "redact", cause="collision", tries=made.tries)
    return Outcome(made.text, "pseudonym", "collision" if made.collided else None, tries=made.tries)


def _mldp(kit: Toolkit, shown: str, task: Task) -> Outcome:
    released = kit.noise.release(task.canonical, shown, task.attribute)
    return Outcome("", "redact", cause="format") if released is None else Outcome(released, "mldp")


def _rewrite(kit: Toolkit, shown: str, task: Task) -> Outcome:
    return kit.rewritten(shown, task)


_ACTIONS: dict[str, Callable[[Toolkit, str, Task], Outcome]] = {
    "allow": _allow,
    "fpe": _fpe,
    "pseudonym": _pseudonym,
    "mldp": _mldp,
    "rewrite": _rewrite,
}
