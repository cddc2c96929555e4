"""The page over a small case in which every name is hostile and some names hold a protected value."""

import base64
import hashlib
import json
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from earwitness.audit.pipeline import Request, audit
from earwitness.audit.rulesets import DEFAULT
from earwitness.graph.exposures import walk
from earwitness.ingest.loader import Loader
from earwitness.reports.evidence import Evidence, ways
from earwitness.reports.html import page, write_page
from earwitness.reports.mask import Mask
from earwitness.reports.page.flowdata import MOST_ACTORS, telling_traces
from earwitness.reports.page.flowmap import BULGES
from earwitness.reports.page.layout import BOX_H, BOX_W, Curve, inside, place
from earwitness.reports.page.markup import View, el, fill, own
from earwitness.reports.summary import summary
from earwitness.schema.case import Case
from earwitness.schema.policy import parse_policy

EVIL = "</script><img src=x onerror=alert(1)>"
SSN, ILLNESS = "219-09-9999", "Ulcerative Colitis"
HOLDER, RELAY, LAST, USER = "lead" + EVIL, f"clerk of {SSN.lower()}", "printer" + EVIL, "desk"
TRACE, CLEAN = f"run {ILLNESS.upper()} {EVIL}", "quiet"


def lines(ruled: bool = True) -> list[dict[str, Any]]:
    agents = [(HOLDER, "original"), (RELAY, "introduced"), (LAST, "introduced")]
    out: list[dict[str, Any]] = []
    for trace in (TRACE, CLEAN):
        about = {"topology": f"star {EVIL}", "arm": f"arm {SSN}", "framework": EVIL, "model": SSN, "scenario": EVIL}
        out.append({"type": "trace", "id": trace, **about})
        out += [{"type": "actor", "trace": trace, "name": n, "kind": "agent", "position": p} for n, p in agents]
        out += [{"type": "actor", "trace": trace, "name": USER, "kind": "user"}]
    out += [{"type": "value", "attribute": f"ssn{EVIL}", "value": SSN}]
    out += [{"type": "value", "attribute": f"of {ILLNESS}", "value": ILLNESS, "aliases": ["the bowel thing"]}]
    out += [{"type": "sighting", "trace": TRACE, "actor": HOLDER, "kind": "initial", "seq": 0, "content": SSN}]
    said = [(1, "C2", HOLDER, RELAY), (2, "C2", RELAY, LAST), (3, "C1", HOLDER, USER)]
    for seq, channel, sender, to in said:
        event = {"type": "event", "channel": channel, "sender": sender, "to": [to], "seq": seq}
        out.append(event | {"trace": TRACE, "id": f"e{seq}{EVIL}", "content": f"about {SSN} and {ILLNESS}"})
        out.append(event | {"trace": CLEAN, "id": f"q{seq}", "content": "nothing to tell"})
    out += [{"type": "event", "trace": TRACE, "channel": "C6", "sender": RELAY, "seq": 4, "content": f"hm {ILLNESS}"}]
    out += [{"type": "loss", "trace": CLEAN, "kind": "failed_call", "channel": "C3", "detail": SSN}]
    deny = {"type": "rule", "id": f"deny {SSN} {EVIL}", "effect": "sanitize", "recipients": [LAST]}
    return (
        [*out, {"type": "rule", "id": "lead", "effect": "allow", "attributes": ["ssn*"], "recipients": [HOLDER]}, deny]
        if ruled
        else out
    )


def load(tmp_path: Path, rows: list[dict[str, Any]]) -> Case:
    file = tmp_path / f"{SSN} <img src=x>.jsonl"
    broken = json.dumps({"type": "event", "trace": SSN, "channel": "C9", "content": ILLNESS})
    file.write_text("\n".join([*(json.dumps(row) for row in rows), broken, "{"]) + "\n", encoding="utf-8")
    case = Case(tmp_path / "case.duckdb")
    Loader(case).load([file])
    audit(case, Request(rules=DEFAULT))
    return case


@pytest.fixture
def hostile(tmp_path: Path) -> Case:
    return load(tmp_path, lines())


@pytest.fixture
def unruled(tmp_path: Path) -> Case:
    return load(tmp_path, lines(ruled=False))


class Reader(HTMLParser):
    """What a browser would see: elements with their attributes, and the text."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text: list[str] = []
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "input", "col", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("script", "style"):
            self.text.append(data)

    @property
    def words(self) -> str:
        return re.sub(r"\s+", " ", "".join(self.text))


def reading(case: Case) -> tuple[str, Reader]:
    source = page(case, summary(case))
    return source, Reader(source)


def test_no_protected_value_is_on_the_page(hostile: Case) -> None:
    source, seen = reading(hostile)
    for text in (source, unescape(source), seen.words):
        for value in (SSN, ILLNESS, "the bowel thing"):
            assert value.lower() not in text.lower()
    assert "clerk of [ssn" in seen.words


def test_text_of_traces_makes_no_markup(hostile: Case) -> None:
    source, seen = reading(hostile)
    assert "<img" not in source
    assert not {"img", "iframe", "object", "base", "form"} & {tag for tag, _ in seen.elements}
    assert not seen.open
    assert [tag for tag, _ in seen.elements].count("script") == 1
    assert not [name for _, given in seen.elements for name in given if name.startswith("on") or name == "style"]


def test_page_asks_for_nothing_from_elsewhere(hostile: Case) -> None:
    source, seen = reading(hostile)
    links = [given.get(key) or "" for _, given in seen.elements for key in ("src", "href", "action", "data")]
    assert all(link.startswith(("#", "data:,")) for link in links if link)
    assert "http://" not in source
    assert "https://" not in source
    assert not re.search(r"@import|url\((?!#)", source)


def test_content_policy_allows_only_the_style_and_script_of_the_page(hostile: Case) -> None:
    source, seen = reading(hostile)
    policy = next(g["content"] for t, g in seen.elements if t == "meta" and g.get("http-equiv")) or ""
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        body = re.search(rf"<{tag}>(.*?)</{tag}>", source, re.S)
        assert body
        digest = base64.b64encode(hashlib.sha256(body[1].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_anchors_exist_and_ids_are_unique(hostile: Case) -> None:
    _, seen = reading(hostile)
    ids = [given["id"] for _, given in seen.elements if "id" in given]
    assert len(ids) == len(set(ids))
    hrefs = {given["href"] for tag, given in seen.elements if tag == "a"}
    assert {href for href in hrefs if href and href.startswith("#")} <= {f"#{i}" for i in ids}


def test_every_table_has_a_caption_and_every_drawing_a_title(hostile: Case) -> None:
    _, seen = reading(hostile)
    order = [tag for tag, _ in seen.elements]
    assert all(order[i + 1] == "caption" for i, tag in enumerate(order) if tag == "table")
    drawn = [i for i, (tag, given) in enumerate(seen.elements) if tag == "svg" and given.get("role") == "img"]
    assert drawn
    assert all(order[i + 1] == "title" for i in drawn)


def test_headline_and_figures(hostile: Case) -> None:
    _, seen = reading(hostile)
    assert "In 1 of 2 traces a protected value reached someone who may not know it." in seen.words
    assert "1 of 2 traces could not be cleared" in seen.words
    assert "50.0 %" in seen.words


def test_where_every_trace_leaks_nothing_is_said_of_others(tmp_path: Path) -> None:
    _, seen = reading(load(tmp_path, [row for row in lines() if CLEAN not in (row.get("trace"), row.get("id"))]))
    assert "In 1 of 1 traces a protected value reached someone who may not know it." in seen.words
    assert "other traces" not in seen.words


def test_finding_cites_its_evidence(hostile: Case) -> None:
    source, seen = reading(hostile)
    query = (
        'SELECT s.sha256, e.line, e."offset" FROM events e JOIN sources s USING (source) WHERE seq = 2 AND trace = 0'
    )
    sha, line, offset = hostile.rows(query)[0]
    assert f"sha256 {sha[:12]}… · line {line} · byte {offset:,}" in seen.words
    assert "span 6–17" in seen.words
    assert "rule deny [ssn" in seen.words
    assert "an unresolved recipient" in seen.words
    assert source.count('class="finding"') == 7


def test_evidence_matches_the_case(hostile: Case) -> None:
    evidence = Evidence(hostile, Mask(hostile))
    found = evidence.findings(100, 100)
    assert len(found) == evidence.total == 7
    assert sum(p.findings for p in evidence.patterns(100)) == 7
    assert [f.position for f in found][:4] == ["introduced"] * 4
    last = next(f for f in found if f.carried == 2)
    assert [hop.channel for hop in last.way] == ["C2", "C2"]
    assert last.access == "initial"


def test_ways_are_the_walks(hostile: Case) -> None:
    every = [row[0] for row in hostile.rows("SELECT exposure FROM exposures")]
    found, mask = ways(hostile, every, Mask(hostile)), Mask(hostile)
    for exposure in every:
        steps = [
            (s.event, s.sender and mask(s.sender), mask(s.recipient), s.channel, s.grade)
            for s in walk(hostile, exposure)
        ]
        assert [tuple(hop[:5]) for hop in found[exposure]] == steps


def test_findings_are_capped_and_the_page_says_so(hostile: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("earwitness.reports.page.findings.MOST_FINDINGS", 2)
    monkeypatch.setattr("earwitness.reports.page.findings.MOST_PATTERNS", 2)
    _, seen = reading(hostile)
    assert "Showing 2 of 7 findings, from 2 of " in seen.words


def test_without_policy_nothing_is_called_a_leak(unruled: Case) -> None:
    _, seen = reading(unruled)
    assert "Exposures nobody has ruled on" in seen.words
    assert "Exposures of protected values on record, on which nobody has ruled: " in seen.words
    assert "Unauthorised" not in seen.words
    assert "reached someone who may not know" not in seen.words


def test_drafted_policy_is_one_and_decides(unruled: Case) -> None:
    source, _ = reading(unruled)
    text = re.search(r'<pre class="policy"[^>]*>(.*?)</pre>', source, re.S)
    assert text
    policy = parse_policy(unescape(text[1]).encode(), "draft")
    assert {m.name for m in policy.roster} >= {HOLDER, LAST, USER}
    assert [r.effect for r in policy.rules] == ["allow"]
    audit(unruled, Request(rules=DEFAULT, policy=policy))
    assert unruled.one("SELECT count(*) FROM exposures WHERE authorised IS NULL") == 0


def test_empty_case(tmp_path: Path) -> None:
    with Case() as case:
        Loader(case).load([])
        audit(case, Request(rules=DEFAULT))
        target = tmp_path / "page.html"
        write_page(case, summary(case), target)
    assert "No protected value is known for these traces" in Reader(target.read_text("utf-8")).words


def test_page_of_a_read_only_case_is_the_same(hostile: Case, tmp_path: Path) -> None:
    first = page(hostile, summary(hostile))
    hostile.close()
    with Case(tmp_path / "case.duckdb", read_only=True) as case:
        assert page(case, summary(case)) == first


def vault(*values: tuple[str, str]) -> Case:
    case = Case()
    for number, (attribute, text) in enumerate(values):
        case.execute(
            "INSERT INTO vault (value, attribute, text, fingerprint) VALUES (?, ?, ?, ?)",
            [number, attribute, text, f"f{number}"],
        )
    return case


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("agent of alice smith", "agent of [name #f0]"),
        ("ALICE SMITH", "[name #f0]"),
        ("Alice Smithson-Lee", "[name #f0]"),
        ("İAlice Smithİ", "İ[name #f0]İ"),
        ("x2024y", "x[value #f2]y"),
        ("alice_smith@work", "[name #f0]@work"),
        ("agent A l i c e S m i t h", "agent [name #f0]"),
        ("Alic\u0435\u200b Smith", "[name #f0]"),
        ("log-QWxpY2UgU21pdGg=.txt", "log-[name #f0].txt"),
        ("QWxpY2UgU21pdGg= QWxpY2UgU21pdGg and 416c69636520536d697468", "[name #f0] [name #f0] and [name #f0]"),
        ("run%2FAlice%20Smith", "run%2F[name #f0]"),
        ("abc", "abc"),
        ("nobody", "nobody"),
        ("", ""),
    ],
)
def test_mask(text: str, masked: str) -> None:
    values = (("name", "Alice Smith"), ("name", "smithson-lee"), ("year 2024", "2024"), ("short", "abc"))
    with vault(*values) as case:
        assert Mask(case)(text) == masked


def test_mask_without_values_leaves_text_alone() -> None:
    with Case() as case:
        assert Mask(case)("anything") == "anything"


def test_control_characters_are_shown() -> None:
    with Case() as case:
        view = View(case, {}, Mask(case))
        assert view.text("a\x00b\u202ec") == "a\\u0000b\\u202ec"
        assert view.text("long" * 99, 10) == "longlongl…"
        assert view.text(None) == "–"


def test_markup_escapes_by_default() -> None:
    assert own('<a b="c">&') == "&lt;a b=&quot;c&quot;&gt;&amp;"
    assert fill("<{x}>", x=el("b", own("<"))) == "&lt;<b>&lt;</b>&gt;"
    assert el("p", class_=own("x"), hidden=True, tabindex=0) == '<p class="x" hidden tabindex="0"></p>'


@pytest.mark.parametrize("agents", [2, 5, 12, 20])
@pytest.mark.parametrize("mesh", [False, True])
def test_actors_of_a_drawing_do_not_overlap(tmp_path: Path, agents: int, mesh: bool) -> None:
    names = [f"agent_{i}" for i in range(agents)]
    pairs = [(a, b) for a in names for b in names if a != b and (mesh or a == names[0])]
    rows: list[dict[str, Any]] = [{"type": "trace", "id": "t"}, {"type": "value", "attribute": "ssn", "value": SSN}]
    rows += [{"type": "rule", "id": "none", "effect": "sanitize"}]
    for seq, (a, b) in enumerate([*pairs, (names[-1], "crm"), (names[0], "log")]):
        rows.append(
            {"type": "event", "trace": "t", "channel": "C2", "sender": a, "to": [b], "seq": seq, "content": SSN}
        )
    with load(tmp_path, rows) as case:
        Evidence(case, Mask(case))
        flow = telling_traces(case, "sanitize")[0]
        spots = place(flow)
    assert len(spots) == min(agents + 2, MOST_ACTORS)
    every = list(spots.items())
    for i, (_, (x, y)) in enumerate(every):
        assert all(abs(x - u) >= BOX_W or abs(y - v) >= BOX_H for _, (u, v) in every[i + 1 :])


@pytest.mark.parametrize("bulge", BULGES)
def test_arrows_end_at_the_boxes(bulge: float) -> None:
    start, stop = (0.0, 0.0), (400.0, 120.0)
    points = Curve(start, stop, bulge).points()
    assert not any(inside(p, start) or inside(p, stop) for p in points)
    assert inside(points[-1], stop, 12)
