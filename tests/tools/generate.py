"""Canonical JSONL corpora with known truth, at any size: `python tests/tools/generate.py OUT --events N --traces T`.

Deterministic for a seed. Texts are drawn from a pool of sentences that hold no digits and none of the values, so the
truth is exact: a value stands in the texts in which it was planted and nowhere else in its trace.
"""

import argparse
import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

# Bytes of an average event with the sightings that go with it; fixes the number of events of `--megabytes`.
EVENT_BYTES = 1_240
_SENTENCES = 5_000
_PER_TEXT = 12
_PLANTED = 0.06
_SIGHTED = 0.1
_START = 1_767_225_600_000_000_000
_FLUSH = 4_000


def _words(text: str) -> list[str]:
    return text.split("|")


_SUBJECTS = _words(
    "the intake team|our billing agent|the second reviewer|the scheduling service|the claims desk|a colleague in "
    "operations|the night shift|the patient portal|the case manager|the vendor|the coordinator|the audit committee"
)
_VERBS = _words(
    "confirmed|asked us to check|postponed|rejected|summarised|escalated|could not reproduce|approved|drafted|"
    "returned|compared|forwarded|archived|reopened"
)
_OBJECTS = _words(
    "the open request|the discharge plan|a partial refund|the revised itinerary|the onboarding checklist|the quarterly "
    "forecast|an earlier complaint|the insurance form|the delivery window|the shared calendar|the lab results|"
    "the contract draft|a missing attachment|the handover note"
)
_TAILS = _words(
    "before the end of the week|without any further comment|because the system was down|as agreed in the last meeting|"
    "and wants a short answer|although the naïve estimate was higher|— see the thread above|so we can close the ticket|"
    'and said \\"no changes needed\\"|pending a second opinion|for the café in Zürich|in line with the policy'
)
_ATTRIBUTES = ("ssn", "name", "email", "amount", "phone", "account", "address", "diagnosis")
_TYPES = {"name": "value_dependent", "address": "value_dependent", "diagnosis": "contextual"}
_FIRST = _words("Marisol|Anselm|Thandiwe|Ulrike|Dariusz|Ngozi|Esperanza|Hironobu|Ludmila|Casimir|Oluwaseun|Fiorella")
_LAST = _words(
    "Quintanar|Osterwald|Mabuza|Fjeldstad|Wisniowski|Okonjo|Villaverde|Takemura|Sorokina|Bradwardine|Adeyemi"
)
_ILLNESSES = _words("sarcoidosis|haemochromatosis|narcolepsy|bulimia|endometriosis|scleroderma|syringomyelia")
_TOPOLOGIES = ("CW", "P2P", "Hier")
_CHANNELS = ("C1", "C2", "C3", "C4", "C5", "C6", "C7")
_WEIGHTS = (5, 50, 12, 12, 8, 10, 3)
_KINDS = dict(
    zip(_CHANNELS, ("answer", "message", "tool_call", "tool_result", "memory_write", "log", "artifact"), strict=True)
)
_PARTIES = {"C1": "user", "C3": "crm_lookup", "C5": "blackboard", "C6": "run_log", "C7": "report_store"}
_PARTY_KINDS = {
    "user": "user",
    "crm_lookup": "tool",
    "blackboard": "memory",
    "run_log": "log",
    "report_store": "artifact_store",
}


@dataclass
class Truth:
    """What was written.

    Attributes:
        pairs: every (event id, attribute) of a planted value, with its channel; event ids are unique in the corpus.
        channels: number of pairs by channel.
    """

    seed: int
    traces: int = 0
    events: int = 0
    sightings: int = 0
    values: int = 0
    rules: int = 0
    lines: int = 0
    bytes: int = 0
    occurrences: int = 0
    channels: dict[str, int] = field(default_factory=dict)
    pairs: list[tuple[str, str, str]] = field(default_factory=list)


def generate(out: Path, *, events: int, traces: int = 1, seed: int = 1) -> Truth:
    """Write a corpus, one trace after another.

    Args:
        out: file to write.
        events: events in all, spread evenly.
        traces: how many runs.
        seed: the same seed gives the same bytes.
    """
    truth = Truth(seed, traces=traces)
    dice = random.Random(seed)
    pool = _sentences(dice)
    with out.open("wb") as handle:
        for number in range(traces):
            share = events * (number + 1) // traces - events * number // traces
            for chunk in _chunks(_Run(number, dice, pool, truth).lines(share)):
                truth.bytes += handle.write(chunk)
    truth.occurrences = len(truth.pairs)
    truth.channels = dict(sorted(Counter(channel for _, _, channel in truth.pairs).items()))
    return truth


def _chunks(lines: Iterator[str]) -> Iterator[bytes]:
    buffer: list[str] = []
    for line in lines:
        buffer.append(line)
        if len(buffer) == _FLUSH:
            yield "".join(buffer).encode()
            buffer.clear()
    yield "".join(buffer).encode()


def _sentences(dice: random.Random) -> list[str]:
    """Sentences as they stand inside a JSON string."""
    parts = (_SUBJECTS, _VERBS, _OBJECTS, _TAILS)
    return [" ".join(dice.choice(p) for p in parts).capitalize() + "." for _ in range(_SENTENCES)]


class _Run:
    """One trace."""

    def __init__(self, number: int, dice: random.Random, pool: list[str], truth: Truth) -> None:
        self.id, self.number, self.dice, self.pool, self.truth = f"run-{number:06d}", number, dice, pool, truth
        self.topology = _TOPOLOGIES[number % 3]
        self.agents = [f"agent_{n}" for n in range(4 + number % 4)]
        self.values = self._values()

    def lines(self, events: int) -> Iterator[str]:
        """Everything the trace consists of."""
        for line in (*self._head(), *self._steps(events)):
            self.truth.lines += 1
            yield line

    def _values(self) -> dict[str, str]:
        roll = self.dice.randrange
        first, last = self.dice.choice(_FIRST), self.dice.choice(_LAST)
        tag = f"{self.number:06d}"
        made = (
            f"{roll(100, 900)}-{roll(10, 99)}-{roll(1000, 9999)}",
            f"{first} {last}",
            f"{first}.{last}{tag}@example.org".lower(),
            f"${roll(10, 999)},{roll(100, 999)}.{roll(10, 99)}",
            f"+1 {roll(200, 999)} 555 {roll(1000, 9999)}",
            f"DE{roll(10, 99)} {roll(1000, 9999)} {roll(1000, 9999)} {roll(1000, 9999)}",
            f"{roll(10, 999)} Larkspur Crescent, unit {roll(1, 99)}",
            self.dice.choice(_ILLNESSES),
        )
        return dict(zip(_ATTRIBUTES, made, strict=True))

    def _head(self) -> Iterator[str]:
        cell = f"{self.topology}-{len(self.agents)}"
        yield _line(type="trace", id=self.id, framework="generated", scenario=f"task-{self.number // 3}", topology=cell)
        for n, name in enumerate(self.agents):
            role = "coordinator" if n == 0 else "worker"
            yield _line(type="actor", trace=self.id, name=name, roles=[role], position="original")
        for name, kind in _PARTY_KINDS.items():
            yield _line(type="actor", trace=self.id, name=name, kind=kind)
        for attribute, value in self.values.items():
            kind = _TYPES.get(attribute, "format_dependent")
            yield _line(
                type="value", trace=self.id, attribute=attribute, value=value, value_type=kind, subject="client"
            )
        for attribute in _ATTRIBUTES[:3]:
            yield _line(type="rule", effect="allow", trace=self.id, attributes=[attribute], recipients=self.agents[:2])
        self.truth.values += len(self.values)
        self.truth.rules += 3

    def _steps(self, events: int) -> Iterator[str]:
        dice, seq, channels = self.dice, 0, iter(self.dice.choices(_CHANNELS, _WEIGHTS, k=events))
        for number, channel in enumerate(channels):
            event, text = f"{self.number}-{number}", self._text()
            if dice.random() < _PLANTED:
                text = self._plant(text, event, channel)
            sender, recipient = self._parties(channel)
            extra = f',"attributes":{{"tokens":{seq}}}' if number % 20 == 0 else ""
            yield (
                f'{{"type":"event","trace":"{self.id}","channel":"{channel}","content":"{text}","id":"{event}",'
                f'"seq":{seq},"time":{_START + seq * 1_000_000_000},"kind":"{_KINDS[channel]}",'
                f'"sender":"{sender}","to":["{recipient}"]{extra}}}\n'
            )
            seq += 1
            if dice.random() < _SIGHTED:
                yield self._sighting(text, event, seq)
                seq += 1
        self.truth.events += events

    def _sighting(self, text: str, event: str, seq: int) -> str:
        self.truth.sightings += 1
        actor = self.dice.choice(self.agents)
        return (
            f'{{"type":"sighting","trace":"{self.id}","content":"{text}","actor":"{actor}","kind":"history",'
            f'"seq":{seq},"event":"{event}"}}\n'
        )

    def _text(self) -> str:
        return " ".join(self.dice.choices(self.pool, k=_PER_TEXT))

    def _plant(self, text: str, event: str, channel: str) -> str:
        for attribute in self.dice.sample(_ATTRIBUTES, k=self.dice.choice((1, 1, 2))):
            cut = text.find(". ", self.dice.randrange(len(text) // 2)) + 2
            text = f"{text[:cut]}The {attribute} on file is {self.values[attribute]} as stated. {text[cut:]}"
            self.truth.pairs.append((event, attribute, channel))
        return text

    def _parties(self, channel: str) -> tuple[str, str]:
        agent = self.dice.choice(self.agents)
        if channel == "C2":
            return agent, self._peer(agent)
        if channel == "C4":
            return "crm_lookup", agent
        return (self.agents[0] if channel == "C1" else agent), _PARTIES[channel]

    def _peer(self, agent: str) -> str:
        """CW: through the coordinator; Hier: to the parent in a binary tree; P2P: anyone."""
        at = self.agents.index(agent)
        if self.topology == "P2P":
            return self.agents[(at + self.dice.randrange(1, len(self.agents))) % len(self.agents)]
        if at == 0:
            return self.agents[self.dice.randrange(1, len(self.agents))]
        return self.agents[(at - 1) // 2 if self.topology == "Hier" else 0]


def _line(**fields: object) -> str:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")) + "\n"


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("out", type=Path)
    parser.add_argument("--events", type=int, default=10_000, help="events in all")
    parser.add_argument("--megabytes", type=float, help="about this size, instead of --events")
    parser.add_argument("--traces", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--truth", type=Path, help="write the truth there, as JSON")
    asked = parser.parse_args()
    events = int(asked.megabytes * 1e6 / EVENT_BYTES) if asked.megabytes else asked.events
    truth = generate(asked.out, events=events, traces=asked.traces, seed=asked.seed)
    if asked.truth:
        asked.truth.write_text(json.dumps(asdict(truth)))
    print(f"{truth.lines} lines, {truth.bytes / 1e6:.1f} MB, {truth.occurrences} planted values")


if __name__ == "__main__":
    main()
