"""The report as one self-contained HTML page: no request leaves it, and it reads the same without script."""

import base64
import hashlib
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from earwitness.reports.evidence import Evidence
from earwitness.reports.mask import Mask
from earwitness.reports.page import coverage, sections
from earwitness.reports.page.findings import findings
from earwitness.reports.page.flows import flows
from earwitness.reports.page.markup import Html, View, css, el, join, own
from earwitness.reports.page.policydraft import draft
from earwitness.reports.page.replay import replay
from earwitness.reports.page.significance import significance
from earwitness.schema.case import Case


def write_page(case: Case, report: dict[str, Any], path: Path) -> None:
    """Write the page of a judged case.

    Args:
        case: after an audit.
        report: `earwitness.reports.summary.summary(case)`.
        path: file to write.
    """
    path.write_text(page(case, report), encoding="utf-8")


def page(case: Case, report: dict[str, Any]) -> str:
    """The page as text."""
    view = View(case, report, Mask(case))
    parts = _sections(view)
    style, script = _asset("page.css"), _asset("page.js")
    return Template(_asset("page.html")).substitute(
        policy=_policy(style, script),
        style=style,
        script=script,
        nav=join(_link(name, title) for name, title, _ in parts),
        sections=join(_section(name, title, body) for name, title, body in parts),
        version=own(report["version"]),
    )


def _sections(view: View) -> list[tuple[str, str, Html]]:
    """Anchor, title, body; what nobody ruled on is never called a leak."""
    unruled = not sections.has_policy(view)
    evidence = Evidence(view.case, view.mask, unruled=unruled)
    title = "Exposures nobody has ruled on" if unruled else "Findings"
    made: list[tuple[str, str, Callable[[], Html]]] = [
        ("summary", "Summary", lambda: _summary(view)),
        *([("policy", "A policy to start from", lambda: _draft(view))] if unruled else []),
        ("channels", "Channels", lambda: sections.channels_unruled(evidence) if unruled else sections.channels(view)),
        ("recipients", "Recipients and topology", lambda: _recipients(view)),
        *([("tests", "Tests of significance", lambda: significance(view))] if view.report["significance"] else []),
        ("flows", "How it travelled", lambda: flows(view, unruled=unruled)),
        *([("replay", "What a sanitizer would have changed", lambda: replay(view))] if view.report["replay"] else []),
        ("findings", title, lambda: findings(view, evidence, unruled=unruled)),
        ("coverage", "Coverage", lambda: coverage.coverage(view)),
        ("sources", "Sources", lambda: coverage.sources(view)),
        ("words", "How to read this", coverage.glossary),
    ]
    return [(name, heading, make()) for name, heading, make in made]


def _summary(view: View) -> Html:
    parts = (sections.headline, sections.coverage_bar, sections.notes, sections.key_figures, coverage.provenance)
    return join(part(view) for part in parts)


def _recipients(view: View) -> Html:
    return join([sections.cells(view), sections.routes(view), sections.distances(view)])


def _draft(view: View) -> Html:
    told = "Until a policy says who may know what, nothing here is called a leak. This one would decide every exposure:"
    return join([el("p", own(told)), el("pre", own(draft(view)), class_=css("policy"), tabindex=0)])


def _section(name: str, title: str, body: Html) -> Html:
    heading = el("h2", own(title), id=css(f"{name}-title"))
    return el("section", heading, body, id=css(name), aria_labelledby=css(f"{name}-title"))


def _link(name: str, title: str) -> Html:
    return el("li", el("a", own(title), href=css(f"#{name}")))


def _asset(name: str) -> str:
    return files("earwitness.reports").joinpath(name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Nothing may be loaded, and only the style and the script of this page may act."""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
