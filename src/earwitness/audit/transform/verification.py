"""Whether what was made is what was promised: every check recounts from values and outcomes, for a report."""

import math
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from earwitness.audit.forms.skeleton import compact, fold
from earwitness.audit.transform.dpcheck import dp_inequality
from earwitness.audit.transform.encoded import hide_escapes
from earwitness.audit.transform.keys import Keys
from earwitness.audit.transform.pseudonyms import tokens
from earwitness.audit.transform.rewriting import remains
from earwitness.audit.transform.shapes import Spot
from earwitness.audit.transform.toolkit import Asked, Toolkit
from earwitness.audit.transform.words import Outcome, Task

# A value is looked for in its replacement so many times at most, evenly picked: each look makes an automaton.
MOST_LOOKED_FOR = 500
Made = list[tuple[Asked, Outcome]]


class Check(NamedTuple):
    """One line of the report.

    Attributes:
        check: its name.
        k: how many passed, of
        n: how many were looked at.
        note: what a reader should know of it.
    """

    check: str
    k: int
    n: int
    note: str = ""


def verify(kit: Toolkit) -> tuple[Check, ...]:
    """All checks on all distinct values that a toolkit transformed; those with nothing to look at say 0 of 0."""
    made = list(kit.made.items())
    sealed = [m for m in made if m[1].done == "fpe"]
    checks = [
        _count("fpe_round_trip", sealed, lambda a, o: kit.recover(o.text, a.attribute, o.tries) == a.shown),
        *_wrong_keys(sealed, kit),
        _count("fpe_character_set", sealed, lambda a, o: _signs(o.text) <= _signs(a.shown)),
        _count("fpe_length", sealed, lambda a, o: len(o.text) == len(a.shown)),
        _deterministic(made, kit),
        _distinct(made),
        _removed(made),
        *_inequalities(kit),
        *_tally(made),
        *_rewritings(list(kit.rewritings.values())),
    ]
    return tuple(checks)


def _count(name: str, made: Made, passes: Callable[[Asked, Outcome], bool], note: str = "") -> Check:
    return Check(name, sum(passes(a, o) for a, o in made), len(made), note)


def _wrong_keys(sealed: Made, kit: Toolkit) -> Iterator[Check]:
    """Another key gives another value. In a domain of d values one in d - 1 is met by chance: they stand apart."""
    wrong = kit.again(Keys(bytes(b ^ 0x5A for b in kit.keys.derive("wrong key"))))
    parts = {name: [m for m in sealed if (m[1].exception == "short_domain") is short] for name, short in _DOMAINS}
    for name, part in parts.items():
        note = "a small domain is met by chance" if name.endswith("short_domain") else ""
        yield _count(name, part, lambda a, o: wrong.recover(o.text, a.attribute, o.tries) != a.shown, note)


_DOMAINS = (("fpe_wrong_key", False), ("fpe_wrong_key_short_domain", True))


def _signs(text: str) -> set[str]:
    """The alphabets of a text, and its other signs."""
    hidden, escapes = hide_escapes(text)
    kinds = ("0" if c.isdecimal() else "a" if c.islower() else "A" if c.isupper() else c for c in hidden)
    return {*kinds, *escapes}


def _deterministic(made: Made, kit: Toolkit) -> Check:
    """A second toolkit of the same key makes the same, in the same order."""
    again = kit.again(kit.keys)
    kept = [m for m in made if m[1].done in ("fpe", "pseudonym") or (m[1].done == "mldp" and kit.options.seeded)]
    return _count("determinism", kept, lambda a, o: _again(again, a) == o)


def _again(kit: Toolkit, asked: Asked) -> Outcome:
    task = Task(0, 0, asked.attribute, asked.entity, asked.value_type, asked.canonical, asked.action)
    return kit.outcome(asked.shown, task, Spot(0, 0, asked.kind))


def _distinct(made: Made) -> Check:
    """Values told apart by their pseudonyms: of all values with one, those that share theirs with no other."""
    owners: dict[str, set[str]] = {}
    for asked, outcome in made:
        if outcome.done == "pseudonym":
            owners.setdefault(outcome.text.casefold(), set()).add(_replaced(asked, outcome.text))
    values = {v for shared in owners.values() for v in shared}
    clashing = {v for shared in owners.values() if len(shared) > 1 for v in shared}
    return Check("pseudonym_distinct", len(values - clashing), len(values))


def _replaced(asked: Asked, text: str) -> str:
    """What a pseudonym stood for: the words shown, in any order; the value's own where those are no part of it.

    `Roe, Ann` is `Ann Roe`, and two persons of one surname have in common what stands for the surname alone. A
    reference stands for the whole value, whatever of it is shown.
    """
    if text.startswith("ref-"):
        return compact(fold(asked.canonical or asked.shown))
    shown, own = tokens(asked.shown), tokens(asked.canonical)
    part = shown and (set(shown) <= set(own) or not own)
    return " ".join(sorted(shown if part else own)) or asked.canonical


def _removed(made: Made) -> Check:
    """No form of the value stands in what replaced it."""
    changed = [m for m in made if m[1].done not in ("allow", "redact")]
    picked = changed[:: max(math.ceil(len(changed) / MOST_LOOKED_FOR), 1)]
    note = "noise may leave a number as it is" if any(o.done == "mldp" for _, o in picked) else ""
    return _count("value_gone", picked, _gone, note)


def _gone(asked: Asked, outcome: Outcome) -> bool:
    task = Task(0, 0, asked.attribute, asked.entity, asked.value_type, asked.canonical, asked.action)
    return not remains(outcome.text, asked.shown, task)


def _inequalities(kit: Toolkit) -> Iterator[Check]:
    """The inequality of the guarantee, for two values one unit apart, by kind."""
    for kind, span in sorted(kit.options.noise.items()):
        found = dp_inequality(span, kit.options.epsilon, span.unit)
        note = f"odds observed at most {found.worst:.3f}, allowed {found.bound:.3f}"
        yield Check(f"dp_inequality_{kind}", found.held, found.bins, note)


def _tally(made: Made) -> Iterator[Check]:
    """Exceptions and causes of fallbacks, each with how many outcomes it is among."""
    counts = Counter(name for _, o in made for name in _noted(o))
    yield from (Check(name, count, len(made)) for name, count in sorted(counts.items()))


def _noted(outcome: Outcome) -> set[str]:
    """The names that an outcome counts under; a further ciphertext is a collision beside what else it is."""
    again = outcome.done == "fpe" and outcome.tries > 1
    exceptions = {outcome.exception, "collision" if again else None} - {None}
    return {f"exception_{e}" for e in exceptions} | ({f"cause_{outcome.cause}"} if outcome.cause else set())


def _rewritings(asked: list[Outcome]) -> Iterator[Check]:
    """How many values were rewritten, at which try, and why the others were not."""
    accepted = [o for o in asked if o.done == "rewrite"]
    yield Check("rewrite_accepted", len(accepted), len(asked))
    tries = Counter(o.tries for o in accepted)
    yield from (Check(f"rewrite_at_try_{n}", tries[n], len(asked)) for n in sorted(tries))
    causes = Counter(o.cause for o in asked if o.cause)
    yield from (Check(f"rewrite_refused_{cause}", causes[cause], len(asked)) for cause in sorted(causes))
