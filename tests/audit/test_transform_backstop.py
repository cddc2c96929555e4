"""The backstop of rewritings: asking for letters and digits first never changes what the measuring detector says."""

import base64
from collections.abc import Callable
from urllib.parse import quote

from hypothesis import given, settings
from hypothesis import strategies as st

from earwitness.audit.transform.rewriting import _detected, remains
from earwitness.audit.transform.words import Task

ATTRIBUTES = (None, "email", "phone", "date_of_birth", "name", "salary", "ssn", "address", "legal_status")
VALUES = (
    "pending harassment lawsuit",
    "Type 2 diabetes, diagnosed in 2019",
    "ann.lee@example.org",
    "+1 (415) 555-0132",
    "1984-03-07",
    "Zoë Müller-Łoś",
    "$185,000",
    "078-05-1120",
    "42",
    "C++",
    "***",
    "東京都港区",
    "Иван Петров",
)
WRITTEN: tuple[Callable[[str], str], ...] = (
    str,
    str.upper,
    quote,
    lambda v: v.replace(" ", ""),
    lambda v: "-".join(v),
    lambda v: v[::-1],
    lambda v: v[: len(v) // 2],
    lambda v: " ".join(reversed(v.split())),
    lambda v: base64.b64encode(v.encode()).decode(),
    lambda v: v.encode().hex(),
    lambda v: "".join(f"\\u{ord(c):04x}" for c in v),
    lambda v: v.replace("a", "а").replace("e", "е"),
    lambda v: "\u200b".join(v),
)
free = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)


@st.composite
def looks(draw: st.DrawFn) -> tuple[str, str, Task]:
    """A text that often holds the value in some form, what was shown, and the task."""
    value = draw(st.sampled_from(VALUES) | free)
    shown = draw(st.just(value) | st.sampled_from(VALUES))
    way = draw(st.sampled_from(WRITTEN))
    inside = draw(st.sampled_from([way(value), way(shown), ""]))
    text = (
        draw(free | st.just("")) + draw(st.sampled_from(["", " ", ": "])) + inside + draw(st.sampled_from(["", " x"]))
    )
    return text, shown, Task(0, len(shown), draw(st.sampled_from(ATTRIBUTES)), None, "contextual", value, "rewrite")


@settings(max_examples=400, deadline=None)
@given(looks())
def test_asking_for_letters_and_digits_first_changes_nothing(look: tuple[str, str, Task]) -> None:
    text, shown, task = look
    assert remains(text, shown, task) == _detected(text, task.attribute or "", task.canonical, shown)


def test_a_value_without_letters_and_digits_is_looked_for_as_it_is() -> None:
    task = Task(0, 3, None, None, "contextual", "***", "rewrite")
    assert remains("it is *** here", "***", task)
    assert not remains("it is here", "***", task)
