"""The condition `presidio` delivers presidio's own output, made offline: analyzer and anonymizer of the extra."""

import json
import socket
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from earwitness.audit import ner
from earwitness.audit.pipeline import Request as AuditRequest
from earwitness.audit.pipeline import audit
from earwitness.audit.replay import anonymizer, presidio
from earwitness.audit.replay.condition import find, parse
from earwitness.audit.replay.replay import Request, replay
from earwitness.audit.transform.keys import Keys
from earwitness.ingest.loader import Loader
from earwitness.schema.case import Case
from earwitness.schema.errors import InputError
from earwitness.schema.policy import parse_policy

EXTRA = ner.available() and find_spec("presidio_analyzer") and find_spec("presidio_anonymizer")
needs_extra = pytest.mark.skipif(not EXTRA, reason="the extra [presidio] is not installed")
# Overlaps of two types, of one type, finds inside finds, names beside each other, signs beyond the BMP, JSON.
TEXTS = (
    "Write to ilse.b@brandvold.org or see https://www.brandvold.org/ilse?mail=ilse.b@brandvold.org today.",
    "John Smith  Mary Jones met Dr. Emily Carter on 4 May 2021 at 10:30 in Paris, France.",
    "\U0001f600 Her SSN is 536-22-8417, her card 4111 1111 1111 1111, her phone +1 415 555 0142, IP 10.0.0.1.",
    '{"name": "Emily Carter", "salary": 118000, "email": "e.carter@example.com", "date": "2021-05-04"}',
    "Nothing of note here.",
    "US passport 912803456, IBAN DE89370400440532013000, license A1234567, bitcoin 1BoatSLRHtKNngkdXEeobR76b53LETtpyT.",
)


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """A socket that is opened fails the test."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    for name in ("connect", "connect_ex", "bind"):
        monkeypatch.setattr(socket.socket, name, refuse)
    for name in ("getaddrinfo", "create_connection", "gethostbyname"):
        monkeypatch.setattr(socket, name, refuse)


def case_of(path: Path) -> Case:
    lines: list[dict[str, Any]] = [{"type": "trace", "id": "t"}]
    for attribute, value in (("ssn", "536-22-8417"), ("name", "Emily Carter"), ("salary", "118000")):
        lines.append({"type": "value", "trace": "t", "attribute": attribute, "value": value})
    for n, text in enumerate(TEXTS):
        lines.append({"type": "event", "trace": "t", "seq": n, "channel": "C2", "sender": "a", "to": ["b"]}
                     | {"content": text})  # fmt: skip
    path.with_suffix(".jsonl").write_text("\n".join(map(json.dumps, lines)))
    case = Case(path)
    Loader(case).load([path.with_suffix(".jsonl")])
    audit(case, AuditRequest(policy=parse_policy(b"default: sanitize\n", "policy.yaml")))
    return case


def delivered(case: Case, condition: str) -> dict[str, str]:
    """Texts as a condition delivers them, by the text as recorded."""
    return dict(
        case.rows(
            """SELECT c.text, coalesce(t.text, c.text) FROM flows f JOIN contents c USING (content)
               LEFT JOIN replay_deliveries d ON d.event = f.event AND d.condition = ? AND d.setting = 'paper'
               LEFT JOIN replay_texts t ON t.variant = d.variant""",
            [condition],
        )
    )


def by_presidio(texts: tuple[str, ...]) -> dict[str, str]:
    """What a user of presidio gets, with everything that its analyzer found."""
    package, entities = anonymizer.load()
    analyzer, engine = presidio.offline_engine(), package.AnonymizerEngine()
    operators = {"DEFAULT": entities.OperatorConfig("replace", {"new_value": "[REDACTED]"})}
    made = {}
    for text in texts:
        found = analyzer.analyze(text, "en", score_threshold=presidio.FLOOR)
        made[text] = engine.anonymize(text, found, operators=operators).text
    return made


@needs_extra
def test_what_is_delivered_is_what_presidio_writes(tmp_path: Path, offline: None) -> None:
    with case_of(tmp_path / "case.duckdb") as case:
        assert replay(case, Request([find("presidio"), find("blanket")], Keys(bytes(32)))) == {}
        shown = delivered(case, "presidio")
        assert shown == by_presidio(TEXTS)
        assert shown != delivered(case, "blanket")
        assert "536-22-8417" not in shown[TEXTS[2]]
        assert shown[TEXTS[4]] == TEXTS[4]
        pieces = case.rows("SELECT text, pieces FROM replay_texts WHERE text LIKE '%[REDACTED]%'")
        assert pieces
        assert all(n == text.count("[REDACTED]") for text, n in pieces if text in shown.values())


@needs_extra
def test_texts_of_presidio_and_of_this_program_are_kept_apart(tmp_path: Path, offline: None) -> None:
    """The same finds and the same action, spliced by either; asked for again no text is made anew."""
    raw = b"name: ours\ndetector: presidio\ndecision: all_detected\n"
    raw += b"transforms: {format_dependent: redact, value_dependent: redact, contextual: redact}\n"
    with case_of(tmp_path / "case.duckdb") as case:
        asked = Request([find("presidio"), parse(raw, "ours.yaml")], Keys(bytes(32)))
        replay(case, asked)
        theirs, ours = delivered(case, "presidio"), delivered(case, "ours")
        assert theirs == by_presidio(TEXTS)
        assert theirs != ours, "names beside each other: presidio makes one of two"
        before = case.count("replay_texts")
        replay(case, asked)
        assert case.count("replay_texts") == before


def test_without_the_anonymizer_the_condition_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "presidio_anonymizer", None)
    with case_of(tmp_path / "case.duckdb") as case:
        skipped = replay(case, Request([find("presidio"), find("none")], Keys(bytes(32))))
        assert skipped == {"presidio": "presidio is not installed; `pip install earwitness[presidio]`"}
        assert {c for (c,) in case.rows("SELECT DISTINCT condition FROM replays")} == {"none"}


def test_the_anonymizer_of_presidio_needs_its_analyzer() -> None:
    with pytest.raises(InputError, match=r"mine\.yaml: the anonymizer of presidio needs `detector: presidio`"):
        parse(b"name: mine\nanonymizer: presidio\n", "mine.yaml")
