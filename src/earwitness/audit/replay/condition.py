"""Conditions: what a replayed sanitizer detects with, decides by and does, as data."""

from importlib import resources
from pathlib import Path
from typing import Literal

import msgspec
import yaml

from earwitness.schema.cures import cure
from earwitness.schema.errors import InputError
from earwitness.schema.words import CHANNELS, Channel, ValueType
from earwitness.schema.yamlerrors import told_as

Detector = Literal["replayed", "presidio", "oracle", "none"]
Decision = Literal["allow_all", "all_detected", "static", "dynamic", "topology-reachable", "topology-forwarded"]
Setting = Literal["paper", "extended"]
Mode = Literal["independent", "propagate"]
Fallback = Literal["field", "closed"]
Transform = Literal["fpe", "pseudonym", "mldp", "rewrite", "redact", "block"]

SETTINGS: tuple[Setting, ...] = ("paper", "extended")
_MOST_TRIES = 5
# Decisions that look at who receives; the others are the same in every setting.
BY_RECIPIENT = ("dynamic", "topology-reachable", "topology-forwarded")


class Way(msgspec.Struct, frozen=True):
    """How rewritings are checked; conditions that have it in common share what they make.

    Attributes:
        backstop: none may still hold the value.
        gate: a detector scores each.
        threshold: least score that is refused.
        tries: most candidates for one value.
        presidio: presidio makes the texts, and nothing is rewritten.
    """

    backstop: bool
    gate: bool
    threshold: float
    tries: int
    presidio: bool = False

    def __str__(self) -> str:
        gate = f"gate {self.threshold:g}" if self.gate else "no gate"
        backstop = "backstop" if self.backstop else "no backstop"
        return f"{gate}, {backstop}, {self.tries} {'try' if self.tries == 1 else 'tries'}"


class Condition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A sanitizer to be replayed. docs/replay.md describes each key.

    Attributes:
        name: in tables and on the command line.
        title: what it is, in a few words.
        detector: what finds candidates: the program's recognizers, presidio, the measuring detector, nothing.
        decision: what becomes of a candidate.
        attributes: the attribute a candidate is judged under: that of the known value it lies on, or the recognizer's.
        recipients: which recipients it can resolve; left out, as the run asks.
        fallback: unresolved recipients, by channel; left out, as the policy in force says.
        confidence: floor of each channel: candidates below are uncertain.
        protect_uncertain: an uncertain candidate is protected, whoever receives it, where the recipient is resolved.
        transforms: what is done to each type of value; left out, as the policy says, else by type.
        anonymizer: what puts it into texts; presidio has one mark for all, and its own way with overlaps.
        backstop: refuse rewritings that still hold the value.
        gate: refuse rewritings that a detector takes for a disclosure,
        threshold: from this score on.
        tries: most rewritings that are tried for one value.
    """

    name: str
    title: str = ""
    detector: Detector = "replayed"
    decision: Decision = "dynamic"
    attributes: Literal["told", "recognized"] = "told"
    recipients: Setting | None = None
    fallback: dict[Channel, Fallback] | None = None
    confidence: dict[Channel, float] = {}
    protect_uncertain: bool = True
    transforms: dict[ValueType, Transform] | None = None
    anonymizer: Literal["own", "presidio"] = "own"
    backstop: bool = True
    gate: bool = True
    threshold: float = 0.5
    tries: int = 3

    @property
    def way(self) -> Way:
        """How its rewritings are checked; without a gate its threshold says nothing."""
        threshold = self.threshold if self.gate else 1.0
        return Way(self.backstop, self.gate, threshold, self.tries, self.anonymizer == "presidio")


def shipped() -> dict[str, Condition]:
    """The conditions that come with the program, by name, in the order they are told."""
    folder = resources.files("earwitness.audit.replay") / "conditions"
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".yaml")), key=lambda f: f.name)
    read = [parse(f.read_bytes(), f"conditions/{f.name}") for f in files]
    return {c.name: c for c in read}


def find(name: str) -> Condition:
    """A shipped condition by its name, or one from a YAML file by its path.

    Raises:
        InputError: there is neither, or the file does not hold together.
    """
    known = shipped()
    if name in known:
        return known[name]
    if not name.endswith((".yaml", ".yml")):
        raise InputError(f"{name}: no such condition; known: {', '.join(known)}; or give a .yaml file")
    try:
        raw = Path(name).read_bytes()
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror}; give the path of a condition") from None
    return parse(raw, name)


def parse(raw: bytes, name: str) -> Condition:
    """The condition in `raw`; `name` is what errors call the file.

    Raises:
        InputError: naming the file, the line or key, and the cause.
    """
    with told_as(InputError, name):
        data = yaml.safe_load(raw.decode("utf-8-sig"))
    try:
        condition = msgspec.convert(data, Condition)
    except msgspec.ValidationError as error:
        raise InputError(f"{name}: {error}{cure(Condition, error)}; docs/replay.md describes the keys") from None
    return _checked(condition, name)


def _checked(condition: Condition, name: str) -> Condition:
    wrong = [c for c, floor in condition.confidence.items() if not 0 <= floor <= 1]
    if wrong:
        raise InputError(f"{name}: a floor lies between 0 and 1 at `$.confidence.{wrong[0]}`")
    if condition.anonymizer == "presidio" and condition.detector != "presidio":
        raise InputError(f"{name}: the anonymizer of presidio needs `detector: presidio` at `$.anonymizer`")
    if not 0 <= condition.threshold <= 1:
        raise InputError(f"{name}: a threshold lies between 0 and 1 at `$.threshold`")
    if not 1 <= condition.tries <= _MOST_TRIES:
        raise InputError(f"{name}: tries are 1 to {_MOST_TRIES} at `$.tries`")
    if not condition.name.strip() or len(condition.name) > 60:
        raise InputError(f"{name}: a condition needs a name of 1 to 60 characters at `$.name`")
    return condition


class Plan(msgspec.Struct, frozen=True):
    """A condition in one recipient setting, numbered: one line of the result."""

    number: int
    condition: Condition
    setting: Setting

    @property
    def closed(self) -> list[str]:
        """Channels on which an unresolved recipient is sanitized; None of the condition asks the policy."""
        given = self.condition.fallback or {}
        return [c for c in CHANNELS if given.get(c) == "closed"]


def plans(conditions: list[Condition], settings: tuple[Setting, ...]) -> list[Plan]:
    """Every condition in every setting that is asked for; one that says which it resolves stands in that alone.

    Raises:
        InputError: two conditions of one name.
    """
    names = [c.name for c in conditions]
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise InputError(f"{twice[0]}: two conditions of this name; give one of them another")
    pairs = [(c, s) for c in conditions for s in ((c.recipients,) if c.recipients else settings)]
    return [Plan(n, condition, setting) for n, (condition, setting) in enumerate(pairs)]
