"""Markup that cannot be forgotten to escape: only `own`, `View.text` and `el` make `Html`, and `el` takes nothing else.

Strings of this program go through `own`; strings that came from a trace, a policy or a file name go through
`View.text`, which masks protected values first.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import Any, NewType

from earwitness.reports.mask import Mask
from earwitness.schema.case import Case

Html = NewType("Html", str)
NOTHING = Html("")
DASH = Html("–")
_VOID = frozenset({"col", "input", "br", "hr"})
# Control and bidirectional characters could reorder or hide what a reader sees: shown as code points.
_UNSEEN = {
    i: f"\\u{i:04x}"
    for span in ((0, 9), (11, 32), (127, 160), (0x200B, 0x2010), (0x2028, 0x202F), (0x2060, 0x2070), (0xFEFF, 0xFF00))
    for i in range(*span)
}


def own(text: object) -> Html:
    """Words and numbers of this program."""
    return Html(escape(str(text), quote=True))


def el(tag: str, *children: Html, **attributes: Html | int | float | bool) -> Html:
    """An element. `class_` and `text_anchor` become `class` and `text-anchor`; true is a bare attribute, false none."""
    given = "".join(_attribute(key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items())
    if tag in _VOID:
        return Html(f"<{tag}{given}>")
    return Html(f"<{tag}{given}>{''.join(children)}</{tag}>")


def _attribute(key: str, value: Html | int | float | bool) -> str:
    if isinstance(value, bool):
        return f" {key}" if value else ""
    return f' {key}="{round(value, 2) if isinstance(value, float) else value}"'


def css(name: str) -> Html:
    """A class name or other fixed attribute value."""
    return own(name)


def join(parts: Iterable[Html], between: str = "") -> Html:
    """Parts one after another."""
    return Html(escape(between).join(parts))


def fill(template: str, **parts: Html) -> Html:
    """A sentence with `{slots}` for markup."""
    return Html(escape(template).format(**parts))


def table(caption: Html, head: Iterable[Html], rows: Iterable[Iterable[Html]], kind: str = "") -> Html:
    """A captioned table; the first cell of a row is its header. Wide ones scroll in their own box."""
    header = el("tr", *(el("th", cell, scope=css("col")) for cell in head))
    body = [
        el("tr", *(el("td", cell) if i else el("th", cell, scope=css("row")) for i, cell in enumerate(row)))
        for row in rows
    ]
    made = el("table", el("caption", caption), el("thead", header), el("tbody", *body), class_=css(kind or "plain"))
    return el("div", made, class_=css("scroll"), tabindex=0)


@dataclass(frozen=True)
class View:
    """What every section is made from: the case, its summary, and the mask."""

    case: Case
    report: dict[str, Any]
    mask: Mask

    def text(self, text: object, longest: int = 300) -> Html:
        """Words of a trace: masked, then cut, then escaped, control characters made visible."""
        if text is None:
            return DASH
        shown = self.plain(text)
        return own(shown if len(shown) <= longest else shown[: longest - 1] + "…")

    def plain(self, text: object) -> str:
        """Masked and with control characters made visible, not escaped yet."""
        return self.mask(str(text)).translate(_UNSEEN)

    def name(self, text: object, longest: int = 80) -> Html:
        """A name of a trace, kept apart from the direction of the text around it."""
        return el("bdi", self.text(text, longest))
