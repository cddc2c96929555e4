"""The words of a search: where it stands, what is changed, and what that would leave."""

from dataclasses import dataclass, field
from typing import Any

import msgspec
import yaml

from earwitness.audit.replay.condition import Condition, Detector, Setting
from earwitness.audit.replay.search_facts import Bools, Codes

FAMILIES = ("detector", "resolution", "fallback", "confidence", "decision", "transform", "rule")


@dataclass(frozen=True)
class Denial:
    """A rule `sanitize` for one attribute; with a recipient or role it does not hold where none is known."""

    attribute: str
    channel: str | None = None
    recipient: str | None = None
    role: str | None = None

    @property
    def wide(self) -> bool:
        """It speaks of the field as well."""
        return self.recipient is None and self.role is None

    def entry(self) -> dict[str, Any]:
        """The rule as an entry of a policy file."""
        given = {"channels": self.channel, "recipients": self.recipient, "roles": self.role}
        chosen = {k: [_exact(v)] for k, v in given.items() if v is not None}
        return {"effect": "sanitize", "attributes": [_exact(self.attribute)], **chosen}


def _exact(name: str) -> str:
    """A name that holds `*` would be a wildcard: its special characters are put into brackets."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in name) if "*" in name else name


@dataclass(frozen=True)
class Added:
    """Finds of a second detector beside those of the condition.

    Attributes:
        detector: whose finds.
        name: one of its recognizers or entities; None: all.
        by: which occurrences alone (attribute, value_type or channel), and
        cell: their cell.
    """

    detector: Detector
    name: str | None = None
    by: str | None = None
    cell: str | None = None


@dataclass(frozen=True)
class State:
    """What a sanitizer is: a condition in a setting, and what no condition can say.

    Attributes:
        condition: the condition.
        setting: which recipients count as known.
        added: second detectors.
        dropped: recognizers without which the condition detects.
        named: evidence (channel, grade; None: any) that makes a recipient known in the paper's setting, too.
        denials: rules beside those of the policy.
    """

    condition: Condition
    setting: Setting
    added: tuple[Added, ...] = ()
    dropped: str | None = None
    named: tuple[tuple[str | None, str | None], ...] = ()
    denials: tuple[Denial, ...] = ()


@dataclass(frozen=True)
class Change:
    """A change that was tried.

    Attributes:
        family: one of `FAMILIES`.
        change: what it is, in words.
        by: what the occurrences are restricted by, None as a whole; `cell`: to which.
        state: what the sanitizer is after it.
        codes: what it does at each place.
        found: what remains, each event by itself.
        assumed: of what is gone, what is taken to be gone.
        truth: what should be sanitized if the change is one of the policy; None: it is none.
        policy: the lines for the policy file, if it can stand there.
        bound: nobody can do this: it bounds what can be done.
    """

    family: str
    change: str
    by: str | None
    cell: str | None
    state: State
    codes: Codes
    found: Bools
    assumed: Bools
    truth: Bools | None = None
    policy: str | None = None
    bound: bool = field(default=False)


def flow(value: Any) -> str:
    """Plain data as YAML in one line."""
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10_000)
    return str(text).removesuffix("...\n").strip()


def keys_changed(before: State, after: State) -> str | None:
    """The lines of a condition file that differ; None where no condition can say it."""
    if (before.added, before.dropped, before.named, before.denials) != (
        after.added, after.dropped, after.named, after.denials,
    ):  # fmt: skip
        return None
    old, new = (_keys(s) for s in (before, after))
    changed = {k: v for k, v in new.items() if old.get(k) != v} | {k: _DEFAULT[k] for k in old if k not in new}
    return "\n".join(f"{k}: {flow(v)}" for k, v in changed.items())


_DEFAULT: dict[str, Any] = {"detector": "replayed", "decision": "dynamic", "protect_uncertain": True, "backstop": True}
_DEFAULT |= {"confidence": {}, "attributes": "told", "anonymizer": "own"}


def _keys(state: State) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(state.condition)
    return {k: v for k, v in plain.items() if k not in ("name", "title")} | {"recipients": state.setting}


def condition_file(state: State, name: str, title: str) -> str:
    """The condition of a state as a file that `replay run` takes."""
    lines = {"name": name, "title": title, **_keys(state)}
    return "".join(f"{k}: {flow(v)}\n" for k, v in lines.items())


def with_detector(condition: Condition, detector: Detector) -> Condition:
    """The same with another detector; the anonymizer of presidio goes with its detector alone."""
    own = {} if detector == "presidio" else {"anonymizer": "own"}
    return msgspec.structs.replace(condition, detector=detector, **own)
